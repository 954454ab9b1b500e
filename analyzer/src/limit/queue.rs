//! Did requests wait to start: where a request's time went, on average.

use super::{Limit, Tone};
use crate::engine::Signal;
use crate::evidence::Scope;
use crate::number::{grouped, percent, plural};

/// Share of a request's time in the queue from which waiting is what the load measured.
const WAITED: f64 = 0.1;

/// Share of the time to first token in the queue from which that figure speaks of the queue.
const MOSTLY: f64 = 0.5;

/// Seconds in the queue that no figure feels: one step of a fast engine.
const STEP: f64 = 0.01;

pub(super) fn card(scope: &Scope<'_>) -> Option<Limit> {
    let queue = mean(scope, Signal::QueueSeconds, Signal::Queued)?;
    let server = mean(scope, Signal::FirstTokenSeconds, Signal::FirstTokens)?;
    let whole = mean(scope, Signal::EndedSeconds, Signal::Ended)?;
    let requests = scope.counter(Signal::Ended).ok()?.total;
    let client = scope.result().ok().and_then(|result| result.latencies.get("mean_ttft_ms"));
    let mut text = format!(
        "On average over {} a request waited {} to start, of {} to its first token",
        plural(requests, "request"),
        seconds(queue),
        seconds(server)
    );
    if let Some(client) = client {
        text += &format!(" (the load tool: {})", seconds(client / 1e3));
    }
    let source = scope.counter(Signal::QueueSeconds).ok()?.metric;
    let source = source.strip_suffix("_sum").unwrap_or(source);
    text += &format!(" and {} in all", seconds(whole));
    if let Some([waited, prefill, decode]) = split(scope, queue, server, whole) {
        text += &format!(
            ": queue {}, prefill {}, decode {}",
            percent(waited),
            percent(prefill),
            percent(decode)
        );
    }
    text += &format!(" ({source} and its siblings, between the readings before and after).");
    if scope.counter(Signal::Preemptions).is_ok_and(|found| found.total > 0.0) {
        text += " A wait after a preemption counts as decode.";
    }
    let share = queue / whole.max(f64::MIN_POSITIVE);
    let (title, tone) = if queue > STEP && share >= WAITED {
        ("Requests waited to start", Tone::Limit)
    } else if queue > STEP && queue / server.max(f64::MIN_POSITIVE) >= MOSTLY {
        ("The time to first token is mostly queue", Tone::Note)
    } else {
        ("Requests hardly waited to start", Tone::Ok)
    };
    Some(Limit { key: "queue", title, text, tone })
}

/// Mean over the requests of the point, in seconds.
fn mean(scope: &Scope<'_>, sum: Signal, requests: Signal) -> Option<f64> {
    let requests = scope.counter(requests).ok()?.total;
    let sum = scope.counter(sum).ok()?.total;
    (requests > 0.0 && sum >= 0.0).then(|| sum / requests).filter(|mean| mean.is_finite())
}

/// Shares of queue, prefill and decode, by the engine's own histograms of the three, else from the
/// times to first token and to the end; these do not tell for answers that come in one piece.
fn split(scope: &Scope<'_>, queue: f64, first: f64, whole: f64) -> Option<[f64; 3]> {
    let (prefill, decode) = match (
        mean(scope, Signal::PrefillSeconds, Signal::Ended),
        mean(scope, Signal::DecodeSeconds, Signal::Ended),
    ) {
        (Some(prefill), Some(decode)) => (prefill, decode),
        _ if queue <= first && first < whole => (first - queue, whole - first),
        _ => return None,
    };
    let all = queue + prefill + decode;
    (all > 0.0).then(|| [queue / all, prefill / all, decode / all])
}

fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.0001 => "under 0.1 ms".into(),
        s if s < 1.0 => format!("{} ms", grouped(s * 1e3, usize::from(s < 0.01))),
        s => format!("{} s", grouped(s, 1)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::limit::Tone;
    use crate::limit::tests::Case;

    pub(in crate::limit) const CASES: &[Case] = &[
        Case {
            name: "waited",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"mean_ttft_ms":29700.0}
== before
vllm:request_queue_time_seconds_sum 0
vllm:request_queue_time_seconds_count 0
vllm:time_to_first_token_seconds_sum 0
vllm:time_to_first_token_seconds_count 0
vllm:e2e_request_latency_seconds_sum 0
vllm:e2e_request_latency_seconds_count 0
vllm:request_prefill_time_seconds_sum 0
vllm:request_decode_time_seconds_sum 0
vllm:num_preemptions_total 0
== after
vllm:request_queue_time_seconds_sum 937
vllm:request_queue_time_seconds_count 32
vllm:time_to_first_token_seconds_sum 947.2
vllm:time_to_first_token_seconds_count 32
vllm:e2e_request_latency_seconds_sum 1740.8
vllm:e2e_request_latency_seconds_count 32
vllm:request_prefill_time_seconds_sum 11.2
vllm:request_decode_time_seconds_sum 793.6
vllm:num_preemptions_total 22
"#,
            tone: Some(Tone::Limit),
            says: &[
                "over 32 requests",
                "waited 29.3 s",
                "of 29.6 s",
                "29.7 s",
                "54.4 s in all",
                "queue 54%",
                "decode 46%",
                "preemption counts",
            ],
        },
        Case {
            name: "mostly queue, by times to first token and to the end",
            evidence: r#"
== before
sglang:num_running_reqs{tp_rank="0"} 0
sglang:queue_time_seconds_sum{tp_rank="0"} 0
sglang:queue_time_seconds_count{tp_rank="0"} 0
== after
sglang:queue_time_seconds_sum{tp_rank="0"} 44.8
sglang:queue_time_seconds_count{tp_rank="0"} 32
sglang:time_to_first_token_seconds_sum 67.2
sglang:time_to_first_token_seconds_count 32
sglang:e2e_request_latency_seconds_sum 747.2
sglang:e2e_request_latency_seconds_count 32
"#,
            tone: Some(Tone::Note),
            says: &["waited 1.4 s", "of 2.1 s", "queue 6.0%", "prefill 3.0%", "decode 91%"],
        },
        Case {
            name: "hardly waited",
            evidence: r"
== before
trtllm_request_success_total 1
== after
trtllm_request_success_total 33
trtllm_request_queue_time_seconds_sum 0.288
trtllm_request_queue_time_seconds_count 32
trtllm_time_to_first_token_seconds_sum 9.056
trtllm_time_to_first_token_seconds_count 32
trtllm_e2e_request_latency_seconds_sum 716.8
trtllm_e2e_request_latency_seconds_count 32
trtllm_request_prefill_time_seconds_sum 8.768
trtllm_request_decode_time_seconds_sum 707.744
",
            tone: Some(Tone::Ok),
            says: &["waited 9.0 ms", "283 ms", "prefill 1.2%"],
        },
        Case {
            name: "no histogram of the queue",
            evidence: "== before\nvllm:num_requests_running 0\n== 0\n== after\n",
            tone: None,
            says: &[],
        },
    ];
}
