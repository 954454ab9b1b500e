//! SGLang. Facts from its wheels 0.4.6 to 0.5.23 and from recorded runs of 0.5.20.

use super::{Command, EngineIdentity};

/// SGLang's identity.
pub(super) static SGLANG: EngineIdentity = EngineIdentity {
    name: "sglang",
    title: "SGLang",
    // srt/observability/metrics_collector.py. The gateway's own series (sgl_router_, smg_) are those
    // of a router.
    prefixes: &["sglang:"],
    // srt/utils/common.py: mounted with --enable-metrics, 404 without.
    metrics_paths: &["/metrics"],
    // srt/server_args.py.
    default_ports: &[30000],
    serve_commands: &[
        Command::Module("sglang.launch_server"),
        Command::Program("sglang", &["serve"]),
        Command::Module("sglang_router.launch_server"),
        // Its images start no server by themselves.
        Command::Image("lmsysorg/sglang", "\0"),
    ],
    worker_commands: &[],
    // srt/managers/scheduler.py and others: `sglang::scheduler_TP0`, `sglang::detokenizer`…
    process_titles: &["sglang::"],
    // srt/entrypoints/http_server.py, behind the warm-up; uvicorn's own lines come before it.
    ready_lines: &["The server is fired up and ready to roll!"],
    ready_line_required: true,
    // /ready since 0.5.20. /health runs a request of one token on an idle server since 0.5.3.
    health_paths: &["/ready", "/v1/models"],
    // /server_info and /model_info since 0.5.6.
    get_paths: &["/metrics", "/ready", "/v1/models", "/server_info", "/model_info"],
    // ModelCard of its OpenAI protocol.
    owned_by: "sglang",
    missing_metrics_help: "start sglang with --enable-metrics",
    log_marks: &[
        "server_args=ServerArgs(",
        "server_args={",
        "max_total_num_tokens=",
        "Decode batch",
        "Prefill batch",
        "The server is fired up and ready to roll!",
        "avail mem=",
        "Scheduler hit an exception",
        "Received sigquit from a child process",
        "sglang/srt/",
        "sglang.srt.",
        "sglang.launch_server",
    ],
};
