//! inference-perf: `summary_lifecycle_metrics.json` and `stage_N_lifecycle_metrics.json`.
//!
//! Its rate of output tokens counts the text with its own tokenizer (`output_len`); `output_tokens`
//! are the usage figures of the server's answers (0.6.0 and later). All times are in seconds.
//!
//! Keys: files of 0.7.0; 0.2.0 to 0.5 have no `output_tokens`.

use super::{ClientResult, Format, Untimed, at, latencies, whole};
use serde_json::{Map, Value};

pub(super) const LIFECYCLE: Format = Format { recognise, parse };

/// The times under the names that checks know.
const TIMES: &[(&str, &str)] = &[
    ("time_to_first_token", "ttft"),
    ("time_per_output_token", "tpot"),
    ("inter_token_latency", "itl"),
    ("request_latency", "e2el"),
];

fn recognise(map: &Map<String, Value>) -> bool {
    map.contains_key("load_summary") && map.contains_key("successes")
}

fn parse(map: &Map<String, Value>) -> Option<ClientResult> {
    let number = |path: &[&str]| at(map, path)?.as_f64().filter(|value| value.is_finite());
    let count = |path: &[&str]| number(path).and_then(whole);
    let completed = count(&["successes", "count"])?;
    let failed = count(&["failures", "count"]);
    let all_of = |mean: Option<f64>| mean.and_then(|mean| whole(mean * completed as f64));
    let counted = all_of(number(&["successes", "output_len", "mean"]));
    let prompts = count(&["successes", "prompt_tokens", "total"])
        .or_else(|| all_of(number(&["successes", "prompt_len", "mean"])));
    let mut result = ClientResult {
        tool: "inference-perf",
        completed,
        failed,
        num_prompts: failed.map(|failed| completed.saturating_add(failed)),
        input_tokens: prompts,
        output_tokens: count(&["successes", "output_tokens", "total"]).or(counted),
        rated_tokens: counted,
        duration_s: number(&["benchmark_time_seconds"]),
        output_throughput: number(&["successes", "throughput", "output_tokens_per_sec"]),
        request_throughput: number(&["successes", "throughput", "requests_per_sec"]),
        max_concurrency: number(&["load_summary", "concurrency"]),
        rate: number(&["load_summary", "requested_rate"]),
        told_untimed: Some(Untimed::default()),
        ..ClientResult::default()
    };
    for (key, name) in TIMES {
        let values = at(map, &["successes", "latency", key]).and_then(Value::as_object);
        result.latencies.extend(latencies(values, name, 1e3));
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_counts_where_there_is_any() {
        let text = r#"{"benchmark_time_seconds":1.04,"load_summary":{"count":30,"concurrency":4},
            "successes":{"count":28,"latency":{"time_to_first_token":{"mean":0.033,"median":0.032,"p99.9":0.044}},
            "throughput":{"output_tokens_per_sec":593.3,"requests_per_sec":26.9},
            "prompt_tokens":{"total":569.0},"output_len":{"mean":22.0357},"output_tokens":{"total":453.0}},
            "failures":{"count":2}}"#;
        let run = ClientResult::parse(text).unwrap();
        assert_eq!((run.tool, run.completed, run.failed), ("inference-perf", 28, Some(2)));
        assert_eq!((run.input_tokens, run.output_tokens), (Some(569), Some(453)));
        assert_eq!((run.rated_tokens, run.max_concurrency), (Some(617), Some(4.0)));
        let times: Vec<_> = run.latencies.iter().map(|(key, ms)| (key.as_str(), *ms)).collect();
        assert_eq!(
            times,
            [("mean_ttft_ms", 33.0), ("median_ttft_ms", 32.0), ("p99.9_ttft_ms", 44.0)]
        );
        let old = text.replace(",\"output_tokens\":{\"total\":453.0}", "");
        assert_eq!(ClientResult::parse(&old).unwrap().output_tokens, Some(617));
    }
}
