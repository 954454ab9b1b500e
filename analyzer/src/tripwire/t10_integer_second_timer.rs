use super::Check;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope, Windows};
use crate::finding::Verdict;
use crate::number::{grouped, plural, seconds};

tripwire! {
    /// # What it checks
    /// Whether the load tool's own duration can be the time the server worked.
    ///
    /// # Why it matters
    /// Every rate a load tool reports is a count divided by its duration. A timer that counts whole
    /// seconds, that starts late or runs on after the last answer, changes all of them: on a run of
    /// 5.9 s a truncated timer claims 18% more than there was.
    ///
    /// # How it decides
    /// The active window, from the first to the last sample with requests running or waiting, is the
    /// shortest the load can have lasted; one sample wider on each side, wider where output tokens are
    /// still counted, and no wider than the load command, is the longest. A duration shorter than the
    /// first by more than 1%, or longer than the second by more than half a second and 1%, is a
    /// warning. Requests that the tool sends before its
    /// clock starts (a test request, warm-ups) shorten both: they begin when so many have finished.
    /// A whole number of seconds that agrees is only noted. Idle time between the readings is named,
    /// never included.
    ///
    /// # What to do
    /// Use the exact rate of the message, or divide the server's token counter by the active window.
    ///
    /// # When it cannot tell
    /// No result with a duration, saved or printed, no samples or none around the load's beginning and
    /// end, no token counter, a duration shorter than the time in which the server worked for others
    /// too, or an engine whose gauges move only
    /// when a request completes (TensorRT-LLM).
    ///
    /// # References
    /// - `vllm/benchmarks/serve.py`: `duration` is from the first send to the last answer, by
    ///   `time.perf_counter`
    T10_INTEGER_SECOND_TIMER {
        code: "T10",
        slug: "integer-second-timer",
        since: "0.1.0",
        summary: "the load tool's duration is not the time the server worked",
        needs: ["scrape", "file"],
        explained_by: ["T17"],
        check: Check::Point(check),
    }
    thresholds {
        /// Part of the active window by which a duration may be shorter or longer. On the recorded
        /// runs without a fault they agree to 0.4%.
        SLACK_RATIO = 0.01;
        /// Seconds by which a duration may also be longer: clients spend up to 0.3 s between their
        /// clock's start and the first request on the recorded runs.
        SLACK_SECONDS = 0.5;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    scope.sees_whole_requests()?;
    let engine = scope.engine()?;
    let result = scope.result()?;
    let duration = result
        .duration_s
        .filter(|d| *d > 0.0)
        .ok_or_else(|| Missing::lack(format!("the result of {} has no duration", result.tool)))?;
    if let Some(reason) = engine.gauges_lag {
        return Err(Missing::lack(format!("{reason}: they do not show when the load ran")));
    }
    let Windows { inner, outer, open, .. } = scope.windows()?;
    let clock = clock_start(scope)?;
    let inner = (clock.map_or(inner.0, |(_, over)| inner.0.max(over)), inner.1);
    let outer = (clock.map_or(outer.0, |(before, _)| outer.0.max(before)).min(inner.0), outer.1);
    scope.covered()?;
    let extra = extra(scope)?;
    let server = scope.counter(Signal::GenerationTokens)?.total;
    // Of requests outside its clock, and of others' requests, the server counts the tokens too.
    let client = result.output_tokens.map(|tokens| tokens as f64);
    let own = client.filter(|client| extra.all > 0.0 && *client > 0.0 && *client < server);
    let tokens = own.unwrap_or(server);
    let span = |(a, b): (i64, i64)| (b - a) as f64 / 1e9;
    let (shortest, longest) = (span(inner), span(outer));
    let rate = |seconds: f64| format!("{} tokens/s", grouped(tokens / seconds, 1));
    let facts = |verdict: Verdict| {
        verdict
            .with("client_s", duration)
            .with("active_shortest_s", shortest)
            .with("active_longest_s", longest)
            .with("output_tokens", tokens)
            .with("client_tokens_per_s", tokens / duration)
            .with("active_tokens_per_s_least", tokens / longest)
    };
    let active = format!("the server worked {} to {} s", grouped(shortest, 1), grouped(longest, 1));
    if duration + result.rounding() < shortest * (1.0 - SLACK_RATIO) {
        if extra.unknown > 0.0 {
            return Err(Missing::lack(format!(
                "the server worked {} to {} s, but also on {} that the load tool did not send",
                grouped(shortest, 1),
                grouped(longest, 1),
                plural(extra.unknown, "request")
            )));
        }
        return Ok(facts(Verdict::warn(format!(
            "the load tool timed {} s, but {active}: {} is too high, it was {} at most",
            grouped(duration, 2),
            rate(duration),
            rate(shortest)
        ))));
    }
    if open {
        return Err(Missing::lack(format!(
            "the samples do not show when the load began or ended: the server worked {} to {} s",
            grouped(shortest, 1),
            grouped(longest, 1)
        )));
    }
    if duration > longest * (1.0 + SLACK_RATIO) + SLACK_SECONDS {
        return Ok(facts(Verdict::warn(format!(
            "the load tool timed {} s, but {active}: {} is too low, it was {} at least",
            grouped(duration, 2),
            rate(duration),
            rate(longest)
        ))));
    }
    let exact = result.printed.is_none();
    let whole =
        if exact && duration.fract() == 0.0 { "; its timer shows whole seconds" } else { "" };
    let idle = idle(scope, outer)
        .map_or(String::new(), |ns| format!("; {} between the readings were idle", seconds(ns, 1)));
    let truncated = if duration >= 1.0 {
        format!(" (a whole-second timer would say {})", rate(duration.floor()))
    } else {
        String::new()
    };
    Ok(facts(Verdict::pass(format!(
        "{} in {} s{truncated}, and {active}{whole}{idle}",
        rate(duration),
        grouped(duration, 2)
    ))))
}

/// Requests that the server finished and the load tool does not count as completed.
struct Extra {
    all: f64,
    /// Those that it is not known to have sent.
    unknown: f64,
}

fn extra(scope: &Scope<'_>) -> Result<Extra, Missing> {
    let result = scope.result()?;
    let finished = scope.counter(Signal::Finished).map_or(0.0, |finished| finished.total);
    let untimed = result.untimed(scope.point.output.as_deref(), &scope.point.params);
    let known = untimed.known.saturating_add(result.probes);
    let all = finished - result.completed as f64;
    let unknown = all - known as f64 - result.failed.unwrap_or(0) as f64;
    Ok(Extra { all, unknown: if unknown > untimed.perhaps as f64 { unknown } else { 0.0 } })
}

/// The earliest and the latest that the load tool's clock can have started: the samples around the end
/// of the requests that it sends before. `None` when it sends none or no sample shows it.
fn clock_start(scope: &Scope<'_>) -> Result<Option<(i64, i64)>, Missing> {
    let untimed = scope.result()?.untimed(scope.point.output.as_deref(), &scope.point.params);
    let count = (untimed.known + untimed.perhaps) as f64;
    if count == 0.0 {
        return Ok(None);
    }
    if let Some((before, over)) = grown_by(scope, Signal::Finished, count) {
        // Without those that it may have sent, its clock started earlier.
        let before = if untimed.perhaps == 0 { before } else { i64::MIN };
        return Ok(Some((before, over)));
    }
    // One that it may have sent does not make its duration unknown.
    if untimed.known == 0 {
        return Ok(None);
    }
    // Sums over replicas hold no count of requests, but the tokens of these.
    let finished = scope.counter(Signal::Finished)?.total;
    let each = scope.counter(Signal::GenerationTokens)?.total / finished.max(1.0);
    let over = grown_by(scope, Signal::GenerationTokens, count * each);
    over.map(|(_, over)| Some((i64::MIN, over))).ok_or_else(|| {
        Missing::lack(format!(
            "no sample shows when the {} had ended that the load tool sent before its clock started",
            plural(count, "request")
        ))
    })
}

/// The last sample before a counter had grown by so much since the first one, and that after it.
fn grown_by(scope: &Scope<'_>, signal: Signal, by: f64) -> Option<(i64, i64)> {
    let track = scope.track(signal).ok()?;
    let values = track.total();
    let before = values.iter().flatten().next().copied()?;
    let over = values.iter().position(|n| n.is_some_and(|n| n - before >= by))?;
    let at = *track.times.get(over)?;
    Some((over.checked_sub(1).and_then(|i| track.times.get(i).copied()).unwrap_or(at), at))
}

/// Time between the edges that was outside the active window, where it is a second or more.
fn idle(scope: &Scope<'_>, outer: (i64, i64)) -> Option<i64> {
    let (edges, source) = scope.sources().next()?;
    let (begin, end) = (source.full.time(edges.begin?)?, source.full.time(edges.end?)?);
    let idle = (end - begin) - (outer.1 - outer.0);
    (source.timed && idle >= 1_000_000_000).then_some(idle)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "agrees",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":5.12}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
== 0
== 1
vllm:num_requests_running 4
== 6
== 6.5
vllm:num_requests_running 0
vllm:generation_tokens_total 400
== 9
== after
"#,
            status: Status::Pass,
            says: &["78.1 tokens/s in 5.12 s", "would say 80.0", "worked 5.0 to 6.5 s", "idle"],
        },
        Case {
            name: "a timer that counts whole seconds",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":5}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
== 1
vllm:num_requests_running 4
== 6.9
== 7
vllm:num_requests_running 0
vllm:generation_tokens_total 400
== after
"#,
            status: Status::Warn,
            says: &["timed 5.00 s", "too high"],
        },
        Case {
            name: "warm-ups before the clock",
            evidence: r#"
== output
Warming up with 2 requests...
Starting main benchmark run...
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":5.4}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
vllm:request_success_total 0
== 1
vllm:num_requests_running 2
== 3
vllm:request_success_total 2
vllm:num_requests_running 4
== 8
== 8.5
vllm:num_requests_running 0
vllm:request_success_total 6
vllm:generation_tokens_total 600
== after
"#,
            status: Status::Pass,
            says: &["in 5.40 s"],
        },
        Case {
            name: "a test request before the clock, in sums without requests",
            evidence: r#"
== summed
== output
Initial test run completed. Starting main benchmark run...
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":5.4}
== before
vllm:num_requests_running{engine="0"} 0
vllm:num_requests_waiting{engine="0"} 0
vllm:generation_tokens_total{engine="0"} 0
vllm:request_success_total{engine="0"} 0
== 0
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
== 1
vllm:num_requests_running 1
== 3
vllm:num_requests_running 4
vllm:generation_tokens_total 104
== 8
== 8.5
vllm:num_requests_running 0
vllm:generation_tokens_total 500
== after
- vllm:num_requests_running
- vllm:num_requests_waiting
- vllm:generation_tokens_total
vllm:request_success_total{engine="0"} 5
vllm:generation_tokens_total{engine="0"} 500
"#,
            status: Status::Pass,
            says: &["in 5.40 s", "worked 5.0 to"],
        },
        Case {
            name: "samples between the waves, and a test request before the clock",
            evidence: r#"
== output
Initial test run completed. Starting main benchmark run...
== result
{"backend":"vllm","num_prompts":6,"completed":6,"total_output_tokens":600,"duration":8.2}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
vllm:request_success_total 0
== 0
== 1
vllm:generation_tokens_total 100
vllm:request_success_total 1
== 3
vllm:num_requests_running 2
== 4
vllm:num_requests_running 0
vllm:generation_tokens_total 300
vllm:request_success_total 3
== 6
== 8
vllm:generation_tokens_total 500
vllm:request_success_total 5
== 11
vllm:generation_tokens_total 700
vllm:request_success_total 7
== 12
== after
"#,
            status: Status::Pass,
            says: &["in 8.20 s", "the server worked 0.0 to 11.0 s"],
        },
        Case {
            name: "a timer that runs on",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":12.5}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
== 0
== 1
vllm:num_requests_running 4
== 6
== 6.5
vllm:num_requests_running 0
vllm:generation_tokens_total 400
== after
"#,
            status: Status::Warn,
            says: &["too low"],
        },
        Case {
            name: "a server that works for others after the load",
            evidence: r#"
== output
Traffic request rate: inf
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":5.1}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
vllm:request_success_total 0
== 0
== 1
vllm:num_requests_running 4
== 6
vllm:num_requests_running 2
vllm:generation_tokens_total 400
vllm:request_success_total 4
== 15
== 16
vllm:num_requests_running 0
vllm:generation_tokens_total 900
vllm:request_success_total 9
== after
"#,
            status: Status::Unknown,
            says: &["also on 5 requests that the load tool did not send"],
        },
        Case {
            name: "printed, rounded to hundredths",
            evidence: r"
== output
============ Serving Benchmark Result ============
Successful requests:                     4
Failed requests:                         0
Benchmark duration (s):                  0.30
Total input tokens:                      40
Total generated tokens:                  24
Output token throughput (tok/s):         80.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
==================================================
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
== 0.9
== 1
vllm:num_requests_running 4
== 1.305
== 1.4
vllm:num_requests_running 0
vllm:generation_tokens_total 24
== after
",
            status: Status::Pass,
            says: &["80.0 tokens/s in 0.30 s", "worked 0.3 to 0.5 s"],
        },
        Case {
            name: "busy in every sample there is",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":5.8}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:generation_tokens_total 0
== command 0.2 6.2
== 4
vllm:num_requests_running 4
== 6
== after
vllm:num_requests_running 0
vllm:generation_tokens_total 400
"#,
            status: Status::Pass,
            says: &["in 5.80 s", "worked 2.0 to 6.0 s"],
        },
        Case {
            name: "printed without a duration",
            evidence: r"
== output
============ Serving Benchmark Result ============
Successful requests:                     4
Failed requests:                         0
Benchmark duration (s):                  nan
Total input tokens:                      40
Total generated tokens:                  400
Output token throughput (tok/s):         80.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
==================================================
== before
vllm:num_requests_running 0
== 0
== after
",
            status: Status::Unknown,
            says: &["the result of vllm bench serve has no duration"],
        },
        Case {
            name: "no result",
            evidence: "== before\nvllm:num_requests_running 0\n== 0\n== after\n",
            status: Status::Unknown,
            says: &["--result"],
        },
        Case {
            name: "gauges that lag",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"duration":12.5}
== before
trtllm_num_requests_running 0
== 0
== after
"#,
            status: Status::Unknown,
            says: &["move only when a request completes"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "agrees",
        find: "\"duration\":5.12",
        replace: "\"duration\":4.12",
        becomes: Status::Warn,
    };
}
