//! SGLang's log, 0.4.6 to 0.5.23, and what survives of 0.2.
//!
//! Forms read in the wheels 0.4.6, 0.4.10, 0.5.3, 0.5.6, 0.5.10, 0.5.15, 0.5.20 and 0.5.23 and in
//! logs of 0.5.20. The log never states the version. Uvicorn's `Application startup complete` comes
//! before the warm-up request and proves nothing.

use super::facts::{Arguments, BackendRole};
use super::grammar::{Grammar, Reading, Rule, Stage, first, hundredths, last, real, text, whole};
use super::pyrepr;
use crate::pattern::Found;

pub(crate) static SGLANG: Grammar = Grammar {
    engine: "sglang",
    rules: RULES,
    stages: &[
        ("server_args=", Stage::Configuration),
        ("Init torch distributed begin", Stage::Distributed),
        ("Load weight begin", Stage::WeightLoading),
        ("Multi-thread loading shards", Stage::WeightLoading),
        ("Loading safetensors checkpoint", Stage::WeightLoading),
        ("Load weight end", Stage::KvCache),
        ("KV Cache is allocated", Stage::KvCache),
        ("Memory pool end", Stage::KvCache),
        ("uda graph begin", Stage::GraphCapture),
        ("CUDA graph begin", Stage::GraphCapture),
        ("max_total_num_tokens=", Stage::WarmUp),
        ("Started server process", Stage::HttpStart),
        ("Uvicorn running on", Stage::WarmUp),
    ],
    works: |text| text.contains("Decode batch") || text.contains("Prefill batch"),
    work_words: &["Decode batch", "Prefill batch"],
    answering_is_ready: false,
    answers_prove_work: false,
    tested: &["0.4.6", "0.4.10", "0.5.3", "0.5.6", "0.5.10", "0.5.15", "0.5.20", "0.5.23"],
};

