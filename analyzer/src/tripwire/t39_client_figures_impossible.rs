use super::Check;
use crate::client::ClientResult;
use crate::evidence::{Missing, Scope};
use crate::finding::Verdict;
use crate::number::{count, grouped, percent, plural};

tripwire! {
    /// # What it checks
    /// Whether the load tool's own figures can be true together.
    ///
    /// # Why it matters
    /// A client that parses a stream wrongly does not fail: it reports zeros, or the latency of a
    /// whole answer as its first token, in the same table as the right figures.
    ///
    /// # How it decides
    /// Within one result, of the file or, where there is none, of the table that the load tool printed:
    /// a median (else mean) time to first token of 0 or less; completed requests and not one output token; tokens between
    /// which no time passed; a mean time to first token that is all of the latency of answers with many
    /// tokens, which then came in one piece; a second count of the tool's own that finds less than nine
    /// tenths of the tokens, or rates of that much more or fewer tokens than the server's answers told; percentiles that fall; a duration of 0 or less; a rate that is not the
    /// requests, the output tokens or all tokens divided by the duration. Each is a failure, named with its likely cause. Times to the first token and
    /// between tokens count only where the load asked for streams. Where the file and the table say
    /// different things, that is said and changes nothing else.
    ///
    /// # What to do
    /// Update the load tool, or let it use the endpoint it was written for; ask the server for usage
    /// figures in the stream.
    ///
    /// # When it cannot tell
    /// No result file and no table that the load tool printed, or one without figures.
    ///
    /// # References
    /// - vLLM issues 6064 (median TTFT 0) and 14673 (no output tokens); SGLang issue 36272 (buffered
    ///   stream: 6,400 tokens, 32 when counted again)
    T39_CLIENT_FIGURES_IMPOSSIBLE {
        code: "T39",
        slug: "client-figures-impossible",
        since: "0.1.0",
        summary: "the load tool's own figures cannot be true together",
        needs: ["file"],
        explained_by: [],
        check: Check::Point(check),
    }
    thresholds {
        /// Part of its own output tokens that a tool must find again when it counts the text. Runs
        /// without a fault find 99% or more: merging across chunk borders costs the rest.
        COUNTED_AGAIN = 0.9;
        /// Part by which a rate times the duration may miss what was counted: both are rounded for print.
        ROUNDING = 0.01;
        /// Output tokens a request from which the first cannot take all the time.
        MANY_TOKENS = 8.0;
        /// Part of the latency from which the first token took "all" of it.
        WHOLE = 0.98;
        /// Milliseconds a token below which those after the first came in one piece: one request
        /// decodes at 7 to 25 ms a token on the recorded runs, and nowhere at 2,000 a second.
        FASTEST = 0.5;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    let result = scope.result()?;
    let mut verdict = figures(result, streams(scope, result))?;
    if let Some(Ok(printed)) = &scope.point.printed {
        let unlike = result.unlike(printed);
        if let Some(first) = unlike.first() {
            verdict.message += &format!("; the table it printed says otherwise ({first})");
            verdict = verdict.with("printed_otherwise", unlike);
        }
    }
    Ok(verdict)
}

fn figures(result: &ClientResult, streams: bool) -> Result<Verdict, Missing> {
    if result.latencies.is_empty() && result.output_tokens.is_none() {
        return Err(Missing::lack(format!("the result of {} has no figures", result.tool)));
    }
    if result.completed == 0 {
        return Ok(Verdict::pass("no request completed: there are no figures to hold"));
    }
    type Check = fn(&ClientResult) -> Impossible;
    let checks: [(Check, bool); 11] = [
        (first_token_zero, streams),
        (no_tokens, true),
        (counted_again, true),
        (counted_itself, true),
        (no_time_between, streams),
        (all_in_first, streams),
        (order, true),
        (no_time, true),
        (rate, true),
        (request_rate, true),
        (total_rate, true),
    ];
    let found: Vec<(&'static str, String)> = checks
        .iter()
        .filter(|(_, applies)| *applies)
        .filter_map(|(check, _)| check(result))
        .collect();
    let Some((figure, message)) = found.first() else {
        return Ok(Verdict::pass(format!(
            "the figures of {} fit each other",
            plural(result.completed as f64, "request")
        )));
    };
    let more = match found.len() {
        1 => String::new(),
        n => format!("; and {} more", n - 1),
    };
    let figures: Vec<&str> = found.iter().map(|(figure, _)| *figure).collect();
    Ok(Verdict::fail(format!("{message}{more}")).with("figure", *figure).with("figures", figures))
}

/// What is impossible, with the figure's name.
type Impossible = Option<(&'static str, String)>;

/// Whether answers were asked for as streams: only then are there times to and between tokens.
/// SGLang's tool takes `--disable-stream`; TensorRT-LLM's `--non-streaming`, and writes -1 s then.
fn streams(scope: &Scope<'_>, result: &ClientResult) -> bool {
    let flags = ["--disable-stream", "--non-streaming"];
    let asked = scope.point.argv.iter().flatten().any(|flag| flags.contains(&flag.as_str()));
    let printed = scope.point.output.as_ref().is_some_and(|output| {
        ["disable_stream=True", "non_streaming=True"].iter().any(|option| output.contains(option))
    });
    !asked && !printed && ms(result, "mean_ttft_ms") != Some(NOT_STREAMED_MS)
}

/// TensorRT-LLM's time to first token of answers that were not streamed.
const NOT_STREAMED_MS: f64 = -1000.0;

fn ms(result: &ClientResult, key: &str) -> Option<f64> {
    result.latencies.get(key).copied()
}

/// Output tokens of a request.
fn each(result: &ClientResult) -> Option<f64> {
    Some(result.output_tokens? as f64 / result.completed as f64)
}

fn first_token_zero(result: &ClientResult) -> Impossible {
    let known = |key: &'static str| Some((key, ms(result, key)?));
    let median = known("median_ttft_ms").or_else(|| known("p50_ttft_ms"));
    let (key, ttft) = median.or_else(|| known("mean_ttft_ms"))?;
    let (which, whose) = match median {
        Some(_) => ("median", "half of the requests"),
        None => ("mean", "the requests"),
    };
    (ttft <= 0.0).then(|| {
        let text = format!(
            "the {which} TTFT is {} ms, which is impossible: {whose} counted as completed got no \
             first token",
            grouped(ttft, 2)
        );
        (key, text)
    })
}

fn no_tokens(result: &ClientResult) -> Impossible {
    (result.output_tokens == Some(0)).then(|| {
        let text = format!(
            "{} completed with 0 output tokens: the stream was not understood",
            plural(result.completed as f64, "request")
        );
        ("total_output_tokens", text)
    })
}

fn counted_again(result: &ClientResult) -> Impossible {
    let (told, own) = (result.output_tokens? as f64, result.retokenized? as f64);
    (own < told * COUNTED_AGAIN).then(|| {
        let text = format!(
            "{} output tokens, but {} when the text is counted again (retokenized): the stream was \
             buffered, TPOT and ITL are not valid",
            count(told),
            count(own)
        );
        ("total_output_tokens_retokenized", text)
    })
}

fn counted_itself(result: &ClientResult) -> Impossible {
    let (told, own) = (result.output_tokens? as f64, result.rated_tokens? as f64);
    (own < told * COUNTED_AGAIN || told < own * COUNTED_AGAIN).then(|| {
        let text = format!(
            "its rates are of {} output tokens by its own tokenizer, and the server's answers told it \
             {}: it counts with another tokenizer than the model's",
            count(own),
            count(told)
        );
        ("rated_tokens", text)
    })
}

fn no_time_between(result: &ClientResult) -> Impossible {
    let itl = ms(result, "mean_itl_ms").or_else(|| ms(result, "mean_tpot_ms"))?;
    (itl <= 0.0 && each(result)? >= MANY_TOKENS).then(|| {
        let text = format!(
            "{} output tokens a request and 0 ms between them (ITL, TPOT): they came in one piece",
            grouped(each(result).unwrap_or(0.0), 0)
        );
        ("mean_itl_ms", text)
    })
}

fn all_in_first(result: &ClientResult) -> Impossible {
    let ttft = ms(result, "mean_ttft_ms")?;
    let whole = ms(result, "mean_e2el_ms").or_else(|| ms(result, "mean_e2e_latency_ms"))?;
    // Requests that waited long before a short answer have a TTFT of nearly all their latency too.
    let at_once = whole - ttft < (each(result)? - 1.0) * FASTEST;
    (ttft >= whole * WHOLE && at_once && whole > 0.0 && each(result)? >= MANY_TOKENS).then(|| {
        let text = format!(
            "the mean TTFT is {} of the whole latency ({} of {} ms): the stream was buffered",
            percent(ttft / whole),
            grouped(ttft, 1),
            grouped(whole, 1)
        );
        ("mean_ttft_ms", text)
    })
}

fn order(result: &ClientResult) -> Impossible {
    for metric in ["ttft", "tpot", "itl", "e2el", "e2e_latency"] {
        let known = percentiles(result, metric);
        for pair in known.windows(2) {
            if let [(_, low, a), (_, high, b)] = pair
                && a > b
            {
                let text = format!(
                    "{low} is {} and {high} {}: percentiles cannot fall",
                    grouped(*a, 2),
                    grouped(*b, 2)
                );
                return Some(("percentiles", text));
            }
        }
    }
    None
}

/// The percentiles of one latency in ascending order, each with its key; the median is the 50th.
fn percentiles<'a>(result: &'a ClientResult, metric: &str) -> Vec<(f64, &'a str, f64)> {
    let end = format!("_{metric}_ms");
    let percentile = |(key, value): (&'a String, &f64)| {
        let name = key.strip_suffix(&end)?;
        let rank: f64 =
            if name == "median" { 50.0 } else { name.strip_prefix('p')?.parse().ok()? };
        Some((rank, key.as_str(), *value))
    };
    let mut known: Vec<_> = result.latencies.iter().filter_map(percentile).collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known
}

fn no_time(result: &ClientResult) -> Impossible {
    // A table shows less than half of a hundredth as none.
    let shown_as_none = |duration: f64| duration == 0.0 && result.rounding() > 0.0;
    let none = |duration: &f64| *duration <= 0.0 && !shown_as_none(*duration);
    let duration = result.duration_s.filter(none)?;
    let text = format!(
        "the load took {} s (duration) for {}",
        grouped(duration, 2),
        plural(result.completed as f64, "completed request")
    );
    Some(("duration", text))
}

fn rate(result: &ClientResult) -> Impossible {
    let told = result.rated_tokens.or(result.output_tokens)? as f64;
    let (rate, counted) = over_time(result, result.output_throughput, told, result.rounding())?;
    let text = format!(
        "{} tokens/s over {} output tokens, not {}",
        grouped(rate, 1),
        counted,
        count(told)
    );
    Some(("output_throughput", text))
}

fn request_rate(result: &ClientResult) -> Impossible {
    let told = result.completed as f64;
    let (rate, counted) = over_time(result, result.request_throughput, told, HUNDREDTH)?;
    let text =
        format!("{} requests/s over {} requests, not {}", grouped(rate, 2), counted, count(told));
    Some(("request_throughput", text))
}

fn total_rate(result: &ClientResult) -> Impossible {
    let told = (result.input_tokens? as f64) + (result.output_tokens? as f64);
    let (rate, counted) = over_time(result, result.total_throughput, told, HUNDREDTH)?;
    let text = format!(
        "{} tokens/s in all over {} prompt and output tokens, not {}",
        grouped(rate, 1),
        counted,
        count(told)
    );
    Some(("total_throughput", text))
}

/// Half of the last of two decimals.
const HUNDREDTH: f64 = 0.005;

/// A rate whose product with the duration is not what was counted, and that product in words.
fn over_time(
    result: &ClientResult,
    rate: Option<f64>,
    told: f64,
    rounding: f64,
) -> Option<(f64, String)> {
    let (rate, duration) = (rate?, result.duration_s?);
    let counted = Some(rate * duration).filter(|counted| counted.is_finite())?;
    let slack = told * ROUNDING + rate * 0.01 + duration * rounding;
    ((counted - told).abs() > slack)
        .then(|| (rate, format!("{} s are {}", grouped(duration, 2), count(counted.round()))))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "no first token",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":10,"completed":10,"total_output_tokens":800,"duration":8,
"output_throughput":100,"mean_ttft_ms":26.5,"median_ttft_ms":0.0,"p99_ttft_ms":130.0}
"#,
            status: Status::Fail,
            says: &["median TTFT is 0.00 ms"],
        },
        Case {
            name: "first tokens before the requests",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":10,"completed":10,"total_output_tokens":800,"mean_ttft_ms":-5.0,"median_ttft_ms":-6.0}
"#,
            status: Status::Fail,
            says: &["median TTFT is -6.00 ms"],
        },
        Case {
            name: "no first token, and no percentile was asked for",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":10,"completed":10,"total_output_tokens":800,"mean_ttft_ms":0.0}
"#,
            status: Status::Fail,
            says: &["mean TTFT is 0.00 ms"],
        },
        Case {
            name: "buffered",
            evidence: r#"
== result
{"backend":"sglang","completed":32,"total_output_tokens":6400,"total_output_tokens_retokenized":32,
"duration":28.64,"mean_tpot_ms":0.0,"mean_itl_ms":0.0,"mean_ttft_ms":1386.0,"median_ttft_ms":1371.0}
"#,
            status: Status::Fail,
            says: &["6,400 output tokens, but 32", "buffered", "and 1 more"],
        },
        Case {
            name: "rates of tokens that another tokenizer counts",
            evidence: r#"
== result
{"aiperf_version":"0.13.0","request_count":{"avg":27.0},"total_osl":{"avg":528.0},
"total_usage_completion_tokens":{"avg":384.0},"benchmark_duration":{"avg":0.9}}
"#,
            status: Status::Fail,
            says: &["528 output tokens by its own tokenizer", "told it 384"],
        },
        Case {
            name: "the first token takes all",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"mean_ttft_ms":990.0,
"mean_e2el_ms":1000.0}
"#,
            status: Status::Fail,
            says: &["99% of the whole latency"],
        },
        Case {
            name: "a long wait before a short answer",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":64,"completed":64,"total_output_tokens":1024,"mean_ttft_ms":29700.0,
"mean_e2el_ms":30000.0}
"#,
            status: Status::Pass,
            says: &["fit each other"],
        },
        Case {
            name: "answers that were not to be streamed",
            evidence: r#"
== params
concurrency=4
== output
Namespace(backend='sglang', disable_stream=True, max_concurrency=4)
== result
{"backend":"sglang","completed":4,"total_output_tokens":4000,"total_output_tokens_retokenized":3990,"mean_ttft_ms":900.0,"mean_itl_ms":0.0,"mean_e2e_latency_ms":900.0}
"#,
            status: Status::Pass,
            says: &["fit each other"],
        },
        Case {
            name: "tensorrt's mark of answers that were not streamed",
            evidence: r#"
== result
{"backend":"openai","num_prompts":4,"completed":4,"total_output_tokens":4000,"user_throughput":9.0,"mean_ttft_ms":-1000.0,"median_ttft_ms":-1000.0,"mean_itl_ms":0.0}
"#,
            status: Status::Pass,
            says: &["fit each other"],
        },
        Case {
            name: "percentiles that fall",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"median_itl_ms":9.0,"p99_itl_ms":8.0}
