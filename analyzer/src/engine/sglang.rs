//! SGLang 0.4.6 to 0.5.23.
//!
//! Sources: `sglang/srt/metrics/collector.py` and `scheduler_metrics_mixin.py` of the releases named
//! below, and scrapes of a 0.5.20 server. Every process writes through prometheus_client's
//! multiprocess mode: there are no `*_created` series, and a counter appears with its first write.

use super::{Engine, Metric, Pick, Release, Signal};

/// Retractions: the gauge that the same call writes (0.5.3 and later).
const RETRACTED: &[&str] = &["sglang:num_retracted_reqs"];

/// 0.5.3 to 0.5.6 have that gauge, which misses most events, and no counter: their log alone tells.
const WITHOUT_RETRACTIONS: Release = Release {
    has: "sglang:swa_token_usage",
    lacks: &["sglang:full_token_usage", "sglang:decode_sum_seq_lens"],
};

/// Written by the tokenizer process only as requests finish. Where nothing of it is there yet, the
/// scheduler's gauges show that metrics are on.
const TOKENIZER: &[&str] = &["sglang:num_requests_total", "sglang:num_running_reqs"];

/// With `--enable-metrics-for-all-schedulers` every rank exports the same figures.
const RANKS: Pick = Pick::LowestOf(&["tp_rank", "pp_rank", "moe_ep_rank"]);

/// Gauges of the scheduler's report. In multiprocess mode they appear with the first one.
const fn scheduler(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { signal, names, witnesses: &[], pick: RANKS, not_in: None }
}

const fn tokenizer(signal: Signal, names: &'static [&'static str]) -> Metric {
    Metric { signal, names, witnesses: TOKENIZER, pick: Pick::All, not_in: None }
}

/// A signal that only some releases export: its absence is no zero.
const fn optional(signal: Signal, names: &'static [&'static str], pick: Pick) -> Metric {
    Metric { signal, names, witnesses: &[], pick, not_in: None }
}

pub(super) static SGLANG: Engine = Engine {
    name: "sglang",
    packages: &["sglang"],
    replica_label: Some("dp_rank"),
    // With priority scheduling the queue gauges have a total besides one series a priority.
    total_label: Some("priority"),
    gauges_lag: None,
    // `scheduler_metrics_mixin.py` before 0.5.20: an idle scheduler reports only every 30 s.
    gauges_stay: true,
    gauges_setting: "start the server with --enable-metrics",
    // `token_usage` is rounded to two decimals.
    usage_rounding: 0.005,
    made_at_start: &[],
    running_limit_option: "--max-running-requests",
    preemption: "retraction",
    metrics: &[
        scheduler(Signal::Running, &["sglang:num_running_reqs"]),
        scheduler(Signal::Waiting, &["sglang:num_queue_reqs"]),
        // The largest of full, sliding-window and state usage: what really stops admission.
        scheduler(Signal::KvUsage, &["sglang:token_usage"]),
        // Since 0.5.10; 0.4.10 had a gauge of the total.
        Metric {
            signal: Signal::Preemptions,
            names: &["sglang:num_retracted_requests_total", "sglang:total_retracted_reqs"],
            witnesses: RETRACTED,
            pick: RANKS,
            not_in: Some(WITHOUT_RETRACTIONS),
        },
        optional(Signal::Paused, &["sglang:num_paused_reqs"], Pick::HighestOf("pid")),
        tokenizer(Signal::PromptTokens, &["sglang:prompt_tokens_total"]),
        // A request is booked under one cache source or under `total`, never both.
        tokenizer(Signal::CachedPromptTokens, &["sglang:cached_tokens_total"]),
        // Since 0.5.10, each mode as it first happens.
        optional(Signal::PromptTokensBySource, &["sglang:realtime_tokens_total"], RANKS),
        // Since 0.5.20, made at 0: prompt tokens without what a retraction computes again.
        optional(Signal::PrefillTokens, &["sglang:prefill_effective_tokens_total"], RANKS),
        tokenizer(Signal::GenerationTokens, &["sglang:generation_tokens_total"]),
        tokenizer(Signal::Finished, &["sglang:num_requests_total"]),
        optional(Signal::FinishedTokens, &["sglang:generation_tokens_histogram_sum"], Pick::All),
        tokenizer(Signal::Aborts, &["sglang:num_aborted_requests_total"]),
        tokenizer(Signal::FirstTokens, &["sglang:time_to_first_token_seconds_count"]),
        tokenizer(Signal::FirstTokenSeconds, &["sglang:time_to_first_token_seconds_sum"]),
        tokenizer(Signal::Ended, &["sglang:e2e_request_latency_seconds_count"]),
        tokenizer(Signal::EndedSeconds, &["sglang:e2e_request_latency_seconds_sum"]),
        // Health probes are counted too.
        optional(Signal::Queued, &["sglang:queue_time_seconds_count"], RANKS),
        optional(Signal::QueueSeconds, &["sglang:queue_time_seconds_sum"], RANKS),
        optional(Signal::HttpResponses, &["sglang:http_responses_total"], Pick::All),
        optional(Signal::Passes, &["sglang:cuda_graph_passes_total"], RANKS),
    ],
};
