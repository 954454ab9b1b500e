use super::Check;
use crate::client::ClientResult;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope};
use crate::finding::Verdict;
use crate::number::{count, grouped, percent, plural};

tripwire! {
    /// # What it checks
    /// Whether requests ended before the output length that was asked for.
    ///
    /// # Why it matters
    /// Without `--ignore-eos` a model stops when it likes. Shorter outputs free the KV cache sooner
    /// and shift the mix towards prefill: the run is a different load than its name says, and no
    /// longer comparable with one at full length.
    ///
    /// # How it decides
    /// The length asked is the load command's flag, else the largest number of tokens the server was
    /// told to generate (vLLM). Output tokens more than 10% short of requests times that length are a
    /// failure; any request that stopped by itself, or a lower mean, is a warning. Where the length
    /// is not known, the finish reasons are reported.
    ///
    /// # What to do
    /// Send `ignore_eos`, or report the mean output length beside the figures.
    ///
    /// # When it cannot tell
    /// No counters of finished requests or generated tokens, a reading missing, a restart.
    ///
    /// # References
    /// - vLLM: `vllm:request_success_total{finished_reason}`, `vllm:request_params_max_tokens`
    ///   (observed for requests that set a limit); the random data set forces `ignore_eos` since 0.12
    /// - SGLang's random lengths reach from near 0 to the flag's unless `--random-range-ratio 1`
    T23_OUTPUT_CUT_SHORT {
        code: "T23",
        slug: "output-cut-short",
        since: "0.1.0",
        summary: "requests ended before the output length that was asked for",
        needs: ["scrape", "phase", "file"],
        explained_by: ["T24", "T28", "T15"],
        check: Check::Point(check),
    }
    thresholds {
        /// Part of the tokens asked for that may be missing before the load is another one than its
        /// name says: a tenth shifts the output rate by as much.
        SHORT = 0.10;
        /// Requests' mean length may miss the asked one by this part without a warning: one token in
        /// a thousand is the last chunk of a stream.
        ROUNDING = 0.001;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    scope.sees_whole_requests()?;
    scope.engine()?;
    scope.covered()?;
    let reasons = scope.counter_by(Signal::Finished, "finished_reason")?;
    let finished: f64 = reasons.values().sum();
    let tokens = scope
        .counter(Signal::FinishedTokens)
        .or_else(|_| scope.counter(Signal::GenerationTokens))?
        .total;
    if finished <= 0.0 {
        return Ok(Verdict::pass("no request finished").with("finished", 0));
    }
    let mean = tokens / finished;
    let stopped = reasons.get("stop").copied().unwrap_or(0.0);
    let by_reason: Vec<String> = reasons
        .iter()
        .filter(|(reason, n)| **n > 0.0 && !reason.is_empty())
        .map(|(reason, n)| format!("{} by {reason}", count(*n)))
        .collect();
    let ended =
        if by_reason.is_empty() { String::new() } else { format!(" ({})", by_reason.join(", ")) };
    let facts = |verdict: Verdict| {
        verdict.with("finished", finished).with("output_tokens", tokens).with("mean_output", mean)
    };
    let Some(asked) = asked(scope, finished) else {
        return Ok(facts(Verdict::pass(format!(
            "{} finished{ended}, {} output tokens each on average; the length asked for is not known",
            plural(finished, "request"),
            grouped(mean, 1)
        ))));
    };
    let short = 1.0 - mean / asked;
    let facts = |verdict: Verdict| facts(verdict).with("asked", asked).with("short_ratio", short);
    let sizes = format!(
        "{} of {} output tokens a request on average{ended}",
        grouped(mean, 1),
        count(asked)
    );
    Ok(facts(if short > SHORT {
        Verdict::fail(format!("{sizes}: {} short", percent(short)))
    } else if stopped > 0.0 {
        Verdict::warn(format!("{sizes}: {} stopped early", plural(stopped, "request")))
    } else if short > ROUNDING {
        Verdict::warn(format!("{sizes}: {} short", percent(short)))
    } else {
        Verdict::pass(format!("{sizes}: full length"))
    }))
}

/// Output tokens asked for a request, where every request asked the same or the mean is known.
fn asked(scope: &Scope<'_>, finished: f64) -> Option<f64> {
    let params = &scope.point.params;
    let number = |key: &str| params.get(key).and_then(|value| value.parse::<f64>().ok());
    let sglang = scope.point.argv.iter().flatten().any(|argument| argument.contains("sglang"))
        || scope.result().is_ok_and(ClientResult::is_sglang);
    let range = number("range_ratio").unwrap_or(0.0);
    // vLLM draws from length × (1 ± ratio), SGLang from length × ratio to length.
    let known = if sglang { range == 1.0 } else { range == 0.0 };
    let flag = number("output_len").filter(|_| known);
    let result = scope.point.result.as_ref().and_then(|result| result.output_len);
    flag.or(result.map(|n| n as f64)).or_else(|| {
        let limits = scope.counter(Signal::AskedTokens).ok()?.total;
        let with_limit = scope.counter(Signal::AskedRequests).ok()?.total;
        // Set by some requests only, it says nothing of the others.
        (with_limit == finished && limits > 0.0).then_some(limits / finished)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "full length",
            evidence: r#"
== params
output_len=1000
== before
vllm:request_success_total{finished_reason="length"} 9
vllm:request_success_total{finished_reason="stop"} 2
vllm:generation_tokens_total 144
== after
vllm:request_success_total{finished_reason="length"} 41
vllm:generation_tokens_total 32144
"#,
            status: Status::Pass,
            says: &["1,000.0 of 1,000 output tokens", "32 by length"],
        },
        Case {
            name: "most stopped by themselves",
            evidence: r#"
== params
output_len=1000
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:request_success_total{finished_reason="stop"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="length"} 2
vllm:request_success_total{finished_reason="stop"} 30
vllm:generation_tokens_total 8000
"#,
            status: Status::Fail,
            says: &["250.0 of 1,000", "30 by stop", "75% short"],
        },
        Case {
            name: "a few stopped by themselves",
            evidence: r#"
== before
vllm:request_success_total{finished_reason="length"} 0
vllm:request_success_total{finished_reason="stop"} 0
vllm:generation_tokens_total 0
vllm:request_params_max_tokens_sum 0
vllm:request_params_max_tokens_count 0
== after
vllm:request_success_total{finished_reason="length"} 99
vllm:request_success_total{finished_reason="stop"} 1
vllm:generation_tokens_total 9950
vllm:request_params_max_tokens_sum 10000
vllm:request_params_max_tokens_count 100
"#,
            status: Status::Warn,
            says: &["99.5 of 100", "1 request stopped early"],
        },
        Case {
            name: "sglang's lengths reach down to near 0",
            evidence: r#"
== params
output_len=1000
range_ratio=0.0
== result
{"backend":"sglang","completed":10,"total_output_tokens":5000,"total_output_tokens_retokenized":4990}
== before
sglang:num_requests_total 0
sglang:generation_tokens_total 0
== after
sglang:num_requests_total 10
sglang:generation_tokens_total 5000
"#,
            status: Status::Pass,
            says: &["length asked for is not known"],
        },
        Case {
            name: "no length known",
            evidence: r#"
== before
vllm:request_success_total{finished_reason="stop"} 0
vllm:generation_tokens_total 0
== after
vllm:request_success_total{finished_reason="stop"} 10
vllm:generation_tokens_total 813
"#,
            status: Status::Pass,
            says: &["10 by stop", "81.3 output tokens", "not known"],
        },
        Case {
            name: "no counters",
            evidence: "== before\nvllm:num_requests_running 0\n== after\n",
            status: Status::Unknown,
            says: &["request_success_total is not exported"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "full length",
        find: "output_len=1000",
        replace: "output_len=2000",
        becomes: Status::Fail,
    };
}
