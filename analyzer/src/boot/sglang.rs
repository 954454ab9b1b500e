//! SGLang's log, 0.4.6 to 0.5.23, and what survives of 0.2.
//!
//! Forms read in the wheels 0.4.6, 0.4.10, 0.5.3, 0.5.6, 0.5.10, 0.5.15, 0.5.20 and 0.5.23 and in
//! logs of 0.5.20. The log never states the version. Uvicorn's `Application startup complete` comes
//! before the warm-up request and proves nothing.

use super::facts::{Arguments, BackendRole};
use super::grammar::{Grammar, Reading, Rule, Stage, first, last, real, text, whole};
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
        forms: &[r"Load weight end\.(?: elapsed=(?<s>[\d.]+) s,)?.*mem usage=(?<gb>-?[\d.]+) GB"],
        read: |r, c| {
            last(&mut r.facts.load_seconds, real(c, "s"), r.line);
            if let Some(gb) = real(c, "gb") {
                r.memory("weights", gb);
            }
        },
    },
    Rule {
        // `#tokens: N` to 0.5.10, `dtype: D, #tokens: N` from 0.5.15; MLA has one size.
        anchor: "KV Cache is allocated",
        forms: &[
            r"#tokens: (?<n>\d+), K size: (?<k>[\d.]+) GB, V size: (?<v>[\d.]+) GB",
            r"#tokens: (?<n>\d+), KV size: (?<kv>[\d.]+) GB",
        ],
        read: kv_cache,
    },
    Rule {
        // Deferred sizing (0.5.20 on): this line, not the first, is final.
        anchor: "KV cache allocated.",
        forms: &[
            r"#tokens: (?<n>\d+), K size: (?<k>[\d.]+) GB, V size: (?<v>[\d.]+) GB",
            r"#tokens: (?<n>\d+), KV size: (?<kv>[\d.]+) GB",
        ],
        read: kv_cache,
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
        ],
        read: |r, c| {
            last(&mut r.facts.running_limit, whole(c, "n"), r.line);
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
        forms: &[r"(?:elapsed=|Time elapsed: )[\d.]+ s[.,].*mem usage=(?<gb>-?[\d.]+) GB"],
        read: |r, c| {
            if let Some(gb) = real(c, "gb") {
                r.memory("CUDA graphs", gb);
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

fn kv_cache(r: &mut Reading<'_>, c: &Found<'_>) {
    if let Some(n) = whole(c, "n") {
        r.pool(n);
    }
    let size = real(c, "kv").or_else(|| Some(real(c, "k")? + real(c, "v")?));
    if let Some(gb) = size {
        // Sums of two figures of two decimals carry binary dust.
        r.kv_memory((gb * 100.0).round() / 100.0);
    }
}
