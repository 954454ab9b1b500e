//! NVIDIA's AIPerf: `profile_export_aiperf.json`.
//!
//! Every metric is an object of a unit and an average; a count of failed requests is absent when it is
//! 0. The rates count the text with the tool's own tokenizer (`total_osl`) unless
//! `--use-server-token-count`; beside that stand the usage figures of the server's answers. They are
//! over the time from `start_time` to `end_time` (0.13.0: 528 tokens in 0.9135 s are its 578.0 a
//! second), not over `benchmark_duration`, which leaves failed requests out.
//!
//! Keys: files of 0.13.0, `aiperf/exporters` of 0.3.0 to 0.12.

use super::{ClientResult, Format, Untimed, at, latencies, whole};
use serde_json::{Map, Value};

pub(super) const PROFILE: Format = Format { recognise, parse };

/// The metrics of times, in ms, under the names that checks know.
const TIMES: &[(&str, &str)] =
    &[("time_to_first_token", "ttft"), ("inter_token_latency", "itl"), ("request_latency", "e2el")];

fn recognise(map: &Map<String, Value>) -> bool {
    map.contains_key("aiperf_version")
        || map.contains_key("benchmark_duration") && map.contains_key("request_count")
}

fn parse(map: &Map<String, Value>) -> Option<ClientResult> {
    let mean = |key: &str| at(map, &[key, "avg"])?.as_f64().filter(|mean| mean.is_finite());
    let count = |key: &str| mean(key).and_then(whole);
    // Where all failed, there is no count of the others.
    let completed = count("request_count").or_else(|| count("error_request_count").map(|_| 0))?;
    let failed = count("error_request_count").unwrap_or(0);
    let counted = count("total_osl").or_else(|| count("total_output_tokens"));
    let phase = |kind: &str| phase(map, kind);
    let load = |key: &str| phase("profiling").and_then(|phase| phase.get(key)?.as_f64());
    let asked = |key: &str, older: &str| {
        load(key).or_else(|| at(map, &["input_config", "loadgen", older])?.as_f64())
    };
    let mut result = ClientResult {
        tool: "aiperf",
        completed,
        failed: Some(failed),
        num_prompts: Some(completed.saturating_add(failed)),
        input_tokens: count("total_usage_prompt_tokens").or_else(|| count("total_isl")),
        output_tokens: count("total_usage_completion_tokens").or(counted),
        rated_tokens: counted,
        duration_s: span(map).or_else(|| mean("benchmark_duration")),
        output_throughput: mean("output_token_throughput"),
        request_throughput: mean("request_throughput"),
        max_concurrency: asked("concurrency", "concurrency"),
        rate: asked("rate", "request_rate"),
        ..ClientResult::default()
    };
    result.told_untimed = Some(Untimed { known: warmups(map), perhaps: 0 });
    for (key, name) in TIMES {
        let values = map.get(*key).and_then(Value::as_object);
        result.latencies.extend(latencies(values, name, 1.0));
    }
    Some(result)
}

/// A phase of the load as it was asked for (0.10 and later).
fn phase<'a>(map: &'a Map<String, Value>, kind: &str) -> Option<&'a Value> {
    let phases = at(map, &["input_config", "phases"])?.as_array()?;
    phases.iter().find(|phase| phase.get("kind").and_then(Value::as_str) == Some(kind))
}

/// Warm-ups that were answered (0.12 and later), else that were asked for.
fn warmups(map: &Map<String, Value>) -> u64 {
    let answered = at(map, &["warmup_metrics", "request_count", "avg"]);
    let asked = || phase(map, "warmup")?.get("requests");
    let older = || at(map, &["input_config", "loadgen", "warmup_request_count"]);
    let count = answered.or_else(asked).or_else(older).and_then(Value::as_f64);
    count.and_then(whole).unwrap_or(0)
}

/// Seconds from `start_time` to `end_time`, local times without a zone.
fn span(map: &Map<String, Value>) -> Option<f64> {
    let (begin, end) = (seconds(map, "start_time")?, seconds(map, "end_time")?);
    let span = end - begin;
    // Over midnight; a longer run than a day says so by its duration only.
    Some(if span < 0.0 { span + 86_400.0 } else { span }).filter(|span| *span > 0.0)
}

