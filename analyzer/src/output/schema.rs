//! `docs/results.schema.json` says what the results document is: it is printed from here, and every
//! document that the tests make is held against it.

use super::{Judged, json};
use crate::engine::ENGINES;
use crate::finding::Status;
use crate::limit::Tone;
use crate::load::{self, Inputs};
use crate::tripwire::{TRIPWIRES, example, judge};
use serde_json::{Value, json};
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results.schema.json");

const STATUSES: [Status; 6] = [
    Status::Pass,
    Status::Warn,
    Status::Fail,
    Status::Unknown,
    Status::NotApplicable,
    Status::Accepted,
];

/// An object with exactly these keys.
fn object(keys: &[(&str, &str, Value)]) -> Value {
    let described = |(key, meaning, schema): &(&str, &str, Value)| {
        let mut schema = schema.clone();
        if !meaning.is_empty() {
            schema["description"] = (*meaning).into();
        }
        ((*key).to_owned(), schema)
    };
    json!({
        "type": "object",
        "properties": keys.iter().map(described).collect::<serde_json::Map<_, _>>(),
        "required": keys.iter().map(|(key, ..)| *key).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

fn list(items: &Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn schema() -> Value {
    let text = json!({ "type": "string" });
    let maybe = json!({ "type": ["string", "null"] });
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let engines: Vec<Value> =
        ENGINES.iter().map(|engine| engine.name.into()).chain([Value::Null]).collect();
    let codes: Vec<&str> = TRIPWIRES.iter().map(|tripwire| tripwire.code).collect();
    let causes = json!({ "type": ["string", "null"], "pattern": "^T[0-9]+$" });
    let tones = [Tone::Limit, Tone::Note, Tone::Ok].map(Tone::key);
    let scope = object(&[
        (
            "point",
            "The load point; null: the run as a whole, or a run without points.",
            maybe.clone(),
        ),
        ("source", "The source or group of replicas; null: the only one.", maybe.clone()),
    ]);
    let verdict = object(&[
        ("tripwire", "Its permanent code.", json!({ "enum": codes })),
        ("name", "Its name.", text.clone()),
        ("status", "", json!({ "enum": STATUSES.map(Status::key) })),
        ("scope", "What it speaks of.", scope.clone()),
        ("message", "One or two sentences with the numbers.", text.clone()),
        ("evidence", "The numbers it rests on, by names of its own.", json!({ "type": "object" })),
        ("explained_by", "Code of the verdict of the same scope that causes this one.", causes),
    ]);
    let limit = object(&[
        ("key", "Its kind: cache, queue, concurrency, server.", text.clone()),
        ("title", "What it says, in a few words.", text.clone()),
        ("text", "The numbers, and where each comes from.", text.clone()),
        (
            "tone",
            "limit: it held the run back; ok: it did not; note: to be known.",
            json!({ "enum": tones }),
        ),
        ("scope", "What it speaks of.", scope),
    ]);
    let point = object(&[
        ("point", "Its name.", text.clone()),
        ("params", "What was asked: concurrency, num_prompts, output_len…", texts),
    ]);
    let run = object(&[
        (
            "run",
            "The input as it was named; \"comparison\" for what concerns several starts.",
            text.clone(),
        ),
        ("run_id", "Equal on all hosts of one run.", maybe.clone()),
        ("sources", "Names of what was read.", list(&text)),
        ("engine", "", json!({ "enum": engines })),
        ("engine_version", "", maybe),
        ("points", "The load points that have names, in order.", list(&point)),
        ("verdicts", "", list(&verdict)),
        (
            "limits",
            "What limited the run: at most three a point, the most decisive first.",
            list(&limit),
        ),
        ("facts", "Reserved.", json!({ "type": "object" })),
        ("notes", "What a reader should know about the input itself.", list(&text)),
    ]);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Results of inferlint-analyze check --format json",
    });
    let document = object(&[
        (
            "schema",
            "The form; a change that breaks readers changes its number.",
            json!({ "const": json::SCHEMA }),
        ),
        ("analyzer", "Version of the analyzer.", text),
        ("runs", "One entry an input.", list(&run)),
    ]);
    if let (Some(schema), Value::Object(document)) = (schema.as_object_mut(), document) {
        schema.extend(document);
    }
    schema
}

/// What in `value` does not fit `schema`, for the words that [`schema`] uses.
fn misfits(schema: &Value, value: &Value, at: &str, out: &mut Vec<String>) {
    let known = [
        "$schema",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "pattern",
        "additionalProperties",
    ];
    for word in schema.as_object().unwrap().keys() {
        assert!(known.contains(&word.as_str()), "{word} is not checked");
    }
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null => vec![name.into()],
        one => vec![one.clone()],
    };
    if !types.iter().any(|ty| ty == name) {
        out.push(format!("{at}: {name}, not {types:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        out.push(format!("{at}: {value}"));
    }
    if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
        out.push(format!("{at}: {value} is none of {}", schema["enum"]));
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str())
        && !regex::Regex::new(pattern).unwrap().is_match(text)
    {
        out.push(format!("{at}: {text}"));
    }
    for (i, item) in value.as_array().into_iter().flatten().enumerate() {
        misfits(&schema["items"], item, &format!("{at}[{i}]"), out);
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        if value.get(key.as_str().unwrap()).is_none() {
            out.push(format!("{at}: no {key}"));
        }
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Null) => {}
            (Value::Null, Value::Bool(_)) => out.push(format!("{at} is not known")),
            (Value::Null, others) => misfits(others, value, &at, out),
            (schema, _) => misfits(schema, value, &at, out),
        }
    }
}

