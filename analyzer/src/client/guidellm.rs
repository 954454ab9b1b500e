//! guidellm: `benchmarks.json`, one element of `benchmarks` a strategy.
//!
//! Of several strategies (a sweep) the counts and tokens are added: they are one load to the server.
//! Requests in a warm-up or cool-down are sent and left out of the totals; `requests_made` has them.
//! Times of requests are in seconds, those of tokens in ms.
//!
//! Keys: files of 0.8.1; 0.5.4 has the same, 0.3 has `args` and `request_totals` beside `metrics` and
//! sends one request to test the connection.

use super::{ClientResult, Format, Untimed, at, latencies, whole};
use serde_json::{Map, Value};

pub(super) const BENCHMARKS: Format = Format { recognise, parse };

/// The metrics of times, under the names that checks know, and their unit in ms.
const TIMES: &[(&str, &str, f64)] = &[
    ("time_to_first_token_ms", "ttft", 1.0),
    ("inter_token_latency_ms", "itl", 1.0),
    ("request_latency", "e2el", 1e3),
];

fn recognise(map: &Map<String, Value>) -> bool {
    let benchmarks = map.get("benchmarks").and_then(Value::as_array);
    let first = benchmarks.and_then(|all| all.first()).and_then(Value::as_object);
    first.is_some_and(|one| totals(one).is_some() && one.contains_key("metrics"))
}

fn parse(map: &Map<String, Value>) -> Option<ClientResult> {
    let all = map.get("benchmarks")?.as_array()?;
    let mut all = all.iter().filter_map(|one| strategy(one.as_object()?));
    let first = all.next()?;
    Some(all.fold(first, |sum, one| add(&sum, &one)))
}

fn totals(one: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let nested = || at(one, &["metrics", "request_totals"])?.as_object();
    nested().or_else(|| one.get("request_totals")?.as_object())
}

fn strategy(one: &Map<String, Value>) -> Option<ClientResult> {
    let totals = totals(one)?;
    let count = |key: &str| totals.get(key).and_then(Value::as_f64).and_then(whole);
    let number = |path: &[&str]| at(one, path)?.as_f64().filter(|value| value.is_finite());
    let of = |metric: &str, key: &str| number(&["metrics", metric, "successful", key]);
    let tokens = |metric: &str| of(metric, "total_sum").and_then(whole);
    let completed = count("successful")?;
    let failed = count("errored")?.saturating_add(count("incomplete").unwrap_or(0));
    let made = ["scheduler_metrics", "run_stats"]
        .iter()
        .find_map(|part| number(&[*part, "requests_made", "successful"]));
    let duration =
        number(&["duration"]).or_else(|| Some(number(&["end_time"])? - number(&["start_time"])?));
    let asked = |key: &str| {
        number(&["config", "strategy", key]).or_else(|| number(&["args", "strategy", key]))
    };
    let mut result = ClientResult {
        tool: "guidellm",
        completed,
        failed: Some(failed),
        num_prompts: Some(completed.saturating_add(failed)),
        input_tokens: tokens("prompt_token_count"),
        output_tokens: tokens("output_token_count"),
        duration_s: duration,
        output_throughput: of("output_tokens_per_second", "mean"),
        request_throughput: of("requests_per_second", "mean"),
        max_concurrency: asked("streams"),
        rate: asked("rate"),
        ..ClientResult::default()
    };
    let untimed = made.and_then(whole).unwrap_or(0).saturating_sub(completed);
    let tests = one.contains_key("run_stats");
    result.told_untimed = Some(Untimed { known: untimed, perhaps: u64::from(tests) });
    for (key, name, ms) in TIMES {
        let values = at(one, &["metrics", key, "successful"]).and_then(Value::as_object);
        result.latencies.extend(latencies(values, name, *ms));
    }
    Some(result)
}

