//! `vllm bench serve`, and `benchmark_serving.py` before it.
//!
//! Keys: `vllm/benchmarks/serve.py`. `failed` is there since 0.12.0; before, what is missing of the
//! requests sent failed. `num_prompts` is the option's value: a data set with fewer prompts sends
//! fewer (`--no-oversample`), several rounds of a trace more. The lists of `--save-detailed` have one
//! entry a request sent.

use super::{ClientResult, Format, common, listed};
use serde_json::{Map, Value};

pub(super) const SERVE: Format = Format { recognise, parse };

fn recognise(map: &Map<String, Value>) -> bool {
    map.contains_key("completed")
        && (map.contains_key("endpoint_type") || map.contains_key("num_prompts"))
}

fn parse(map: &Map<String, Value>) -> Option<ClientResult> {
    let mut result = common("vllm bench serve", map)?;
    let sent = result.failed.map(|failed| result.completed.saturating_add(failed));
    result.num_prompts = sent.or_else(|| listed(map)).or(result.num_prompts);
    result.failed = result
        .failed
        .or_else(|| result.num_prompts.map(|sent| sent.saturating_sub(result.completed)));
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

    #[test]
    fn the_option_is_not_what_was_sent() {
        let of = |more: &str| {
            let text = format!(
                "{{\"endpoint_type\":\"vllm\",\"num_prompts\":1000,\"completed\":3{more}}}"
            );
            let result = ClientResult::parse(&text).unwrap();
            (result.num_prompts, result.failed)
        };
        assert_eq!(of(""), (Some(1000), Some(997)));
        assert_eq!(of(r#","failed":1"#), (Some(4), Some(1)));
        assert_eq!(of(r#","errors":["","","",""],"output_lens":[9,9,0,9]"#), (Some(4), Some(1)));
        assert_eq!(of(r#","errors":[],"output_lens":[]"#), (Some(1000), Some(997)));
    }
}