const RULES: &[Rule] = &[
    Rule {
        // FlashMLA, CUTLASS MLA, DeepSeek V4 (0.5.15).
        anchor: "page_size to ",
        forms: &[r"page_size to (?<n>\d+)"],
        read: page_size_forced,
    },
    Rule {
        // TRT-LLM MLA and MHA, FA4 and others (0.5.15).
        anchor: "changing page_size from ",
        forms: &[r"changing page_size from \S+ to (?<n>\d+)"],
        read: page_size_forced,
    },
    Rule {
        // DeepSeek DSA, diffusion models (0.5.15).
        anchor: "etting page size to ",
        forms: &[r"etting page size to (?<n>\d+)"],
        read: page_size_forced,
    },
    Rule {
        anchor: "server_args=",
        forms: &[r"server_args=(?<args>\{.*|ServerArgs\(.*)"],
        read: arguments,
    },
    Rule {
        // `not set` 0.4.6, `not explicitly specified` 0.4.10 to 0.5.6, `not specified` 0.5.10 on.
        anchor: "ttention backend not ",
        forms: &[
            r"^Attention backend not (?:explicitly )?(?:set|specified)\. Use (?<name>[\w-]+) backend by default",
            r"Multimodal attention backend not set",
            // The rule for `Falling back to '` reads it.
            r"^Attention backend not specified\. Falling back to '",
        ],
        read: |r, c| {
            if let Some(name) = text(c, "name") {
                // The arguments list shows the choice as if it had been asked for.
                r.facts.requested_backend = None;
                r.backend(name, BackendRole::Model);
            }
        },
    },
    Rule {
        // DeepSeek V4 and others (`arg_groups/model_overrides`, 0.5.15 on).
        anchor: " attention backend for ",
        forms: &[r"\bUse (?<name>[\w-]+) attention backend for \w", " attention backend for "],
        read: |r, c| {
            if let Some(name) = text(c, "name") {
                r.backend(name, BackendRole::Model);
            }
        },
    },
    Rule {
        anchor: "MLA optimization is turned on. Use ",
        forms: &[r"turned on\. Use (?<name>[\w-]+) backend"],
        read: |r, c| {
            if let Some(name) = text(c, "name") {
                r.backend(name, BackendRole::Model);
            }
        },
    },
    Rule {
        anchor: "Using hybrid attention backend",
        forms: &[r"decode_backend=(?<decode>[\w-]+), prefill_backend=(?<prefill>[\w-]+)"],
        read: |r, c| {
            for (name, role) in [("decode", BackendRole::Decode), ("prefill", BackendRole::Prefill)]
            {
                if let Some(name) = text(c, name) {
                    r.backend(name, role);
                }
            }
        },
    },
    Rule {
        anchor: "Overriding draft attention backend to ",
        forms: &[r"backend to (?<name>[\w-]+)"],
        read: |r, c| {
            if let Some(name) = text(c, "name") {
                r.backend(name, BackendRole::Draft);
            }
        },
    },
    Rule {
        anchor: "Falling back to '",
        forms: &[r"ttention.*Falling back to '(?<name>[\w-]+)'", "Falling back to '"],
        read: |r, c| {
            if let Some(name) = text(c, "name") {
                r.backend(name, BackendRole::Model);
            }
        },
    },
    Rule {
        // `Load weight end. type=…` to 0.5.6, with `elapsed=` before it from 0.5.10.
        anchor: "Load weight end.",
        forms: &[
            r"Load weight end\.(?: elapsed=[\d.]+ s,)?.* type=\w*(?<draft>Eagle|NextN|MTP|DFlash|Draft)\w*,.*mem usage=(?<gb>-?[\d.]+) GB",
            r"Load weight end\.(?: elapsed=(?<s>[\d.]+) s,)?.*mem usage=(?<gb>-?[\d.]+) GB",
        ],
        read: |r, c| {
            last(&mut r.facts.load_seconds, real(c, "s"), r.line);
            if let Some(gb) = real(c, "gb") {
                r.memory(part_of(c, "weights", "draft weights"), gb);
            }
        },
    },
    Rule {
        // `#tokens: N` to 0.5.10, `dtype: D, #tokens: N` from 0.5.15; MLA has one size. One line a
        // pool: a model with sliding windows has two, and a draft model one of its own.
        anchor: "KV Cache is allocated",
        forms: &[
            r"#tokens: (?<n>\d+), K size: (?<k>[\d.]+) GB, V size: (?<v>[\d.]+) GB",
            r"#tokens: (?<n>\d+), KV size: (?<kv>[\d.]+) GB",
        ],
        read: |r, c| {
            if let Some(gb) = kv_cache(r, c) {
                r.more_kv_memory(gb);
            }
        },
    },
    Rule {
        // Deferred sizing (0.5.20 on): this line, not the first, is final.
        anchor: "KV cache allocated.",
        forms: &[
            r"#tokens: (?<n>\d+), K size: (?<k>[\d.]+) GB, V size: (?<v>[\d.]+) GB",
            r"#tokens: (?<n>\d+), KV size: (?<kv>[\d.]+) GB",
        ],
        read: |r, c| {
            if let Some(gb) = kv_cache(r, c) {
                r.kv_memory(gb);
            }
        },
    },
    Rule {
        anchor: "Mamba Cache is allocated.",
        forms: &[r"conv_state size: (?<conv>[\d.]+) ?GB, ssm_state size: (?<ssm>[\d.]+) ?GB"],
        read: |r, c| {
            if let (Some(conv), Some(ssm)) = (real(c, "conv"), real(c, "ssm")) {
                r.memory("state cache", conv + ssm);
            }
        },
    },
    Rule {
        // The line of every release that states what is in force.
        anchor: "max_total_num_tokens=",
        forms: &[
            r"max_total_num_tokens=(?<n>\d+),.*max_running_requests=(?<limit>\d+), context_len=(?<len>\d+)",
        ],
        read: |r, c| {
            if let Some(n) = whole(c, "n") {
                r.pool(n);
            }
            last(&mut r.facts.running_limit, whole(c, "limit"), r.line);
            last(&mut r.facts.max_model_len, whole(c, "len"), r.line);
        },
    },
    Rule {
        // Silent before 0.5.15.
        anchor: "max_running_requests ",
        forms: &[
            r"max_running_requests is capped to (?<n>\d+) (?<why>by [^.]+)",
            r"max_running_requests was reduced from the requested (?<asked>\d+) to (?<n>\d+) (?<why>.*)",
            r"max_running_requests (?<asked>\d+) -> (?<n>\d+)",
            // A model's default, which the arguments then show.
            r"Setting max_running_requests to \d+ for ",
        ],
        read: |r, c| {
            let Some(n) = whole(c, "n") else { return };
            last(&mut r.facts.running_limit, Some(n), r.line);
            let why = text(c, "why")
                .unwrap_or("by the KV cache's final size")
                .trim_end_matches('.')
                .to_owned();
            last(&mut r.facts.running_limit_reason, Some(why), r.line);
        },
    },
    Rule {
        // `Capture cuda graph end. Time elapsed: …` to 0.5.10, `Capture target decode CUDA graph
        // end. elapsed=…` from 0.5.15.
        anchor: "raph end.",
        forms: &[
            r"Capture (?:.*\b)?(?<draft>draft)\b.*(?:elapsed=|Time elapsed: )[\d.]+ s[.,].*mem usage=(?<gb>-?[\d.]+) GB",
            r"(?:elapsed=|Time elapsed: )[\d.]+ s[.,].*mem usage=(?<gb>-?[\d.]+) GB",
            "Frozen-KV MTP draft cuda graph end",
        ],
        read: |r, c| {
            if let Some(gb) = real(c, "gb") {
                r.memory(part_of(c, "CUDA graphs", "draft CUDA graphs"), gb);
            }
        },
    },
    Rule {
        anchor: "Uvicorn running on ",
        forms: &[r"Uvicorn running on (?<url>\S+)"],
        read: |r, c| first(&mut r.facts.address, text(c, "url").map(str::to_owned), r.line),
    },
];

