//! TensorRT-LLM 1.x (`trtllm-serve`).
//!
//! Sources: `tensorrt_llm/metrics/collector.py` and `serve/openai_server.py`, and scrapes of a
//! 1.3.0rc29 server. Figures of an iteration are published when a request completes, not when they
//! change: between completions every gauge stands still, and after the last one it stays.

use super::{Engine, Metric, Pick, Release, Signal};

/// Written when the first response is.
const REQUESTS: &[&str] = &["trtllm_model_config_info", "trtllm_request_success_total"];

/// The servers of about 1.0 count requests and three latencies, and no tokens.
const WITHOUT_TOKENS: Release = Release {
    has: "trtllm_request_success_total",
    lacks: &[
        "trtllm_model_config_info",
        "trtllm_prompt_tokens_total",
        "trtllm_generation_tokens_total",
    ],
};

const fn request(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { signal, names, witnesses: REQUESTS, pick: Pick::All, not_in: None }
}

/// Of requests too, but not from the first release on.
const fn later(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { not_in: Some(WITHOUT_TOKENS), ..request(signal, names) }
}

/// Gauges of an iteration, published with iteration statistics on.
const fn iteration(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { signal, names, witnesses: &[], pick: Pick::HighestOf("pid"), not_in: None }
}

/// A signal that only some releases or settings export: its absence is no zero.
const fn optional(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { signal, names, witnesses: &[], pick: Pick::All, not_in: None }
}

pub(super) static TRTLLM: Engine = Engine {
    name: "trtllm",
    packages: &["tensorrt_llm", "tensorrt-llm"],
    replica_label: None,
    total_label: None,
    gauges_lag: Some("TensorRT-LLM's gauges move only when a request completes"),
    gauges_stay: false,
    gauges_setting: "set enable_iter_perf_stats: true in the server's --config file",
    usage_rounding: 0.0,
    made_at_start: &[],
    running_limit_option: "--max_batch_size",
    preemption: "pause",
    metrics: &[
        iteration(Signal::Running, &["trtllm_num_requests_running"]),
        iteration(Signal::Waiting, &["trtllm_num_requests_waiting"]),
        iteration(Signal::KvUsage, &["trtllm_kv_cache_utilization"]),
        iteration(Signal::Paused, &["trtllm_num_paused_requests"]),
        iteration(Signal::RunningLimit, &["trtllm_max_num_active_requests"]),
        // Only iterations with prompt tokens are in it, those after a pause included. A ring of
        // `iter_stats_max_iterations` (1,000) loses iterations between completions.
        optional(Signal::PrefillTokens, &["trtllm_prefill_batch_tokens_sum"]),
        later(Signal::PromptTokens, &["trtllm_prompt_tokens_total"]),
        later(Signal::CachedPromptTokens, &["trtllm_prompt_cached_tokens_total"]),
        later(Signal::GenerationTokens, &["trtllm_generation_tokens_total"]),
        request(Signal::Finished, &["trtllm_request_success_total"]),
        request(Signal::FirstTokens, &["trtllm_time_to_first_token_seconds_count"]),
        request(Signal::FirstTokenSeconds, &["trtllm_time_to_first_token_seconds_sum"]),
        request(Signal::Ended, &["trtllm_e2e_request_latency_seconds_count"]),
        request(Signal::EndedSeconds, &["trtllm_e2e_request_latency_seconds_sum"]),
        request(Signal::Queued, &["trtllm_request_queue_time_seconds_count"]),
        request(Signal::QueueSeconds, &["trtllm_request_queue_time_seconds_sum"]),
        later(Signal::PrefillSeconds, &["trtllm_request_prefill_time_seconds_sum"]),
        later(Signal::DecodeSeconds, &["trtllm_request_decode_time_seconds_sum"]),
        optional(Signal::Errors, &["trtllm_request_error_total"]),
    ],
};
