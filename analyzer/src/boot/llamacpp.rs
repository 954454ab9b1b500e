//! llama.cpp's server log, builds of 2025 and 2026.
//!
//! Forms read in the sources of 4227c9be4268 (2025-08) and 0c1e57098bba (2026-10). The 2025 line
//! `HTTP server is listening` comes before the model is loaded and is not ready; in 2026 the
//! library's own lines are hidden unless verbosity is 4.

use super::grammar::{Grammar, Rule, Stage, first, last, real, text, whole};

pub(crate) static LLAMACPP: Grammar = Grammar {
    engine: "llamacpp",
    rules: RULES,
    stages: &[
        ("build: ", Stage::Configuration),
        ("loading model", Stage::WeightLoading),
        ("load_tensors:", Stage::WeightLoading),
        ("llama_context:", Stage::KvCache),
        ("llama_kv_cache", Stage::KvCache),
        ("warming up the model", Stage::WarmUp),
        ("model loaded", Stage::HttpStart),
    ],
    works: |text| {
        text.contains("processing task")
            || text.contains("launch_slot")
            || text.contains("done request: POST")
    },
    work_words: &["processing task", "launch_slot", "done request: POST"],
    answering_is_ready: true,
    answers_prove_work: false,
    tested: &[],
};

const RULES: &[Rule] = &[
    Rule {
        anchor: "build: ",
        forms: &[r"^build: (?<n>\d+) \((?<sha>\w+)\)"],
        read: |r, c| first(&mut r.facts.version, text(c, "n").map(|n| format!("b{n}")), r.line),
    },
    Rule {
        anchor: "loading model '",
        forms: &[r"loading model '(?<path>[^']+)'"],
        read: |r, c| first(&mut r.facts.model, text(c, "path").map(str::to_owned), r.line),
    },
    Rule {
        anchor: "n_slots = ",
        forms: &[r"n_slots = (?<n>\d+)"],
        read: |r, c| last(&mut r.facts.running_limit, whole(c, "n"), r.line),
    },
    Rule {
        anchor: "n_ctx_slot = ",
        forms: &[r"n_ctx_slot = (?<n>\d+)"],
        read: |r, c| first(&mut r.facts.max_model_len, whole(c, "n"), r.line),
    },
    Rule {
        anchor: "llama_kv_cache",
        forms: &[r"size = +(?<mib>[\d.]+) MiB \( *(?<cells>\d+) cells", r"llama_kv_cache"],
        read: |r, c| {
            if let Some(cells) = whole(c, "cells") {
                r.pool(cells);
            }
            if let Some(mib) = real(c, "mib") {
                r.kv_memory(mib / 1024.0);
            }
        },
    },
    Rule {
        anchor: "listening on http",
        forms: &[r"listening on (?<url>http\S+)"],
        read: |r, c| first(&mut r.facts.address, text(c, "url").map(str::to_owned), r.line),
    },
];
