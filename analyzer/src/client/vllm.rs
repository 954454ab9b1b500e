//! `vllm bench serve`, and `benchmark_serving.py` before it.
//!
//! Keys: `vllm/benchmarks/serve.py`. `failed` is there since 0.12.0; before, what is missing of
//! `num_prompts` failed.

use super::{ClientResult, Format, common};
use serde_json::{Map, Value};

pub(super) const SERVE: Format = Format { recognise, parse };

fn recognise(map: &Map<String, Value>) -> bool {
    map.contains_key("completed")
        && (map.contains_key("endpoint_type") || map.contains_key("num_prompts"))
}

fn parse(map: &Map<String, Value>) -> Option<ClientResult> {
    let mut result = common("vllm bench serve", map)?;
    result.failed = result
        .failed
        .or_else(|| result.num_prompts.map(|asked| asked.saturating_sub(result.completed)));
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_file_without_failed_counts_what_is_missing() {
        let text = r#"{"endpoint_type":"vllm","num_prompts":32,"completed":30,"request_rate":"inf",
            "max_concurrency":null,"total_output_tokens":300,"duration":1.5,"median_ttft_ms":4.0}"#;
        let result = ClientResult::parse(text).unwrap();
        assert_eq!((result.failed, result.rate, result.max_concurrency), (Some(2), None, None));
        assert_eq!(result.latencies["median_ttft_ms"], 4.0);
    }
}
