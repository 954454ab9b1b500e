use super::Check;
use crate::client::ClientResult;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope};
use crate::finding::Verdict;
use crate::number::{count, plural};

tripwire! {
    /// # What it checks
    /// Whether the server finished the requests, and generated the output tokens, that the load tool
    /// reports.
    ///
    /// # Why it matters
    /// A server that worked for somebody else too was slower than it is; a client that counts tokens
    /// the server did not generate, or misses some, divides the wrong number by its duration.
    ///
    /// # How it decides
    /// The load tool's completed requests and output tokens against the differences of the server's
    /// counters over the load, allowing for the requests the tool is known to send and leave out of
    /// its result: a test request and warm-ups, read from its output, else from its flags, and the
    /// probes beside the load that its result counts apart (`--probe-request-rate`). More
    /// finished requests, or fewer, is a failure; requests that the server finished and the load tool
    /// counts as failed are a warning. Tokens that differ by more than the untimed
    /// requests explain are a warning. A recorder's own probes come before the first reading.
    ///
    /// # What to do
    /// Find who else used the server, or measure one that nobody else knows; let the client count by
    /// the server's usage figures.
    ///
    /// # When it cannot tell
    /// No result file and no table that the load tool printed, no counters of finished requests, a
    /// reading missing or cut, a restart; or one request too many when nothing tells whether the tool sent a
    /// test request.
    ///
    /// # References
    /// - vLLM: `vllm/benchmarks/serve.py`: the test request was always sent until 0.14.0; since, only
    ///   with `--ready-check-timeout-sec`
    /// - SGLang: `--warmup-requests`, 1 by default; TensorRT-LLM: one test request unless
    ///   `--no-test-input`
    T15_CLIENT_SERVER_MISMATCH {
        code: "T15",
        slug: "client-server-mismatch",
        since: "0.1.0",
        summary: "the load tool and the server count different requests or tokens",
        needs: ["scrape", "file"],
        explained_by: ["T24", "T31"],
        check: Check::Point(check),
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    scope.sees_whole_requests()?;
    let result = scope.result()?;
    if result.is_without_server() {
        return Err(Missing::never(format!(
            "{} runs the engine itself: there is no server to compare with",
            result.tool
        )));
    }
    let finished = finished(scope)?;
    let completed = result.completed as f64;
    let mut untimed = result.untimed(scope.point.output.as_deref(), &scope.point.params);
    untimed.known = untimed.known.saturating_add(result.probes);
    let facts = |verdict: Verdict| {
        verdict
            .with("server_requests", finished)
            .with("client_requests", completed)
            .with("untimed_requests", untimed.known)
    };
    let extra = finished - completed;
    if extra < 0.0 {
        return Ok(facts(Verdict::fail(format!(
            "the server finished {}, {} fewer than the load tool counts as completed ({})",
            plural(finished, "request"),
            count(-extra),
            count(completed)
        ))));
    }
    let (known, perhaps) = (untimed.known as f64, untimed.perhaps as f64);
    // What the server refused, it did not finish.
    let refused = scope.refused().map_or(0.0, |refused| refused.requests);
    let failed = (result.failed.unwrap_or(0) as f64 - refused).max(0.0);
    if extra > known + perhaps + failed {
        return Ok(facts(Verdict::fail(format!(
            "the server finished {}, {} more than the load tool sent ({}): other traffic shared it",
            plural(finished, "request"),
            count(extra - known - failed),
            count(completed + known + failed)
        ))));
    }
    if failed > 0.0 && extra > known {
        return Ok(facts(Verdict::warn(format!(
            "the server finished {}, of which the load tool counts {} as completed and {} as failed",
            plural(finished, "request"),
            count(completed),
            count(failed)
        ))));
    }
    if extra > known {
        return Ok(facts(Verdict::unknown(format!(
            "the server finished {} more than the load tool counts ({}): its own test request or \
             other traffic, its output was not recorded",
            plural(extra - known, "request"),
            count(completed + known)
        ))));
    }
    Ok(facts(tokens(scope, result, extra)?))
}

/// Requests that the server brought to a result.
fn finished(scope: &Scope<'_>) -> Result<f64, Missing> {
    let by_reason = scope.counter_by(Signal::Finished, "finished_reason")?;
    let failed = ["abort", "error"];
    Ok(by_reason.iter().filter(|(reason, _)| !failed.contains(&reason.as_str())).map(|r| r.1).sum())
}

/// With the requests in agreement: do the tokens agree too, but for those of `extra` requests?
fn tokens(scope: &Scope<'_>, result: &ClientResult, extra: f64) -> Result<Verdict, Missing> {
    let requests = result.completed as f64;
    let beside = match extra {
        0.0 => String::new(),
        n => format!(", and {} of its own", plural(n, "untimed request")),
    };
    // Tokens of requests that were given up are generated too: count those of finished ones.
    let server = scope
        .counter(Signal::FinishedTokens)
        .or_else(|_| scope.counter(Signal::GenerationTokens))?
        .total;
    let Some(client) = result.output_tokens.map(|n| n as f64) else {
        return Ok(Verdict::pass(format!(
            "client and server agree on {}{beside}; the result has no output tokens",
            plural(requests, "request")
        )));
    };
    let facts = |verdict: Verdict| {
        verdict.with("server_output_tokens", server).with("client_output_tokens", client)
    };
    let asked = |name: &str| scope.point.params.get(name).and_then(|v| v.parse::<f64>().ok());
    // Lengths are drawn around the one asked for.
    let most =
        asked("output_len").map(|length| length * (1.0 + asked("range_ratio").unwrap_or(0.0)));
    let each = most.unwrap_or_else(|| (client.max(server) / requests.max(1.0)).ceil());
    let more = server - client;
    if more < 0.0 || more > extra * each {
        let own = match result.retokenized {
            Some(own) if own as f64 != client => {
                format!(" (by its own tokenizer {})", count(own as f64))
            }
            _ => String::new(),
        };
        return Ok(facts(Verdict::warn(format!(
            "both count {}{beside}, but the server generated {} output tokens and the load tool \
             counts {}{own}",
            plural(requests, "request"),
            count(server),
            count(client)
        ))));
    }
    Ok(facts(Verdict::pass(format!(
        "client and server agree: {}, {} output tokens{beside}",
        plural(requests, "request"),
        count(client)
    ))))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "agree",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":32000}
== before
vllm:request_success_total{finished_reason="length"} 9
vllm:request_success_total{finished_reason="abort"} 0
vllm:generation_tokens_total 144
== after
vllm:request_success_total{finished_reason="length"} 41
vllm:request_success_total{finished_reason="abort"} 3
vllm:generation_tokens_total 32144
"#,
            status: Status::Pass,
            says: &["agree: 32 requests, 32,000 output tokens"],
        },
        Case {
            name: "a prefill server, by its own label",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== before
sglang:num_requests_total{engine_type="prefill"} 0
sglang:generation_tokens_total{engine_type="prefill"} 0
== after
sglang:num_requests_total{engine_type="prefill"} 32
sglang:generation_tokens_total{engine_type="prefill"} 32
"#,
            status: Status::NotApplicable,
            says: &["prefill servers see a part of each request"],
        },
        Case {
            name: "metrics without a series of the engine",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== log
INFO 11-01 10:00:00 [core.py:118] Initializing a V1 LLM engine (v0.30.0) with config: model='/m'
INFO:     Application startup complete.
== before
process_start_time_seconds 7
== after
"#,
            status: Status::Unknown,
            says: &["no series of vLLM", "--disable-log-stats"],
        },
        Case {
            name: "a reading that was cut among the reasons",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== before
vllm:request_success_total{finished_reason="stop"} 0
vllm:request_success_total{finished_reason="length"} 9
== after
- vllm:request_success_total{finished_reason="length"}
"#,
            status: Status::Unknown,
            says: &["lacks a series of vllm:request_success_total", "was it cut?"],
        },
        Case {
            name: "a reading before the load that was cut among the reasons",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== before
vllm:request_success_total{finished_reason="stop"} 0
== after
vllm:request_success_total{finished_reason="length"} 5032
"#,
            status: Status::Unknown,
            says: &["the reading before the load lacks a series of vllm:request_success_total"],
        },
        Case {
            name: "its own probes beside the load",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"failed":0,"total_output_tokens":3200,"probe_completed":8,"probe_failed":0}
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="length"} 40
vllm:generation_tokens_total 3208
"#,
            status: Status::Pass,
            says: &["32 requests, 3,200 output tokens, and 8 untimed requests of its own"],
        },
        Case {
            name: "aiperf's warm-ups",
            evidence: r#"
== result
{"aiperf_version":"0.13.0","request_count":{"avg":27.0},"error_request_count":{"avg":3.0},
"total_usage_completion_tokens":{"avg":384.0},"warmup_metrics":{"request_count":{"avg":3.0}}}
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="length"} 30
vllm:generation_tokens_total 432
"#,
            status: Status::Pass,
            says: &["27 requests, 384 output tokens, and 3 untimed requests of its own"],
        },
        Case {
            name: "other traffic",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== before
vllm:request_success_total{finished_reason="length"} 9
vllm:generation_tokens_total 144
== after
vllm:request_success_total{finished_reason="length"} 541
vllm:generation_tokens_total 9144
"#,
            status: Status::Fail,
            says: &["finished 532 requests, 500 more"],
        },
        Case {
            name: "finished, and failed in the client's eyes",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":30,"failed":2,"total_output_tokens":3000}
== before
vllm:request_success_total{finished_reason="length"} 9
vllm:generation_tokens_total 144
== after
vllm:request_success_total{finished_reason="length"} 41
vllm:generation_tokens_total 3344
"#,
            status: Status::Warn,
            says: &["finished 32 requests", "30 as completed and 2 as failed"],
        },
        Case {
            name: "more completed than finished",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== before
vllm:request_success_total{finished_reason="length"} 0
== after
vllm:request_success_total{finished_reason="length"} 30
"#,
            status: Status::Fail,
            says: &["30 requests, 2 fewer"],
        },
        Case {
            name: "its own test request",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== output
Starting initial single prompt test run...
Initial test run completed. Starting main benchmark run...
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="length"} 33
vllm:generation_tokens_total 3300
"#,
            status: Status::Pass,
            says: &["32 requests, 3,200 output tokens, and 1 untimed request of its own"],
        },
        Case {
            name: "one too many and nothing tells whose",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_output_tokens":3200}
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="length"} 33
vllm:generation_tokens_total 3300
"#,
            status: Status::Unknown,
            says: &["1 request more"],
        },
        Case {
            name: "sglang's warm-up",
            evidence: r#"
== result
{"backend":"sglang","completed":32,"total_output_tokens":3200,"total_output_tokens_retokenized":3190}
== before
sglang:num_requests_total 5
sglang:generation_tokens_total 50
== after
sglang:num_requests_total 38
sglang:generation_tokens_total 3350
"#,
            status: Status::Pass,
            says: &["32 requests, 3,200 output tokens, and 1 untimed"],
        },
        Case {
            name: "tensorrt's test request",
            evidence: r#"
== result
{"backend":"openai","num_prompts":32,"completed":32,"total_output_tokens":3200,"user_throughput":9}
== before
trtllm_request_success_total{finished_reason="length"} 0
trtllm_generation_tokens_total 0
== after
trtllm_request_success_total{finished_reason="length"} 33
trtllm_generation_tokens_total 3300
"#,
            status: Status::Pass,
            says: &["32 requests, 3,200 output tokens, and 1 untimed"],
        },
        Case {
            name: "a benchmark without a server",
            evidence: r#"
== result
{"request_info":{"num_requests":4,"avg_output_length":2.5},"performance":{"total_latency_ms":1500.0}}
"#,
            status: Status::NotApplicable,
            says: &["trtllm-bench runs the engine itself"],
        },
        Case {
            name: "tokens the client did not see",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":100,"completed":100,"total_output_tokens":0}
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="length"} 100
vllm:generation_tokens_total 12800
"#,
            status: Status::Warn,
            says: &["generated 12,800 output tokens and the load tool counts 0"],
        },
        Case {
            name: "printed, not saved",
            evidence: r#"
== output
Initial test run completed. Starting main benchmark run...
============ Serving Benchmark Result ============
Successful requests:                     32
Failed requests:                         0
Benchmark duration (s):                  5.12
Total input tokens:                      40
Total generated tokens:                  3200
Output token throughput (tok/s):         625.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
==================================================
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="length"} 33
vllm:generation_tokens_total 3300
"#,
            status: Status::Pass,
            says: &["32 requests, 3,200 output tokens, and 1 untimed request of its own"],
        },
        Case {
            name: "printed twice",
            evidence: r#"
== output
============ Serving Benchmark Result ============
Successful requests:                     32
Failed requests:                         0
Benchmark duration (s):                  5.12
Total input tokens:                      40
Total generated tokens:                  3200
Output token throughput (tok/s):         625.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
==================================================
============ Serving Benchmark Result ============
Successful requests:                     32
Failed requests:                         0
Benchmark duration (s):                  5.12
Total input tokens:                      40
Total generated tokens:                  3200
Output token throughput (tok/s):         625.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
==================================================
== before
vllm:request_success_total{finished_reason="length"} 0
== after
vllm:request_success_total{finished_reason="length"} 32
"#,
            status: Status::Unknown,
            says: &[
                "no result file",
                "--result",
                "2 tables were printed during it and none is taken",
            ],
        },
        Case {
            name: "printed, cut short",
            evidence: r#"
== output
============ Serving Benchmark Result ============
Successful requests:                     32
Failed requests:                         0
Benchmark duration (s):                  5.12
Total input tokens:                      40
Total generated tokens:                  3200
Output token throughput (tok/s):         625.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
== before
vllm:request_success_total{finished_reason="length"} 0
== after
vllm:request_success_total{finished_reason="length"} 32
"#,
            status: Status::Unknown,
            says: &["no table in its output"],
        },
        Case {
            name: "no result",
            evidence: "== before\nvllm:request_success_total 0\n== after\n",
            status: Status::Unknown,
            says: &["--result"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "agree",
        find: "{finished_reason=\"length\"} 41",
        replace: "{finished_reason=\"length\"} 44",
        becomes: Status::Fail,
    };
}
