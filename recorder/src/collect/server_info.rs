//! What a server says of itself when asked: `/version`, `/v1/models` and the engine's own page of
//! settings.
//!
//! Only paths of the engine's fixed list are asked, none of which generates or consumes. Of the
//! answers only known keys are kept; of every other key its type and length, because such pages
//! hold API keys.

use crate::clock::Clock;
use crate::http::Client;
use inferlint_schema::engine::EngineIdentity;
use inferlint_schema::limits::FILE_BYTES;
use inferlint_schema::record::{Probe, Text};
use reqwest::Url;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// What is asked for, by path, and the name it is recorded under.
const PAGES: &[(&str, &str)] = &[
    ("/version", "version"),
    ("/v1/models", "models"),
    ("/server_info", "info"),
    ("/model_info", "info"),
    ("/props", "info"),
    ("/info", "info"),
];
/// Keys whose values are kept. Sources: vLLM 0.33 `ModelCard`; SGLang 0.5.23 `ServerArgs` and its
/// `internal_states`; TensorRT-LLM 1.x `/server_info`; llama.cpp `/props`; TGI `/info`.
const KEYS: &[&str] = &[
    // Lists of models.
    "object",
    "data",
    "id",
    "root",
    "parent",
    "owned_by",
    "created",
    "max_model_len",
    "version",
    // SGLang and TensorRT-LLM.
    "status",
    "model_path",
    "tokenizer_path",
    "served_model_name",
    "revision",
    "dtype",
    "quantization",
    "kv_cache_dtype",
    "context_length",
    "mem_fraction_static",
    "max_running_requests",
    "max_total_tokens",
    "max_queued_requests",
    "chunked_prefill_size",
    "max_prefill_tokens",
    "schedule_policy",
    "schedule_conservativeness",
    "page_size",
    "tp_size",
    "pp_size",
    "dp_size",
    "ep_size",
    "stream_interval",
    "random_seed",
    "attention_backend",
    "prefill_attention_backend",
    "decode_attention_backend",
    "sampling_backend",
    "grammar_backend",
    "disable_radix_cache",
    "disable_cuda_graph",
    "cuda_graph_max_bs",
    "cuda_graph_bs",
    "decode_cuda_graph_bs",
    "disable_overlap_schedule",
    "enable_mixed_chunk",
    "enable_metrics",
    "enable_dp_attention",
    "enable_torch_compile",
    "enable_hierarchical_cache",
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_draft_model_path",
    "load_format",
    "sampling_defaults",
    "max_total_num_tokens",
    "max_req_input_len",
    "startup_time",
    "internal_states",
    "last_gen_throughput",
    "memory_usage",
    "weight",
    "kvcache",
    "token_capacity",
    "graph",
    "effective_max_running_requests_per_dp",
    "avg_spec_accept_length",
    "disaggregation_mode",
    "max_batch_size",
    "max_num_tokens",
    "tokens_per_block",
    // llama.cpp and TGI.
    "total_slots",
    "n_ctx",
    "build_info",
    "model_alias",
    "model_id",
    "model_sha",
    "model_dtype",
    "model_device_type",
    "max_concurrent_requests",
    "max_input_tokens",
    "max_total_tokens",
    "max_batch_total_tokens",
    "max_waiting_tokens",
    "waiting_served_ratio",
    "validation_workers",
    "sha",
    "router",
];

/// Asks a server, whose API begins at `base`, for what it says of itself.
pub(crate) async fn ask(
    client: &Client,
    base: &Url,
    engine: Option<&EngineIdentity>,
    src: u32,
    clock: Clock,
) -> Vec<Probe> {
    let client = client.within(PATIENCE);
    let mut probes = Vec::new();
    for (path, what) in PAGES {
        let plain = *path == "/version" || *path == "/v1/models";
        if engine.map_or(plain, |engine| engine.get_paths.contains(path)) {
            let probe = page(&client, base, path, what, src, clock).await;
            let missing = probe.status == Some(404);
            // A page that this release does not have is no news.
            if !(missing && *what != "models") {
                probes.push(probe);
            }
        }
    }
    probes
}

