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
];
