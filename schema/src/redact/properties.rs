//! What holds for every text, whatever the rules are.

use super::{Lines, Masker, RULES, Seeds};
use crate::limits::Limits;
use crate::prom;
use crate::record::{File, Note, Record, Text};
use crate::wire::{self, Item};
use proptest::prelude::*;
use regex::Regex;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

fn seeds() -> Seeds {
    let mut seeds = Seeds::default();
    seeds.secret(b"sword&fish");
    seeds.user(b"jdoe");
    seeds.host(b"gpu-17.corp.example");
    for word in ["zanzibar", "keyword", "user", "-", "1"] {
        seeds.word(word.as_bytes());
    }
    seeds
}

/// A fresh masker that knows the seeds.
fn masker() -> Masker {
    static MASKER: LazyLock<Masker> = LazyLock::new(|| Masker::new(seeds()));
    MASKER.clone()
}

/// Texts made of the rules' own examples, cut and glued anywhere, and of the characters that rules
/// look at.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let examples: Vec<&'static str> = RULES
        .iter()
        .flat_map(|rule| {
            let cases = rule.cases();
            let masked = cases.masks.iter().flat_map(|(line, masked)| [*line, *masked]);
            masked.chain(cases.keeps.iter().copied()).collect::<Vec<_>>()
        })
        .collect();
    let cut = (0..examples.len(), any::<prop::sample::Index>(), any::<prop::sample::Index>())
        .prop_map(move |(i, from, to)| {
            let bytes = examples[i].as_bytes();
            let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
            bytes[from.min(to)..from.max(to)].to_vec()
        });
    let piece = prop_oneof![
        4 => cut,
        2 => "[-a-zA-Z0-9_=:;,'\"<>@/&?{}()\\[\\]. \\\\\n]{0,8}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The value's structure: kinds and counts, without what strings and numbers say.
fn structure(raw: &[u8]) -> Vec<String> {
    let mut at = 0;
    let mut found = Vec::new();
    while at < raw.len() {
        let (item, next) = wire::step(raw, at).unwrap();
        found.push(match item {
            Item::Scalar => format!("{:?}", &raw[at..next]),
            Item::Str { .. } => "text".to_owned(),
            other => format!("{other:?}"),
        });
        at = next;
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn masking_twice_is_masking_once(text in text()) {
        let mut masker = masker();
        let once = masker.text(&text).into_owned();
        let twice = masker.text(&once).into_owned();
        prop_assert_eq!(shown(&twice), shown(&once), "of {}", shown(&text));
        let feeds = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        prop_assert_eq!(feeds(&once), feeds(&text));
        prop_assert!(!masker.counts().contains_key("unreadable"), "{}", shown(&text));
    }

    #[test]
    fn line_by_line_is_the_same_as_whole(text in text()) {
        let whole = masker().text(&text).into_owned();
        let mut masker = masker();
        let mut lines = Lines::default();
        let mut pieces = Vec::new();
        for line in text.split_inclusive(|b| *b == b'\n') {
            pieces.extend(masker.lines(&mut lines, line).into_owned());
        }
        prop_assert_eq!(shown(&pieces), shown(&whole));
    }

    #[test]
    fn no_seed_survives(before in text(), after in text()) {
        let text = [&before[..], b" sword&fish zanZIBAR ", &after].concat();
        let masked = masker().text(&text).into_owned();
        prop_assert!(!shown(&masked).contains("sword&fish"), "{}", shown(&masked));
        prop_assert!(!shown(&masked).contains("zanZIBAR"), "{}", shown(&masked));
    }

    #[test]
    fn no_form_of_a_seed_survives(before in text(), pad in "[a-z]{0,3}") {
        let base64 = |text: &str| {
            let mut out = String::new();
            for group in text.as_bytes().chunks(3) {
                let bits = group.iter().fold(0_u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - group.len()));
                for i in 0..=group.len() {
                    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                    out.push(char::from(letters[(bits >> (18 - 6 * i) & 63) as usize]));
                }
            }
            out
        };
        let encoded = base64(&format!("{pad}sword&fish"));
        for form in ["sword%26fish", "sword\\&fish", "73776f72642666697368", &encoded] {
            let text = [&before[..], b" ", form.as_bytes(), b" end"].concat();
            let masked = shown(&masker().text(&text));
            prop_assert!(!masked.contains(form), "{form}: {masked}");
        }
    }

    #[test]
    fn arguments_masked_twice_are_masked_once(argv in prop::collection::vec(text(), 0..5)) {
        let argv: Vec<Text> = argv.into_iter().map(Text::from).collect();
        let mut masker = masker();
        let once = masker.argv(&argv);
        prop_assert_eq!(once.len(), argv.len());
        prop_assert_eq!(masker.argv(&once), once);
    }

    #[test]
    fn a_masked_record_keeps_its_structure(texts in prop::collection::vec(text(), 6)) {
        let string = |i: usize| shown(&texts[i]);
        let records = [
            Record::from(Note {
                t: 7,
                what: "note".into(),
                key: Some(string(0)),
                value: Text::from(&texts[1][..]),
                by: "user".into(),
            }),
            Record::from(File {
                t: 1 << 40,
                src: None,
                id: 3,
                name: Text::from(&texts[2][..]),
                what: "result".into(),
                media: None,
                size: 5,
                size_before: Some(0),
                sha256: None,
                modified_ns: None,
                by: string(3),
                part: 0,
                last: true,
                cut: Some(false),
                body: Some(serde_bytes::ByteBuf::from(texts[4].clone())),
            }),
        ];
        for record in records {
            let mut raw = Vec::new();
            record.encode(&mut raw).unwrap();
            let mut masker = masker();
            let masked = masker.record(&raw).into_owned();
            prop_assert_eq!(wire::measure(&masked, 0, &Limits::default()).unwrap(), masked.len());
            prop_assert_eq!(structure(&masked), structure(&raw));
            prop_assert_eq!(masker.record(&masked).into_owned(), masked);
        }
    }

    #[test]
    fn any_bytes_pass_as_a_record_without_panic(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        masker().record(&raw);
        masker().text(&raw);
    }
}

#[test]
fn hostile_lines_end_soon() {
    for piece in [
        "key=[",
        "key={'",
        "prompt=['",
        "key=\\'",
        "cookie: ",
        "\"cookie: ",
        "--api-key a ",
        "user-1",
        "http://",
        "a@b.c ",
        "1.2.3.4",
        "::",
        "-----BEGIN PRIVATE KEY-----",
        "<secret-1>",
        "/home/",
        "wandb ",
        "docker login -p",
        "mysql ",
        "sword&fish",
        "a=",
        "\\\"",
        "machine a ",
        "secret ",
    ] {
        let line = piece.repeat((16 << 10) / piece.len());
        let begun = cpu_time();
        masker().text(line.as_bytes());
        masker().argv(&[Text::from(&line[..]), Text::from(&line[..])]);
        let took = cpu_time().saturating_sub(begun);
        assert!(took.as_secs() < 20, "{piece} took {took:?}");
    }
}

/// How long this thread has had a CPU: time that a loaded machine gives to others is not the rules'.
fn cpu_time() -> std::time::Duration {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let ns = figures.split(' ').next().and_then(|ns| ns.parse().ok());
    std::time::Duration::from_nanos(ns.unwrap())
}

/// Recorded runs beside the workspace, or where `INFERLINT_RECORDED` says.
fn recorded(extension: &str) -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/recorded");
    let folder = std::env::var_os("INFERLINT_RECORDED").map_or(beside, PathBuf::from);
    let mut found = Vec::new();
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(extension) {
                found.push(path);
            }
        }
    }
    if found.is_empty() {
        println!("skipped: no recorded {extension} files at {}", folder.display());
    }
    found
}

