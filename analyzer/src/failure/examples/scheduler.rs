//! Examples of the kinds of `scheduler.rs`.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
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
    boot(
        "warmup_failed",
        &["list index out of range"],
        "2026-01-01T10:00:00.1Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:125: Warming up model\nError: Backend(Warmup(Generation(\"list index out of range\")))\n2026-01-01T10:00:09.2Z ERROR text_generation_launcher: Webserver Crashed\n",
    ),
    serving(
        "scheduler_exception",
        &["IndexError", "pop"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/scheduler.py\", line 3, in pop_overlap\nIndexError: pop from an empty deque\n\n[2026-01-01 10:10:00] INFO:     127.0.0.1:4 - \"POST /generate HTTP/1.1\" 200 OK\n[2026-01-01 10:10:00] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n",
    ),
    serving(
        "scheduler_exception",
        &["ValueError", "free"],
        "[10:00:00] server_args=ServerArgs(model_path='/m')\n[10:00:00] The server is fired up and ready to roll!\n[10:10:00 DP1 TP0] TpModelWorkerClient hit an exception: Traceback (most recent call last):\n  File \"/s/tp_worker_overlap_thread.py\", line 3, in forward_thread_func_\nValueError: token_to_kv_pool free slots do not add up\n\n[10:10:01] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    boot(
        "scheduler_exception",
        &["invalid argument", "cuda_graph_runner.py"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/custom_all_reduce.py\", line 307, in register_graph_buffers\nRuntimeError: invalid argument\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/s/cuda_graph_runner.py\", line 400, in __init__\nException: Capture cuda graph failed: invalid argument\n\n[2026-01-01 10:00:01] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    serving(
        "detokenizer_exception",
        &["UnicodeDecodeError"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] DetokenizerManager hit an exception: Traceback (most recent call last):\n  File \"/s/detokenizer_manager.py\", line 3, in handle\nUnicodeDecodeError: 'utf-8' codec can't decode byte 0xff\n",
    ),
    serving(
        "detokenizer_exception",
        &["AttributeError", "decode_ids"],
        "[10:00:00] server_args=ServerArgs(model_path='/m')\n[10:00:00] The server is fired up and ready to roll!\n[10:10:00] DetokenizerManager hit an exception: Traceback (most recent call last):\n  File \"/s/detokenizer_manager.py\", line 3, in event_loop\nAttributeError: 'NoneType' object has no attribute 'decode_ids'\n\n",
    ),
    serving(
        "tokenizer_exception",
        &["KeyError"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] TokenizerManager hit an exception: Traceback (most recent call last):\n  File \"/s/tokenizer_manager.py\", line 3, in handle_loop\nKeyError: 'rid'\n",
    ),
    serving(
        "tokenizer_exception",
        &["ZMQError"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] TokenizerManager hit an exception: Traceback (most recent call last):\n  File \"/s/tokenizer_manager.py\", line 3, in sigterm_watchdog\nzmq.error.ZMQError: Socket operation on non-socket\n\n",
    ),
    serving(
        "controller_exception",
        &["ZMQError"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00] DataParallelController hit an exception: Traceback (most recent call last):\n  File \"/s/data_parallel_controller.py\", line 3, in dispatch\nzmq.error.ZMQError: Host unreachable\n",
    ),
    serving(
        "controller_exception",
        &["TypeError", "req"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m', 'dp_size': 2}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 DP0] DataParallelController hit an exception: Traceback (most recent call last):\n  File \"/s/data_parallel_controller.py\", line 3, in round_robin_scheduler\nTypeError: dispatching_with_trace() missing 1 required positional argument: 'req'\n\n",
    ),
    serving(
        "engine_core_exception",
        &["AssertionError", "schedule"],
        "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] Traceback (most recent call last):\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1]   File \"/v/v1/core/sched/scheduler.py\", line 3, in schedule\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] AssertionError\n(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n",
    ),
    serving(
        "engine_core_exception",
        &["RuntimeError", "mm_input_cache"],
        "INFO:     Application startup complete.\nERROR 04-01 10:00:00 [core.py:343] EngineCore hit an exception: Traceback (most recent call last):\nERROR 04-01 10:00:00 [core.py:343]   File \"/v/v1/engine/mm_input_cache.py\", line 3, in get_and_update_p1\nERROR 04-01 10:00:00 [core.py:343] RuntimeError: dictionary changed size during iteration\nERROR 04-01 10:00:00 [core.py:343] \nCRITICAL 04-01 10:00:00 [core_client.py:361] Got fatal signal from worker processes, shutting down. See stack trace above for root cause issue.\n",
    ),
    serving(
        "output_handler_exception",
        &["KeyError"],
        "INFO:     Application startup complete.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] AsyncLLM output_handler failed.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] Traceback (most recent call last):\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543]   File \"/v/v1/engine/output_processor.py\", line 3, in process_outputs\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] KeyError: 'cmpl-1'\n",
    ),
    serving(
        "output_handler_exception",
        &["TypeError"],
        "INFO:     Application startup complete.\nERROR 01-01 10:00:00 [async_llm.py:400] AsyncLLM output_handler failed.\nERROR 01-01 10:00:00 [async_llm.py:400] Traceback (most recent call last):\nERROR 01-01 10:00:00 [async_llm.py:400]   File \"/v/v1/engine/detokenizer.py\", line 3, in update\nERROR 01-01 10:00:00 [async_llm.py:400] TypeError: argument 'ids': Can't convert negative int to unsigned\nINFO:     Shutting down\n",
    ),
    serving(
        "telemetry_exception",
        &["AttributeError", "do_tracing"],
        "INFO:     Application startup complete.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] AsyncLLM output_handler failed.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] Traceback (most recent call last):\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543]   File \"/v/v1/engine/output_processor.py\", line 3, in do_tracing\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] AttributeError: 'NoneType' object has no attribute 'start_span'\n(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n",
    ),
    serving(
        "telemetry_exception",
        &["ValueError", "metrics.py"],
        "INFO:     Application startup complete.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] AsyncLLM output_handler failed.\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] Traceback (most recent call last):\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543]   File \"/v/v1/metrics/loggers.py\", line 3, in record\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543]   File \"/p/prometheus_client/metrics.py\", line 3, in inc\n(APIServer pid=1) ERROR 01-01 10:00:00 [async_llm.py:543] ValueError: Counters can only be incremented by non-negative amounts.\n",
    ),
    serving(
        "worker_exception",
        &["KeyError"],
        "INFO:     Application startup complete.\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1] WorkerProc hit an exception.\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1] Traceback (most recent call last):\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1]   File \"/v/v1/worker/gpu_model_runner.py\", line 3, in execute_model\n(Worker_TP1 pid=7) ERROR 01-01 10:00:00 [m.py:1] KeyError: 'req-7'\n",
    ),
    serving(
        "worker_exception",
        &["BAD_STATUS", "nixl"],
        "INFO:     Application startup complete.\n(EngineCore_0 pid=2) (VllmWorker TP1 pid=3) ERROR 09-07 11:25:28 [m.py:596] WorkerProc hit an exception.\n(EngineCore_0 pid=2) (VllmWorker TP1 pid=3) ERROR 09-07 11:25:28 [m.py:596] Traceback (most recent call last):\n(EngineCore_0 pid=2) (VllmWorker TP1 pid=3) ERROR 09-07 11:25:28 [m.py:596]   File \"/v/nixl_connector.py\", line 3, in _pop_done_transfers\n(EngineCore_0 pid=2) (VllmWorker TP1 pid=3) ERROR 09-07 11:25:28 [m.py:596] RuntimeError: BAD_STATUS\n",
    ),
    boot(
        "unclassified_exception",
        &["LookupError", "feed at zoo.py:31"],
        "Traceback (most recent call last):\n  File \"/opt/plugin/zoo.py\", line 31, in feed\n    raise LookupError(x)\nLookupError: the bear was not fed\n",
    ),
    boot(
        "unclassified_exception",
        &["RecursionError", "expand at tree.py:9"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\nTraceback (most recent call last):\n  File \"/opt/plugin/tree.py\", line 9, in expand\nRecursionError: maximum recursion depth exceeded\n",
    ),
    boot(
        "start_failed",
        &["UCX", "Endpoint timeout"],
        "[TensorRT-LLM] TensorRT LLM version: 1.1.0\n[06/11/2026-10:20:15] [TRT-LLM] [RANK 0] [E] Failed to initialize executor on rank 0: UCX connection failed: Endpoint timeout\nRuntimeError: Executor worker returned error\n",
    ),
    boot(
        "start_failed",
        &["split_count"],
        "build: 6000 (abcdef12) with cc (Ubuntu) 13.3.0 for x86_64-linux-gnu\nllama_model_load: error loading model: illegal split file idx: 1 (file: m-2.gguf), model must be loaded with the first split of split_count 3\nmain: exiting due to model loading error\n",
    ),
    // NVIDIA/TensorRT-LLM #13318, April 2026: the loop is gone and the server stays.
    serving(
        "executor_loop_exception",
        &["the executor's event loop ended with AssertionError", "max_num_tokens (8192)"],
        "[TensorRT-LLM] TensorRT LLM version: 1.2.0\nINFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n[01/01/2026-12:00:00] [TRT-LLM] [E] Error in event loop: total_num_tokens (9000) should be less than or equal to max_num_tokens (8192)\n[01/01/2026-12:00:00] [TRT-LLM] [E] Traceback (most recent call last):\n  File \"/t/py_executor.py\", line 300, in _event_loop_wrapper\n    self.event_loop()\n  File \"/t/model_engine.py\", line 12, in _prepare_tp_inputs\nAssertionError: total_num_tokens (9000) should be less than or equal to max_num_tokens (8192)\n",
    ),
    serving(
        "executor_loop_exception",
        &["KeyError"],
        "[TensorRT-LLM] TensorRT LLM version: 1.0.0\nINFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n[01/01/2026-12:00:00] [TRT-LLM] [RANK 2] [E] Error in event loop: 4711\n[01/01/2026-12:00:00] [TRT-LLM] [RANK 2] [E] Traceback (most recent call last):\n  File \"/t/seq_slot_manager.py\", line 40, in free_resources\nKeyError: 4711\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    (
        "kv_pool_exhausted",
        "RuntimeError: Out of memory even after retracting all other requests in the decode batch.",
    ),
    (
        "warmup_failed",
        "Unable to warmup the Python model shards: Generation(\"list index out of range\")",
    ),
    (
        "start_failed",
        "E0223 12:03:30.7 120 backend_model.cc:692] ERROR: Failed to create instance: engine directory is empty",
    ),
];
