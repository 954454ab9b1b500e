//! How many requests ran at once on average, against the load, and what came out of it.

use super::{Limit, Tone};
use crate::engine::Signal;
use crate::evidence::{Scope, Seen};
use crate::number::{count, grouped, percent, plural};

/// Share of the requests asked for from which the average is what was asked: the first and the last
/// wave of a short load cost a tenth.
const REACHED: f64 = 0.9;

/// Share of prefilled tokens computed again from which it is no late booking of a warm-up; the
/// recorded run without a pause booked 2% late.
const AGAIN: f64 = 0.1;

/// How many ran at once on average, by the best witness the engine has.
struct Average {
    requests: f64,
    /// What was averaged.
    how: String,
    /// Seconds with a request running, where gauges show them.
    busy: Option<f64>,
    /// Requests that waited are among them.
    open: bool,
}

pub(super) fn card(scope: &Scope<'_>) -> Option<Limit> {
    let average = average(scope)?;
    let word = if average.open { "were open" } else { "ran" };
    let mut text = format!("{} requests {word} at once on average", grouped(average.requests, 1));
    let asked = scope.requested();
    if let Some(asked) = &asked {
        text += &format!(", of {} asked for ({})", count(asked.at_once), asked.from);
    }
    text += &format!(": {}.", average.how);
    text += &rate(scope, average.busy).unwrap_or_default();
    let again = computed_again(scope);
    if let Some(again) = &again {
        text += again;
    }
    let low = asked.as_ref().is_some_and(|asked| average.requests < asked.at_once * REACHED);
    let (title, tone) = match (low, again, asked) {
        (true, ..) if average.open => ("Fewer were open at once than asked for", Tone::Note),
        (true, ..) => ("Fewer ran at once than asked for", Tone::Note),
        (_, Some(_), _) => ("Prompt tokens were computed again", Tone::Note),
        (.., Some(_)) if !average.open => ("The load ran at the concurrency asked for", Tone::Ok),
        _ if average.open => ("How many were open at once", Tone::Note),
        _ => ("How many ran at once", Tone::Note),
    };
    Some(Limit { key: "concurrency", title, text, tone })
}

/// Output while busy, with the load tool's figure beside it.
fn rate(scope: &Scope<'_>, busy: Option<f64>) -> Option<String> {
    let seconds = busy?;
    let tokens = scope.counter(Signal::GenerationTokens).ok()?;
    let mut text = format!(
        " {} ({}) in {} s with a request running: {} a second",
        plural(tokens.total, "output token"),
        tokens.metric,
        grouped(seconds, 1),
        grouped(tokens.total / seconds, 1)
    );
    if let Some(rate) = scope.result().ok().and_then(|result| result.output_throughput) {
        text += &format!("; the load tool says {}", grouped(rate, 1));
    }
    Some(text + ".")
}

fn average(scope: &Scope<'_>) -> Option<Average> {
    let lags = scope.engine().ok()?.gauges_lag.is_some();
    let seen = scope.busy();
    // What was generated in the part that no sample shows is in the counter too.
    let seconds = seen.as_ref().filter(|seen| seen.missed.is_empty()).map(|seen| seen.busy.seconds);
    if let Some((tokens, passes)) = decode_batches(scope) {
        let how = format!(
            "{} tokens in {} decode passes (sglang:realtime_tokens_total, {})",
            count(tokens),
            count(passes),
            "sglang:cuda_graph_passes_total"
        );
        return Some(Average { requests: tokens / passes, how, busy: seconds, open: false });
    }
    if let Some(Seen { busy, metric, missed }) = seen {
        let how = format!("{metric} over {} s busy{missed}", grouped(busy.seconds, 1));
        return Some(Average { requests: busy.mean, how, busy: seconds, open: false });
    }
    // Gauges that lag show how many were admitted, not when: the times of the requests do.
    let result = scope.result().ok()?;
    let length = result.duration_s.filter(|seconds| *seconds > 0.0)?;
    let ended = scope.counter(Signal::Ended).ok().filter(|ended| ended.total > 0.0)?;
    let seconds = |signal| scope.counter(signal).ok().filter(|_| lags);
    let Some((prefill, decode)) =
        seconds(Signal::PrefillSeconds).zip(seconds(Signal::DecodeSeconds))
    else {
        return open_on_average(scope, length);
    };
    let each = (prefill.total + decode.total) / ended.total;
    let how = format!(
        "{} of {} s of prefill and decode each on average ({} and its sibling) in the load tool's {} s",
        plural(result.completed as f64, "request"),
        grouped(each, 1),
        decode.metric,
        grouped(length, 1)
    );
    let requests = each * result.completed as f64 / length;
    (requests > 0.0).then_some(Average { requests, how, busy: None, open: false })
}

