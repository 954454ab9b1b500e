use super::Check;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope};
use crate::finding::Verdict;
use crate::number::{count, percent, plural};

tripwire! {
    /// # What it checks
    /// Whether requests that the server dropped are failures in the load tool's result.
    ///
    /// # Why it matters
    /// Failed requests are left out of latency and throughput, and free a place for the next one: a
    /// run with many failures looks faster. A stream that breaks after its first token still has
    /// status 200, and some clients count it as completed.
    ///
    /// # How it decides
    /// Requests the server refused, aborted or ended with an error, and those that got a first token
    /// and never ended, are added up from the counters that the engine has, because no single one is
    /// honest: vLLM counts no client disconnect in `request_success_total`, and HTTP counters call a
    /// broken stream 2xx. If that is more than the client reports as failed it is a failure; if the
    /// client reports more than 1% failed it is a warning.
    ///
    /// # What to do
    /// Repeat without failures: fewer requests at once, a longer queue, a longer client timeout.
    ///
    /// # When it cannot tell
    /// No counters of finished requests, a reading missing, a restart, or requests dropped and no
    /// result to hold against.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/v1/engine/output_processor.py` (`abort_requests`),
    ///   `vllm:admission_rejections_total` (0.32)
    /// - SGLang: `sglang:num_aborted_requests_total`; TensorRT-LLM: `trtllm_request_error_total`
    T24_FAILURES_UNCOUNTED {
        code: "T24",
        slug: "failures-uncounted",
        since: "0.1.0",
        summary: "the server dropped requests that the load tool does not report as failed",
        needs: ["scrape", "file"],
        explained_by: [],
        check: Check::Point(check),
    }
    thresholds {
        /// Share of failed requests above which the others' figures are those of a lighter load. One
        /// request of a hundred moves a rate by as much as two repeats of a run differ.
        FAILED = 0.01;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    scope.sees_whole_requests()?;
    scope.engine()?;
    // Without it, nothing that is absent below can be told from zero.
    let finished = scope.counter(Signal::Finished)?.total;
    let dropped = dropped(scope);
    let total = dropped.iter().fold(0.0, |total, (_, n)| total + n);
    let words: Vec<String> =
        dropped.iter().map(|(what, n)| format!("{what} {}", count(*n))).collect();
    let words = words.join(", ");
    let facts = |verdict: Verdict| verdict.with("server_dropped", total);
    let Ok(result) = scope.result() else {
        return Ok(facts(match total {
            0.0 => Verdict::pass("the server dropped no request"),
            _ => Verdict::unknown(format!(
                "the server {words}; no result tells what the load tool counted"
            )),
        }));
    };
    let asked = result.num_prompts.or_else(|| scope.point.params.get("num_prompts")?.parse().ok());
    let failed = result.failed.or_else(|| asked.map(|n| n.saturating_sub(result.completed)));
    let reported = failed.unwrap_or(0) as f64;
    let facts = |verdict: Verdict| facts(verdict).with("client_failed", reported);
    if total > reported {
        let said = match failed {
            Some(_) => format!("the load tool reports {} as failed", count(reported)),
            None => "the load tool's result counts no failures".into(),
        };
        return Ok(facts(Verdict::fail(format!("the server {words}, and {said}"))));
    }
    let sent = reported + result.completed as f64;
    if reported > sent * FAILED {
        let server = match total {
            0.0 => "the server's counters show none of them".into(),
            _ => format!("the server {words}"),
        };
        return Ok(facts(Verdict::warn(format!(
            "{} of {} failed ({}): {server}",
            count(reported),
            plural(sent, "request"),
            percent(reported / sent)
        ))));
    }
    if finished < result.completed as f64 {
        return Err(Missing::lack(format!(
            "the server's counters show {} finished of {} that the load tool completed: they do not \
             show what became of its requests",
            count(finished),
            count(result.completed as f64)
        )));
    }
    let some = if reported > 0.0 {
        format!("{} failed of", count(reported))
    } else {
        "no failure in".into()
    };
    Ok(facts(Verdict::pass(format!("{some} {}, and the server agrees", plural(sent, "request")))))
}

/// What the server did to requests it did not finish, and to how many.
fn dropped(scope: &Scope<'_>) -> Vec<(&'static str, f64)> {
    let total = |signal| scope.counter(signal).map_or(0.0, |counted| counted.total.max(0.0));
    let reasons = scope.counter_by(Signal::Finished, "finished_reason").unwrap_or_default();
    let ended_by = |reason: &str| reasons.get(reason).copied().unwrap_or(0.0);
    let rejected = scope.refused().map_or(0.0, |refused| refused.requests);
    let aborted = total(Signal::Aborts) + ended_by("abort");
    let errors = total(Signal::Errors) + ended_by("error");
    let unfinished = unfinished(scope);
    // An HTTP error may be any of the others: only what they do not explain is added.
    let refused = (http_errors(scope) - rejected - aborted - errors).max(0.0);
    [
        ("rejected", rejected),
        ("aborted", aborted),
        ("ended with an error", errors),
        ("began and never finished", (unfinished - aborted).max(0.0)),
        ("answered with an HTTP error", refused),
    ]
    .into_iter()
    .filter(|(_, n)| *n > 0.0)
    .collect()
}

/// Requests with a first token that did not end, less those that were under way at the end.
fn unfinished(scope: &Scope<'_>) -> f64 {
    let both = scope
        .counter(Signal::FirstTokens)
        .and_then(|first| Ok(first.total - scope.counter(Signal::Ended)?.total));
    // Engines that count a first token only when the request ends cannot differ here.
    let under_way = scope.at_end(Signal::Running).unwrap_or(0.0);
    let lags = scope.engine().is_ok_and(|engine| engine.gauges_lag.is_some());
    let under_way = if lags { 0.0 } else { under_way };
    both.map_or(0.0, |n| (n - under_way).max(0.0))
}

/// HTTP answers of generation handlers that are no success.
fn http_errors(scope: &Scope<'_>) -> f64 {
    const GENERATES: [&str; 5] =
        ["/v1/completions", "/v1/chat/completions", "/v1/responses", "/generate", "/v1/embeddings"];
    let mut errors = 0.0;
    for (handler, status) in [("handler", "status"), ("endpoint", "status_code")] {
        let by = scope.counter_by_two(Signal::HttpResponses, handler, status).unwrap_or_default();
        for ((handler, status), n) in by {
            let generates = GENERATES.contains(&handler.as_str());
            if generates && !status.is_empty() && !status.starts_with('2') {
                errors += n;
            }
        }
    }
    errors
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "rejected and reported",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":16,"failed":16}
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:admission_rejections_total{reason="max_num_queued_reqs"} 4
== after
vllm:request_success_total{finished_reason="length"} 16
vllm:admission_rejections_total{reason="max_num_queued_reqs"} 20
http_requests_total{handler="/v1/completions",method="POST",status="2xx"} 32
http_requests_total{handler="/tokenize",method="POST",status="4xx"} 1
"#,
            status: Status::Warn,
            says: &["16 of 32 requests failed (50%)", "rejected 16"],
        },
        Case {
            name: "disconnects that nobody reports",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":32,"failed":0}
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:time_to_first_token_seconds_count 0
vllm:e2e_request_latency_seconds_count 0
== after
vllm:request_success_total{finished_reason="length"} 28
vllm:time_to_first_token_seconds_count 32
vllm:e2e_request_latency_seconds_count 28
"#,
            status: Status::Fail,
            says: &["began and never finished 4", "reports 0 as failed"],
        },
        Case {
            name: "refused by an HTTP status",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":32,"completed":30,"failed":2}
== before
vllm:request_success_total{finished_reason="length"} 0
== after
vllm:request_success_total{finished_reason="length"} 30
http_requests_total{handler="/v1/completions",method="POST",status="5xx"} 3
"#,
            status: Status::Fail,
            says: &["answered with an HTTP error 3"],
        },
        Case {
            name: "aborts of sglang",
            evidence: r#"
== result
{"backend":"sglang","completed":30,"total_output_tokens":1,"total_output_tokens_retokenized":1}
== params
num_prompts=32
== before
sglang:num_requests_total 0
== after
sglang:num_requests_total 30
sglang:num_aborted_requests_total 2
"#,
            status: Status::Warn,
            says: &["2 of 32 requests failed", "aborted 2"],
        },
        Case {
            name: "clean",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":200,"completed":200,"failed":0}
== before
vllm:request_success_total{finished_reason="length"} 5
vllm:request_success_total{finished_reason="abort"} 7
== after
vllm:request_success_total{finished_reason="length"} 205
"#,
            status: Status::Pass,
            says: &["no failure in 200 requests"],
        },
        Case {
            name: "a server that was not asked",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":200,"completed":200,"failed":0}
== before
vllm:request_success_total{finished_reason="length"} 5
== after
"#,
            status: Status::Unknown,
            says: &["0 finished of 200"],
        },
        Case {
            name: "no counters",
            evidence: "== before\nvllm:num_requests_running 0\n== after\n",
            status: Status::Unknown,
            says: &["is not exported"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "clean",
        find: "== after\n",
        replace: "== after\nvllm:request_success_total{finished_reason=\"abort\"} 9\n",
        becomes: Status::Fail,
    };
}