#[test]
fn recorded_series_keep_their_names_and_values() {
    for path in recorded(".prom") {
        let text = std::fs::read(&path).unwrap();
        let masked = Masker::new(seeds_of_a_container()).text(&text).into_owned();
        let facts = |text: &[u8]| -> Vec<(String, String)> {
            let samples = prom::parse(text).samples;
            samples.iter().map(|s| (shown(s.series), shown(s.value))).collect()
        };
        assert_eq!(facts(&masked), facts(&text), "{}", path.display());
    }
}

/// Names as containers give them: none of them may touch what the engines print.
fn seeds_of_a_container() -> Seeds {
    let mut seeds = Seeds::default();
    for name in ["root", "vllm", "sglang", "model", "ray", "cuda", "metrics"] {
        seeds.user(name.as_bytes());
        seeds.host(name.as_bytes());
    }
    seeds.host(b"sglang-0");
    seeds
}

#[test]
fn recorded_logs_keep_their_numbers_and_settings() {
    let fact = Regex::new(
        r#"([A-Za-z_#][A-Za-z0-9_# -]*)['"]?\s*[=:]\s*['"]?(-?[0-9][0-9.,eE+-]*|None|True|False|null|true|false|auto|EMPTY)"#,
    )
    .unwrap();
    for path in recorded(".log") {
        let text = std::fs::read(&path).unwrap();
        let masked = Masker::new(seeds_of_a_container()).text(&text).into_owned();
        for (line, masked) in text.split(|b| *b == b'\n').zip(masked.split(|b| *b == b'\n')) {
            let facts = |line: &[u8]| -> Vec<String> {
                let shown = shown(line);
                let facts = fact.find_iter(&shown).map(|fact| fact.as_str());
                facts.filter(|fact| fact.matches('.').count() < 3).map(str::to_owned).collect()
            };
            let (kept, all) = (facts(masked), facts(line));
            let mut kept = kept.iter();
            for fact in &all {
                assert!(
                    kept.any(|found| found == fact),
                    "{}: {fact} is lost in\n{}",
                    path.display(),
                    shown(masked)
                );
            }
        }
    }
}

#[test]
fn recorded_results_keep_their_keys_and_numbers() {
    fn facts(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    found.push(key.clone());
                    facts(value, found);
                }
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| facts(value, found)),
            serde_json::Value::String(_) => {}
            other => found.push(other.to_string()),
        }
    }
    for path in recorded(".json") {
        let text = std::fs::read(&path).unwrap();
        let masked = Masker::new(seeds_of_a_container()).text(&text).into_owned();
        let read = |text: &[u8]| {
            let mut found = Vec::new();
            facts(&serde_json::from_slice(text).unwrap(), &mut found);
            found
        };
        assert!(read(&masked) == read(&text), "{}", path.display());
    }
}