/// Without samples, and without times of prefill and decode: the times of all requests over the load
/// tool's.
fn open_on_average(scope: &Scope<'_>, length: f64) -> Option<Average> {
    let spent = scope.counter(Signal::EndedSeconds).ok()?;
    let requests = spent.total / length;
    let how = format!(
        "requests of {} s in all ({}) in the load tool's {} s",
        grouped(spent.total, 1),
        spent.metric,
        grouped(length, 1)
    );
    (requests > 0.0).then_some(Average { requests, how, busy: None, open: true })
}

/// SGLang: tokens decoded and passes that decoded. With speculative decoding a pass makes several
/// tokens a request, and they tell nothing.
fn decode_batches(scope: &Scope<'_>) -> Option<(f64, f64)> {
    if scope.run.latest("sglang:spec_accept_length").is_some_and(|length| length > 0.0) {
        return None;
    }
    let tokens = *scope.counter_by(Signal::PromptTokensBySource, "mode").ok()?.get("decode")?;
    let passes = scope.counter_by(Signal::Passes, "mode").ok()?;
    let decode = passes.iter().filter(|(mode, _)| mode.starts_with("decode"));
    let passes: f64 = decode.map(|(_, passes)| passes).sum();
    (tokens > 0.0 && passes > 0.0).then_some((tokens, passes))
}

/// Prompt tokens that went through prefill more than once, where an engine counts both.
fn computed_again(scope: &Scope<'_>) -> Option<String> {
    let by_mode = |signal, mode: &str| Some(*scope.counter_by(signal, "mode").ok()?.get(mode)?);
    let (prefilled, needed, from) = if let Some(computed) =
        by_mode(Signal::PromptTokensBySource, "prefill_compute")
    {
        let needed = by_mode(Signal::PrefillTokens, "input")?;
        (computed, needed, "sglang:realtime_tokens_total, sglang:prefill_effective_tokens_total")
    } else {
        let prefilled = scope.counter(Signal::PrefillTokens).ok()?;
        let cached = scope.counter(Signal::CachedPromptTokens).map_or(0.0, |c| c.total);
        let needed = scope.counter(Signal::PromptTokens).ok()?.total - cached;
        (prefilled.total, needed, prefilled.metric)
    };
    let again = prefilled - needed;
    (needed > 0.0 && again > AGAIN * prefilled).then(|| {
        format!(
            " {} tokens were prefilled for {} that were to be: {} of the prefill was done again ({from}).",
            count(prefilled),
            count(needed),
            percent(again / prefilled)
        )
    })
}

#[cfg(test)]
pub(super) mod tests {
    use crate::limit::Tone;
    use crate::limit::tests::Case;

