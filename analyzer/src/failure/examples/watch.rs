//! Failures that are told from what the log does not say.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "root_cause_not_in_log",
        &["not in the log"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:10] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    serving(
        "root_cause_not_in_log",
        &["not in the log"],
        "INFO:     Application startup complete.\nERROR 12-01 13:05:02 client.py:282] RuntimeError('Engine process (pid 76) died.')\nERROR 12-01 13:05:02 client.py:282] NoneType: None\nCRITICAL 12-01 13:05:02 launcher.py:99] MQLLMEngine is already dead, terminating server process\nINFO:     Shutting down\n",
    ),
    // What started it tells the end: systemd (and starts it again), docker compose, supervisord.
    serving(
        "root_cause_not_in_log",
        &["the server process ended", "status=1/FAILURE"],
        "Jan 01 10:00:00 gpu1 vllm[77]: INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nJan 01 10:00:00 gpu1 vllm[77]: INFO:     Application startup complete.\nJan 01 12:00:01 gpu1 systemd[1]: vllm.service: Main process exited, code=exited, status=1/FAILURE\nJan 01 12:00:06 gpu1 systemd[1]: vllm.service: Scheduled restart job, restart counter is at 1.\nJan 01 12:00:10 gpu1 vllm[99]: INFO 01-01 12:00:10 [api_server.py:1] vLLM API server version 0.11.0\nJan 01 12:00:40 gpu1 vllm[99]: INFO:     Application startup complete.\n",
    ),
    serving(
        "root_cause_not_in_log",
        &["the server process ended", "vllm-1 exited with code 1"],
        "vllm-1  | INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nvllm-1  | INFO:     Application startup complete.\nvllm-1 exited with code 1\n",
    ),
    serving(
        "root_cause_not_in_log",
        &["the server process ended", "not expected"],
        "INFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n2026-01-01 12:00:00,123 WARN exited: vllm (exit status 1; not expected)\n",
    ),
    boot(
        "root_cause_not_in_log",
        &["the server process ended", "exited with code [1]"],
        "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nPM2        | App [vllm:0] exited with code [1] via signal [SIGINT]\n",
    ),
    // Reported with 0.22, June 2026: a frontend ended and wrote nothing.
    boot(
        "root_cause_not_in_log",
        &["a server process died", "RustFrontend"],
        "(EngineCore pid=739) INFO 06-04 11:58:06 [core.py:113] Initializing a V1 LLM engine (v0.22.0) with config: model='/m'\nERROR 06-04 11:58:06 [utils.py:546] Exception occurred while running API servers: Process RustFrontend (PID: 740) died with exit code 2\nERROR 06-04 11:58:06 [utils.py:546] Traceback (most recent call last):\nERROR 06-04 11:58:06 [utils.py:546]   File \"/v/v1/utils.py\", line 533, in wait_for_completion_or_failure\nERROR 06-04 11:58:06 [utils.py:546]     raise RuntimeError(\nERROR 06-04 11:58:06 [utils.py:546] RuntimeError: Process RustFrontend (PID: 740) died with exit code 2\n",
    ),
    serving(
        "root_cause_not_in_log",
        &["the engine died while serving", "ApiServer_1"],
        "(ApiServer_0 pid=7) INFO:     Application startup complete.\n(ApiServer_0 pid=7) INFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\nERROR 06-04 11:58:06 [utils.py:546] Exception occurred while running API servers: Process ApiServer_1 (PID: 740) died with exit code 1\nERROR 06-04 11:58:06 [utils.py:546] Traceback (most recent call last):\nERROR 06-04 11:58:06 [utils.py:546]   File \"/v/v1/utils.py\", line 533, in wait_for_completion_or_failure\nERROR 06-04 11:58:06 [utils.py:546]     raise RuntimeError(\nERROR 06-04 11:58:06 [utils.py:546] RuntimeError: Process ApiServer_1 (PID: 740) died with exit code 1\n",
    ),
];
