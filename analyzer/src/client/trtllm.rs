//! TensorRT-LLM's `benchmark_serving` and `trtllm-bench`.
//!
//! `benchmark_serving` writes vLLM's keys with one misspelt, `request_goodput:`, and no `failed`.
//! `trtllm-bench --report_json` measures without a server; a failed request ends it without a file.

use super::{ClientResult, Format, common, count, listed, number};
use serde_json::{Map, Value};

/// The served benchmark's name.
pub(super) const TOOL: &str = "tensorrt_llm benchmark_serving";

/// The benchmark without a server.
pub(super) const BENCH_TOOL: &str = "trtllm-bench";

pub(super) const SERVING: Format = Format { recognise: recognise_serving, parse: parse_serving };
pub(super) const BENCH: Format = Format { recognise: recognise_bench, parse: parse_bench };

fn recognise_serving(map: &Map<String, Value>) -> bool {
    map.contains_key("completed")
        && (map.contains_key("user_throughput") || map.contains_key("avg_decoded_tokens_per_iter"))
}

fn parse_serving(map: &Map<String, Value>) -> Option<ClientResult> {
    let mut result = common(TOOL, map)?;
    result.num_prompts = listed(map).or(result.num_prompts);
    result.failed = result.num_prompts.map(|asked| asked.saturating_sub(result.completed));
    Some(result)
}

fn recognise_bench(map: &Map<String, Value>) -> bool {
    map.contains_key("request_info") && map.contains_key("performance")
}

fn parse_bench(map: &Map<String, Value>) -> Option<ClientResult> {
    let requests = map.get("request_info")?.as_object()?;
    let performance = map.get("performance")?.as_object()?;
    let completed = count(requests, "num_requests")?;
    let mean = number(requests, "avg_output_length");
    let input = number(requests, "avg_input_length");
    let total = |mean: f64| (mean * completed as f64).round() as u64;
    Some(ClientResult {
        tool: BENCH_TOOL,
        completed,
        failed: Some(0),
        num_prompts: Some(completed),
        input_tokens: input.map(total),
        output_tokens: mean.map(total),
        duration_s: number(performance, "total_latency_ms").map(|ms| ms / 1e3),
        output_throughput: number(performance, "system_output_throughput_tok_s"),
        request_throughput: number(performance, "request_throughput_req_s"),
        total_throughput: number(performance, "system_total_throughput_tok_s"),
        ..ClientResult::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_told_from_vllms() {
        let serving = r#"{"backend":"openai","num_prompts":9,"completed":7,"user_throughput":1.0}"#;
        let result = ClientResult::parse(serving).unwrap();
        assert_eq!((result.tool, result.failed), ("tensorrt_llm benchmark_serving", Some(2)));
        let bench = r#"{"request_info":{"num_requests":4,"avg_output_length":2.5},
            "performance":{"total_latency_ms":1500.0}}"#;
        let result = ClientResult::parse(bench).unwrap();
        assert_eq!((result.output_tokens, result.duration_s), (Some(10), Some(1.5)));
    }
}
