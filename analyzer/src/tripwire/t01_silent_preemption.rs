use super::Check;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope};
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
    ///   the load. Any is a failure. The server counts a preemption late, with the request's next
    ///   output, and writes no log line for it at its default level.
    /// - SGLang: `sglang:num_retracted_requests_total`, a series that appears with the first
    ///   retraction; while it is absent and `sglang:num_retracted_reqs` is there it reads 0. Releases
    ///   before 0.5.10 have no such counter: there the log's retraction lines are counted.
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
    /// restarted in between. For TensorRT-LLM: the log shows no C++ scheduler at INFO level and the
    /// prefill counter is missing or fell short.
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
    if engine.name == "trtllm" {
        return paused(scope);
    }
    let counted = scope.counter(Signal::Preemptions)?;
    let lines = log_lines(scope);
    if counted.total > 0.0 {
        return Ok(preempted(scope, counted.total, lines));
    }
    if engine.name == "sglang" && lines.unwrap_or(0) > 0 && scope.run.points.len() == 1 {
        let lines = lines.unwrap_or(0);
        return Ok(Verdict::fail(format!(
            "{} in the server log; this release exports no counter of them",
            plural(lines as f64, "retraction line")
        ))
        .with("log_lines", lines));
    }
    let finished = scope.counter(Signal::Finished).map_or(String::new(), |finished| {
        format!(" while {} finished", plural(finished.total, "request"))
    });
    Ok(Verdict::pass(format!("no {}{finished}", engine.preemption))
        .with("preemptions", 0)
        .with("metric", counted.metric))
}

fn preempted(scope: &Scope<'_>, total: f64, lines: Option<u64>) -> Verdict {
    let name = scope.engine().map_or("preemption", |engine| engine.preemption);
    let mut message = plural(total, name);
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
        let v2 = says("kv_cache_config", "use_kv_cache_manager_v2=True");
        found.lines += facts.serving.pauses;
        found.believed |= cpp && !v2 && log.server.conclude(&Aside::default()).answered;
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
    let shown = scope.track(Signal::Paused).map_or(0.0, |track| {
        track.total().iter().flatten().copied().fold(0.0, f64::max)
    });
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
        Some((prefilled, prompts)) if prompts > 0.0 && prefilled == prompts => {
            Ok(Verdict::pass(format!(
                "no pause: {} prompt tokens, each prefilled once",
                count(prompts)
            ))
            .with("prefilled_tokens", prefilled)
            .with("prompt_tokens", prompts))
        }
        _ if pauses.believed && pauses.lines == 0 => Ok(Verdict::pass(format!(
            "no pause: the C++ scheduler logs each at INFO and the log has none{tokens}"
        ))
        .with("log_lines", 0)),
        _ if scope.logs().is_empty() => Err(Missing::lack(
            "TensorRT-LLM counts no pauses: needs the server log to the end of the run (--boot-log)",
        )),
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