    pub(in crate::limit) const CASES: &[Case] = &[
        Case {
            name: "fewer than asked for",
            evidence: r"
== params
concurrency=32
== before
vllm:num_requests_running 0
vllm:generation_tokens_total 0
== 0
vllm:num_requests_running 10
== 1
vllm:num_requests_running 6
== 2
vllm:num_requests_running 0
== 3
== after
vllm:generation_tokens_total 640
",
            tone: Some(Tone::Note),
            says: &[
                "8.0 requests ran at once on average, of 32",
                "over 2.0 s busy",
                "640 output tokens",
                "320.0 a second",
            ],
        },
        Case {
            name: "samples between the waves: no average of the few that show something",
            evidence: r#"
== params
concurrency=2
== result
{"backend":"vllm","num_prompts":6,"completed":6,"total_output_tokens":600,"duration":8.0}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
vllm:request_success_total 0
vllm:e2e_request_latency_seconds_sum 0
vllm:e2e_request_latency_seconds_count 0
== 0
== 1
vllm:num_requests_running 2
== 2
vllm:num_requests_running 0
vllm:generation_tokens_total 200
== 4
vllm:generation_tokens_total 400
== 6
vllm:generation_tokens_total 600
vllm:request_success_total 6
vllm:e2e_request_latency_seconds_sum 9
vllm:e2e_request_latency_seconds_count 6
== 8
== after
"#,
            tone: Some(Tone::Note),
            says: &["1.1 requests were open at once on average, of 2"],
        },
        Case {
            name: "samples of which some are between the waves: no rate",
            evidence: r"
== params
concurrency=2
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
== 0
== 1
vllm:num_requests_running 2
== 5
vllm:num_requests_running 0
vllm:generation_tokens_total 400
== 6
vllm:generation_tokens_total 600
== 8
== after
",
            tone: Some(Tone::Ok),
            says: &[
                "2.0 requests ran at once on average",
                "33% of the output tokens came while they show nothing.",
            ],
        },
        Case {
            name: "no samples, but the times of the requests",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":200,"completed":200,"max_concurrency":32,"duration":60.0}
== before
vllm:e2e_request_latency_seconds_count 3
vllm:e2e_request_latency_seconds_sum 10
== after
vllm:e2e_request_latency_seconds_count 203
vllm:e2e_request_latency_seconds_sum 610
"#,
            tone: Some(Tone::Note),
            says: &[
                "10.0 requests were open at once on average, of 32",
                "600.0 s in all (vllm:e2e_request_latency_seconds_sum) in the load tool's 60.0 s",
            ],
        },
        Case {
            name: "samples that miss most of the load",
            evidence: r"
== params
concurrency=8
== command 0 60
== before
vllm:num_requests_running 0
vllm:generation_tokens_total 0
== 50
vllm:num_requests_running 8
== 51
== 52
vllm:num_requests_running 0
== after
vllm:generation_tokens_total 6400
",
            tone: None,
            says: &[],
        },
        Case {
            name: "as asked for",
            evidence: r"
== params
concurrency=8
== before
vllm:num_requests_running 0
== 0
vllm:num_requests_running 8
== 1
== after
",
            tone: Some(Tone::Ok),
            says: &["8.0 requests", "of 8"],
        },
        Case {
            name: "sglang counts its decode passes and what a retraction computes again",
            evidence: r#"
== params
concurrency=32
== before
sglang:num_running_reqs{tp_rank="0"} 0
sglang:realtime_tokens_total{mode="decode",tp_rank="0"} 0
sglang:realtime_tokens_total{mode="prefill_compute",tp_rank="0"} 0
sglang:prefill_effective_tokens_total{mode="input",tp_rank="0"} 0
sglang:cuda_graph_passes_total{mode="decode_cuda_graph",tp_rank="0"} 0
sglang:cuda_graph_passes_total{mode="prefill_none",tp_rank="0"} 0
== after
sglang:realtime_tokens_total{mode="decode",tp_rank="0"} 32000
sglang:realtime_tokens_total{mode="prefill_compute",tp_rank="0"} 3797
sglang:prefill_effective_tokens_total{mode="input",tp_rank="0"} 2816
sglang:cuda_graph_passes_total{mode="decode_cuda_graph",tp_rank="0"} 1900
sglang:cuda_graph_passes_total{mode="decode_none",tp_rank="0"} 100
sglang:cuda_graph_passes_total{mode="prefill_none",tp_rank="0"} 40
"#,
            tone: Some(Tone::Note),
            says: &[
                "16.0 requests",
                "32,000 tokens in 2,000 decode passes",
                "3,797 tokens were prefilled for 2,816",
                "26%",
            ],
        },
        Case {
            name: "speculative tokens are no batch",
            evidence: r#"
== before
sglang:spec_accept_length{tp_rank="0"} 2.5
sglang:realtime_tokens_total{mode="decode",tp_rank="0"} 0
sglang:cuda_graph_passes_total{mode="decode_none",tp_rank="0"} 0
== after
sglang:realtime_tokens_total{mode="decode",tp_rank="0"} 32000
sglang:cuda_graph_passes_total{mode="decode_none",tp_rank="0"} 100
"#,
            tone: None,
            says: &[],
        },
        Case {
            name: "tensorrt-llm by the times of its requests, pauses computed again",
            evidence: r#"
== result
{"backend":"openai","num_prompts":32,"completed":32,"max_concurrency":32,"duration":31.8}
== before
trtllm_request_success_total 1
trtllm_prompt_tokens_total 63
trtllm_prefill_batch_tokens_sum 57
== after
trtllm_request_success_total 33
trtllm_prompt_tokens_total 2879
trtllm_prefill_batch_tokens_sum 13126
trtllm_e2e_request_latency_seconds_count 32
trtllm_request_prefill_time_seconds_sum 8.0
trtllm_request_decode_time_seconds_sum 776.0
"#,
            tone: Some(Tone::Note),
            says: &[
                "24.7 requests",
                "32 requests of 24.5 s",
                "13,069 tokens were prefilled for 2,816",
                "78%",
            ],
        },
        Case {
            name: "no gauge of running requests",
            evidence: "== before\nvllm:generation_tokens_total 0\n== after\n",
            tone: None,
            says: &[],
        },
    ];
}
