//! Examples of the kinds of `library.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "abi_undefined_symbol",
        &["undefined symbol", "_ZN3c104cuda9SetDeviceEa"],
        "Traceback (most recent call last):\n  File \"/s/sgl_kernel/__init__.py\", line 5, in <module>\nImportError: /s/sgl_kernel/common_ops.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEa\n",
    ),
    boot(
        "abi_undefined_symbol",
        &["ncclCommWindowRegister"],
        "/usr/bin/python3: symbol lookup error: /opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommWindowRegister\n",
    ),
    boot(
        "abi_undefined_symbol",
        &["gptq_marlin_repack", "reinstall"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1]   File \"/v/_custom_ops.py\", line 3, in gptq_marlin_repack\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] AttributeError: '_OpNamespace' '_C' object has no attribute 'gptq_marlin_repack'\n",
    ),
    boot(
        "abi_undefined_symbol",
        &["torchvision::nms"],
        "Traceback (most recent call last):\n  File \"/t/library.py\", line 3, in register\nRuntimeError: operator torchvision::nms does not exist\n",
    ),
    boot(
        "missing_system_library",
        &["libcuda.so.1", "driver"],
        "Traceback (most recent call last):\n  File \"/v/platforms/cuda.py\", line 18, in <module>\nImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n",
    ),
    boot(
        "missing_system_library",
        &["libnuma.so.1"],
        "Traceback (most recent call last):\n  File \"/s/sgl_kernel/load.py\", line 9, in <module>\nImportError: \n[sgl_kernel] CRITICAL: Could not load any common_ops library!\n- ImportError: libnuma.so.1: cannot open shared object file: No such file or directory\n",
    ),
    boot(
        "missing_system_library",
        &["GLIBC_2.38"],
        "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /v/_C.abi3.so)\n",
    ),
    boot(
        "python_module_missing",
        &["flash_attn"],
        "Traceback (most recent call last):\n  File \"/s/x.py\", line 5, in <module>\nModuleNotFoundError: No module named 'flash_attn'\n",
    ),
    boot(
        "python_module_missing",
        &["flash_attn", "not installed"],
        "ImportError: This modeling file requires the following packages that were not found in your environment: flash_attn. Run `pip install flash_attn`\n",
    ),
    boot(
        "python_import_mismatch",
        &["cannot import name"],
        "Traceback (most recent call last):\n  File \"/v/x.py\", line 5, in <module>\nImportError: cannot import name 'ProcessorMixin' from 'transformers.processing_utils' (/t/processing_utils.py)\n",
    ),
    boot(
        "python_import_mismatch",
        &["is required for a normal functioning"],
        "Traceback (most recent call last):\n  File \"/t/utils/versions.py\", line 3, in _compare_versions\nImportError: huggingface-hub>=0.34.0,<1.0 is required for a normal functioning of this module, but found huggingface-hub==1.1.2.\n",
    ),
    boot(
        "python_import_mismatch",
        &["minimum required version"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\nException: flashinfer_python is installed with version 0.2.9, which is less than the minimum required version 0.3.1. Please reinstall the latest version by following the instructions at https://docs.flashinfer.ai/installation.html.\n",
    ),
    boot(
        "python_import_mismatch",
        &["untagged enum"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nException: data did not match any variant of untagged enum ModelWrapper at line 757443 column 3\n",
    ),
    boot(
        "python_import_mismatch",
        &["rope_theta"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n(EngineCore pid=7) AttributeError: 'Qwen2Config' object has no attribute 'rope_theta'\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    (
        "abi_undefined_symbol",
        "ImportError: dlopen(_C.so, 0x0002): symbol not found in flat namespace '__ZN3c106detail'",
    ),
    (
        "missing_system_library",
        "Could not load library libcudnn_ops.so.9. Error: libcudnn_ops.so.9: no such file",
    ),
    (
        "python_module_missing",
        "importlib.metadata.PackageNotFoundError: No package metadata was found for sgl-kernel",
    ),
    ("python_module_missing", "importlib.metadata.PackageNotFoundError: nixl"),
    ("python_import_mismatch", "AttributeError: module 'torch' has no attribute 'int1'"),
    (
        "python_import_mismatch",
        "ERROR: vllm 0.11.0 requires torch==2.8.0, but you have torch 2.9.1 which is incompatible.",
    ),
    (
        "python_import_mismatch",
        "ValueError: Tokenizer class Qwen9Tokenizer does not exist or is not currently imported.",
    ),
    (
        "python_import_mismatch",
        "pkg_resources.ContextualVersionConflict: (numpy 2.1.0, Requirement.parse('numpy<2.0'), {'x'})",
    ),
    (
        "python_import_mismatch",
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject",
    ),
    ("python_import_mismatch", "ImportError: numpy.core.multiarray failed to import"),
];