async fn page(
    client: &Client,
    base: &Url,
    path: &str,
    what: &str,
    src: u32,
    clock: Clock,
) -> Probe {
    let mut url = base.clone();
    url.set_path(path);
    url.set_query(None);
    let t = clock.now();
    let mut body = Vec::new();
    let answer = client.get(&url, &mut body).await;
    let dur_ns = clock.now() - t;
    let (status, error, kept) = match answer {
        Ok(answer) => match serde_json::from_slice::<Value>(&body) {
            Ok(value) => (Some(answer.status), None, Some(shown(&value))),
            Err(error) => (Some(answer.status), Some(format!("no JSON: {error}")), None),
        },
        Err(failure) => (failure.status, Some(failure.why), None),
    };
    Probe {
        t,
        src,
        what: what.to_owned(),
        path: Some(path.to_owned()),
        asked: 1,
        ok: u32::from(error.is_none()),
        status,
        dur_ns,
        body: kept.map(Text::from),
        error,
    }
}

/// The version it says it has.
pub(crate) fn version(probes: &[Probe]) -> Option<String> {
    let page = probes.iter().find(|probe| probe.what == "version")?;
    let value: Value = serde_json::from_slice(page.body.as_ref()?.as_bytes()).ok()?;
    value.get("version")?.as_str().map(str::to_owned)
}

/// The first model that `/v1/models` lists.
pub(crate) fn first_model(probes: &[Probe]) -> Option<String> {
    let models = probes.iter().find(|probe| probe.what == "models")?;
    let value: Value = serde_json::from_slice(models.body.as_ref()?.as_bytes()).ok()?;
    value.get("data")?.get(0)?.get("id")?.as_str().map(str::to_owned)
}

/// The answer with unknown keys replaced by what they hold, at most 64 KiB of it.
fn shown(value: &Value) -> String {
    let text = known(value, 0).to_string();
    if text.len() <= FILE_BYTES {
        return text;
    }
    json!({"left out": format!("an answer of {} bytes", text.len())}).to_string()
}

fn known(value: &Value, depth: u32) -> Value {
    match value {
        _ if depth > 8 => Value::from("nested too deep"),
        Value::Array(items) => items.iter().map(|item| known(item, depth + 1)).collect(),
        Value::Object(fields) => {
            let keep = |(key, value): (&String, &Value)| {
                let value = if KEYS.contains(&key.as_str()) {
                    known(value, depth + 1)
                } else {
                    sort(value)
                };
                (key.clone(), value)
            };
            Value::Object(fields.iter().map(keep).collect::<Map<_, _>>())
        }
        plain => plain.clone(),
    }
}

/// What an unknown key holds: its type and length. Whether something is set at all is no secret.
fn sort(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => Value::from("<bool>"),
        Value::Number(_) => Value::from("<number>"),
        Value::String(text) => Value::from(format!("<string of {}>", text.chars().count())),
        Value::Array(items) => Value::from(format!("<list of {}>", items.len())),
        Value::Object(fields) => Value::from(format!("<map of {}>", fields.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_keys_keep_their_values() {
        let value = json!({
            "api_key": "swordfish", "admin_api_key": null, "tp_size": 2, "unknown": [1, 2],
            "internal_states": [{"last_gen_throughput": 1.5, "secret": {"a": 1}}],
            "flag": true, "number": 7
        });
        let shown: Value = serde_json::from_str(&shown(&value)).unwrap();
        let expected = json!({
            "api_key": "<string of 9>", "admin_api_key": null, "tp_size": 2,
            "unknown": "<list of 2>",
            "internal_states": [{"last_gen_throughput": 1.5, "secret": "<map of 1>"}],
            "flag": "<bool>", "number": "<number>"
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_huge_answer_is_left_out_and_said() {
        let value = json!({"data": vec!["x".repeat(100); 1000]});
        assert!(shown(&value).contains("left out"));
    }

    #[test]
    fn the_first_model_is_found_in_what_was_kept() {
        let body = shown(&json!({"data": [{"id": "tiny", "max_model_len": 2048}]}));
        let probe = Probe {
            t: 0,
            src: 0,
            what: "models".to_owned(),
            path: None,
            asked: 1,
            ok: 1,
            status: Some(200),
            dur_ns: 1,
            body: Some(Text::from(body)),
            error: None,
        };
        assert_eq!(first_model(&[probe]), Some("tiny".to_owned()));
        assert_eq!(first_model(&[]), None);
    }
}
