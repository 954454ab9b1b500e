use super::Check;
use crate::engine::{Engine, Signal};
use crate::evidence::{Missing, Requested, Scope, Track};
use crate::finding::Verdict;
use crate::number::{count, grouped, percent, plural};

tripwire! {
    /// # What it checks
    /// Whether the server ever worked on as many requests at once as the load asked for.
    ///
    /// # Why it matters
    /// A load tool keeps 32 requests open and reports figures "at concurrency 32". If the server ran
    /// 10 of them and left 22 in its queue, throughput and time per token are those of 10, and the
    /// time to first token is that of a queue.
    ///
    /// # How it decides
    /// The largest number of requests running in one metrics reading during the load, added over
    /// replicas, against the concurrency asked for: the load command's flag, else the load tool's
    /// result, else `--requested`. With fewer prompts than that, against their number. A lower peak
    /// is a failure. What held it down is said when it is known:
    /// requests refused by admission control, the server's own running limit, a full KV cache, or a
    /// client that never had so many open.
    /// TensorRT-LLM's "running" counts admitted requests and moves only on completions: a peak that
    /// reaches the request proves it was reached, a lower one proves nothing.
    ///
    /// # What to do
    /// Report the figures at the concurrency that ran, or make room: a larger KV cache, a higher
    /// running limit, a longer queue, a faster client.
    ///
    /// # When it cannot tell
    /// No metrics were sampled during the load, or the gauges of running requests are not exported, and
    /// the load tool's own count of open requests (`max_concurrent_requests`) does not show fewer.
    /// Several servers that answer at one address. A peak below the request in very few samples, with nothing that held it down, or in samples
    /// that miss more than half of the load; or fewer open requests by the gauges than their times
    /// add up to (SGLang's gauges are set every 40 decode steps: short answers run in between).
    ///
    /// # References
    /// - vLLM: `vllm:num_requests_running`, set at each engine step (`vllm/v1/metrics/loggers.py`)
    /// - SGLang: `sglang:num_running_reqs`, set each 40 decode steps and at each prefill
    /// - TensorRT-LLM: `trtllm_num_requests_running`, published when a request completes
    T08_CONCURRENCY_NOT_REACHED {
        code: "T8",
        slug: "concurrency-not-reached",
        since: "0.1.0",
        summary: "the server never ran as many requests at once as were asked for",
        needs: ["scrape", "file", "phase"],
        explained_by: ["T18"],
        check: Check::Point(check),
        notes: {
            "vllm": "The gauge is set at each engine step.",
            "sglang": "The gauge is set every 40 decode steps and at each prefill: a peak in between is \
                     not seen. The state cache of a hybrid model or a small KV cache lowers the \
                     running limit; the log says by what.",
            "trtllm": "The gauge counts admitted requests, paused and unscheduled ones included, and \
                     stands still between completions.",
        },
    }
    thresholds {
        /// KV cache use from which it limits admission: a step of the pool below full, as the
        /// recorded runs with 42 to 2,992 blocks show at the moment requests wait.
        SATURATED = 0.9;
        /// Samples with a request running below which they may have missed the peak. Two bursts of
        /// 16 requests, 0.6 s each, on a vLLM 0.32 whose recorder was starved of CPU left one sample,
        /// with 1 running.
        FEW = 4.0;
        /// Requests open on average, of the most that the gauges show, above which the gauges missed
        /// some: no average is above its highest value, and a twentieth is left for the clocks.
        CONTRADICTED = 1.05;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    scope.sees_whole_requests()?;
    let engine = scope.engine()?;
    let running = match scope.track(Signal::Running) {
        Ok(running) => running,
        Err(missing) => return by_client(scope).ok_or(missing),
    };
    let totals = running.total();
    let peak = totals.iter().flatten().copied().fold(f64::NAN, f64::max);
    if peak.is_nan() {
        return Err(Missing::lack(format!("{} was never read", running.metric)));
    }
    let Some(Requested { at_once, from }) = scope.requested() else {
        let (word, how) = wording(engine);
        return Ok(Verdict::not_applicable(format!(
            "no concurrency was asked for; at most {} {word} at once{how}",
            plural(peak, "request")
        ))
        .with("peak_running", peak));
    };
    let facts = |verdict: Verdict| {
        verdict.with("peak_running", peak).with("requested", at_once).with("requested_from", from)
    };
    if peak == 0.0 && load_ran(scope) {
        return Err(Missing::lack(
            "no sample shows a request running, although requests finished: the samples missed the load",
        ));
    }
    if peak >= at_once || engine.gauges_lag.is_some() {
        return Ok(facts(reached(engine, peak, at_once)));
    }
    let cause = cause(scope, &running, peak, at_once);
    // What the server itself sets was the limit whatever was not seen.
    let seen = match cause.key {
        "admission-control" | "running-limit" => String::new(),
        _ => scope.shown(&running)?,
    };
    if cause.key == "client" {
        shown_enough(scope, &totals, &cause, at_once)?;
    }
    let message = format!(
        "at most {} of {} requests ran at once: {}{seen}",
        count(peak),
        count(at_once),
        cause.text
    );
    Ok(facts(Verdict::fail(message)).with("limited_by", cause.key))
}

/// How requests that the engine's gauges show are spoken of, and why so.
fn wording(engine: &Engine) -> (&'static str, String) {
    match engine.gauges_lag {
        Some(reason) => ("admitted", format!(" ({reason})")),
        None => ("ran", String::new()),
    }
}

/// The verdict where as many were seen as were asked for, or where the gauges lag.
fn reached(engine: &Engine, peak: f64, at_once: f64) -> Verdict {
    let (word, how) = wording(engine);
    let (seen, asked) = (count(peak), count(at_once));
    if peak > at_once {
        let seen = plural(peak, "request");
        Verdict::pass(format!("up to {seen} {word} at once, {asked} asked for{how}"))
    } else if peak >= at_once {
        Verdict::pass(format!("{seen} of {asked} requests {word} at once{how}"))
    } else {
        Verdict::unknown(format!(
            "at most {seen} of {asked} requests were seen admitted at once{how}: more may have run"
        ))
    }
}

/// That the samples show enough to blame the client: that it sent too little is told by nothing but
/// what they do not show.
///
/// # Errors
/// When they may have missed requests, or did.
fn shown_enough(
    scope: &Scope<'_>,
    totals: &[Option<f64>],
    cause: &Cause,
    at_once: f64,
) -> Result<(), Missing> {
    let running = || totals.iter().flatten().copied();
    let busy = running().filter(|running| *running > 0.0).count();
    if (busy as f64) < FEW {
        return Err(Missing::lack(format!(
            "{} of {} requests were seen to run at once, but only {} a request running: they may have missed more",
            count(running().fold(0.0, f64::max)),
            count(at_once),
            if busy == 1 { "1 sample has".to_owned() } else { format!("{busy} samples have") }
        )));
    }
    match open_on_average(scope).filter(|open| *open > cause.open * CONTRADICTED) {
        Some(open) => Err(Missing::lack(format!(
            "the gauges never show more than {} open, but by their times {} were on average: the gauges missed more",
            plural(cause.open, "request"),
            grouped(open, 1)
        ))),
        None => Ok(()),
    }
}

/// Without samples: the load tool's own count of open requests, which is never too low where none
/// failed.
fn by_client(scope: &Scope<'_>) -> Option<Verdict> {
    let result = scope.result().ok().filter(|result| result.failed == Some(0))?;
    let Requested { at_once, from } = scope.requested()?;
    let open = result.most_open.filter(|open| *open > 0.0 && *open < at_once)?;
    let message = format!(
        "at most {} of {} requests can have run at once: by its own count \
         (max_concurrent_requests) the client never had more open{}",
        count(open),
        count(at_once),
        rate(scope)
    );
    Some(
        Verdict::fail(message)
            .with("client_open", open)
            .with("requested", at_once)
            .with("requested_from", from)
            .with("limited_by", "client"),
    )
}

/// Requests finished during the point, by the load tool's count or the server's.
fn load_ran(scope: &Scope<'_>) -> bool {
    let completed = scope.result().is_ok_and(|result| result.completed > 0);
    completed || scope.counter(Signal::Finished).is_ok_and(|finished| finished.total > 0.0)
}

#[derive(Default)]
struct Cause {
    key: &'static str,
    text: String,
    /// Most requests open at once, where that is the cause.
    open: f64,
}

/// Requests open at once on average: the sum of their times, over the longest that the server can
/// have been at work. `None`: the server counts no times.
fn open_on_average(scope: &Scope<'_>) -> Option<f64> {
    let (from, to) = scope.windows().ok()?.outer;
    let seconds = scope.counter(Signal::EndedSeconds).ok()?.total;
    (to > from).then(|| seconds / ((to - from) as f64 / 1e9))
}

/// Why fewer ran than were asked for: the first of its causes that is shown.
fn cause(scope: &Scope<'_>, running: &Track, peak: f64, asked: f64) -> Cause {
    let waiting = scope.track(Signal::Waiting).ok().map(|track| track.total());
    by_limit(scope, peak)
        .or_else(|| by_cache(scope, waiting.as_deref()?))
        .or_else(|| by_default(scope, waiting.as_deref()?, peak))
        .unwrap_or_else(|| by_load(scope, &running.total(), waiting.as_deref(), asked))
}

/// What the server itself sets: it refuses requests, or runs so many at most.
fn by_limit(scope: &Scope<'_>, peak: f64) -> Option<Cause> {
    if let Some(refused) = scope.refused() {
        let text = format!("the server rejected {} (admission control)", count(refused.requests));
        return Some(Cause { key: "admission-control", text, ..Cause::default() });
    }
    let limit = scope.running_limit().filter(|limit| limit.requests <= peak)?;
    let text = format!("the server runs at most {} ({})", count(limit.requests), limit.why);
    Some(Cause { key: "running-limit", text, ..Cause::default() })
}

fn by_cache(scope: &Scope<'_>, waiting: &[Option<f64>]) -> Option<Cause> {
    let usage = scope.track(Signal::KvUsage).ok()?;
    let (used, waited) = full_while_waiting(&usage, waiting)?;
    let text = format!(
        "the KV cache was full ({} in use) while up to {} waited",
        percent(used),
        count(waited)
    );
    Some(Cause { key: "kv-cache", text, ..Cause::default() })
}

/// A limit that nothing states, but that vLLM has by default.
fn by_default(scope: &Scope<'_>, waiting: &[Option<f64>], peak: f64) -> Option<Cause> {
    let waited = most(waiting);
    let is_default = scope.engine().is_ok_and(|engine| engine.name == "vllm")
        && DEFAULT_LIMITS.contains(&peak)
        && scope.running_limit().is_none();
    let text = format!(
        "{} is a limit that vLLM sets by default (--max-num-seqs), and up to {} waited",
        count(peak),
        count(waited)
    );
    (is_default && waited > 0.0).then(|| Cause { key: "running-limit", text, ..Cause::default() })
}

/// What is left: the load had fewer open than it was asked for, or nothing tells.
fn by_load(
    scope: &Scope<'_>,
    running: &[Option<f64>],
    waiting: Option<&[Option<f64>]>,
    asked: f64,
) -> Cause {
    let Some(waiting) = waiting else {
        let text = "nothing recorded says why".into();
        return Cause { key: "unknown", text, ..Cause::default() };
    };
    let sums = running.iter().zip(waiting).filter_map(|(r, w)| Some((*r)? + (*w)?));
    let open = sums.fold(0.0, f64::max);
    if open >= asked {
        let text = format!("up to {} waited and nothing recorded says why", count(most(waiting)));
        return Cause { key: "unknown", text, ..Cause::default() };
    }
    let failed = scope.result().ok().and_then(|result| result.failed).unwrap_or(0) as f64;
    if failed > 0.0 {
        let (open_words, failed) = (count(open), count(failed));
        let text =
            format!("at most {open_words} were open, {failed} failed by the load tool's count");
        return Cause { key: "failures", text, open };
    }
    let words = plural(open, "request");
    let text = format!("the client never had more than {words} open{}", rate(scope));
    Cause { key: "client", text, open }
}

fn most(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().copied().fold(0.0, f64::max)
}

/// The rate that the load tool was told to send at, in words: with it the concurrency asked for is an
/// upper bound.
fn rate(scope: &Scope<'_>) -> String {
    let asked = scope.point.params.get("rate").and_then(|rate| rate.parse::<f64>().ok());
    let rate = asked.or_else(|| scope.result().ok()?.rate).filter(|rate| rate.is_finite());
    rate.map_or_else(String::new, |rate| format!(", it was to send {} a second", grouped(rate, 1)))
}

/// Highest KV use of any replica, and most requests waiting, over the samples with both a full cache
/// and a request waiting.
fn full_while_waiting(usage: &Track, waiting: &[Option<f64>]) -> Option<(f64, f64)> {
    let samples = usage.replicas.iter().flat_map(|(_, values)| values.iter().zip(waiting));
    let both = samples.filter_map(|(used, waiting)| Some(((*used)?, (*waiting)?)));
    both.filter(|(used, waiting)| *used >= SATURATED && *waiting > 0.0)
        .reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
}

/// `vllm/engine/arg_utils.py` (0.8.5 to 0.33): 256 for a server, 1,024 on GPUs of 70 GiB and more, and
/// twice that in `--performance-mode throughput`.
const DEFAULT_LIMITS: [f64; 4] = [256.0, 512.0, 1024.0, 2048.0];

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "cache full",
            evidence: r#"
== params
concurrency=32
== before
vllm:num_requests_running{engine="0"} 0
vllm:num_requests_waiting{engine="0"} 0
vllm:kv_cache_usage_perc{engine="0"} 0
== 0
vllm:num_requests_running{engine="0"} 10
vllm:num_requests_waiting{engine="0"} 22
vllm:kv_cache_usage_perc{engine="0"} 0.97
== 1
vllm:num_requests_running{engine="0"} 7
== after
"#,
            status: Status::Fail,
            says: &["at most 10 of 32", "KV cache was full (97% in use) while up to 22 waited"],
        },
        Case {
            name: "replicas add up",
            evidence: r#"
== params
concurrency=32
num_prompts=48
== before
vllm:num_preemptions_total{engine="0"} 0
vllm:num_preemptions_total{engine="1"} 0
== 0
vllm:num_requests_running{engine="0"} 15
vllm:num_requests_running{engine="1"} 17
== 1
vllm:num_requests_running{engine="0"} 16
vllm:num_requests_running{engine="1"} 8
== after
"#,
            status: Status::Pass,
            says: &["32 of 32 requests ran at once"],
        },
        Case {
            name: "replicas that are ranks of their own",
            evidence: r#"
== params
concurrency=32
== before
sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 0
sglang:num_running_reqs{dp_rank="1",tp_rank="1"} 0
== 0
sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 15
sglang:num_running_reqs{dp_rank="1",tp_rank="1"} 17
== after
"#,
            status: Status::Pass,
            says: &["32 of 32 requests ran at once"],
        },
        Case {
            name: "fewer prompts than the concurrency",
            evidence: r"
== params
concurrency=64
num_prompts=8
== before
vllm:num_requests_running 0
== 0
vllm:num_requests_running 8
== after
",
            status: Status::Pass,
            says: &["8 of 8"],
        },
        Case {
            name: "a burst between two samples",
            evidence: r"
== params
concurrency=16
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
== 0
vllm:num_requests_running 1
== after
vllm:num_requests_running 0
",
            status: Status::Unknown,
            says: &["1 of 16", "only 1 sample has a request running"],
        },
        Case {
            name: "rejected",
            evidence: r#"
== params
concurrency=32
== before
vllm:num_requests_running{engine="0"} 0
vllm:num_requests_waiting{engine="0"} 0
vllm:admission_rejections_total{reason="max_num_queued_reqs"} 3
== 0
vllm:num_requests_running{engine="0"} 16
vllm:admission_rejections_total{reason="max_num_queued_reqs"} 19
== after
"#,
            status: Status::Fail,
            says: &["at most 16 of 32", "rejected 16"],
        },
        Case {
            name: "rejected, by the lines of a release without the counter",
            evidence: r#"
== params
concurrency=4
== log
INFO 11-01 10:00:00 [core.py:118] Initializing a V1 LLM engine (v0.30.0) with config: model='/m'
INFO:     Application startup complete.
INFO 11-01 10:00:09 [async_llm.py:1] Request queue full - rejecting request cmpl-1 (current=2, n=1, max=2).
INFO 11-01 10:00:09 [async_llm.py:1] Request queue full - rejecting request cmpl-2 (current=2, n=1, max=2).
== before
vllm:num_requests_running{engine="0"} 0
vllm:num_requests_waiting{engine="0"} 0
== 0
vllm:num_requests_running{engine="0"} 2
== after
"#,
            status: Status::Fail,
            says: &["at most 2 of 4", "rejected 2"],
        },
        Case {
            name: "requests that failed",
            evidence: r#"
== result
{"backend": "vllm", "num_prompts": 8, "completed": 5, "failed": 3, "max_concurrency": 8}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
== 0
vllm:num_requests_running 5
== after
"#,
            status: Status::Fail,
            says: &["at most 5 of 8", "3 failed by the load tool's count"],
        },
        Case {
            name: "a client that sends few",
            evidence: r#"
== result
{"backend": "vllm", "num_prompts": 500, "completed": 500, "max_concurrency": 64}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:kv_cache_usage_perc 0.1
== 0
vllm:num_requests_running 9
vllm:num_requests_waiting 2
== 1
vllm:num_requests_running 8
== 2
vllm:num_requests_running 9
== 3
vllm:num_requests_running 8
== after
"#,
            status: Status::Fail,
            says: &["at most 9 of 64", "client never had more than 11 requests open"],
        },
        Case {
            name: "no samples, and a client that counts fewer open",
            evidence: r#"
== result
{"backend": "vllm", "num_prompts": 500, "completed": 500, "failed": 0, "max_concurrency": 512, "max_concurrent_requests": 100}
== before
vllm:num_requests_running 0
== after
"#,
            status: Status::Fail,
            says: &["at most 100 of 500", "max_concurrent_requests"],
        },
        Case {
            name: "no samples, and requests that failed are not in the client's count",
            evidence: r#"
== result
{"backend": "vllm", "num_prompts": 500, "completed": 100, "failed": 400, "max_concurrency": 512, "max_concurrent_requests": 100}
== before
vllm:num_requests_running 0
== after
"#,
            status: Status::Unknown,
            says: &["no metrics were sampled"],
        },
        Case {
            name: "several servers behind one address",
            evidence: r"
== params
concurrency=32
== before
process_start_time_seconds 1000
vllm:num_requests_running 0
== 0
vllm:num_requests_running 16
== 1
process_start_time_seconds 1500
== 2
process_start_time_seconds 1000
== 3
== after
",
            status: Status::Unknown,
            says: &["several servers answer at one address"],
        },
        Case {
            name: "a client that was told a rate",
            evidence: r#"
== result
{"backend": "vllm", "num_prompts": 500, "completed": 500, "max_concurrency": 64, "request_rate": 3.5}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
== 0
vllm:num_requests_running 9
== 1
vllm:num_requests_running 8
== 2
vllm:num_requests_running 9
== 3
vllm:num_requests_running 8
== after
"#,
            status: Status::Fail,
            says: &["more than 9 requests open, it was to send 3.5 a second"],
        },
        Case {
            name: "a data set with fewer prompts than the option says",
            evidence: r#"
== params
concurrency=32
num_prompts=1000
== result
{"backend": "vllm", "num_prompts": 1000, "completed": 7, "failed": 1}
== before
vllm:num_requests_running 0
== 0
vllm:num_requests_running 8
== after
"#,
            status: Status::Pass,
            says: &["8 of 8"],
        },
        Case {
            name: "a full cache, not looked at for most of the load",
            evidence: r"
== params
concurrency=32
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:kv_cache_usage_perc 0
== 0
vllm:num_requests_running 24
vllm:num_requests_waiting 8
vllm:kv_cache_usage_perc 0.97
== 1
== 2
== 30
== 31
vllm:num_requests_running 0
vllm:num_requests_waiting 0
== after
",
            status: Status::Unknown,
            says: &["the samples miss 90% of the load"],
        },
        Case {
            name: "vllm's default limit",
            evidence: r"
== params
concurrency=400
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:kv_cache_usage_perc 0
== 0
vllm:num_requests_running 256
vllm:num_requests_waiting 144
vllm:kv_cache_usage_perc 0.5
== 1
== 2
vllm:num_requests_running 40
vllm:num_requests_waiting 0
vllm:kv_cache_usage_perc 0.95
== after
",
            status: Status::Fail,
            says: &["at most 256 of 400", "by default (--max-num-seqs)", "144 waited"],
        },
        Case {
            name: "gauges that miss what ran between them",
            evidence: r"
== params
concurrency=32
== before
sglang:num_running_reqs 0
sglang:num_queue_reqs 0
sglang:e2e_request_latency_seconds_sum 0
== 0
== 1
sglang:num_running_reqs 20
== 2
sglang:num_running_reqs 24
== 3
sglang:num_running_reqs 20
== 4
sglang:num_running_reqs 22
== 5
sglang:num_running_reqs 0
== after
sglang:e2e_request_latency_seconds_sum 152
",
            status: Status::Unknown,
            says: &["never show more than 24 requests open", "30.4 were on average"],
        },
        Case {
            name: "open loop",
            evidence: "== before\nvllm:num_requests_running 0\n== 0\nvllm:num_requests_running 9\n== after\n",
            status: Status::NotApplicable,
            says: &["no concurrency was asked for", "at most 9"],
        },
        Case {
            name: "no samples",
            evidence: "== params\nconcurrency=4\n== before\nvllm:num_requests_running 0\n== after\n",
            status: Status::Unknown,
            says: &["no metrics were sampled"],
        },
        Case {
            name: "samples that missed the load",
            evidence: r#"
== params
concurrency=4
== before
vllm:num_requests_running 0
vllm:request_success_total{finished_reason="length"} 0
== 0
== 1
== after
vllm:request_success_total{finished_reason="length"} 8
"#,
            status: Status::Unknown,
            says: &["missed the load"],
        },
        Case {
            name: "a gauge that is not exported beside its siblings",
            evidence: r"
== params
concurrency=4
== before
vllm:kv_cache_usage_perc 0
vllm:generation_tokens_total 0
== 0
vllm:kv_cache_usage_perc 0.5
== after
",
            status: Status::Unknown,
            says: &["num_requests_running is not exported"],
        },
        Case {
            name: "more than were asked for",
            evidence: r"
== params
concurrency=4
== before
vllm:num_requests_running 0
== 0
vllm:num_requests_running 9
== after
",
            status: Status::Pass,
            says: &["up to 9 requests ran at once, 4 asked for"],
        },
        Case {
            name: "no number that could be asked for",
            evidence: r#"
== result
{"backend": "vllm", "num_prompts": 8, "completed": 8, "max_concurrency": 0}
== before
vllm:num_requests_running 0
== 0
vllm:num_requests_running 9
== after
"#,
            status: Status::NotApplicable,
            says: &["no concurrency was asked for"],
        },
        Case {
            name: "admitted, not scheduled",
            evidence: r"
== params
concurrency=32
== before
trtllm_num_requests_running 1
== 0
trtllm_num_requests_running 32
== after
",
            status: Status::Pass,
            says: &["32 of 32 requests admitted at once"],
        },
        Case {
            name: "a lagging gauge that shows fewer",
            evidence: r"
== params
concurrency=32
== before
trtllm_num_requests_running 1
== 0
trtllm_num_requests_running 8
== after
",
            status: Status::Unknown,
            says: &["8 of 32", "more may have run"],
        },
        Case {
            name: "gauges switched off",
            evidence: r#"
== params
concurrency=32
== before
trtllm_request_success_total{finished_reason="length"} 1
== 0
== after
"#,
            status: Status::Unknown,
            says: &["enable_iter_perf_stats"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "replicas add up",
        find: "vllm:num_requests_running{engine=\"1\"} 17",
        replace: "vllm:num_requests_running{engine=\"1\"} 12",
        becomes: Status::Fail,
    };
}
