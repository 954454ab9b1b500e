//! Examples of the kinds of `cuda.rs`.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "gpu_hardware_xid",
        &["fallen off the bus"],
        "[ 99.1] NVRM: GPU at PCI:0000:41:00: GPU-1\nRuntimeError: GPU has fallen off the bus\n",
    ),
    serving(
        "gpu_hardware_xid",
        &["uncorrectable ECC"],
        "[TensorRT-LLM] TensorRT LLM version: 1.2.0\nINFO:     Application startup complete.\n[TensorRT-LLM][ERROR] CUDA runtime error in cudaStreamSynchronize(get()): uncorrectable ECC error encountered (/src/cudaStream.h:85)\n",
    ),
    serving(
        "illegal_memory_access",
        &["illegal memory access"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:01:00 TP1] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: CUDA error: an illegal memory access was encountered\n",
    ),
    serving(
        "illegal_memory_access",
        &["address"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\nMemory access fault by GPU node-2 (Agent handle: 0x55d3c0) on address 0x7f2a00000000. Reason: Page not present or supervisor privilege.\n",
    ),
    serving(
        "cuda_launch_failure",
        &["device-side assert"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA error: device-side assert triggered\n",
    ),
    serving(
        "cuda_launch_failure",
        &["CUBLAS_STATUS_EXECUTION_FAILED"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/layers/linear.py\", line 3, in apply\nRuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k)`\n\n",
    ),
    serving(
        "kernel_out_of_resources",
        &["shared memory"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 106496, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.\n",
    ),
    serving(
        "kernel_out_of_resources",
        &["too many resources"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/layers/moe/topk.py\", line 3, in forward\nRuntimeError: CUDA error: too many resources requested for launch\n\n",
    ),
    serving(
        "cuda_error",
        &["unknown error"],
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop\nsrv  update_slots: all slots are idle\nggml_cuda_compute_forward: MUL_MAT failed\nCUDA error: unknown error\n  current device: 0, in function ggml_cuda_compute_forward at ggml-cuda.cu:2366\n",
    ),
    serving(
        "cuda_error",
        &["invalid argument"],
        "[TensorRT-LLM] TensorRT LLM version: 1.0.0\nINFO:     Application startup complete.\n[TensorRT-LLM][ERROR] CUDA runtime error in cudaMemcpyAsync(dst, src, n, cudaMemcpyDefault, mStream->get()): invalid argument (/src/tensorrt_llm/cpp/tensorrt_llm/runtime/bufferManager.cpp:90)\nterminate called after throwing an instance of 'tensorrt_llm::common::TllmException'\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    (
        "gpu_hardware_xid",
        "[ 1.0] NVRM: Xid (PCI:0000:41:00): 79, pid=7, GPU has fallen off the bus.",
    ),
    (
        "gpu_hardware_xid",
        "torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution",
    ),
    (
        "illegal_memory_access",
        "RuntimeError: cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS",
    ),
    ("illegal_memory_access", "RuntimeError: NVSHMEM: cudaErrorIllegalAddress"),
    ("cuda_launch_failure", "RuntimeError: CUDA error: unspecified launch failure"),
    ("cuda_launch_failure", "RuntimeError: CUDA error: misaligned address"),
    ("cuda_launch_failure", "RuntimeError: CUDA error: an illegal instruction was encountered"),
    ("cuda_launch_failure", "RuntimeError: CUDA error: invalid configuration argument"),
    ("cuda_launch_failure", "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"),
    ("cuda_error", "RuntimeError: cudaErrorInvalidValue"),
    ("cuda_error", "RuntimeError: CUDA driver error: invalid argument"),
];
