use super::Check;
use crate::engine::Signal;
use crate::evidence::{Missing, Need, Scope};
use crate::failure::Aside;
use crate::finding::Verdict;
use crate::number::{count, plural, seconds};

tripwire! {
    /// # What it checks
    /// Whether the server threw running requests out of the KV cache during the load and computed
    /// them again. vLLM calls it preemption, SGLang retraction, TensorRT-LLM a pause.
    ///
    /// # Why it matters
    /// A preempted request repeats its prefill and waits for room. Latency percentiles then describe
    /// the shortage of KV cache, not the model, and the work done twice is in no token counter. The
    /// client sees no error.
    ///
    /// # How it decides
    /// - vLLM: the difference of `vllm:num_preemptions_total` between the readings before and after
    ///   the load, or its growth over the samples in it. Any is a failure. The server counts a
    ///   preemption late, with the request's next output, and writes no log line for it at its
    ///   default level.
    /// - SGLang: `sglang:num_retracted_requests_total`, a series that appears with the first
    ///   retraction; while it is absent and `sglang:num_retracted_reqs` is there it reads 0. Releases
    ///   before 0.5.10 have no such counter: there the log's retraction lines are counted, and their
    ///   absence counts where the log shows batches that ran.
    /// - TensorRT-LLM counts none. The C++ scheduler writes `request ID N -> pause` at INFO; the
    ///   Python and V2 schedulers write nothing at INFO. The witness is
    ///   `trtllm_prefill_batch_tokens_sum` against the prompt tokens that no cache held: more means
    ///   prompts were computed again.
    ///
    /// # What to do
    /// Give the KV cache more room (`--gpu-memory-utilization`, a smaller `--max-model-len`, a
    /// quantised KV cache), or ask for fewer requests at once than the cache holds at full length.
    ///
    /// # When it cannot tell
    /// A reading before or after the load is missing, the counter is not exported, or the server was
    /// restarted in between. For TensorRT-LLM: the prefill counter is missing or fell short, and the
    /// log shows no C++ scheduler at INFO level, or need not go on to the end of the load: it shows
    /// neither the server's end nor each reading of its metrics and each request that it finished, and
    /// was not followed as it was written. So too for SGLang before 0.5.10.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/v1/core/sched/scheduler.py` (`_preempt_request`), `vllm/v1/metrics/stats.py`
    /// - SGLang 0.5.23: `sglang/srt/managers/scheduler.py` (`update_running_batch`)
    /// - TensorRT-LLM 1.3: `tensorrt_llm/_torch/pyexecutor/scheduler.py`, `batch_manager` log lines
    T01_SILENT_PREEMPTION {
        code: "T1",
        slug: "silent-preemption",
        since: "0.1.0",
        summary: "running requests were thrown out of the KV cache and computed again",
        needs: ["scrape", "log"],
        explained_by: ["T9"],
        check: Check::Point(check),
    }
    thresholds {
        /// Prefilled tokens per prompt token above which prompts were computed again. Without a
        /// pause the two agree to the token (1.00 on a recorded TensorRT-LLM 1.3 run); with 13 pauses
        /// it was 4.6. An iteration that is still to be published accounts for less than a tenth.
        RECOMPUTED = 1.1;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    let engine = scope.engine()?;
    if let Some(reason) = scope.replaced() {
        return Err(reason);
    }
    if engine.name == "trtllm" {
        return paused(scope);
    }
    let counted = scope.counter(Signal::Preemptions);
    let between = counted.as_ref().map_or(0.0, |counted| counted.total);
    let seen = grown(scope);
    let lines = log_lines(scope);
    if between.max(seen) > 0.0 {
        return Ok(preempted(scope, between, seen, lines));
    }
    if let (true, Some(lines)) = (engine.name == "sglang", lines)
        && scope.run.points.len() == 1
        && (lines > 0 || counted.is_err())
        && scope.counter(Signal::Finished).is_ok()
        && !is_counted(scope)
    {
        return by_log(scope, lines);
    }
    let counted = counted?;
    scope.covered()?;
    let finished = scope.counter(Signal::Finished).map_or(String::new(), |finished| {
        format!(" while {} finished", plural(finished.total, "request"))
    });
    Ok(Verdict::pass(format!("no {}{finished}", engine.preemption))
        .with("preemptions", 0)
        .with("metric", counted.metric))
}

/// Whether the counter itself was ever there: then it decides, and the log's lines are of whatever
/// else the server did.
fn is_counted(scope: &Scope<'_>) -> bool {
    let metric = scope.engine().ok().and_then(|engine| engine.metric(Signal::Preemptions));
    let names = metric.map_or(&[][..], |metric| metric.names);
    scope.sources().any(|(_, source)| names.iter().any(|name| source.full.knows(name)))
}

/// SGLang before 0.5.10: no counter, and a log line for each retraction, at the level of its
/// periodic lines.
fn by_log(scope: &Scope<'_>, lines: u64) -> Result<Verdict, Missing> {
    let worked = || scope.logs().iter().any(|log| log.server.conclude(&Aside::default()).worked);
    let verdict = if lines > 0 && scope.release_has(Signal::Preemptions) {
        return Err(Missing::lack(format!(
            "the log has {}, and the counter that this release makes with the first is not there: \
             they are of another time, or it was not recorded",
            plural(lines as f64, "retraction")
        )));
    } else if lines > 0 {
        Verdict::fail(format!(
            "{} by the lines of the server log; this release exports no counter of them",
            plural(lines as f64, "retraction")
        ))
    } else if worked() && scope.logs_reach_the_end() {
        Verdict::pass(
            "no retraction: this release exports no counter of them, and its log, which has a line \
             for each, has none",
        )
    } else {
        return Err(Missing::lack(
            "this release exports no counter of retractions, and nothing shows that its log, \
             which has none, goes on to the end of the load",
        ));
    };
    Ok(verdict.with("log_lines", lines))
}

/// By how much the counter grew over the samples: at least so many there were, also where a reading
/// before or after the load is missing.
fn grown(scope: &Scope<'_>) -> f64 {
    let total = scope.track(Signal::Preemptions).map_or(Vec::new(), |track| track.total());
    let steps = total.windows(2).filter_map(|pair| match *pair {
        [Some(old), Some(new)] if new > old => Some(new - old),
        _ => None,
    });
    steps.sum()
}

/// `between` the readings before and after the load, and `seen` over the samples in it.
fn preempted(scope: &Scope<'_>, between: f64, seen: f64, lines: Option<u64>) -> Verdict {
    let name = scope.engine().map_or("preemption", |engine| engine.preemption);
    let total = between.max(seen);
    let at_least = if between < seen { "at least " } else { "" };
    let mut message = format!("{at_least}{}", plural(total, name));
    let mut verdict = Verdict::fail("").with("preemptions", total);
    if let Some(bursts) = bursts(scope) {
        message += &format!(" in {}", plural(bursts.count as f64, "burst"));
        let (first, last) = (seconds(bursts.first, 1), seconds(bursts.last, 1));
        message += &if first == last {
            format!(", {first} after the first request")
        } else {
            format!(", {first} to {last} after the first request")
        };
        verdict = verdict
            .with("bursts", bursts.count)
            .with("first_s", bursts.first as f64 / 1e9)
            .with("last_s", bursts.last as f64 / 1e9);
    }
    // The first bucket of vLLM's histogram holds requests with none and with one preemption.
    if let Ok(buckets) = scope.counter_by(Signal::PreemptionsPerRequest, "le")
        && let (Some(all), Some(once)) = (buckets.get("+Inf"), buckets.get("1.0"))
    {
        let often = all - once;
        message += &if often > 0.0 {
            format!("; {} of {} requests more than once", count(often), count(*all))
        } else {
            format!("; {} of {} requests, each once", count(total), count(*all))
        };
        verdict = verdict.with("requests_preempted_more_than_once", often);
    }
    message += match lines {
        None => "; no server log was read",
        Some(0) => "; the server log has no line about them",
        Some(_) => "; the server log has lines about them",
    };
    if let Some(lines) = lines {
        verdict = verdict.with("log_lines", lines);
    }
    Verdict { message, ..verdict }
}

/// Runs of consecutive samples in which the counter grew.
struct Bursts {
    count: usize,
    /// When the first and the last growth were seen, in ns after the first request.
    first: i64,
    last: i64,
}

fn bursts(scope: &Scope<'_>) -> Option<Bursts> {
    let track = scope.track(Signal::Preemptions).ok()?;
    let start = scope.windows().ok()?.inner.0;
    let total = track.total();
    let mut found: Option<Bursts> = None;
    let mut growing = false;
    for (i, pair) in total.windows(2).enumerate() {
        let [Some(old), Some(new)] = *pair else { continue };
        let grew = new > old;
        if grew {
            let at = track.times.get(i + 1)? - start;
            let bursts = found.get_or_insert(Bursts { count: 0, first: at, last: at });
            bursts.count += usize::from(!growing);
            bursts.last = at;
        }
        growing = grew;
    }
    found
}

/// Server log lines that speak of a preemption or retraction; `None` without a log.
fn log_lines(scope: &Scope<'_>) -> Option<u64> {
    let lines = scope.logs().iter().map(|log| &log.server.facts.serving);
    let lines = lines.map(|serving| serving.preempted + serving.retracted);
    lines.reduce(|a, b| a + b)
}

/// What a TensorRT-LLM log says of pauses.
#[derive(Default)]
struct Pauses {
    lines: u64,
    /// The C++ scheduler ran, at a level that shows its lines, and answered requests.
    believed: bool,
}

fn pauses(scope: &Scope<'_>) -> Pauses {
    let mut found = Pauses::default();
    for log in scope.logs() {
        let facts = &log.server.facts;
        // The line of arguments is itself written at INFO.
        let says = |argument: &str, words: &str| {
            facts.argument(argument).is_some_and(|value| value.contains(words))
        };
        let cpp = says("scheduler_config", "use_python_scheduler=False");
        // The option may say V1 where the model brings the V2 scheduler along: its line decides.
        let v2 = says("kv_cache_config", "use_kv_cache_manager_v2=True")
            || facts.scheduler.as_ref().is_some_and(|scheduler| scheduler.value.contains("V2"));
        found.lines += facts.serving.pauses;
        found.believed |= cpp && !v2 && log.server.conclude(&Aside::default()).answered > 0;
    }
    found
}

/// Prompt tokens computed in prefill against those that no cache held, over the point.
///
/// Both are since the server's start: prefilled tokens are published late, so what the reading
/// before the load still lacked is made up for.
fn recomputed(scope: &Scope<'_>) -> Option<(f64, f64)> {
    let prefilled = scope.counter(Signal::PrefillTokens).ok()?.total;
    let at_end = scope.at_end(Signal::PrefillTokens).ok()?;
    let cached = |value: Result<f64, Missing>| value.unwrap_or(0.0);
    let prompts = scope.counter(Signal::PromptTokens).ok()?.total
        - cached(scope.counter(Signal::CachedPromptTokens).map(|c| c.total));
    let prompts_at_end =
        scope.at_end(Signal::PromptTokens).ok()? - cached(scope.at_end(Signal::CachedPromptTokens));
    let late = ((prompts_at_end - prompts) - (at_end - prefilled)).max(0.0);
    Some((prefilled - late, prompts))
}

fn paused(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    let pauses = pauses(scope);
    let one_point = scope.run.points.len() == 1;
    let witness = recomputed(scope);
    let tokens = witness.map_or(String::new(), |(prefilled, prompts)| {
        format!("; {} tokens prefilled for {} of prompts", count(prefilled), count(prompts))
    });
    let shown = scope
        .track(Signal::Paused)
        .map_or(0.0, |track| track.total().iter().flatten().copied().fold(0.0, f64::max));
    if let Some((prefilled, prompts)) = witness.filter(|(all, once)| *once > 0.0 && all == once)
        && shown == 0.0
    {
        let elsewhere = match pauses.lines {
            0 => String::new(),
            n => format!("; the log shows {} at another time", plural(n as f64, "pause")),
        };
        return Ok(Verdict::pass(format!(
            "no pause: {} prompt tokens, each prefilled once{elsewhere}",
            count(prompts)
        ))
        .with("prefilled_tokens", prefilled)
        .with("prompt_tokens", prompts));
    }
    if pauses.lines > 0 && one_point {
        return Ok(Verdict::fail(format!(
            "{} by \"request ID … -> pause\" lines of the log, no counter shows them{tokens}",
            plural(pauses.lines as f64, "pause")
        ))
        .with("preemptions", pauses.lines)
        .with("log_lines", pauses.lines));
    }
    if shown > 0.0 {
        return Ok(Verdict::fail(format!(
            "up to {} paused at once, by the gauge of paused requests{tokens}",
            plural(shown, "request")
        ))
        .with("paused_at_once", shown));
    }
    match witness {
        Some((prefilled, prompts)) if prompts > 0.0 && prefilled > prompts * RECOMPUTED => {
            Ok(Verdict::fail(format!(
                "{} tokens prefilled for {} of prompts: requests were paused and computed again",
                count(prefilled),
                count(prompts)
            ))
            .with("prefilled_tokens", prefilled)
            .with("prompt_tokens", prompts))
        }
        _ if pauses.believed && pauses.lines == 0 && scope.logs_reach_the_end() => {
            Ok(Verdict::pass(format!(
                "no pause: the C++ scheduler logs each at INFO and the log has none{tokens}"
            ))
            .with("log_lines", 0))
        }
        _ if scope.logs().is_empty() => Err(Missing::lack(format!(
            "TensorRT-LLM counts no pauses: needs the server log to the end of the run{}",
            Need::Log.remedy(scope.run.form)
        ))),
        _ if pauses.lines > 0 => Err(Missing::lack(format!(
            "the log has {}, and nothing tells in which of {} load points{tokens}",
            plural(pauses.lines as f64, "pause"),
            scope.run.points.len()
        ))),
        _ if pauses.believed => Err(Missing::lack(format!(
            "the log has no pause, but nothing shows that it goes on to the end of the load{tokens}"
        ))),
        _ => Err(Missing::lack(format!(
            "the log does not show a C++ scheduler at INFO level that answered requests{tokens}"
        ))),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "two bursts",
            evidence: r#"
== before
vllm:num_preemptions_total{engine="0"} 900
vllm:num_requests_running{engine="0"} 0
vllm:num_requests_waiting{engine="0"} 0
vllm:kv_cache_usage_perc{engine="0"} 0
vllm:generation_tokens_total{engine="0"} 5
vllm:cache_config_info{engine="0",num_gpu_blocks="101"} 1
vllm:request_num_preemptions_bucket{engine="0",le="1.0"} 10
vllm:request_num_preemptions_bucket{engine="0",le="+Inf"} 10
== 0
== 1
vllm:num_requests_running{engine="0"} 4
vllm:kv_cache_usage_perc{engine="0"} 1
== 2
vllm:num_preemptions_total{engine="0"} 901
vllm:num_requests_running{engine="0"} 3
== 3
vllm:num_preemptions_total{engine="0"} 902
== 4
== 5
vllm:num_preemptions_total{engine="0"} 903
== 6
vllm:num_requests_running{engine="0"} 0
== after
vllm:request_num_preemptions_bucket{engine="0",le="1.0"} 13
vllm:request_num_preemptions_bucket{engine="0",le="+Inf"} 14
== log
INFO 11-30 [loggers.py:273] Engine 000: Avg prompt throughput: 1.0 tokens/s
"#,
            status: Status::Fail,
            says: &[
                "3 preemptions in 2 bursts, 1.0 s to 4.0 s after the first request",
                "1 of 4 requests more than once",
                "log has no line",
            ],
        },
        Case {
            name: "none",
            evidence: r#"
== before
vllm:num_preemptions_total{engine="0"} 900
vllm:request_success_total{engine="0",finished_reason="length"} 5
== after
vllm:request_success_total{engine="0",finished_reason="length"} 37
"#,
            status: Status::Pass,
            says: &["no preemption while 32 requests finished"],
        },
        Case {
            name: "seen in the samples, no reading after",
            evidence: r"
== before
vllm:num_preemptions_total 0
vllm:num_requests_running 0
== 0
vllm:num_requests_running 4
== 1
vllm:num_preemptions_total 2
",
            status: Status::Fail,
            says: &["at least 2 preemptions in 1 burst"],
        },
        Case {
            name: "readings of another server",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32}
== before
vllm:num_preemptions_total 0
vllm:request_success_total{finished_reason="length"} 5
== after
"#,
            status: Status::Unknown,
            says: &["completed 32 requests and the server finished none"],
        },
        Case {
            name: "a counter without a number",
            evidence: r#"
== before
vllm:num_preemptions_total 0
vllm:request_success_total{finished_reason="length"} 5
== after
vllm:num_preemptions_total NaN
"#,
            status: Status::Unknown,
            says: &["no usable value after the load"],
        },
        Case {
            name: "no counter",
            evidence: "== before\nvllm:num_requests_running 0\n== after\n",
            status: Status::Unknown,
            says: &["vllm:num_preemptions_total is not exported"],
        },
        Case {
            name: "no reading before",
            evidence: "== after\nvllm:num_preemptions_total 3\n",
            status: Status::Unknown,
            says: &["before the load"],
        },
        Case {
            name: "restarted",
            evidence: r"
== before
vllm:num_preemptions_total 9
vllm:num_preemptions_created 100
== after
vllm:num_preemptions_total 12
vllm:num_preemptions_created 200
",
            status: Status::Unknown,
            says: &["restarted"],
        },
        Case {
            name: "a retraction makes its series",
            evidence: r#"
== before
sglang:num_retracted_reqs{tp_rank="0",pid="7"} 0
== after
sglang:num_retracted_requests_total{tp_rank="0"} 1
sglang:num_retracted_requests_total{tp_rank="1"} 1
"#,
            status: Status::Fail,
            says: &["1 retraction"],
        },
        Case {
            name: "no retraction",
            evidence: "== before\nsglang:num_retracted_reqs{pid=\"7\"} 0\n== after\n",
            status: Status::Pass,
            says: &["no retraction"],
        },
        Case {
            name: "a release without a counter, whose log has lines",
            evidence: r"
== before
sglang:num_requests_total 1
sglang:num_running_reqs 0
== after
sglang:num_requests_total 9
== log
[2025-05-01 10:00:00] server_args=ServerArgs(model_path='/m')
[2025-05-01 10:01:00] The server is fired up and ready to roll!
[2025-05-01 10:02:00] Decode batch. #running-req: 8, #token: 900, token usage: 0.99, gen throughput (token/s): 9.1, #queue-req: 0
[2025-05-01 10:02:01] Decode out of memory happened. #retracted_reqs: 3, #new_token_ratio: 0.2 -> 0.9
",
            status: Status::Fail,
            says: &["3 retractions by the lines of the server log"],
        },
        Case {
            name: "a release without a counter, whose log has none",
            evidence: r#"
== before
sglang:num_requests_total 1
sglang:num_retracted_reqs{pid="7"} 0
sglang:swa_token_usage 0
== after
sglang:num_requests_total 9
== log
[2025-10-01 10:00:00] server_args=ServerArgs(model_path='/m')
[2025-10-01 10:01:00] The server is fired up and ready to roll!
[2025-10-01 10:02:00] Decode batch, #running-req: 8, #token: 900, token usage: 0.90, cuda graph: True, gen throughput (token/s): 9.1, #queue-req: 0,
[2025-10-01 10:03:00] SIGTERM received. signum=15 frame=None. Draining requests and shutting down...
"#,
            status: Status::Pass,
            says: &["has a line for each, has none"],
        },
        Case {
            name: "a release without a counter, and a log that may be cut",
            evidence: r#"
== before
sglang:num_requests_total 1
sglang:num_retracted_reqs{pid="7"} 0
sglang:swa_token_usage 0
== after
sglang:num_requests_total 9
== log
[2025-10-01 10:00:00] server_args=ServerArgs(model_path='/m')
[2025-10-01 10:01:00] The server is fired up and ready to roll!
[2025-10-01 10:02:00] Decode batch, #running-req: 8, #token: 900, token usage: 0.90, cuda graph: True, gen throughput (token/s): 9.1, #queue-req: 0,
"#,
            status: Status::Unknown,
            says: &["goes on to the end of the load"],
        },
        Case {
            name: "retractions before the load, counted and logged",
            evidence: r#"
== before
sglang:num_requests_total 1
sglang:num_retracted_reqs{pid="7"} 0
sglang:num_retracted_requests_total 3
== after
sglang:num_requests_total 9
== log
[2026-10-01 10:00:00] server_args={'model_path': '/m'}
[2026-10-01 10:01:00] The server is fired up and ready to roll!
[2026-10-01 10:02:01] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 9, #new_token_ratio: 0.2 -> 0.9
"#,
            status: Status::Pass,
            says: &["no retraction while 8 requests finished"],
        },
        Case {
            name: "retractions in the log of a release that counts them, and no counter",
            evidence: r#"
== before
sglang:num_requests_total 1
sglang:num_retracted_reqs{pid="7"} 0
sglang:swa_token_usage 0
sglang:full_token_usage 0
== after
sglang:num_requests_total 9
== log
[2026-10-01 10:00:00] server_args={'model_path': '/m'}
[2026-10-01 10:01:00] The server is fired up and ready to roll!
[2026-10-01 10:02:01] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 9, #new_token_ratio: 0.2 -> 0.9
"#,
            status: Status::Unknown,
            says: &["the log has 3 retractions", "of another time"],
        },
        Case {
            name: "a release without a counter, and no log",
            evidence: r#"
== before
sglang:num_requests_total 1
sglang:num_retracted_reqs{pid="7"} 0
sglang:swa_token_usage 0
== after
sglang:num_requests_total 9
"#,
            status: Status::Unknown,
            says: &["num_retracted_requests_total is not exported"],
        },
        Case {
            name: "sglang without its witness",
            evidence: "== before\nsglang:num_running_reqs 0\n== after\n",
            status: Status::Unknown,
            says: &["num_retracted_requests_total"],
        },
        Case {
            name: "pauses in the log",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 1
== after
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=False)
INFO:     Application startup complete.
[TRT-LLM] [I] [batchmgr][RANK 0] MaxUtilizationScheduler: request ID 72 -> pause
[TRT-LLM] [I] [batchmgr][RANK 0] MaxUtilizationScheduler: request ID 71 -> pause
INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
"#,
            status: Status::Fail,
            says: &["2 pauses"],
        },
        Case {
            name: "a log without pauses that has a line for each reading",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 1
== after
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=False)
INFO:     Application startup complete.
INFO:     127.0.0.1:1 - "GET /prometheus/metrics HTTP/1.1" 200 OK
INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
INFO:     127.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK
INFO:     127.0.0.1:1 - "GET /prometheus/metrics HTTP/1.1" 200 OK
"#,
            status: Status::Pass,
            says: &["logs each at INFO and the log has none"],
        },
        Case {
            name: "a log without pauses that ends before the last reading",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 1
== after
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=False)
INFO:     Application startup complete.
INFO:     127.0.0.1:1 - "GET /prometheus/metrics HTTP/1.1" 200 OK
INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
INFO:     127.0.0.1:1 - "GET /metrics HTTP/1.1" 200 OK
"#,
            status: Status::Unknown,
            says: &["nothing shows that it goes on"],
        },
        Case {
            name: "a log cut before the load, of a server whose metrics others read too",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 1
== after
trtllm_request_success_total{finished_reason="length"} 9
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=False)
INFO:     Application startup complete.
INFO:     127.0.0.1:1 - "GET /prometheus/metrics HTTP/1.1" 200 OK
INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
INFO:     10.0.0.9:1 - "GET /prometheus/metrics HTTP/1.1" 200 OK
INFO:     10.0.0.9:1 - "GET /prometheus/metrics HTTP/1.1" 200 OK
"#,
            status: Status::Unknown,
            says: &["nothing shows that it goes on"],
        },
        Case {
            name: "a V2 scheduler that the options do not show",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 1
== after
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=False)
[TRT-LLM] [I] KVCacheV2Scheduler: tokens_per_block=32, max_num_tokens=8192, max_batch_size=32
INFO:     Application startup complete.
INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
"#,
            status: Status::Unknown,
            says: &["does not show a C++ scheduler"],
        },
        Case {
            name: "restarted, a log without pauses",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 9
== after
trtllm_request_success_total{finished_reason="length"} 2
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=False)
INFO:     Application startup complete.
INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
"#,
            status: Status::Unknown,
            says: &["restarted"],
        },
        Case {
            name: "prompts prefilled again",
            evidence: r"
== before
trtllm_prompt_tokens_total 100
trtllm_prefill_batch_tokens_sum 60
== after
trtllm_prompt_tokens_total 1100
trtllm_prefill_batch_tokens_sum 4100
",
            status: Status::Fail,
            says: &["4,000 tokens prefilled for 1,000"],
        },
        Case {
            name: "a pause that was not in the load",
            evidence: r"
== before
trtllm_prompt_tokens_total 100
trtllm_prefill_batch_tokens_sum 100
== after
trtllm_prompt_tokens_total 1100
trtllm_prefill_batch_tokens_sum 1100
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=False)
INFO:     Application startup complete.
[TRT-LLM] [I] [batchmgr][RANK 0] MaxUtilizationScheduler: request ID 7 -> pause
",
            status: Status::Pass,
            says: &["each prefilled once", "the log shows 1 pause at another time"],
        },
        Case {
            name: "each prompt prefilled once, published late",
            evidence: r"
== before
trtllm_prompt_tokens_total 100
trtllm_prefill_batch_tokens_sum 60
== after
trtllm_prompt_tokens_total 1100
trtllm_prefill_batch_tokens_sum 1100
",
            status: Status::Pass,
            says: &["1,000 prompt tokens, each prefilled once"],
        },
        Case {
            name: "a scheduler that does not log pauses",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 1
== after
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(use_kv_cache_manager_v2=False) scheduler_config=SchedulerConfig(use_python_scheduler=True)
INFO:     Application startup complete.
INFO:     127.0.0.1:1 - "POST /v1/completions HTTP/1.1" 200 OK
"#,
            status: Status::Unknown,
            says: &["C++ scheduler"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "none",
        find: "== after\n",
        replace: "== after\nvllm:num_preemptions_total{engine=\"0\"} 901\n",
        becomes: Status::Fail,
    };
}
