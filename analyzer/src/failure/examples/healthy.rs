//! Servers that did their work, whatever their logs look like.

/// Logs that show no failure.
pub(super) const LOGS: &[&str] = &[
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
    // The pool was full, so a request was retracted.
    "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 TP0] Decode batch. #running-req: 9, #token: 2625, token usage: 0.99, gen throughput (token/s): 40.49, #queue-req: 0\n[2026-01-01 10:10:01 TP0] Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.6 -> 0.9\n",
    // A transfer between prefill and decode failed for one request.
    "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:00] The server is fired up and ready to roll!\n[2026-01-01 10:10:00 TP0] Decode batch. #running-req: 9, #token: 2625, token usage: 0.09, gen throughput (token/s): 40.49, #queue-req: 0\n[2026-01-01 10:10:01 TP1] Decode transfer failed for request rank=1 decode_req.req.rid='3c' with exception KVTransferError(bootstrap_room=1): Failed to get kvcache from prefill instance, it might be dead\n[2026-01-01 10:10:02] INFO:     10.0.0.1:4 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n",
    // TensorRT-LLM refuses a prompt by an assertion.
    "[TensorRT-LLM] TensorRT LLM version: 1.0.0\nINFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n[TensorRT-LLM][ERROR] Encountered an error when fetching new request: [TensorRT-LLM][ERROR] Assertion failed: Prompt length (8192) exceeds maximum input length (1024). (/src/batch_manager/llmRequest.h:580)\nINFO:     1.2.3.4:6 - \"POST /v1/completions HTTP/1.1\" 400 Bad Request\n",
    // An answer that quotes a failure, and a field of a request.
    "INFO:     Application startup complete.\nINFO 01-01 10:00:00 [logger.py:80] Generated response chatcmpl-1: output: 'EngineDeadError means that the engine died: CUDA out of memory, Killed', output_token_ids: None, finish_reason: stop\nINFO 01-01 10:00:00 [protocol.py:9] The following fields were present in the request but ignored: {'note': 'Scheduler hit an exception'}\nINFO:     1.2.3.4:5 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n",
    // A question that quotes a probe, and a record of JSON that quotes a traceback.
    "INFO:     Application startup complete.\nINFO 01-01 10:00:00 [app.py:9] asked: why does it say Container vllm failed liveness probe, will be restarted\n{\"levelname\":\"INFO\",\"message\":\"asked: what is\\nTraceback (most recent call last):\\n  File \\\"a.py\\\", line 1, in f\\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\"}\nINFO:     1.2.3.4:5 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n",
    // The client beside it ended, and another unit's process did.
    "vllm-1  | INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nvllm-1  | INFO:     Application startup complete.\nvllm-1  | INFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\nbench-1 exited with code 1\nload-2 exited with code 137\n",
    "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO:     Application startup complete.\nnginx.service: Main process exited, code=exited, status=1/FAILURE\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n",
    // Stopped by its service manager, and by its launcher.
    "INFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\nvllm.service: Main process exited, code=killed, status=15/TERM\n",
    "vllm-1  | INFO:     Application startup complete.\nvllm-1  | INFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\nvllm-1 exited with code 143\n",
    // Logs that begin while the server serves, and one whose framework was told to be quiet.
    "[2026-01-01 10:10:00 TP0] Decode batch. #running-req: 9, #token: 2625, token usage: 0.09, gen throughput (token/s): 40.49, #queue-req: 0\n",
    "(APIServer pid=1) INFO 01-01 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 99.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%\n",
    "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n(EngineCore pid=2) INFO 01-01 10:00:30 [core.py:214] init engine (profile, create kv cache, warmup model) took 44.33 seconds\nINFO 01-01 10:00:50 [loggers.py:1] Engine 000: Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: 4 reqs\n",
];

/// What a start says on its way that is no failure, although the log ends before it is ready.
pub(super) const ON_THE_WAY: &[&str] = &[
    "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.0 as it may crash.",
    "INFO 01-01 10:00:05 [x.py:1] torch.OutOfMemoryError: CUDA out of memory for candidate 3, skipped",
    "WARNING 01-01 10:00:05 [x.py:1] ValueError: FlashInfer is not supported here, using Triton",
    "{\"level\":\"warn\",\"message\":\"tried without:\\nRuntimeError: CUDA error: not supported\"}",
    "warning: failed to mlock 1000-byte buffer (after previously locking 0 bytes): Cannot allocate memory",
    "INFO 01-01 10:00:05 [x.py:1] a pod whose container failed startup probe, will be restarted",
];

/// Errors of a serving engine that end nothing: noise of its start and its libraries, and requests
/// that were refused or given up. Each is the last line of its log.
pub(super) const LINES: &[&str] = &[
    "ImportError: Failed to import from vllm._C with ImportError('libcudart.so.12: cannot open shared object file: No such file or directory')",
    "Ignore import error when loading sglang.srt.models.x: No module named 'torchaudio'",
    "Skipping import of cpp extensions due to incompatible torch version",
    "OSError: [Errno 28] No space left on device: '/tmp/x', retrying in 2 s",
    "HTTPError: 401 Client Error, retrying 1 of 2",
    "nvmlError: Error querying CC and NVLE state: Not Supported",
    "RuntimeError: freeze_gc failed: 404",
    "PermissionError: py-spy: Permission denied: try running again with elevated permissions",
    "Exception ignored in: <function Client.__del__>: RuntimeError: CUDA error: driver shutting down",
    "FileNotFoundError: resource_tracker: '/psm_1f3a': No such file or directory",
    "RuntimeError: destroy_process_group() was not called before program exit, which can leak resources",
    "/s/scheduler.py:1326: UserWarning: token_to_kv_pool_allocator memory leak detected! CUDA error: none",
    "PermissionError: [Errno 13] Permission denied: '/.config/vllm/usage_stats.json'",
    "Failed to export traces to otel:4317, error code: StatusCode.UNAVAILABLE",
    "opentelemetry.exporter: RuntimeError: Connection refused",
    "NOTE: Redirects are currently not supported in Windows or MacOs. RuntimeError: none",
    "0 errors, CUDA error: none",
    "INFO: no errors found in CUDA error: log",
    "error_rate=0 CUDA error: none",
    "RuntimeError: Failed to get device capability: CUDA error: none",
    "warning: failed to mlock 1000-byte buffer (after previously locking 0 bytes): Cannot allocate memory",
    "[2026-01-01 10:10:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=30, self.soft=True)",
    "[2026-01-01 10:10:00] TokenizerManager watchdog timeout (self.watchdog_timeout=60.0, self.soft=True)",
    "[start of flashinfer loading traceback]",
    "ValueError: This model's maximum context length is 32768 tokens, however you requested 40000 tokens",
    "ValueError: The prompt (length 40000) is longer than the maximum of 32768",
    "ValueError: Input token length exceeds 32768",
    "ValueError: Please reduce the length of the messages",
    "RuntimeError: the request exceeds the available context size, try increasing it",
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ChatCompletionRequest",
    "fastapi.exceptions.HTTPException: 404 Not Found",
    "ValueError: temperature must be non-negative, got -1.0",
    "ValueError: Invalid JSON schema: {'type': 'x'}",
    "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant",
    "ValueError: The model `gpt-4` does not exist.",
    "ValueError: Request is disconnected from the client side. Abort request rid='abc'",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "RuntimeError: The request queue is full.",
    "srv  stop: cancel task, id_task = 11",
];
