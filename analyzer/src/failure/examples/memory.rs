//! Examples of the kinds of `memory.rs`.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "gpu_memory_held_by_other_process",
        &["1.10", "23.69", "21.32"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: Free memory on device (1.10/23.69 GiB) on startup is less than desired GPU memory utilization (0.9, 21.32 GiB). Decrease GPU memory utilization.\n",
    ),
    boot(
        "gpu_memory_held_by_other_process",
        &["unbalanced"],
        "[2026-01-01 10:00:00 TP3] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=10.2\n",
    ),
    boot(
        "memory_changed_while_profiling",
        &["another process"],
        "AssertionError: Error in memory profiling. Initial free memory 5.1 GiB, current free memory 7.3 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization.\n",
    ),
    boot(
        "memory_changed_while_profiling",
        &["another process"],
        "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/v/worker/worker.py\", line 3, in _assert_memory_footprint_increased_during_profiling\n[rank0]: AssertionError: Error in memory profiling. Initial free memory 84733919232, current free memory 84965130240. This happens when the GPU memory was not properly cleaned up before initializing the vLLM instance.\n",
    ),
    serving(
        "oom_serving",
        &["512.00 MiB"],
        "[TensorRT-LLM] TensorRT LLM version: 1.3.0\nINFO:     Application startup complete.\n[06/16/2025-08:00:31] [TRT-LLM] [E] Encountered an error in forward function: CUDA out of memory. Tried to allocate 512.00 MiB.\n",
    ),
    serving(
        "oom_serving",
        &["-ngl"],
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop\nslot launch_slot_: id  0 | task 0 | processing task\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out of memory\nAborted (core dumped)\n",
    ),
    boot(
        "oom_sampler_warmup",
        &["--max-num-seqs"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n",
    ),
    boot(
        "oom_sampler_warmup",
        &["sampler", "1.16 GiB"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_model_runner.py\", line 3, in _dummy_sampler_run\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/sample/ops/topk_topp_sampler.py\", line 3, in apply_top_k_top_p\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1.16 GiB.\n",
    ),
    boot(
        "oom_kv_cache",
        &["KV cache"],
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\nmain: exiting due to model loading error\n",
    ),
    boot(
        "oom_kv_cache",
        &["3.50 GiB", "KV cache"],
        "INFO 01-01 10:00:00 [k.py:1] GPU KV cache size: 99,000 tokens\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_model_runner.py\", line 3, in _allocate_kv_cache_tensors\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB.\n",
    ),
    boot(
        "oom_weight_load",
        &["2.32 GiB", "loading weights"],
        "INFO 01-01 10:00:00 [m.py:1] Starting to load model /m...\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1]   File \"/v/layers/linear.py\", line 300, in create_weights\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.05 GiB is free.\n",
    ),
    boot(
        "oom_weight_load",
        &["out of memory"],
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 1: cudaMalloc failed: out of memory\nllama_model_load_from_file_impl: failed to load model\nmain: exiting due to model loading error\n",
    ),
    boot(
        "oom_weight_load",
        &["Triton Error"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\nRuntimeError: Triton Error [CUDA]: out of memory\n",
    ),
    boot(
        "oom_warmup",
        &["--max-batch-prefill-tokens"],
        "2024-03-01T10:00:00.1Z  INFO text_generation_router: router/src/main.rs:205: Warming up model\n2024-03-01T10:00:10.1Z ERROR warmup{max_input_length=4000 max_prefill_tokens=4096}:warmup: text_generation_client: router/client/src/lib.rs:33: Server error: CUDA out of memory. Tried to allocate 1.16 GiB\nError: WebserverFailed\n",
    ),
    boot(
        "oom_warmup",
        &["8192 prefill tokens", "--max-batch-prefill-tokens"],
        "2026-01-01T10:00:00.1Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:125: Warming up model\n2026-01-01T10:00:09.1Z ERROR warmup{max_input_length=None max_prefill_tokens=8192}:warmup: text_generation_router_v3::client: backends/v3/src/client/mod.rs:45: Server error: Not enough memory to handle 8192 prefill tokens. You need to decrease `--max-batch-prefill-tokens`\nError: Backend(Warmup(Generation(\"Not enough memory to handle 8192 prefill tokens. You need to decrease `--max-batch-prefill-tokens`\")))\n2026-01-01T10:00:09.2Z ERROR text_generation_launcher: Webserver Crashed\n",
    ),
    boot(
        "oom_cuda_graph_capture",
        &["CUDA graphs"],
        "INFO 01-01 10:00:00 [m.py:1] Capturing CUDA graphs\n(Worker_TP0 pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(Worker_TP0 pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_model_runner.py\", line 300, in capture_model\n(Worker_TP0 pid=7) ERROR 01-01 10:00:00 [m.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n",
    ),
    boot(
        "oom_cuda_graph_capture",
        &["256.00 MiB"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=1.02 GB\n[2026-01-01 10:00:09 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/cuda_graph_runner.py\", line 3, in __init__\nException: Capture cuda graph failed: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 90.00 MiB is free.\n\n",
    ),
    boot(
        "oom_profiling",
        &["profiling"],
        "INFO 01-01 10:00:00 [m.py:1] Model loading took 14.9 GiB memory and 5.0 seconds\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_worker.py\", line 300, in determine_available_memory\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB.\n",
    ),
    boot(
        "oom_profiling",
        &["profiling", "1.86 GiB"],
        "INFO 07-01 10:00:00 model_runner.py:160] Loading model weights took 14.9 GB\n[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/v/worker/worker.py\", line 3, in determine_num_available_blocks\n[rank0]:     self.model_runner.profile_run()\n[rank0]:   File \"/v/layers/vocab_parallel_embedding.py\", line 3, in forward\n[rank0]: RuntimeError: CUDA error: out of memory. Tried to allocate 1.86 GiB\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    ("oom_weight_load", "RuntimeError: cuMemCreate failed: CUDA_ERROR_OUT_OF_MEMORY"),
    ("oom_weight_load", "NvMapMemAllocInternalTagged: 1075072515 error 12"),
    (
        "oom_weight_load",
        "RuntimeError: Allocation on device 0 would exceed allowed memory. (out of memory)",
    ),
    (
        "oom_weight_load",
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    ),
    (
        "oom_weight_load",
        "ggml_vulkan: Device memory allocation of size 9000 failed. vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
    ),
    ("oom_weight_load", "llama_model_load: error loading model: unable to allocate CUDA0 buffer"),
    (
        "oom_weight_load",
        "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMalloc(ptr, n): out of memory (/src/tllmBuffers.h:112)",
    ),
    (
        "oom_weight_load",
        "[TRT] [E] Requested amount of GPU memory (9000000 bytes) could not be allocated.",
    ),
    ("oom_weight_load", "RuntimeError: Failed to CUDA malloc 9000000 bytes"),
];
