//! Examples of the kinds of `driver.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "driver_too_old",
        &["too old", "12040", "12.4"],
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver.\n",
    ),
    boot(
        "driver_too_old",
        &["driver"],
        "[TensorRT-LLM][ERROR] CUDA initialization failure with error: 35. CUDA driver version is insufficient for CUDA runtime version\n",
    ),
    boot(
        "driver_too_old",
        &["Error 803"],
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda driver combination\n",
    ),
    boot(
        "driver_too_old",
        &["cuda>=12.8"],
        "docker: Error response from daemon: failed to create task for container: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version, or use an earlier cuda container: unknown.\n",
    ),
    boot(
        "cuda_not_initialized",
        &["804"],
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW\n",
    ),
    boot(
        "cuda_not_initialized",
        &["initialization failed"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu.\n",
    ),
    boot(
        "cuda_not_initialized",
        &["mismatch"],
        "INFO 01-01 10:00:00 [__init__.py:1] No platform detected, vLLM is running on UnspecifiedPlatform\nTraceback (most recent call last):\n  File \"/p/pynvml.py\", line 3, in _nvmlCheckReturn\npynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.\n",
    ),
    boot(
        "gpu_busy",
        &["exclusive"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n",
    ),
    boot(
        "gpu_busy",
        &["busy or unavailable"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/utils.py\", line 3, in get_available_gpu_memory\nRuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n",
    ),
    boot(
        "cuda_device_not_ready",
        &["device not ready"],
        "torch.AcceleratorError: CUDA error: device not ready\n",
    ),
    boot(
        "cuda_device_not_ready",
        &["not ready"],
        "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaEventQuery(get()): device not ready (/src/tensorrt_llm/cpp/include/tensorrt_llm/runtime/cudaEvent.h:66)\n",
    ),
    boot(
        "not_enough_gpus",
        &["ranks", "8", "4"],
        "(APIServer pid=1) ValueError: World size (8) is larger than the number of available GPUs (4) in this node.\n",
    ),
    boot(
        "not_enough_gpus",
        &["CUDA_VISIBLE_DEVICES"],
        "(Worker_TP2 pid=7) ERROR 01-01 10:00:00 [m.py:1] torch.AcceleratorError: CUDA error: invalid device ordinal\n",
    ),
    boot(
        "cuda_in_forked_process",
        &["spawn"],
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method\n",
    ),
    boot(
        "cuda_in_forked_process",
        &["spawn"],
        "(VllmWorkerProcess pid=77) ERROR 08-01 10:00:00 multiproc_worker_utils.py:226] Exception in worker VllmWorkerProcess while processing method init_device: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method, Traceback (most recent call last):\n(VllmWorkerProcess pid=77) ERROR 08-01 10:00:00 multiproc_worker_utils.py:226]   File \"/v/worker/worker.py\", line 3, in init_device\n(VllmWorkerProcess pid=77) ERROR 08-01 10:00:00 multiproc_worker_utils.py:226] \n",
    ),
    boot("no_gpu", &["CUDA_VISIBLE_DEVICES"], "RuntimeError: No CUDA GPUs are available\n"),
    boot(
        "no_gpu",
        &["Failed to infer device type"],
        "(APIServer pid=1) RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging\n",
    ),
    boot(
        "no_gpu",
        &["device driver"],
        "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].\n",
    ),
    boot(
        "no_gpu",
        &["no GPU available"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.9.0\n[rank0]: ValueError: Current node has no GPU available. current_node_resource={'CPU': 16.0}. vLLM engine cannot start without GPU.\n",
    ),
    boot(
        "no_gpu",
        &["empty"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nRuntimeError: Device string must not be empty\n",
    ),
    boot(
        "no_gpu",
        &["accelerator"],
        "RuntimeError: No accelerator (CUDA, XPU, HPU, NPU, MUSA) is available.\n",
    ),
    boot("uva_unavailable", &["UVA"], "RuntimeError: UVA is not available\n"),
    boot(
        "uva_unavailable",
        &["uva (pin memory)"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1]   File \"/v/model_executor/models/utils.py\", line 3, in maybe_offload_to_cpu\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] AssertionError: V1 CPU offloading requires uva (pin memory) support\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    ("driver_too_old", "RuntimeError: the installed driver is too old for this container"),
    (
        "driver_too_old",
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
    ),
    (
        "cuda_not_initialized",
        "RuntimeError: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment",
    ),
    ("cuda_not_initialized", "RuntimeError: cuInit failed with CUDA_ERROR_SYSTEM_NOT_READY"),
    ("gpu_busy", "RuntimeError: cuCtxCreate failed: CUDA_ERROR_DEVICE_UNAVAILABLE"),
    ("cuda_device_not_ready", "RuntimeError: cudaStreamQuery returned cudaErrorNotReady"),
    (
        "not_enough_gpus",
        "ValueError: The number of required GPUs exceeds the total number of available GPUs in the placement group.",
    ),
    (
        "not_enough_gpus",
        "RuntimeError: Ray does not allocate any GPUs on the driver node. Consider adjusting the Ray placement group",
    ),
    ("not_enough_gpus", "RuntimeError: not enough GPUs: 8 asked for, 4 found"),
    ("no_gpu", "docker: Error response from daemon: unknown or invalid runtime name: nvidia."),
    ("no_gpu", "RuntimeError: CUDA error: no CUDA-capable device is detected"),
    (
        "no_gpu",
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
    ),
    ("no_gpu", "AssertionError: Torch not compiled with CUDA enabled"),
    ("no_gpu", "RuntimeError: No HIP GPUs are available"),
    ("no_gpu", "pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded"),
];
