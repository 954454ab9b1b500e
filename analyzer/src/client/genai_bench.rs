//! genai-bench: one file a scenario and concurrency.
//!
//! Warm-ups are among the requests it counts, and left out of its statistics and rates. All times are
//! in seconds. Keys: files of 0.0.5.

use super::{ClientResult, Format, Untimed, at, latencies, whole};
use serde_json::{Map, Value};

pub(super) const SCENARIO: Format = Format { recognise, parse };

/// The times under the names that checks know.
const TIMES: &[(&str, &str)] = &[("ttft", "ttft"), ("tpot", "tpot"), ("e2e_latency", "e2el")];

fn recognise(map: &Map<String, Value>) -> bool {
    at(map, &["aggregated_metrics", "num_completed_requests"]).is_some()
}

fn parse(map: &Map<String, Value>) -> Option<ClientResult> {
    let all = map.get("aggregated_metrics")?.as_object()?;
    let number = |key: &str| all.get(key)?.as_f64().filter(|value| value.is_finite());
    let completed = number("num_completed_requests").and_then(whole)?;
    let failed = number("num_error_requests").and_then(whole);
    let requests = map.get("individual_request_metrics").and_then(Value::as_array);
    let sum = |key: &str| {
        let values = requests?.iter().filter_map(|request| request.get(key)?.as_f64());
        whole(values.sum())
    };
    let mut result = ClientResult {
        tool: "genai-bench",
        completed,
        failed,
        num_prompts: failed.map(|failed| completed.saturating_add(failed)),
        input_tokens: sum("num_input_tokens"),
        output_tokens: sum("num_output_tokens"),
        duration_s: number("run_duration"),
        request_throughput: number("requests_per_second"),
        max_concurrency: number("num_concurrency"),
        told_untimed: Some(Untimed::default()),
        ..ClientResult::default()
    };
    for (key, name) in TIMES {
        let values = at(all, &["stats", key]).and_then(Value::as_object);
        result.latencies.extend(latencies(values, name, 1e3));
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_all_its_requests() {
        let text = r#"{"aggregated_metrics":{"num_concurrency":4,"run_duration":2.0,"num_error_requests":1,
            "num_completed_requests":2,"requests_per_second":1.0,
            "stats":{"ttft":{"mean":0.05,"p50":0.04,"stddev":0.02},"num_output_tokens":{"sum":16}}},
            "individual_request_metrics":[{"num_input_tokens":11,"num_output_tokens":16},
            {"num_input_tokens":12,"num_output_tokens":16},{"num_output_tokens":null,"error_code":500}]}"#;
        let run = ClientResult::parse(text).unwrap();
        assert_eq!((run.tool, run.completed, run.failed), ("genai-bench", 2, Some(1)));
        assert_eq!((run.input_tokens, run.output_tokens), (Some(23), Some(32)));
        assert_eq!((run.duration_s, run.max_concurrency), (Some(2.0), Some(4.0)));
        assert_eq!(run.latencies["median_ttft_ms"], 40.0);
        assert_eq!(run.latencies["std_ttft_ms"], 20.0);
    }
}
