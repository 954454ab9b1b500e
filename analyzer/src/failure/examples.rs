//! Every kind of failure on logs of its own, a third of them in two wordings, and what must not be
//! taken for one. All logs are made up; their error texts are those the programs print.

use super::watch::{Watch, kinds};
use super::{Aside, Conclusion, Holder, Kernel, Outcome, Phase};
use crate::boot;

/// A log, the kind that is right, and words its message must have.
struct Example {
    kind: &'static str,
    phase: Phase,
    says: &'static [&'static str],
    log: &'static str,
}

const fn boot(kind: &'static str, says: &'static [&'static str], log: &'static str) -> Example {
    Example { kind, phase: Phase::Boot, says, log }
}

const fn serving(kind: &'static str, says: &'static [&'static str], log: &'static str) -> Example {
    Example { kind, phase: Phase::Serving, says, log }
}

/// What an API server of vLLM says after its engine failed to start.
const WRAPPED: &str = "\n(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/v/v1/engine/utils.py\", line 964, in wait_for_engine_startup\n(APIServer pid=1)     raise RuntimeError(\n(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}\n";

const EXAMPLES: &[Example] = &[
    boot(
        "invalid_cli_argument",
        &["--max-modellen"],
        "usage: vllm [-h] [-v] {chat,complete,serve}\nvllm: error: unrecognized arguments: --max-modellen 4096\n",
    ),
    boot(
        "invalid_cli_argument",
        &["invalid choice"],
        "usage: launch_server.py [-h] --model-path MODEL_PATH\nlaunch_server.py: error: argument --attention-backend: invalid choice: 'flash' (choose from 'triton', 'fa3')\n",
    ),
    boot(
        "invalid_cli_argument",
        &["--tp"],
        "Usage: trtllm-serve serve [OPTIONS] MODEL\nTry 'trtllm-serve serve --help' for help.\n\nError: No such option: --tp\n",
    ),
    boot("invalid_cli_argument", &["--flash-atn"], "error: invalid argument: --flash-atn\n"),
    boot(
        "host_oom_killed",
        &["SIGKILL"],
        "Loading safetensors checkpoint shards:  50% Completed | 2/4\n/start.sh: line 12:    57 Killed                  vllm serve /m\n",
    ),
    boot(
        "host_oom_killed",
        &["-9"],
        "(APIServer pid=1) INFO 09-05 11:20:01 [utils.py:233] non-default args: {'model_tag': '/m'}\n(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/v/v1/engine/utils.py\", line 964, in wait_for_engine_startup\n(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': -9}\n",
    ),
    boot(
        "host_oom_killed",
        &["SIGKILL", "likely"],
        "Loading safetensors checkpoint shards:  50% Completed | 2/4\nray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tclass_name: RayWorkerWrapper\nThe actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a connection error code 2. End of file. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called.\n",
    ),
    boot(
        "shm_too_small",
        &["shm"],
        "node1:11:90 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\nRuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)\n",
    ),
    boot(
        "shm_too_small",
        &["/dev/shm"],
        "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1f3a'\n",
    ),
    boot(
        "bus_error_shm",
        &["SIGBUS"],
        "Fatal Python error: Bus error\n\nThread 0x00007f (most recent call first):\n  File \"/v/distributed/device_communicators/shm_broadcast.py\", line 120, in __init__\n",
    ),
    boot(
        "bus_error_shm",
        &["shm"],
        "*** SIGBUS received at time=1 on cpu 3 ***\nPC: @ 0x7f  (unknown)  ncclShmOpen()\n",
    ),
    boot(
        "jit_no_nvcc",
        &["CUDA_HOME"],
        "(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1] RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist\n",
    ),
    boot(
        "jit_no_nvcc",
        &["nvcc"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/f/jit/env.py\", line 3, in f\nFileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'\n\n[2026-01-01 10:00:00] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    boot(
        "jit_missing_header",
        &["Python.h", "python3-dev"],
        "(EngineCore pid=7) /tmp/tmpx/main.c:3:10: fatal error: Python.h: No such file or directory\n(EngineCore pid=7)     3 | #include <Python.h>\n(EngineCore pid=7) compilation terminated.\n(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1] subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpx/main.c']' returned non-zero exit status 1.\n",
    ),
    boot(
        "jit_missing_header",
        &["cublas_v2.h"],
        "RuntimeError: Ninja build failed. Ninja output:\nFAILED: [code=1] gemm.cuda.o\n/f/gemm.cuh:12:10: fatal error: cublas_v2.h: No such file or directory\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_ptxas_arch",
        &["sm_103a"],
        "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'\n",
    ),
    boot(
        "jit_nvcc_arch",
        &["compute_120a"],
        "RuntimeError: Ninja build failed. Ninja output:\nFAILED: [code=1] a.cuda.o\nnvcc fatal   : Unsupported gpu architecture 'compute_120a'\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_header_mismatch",
        &["headers are incompatible"],
        "RuntimeError: Ninja build failed. Ninja output:\n/c/cuda_toolkit.h:41:8: error: #error \"CUDA compiler and CUDA toolkit headers are incompatible, please check your include paths\"\n",
    ),
    boot(
        "jit_header_mismatch",
        &["unsupported GNU version"],
        "RuntimeError: Error building extension 'x': [1/2] nvcc\n/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!\n",
    ),
    boot(
        "jit_missing_library",
        &["-lcudart"],
        "RuntimeError: Ninja build failed. Ninja output:\n/usr/bin/ld: cannot find -lcudart: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
    ),
    boot(
        "jit_no_compiler",
        &["compiler"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.\n",
    ),
    boot(
        "jit_no_compiler",
        &["ninja"],
        "Traceback (most recent call last):\n  File \"/f/jit/cpp_ext.py\", line 3, in run_ninja\nFileNotFoundError: [Errno 2] No such file or directory: 'ninja'\n",
    ),
    boot(
        "jit_compiler_killed",
        &["host ran out of memory"],
        "RuntimeError: Ninja build failed. Ninja output:\nnvcc error   : 'cicc' died due to signal 9 (Kill signal)\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_compile_error",
        &["no member"],
        "RuntimeError: Ninja build failed. Ninja output:\nFAILED: [code=1] a.cuda.o\n/f/norm.cuh(88): error: class \"vec_t\" has no member \"cast_load\"\n1 error detected in the compilation of \"norm.cu\".\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_build_failed",
        &["not in the log"],
        "RuntimeError: Ninja build failed. Ninja output:\nninja: Entering directory `/root/.cache/flashinfer'\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "abi_undefined_symbol",
        &["undefined symbol", "_ZN3c104cuda9SetDeviceEa"],
        "Traceback (most recent call last):\n  File \"/s/sgl_kernel/__init__.py\", line 5, in <module>\nImportError: /s/sgl_kernel/common_ops.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEa\n",
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
        "python_import_mismatch",
        &["cannot import name"],
        "Traceback (most recent call last):\n  File \"/v/x.py\", line 5, in <module>\nImportError: cannot import name 'ProcessorMixin' from 'transformers.processing_utils' (/t/processing_utils.py)\n",
    ),
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
        "cuda_not_initialized",
        &["804"],
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW\n",
    ),
    boot(
        "gpu_busy",
        &["exclusive"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\n",
    ),
    boot(
        "cuda_device_not_ready",
        &["device not ready"],
        "torch.AcceleratorError: CUDA error: device not ready\n",
    ),
    boot("no_gpu", &["CUDA_VISIBLE_DEVICES"], "RuntimeError: No CUDA GPUs are available\n"),
    boot(
        "no_gpu",
        &["Failed to infer device type"],
        "(APIServer pid=1) RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging\n",
    ),
    boot("uva_unavailable", &["UVA"], "RuntimeError: UVA is not available\n"),
    boot(
        "no_kernel_image",
        &["no kernel image"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n",
    ),
    boot(
        "quantization_unsupported_gpu",
        &["75", "80"],
        "ValueError: The quantization method awq_marlin is not supported for the current GPU. Minimum capability: 80. Current capability: 75.\n",
    ),
    boot(
        "quantization_unsupported_gpu",
        &["fp8e4nv"],
        "triton.compiler.errors.CompilationError: at 10:20: ValueError(\"type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')\")\n",
    ),
    boot(
        "dtype_unsupported_gpu",
        &["7.5", "half"],
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead.\n",
    ),
    boot(
        "attention_unsupported_gpu",
        &["Ampere"],
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n",
    ),
    boot(
        "kv_cache_too_small",
        &["131072", "17632"],
        "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (17632). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n",
    ),
    boot(
        "kv_cache_too_small",
        &["8.0", "1.2", "6144"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: To serve at least one request with the models's max seq len (40960), (8.0 GiB KV cache is needed, which is larger than the available KV cache memory (1.2 GiB). Based on the available memory, the estimated maximum model length is 6144.\n",
    ),
    boot(
        "state_cache_too_small",
        &["mamba"],
        "[2026-01-01 10:00:00] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any requests. max_mamba_cache_size=0\n",
    ),
    boot(
        "state_cache_too_small",
        &["512"],
        "(EngineCore pid=7) ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (512). Reduce max_num_seqs.\n",
    ),
    boot(
        "no_memory_for_kv_cache",
        &["mem-fraction-static", "0.62"],
        "[2026-01-01 10:00:00] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.5. Raise --mem-fraction-static above 0.62 (minimum viable = 0.62).\n",
    ),
    boot(
        "no_memory_for_kv_cache",
        &["could not be created: KV cache", "9.86", "140.06"],
        "[07/08/2025-19:47:15] [TRT-LLM] [RANK 1] [E] Failed to initialize executor on rank 1: Executor creation failed due to insufficient GPU memory.\n\nThe following component could not be created: KV cache\nTotal GPU memory (GiB): 140.06\nFree GPU memory before component creation attempt (GiB): 9.86\n",
    ),
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
        "oom_sampler_warmup",
        &["--max-num-seqs"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.\n",
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
        "oom_cuda_graph_capture",
        &["CUDA graphs"],
        "INFO 01-01 10:00:00 [m.py:1] Capturing CUDA graphs\n(Worker_TP0 pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(Worker_TP0 pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_model_runner.py\", line 300, in capture_model\n(Worker_TP0 pid=7) ERROR 01-01 10:00:00 [m.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.\n",
    ),
    boot(
        "oom_warmup",
        &["--max-batch-prefill-tokens"],
        "2024-03-01T10:00:00.1Z  INFO text_generation_router: router/src/main.rs:205: Warming up model\n2024-03-01T10:00:10.1Z ERROR warmup{max_input_length=4000 max_prefill_tokens=4096}:warmup: text_generation_client: router/client/src/lib.rs:33: Server error: CUDA out of memory. Tried to allocate 1.16 GiB\nError: WebserverFailed\n",
    ),
    boot(
        "oom_profiling",
        &["profiling"],
        "INFO 01-01 10:00:00 [m.py:1] Model loading took 14.9 GiB memory and 5.0 seconds\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_worker.py\", line 300, in determine_available_memory\n(EngineCore pid=7) ERROR 01-01 10:00:00 [m.py:1] torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.00 GiB.\n",
    ),
    boot(
        "disk_full",
        &["No space left"],
        "OSError: [Errno 28] No space left on device: '/root/.cache/huggingface/hub/tmp1'\n",
    ),
    boot(
        "checkpoint_corrupt",
        &["MetadataIncompleteBuffer"],
        "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer\n",
    ),
    boot(
        "checkpoint_corrupt",
        &["corrupt"],
        "llama_model_load: error loading model: tensor 'blk.3.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete\nmain: exiting due to model loading error\n",
    ),
    boot(
        "hf_gated_repo",
        &["HF_TOKEN"],
        "huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: Root=1)\n\nCannot access gated repo for url https://huggingface.co/some-org/gated-8b/resolve/main/config.json.\n",
    ),
    boot(
        "hf_gated_repo",
        &["gated"],
        "OSError: You are trying to access a gated repo.\nMake sure to have access to it at https://huggingface.co/some-org/gated-8b.\n401 Client Error. (Request ID: Root=1)\n",
    ),
    boot(
        "model_not_found",
        &["no-such-org/m"],
        "OSError: no-such-org/m is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'\nIf this is a private repository, make sure to pass a token\n",
    ),
    boot(
        "model_not_found",
        &["config.json"],
        "ValueError: No such file or directory: '/models/gone/config.json'\n",
    ),
    boot("hf_unauthorized", &["HF_TOKEN"], "requests.exceptions.HTTPError: Invalid user token.\n"),
    boot(
        "hf_rate_limited",
        &["limit"],
        "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/x/y\n",
    ),
    boot(
        "hf_unreachable",
        &["huggingface.co", "offline"],
        "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api/models/x/y: offline mode is enabled. To disable it, please unset the `HF_HUB_OFFLINE` environment variable.\n",
    ),
    boot(
        "hf_unreachable",
        &["huggingface.co", "connect"],
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.\n",
    ),
    boot(
        "cache_permission_denied",
        &["/.cache"],
        "Traceback (most recent call last):\n  File \"/h/file_download.py\", line 3, in f\nPermissionError: [Errno 13] Permission denied: '/.cache'\n",
    ),
    boot(
        "cache_permission_denied",
        &["/data/cache"],
        "OSError: [Errno 30] Read-only file system: '/data/cache'\n",
    ),
    boot(
        "weights_mismatch",
        &["checkpoint"],
        "ValueError: Following weights were not initialized from checkpoint: {'lm_head.weight'}\n",
    ),
    boot(
        "unsupported_architecture",
        &["mistral9"],
        "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'mistral9'\nmain: exiting due to model loading error\n",
    ),
    boot(
        "unsupported_architecture",
        &["NewForCausalLM"],
        "ValueError: Model architectures ['NewForCausalLM'] are not supported for now. Supported architectures: dict_keys(['LlamaForCausalLM'])\n",
    ),
    boot(
        "trust_remote_code",
        &["--trust-remote-code"],
        "ValueError: Loading some-org/custom requires you to execute the configuration file in that repo on your local machine. Make sure you have read the code there to avoid malicious use, then set the option `trust_remote_code=True` to remove this error.\n",
    ),
    boot("tp_not_divisible", &["14", "4"], "AssertionError: 14 is not divisible by 4\n"),
    boot(
        "tp_not_divisible",
        &["28", "8"],
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig\n(APIServer pid=7)   Value error, Total number of attention heads (28) must be divisible by tensor parallel size (8). [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\n",
    ),
    boot(
        "lora_rank_too_big",
        &["64", "16"],
        "ValueError: LoRA rank 64 is greater than max_lora_rank 16.\n",
    ),
    boot(
        "max_model_len_too_long",
        &["65536", "32768"],
        "(APIServer pid=7) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n(APIServer pid=7)   Value error, User-specified max_model_len (65536) is greater than the derived max_model_len (max_position_embeddings=32768.0 or model_max_length=None in model's config.json). [type=value_error]\n",
    ),
    boot(
        "speculative_config_invalid",
        &["num_speculative_tokens"],
        "ValueError: num_speculative_tokens must be provided with speculative_model unless the draft model config contains an n_predict parameter.\n",
    ),
    boot(
        "config_invalid",
        &["CacheConfig", "block_size"],
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig\nblock_size\n  Input should be 1, 8, 16, 32, 64 or 128 [type=literal_error, input_value=17, input_type=int]\n",
    ),
    boot(
        "option_not_supported",
        &["Pipeline parallelism"],
        "NotImplementedError: Pipeline parallelism is not supported for this model. Supported models implement the `SupportsPP` interface.\n",
    ),
    boot(
        "port_in_use",
        &["8000"],
        "RuntimeError: Failed to bind socket to localhost:8000: [Errno 98] Address already in use\n",
    ),
    boot(
        "port_in_use",
        &["30000", "in use"],
        "[2026-01-01 10:00:00] INFO:     Application startup complete.\n[2026-01-01 10:00:00] ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use\n[2026-01-01 10:00:00] INFO:     Waiting for application shutdown.\n",
    ),
    boot(
        "nccl_timeout",
        &["ALLGATHER", "1800"],
        "[rank3]:[E101 10:00:00.1 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLGATHER, NumelIn=1, NumelOut=8, Timeout(ms)=1800000) ran for 1800072 milliseconds before timing out.\n",
    ),
    boot(
        "mpi_spawn_failed",
        &["MPI"],
        "rank 0 using MpiPoolSession to spawn MPI processes\nException in thread Thread-1 (_manager_spawn):\nTraceback (most recent call last):\n  File \"/m/_lib.py\", line 938, in client_spawn\n    comm = MPI.COMM_SELF.Spawn(python_exe, args, max_workers, info)\nmpi4py.MPI.Exception: MPI_ERR_SPAWN: could not spawn processes\n",
    ),
    boot(
        "mpi_spawn_failed",
        &["slots"],
        "[10/01/2026-01:54:18] [TRT-LLM] [I] Using LLM with PyTorch backend\n--------------------------------------------------------------------------\nThere are not enough slots available in the system to satisfy the 8 slots that were requested by the application\n",
    ),
    boot(
        "engine_version_mismatch",
        &["rebuild"],
        "[TensorRT-LLM][ERROR] IRuntime::deserializeCudaEngine: Error Code 1: Serialization (Serialization assertion failed. Version tag does not match. Note: Current Version: 240, Serialized Engine Version: 239)\n",
    ),
    boot(
        "rendezvous_timeout",
        &["master"],
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.1, 29500).\n",
    ),
    boot(
        "nccl_error",
        &["NCCL_DEBUG"],
        "RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)\n",
    ),
    boot(
        "gpu_hardware_xid",
        &["fallen off the bus"],
        "[ 99.1] NVRM: GPU at PCI:0000:41:00: GPU-1\nRuntimeError: GPU has fallen off the bus\n",
    ),
    serving(
        "illegal_memory_access",
        &["illegal memory access"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:01:00 TP1] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: CUDA error: an illegal memory access was encountered\n",
    ),
    serving(
        "cuda_launch_failure",
        &["device-side assert"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA error: device-side assert triggered\n",
    ),
    serving(
        "cuda_error",
        &["unknown error"],
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop\nsrv  update_slots: all slots are idle\nggml_cuda_compute_forward: MUL_MAT failed\nCUDA error: unknown error\n  current device: 0, in function ggml_cuda_compute_forward at ggml-cuda.cu:2366\n",
    ),
    serving(
        "scheduler_watchdog_timeout",
        &["300", "watchdog"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 DP0 TP3] Scheduler watchdog timeout (self.watchdog_timeout=300.0, self.soft=False)\n[2026-01-01 10:10:05] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
    ),
    serving(
        "executor_hang",
        &["Hang detected"],
        "[TensorRT-LLM] TensorRT LLM version: 1.3.0\nINFO:     Application startup complete.\n[06/11/2026-10:20:15] [TRT-LLM] [E] Hang detected after 300 seconds.\n",
    ),
    serving(
        "health_check_failed",
        &["detokenizer", "20"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 10:09:40\n",
    ),
    serving(
        "rpc_timeout",
        &["sample_tokens"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] TimeoutError: RPC call to sample_tokens timed out.\n",
    ),
    boot(
        "engine_start_timeout",
        &["within 600 s"],
        "(APIServer pid=1) TimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight loading for large models. Waited 600s (configured by VLLM_ENGINE_READY_TIMEOUT_S). To increase the timeout, set the environment variable: VLLM_ENGINE_READY_TIMEOUT_S=<seconds>\n",
    ),
    boot(
        "engine_start_timeout",
        &["in time"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nTimeoutError: Timed out waiting for engine core processes to start. This is often caused by slow weight loading for large models.\n",
    ),
    boot(
        "placement_group_wait",
        &["placement group", "1270"],
        "INFO 02-27 10:00:00 [api_server.py:1] vLLM API server version 0.7.3\nINFO 02-27 10:00:10 ray_utils.py:212] Waiting for creating a placement group of specs for 10 seconds. specs=[{'GPU': 1.0}]. Check `ray status` to see if you have enough resources.\nINFO 02-27 10:00:30 ray_utils.py:212] Waiting for creating a placement group of specs for 30 seconds. specs=[{'GPU': 1.0}].\nINFO 02-27 10:21:10 ray_utils.py:212] Waiting for creating a placement group of specs for 1270 seconds. specs=[{'GPU': 1.0}].\n",
    ),
    boot(
        "worker_stalled",
        &["shared memory broadcast block"],
        "INFO 02-27 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO 02-27 10:01:00 [shm_broadcast.py:1] No available shared memory broadcast block found in 60 seconds.\nINFO 02-27 10:02:00 [shm_broadcast.py:1] No available shared memory broadcast block found in 60 seconds.\nINFO 02-27 10:03:00 [shm_broadcast.py:1] No available shared memory broadcast block found in 60 seconds.\n",
    ),
    boot(
        "start_wait",
        &["never became ready"],
        "2024-03-01T10:00:00.1Z  INFO text_generation_launcher: Starting shard rank=0\n2024-03-01T10:00:10.1Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0\n2024-03-01T10:00:20.1Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0\n2024-03-01T10:00:30.1Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0\n",
    ),
    serving(
        "kv_pool_exhausted",
        &["Decode out of memory", "KV"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: Decode out of memory. Try to lower your batch size.\nTry to allocate 33 tokens.\n",
    ),
    serving(
        "kv_pool_exhausted",
        &["alloc_req_slots"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`.\n",
    ),
    boot(
        "warmup_failed",
        &["warmup", "Connection aborted"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] INFO:     Application startup complete.\n[2026-01-01 10:00:09] Initialization failed. warmup error: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in _execute_server_warmup\nrequests.exceptions.ConnectionError: ('Connection aborted.', RemoteDisconnected('Remote end closed connection without response'))\n",
    ),
    serving(
        "segmentation_fault",
        &["native code"],
        "INFO:     Application startup complete.\nFatal Python error: Segmentation fault\n\nThread 0x00007f (most recent call first):\n",
    ),
    serving(
        "scheduler_exception",
        &["IndexError", "pop"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/scheduler.py\", line 3, in pop_overlap\nIndexError: pop from an empty deque\n\n[2026-01-01 10:10:00] INFO:     127.0.0.1:4 - \"POST /generate HTTP/1.1\" 200 OK\n[2026-01-01 10:10:00] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
    ),
    serving(
        "detokenizer_exception",
        &["UnicodeDecodeError"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] DetokenizerManager hit an exception: Traceback (most recent call last):\n  File \"/s/detokenizer_manager.py\", line 3, in handle\nUnicodeDecodeError: 'utf-8' codec can't decode byte 0xff\n",
    ),
    serving(
        "tokenizer_exception",
        &["KeyError"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] TokenizerManager hit an exception: Traceback (most recent call last):\n  File \"/s/tokenizer_manager.py\", line 3, in handle_loop\nKeyError: 'rid'\n",
    ),
    serving(
        "controller_exception",
        &["ZMQError"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] DataParallelController hit an exception: Traceback (most recent call last):\n  File \"/s/data_parallel_controller.py\", line 3, in dispatch\nzmq.error.ZMQError: Too many open files\n",
    ),
    serving(
        "engine_core_exception",
        &["AssertionError", "schedule"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1]   File \"/v/v1/core/sched/scheduler.py\", line 3, in schedule\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] AssertionError\n(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n",
    ),
    serving(
        "worker_exception",
        &["KeyError"],
        "INFO:     Application startup complete.\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1] WorkerProc hit an exception.\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_model_runner.py\", line 3, in execute_model\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1] KeyError: 'req-7'\n",
    ),
    serving(
        "oom_serving",
        &["512.00 MiB"],
        "[TensorRT-LLM] TensorRT LLM version: 1.3.0\nINFO:     Application startup complete.\n[06/16/2025-08:00:31] [TRT-LLM] [E] Encountered an error in forward function: CUDA out of memory. Tried to allocate 512.00 MiB.\n",
    ),
    boot(
        "unclassified_exception",
        &["LookupError", "feed at zoo.py:31"],
        "Traceback (most recent call last):\n  File \"/opt/plugin/zoo.py\", line 31, in feed\n    raise LookupError(x)\nLookupError: the bear was not fed\n",
    ),
    boot(
        "root_cause_not_in_log",
        &["not in the log"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:10] Received sigquit from a child process. It usually means the child failed.\n",
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
        "no_gpu",
        &["device driver"],
        "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].\n",
    ),
    boot(
        "oom_kv_cache",
        &["KV cache"],
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\nmain: exiting due to model loading error\n",
    ),
    boot(
        "quantization_mismatch",
        &["gptq", "awq"],
        "ValueError: Quantization method specified in the model config (gptq) does not match the quantization method specified in the `quantization` argument (awq).\n",
    ),
    boot(
        "batched_tokens_too_few",
        &["512", "2048"],
        "ValueError: max_num_batched_tokens (512) is smaller than max_model_len (2048). This effectively limits the maximum sequence length.\n",
    ),
    boot(
        "port_in_use",
        &["29500"],
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use\n",
    ),
    boot("address_not_local", &["--host"], "OSError: [Errno 99] Cannot assign requested address\n"),
    serving(
        "kernel_out_of_resources",
        &["shared memory"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 106496, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.\n",
    ),
    boot(
        "illegal_instruction",
        &["CPU"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nIllegal instruction (core dumped)\n",
    ),
    serving(
        "native_abort",
        &["GGML_ASSERT"],
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop\nsrv  update_slots: all slots are idle\n/l/ggml/src/ggml.c:3098: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed\nAborted (core dumped)\n",
    ),
    boot(
        "native_abort",
        &["bad file"],
        "[TensorRT-LLM] TensorRT-LLM version: 1.0.0\nterminate called after throwing an instance of 'std::runtime_error'\n  what():  bad file: rank0.engine\n",
    ),
    boot(
        "native_abort",
        &["panicked"],
        "2024-03-01T10:00:00.1Z  INFO text_generation_launcher: Starting Webserver\nthread 'main' panicked at 'called `Option::unwrap()` on a `None` value', router/src/main.rs:9:1\n2024-03-01T10:00:00.2Z ERROR text_generation_launcher: Webserver Crashed\n",
    ),
    serving(
        "telemetry_exception",
        &["AttributeError", "do_tracing"],
        "INFO:     Application startup complete.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] AsyncLLM output_handler failed.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] Traceback (most recent call last):\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543]   File \"/v/v1/engine/output_processor.py\", line 3, in do_tracing\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] AttributeError: 'NoneType' object has no attribute 'start_span'\n(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n",
    ),
    serving(
        "output_handler_exception",
        &["KeyError"],
        "INFO:     Application startup complete.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] AsyncLLM output_handler failed.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] Traceback (most recent call last):\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543]   File \"/v/v1/engine/output_processor.py\", line 3, in process_outputs\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] KeyError: 'cmpl-1'\n",
    ),
];

fn prefixed(log: &str, prefix: &str) -> String {
    let lines: Vec<String> = log.lines().map(|line| format!("{prefix}{line}")).collect();
    lines.join("\n") + "\n"
}

fn conclude(log: &str, aside: &Aside) -> Conclusion {
    boot::read(log.as_bytes(), None).unwrap().conclude(aside)
}

/// What is wrong with the conclusion from `log`, a variant of the example's own.
fn wrong(example: &Example, log: &str) -> Option<String> {
    let found = conclude(log, &Aside::default());
    let Outcome::Failed(failure) = &found.outcome else {
        return Some(format!("{}: {:?}\n{log}", example.kind, found.outcome));
    };
    let message = &failure.message;
    if (failure.kind, failure.phase) != (example.kind, example.phase) {
        return Some(format!("{} is called {}: {message}\n{log}", example.kind, failure.kind));
    }
    if let Some(words) = example.says.iter().find(|words| !message.contains(**words)) {
        return Some(format!("{}: {words:?} is not said: {message}", example.kind));
    }
    let only = ["root_cause_not_in_log", "host_oom_killed"].contains(&example.kind);
    let wrappers = ["Engine core initialization failed", "EngineDeadError", "sigquit"];
    let wrapped = !only && wrappers.iter().any(|wrapper| message.contains(wrapper));
    (wrapped || message.chars().count() > 300).then(|| message.clone())
}

#[track_caller]
fn all_are_named(variants: impl Iterator<Item = (&'static Example, String)>) {
    let wrong: Vec<String> = variants.filter_map(|(example, log)| wrong(example, &log)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}

#[test]
fn every_example_is_named() {
    all_are_named(EXAMPLES.iter().map(|example| (example, example.log.to_owned())));
}

#[test]
fn a_wrapper_after_the_cause_changes_nothing() {
    // A wait is only a cause where nothing else is said.
    let alone = ["root_cause_not_in_log", "placement_group_wait", "worker_stalled", "start_wait"];
    // The wrapper is vLLM's, and advice speaks of the engine the log is of.
    let wrapped = |e: &&Example| {
        e.phase == Phase::Boot && !alone.contains(&e.kind) && !e.log.contains("text_generation")
    };
    all_are_named(EXAMPLES.iter().filter(wrapped).map(|e| (e, format!("{}{WRAPPED}", e.log))));
}

#[test]
fn prefixes_of_launchers_and_shippers_change_nothing() {
    let prefixes =
        ["server-1  | ", "2026-11-30T10:00:00.000000000Z ", "\u{1b}[36mvllm-0  |\u{1b}[0m "];
    all_are_named(
        EXAMPLES.iter().flat_map(|e| prefixes.map(|prefix| (e, prefixed(e.log, prefix)))),
    );
}

#[test]
fn every_kind_has_an_example() {
    let shown: Vec<&str> = EXAMPLES.iter().map(|e| e.kind).collect();
    for kind in kinds() {
        // The name of `oom` depends on the moment; `hf_gated_repo` refines `hf_unauthorized`.
        let named = shown
            .iter()
            .any(|name| *name == kind.name || (kind.name == "oom" && name.starts_with("oom_")));
        assert!(named, "{} has no example", kind.name);
        assert!(!kind.what.is_empty() && !kind.what.ends_with('.'), "{}", kind.name);
    }
}

/// Logs that show no failure.
const HEALTHY: &[&str] = &[
    // A refused request at the end of the log.
    "INFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\nERROR 01-01 10:00:00 [serving.py:1] Traceback (most recent call last):\nERROR 01-01 10:00:00 [serving.py:1] ValueError: The decoder prompt (length 40000) is longer than the maximum model length of 32768.\n",
    // A client that hung up.
    "INFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\nERROR:    Exception in ASGI application\nTraceback (most recent call last):\n  File \"/u/protocols/http/httptools_impl.py\", line 3, in send\nConnectionResetError: [Errno 104] Connection reset by peer\n",
    "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] Exception in ASGI application\nTraceback (most recent call last):\n  File \"/s/x.py\", line 3, in stream\nasyncio.exceptions.CancelledError\n",
    // A prompt that quotes a failure.
    "INFO:     Application startup complete.\nINFO 01-01 10:00:00 [logger.py:43] Received request cmpl-1: prompt: 'My log says torch.OutOfMemoryError: CUDA out of memory. EngineDeadError. Killed. Why?', params: SamplingParams(n=1), prompt_token_ids: None, lora_request: None.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n",
    // Stopped from outside; what dies then dies of that.
    "INFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n(APIServer pid=1) INFO 01-01 10:00:00 [launcher.py:1] [shutdown] API server: shutdown triggered\n(EngineCore pid=2) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=2) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA error: driver shutting down\n",
    "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] SIGTERM received. signum=15 frame=None. Draining requests and shutting down...\n[2026-01-01 10:10:01] Subprocess scheduler_0 (pid=804) crashed with exit code -15. Triggering SIGQUIT for cleanup...\n[2026-01-01 10:10:05] kill_process_tree called: parent_pid=694, include_parent=True, pid=694\n",
    "[TensorRT-LLM] TensorRT LLM version: 1.3.0\nINFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\nINFO:     Shutting down\nINFO:     Waiting for application shutdown.\nTraceback (most recent call last):\n  File \"/t/x.py\", line 3, in f\nRuntimeError: Executor worker returned error\n",
    // A housekeeping thread that failed while the engine works on.
    "(APIServer pid=1) INFO:     Application startup complete.\n(APIServer pid=1) Exception in thread Thread-9 (flush):\n(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/p/push.py\", line 3, in flush\n(APIServer pid=1) urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n(APIServer pid=1) INFO 01-01 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 99.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%\n",
    // Restarted after a start that failed.
    "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nOSError: [Errno 98] Address already in use\nINFO 01-01 10:01:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n",
    // Warnings, and an error that the start went on after.
    "WARNING 01-01 10:00:00 [x.py:1] CUDA out of memory is possible with this setting\nINFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nERROR 01-01 10:00:01 [x.py:1] Error retrieving safetensors: 401 Client Error, retrying 1 of 2\nINFO:     Application startup complete.\n",
];

#[test]
fn what_is_no_failure_is_not_called_one() {
    for log in HEALTHY {
        for prefix in ["", "server-1  | ", "2026-11-30T10:00:00.1Z "] {
            let log = prefixed(log, prefix);
            let found = conclude(&log, &Aside::default());
            assert_eq!(found.outcome, Outcome::Ready, "{log}");
        }
    }
}

#[test]
fn a_crash_stays_one_although_the_server_was_started_again() {
    let log = "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA error: device-side assert triggered\nINFO 01-01 10:02:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n";
    let found = conclude(log, &Aside::default());
    assert_eq!(found.failure(Phase::Serving).map(|f| f.kind), Some("cuda_launch_failure"));
}

#[test]
fn what_stands_beside_the_log_is_used() {
    let loading = "INFO 11-20 10:45:50 [a.py:1] vLLM API server version 0.11.0\nINFO 11-20 10:45:55 [m.py:680] Starting to load model /m...\nLoading safetensors checkpoint shards:  75% Completed | 3/4\n";
    let kernel = Kernel::read(b"[1.0] Out of memory: Killed process 57 (python3) total-vm:1kB\n");
    let aside = Aside { exit: Some(137), kernel: Some(kernel), ..Aside::default() };
    let failure = conclude(loading, &aside);
    let failure = failure.failure(Phase::Boot).unwrap();
    assert_eq!(failure.kind, "host_oom_killed");
    assert!(failure.message.contains("57"), "{}", failure.message);

    let killed = conclude(loading, &Aside { exit: Some(-9), ..Aside::default() });
    assert_eq!(killed.failure(Phase::Boot).unwrap().kind, "killed");

    let stopped = conclude(loading, &Aside { exit: Some(143), ..Aside::default() });
    assert!(matches!(stopped.outcome, Outcome::NotReady { .. }), "{stopped:?}");

    let crashed = "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA error: unknown error\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n";
    let kernel =
        Kernel::read(b"[1.0] NVRM: Xid (PCI:0000:41:00): 79, pid=7, GPU has fallen off the bus.\n");
    let xid = conclude(crashed, &Aside { kernel: Some(kernel), ..Aside::default() });
    let failure = xid.failure(Phase::Serving).unwrap();
    assert_eq!(failure.kind, "gpu_hardware_xid");
    assert!(failure.message.contains("Xid 79"), "{}", failure.message);

    let held = "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: Free memory on device (1.10/23.69 GiB) on startup is less than desired GPU memory utilization (0.9, 21.32 GiB).\n";
    let holder = |orphan| Holder {
        pid: 4711,
        title: "VLLM::EngineCore".into(),
        gpu_mib: Some(20_000),
        orphan,
    };
    for (orphan, kind) in
        [(true, "gpu_memory_held_by_orphan_engine"), (false, "gpu_memory_held_by_other_process")]
    {
        let found = conclude(held, &Aside { holders: vec![holder(orphan)], ..Aside::default() });
        let failure = found.failure(Phase::Boot).unwrap();
        assert_eq!(failure.kind, kind);
        assert!(failure.message.contains("4711"), "{}", failure.message);
    }
}

#[test]
fn a_log_of_nothing_but_errors_needs_little_memory_and_ends() {
    let mut watch = Watch::default();
    for number in 1..20_000_u64 {
        let raw = format!("(W{number} pid=1) RuntimeError: CUDA error: {number}");
        watch.observe(&boot::line::Line::strip(number, raw.as_bytes()), None);
    }
    let found = watch.finish().conclude(&Aside::default(), None);
    assert_eq!(found.failure(Phase::Boot).unwrap().line, Some(1));
}
