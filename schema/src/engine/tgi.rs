//! Hugging Face text-generation-inference. Facts from commit db931fcf42da (3.3.7).

use super::{Command, EngineIdentity};

/// TGI's identity.
pub(super) static TGI: EngineIdentity = EngineIdentity {
    name: "tgi",
    title: "Text Generation Inference",
    // router/src/server.rs and backends/v3.
    prefixes: &["tgi_"],
    // On the router's own port, always on.
    metrics_paths: &["/metrics"],
    // launcher/src/main.rs: 3000; the images set PORT=80.
    default_ports: &[3000, 80],
    serve_commands: &[
        Command::Program("text-generation-launcher", &[]),
        Command::Program("text-generation-router", &[]),
        Command::Image("huggingface/text-generation-inference", ""),
    ],
    // One a GPU; it holds the memory.
    worker_commands: &[Command::Program("text-generation-server", &["serve"])],
    process_titles: &[],
    // router/src/server.rs, behind the warm-up.
    ready_lines: &[": Connected"],
    ready_line_required: false,
    // backends/v3/src/backend.rs: before the first request /health runs the model, so /info it is.
    health_paths: &["/info"],
    get_paths: &["/metrics", "/info", "/v1/models"],
    // router/src/server.rs: the model's own id.
    owned_by: "",
    missing_metrics_help: "read the router's port (--port); its metrics are always on",
    log_marks: &["text_generation_launcher", "text_generation_router", "text_generation_server"],
};
