//! Recorded runs: a folder and the bundle made of it are judged alike, and the bundle verifies.
//!
//! The runs are looked for beside the workspace, or where `INFERLINT_RECORDED` says.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may panic, and says when it skips"
)]

use inferlint_analyzer::load::{self, Inputs};
use inferlint_analyzer::tripwire::{self, TRIPWIRES};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tripwires whose verdict may differ: a bundle made of whole scrapes shows every replica, and the
/// processes of a folder are read only from a bundle.
const MAY_DIFFER: [&str; 4] = ["T2", "T9", "T13", "T14"];

fn folders() -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/recorded");
    let root = std::env::var_os("INFERLINT_RECORDED").map_or(beside, PathBuf::from);
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let mut found: Vec<PathBuf> = inside(&root).iter().flat_map(|engine| inside(engine)).collect();
    found.retain(|folder| folder.join("after.snapshot.json").is_file());
    found.sort();
    if found.is_empty() {
        println!("skipped: no recorded runs at {}", root.display());
    }
    found
}

/// Status by tripwire.
fn judged(path: &Path) -> BTreeMap<&'static str, &'static str> {
    let inputs =
        Inputs { paths: vec![path.to_owned()], requested: Some(32.0), ..Inputs::default() };
    let runs = load::open(&inputs).unwrap();
    let findings = tripwire::judge(&runs[0], TRIPWIRES);
    findings.iter().map(|finding| (finding.tripwire, finding.status.key())).collect()
}

#[test]
fn a_bundle_made_of_a_folder_is_judged_as_the_folder_is() {
    let scratch = tempfile::tempdir().unwrap();
    for folder in folders() {
        let bundle = scratch.path().join("run.ilb");
        let analyze = |arguments: &[&Path]| {
            let program = env!("CARGO_BIN_EXE_inferlint-analyze");
            Command::new(program).args(arguments).output().unwrap()
        };
        let arguments =
            ["import".as_ref(), folder.as_path(), "--force".as_ref(), "-o".as_ref(), &bundle];
        let imported = analyze(&arguments);
        assert!(imported.status.success(), "{}: {imported:?}", folder.display());
        let verified = analyze(&["verify".as_ref(), &bundle]);
        assert!(verified.status.success(), "{}: {verified:?}", folder.display());
        let (mut of_folder, mut of_bundle) = (judged(&folder), judged(&bundle));
        for code in MAY_DIFFER {
            of_folder.remove(code);
            of_bundle.remove(code);
        }
        assert_eq!(of_folder, of_bundle, "{}", folder.display());
    }
}

#[test]
fn a_run_whose_result_file_is_lost_is_judged_by_what_its_load_tool_printed() {
    let scratch = tempfile::tempdir().unwrap();
    let printed = |folder: &Path| {
        let output = std::fs::read_to_string(folder.join("load.log")).unwrap_or_default();
        output.contains("= Serving Benchmark Result =")
    };
    for folder in folders().into_iter().filter(|folder| printed(folder)) {
        let inputs = Inputs { paths: vec![folder.clone()], ..Inputs::default() };
        let points = load::open(&inputs).unwrap().remove(0).points;
        let (saved, table) = (points[0].result.as_ref(), points[0].printed.as_ref());
        let (saved, table) = (saved.unwrap(), table.unwrap().as_ref().unwrap());
        assert_eq!(saved.unlike(table), Vec::<String>::new(), "{}", folder.display());
        assert_eq!(
            (saved.tool, saved.failed, saved.latencies.len() >= table.latencies.len()),
            (table.tool, table.failed, true)
        );

        let without = scratch.path().join(folder.file_name().unwrap());
        std::fs::create_dir(&without).unwrap();
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_stem().is_none_or(|stem| stem != "bench") {
                std::fs::copy(&path, without.join(path.file_name().unwrap())).unwrap();
            }
        }
        let (by_file, by_table) = (judged(&folder), judged(&without));
        for code in ["T8", "T10", "T15", "T24", "T39"] {
            assert_eq!(by_file[code], by_table[code], "{code} {}", folder.display());
        }
        assert_ne!(by_table["T15"], "unknown");
    }
}
