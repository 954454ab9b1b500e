//! vLLM. Facts from its source distributions 0.8.5 to 0.33.0 and from recorded runs of 0.28 to 0.32.

use super::{Command, EngineIdentity};

/// vLLM's identity.
pub(super) static VLLM: EngineIdentity = EngineIdentity {
    name: "vllm",
    title: "vLLM",
    // v1/metrics/loggers.py@0.33.0.
    prefixes: &["vllm:"],
    // entrypoints/serve/instrumentator/metrics.py@0.33.0: always mounted, without a key.
    metrics_paths: &["/metrics"],
    // entrypoints/openai/cli_args.py.
    default_ports: &[8000],
    // The image's entry point has been `vllm serve`, before that the api_server module.
    serve_commands: &[
        Command::Program("vllm", &["serve"]),
        Command::Module("vllm.entrypoints.openai.api_server"),
        Command::Module("vllm.entrypoints.api_server"),
        Command::Image("vllm/vllm-openai", ""),
    ],
    // v1/utils.py@0.33.0: the Rust frontend is a child of the launcher.
    worker_commands: &[Command::Program("vllm-rs", &["frontend"])],
    // utils/system_utils.py@0.33.0: prefix VLLM unless VLLM_PROCESS_NAME_PREFIX says otherwise,
    // since 0.10.2; `VLLM::EngineCore`, `VLLM::Worker_TP0`, `VLLM::APIServer_1`…
    process_titles: &["VLLM::"],
    // uvicorn's line, once per API server; the Rust frontend's since 0.22.1.
    ready_lines: &["Application startup complete.", "OpenAI server is ready to accept requests"],
    ready_line_required: false,
    // entrypoints/serve/instrumentator/health.py@0.33.0: runs no request.
    health_paths: &["/health"],
    // /server_info answers only in developer mode and holds the whole configuration.
    get_paths: &["/metrics", "/health", "/version", "/v1/models", "/load"],
    // v1/engine/async_llm.py@0.33.0: without statistics no engine series exists.
    // ModelCard of its OpenAI protocol.
    owned_by: "vllm",
    missing_metrics_help: "start vllm without --disable-log-stats",
    // logger.py (process names) and v1/engine/core.py of all releases.
    log_marks: &[
        "(APIServer pid=",
        "(EngineCore",
        "vLLM API server version",
        // V0 and V1; the same words since 0.4.
        "LLM engine (v",
        "non-default args: {",
        "] vLLM ",
        "[vllm",
        "vllm/",
        "vllm.",
    ],
};