fn fits(schema: &Value, document: &Value) {
    let mut out = Vec::new();
    misfits(schema, document, "", &mut out);
    assert!(out.is_empty(), "{}\n{document:#}", out.join("\n"));
}

#[test]
fn the_schema_is_current() {
    let current = format!("{:#}\n", schema());
    if std::env::var_os("INFERLINT_BLESS").is_some() {
        std::fs::write(PAGE, &current).unwrap();
        return;
    }
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        page == current,
        "docs/results.schema.json is out of date: INFERLINT_BLESS=1 cargo test"
    );
}

#[test]
fn results_of_every_example_fit() {
    let schema = schema();
    for evidence in example::all() {
        let run = example::run(evidence);
        let findings = judge(&run, TRIPWIRES);
        fits(&schema, &json::document(&[Judged { run: Some(&run), findings }]));
    }
    fits(&schema, &json::document(&[Judged { run: None, findings: Vec::new() }]));
}

#[test]
fn results_of_the_recorded_bundles_fit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/bundles");
    let mut seen = 0;
    for engine in std::fs::read_dir(folder).unwrap().flatten() {
        for bundle in std::fs::read_dir(engine.path()).into_iter().flatten().flatten() {
            if bundle.path().extension().is_none_or(|e| e != "ilb") {
                continue;
            }
            let inputs = Inputs { paths: vec![bundle.path()], ..Inputs::default() };
            let runs = load::open(&inputs).unwrap();
            let findings = judge(&runs[0], TRIPWIRES);
            fits(&schema(), &json::document(&[Judged { run: Some(&runs[0]), findings }]));
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn what_does_not_fit_is_seen() {
    let good = json::document(&[Judged { run: None, findings: Vec::new() }]);
    for (key, bad) in [
        ("engine", json!("other")),
        ("notes", json!([1])),
        ("verdicts", json!([{ "tripwire": "T1" }])),
        ("extra", json!(1)),
    ] {
        let mut document = good.clone();
        document["runs"][0][key] = bad;
        let mut out = Vec::new();
        misfits(&schema(), &document, "", &mut out);
        assert!(!out.is_empty(), "{key}");
    }
}