fn page_size_forced(r: &mut Reading<'_>, c: &Found<'_>) {
    last(&mut r.facts.block_size_forced, whole(c, "n"), r.line);
}

fn arguments(r: &mut Reading<'_>, c: &Found<'_>) {
    // A new start sums its pools anew.
    r.facts.kv_memory_gib.clear();
    if r.facts.arguments.is_some() {
        return;
    }
    let listed = pyrepr::pairs(text(c, "args").unwrap_or_default());
    let arguments = Arguments::new(listed, false, r.line);
    let number = |name: &str| arguments.number(name);
    first(&mut r.facts.model, arguments.get("model_path").map(str::to_owned), r.line);
    first(&mut r.facts.tensor_parallel, number("tp_size"), r.line);
    first(&mut r.facts.pipeline_parallel, number("pp_size"), r.line);
    first(&mut r.facts.data_parallel, number("dp_size"), r.line);
    first(&mut r.facts.block_size, number("page_size"), r.line);
    // Printed after the engine's own changes: what it did not change was asked for.
    if r.facts.block_size_forced.is_none() {
        first(&mut r.facts.block_size_asked, number("page_size"), r.line);
    }
    first(&mut r.facts.running_limit_asked, number("max_running_requests"), r.line);
    first(&mut r.facts.device, arguments.get("device").map(str::to_uppercase), r.line);
    // Printed after the choice (0.5.20): then it repeats the choice and nothing was asked for.
    if r.facts.backends.is_empty() {
        first(
            &mut r.facts.requested_backend,
            arguments.get("attention_backend").map(str::to_owned),
            r.line,
        );
    }
    r.facts.arguments = Some(arguments);
}

