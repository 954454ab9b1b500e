//! vLLM, V1 engine, 0.8 to 0.33.
//!
//! Sources: `vllm/v1/metrics/loggers.py` and `stats.py` of the releases named below, and scrapes of
//! 0.28 to 0.32 servers.

use super::{Engine, Metric, Pick, Signal};

/// The scheduler's figures exist from the first step on, or from the start where the counters are
/// created with the stat logger. With several API servers (`--api-server-count`) the gauges appear
/// at the first step only; the counters, of the same writer, are there before.
const WITNESS: &[&str] = &[
    "vllm:num_preemptions_total",
    "vllm:generation_tokens_total",
    "vllm:prompt_tokens_total",
    "vllm:num_requests_running",
    "vllm:request_success_total",
];

const fn metric(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { signal, names, witnesses: WITNESS, pick: Pick::All, not_in: None }
}

/// A signal that only some releases or settings export: its absence is no zero.
const fn optional(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { signal, names, witnesses: &[], pick: Pick::All, not_in: None }
}

pub(super) static VLLM: Engine = Engine {
    name: "vllm",
    packages: &["vllm"],
    replica_label: Some("engine"),
    total_label: None,
    gauges_lag: None,
    gauges_stay: false,
    gauges_setting: "start the server without --disable-log-stats",
    usage_rounding: 0.0,
    // v1/metrics/loggers.py: one a finish reason.
    made_at_start: &[Signal::Finished],
    running_limit_option: "--max-num-seqs",
    preemption: "preemption",
    metrics: &[
        metric(Signal::Running, &["vllm:num_requests_running"]),
        metric(Signal::Waiting, &["vllm:num_requests_waiting"]),
        // Renamed in 0.9.2; both names until 0.10.2, the old one hidden in 0.11.0, gone in 0.12.0.
        metric(Signal::KvUsage, &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]),
        optional(Signal::Preemptions, &["vllm:num_preemptions_total"]),
        optional(Signal::PromptTokens, &["vllm:prompt_tokens_total"]),
        // Since 0.16.0.
        optional(Signal::CachedPromptTokens, &["vllm:prompt_tokens_cached_total"]),
        optional(Signal::PromptTokensBySource, &["vllm:prompt_tokens_by_source_total"]),
        // Tokens since 0.9.2; in 0.8.5 the old names counted blocks. Until 0.26 a request that
        // waited for blocks was looked up, and counted, once a step.
        optional(
            Signal::PrefixQueries,
            &["vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"],
        ),
        optional(
            Signal::PrefixHits,
            &["vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"],
        ),
        optional(Signal::GenerationTokens, &["vllm:generation_tokens_total"]),
        // One series a reason, all created at 0. Client disconnects are in none of them.
        optional(Signal::Finished, &["vllm:request_success_total"]),
        optional(Signal::FinishedTokens, &["vllm:request_generation_tokens_sum"]),
        optional(Signal::AskedTokens, &["vllm:request_params_max_tokens_sum"]),
        optional(Signal::AskedRequests, &["vllm:request_params_max_tokens_count"]),
        // Since 0.32.0; carries no `engine` label.
        optional(Signal::Rejections, &["vllm:admission_rejections_total"]),
        optional(Signal::FirstTokens, &["vllm:time_to_first_token_seconds_count"]),
        optional(Signal::FirstTokenSeconds, &["vllm:time_to_first_token_seconds_sum"]),
        optional(Signal::Ended, &["vllm:e2e_request_latency_seconds_count"]),
        optional(Signal::EndedSeconds, &["vllm:e2e_request_latency_seconds_sum"]),
        optional(Signal::Queued, &["vllm:request_queue_time_seconds_count"]),
        optional(Signal::QueueSeconds, &["vllm:request_queue_time_seconds_sum"]),
        optional(Signal::PrefillSeconds, &["vllm:request_prefill_time_seconds_sum"]),
        optional(Signal::DecodeSeconds, &["vllm:request_decode_time_seconds_sum"]),
        // Since 0.30.0. Its first bucket, `le="1.0"`, holds requests with 0 and with 1 preemption.
        optional(Signal::PreemptionsPerRequest, &["vllm:request_num_preemptions_bucket"]),
        // A label set appears with its first response; the middleware is there whenever vLLM is.
        metric(Signal::HttpResponses, &["http_requests_total"]),
    ],
};
