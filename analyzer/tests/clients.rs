//! Result files of load tools, recorded against a small server that counted what it answered: the
//! load tool's requests and tokens are the server's.
//!
//! They are looked for beside the workspace, or where `INFERLINT_RECORDED_CLIENTS` says.

use inferlint_analyzer::load::{self, Inputs, Loose};
use inferlint_analyzer::tripwire::{self, TRIPWIRES};
use std::path::{Path, PathBuf};

/// A tool's folder, its result file, and what T15 says of it.
const RUNS: [(&str, &str, &str); 3] = [
    (
        "aiperf",
        "artifacts/profile_export_aiperf.json",
        "client and server agree: 27 requests, 384 output tokens, and 3 untimed requests of its own",
    ),
    ("guidellm", "benchmarks.json", "client and server agree: 28 requests, 448 output tokens"),
    (
        "inference-perf",
        "reports/summary_lifecycle_metrics.json",
        "client and server agree: 28 requests, 453 output tokens",
    ),
];

#[test]
fn what_a_tool_saved_is_what_its_server_counted() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/recorded-clients");
    let root = std::env::var_os("INFERLINT_RECORDED_CLIENTS").map_or(beside, PathBuf::from);
    let scratch = tempfile::tempdir().unwrap();
    for (tool, result, says) in RUNS {
        let after = root.join(tool).join("fake_server_metrics.txt");
        let Ok(text) = std::fs::read_to_string(&after) else {
            println!("skipped: no recorded result of {tool} at {}", root.display());
            continue;
        };
        // The server was started for this load: its counters began at 0.
        let before = scratch.path().join("before.prom");
        let zero = |line: &str| match line.rsplit_once(' ') {
            Some((series, _)) if !line.starts_with('#') => format!("{series} 0\n"),
            _ => format!("{line}\n"),
        };
        std::fs::write(&before, text.lines().map(zero).collect::<String>()).unwrap();
        let loose = Loose {
            before: Some(before),
            after: Some(after),
            result: Some(root.join(tool).join(result)),
            ..Loose::default()
        };
        let runs = load::open(&Inputs { loose, ..Inputs::default() }).unwrap();
        let findings = tripwire::judge(runs.first().unwrap(), TRIPWIRES);
        let found = findings.iter().find(|finding| finding.tripwire == "T15").unwrap();
        assert_eq!((found.status.key(), found.message.as_str()), ("pass", says), "{tool}");
    }
}
