//! Calls that go wrong: each says what, where and what to do, and leaves the evidence alone.

use inferlint_tests::{binary, root};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const BUNDLE: &str = "fixtures/bundles/vllm-cpu-0.32/preempt.ilb";

/// Status, standard output and standard error of `inferlint-analyze`, called in `folder`.
fn analyze(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let called = Command::new(binary("inferlint-analyze").unwrap())
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (called.status.code(), text(called.stdout), text(called.stderr))
}

/// A folder with a bundle and a run folder, and the bundle's bytes.
fn evidence() -> (tempfile::TempDir, Vec<u8>) {
    let scratch = tempfile::tempdir().unwrap();
    let bundle = fs::read(root().join(BUNDLE)).unwrap();
    fs::write(scratch.path().join("run.ilb"), &bundle).unwrap();
    fs::create_dir(scratch.path().join("run")).unwrap();
    fs::write(scratch.path().join("run/bench.json"), "{}").unwrap();
    (scratch, bundle)
}

#[test]
fn no_command_writes_over_what_it_reads() {
    let (scratch, bundle) = evidence();
    let folder = scratch.path();
    for call in [
        "report run.ilb -o run.ilb --force",
        "report run.ilb -o run/../run.ilb --force",
        "report --result run/bench.json -o run/bench.json --force",
        "recover run.ilb run.ilb --force",
        "import run -o run/bench.json --force",
    ] {
        let (status, _, said) = analyze(folder, &call.split(' ').collect::<Vec<_>>());
        assert_eq!(status, Some(3), "{call}: {said}");
    }
    assert!(fs::read(folder.join("run.ilb")).unwrap() == bundle);
    assert_eq!(fs::read_to_string(folder.join("run/bench.json")).unwrap(), "{}");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 2);
}

#[test]
fn a_wrong_call_says_what_where_and_what_to_do() {
    let (scratch, _) = evidence();
    for (call, what, help) in [
        ("check nope.ilb", "nope.ilb: there is no such file or folder", "check the path"),
        ("check -", "- is standard input", "save it to a file"),
        ("check .", ".: a folder without evidence of its own", "e.g. ./run.ilb"),
        ("check --boot-log run", "run: is a folder", "name a file"),
        ("check run.ilb/x", "run.ilb/x: what stands before the last / is no folder", "check the"),
        ("verify run", "run: a folder, not a bundle", "name a bundle"),
        ("recover run a.ilb", "run: a folder, not a bundle", "name a bundle"),
        ("recover run.ilb run", "run: is a folder", "name a file"),
        ("recover run.ilb no/a.ilb", "no/a.ilb: there is no such file or folder", "check the path"),
        ("import run.ilb -o a.ilb", "run.ilb: a file, not a run folder", "name a folder"),
        ("check-log run.ilb", "run.ilb: a bundle, not a log", "inferlint-analyze check run.ilb"),
        ("boot-facts run.ilb", "run.ilb: a bundle, not a log", "extract run.ilb log"),
    ] {
        let (status, out, said) = analyze(scratch.path(), &call.split(' ').collect::<Vec<_>>());
        assert_eq!((status, out.as_str()), (Some(3), ""), "{call}: {said}");
        let mut lines = said.lines();
        let first = lines.next().unwrap_or_default();
        assert!(first.starts_with(&format!("inferlint-analyze: {what}")), "{call}: {said}");
        let second = lines.next().unwrap_or_default();
        assert!(second.starts_with("  help: ") && second.contains(help), "{call}: {said}");
        assert_eq!(lines.next(), None, "{call}: {said}");
    }
}

#[test]
fn a_log_from_standard_input_is_called_so() {
    let (scratch, _) = evidence();
    for command in ["check-log", "boot-facts"] {
        let (_, out, said) = analyze(scratch.path(), &[command, "-"]);
        assert!(out.starts_with("standard input"), "{command}: {out}{said}");
        assert!(!out.contains("ready                 no\n"), "{out}");
    }
}
