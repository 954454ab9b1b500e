//! TensorRT-LLM. Facts from files of its repository, releases 1.0 to 1.3, and from recorded runs of
//! 1.3.0rc29 with the PyTorch back end.

use super::{Command, EngineIdentity};

/// TensorRT-LLM's identity.
pub(super) static TRTLLM: EngineIdentity = EngineIdentity {
    name: "trtllm",
    title: "TensorRT-LLM",
    // tensorrt_llm/metrics/collector.py.
    prefixes: &["trtllm_"],
    // tensorrt_llm/serve/openai_server.py. Its /metrics is a list of JSON records that the request
    // empties, which takes them from the exposition.
    metrics_paths: &["/prometheus/metrics"],
    // tensorrt_llm/commands/serve.py.
    default_ports: &[8000],
    serve_commands: &[
        Command::Program("trtllm-serve", &[]),
        Command::Module("tensorrt_llm.commands.serve"),
        // Its images start no server by themselves.
        Command::Image("nvidia/tensorrt-llm/release", "\0"),
    ],
    // The ranks that hold the GPU; no titles are set.
    worker_commands: &[Command::Module("mpi4py.futures.server")],
    process_titles: &[],
    ready_lines: &["Application startup complete."],
    ready_line_required: false,
    // /health_generate runs a request.
    health_paths: &["/health"],
    // /perf_metrics and /kv_cache_events are emptied by reading.
    get_paths: &["/prometheus/metrics", "/health", "/version", "/v1/models", "/server_info"],
    // ModelCard of its OpenAI protocol.
    owned_by: "tensorrt_llm",
    missing_metrics_help: "set return_perf_metrics: true and enable_iter_perf_stats: true in the file \
                           given to trtllm-serve by --config (before 1.2: --extra_llm_api_options)",
    log_marks: &["[TRT-LLM]", "[TensorRT-LLM]", "tensorrt_llm/", "tensorrt_llm."],
};
