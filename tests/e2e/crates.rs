//! The workspace's crates depend on each other in one direction only.

use std::collections::BTreeSet;
use std::process::Command;

/// Who may depend on whom, development dependencies included.
const EDGES: &[(&str, &[&str])] = &[
    ("inferlint-schema", &[]),
    ("inferlint-recorder", &["inferlint-schema"]),
    ("inferlint-analyzer", &["inferlint-schema"]),
    ("inferlint-fixtures", &["inferlint-schema"]),
    ("inferlint-tests", &["inferlint-schema", "inferlint-fixtures"]),
];

#[test]
fn crates_depend_in_one_direction() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .output()
        .expect("run cargo metadata");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("its JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    let known: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(ours, known);
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let allowed = EDGES.iter().find(|(from, _)| *from == name).expect("a known crate").1;
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let to = dependency["name"].as_str().expect("a name");
            assert!(!ours.contains(to) || allowed.contains(&to), "{name} depends on {to}");
        }
    }
}
