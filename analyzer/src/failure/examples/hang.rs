//! Examples of the kinds of `hang.rs`.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
    serving(
        "scheduler_watchdog_timeout",
        &["300", "watchdog"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 DP0 TP3] Scheduler watchdog timeout (self.watchdog_timeout=300.0, self.soft=False)\n[2026-01-01 10:10:05] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
    ),
    serving(
        "scheduler_watchdog_timeout",
        &["300"],
        "[2025-02-01 10:00:00] server_args={'model_path': '/m'}\n[2025-02-01 10:00:00] The server is fired up and ready to roll!\n[2025-02-01 10:10:00 TP3] Watchdog timeout (self.watchdog_timeout=300)\n[2025-02-01 10:10:05] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    serving(
        "scheduler_watchdog_timeout",
        &["300"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] DetokenizerManager watchdog timeout (self.watchdog_timeout=300.0, self.soft=False)\n[2026-01-01 10:10:05] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
    ),
    serving(
        "executor_hang",
        &["Hang detected"],
        "[TensorRT-LLM] TensorRT LLM version: 1.3.0\nINFO:     Application startup complete.\n[06/11/2026-10:20:15] [TRT-LLM] [E] Hang detected after 300 seconds.\n",
    ),
    serving(
        "executor_hang",
        &["rank 3"],
        "[TensorRT-LLM] TensorRT LLM version: 1.2.0\nINFO:     Application startup complete.\n[06/11/2026-10:20:15] [TRT-LLM] [RANK 3] [E] Hang detected on rank 3 in PyExecutor.\n",
    ),
    serving(
        "health_check_failed",
        &["detokenizer", "20"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 10:09:40\n",
    ),
    serving(
        "health_check_failed",
        &["liveness probe"],
        "INFO:     Application startup complete.\n(APIServer pid=1) INFO:     10.0.0.9:4 - \"GET /health HTTP/1.1\" 200 OK\nNov 30 10:00:00 gpu7 kubelet[811]: I1130 10:00:00.100000     811 kuberuntime_manager.go:1] \"Killing container\" message=\"Container vllm failed liveness probe, will be restarted\"\n",
    ),
    serving(
        "rpc_timeout",
        &["sample_tokens"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] TimeoutError: RPC call to sample_tokens timed out.\n",
    ),
    serving(
        "rpc_timeout",
        &["RayChannelTimeoutError"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1]   File \"/r/experimental/channel/shared_memory_channel.py\", line 3, in read\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ray.exceptions.RayChannelTimeoutError: System error: If the execution is expected to take a long time, increase RAY_CGRAPH_get_timeout which is currently 300 seconds.\n",
    ),
    serving(
        "rpc_timeout",
        &["heartbeat"],
        "INFO:     Application startup complete.\nERROR 10-10 01:25:08 client.py:250] TimeoutError('No heartbeat received from MQLLMEngine')\nERROR 10-10 01:25:08 client.py:250] NoneType: None\nCRITICAL 10-10 01:25:12 launcher.py:99] MQLLMEngine is already dead, terminating server process\n",
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
        "engine_start_timeout",
        &["in time"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\nTimeoutError: The server did not become ready within 1200 seconds.\n",
    ),
    boot(
        "engine_start_timeout",
        &["startup probe"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nWarning  Unhealthy  30s  kubelet  Startup probe failed: dial tcp 10.0.0.1:8000: connect: connection refused\nNormal   Killing    10s  kubelet  Container vllm failed startup probe, will be restarted\n",
    ),
    boot(
        "placement_group_wait",
        &["placement group", "1270"],
        "INFO 02-27 10:00:00 [api_server.py:1] vLLM API server version 0.7.3\nINFO 02-27 10:00:10 ray_utils.py:212] Waiting for creating a placement group of specs for 10 seconds. specs=[{'GPU': 1.0}]. Check `ray status` to see if you have enough resources.\nINFO 02-27 10:00:30 ray_utils.py:212] Waiting for creating a placement group of specs for 30 seconds. specs=[{'GPU': 1.0}].\nINFO 02-27 10:21:10 ray_utils.py:212] Waiting for creating a placement group of specs for 1270 seconds. specs=[{'GPU': 1.0}].\n",
    ),
    boot(
        "placement_group_wait",
        &["GPUs"],
        "INFO 02-27 10:00:00 [api_server.py:1] vLLM API server version 0.9.1\n(autoscaler +1m2s) Error: No available node types can fulfill resource request {'GPU': 8.0}. Add suitable node types to this cluster to resolve this issue.\n(autoscaler +1m37s) Error: No available node types can fulfill resource request {'GPU': 8.0}. Add suitable node types to this cluster to resolve this issue.\n",
    ),
    boot(
        "placement_group_timeout",
        &["1800 seconds"],
        "[rank0]: ValueError: Cannot provide a placement group of placement_group_specs=[{'GPU': 1.0}, {'GPU': 1.0}] within 1800 seconds. See `ray status` to make sure the cluster has enough resources.\n",
    ),
    boot(
        "placement_group_timeout",
        &["too few free GPUs"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: Cannot provide a placement group requiring 2 GPUs (placement_group_specs=[{'GPU': 1.0}]) within 1800 seconds.\n",
    ),
    boot(
        "worker_stalled",
        &["shared memory broadcast block"],
        "INFO 02-27 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO 02-27 10:01:00 [shm_broadcast.py:1] No available shared memory broadcast block found in 60 seconds.\nINFO 02-27 10:02:00 [shm_broadcast.py:1] No available shared memory broadcast block found in 60 seconds.\nINFO 02-27 10:03:00 [shm_broadcast.py:1] No available shared memory broadcast block found in 60 seconds.\n",
    ),
    boot(
        "worker_stalled",
        &["broadcast block"],
        "INFO 02-27 10:00:00 [api_server.py:1] vLLM API server version 0.8.5\n(VllmWorkerProcess pid=161) WARNING 08-22 06:24:42 shm_broadcast.py:386] No available block found in 60 second.\n(VllmWorkerProcess pid=161) WARNING 08-22 06:25:42 shm_broadcast.py:386] No available block found in 60 second.\n(VllmWorkerProcess pid=161) WARNING 08-22 06:26:42 shm_broadcast.py:386] No available block found in 60 second.\n",
    ),
    boot(
        "start_wait",
        &["never became ready"],
        "2024-03-01T10:00:00.1Z  INFO text_generation_launcher: Starting shard rank=0\n2024-03-01T10:00:10.1Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0\n2024-03-01T10:00:20.1Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0\n2024-03-01T10:00:30.1Z  INFO shard-manager: text_generation_launcher: Waiting for shard to be ready... rank=0\n",
    ),
    boot(
        "start_wait",
        &["core engine proc"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.9.1\nDEBUG 01-01 10:00:10 [utils.py:431] Waiting for 1 local, 1 remote core engine proc(s) to start.\nDEBUG 01-01 10:00:20 [utils.py:431] Waiting for 1 local, 1 remote core engine proc(s) to start.\nDEBUG 01-01 10:00:30 [utils.py:431] Waiting for 1 local, 1 remote core engine proc(s) to start.\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    ("executor_hang", "[TRT-LLM] [E] HangDetector: no progress for 300 s"),
    ("executor_hang", "[TRT-LLM] [E] V2Scheduler: Declaring deadlock"),
    ("rpc_timeout", "RuntimeError: execute_model timed out after 300 s"),
    (
        "rpc_timeout",
        "ERROR 01-01 11:05:00 [async_llm_engine.py:654] Engine iteration timed out. This should never happen!",
    ),
    ("rpc_timeout", "TimeoutError: timed out while waiting for worker 3"),
    ("engine_start_timeout", "RuntimeError: engine handshake timed out"),
    (
        "placement_group_wait",
        "INFO 02-27 10:00:10 ray_utils.py:212] Waiting for removing a placement group of specs for 10 seconds.",
    ),
    ("start_wait", "INFO 02-27 10:00:10 [x.py:1] Still waiting for the leader."),
];
