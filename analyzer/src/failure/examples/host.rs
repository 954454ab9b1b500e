//! Examples of the kinds of `host.rs`.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
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
        "host_oom_killed",
        &["OOM killer"],
        "Aug 17 18:42:00 gpu7 vllm[80]: (APIServer pid=80) INFO 08-17 18:42:00 [utils.py:233] non-default args: {'model_tag': '/m'}\nAug 17 18:42:18 gpu7 systemd[1]: vllm.service: A process of this unit has been killed by the OOM killer.\nAug 17 18:42:18 gpu7 systemd[1]: vllm.service: Main process exited, code=killed, status=9/KILL\n",
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
        "shm_too_small",
        &["/dev/shm"],
        "[TensorRT-LLM] TensorRT LLM version: 1.1.0\nIt appears as if there is not enough space for /dev/shm/vader_segment.gpu7 (the shared-memory backing\n",
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
        "illegal_instruction",
        &["CPU"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nIllegal instruction (core dumped)\n",
    ),
    boot(
        "illegal_instruction",
        &["CPU"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:30] Rank 0 scheduler is dead. Please check if there are relevant logs.\n[2026-01-01 10:00:31] Exit code: -4\n",
    ),
    serving(
        "segmentation_fault",
        &["native code"],
        "INFO:     Application startup complete.\nFatal Python error: Segmentation fault\n\nThread 0x00007f (most recent call first):\n",
    ),
    boot(
        "segmentation_fault",
        &["native code"],
        "[TensorRT-LLM] TensorRT-LLM version: 1.0.0\n[gpu7:00424] *** Process received signal ***\n[gpu7:00424] Signal: Segmentation fault (11)\n[gpu7:00424] Signal code: Address not mapped (1)\n",
    ),
    boot(
        "segmentation_fault",
        &["-11"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:30] Rank 3 scheduler is dead. Please check if there are relevant logs.\n[2026-01-01 10:00:31] Exit code: -11\n",
    ),
    boot(
        "segmentation_fault",
        &["139"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nvllm-1 exited with code 139\n",
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
        "native_abort",
        &["-6"],
        "INFO:     Application startup complete.\n[2026-01-01 10:00:00] x\n(APIServer pid=1) ERROR 01-01 10:00:00 [core_client.py:600] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.\n(APIServer pid=1) RuntimeError: Engine core failed. Failed core proc(s): {'EngineCore_DP0': -6}\n",
    ),
    serving(
        "native_abort",
        &["Floating point"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] Decode batch. #running-req: 9, #token: 2625, gen throughput (token/s): 40.49, #queue-req: 0\nFloating point exception (core dumped)\n",
    ),
    boot(
        "open_files_limit",
        &["ulimit"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:10] Traceback (most recent call last):\n  File \"/z/socket.py\", line 3, in socket\nzmq.error.ZMQError: Too many open files\n",
    ),
    serving(
        "open_files_limit",
        &["/tmp/x"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] OSError: [Errno 24] Too many open files: '/tmp/x'\n",
    ),
    boot(
        "host_out_of_memory",
        &["34359738368"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nRuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)\n",
    ),
    boot(
        "host_out_of_memory",
        &["100.00 GB"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\nValueError: Not enough host memory available. Requesting 100.00 GB but only have 50.00 GB free. Please reduce the size of the hierarchical cache.\n",
    ),
    boot(
        "host_out_of_memory",
        &["64.00 GiB"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nValueError: Too large swap space. 64.00 GiB out of the 62.79 GiB total CPU memory is allocated for the swap space.\n",
    ),
    boot(
        "host_out_of_memory",
        &["CPU"],
        "build: 6000 (abcdef12) with cc (Ubuntu) 13.3.0 for x86_64-linux-gnu\nalloc_tensor_range: failed to allocate CPU buffer of size 17179869184\nmain: exiting due to model loading error\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    (
        "host_oom_killed",
        "(raylet) node_manager.cc:3007: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: abd4, IP: 10.0.167.26) over the last time period.",
    ),
    ("host_oom_killed", "[1]+  Killed                  vllm serve /m > server.log 2>&1"),
    ("host_oom_killed", "[1]  + 4242 killed     python -m sglang.launch_server --model-path /m"),
    (
        "shm_too_small",
        "NCCL WARN Error while creating shared memory segment /dev/shm/nccl-3k2ZbF (size 9637888)",
    ),
    (
        "shm_too_small",
        "RuntimeError: unable to open shared memory object </torch_123_456> in read-write mode: No space left on device",
    ),
    (
        "shm_too_small",
        "RuntimeError: DataLoader worker (pid 7) is killed by signal. It is possible that insufficient shared memory (shm) is the cause",
    ),
    ("host_out_of_memory", "MemoryError"),
    ("bus_error_shm", "vllm-1 exited with code 135"),
    (
        "bus_error_shm",
        "RuntimeError: Engine core initialization failed. Failed core proc(s): {'EngineCore_DP0': -7}",
    ),
    ("bus_error_shm", "Shard process was signaled to shutdown with signal 7 rank=0"),
    ("illegal_instruction", "*** SIGILL received at time=1 on cpu 3 ***"),
    ("illegal_instruction", "vllm.service: Main process exited, code=dumped, status=4/ILL"),
    ("illegal_instruction", "Shard process was signaled to shutdown with signal 4 rank=0"),
    ("segmentation_fault", "!!!!!!! Segfault encountered !!!!!!! SIGSEGV in libcuda"),
    ("segmentation_fault", "vllm.service: Main process exited, code=dumped, status=11/SEGV"),
    ("segmentation_fault", "Signal (11) received."),
    ("segmentation_fault", "Shard process was signaled to shutdown with signal 11 rank=0"),
    ("native_abort", "vllm-1 exited with code 134"),
    ("native_abort", "/src/kernels/topk.cu:112: top_k_kernel: Assertion `k > 0` failed."),
    ("host_oom_killed", "Killed"),
    ("host_oom_killed", "[2026-01-01 10:00:31] Exit code: -9"),
    ("host_oom_killed", "Last State: Terminated, Exit Code: 137"),
    ("host_oom_killed", "Shard process was signaled to shutdown with signal 9 rank=0"),
    (
        "host_oom_killed",
        "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    ),
    (
        "host_oom_killed",
        "[ 1.0] Memory cgroup out of memory: Killed process 57 (python3) total-vm:1kB",
    ),
    (
        "host_oom_killed",
        "mpirun noticed that process rank 6 with PID 0 on node gpu7 exited on signal 9 (Killed).",
    ),
];
