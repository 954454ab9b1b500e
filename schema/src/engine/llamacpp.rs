//! llama.cpp's server. Facts from three commits: 7841fc723e05 (2025-03), 4227c9be4268 (2025-08) and
//! 0c1e57098bba (2026-10).

use super::{Command, EngineIdentity};

/// llama.cpp's identity.
pub(super) static LLAMACPP: EngineIdentity = EngineIdentity {
    name: "llamacpp",
    title: "llama.cpp",
    // tools/server/server-context.cpp.
    prefixes: &["llamacpp:"],
    metrics_paths: &["/metrics"],
    // common/common.h; tools/server/server.cpp of 2026-10 announces 9931 as the next default.
    default_ports: &[8080, 9931],
    serve_commands: &[
        Command::Program("llama-server", &[]),
        Command::Program("llama", &["serve"]),
        // Tags `server`, `server-cuda`, `server-b1234`…
        Command::Image("ggml-org/llama.cpp", "server"),
    ],
    worker_commands: &[],
    // One process, untitled.
    process_titles: &[],
    // 2025: `main: server is listening on http://…`, behind the model; an earlier line says
    // `HTTP server is listening, hostname: …`. 2026: `listening on http://…`.
    ready_lines: &["listening on http"],
    ready_line_required: false,
    // 503 while the model loads.
    health_paths: &["/health"],
    // /slots would return prompts in older versions.
    get_paths: &["/metrics", "/health", "/props", "/v1/models"],
    // tools/server/server.cpp.
    owned_by: "llamacpp",
    missing_metrics_help: "start llama-server with --metrics",
    log_marks: &[
        "llama_model_loader:",
        "llama_context:",
        "llama_kv_cache",
        "llama_new_context",
        "ggml_",
        "llama-server",
        "llama.cpp",
        "server is listening on http",
        "srv  ",
        "slot launch_slot_",
    ],
};