"#,
            status: Status::Fail,
            says: &["percentiles cannot fall"],
        },
        Case {
            name: "percentiles of other ranks that fall",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"p25_itl_ms":9.0,
"median_itl_ms":9.5,"p75_itl_ms":9.2,"p99.9_itl_ms":30.0}
"#,
            status: Status::Fail,
            says: &["median_itl_ms is 9.50 and p75_itl_ms 9.20"],
        },
        Case {
            name: "a clock that was set back",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":-4.0,"output_throughput":-100.0}
"#,
            status: Status::Fail,
            says: &["the load took -4.00 s"],
        },
        Case {
            name: "no time at all",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":0.0,"output_throughput":null}
"#,
            status: Status::Fail,
            says: &["the load took 0.00 s (duration) for 4 completed requests"],
        },
        Case {
            name: "a request rate that is not requests by duration",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":40,"completed":40,"total_output_tokens":400,"duration":4.0,
"output_throughput":100.0,"request_throughput":12.5}
"#,
            status: Status::Fail,
            says: &["12.50 requests/s over 4.00 s are 50 requests, not 40"],
        },
        Case {
            name: "a rate of all tokens that is not theirs",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":40,"completed":40,"total_input_tokens":800,"total_output_tokens":400,
"duration":4.0,"output_throughput":100.0,"request_throughput":10.0,"total_token_throughput":200.0}
"#,
            status: Status::Fail,
            says: &[
                "200.0 tokens/s in all over 4.00 s are 800 prompt and output tokens, not 1,200",
            ],
        },
        Case {
            name: "rates cut to two decimals",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":40,"completed":40,"total_input_tokens":800,"total_output_tokens":400,
"duration":1023.0,"output_throughput":0.391,"request_throughput":0.04,"total_token_throughput":1.17}
"#,
            status: Status::Pass,
            says: &["40 requests fit"],
        },
        Case {
            name: "a rate that is not tokens by duration",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":4.0,"output_throughput":150.0}
"#,
            status: Status::Fail,
            says: &["150.0 tokens/s over 4.00 s are 600 output tokens, not 400"],
        },
        Case {
            name: "fits",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":4.0,
"output_throughput":100.0,"mean_ttft_ms":99.0,"median_ttft_ms":98.0,"p99_ttft_ms":130.0,"mean_itl_ms":9.0}
"#,
            status: Status::Pass,
            says: &["4 requests fit"],
        },
        Case {
            name: "printed without a first token",
            evidence: r"
== output
============ Serving Benchmark Result ============
Successful requests:                     4
Failed requests:                         0
Benchmark duration (s):                  4.00
Total input tokens:                      40
Total generated tokens:                  400
Output token throughput (tok/s):         100.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        0.00
==================================================
",
            status: Status::Fail,
            says: &["median TTFT is 0.00 ms"],
        },
        Case {
            name: "printed, with what rounding leaves of a slow rate",
            evidence: r"
== output
============ Serving Benchmark Result ============
Successful requests:                     1
Failed requests:                         0
Benchmark duration (s):                  1000.00
Total input tokens:                      40
Total generated tokens:                  34
Output token throughput (tok/s):         0.03
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
==================================================
",
            status: Status::Pass,
            says: &["1 request fit"],
        },
        Case {
            name: "saved and printed otherwise",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_output_tokens":400,"duration":4.0,
"output_throughput":100.0,"mean_ttft_ms":12.5,"median_ttft_ms":12.0}
== output
============ Serving Benchmark Result ============
Successful requests:                     3
Failed requests:                         0
Benchmark duration (s):                  4.00
Total input tokens:                      40
Total generated tokens:                  400
Output token throughput (tok/s):         100.00
---------------Time to First Token----------------
Mean TTFT (ms):                          12.50
Median TTFT (ms):                        12.00
==================================================
"#,
            status: Status::Pass,
            says: &[
                "4 requests fit",
                "the table it printed says otherwise (completed 4, printed 3)",
            ],
        },
        Case {
            name: "no result",
            evidence: "== before\nvllm:num_requests_running 0\n",
            status: Status::Unknown,
            says: &["--result"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "fits",
        find: "\"median_ttft_ms\":98.0",
        replace: "\"median_ttft_ms\":0.0",
        becomes: Status::Fail,
    };
}
