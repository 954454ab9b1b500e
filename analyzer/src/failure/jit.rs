//! Kernels compiled at start or on the first request (FlashInfer, Triton, torch extensions) could
//! not be built. `Ninja build failed` is never the cause: the compiler's own line is.

use super::kind::{Kind, Needs};

/// Words after which a compiler's output follows.
pub(super) const BUILDS: &[&str] = &[
    "Ninja build failed",
    "FAILED: ",
    "Error building extension",
    "C++ compile error",
    "NVCC compilation failed",
    "NVRTC compilation failed",
];

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "jit_no_nvcc",
        "the CUDA compiler is not where the build looks for it",
        &[
            r"\S*nvcc: (?:not found|No such file|command not found)",
            r"(?i)could not find (?:the )?nvcc",
            r"(?i)no such file or directory: '?\S*nvcc",
            r"(?i)(?:cannot find|could not find|unable to find) (?:the )?CUDA_HOME",
            r"CUDA_HOME environment variable is not set",
            r"CUDA_HOME (?:is not set|must be set|not found)",
        ],
        |t| {
            let advice =
                if t.text.contains(" :/") || t.text.starts_with(":/") || t.text.contains("':/") {
                    "CUDA_HOME is malformed (it begins with ':')"
                } else {
                    "install the CUDA toolkit or point CUDA_HOME to it"
                };
            t.say("a kernel could not be compiled, nvcc was not found", advice)
        },
    ),
    Kind::new(
        "jit_missing_header",
        "a header file the kernels include is not there",
        &[
            r"fatal error: (?<header>\S+): No such file or directory",
            r"fatal error: '?(?<header>[^' ]+)'? file not found",
            r"(?:catastrophic|fatal)? ?error: cannot open source file \W?(?<header>[\w./-]+)",
        ],
        |t| {
            let header = t.part("header").unwrap_or("a header");
            if header == "Python.h" {
                return format!(
                    "a kernel could not be compiled: {header}: No such file; install Python's development headers (python3-dev)"
                );
            }
            format!(
                "a kernel could not be compiled: {header}: No such file or directory; the CUDA toolkit (CUDA_HOME) is older than the kernels need, or incomplete"
            )
        },
    ),
    Kind::new(
        "jit_ptxas_arch",
        "the assembler does not know this GPU",
        &[
            // `Ptx assembly aborted due to errors` only says that there is an error above it.
            r"ptxas\b.*\bfatal\s*: (?:[^P]|P[^t]).*",
            r"ptxas.*Value '(?<why>sm_\w+)' is not defined",
            r"ptxas .*error\s*: Feature '(?:[^.]|\.[^b]|\.b[^f])[^']*' (?:requires|not supported)",
        ],
        |t| {
            t.say(
                "Triton's ptxas refused this GPU",
                "set TRITON_PTXAS_PATH to a newer CUDA's ptxas",
            )
        },
    ),
    Kind::new(
        "jit_nvcc_arch",
        "the CUDA compiler does not know this GPU, or refused its input",
        &[
            r"nvcc fatal\s*: (?<why>.*)",
            r"No supported CUDA architectures found for major versions",
            r"Unknown CUDA arch \([\d.+]+\) or GPU not supported",
            r"SM \d+\.x requires CUDA >= [\d.]+",
            r"nvrtc: error: invalid value for --gpu-architecture|NVRTC_ERROR_INVALID_OPTION",
        ],
        |t| {
            t.say(
                "no kernel could be compiled for this GPU",
                "point CUDA_HOME to a CUDA toolkit that knows it",
            )
        },
    ),
    Kind::new(
        "jit_header_mismatch",
        "the CUDA compiler and the headers it found are of different versions",
        &[
            r"(?i)#error .*headers are incompatible",
            r"headers are incompatible",
            r"(?i)unsupported GNU version",
            r"#error -- unsupported",
        ],
        |t| {
            let said = t.find(r#"#error -*\s*"?([^"]*)"#).unwrap_or("headers are incompatible");
            format!(
                "a kernel could not be compiled: {}; CUDA_HOME and the installed CUDA headers are of different versions",
                super::kind::shorten(said, 140)
            )
        },
    ),
    Kind::new(
        "jit_missing_library",
        "the linker did not find a library the kernels need",
        &[
            r"cannot find -l(?<lib>[\w+.-]+)",
            r"(?:ld: library not found for|unable to find library) -l(?<lib>[\w+.-]+)",
        ],
        |t| {
            let lib = t.part("lib").unwrap_or("cuda");
            format!(
                "a kernel could not be linked: cannot find -l{lib}; put the folder of lib{lib}.so on LIBRARY_PATH, or install the CUDA development files"
            )
        },
    ),
    Kind::new(
        "jit_no_compiler",
        "the host compiler or the build tool is not installed",
        &[
            r"(?i)failed to find C compiler",
            r"\b(?:gcc|g\+\+|cc|c\+\+|clang|ninja|cmake): (?:not found|command not found)",
            r"(?i)no such file or directory: '(?:\S*/)?(?:gcc|g\+\+|cc|c\+\+|ninja|cmake)'",
            r"Ninja is required to load C\+\+ extensions",
            r"fatal: cannot execute .?cc1plus",
        ],
        |t| {
            t.say(
                "a kernel could not be compiled, the host compiler or ninja is missing",
                "install build-essential and ninja",
            )
        },
    ),
    Kind::new(
        "jit_compiler_killed",
        "the compiler itself was killed, as a rule for want of host memory",
        &[
            r"(?:nvcc error|c\+\+: fatal error|g\+\+: fatal error|gcc: fatal error)\s*:.*(?:died due to signal|[Kk]illed)",
        ],
        |t| {
            t.say(
                "the compiler was killed while building a kernel",
                "the host ran out of memory: set MAX_JOBS lower",
            )
        },
    ),
    Kind::new(
        "jit_compile_error",
        "the first error a compiler printed, where nothing says more",
        &[
            r"(?::\d+(?::\d+)?|\(\d+\)): (?:fatal )?error:? ",
            r"^\S*(?:ld|collect2): error: ",
            r": not found\s*$",
            r"undefined reference to",
        ],
        |t| t.say("a kernel could not be compiled", "the compiler's first error is quoted"),
    )
    .needs(Needs::Build),
    Kind::new(
        "jit_build_failed",
        "a kernel build failed and the log does not hold the compiler's words",
        &[
            r"Ninja build failed",
            r"ninja: build stopped",
            r"Error building extension",
            r"Command '\['ninja'.*returned non-zero",
        ],
        |t| {
            t.say(
                "a kernel could not be built, and the compiler's own error is not in the log",
                "run the ninja command by hand",
            )
        },
    ),
];

/// Said by languages that compile kernels; a nearer kind may know the reason they give.
pub(super) const LANGUAGES: &[Kind] = &[Kind::new(
    "jit_compile_error",
    "a kernel's own language refused its source",
    &[r"\bCompilationError: at \d+:\d+", r"\bMLIRError: |failed to translate module to LLVM IR"],
    |t| t.say("a kernel could not be compiled", "the compiler's own words are quoted"),
)];