/// Two strategies as one load: rates and times of both are of neither.
fn add(one: &ClientResult, other: &ClientResult) -> ClientResult {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let untimed = |result: &ClientResult| result.told_untimed.unwrap_or_default();
    let (a, b) = (untimed(one), untimed(other));
    ClientResult {
        tool: one.tool,
        completed: one.completed.saturating_add(other.completed),
        failed: sum(one.failed, other.failed),
        num_prompts: sum(one.num_prompts, other.num_prompts),
        input_tokens: sum(one.input_tokens, other.input_tokens),
        output_tokens: sum(one.output_tokens, other.output_tokens),
        max_concurrency: one.max_concurrency.zip(other.max_concurrency).map(|(a, b)| a.max(b)),
        told_untimed: Some(Untimed {
            known: a.known.saturating_add(b.known),
            perhaps: a.perhaps.max(b.perhaps),
        }),
        ..ClientResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy(completed: u64, streams: u64) -> String {
        format!(
            r#"{{"config":{{"strategy":{{"type_":"concurrent","streams":{streams}}}}},"duration":0.8,
            "scheduler_metrics":{{"requests_made":{{"successful":{},"incomplete":9}}}},
            "metrics":{{"request_totals":{{"successful":{completed},"errored":2,"incomplete":1,"total":31}},
            "output_token_count":{{"successful":{{"total_sum":447.99999}}}},
            "prompt_token_count":{{"successful":{{"total_sum":305.0}}}},
            "time_to_first_token_ms":{{"successful":{{"mean":33.7,"median":31.0,"percentiles":{{"p001":30.0,"p99":44.0,"p999":45.0}}}}}},
            "request_latency":{{"successful":{{"mean":0.108}}}},
            "output_tokens_per_second":{{"successful":{{"mean":560.0}}}}}}}}"#,
            completed + 3
        )
    }

    #[test]
    fn a_strategy_says_what_it_sent_and_what_it_left_out() {
        let text =
            format!("{{\"metadata\":{{\"version\":2}},\"benchmarks\":[{}]}}", strategy(28, 4));
        let run = ClientResult::parse(&text).unwrap();
        assert_eq!((run.tool, run.completed, run.failed), ("guidellm", 28, Some(3)));
        assert_eq!((run.input_tokens, run.output_tokens), (Some(305), Some(448)));
        assert_eq!((run.max_concurrency, run.told_untimed.unwrap().known), (Some(4.0), 3));
        let times: Vec<_> = run.latencies.iter().map(|(key, ms)| (key.as_str(), *ms)).collect();
        assert_eq!(
            times,
            [
                ("mean_e2el_ms", 108.0),
                ("mean_ttft_ms", 33.7),
                ("median_ttft_ms", 31.0),
                ("p0.1_ttft_ms", 30.0),
                ("p99.9_ttft_ms", 45.0),
                ("p99_ttft_ms", 44.0)
            ]
        );
    }

    #[test]
    fn a_sweep_is_one_load() {
        let text = format!("{{\"benchmarks\":[{},{}]}}", strategy(28, 4), strategy(10, 8));
        let run = ClientResult::parse(&text).unwrap();
        assert_eq!((run.completed, run.failed, run.output_tokens), (38, Some(6), Some(896)));
        assert_eq!((run.max_concurrency, run.duration_s), (Some(8.0), None));
        assert!(run.latencies.is_empty());
    }

    #[test]
    fn an_old_file_may_have_tested_the_connection() {
        let text = r#"{"benchmarks":[{"args":{"strategy":{"streams":2}},"run_stats":{"requests_made":{"successful":5}},
            "request_totals":{"successful":5,"errored":0,"incomplete":0},"start_time":10.0,"end_time":12.5,
            "metrics":{"output_token_count":{"successful":{"total_sum":50.0}}}}]}"#;
        let run = ClientResult::parse(text).unwrap();
        assert_eq!((run.completed, run.duration_s, run.max_concurrency), (5, Some(2.5), Some(2.0)));
        assert_eq!(run.told_untimed, Some(Untimed { known: 0, perhaps: 1 }));
    }
}
