//! The GPU has memory, but not enough is left for the KV cache.

use super::kind::{Kind, Told};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "kv_cache_too_small",
        "one request of the longest length allowed does not fit the KV cache",
        &[
            r"max seq len \((?<len>\d+)\).*?\((?<need>[\d.]+) GiB KV cache is needed, which is larger than the available KV cache memory \((?<has>[\d.]+) GiB\)",
            r"KV cache is needed, which is larger",
            r"max seq len \((?<len>\d+)\) is larger than the maximum number of tokens that can be stored in KV cache \((?<tokens>\d+)\)",
            r"larger than the maximum number of tokens that can be stored in KV cache",
            r"maxTokensInPagedKvCache must be large enough",
        ],
        too_small,
    ),
    Kind::new(
        "state_cache_too_small",
        "the state cache of a hybrid (mamba, linear attention) model does not fit",
        &[
            r"Not enough GPU memory for hybrid \(mamba",
            r"(?i)(?:mamba|hybrid|linear-attention|state) .{0,60}cache is too small",
            r"max_num_seqs \(\d+\) exceeds available Mamba cache blocks",
        ],
        |t| {
            let size = t
                .find(r"(max_mamba_cache_size=-?\d+)")
                .map(|s| format!(", {s}"))
                .unwrap_or_default();
            let rest = t
                .find(r"total_rest_memory=(-?[\d.]+ GB)")
                .map(|s| format!(" with {s} left"))
                .unwrap_or_default();
            let each = t
                .find(r"mamba_cache_per_req=([\d.]+ MB)")
                .map(|s| format!(", {s} a request"))
                .unwrap_or_default();
            if size.is_empty() && each.is_empty() {
                return t.say(
                    "the mamba state cache does not fit",
                    "lower the running-requests limit or give it more memory",
                );
            }
            format!(
                "not enough GPU memory for the hybrid model's mamba state cache{rest}{size}{each}; lower --max-running-requests or raise --mem-fraction-static"
            )
        },
    ),
    Kind::new(
        "no_memory_for_kv_cache",
        "weights and activations leave nothing for the KV cache",
        &[
            r"No available memory for the cache blocks",
            r"Not enough memory\..*mem[-_]fraction[-_]static",
            r"leave no GPU memory for the KV cache",
            r"(?i)component could not be created: .*kv[ _]cache",
            r"(?i)no enough (?:gpu )?memory for kv cache",
            r"(?i)not enough memory to (?:allocate|handle|create) .{0,40}kv cache",
        ],
        |t| {
            if t.text.contains("could not be created") {
                let free =
                    t.find(r"Free GPU memory before component creation attempt \(GiB\): ([\d.]+)");
                let total = t.find(r"Total GPU memory \(GiB\): ([\d.]+)");
                if let (Some(free), Some(total)) = (free, total) {
                    return format!(
                        "the KV cache could not be created: {free} of {total} GiB of GPU memory were free (could not be created: KV cache); lower free_gpu_memory_fraction or max_seq_len"
                    );
                }
            }
            if let Some(least) =
                t.find(r"(?:minimum viable = |--mem-fraction-static above )([\d.]+)")
            {
                let now = t.find(r"mem-fraction-static=([\d.]+)").unwrap_or("the one given");
                let least = least.trim_end_matches('.');
                return format!(
                    "the weights leave no GPU memory for the KV cache under --mem-fraction-static {now}: raise it above {least}, or use more GPUs or a smaller model"
                );
            }
            t.say(
                "nothing is left for the KV cache",
                t.advise(
                    "raise --gpu-memory-utilization, or use more GPUs or a smaller model",
                    "raise --mem-fraction-static, or use more GPUs or a smaller model",
                    "lower free_gpu_memory_fraction or max_seq_len",
                ),
            )
        },
    ),
];

fn too_small(t: &Told<'_>) -> String {
    let estimate = t.find(r"estimated maximum model length is (\d+)");
    match (t.part("len"), t.part("need"), t.part("has"), t.part("tokens")) {
        (Some(len), Some(need), Some(has), _) => {
            let advice = match estimate {
                Some(n) => format!(
                    "{n} would fit: lower --max-model-len to it, or raise --gpu-memory-utilization"
                ),
                None => "lower --max-model-len or raise --gpu-memory-utilization".to_owned(),
            };
            format!(
                "the KV cache is too small for one request of {len} tokens: {need} GiB needed, {has} GiB available; {advice}"
            )
        }
        (Some(len), _, _, Some(tokens)) => format!(
            "the KV cache is too small for one request of {len} tokens: it holds {tokens}; lower --max-model-len or raise --gpu-memory-utilization"
        ),
        _ => t.say(
            "the KV cache is too small for one request of the longest length",
            "lower the model length or give the cache more memory",
        ),
    }
}
