//! Text Generation Inference's log: a launcher that repeats its shards' lines.
//!
//! Forms read in the source of 3.3.7. `Connected` is the ready line; a thread of 2023 shows the
//! same order of lines for 0.9.

use super::facts::BackendRole;
use super::grammar::{Grammar, Rule, Stage, last, text, whole};

pub(crate) static TGI: Grammar = Grammar {
    engine: "tgi",
    rules: RULES,
    stages: &[
        ("Starting check and download process", Stage::Configuration),
        ("Starting shard", Stage::WeightLoading),
        ("Shard ready", Stage::EngineStart),
        ("Starting Webserver", Stage::HttpStart),
        ("Warming up model", Stage::WarmUp),
    ],
    works: |text| text.contains("Success") && text.contains("total_time="),
    work_words: &["total_time="],
    answering_is_ready: true,
    answers_prove_work: false,
    tested: &["3.3"],
};

const RULES: &[Rule] = &[
    Rule {
        anchor: "Using Attention = ",
        forms: &[r"Using Attention = (?<name>[\w-]+)"],
        read: |r, c| {
            if let Some(name) = text(c, "name") {
                r.backend(name, BackendRole::Model);
            }
        },
    },
    Rule {
        anchor: "Setting max batch total tokens to ",
        forms: &[r"max batch total tokens to (?<n>\d+)"],
        read: |r, c| {
            if let Some(n) = whole(c, "n") {
                r.pool(n);
            }
        },
    },
    Rule {
        anchor: "Maximum total tokens defaulted to ",
        forms: &[r"defaulted to (?<n>\d+)"],
        read: |r, c| last(&mut r.facts.max_model_len, whole(c, "n"), r.line),
    },
];