/// Reads the pool's tokens, and returns its size.
fn kv_cache(r: &mut Reading<'_>, c: &Found<'_>) -> Option<f64> {
    if let Some(n) = whole(c, "n") {
        r.pool(n);
    }
    let size = real(c, "kv").or_else(|| Some(real(c, "k")? + real(c, "v")?));
    size.map(hundredths)
}

/// The name of a part of the memory: a draft model's is apart from the served one's.
fn part_of<'n>(c: &Found<'_>, model: &'n str, draft: &'n str) -> &'n str {
    if text(c, "draft").is_some() { draft } else { model }
}

#[cfg(test)]
mod tests {
    use crate::boot::facts::BootFacts;

    fn facts(log: &str) -> BootFacts {
        crate::boot::read(log.as_bytes(), Some("sglang")).unwrap().facts
    }

    /// Reported with MiMo-V2-Flash, January 2026: windows and full attention, a pool each.
    const WINDOWS: &str = "\
[2026-01-31 13:50:30] server_args=ServerArgs(model_path='/m', tp_size=2)
[2026-01-31 13:50:39 TP1] Use sliding window memory pool. full_layer_tokens=375360, swa_layer_tokens=300288
[2026-01-31 13:50:39 TP1] KV Cache is allocated. #tokens: 300288, K size: 8.38 GB, V size: 5.59 GB
[2026-01-31 13:50:39 TP0] KV Cache is allocated. #tokens: 300288, K size: 8.38 GB, V size: 5.59 GB
[2026-01-31 13:50:39 TP1] KV Cache is allocated. #tokens: 375360, K size: 1.20 GB, V size: 0.80 GB
[2026-01-31 13:50:39 TP0] KV Cache is allocated. #tokens: 375360, K size: 1.20 GB, V size: 0.80 GB
";

    #[test]
    fn the_pools_of_one_process_are_summed() {
        let facts = facts(WINDOWS);
        let sizes: Vec<_> =
            facts.kv_memory_gib.iter().map(|m| (m.process.as_str(), m.value)).collect();
        assert_eq!(sizes, [("TP1", 15.97), ("TP0", 15.97)]);
        assert_eq!(facts.pool_tokens(), Some(375_360));
    }

    #[test]
    fn a_start_sums_its_own_pools_alone() {
        assert_eq!(facts(&format!("{WINDOWS}{WINDOWS}")).kv_gib(), Some(15.97));
    }

    #[test]
    fn a_draft_models_memory_is_not_the_models() {
        // EAGLE and MTP, words of 0.4.6 to 0.5.6 and of 0.5.20.
        for (loaded, captured) in [
            (
                "Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=9.00 GB, mem usage=0.80 GB.",
                "Capture draft cuda graph end. Time elapsed: 2.29 s. mem usage=0.10 GB. avail mem=8.70 GB.",
            ),
            (
                "Load weight end. elapsed=1.29 s, type=Qwen3_5ForCausalLMMTP, quant=fp8, avail mem=9.00 GB, mem usage=0.80 GB.",
                "Capture draft extend CUDA graph end. elapsed=2.29 s, mem usage=0.10 GB, avail mem=8.70 GB.",
            ),
        ] {
            let facts = facts(&format!(
                "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')
[2026-01-01 10:01:00 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=90.00 GB, mem usage=40.00 GB.
[2026-01-01 10:01:20 TP0] Capture cuda graph end. Time elapsed: 10.29 s. mem usage=1.50 GB. avail mem=10.40 GB.
[2026-01-01 10:01:52 TP0] {loaded}
[2026-01-01 10:01:56 TP0] {captured}
"
            ));
            for (part, gib) in [
                ("weights", 40.0),
                ("draft weights", 0.8),
                ("CUDA graphs", 1.5),
                ("draft CUDA graphs", 0.1),
            ] {
                assert_eq!(facts.memory_part(part), Some(gib), "{part} after {loaded}");
            }
            assert!(facts.unparsed.is_empty());
        }
    }
}
