//! `sglang.bench_serving` and `sglang.benchmark.serving`: one JSON line a run, always appended.
//!
//! The file has neither `failed` nor `num_prompts`; with `--output-details` it has one `errors`
//! entry a request, empty where it succeeded.

use super::{ClientResult, Format, common, count};
use serde_json::{Map, Value};

/// The tool's name.
pub(super) const TOOL: &str = "sglang.bench_serving";

/// `--warmup-requests` when it is not given.
pub(super) const WARMUPS: u64 = 1;

pub(super) const SERVING: Format = Format { recognise, parse };

fn recognise(map: &Map<String, Value>) -> bool {
    map.contains_key("completed") && map.contains_key("total_output_tokens_retokenized")
}

fn parse(map: &Map<String, Value>) -> Option<ClientResult> {
    let mut result = common(TOOL, map)?;
    result.retokenized = count(map, "total_output_tokens_retokenized");
    if let Some(errors) = map.get("errors").and_then(Value::as_array) {
        let failed = errors.iter().filter(|e| e.as_str().is_some_and(|text| !text.is_empty()));
        result.failed = Some(failed.count() as u64);
        result.num_prompts = Some(errors.len() as u64);
    }
    // The length asked for; with a range ratio below 1 only the longest.
    if map.get("random_range_ratio").and_then(Value::as_f64) == Some(1.0) {
        result.output_len = count(map, "random_output_len");
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted_from_the_details_or_not_known() {
        let line = r#"{"backend":"sglang","request_rate":Infinity,"max_concurrency":8,"completed":2,
            "total_output_tokens":20,"total_output_tokens_retokenized":19"#;
        let plain = ClientResult::parse(&format!("{line}}}")).unwrap();
        assert_eq!((plain.failed, plain.num_prompts, plain.not_finite), (None, None, 1));
        let detailed =
            ClientResult::parse(&format!("{line},\"errors\":[\"\",\"\",\"boom\"]}}")).unwrap();
        assert_eq!((detailed.failed, detailed.num_prompts), (Some(1), Some(3)));
    }
}