/// Seconds of the day in `2026-11-30T17:09:31.050197`.
fn seconds(map: &Map<String, Value>, key: &str) -> Option<f64> {
    let (_, time) = map.get(key)?.as_str()?.split_once('T')?;
    let time = time.split(['Z', '+']).next()?;
    let mut parts = time.split(':').map(str::parse::<f64>);
    let mut part = || parts.next()?.ok();
    Some(part()? * 3600.0 + part()? * 60.0 + part()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"schema_version":"1.4","aiperf_version":"0.13.0",
        "request_count":{"unit":"requests","avg":27.0},"error_request_count":{"unit":"requests","avg":3.0},
        "total_osl":{"unit":"tokens","avg":528.0},"total_usage_completion_tokens":{"unit":"tokens","avg":384.0},
        "total_isl":{"unit":"tokens","avg":1123.0},"total_usage_prompt_tokens":{"unit":"tokens","avg":337.0},
        "output_token_throughput":{"unit":"tokens/sec","avg":578.02},"benchmark_duration":{"unit":"sec","avg":0.9012},
        "start_time":"2026-11-30T17:09:31.050197","end_time":"2026-11-30T17:09:31.963661",
        "time_to_first_token":{"unit":"ms","avg":40.5,"p50":33.6,"p99":99.1,"std":17.4},
        "warmup_metrics":{"request_count":{"avg":3.0}},
        "input_config":{"phases":[{"kind":"warmup","requests":3,"concurrency":4},
            {"kind":"profiling","requests":30,"concurrency":4}]}}"#;

    #[test]
    fn averages_become_counts_and_the_count_that_is_absent_is_zero() {
        let run = ClientResult::parse(RUN).unwrap();
        assert_eq!((run.tool, run.completed, run.failed), ("aiperf", 27, Some(3)));
        assert_eq!((run.input_tokens, run.output_tokens), (Some(337), Some(384)));
        assert_eq!((run.rated_tokens, run.max_concurrency), (Some(528), Some(4.0)));
        assert!((run.duration_s.unwrap() - 0.913_464).abs() < 1e-9);
        assert_eq!(run.untimed(None, &std::collections::BTreeMap::new()).known, 3);
        let times: Vec<_> = run.latencies.iter().map(|(key, ms)| (key.as_str(), *ms)).collect();
        assert_eq!(
            times,
            [
                ("mean_ttft_ms", 40.5),
                ("median_ttft_ms", 33.6),
                ("p99_ttft_ms", 99.1),
                ("std_ttft_ms", 17.4)
            ]
        );
        let none = RUN.replace("error_request_count", "other");
        assert_eq!(ClientResult::parse(&none).unwrap().failed, Some(0));
    }

    #[test]
    fn a_file_without_usage_or_phases_says_what_it_can() {
        let old = r#"{"request_count":{"avg":9.0},"benchmark_duration":{"avg":2.5},"total_osl":{"avg":90.0},
            "input_config":{"loadgen":{"concurrency":2,"warmup_request_count":1}}}"#;
        let run = ClientResult::parse(old).unwrap();
        assert_eq!((run.completed, run.output_tokens, run.duration_s), (9, Some(90), Some(2.5)));
        assert_eq!((run.max_concurrency, run.told_untimed.unwrap().known), (Some(2.0), 1));
        let failed = r#"{"aiperf_version":"0.13.0","error_request_count":{"avg":5.0}}"#;
        let run = ClientResult::parse(failed).unwrap();
        assert_eq!((run.completed, run.failed), (0, Some(5)));
        assert!(ClientResult::parse(r#"{"aiperf_version":"0.13.0"}"#).is_err());
        let night =
            RUN.replace("17:09:31.963661", "00:00:01.5").replace("17:09:31.050197", "23:59:59");
        assert_eq!(ClientResult::parse(&night).unwrap().duration_s, Some(2.5));
    }
}
