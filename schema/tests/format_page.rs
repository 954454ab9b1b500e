//! `docs/format.md` says what the code says: its tables are printed from the record kinds.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use inferlint_schema::limits::Limits;
use inferlint_schema::record::{KINDS, Key};
use std::fmt::Write as _;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/format.md");
const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/read_bundle.py");

/// The Rust type of a key in MessagePack's words.
fn wire_type(ty: &str) -> String {
    let ty = ty.replace(' ', "");
    let inner = |outer: &str| ty.strip_prefix(outer).and_then(|t| t.strip_suffix('>'));
    if let Some(ty) = inner("Option<") {
        return wire_type(ty);
    }
    if let Some(ty) = inner("Vec<") {
        return format!("list of {}", wire_type(ty));
    }
    if let Some(pair) = inner("BTreeMap<") {
        let (key, value) = pair.split_once(',').expect("a map has two types");
        return format!("map {} → {}", wire_type(key), wire_type(value));
    }
    match ty.as_str() {
        "u16" | "u32" | "u64" | "i64" => "int".to_owned(),
        "f64" => "float or int".to_owned(),
        "bool" => "bool".to_owned(),
        "String" => "str".to_owned(),
        "Text" => "str or bin".to_owned(),
        "Bytes" => "bin".to_owned(),
        "Values" => "list of int or float".to_owned(),
        "Bounds" => "map {soft?, hard?}: int, absent is unlimited".to_owned(),
        "Family" => "map {type?, help?, unit?}".to_owned(),
        "GpuReading" => "map {index, t, used_bytes?, pids?, foreign_pids?}".to_owned(),
        other => panic!("no MessagePack name for {other}"),
    }
}

fn row(key: &Key) -> String {
    let doc = key.doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let (meaning, absent) = doc.split_once("Absent: ").unwrap_or((&doc, "—"));
    let optional = if key.ty.starts_with("Option") { "optional " } else { "" };
    format!(
        "| `{}` | {optional}{} | {} | {} |\n",
        key.name,
        wire_type(key.ty),
        meaning.trim().replace('|', "\\|"),
        absent.trim_end_matches('.')
    )
}

fn kinds() -> String {
    let mut out = String::new();
    for kind in KINDS {
        let doc = kind.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = write!(out, "### `{}`\n\n{doc}\n\n", kind.name);
        out += "| key | type | meaning and unit | absent means |\n|---|---|---|---|\n";
        out.extend(kind.keys.iter().map(row));
        out.push('\n');
    }
    out.trim_end().to_owned() + "\n"
}

fn limits() -> String {
    let limits = format!("{:?}", Limits::default());
    let body = limits.trim_start_matches("Limits { ").trim_end_matches(" }");
    let mut out = "| limit | value |\n|---|---|\n".to_owned();
    for pair in body.split(", ") {
        let (name, value) = pair.split_once(": ").expect("a field has a value");
        let _ = writeln!(out, "| `{name}` | {value} |");
    }
    out
}

/// The page with what stands between the markers of `name` replaced.
fn with(page: &str, name: &str, content: &str) -> String {
    let begin = page.find(&format!("<!-- begin generated: {name}")).expect("a begin marker");
    let begin = begin + page[begin..].find('\n').expect("a line") + 1;
    let end = page.find(&format!("<!-- end generated: {name}")).expect("an end marker");
    format!("{}{content}{}", &page[..begin], &page[end..])
}

#[test]
fn the_page_is_current() {
    let page = std::fs::read_to_string(PAGE).expect("docs/format.md");
    let current = with(&with(&page, "kinds", &kinds()), "limits", &limits());
    if std::env::var_os("INFERLINT_BLESS").is_some() {
        std::fs::write(PAGE, &current).expect("write docs/format.md");
        return;
    }
    assert!(page == current, "docs/format.md is out of date: INFERLINT_BLESS=1 cargo test");
}

#[test]
fn the_page_shows_the_reader_that_is_tested() {
    let page = std::fs::read_to_string(PAGE).expect("docs/format.md");
    let reader = std::fs::read_to_string(Path::new(READER)).expect("docs/read_bundle.py");
    assert!(page.contains(reader.trim_end()));
}
