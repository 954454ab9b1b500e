//! A Python package or a shared library is missing, or was built for another version.

use super::kind::Kind;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "abi_undefined_symbol",
        "a compiled extension does not fit the library it is loaded with",
        &[
            r"undefined symbol: ?(?<symbol>\S+)",
            r"symbol not found in flat namespace",
            r"'_OpNamespace' '(?<symbol>\w+)' object has no attribute",
            r"operator (?<symbol>\w+::\w+) does not exist",
        ],
        |t| {
            let how = if t.text.contains("symbol") { " (undefined symbol)" } else { "" };
            t.say(
                &format!("a compiled extension does not match the installed torch or CUDA{how}"),
                "reinstall builds made for each other",
            )
        },
    ),
    Kind::new(
        "missing_system_library",
        "a shared library is not installed, or the system's C library is too old",
        &[
            r"(?<lib>[\w.+-]+): cannot open shared object file",
            r"version `?(?<lib>GLIBC(?:XX)?_[\d.]+)'? not found",
            r"(?i)could not load (?:dynamic )?library '?(?<lib>[\w.+-]+)",
        ],
        |t| {
            let lib = t.part("lib").unwrap_or("a shared library");
            let advice = match lib {
                "libcuda.so.1" => {
                    "the container does not see the NVIDIA driver (--gpus all, nvidia-container-toolkit)"
                }
                lib if lib.starts_with("GLIBC") => "this build needs a newer system image",
                _ => "install it or put its folder on LD_LIBRARY_PATH",
            };
            t.say("a system library is missing", advice)
        },
    ),
    Kind::new(
        "python_module_missing",
        "a Python package the server imports is not installed",
        &[
            r"No module named '(?<module>[^']+)'",
            r"No package metadata was found for (?<module>\S+)",
            r"PackageNotFoundError: (?<module>\S+)$",
            r"requires the following packages that were not found in your environment: (?<module>[\w., -]*\w)",
        ],
        |t| {
            let module = t.part("module").unwrap_or("?");
            if t.text.contains("metadata") || t.text.contains("PackageNotFound") {
                return format!(
                    "Python package '{module}' is not installed where the server runs: no package metadata was found for it; reinstall it in this environment"
                );
            }
            if !t.text.contains("No module named") {
                return t.say(
                    &format!("Python package '{module}' is not installed where the server runs"),
                    "install it in this environment",
                );
            }
            format!(
                "Python module '{module}' is not installed where the server runs (No module named '{module}'); install it in this environment"
            )
        },
    ),
    Kind::new(
        "python_import_mismatch",
        "an installed Python package is of a version the server does not fit",
        &[
            r"cannot import name '(?<name>[^']+)' from",
            r"(?:module|package) '?[\w.]+'? has no attribute",
            r"(?i)requires \S+ ?(?:>=|==|<=|<|>)\s*[\d.]+.*but",
            // Transformers and tokenizers older or newer than the model or the engine.
            r"data did not match any variant of untagged enum",
            r"Tokenizer class \w+ does not exist or is not currently imported",
            r"'\w+(?:Config|Tokenizer|TokenizerFast|Processor)' object has no attribute",
            r"(?i)is required for a normal functioning of this module, but found",
            r"(?i)less than the (?:minimum )?required version",
            r"(?:VersionConflict|ContextualVersionConflict): ",
            r"numpy\.core\.multiarray failed to import|numpy\.\w+ size changed, may indicate binary incompatibility",
        ],
        |t| {
            t.say(
                "installed Python packages do not fit each other",
                "install the versions this release asks for",
            )
        },
    ),
];
