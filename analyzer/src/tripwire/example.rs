//! Evidence as a short text, so that a case is data and a mutation an edit.
//!
//! Sections begin with `== `. `before`, a time in seconds, and `after` are metric readings; each
//! lists only what differs from the reading before, and `- series` for what is gone. `result`,
//! `output`, `log`, `kernel`, `exit` and `params` (one `key=value` a line) are the load tool's
//! result, its output, the server's log, the kernel's, the server's exit status and what was asked
//! of the load. `summed` turns the timed readings into a recording of sums over all replicas. The
//! load command runs from the first timed reading to the last, or as `command FROM TO` says;
//! `no command` forgets it.
//! `processes` is a saved process table, `gate WHEN clear|unread` a look at the GPUs whose reason
//! follows, and `epoch SECONDS EDGE RUNG [KEY=VALUE]…` a lifetime of the server that begins or ends.
//! `tree PID START_TICKS ARGV…` is a process of the server that was started, and `clock SECONDS` the
//! Unix time at 0.

use super::{Check, Tripwire};
use crate::boot;
use crate::client::ClientResult;
use crate::engine::Engine;
use crate::evidence::{Edges, Exit, Log, Point, Recording, Run, Scope, Source};
use crate::finding::{Finding, Status};
use inferlint_schema::prom;
use inferlint_schema::record::{Epoch, Gate, Process, Text};
use std::collections::BTreeMap;

/// Evidence and the verdict that is right on it.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) evidence: &'static str,
    pub(super) status: Status,
    /// Words the message must have.
    pub(super) says: &'static [&'static str],
}

/// An edit of one case's evidence that must change its verdict.
#[derive(Debug)]
pub(super) struct Mutation {
    pub(super) case: &'static str,
    pub(super) find: &'static str,
    pub(super) replace: &'static str,
    pub(super) becomes: Status,
}

impl Case {
    /// The finding of `tripwire` on `evidence`, a variant of the case's own.
    pub(super) fn judge(tripwire: &'static Tripwire, evidence: &str) -> Finding {
        let scope = crate::finding::FindingScope::default();
        let verdict = match tripwire.check {
            Check::Point(check) => {
                let run = run(evidence);
                let group = &run.groups()[0];
                check(&Scope { run: &run, point: &run.points[0], group })
            }
            Check::Run(check) => check(&run(evidence)),
            Check::Starts(check) => {
                check(&evidence.split("== next start").map(run).collect::<Vec<_>>())
            }
        };
        super::finding(tripwire, scope, verdict)
    }
}

/// A run from its text form.
pub(crate) fn run(text: &str) -> Run {
    let mut run = Run { name: "example".into(), ..Run::default() };
    let mut source =
        Source { name: "server".into(), role: "engine".into(), timed: true, ..Source::default() };
    let mut point = Point::default();
    let mut series: Vec<(String, f64)> = Vec::new();
    let mut summed = None;
    let mut edges = Edges::default();
    let mut t = 0;
    let (mut output, mut command, mut known_command) = (None, None, true);
    // A table that a load tool prints has `== ` in its title.
    for section in format!("\n{text}").replace("\n== ", "\n\0").split('\0').skip(1) {
        let (title, body) = section.split_once('\n').unwrap_or((section, ""));
        match title.trim() {
            "result" => point.result = Some(ClientResult::parse(body).unwrap()),
            "output" => output = Some(body.to_owned()),
            "log" => run.logs.push(Log {
                name: "server.log".into(),
                bytes: body.len() as u64,
                server: boot::read(body.as_bytes(), None).unwrap(),
                ..Log::default()
            }),
            "kernel" => run.kernel_log = Some(body.into()),
            "exit" => {
                let status = body.trim().parse().unwrap();
                run.server_exit = Some(Exit { at: None, status: Some(status), signal: None });
            }
            "params" => {
                let pairs = body.lines().filter_map(|line| line.trim().split_once('='));
                point.params = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            }
            "processes" => {
                let (processes, table) = crate::load::process_table(body);
                run.processes = processes;
                run.table = Some(table);
            }
            title if title.starts_with("gate ") => run.gates.push(gate(title, body)),
            title if title.starts_with("command ") => {
                let at =
                    |i| (title.split(' ').nth(i).unwrap().parse::<f64>().unwrap() * 1e9) as i64;
                command = Some((at(1), at(2)));
            }
            title if title.starts_with("epoch ") => source.epochs.push(epoch(title)),
            title if title.starts_with("tree ") => run.processes.push(process(title)),
            title if title.starts_with("clock ") => {
                let seconds: u64 = title.split(' ').nth(1).unwrap().parse().unwrap();
                run.wall_ns = Some(seconds * 1_000_000_000);
            }
            "no command" => known_command = false,
            "summed" => summed = Some(Recording::default()),
            reading => {
                update(&mut series, body);
                let seconds = reading.parse::<f64>().ok();
                if let Some(seconds) = seconds.map(|s| (s * 1e9) as i64) {
                    point.command.get_or_insert((seconds, seconds)).1 = seconds;
                }
                t = seconds.map_or(t, |s| (s * 1e9) as i64);
                match reading {
                    "before" => t = -250_000_000,
                    "after" => t += 250_000_000,
                    _ => assert!(seconds.is_some(), "unknown section {reading:?}"),
                }
                let target = match &mut summed {
                    Some(summed) if seconds.is_some() => summed,
                    _ => &mut source.full,
                };
                target.push(t, 0, series.iter().map(|(name, value)| (name.as_bytes(), *value)));
                match reading {
                    "before" => edges.begin = Some(source.full.len() - 1),
                    "after" => edges.end = Some(source.full.len() - 1),
                    _ => {}
                }
            }
        }
    }
    if !source.full.is_empty() || summed.is_some() {
        source.summed = summed;
        let names = source.full.names().chain(source.summed.iter().flat_map(Recording::names));
        source.engine = Engine::of_metrics(names);
        source.role = source.own_role().unwrap_or("engine").into();
        run.engine = source.engine;
        run.sources.push(source);
        point.edges.push(edges);
    }
    let of_log = run.logs.iter().find_map(|log| log.server.facts.engine);
    run.engine = run.engine.or_else(|| of_log.and_then(Engine::named));
    point.command = command.or(point.command).filter(|_| known_command);
    run.points.push(point);
    if let Some(output) = output {
        crate::load::output(&output, &mut run);
    }
    run
}

fn gate(title: &str, body: &str) -> Gate {
    let words: Vec<&str> = title.split(' ').collect();
    Gate {
        t: 0,
        when: words[1].into(),
        clear: words[2] == "clear",
        gpus: Vec::new(),
        why: Some(BTreeMap::from([("gpus".into(), body.trim().into())])),
    }
}

fn epoch(title: &str) -> Epoch {
    let words: Vec<&str> = title.split(' ').collect();
    let facts = words.iter().skip(4).map(|word| {
        let (key, value) = word.split_once('=').unwrap();
        (key.to_owned(), Text::from(value))
    });
    let facts: BTreeMap<String, Text> = facts.collect();
    Epoch {
        t: (words[1].parse::<f64>().unwrap() * 1e9) as u64,
        src: 0,
        edge: words[2].into(),
        rung: words[3].into(),
        identity: (!facts.is_empty()).then_some(facts),
        why: None,
    }
}

fn process(title: &str) -> Process {
    let words: Vec<&str> = title.split(' ').collect();
    // A shell's script is one word.
    let argv = match words.get(3..).unwrap() {
        [shell, "-c", script @ ..] => {
            [*shell, "-c", &script.join(" ")].iter().map(|w| Text::from(*w)).collect()
        }
        argv => argv.iter().map(|word| Text::from(*word)).collect(),
    };
    Process {
        t: 0,
        src: None,
        edge: "begin".into(),
        pid: words[1].parse().unwrap(),
        start_ticks: words[2].parse().unwrap(),
        ppid: None,
        title: None,
        argv: Some(argv),
        own: true,
        user: None,
        tree: "server".into(),
        cgroup: None,
        container: None,
        threads: None,
        ports: None,
        gpu_bytes: None,
    }
}

fn update(series: &mut Vec<(String, f64)>, body: &str) {
    for gone in body.lines().filter_map(|line| line.trim().strip_prefix("- ")) {
        series.retain(|(name, _)| name != gone.trim());
    }
    let lines: Vec<&str> =
        body.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("- ")).collect();
    let text = lines.join("\n") + "\n";
    let parsed = prom::parse(text.as_bytes());
    assert_eq!(parsed.refused, 0, "the example has a line that is no sample: {text}");
    for sample in parsed.samples {
        let name = String::from_utf8_lossy(sample.series).into_owned();
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, value)) => *value = sample.number,
            None => series.push((name, sample.number)),
        }
    }
}

/// The evidence of every tripwire's cases.
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    let cases = super::CASES.iter().flat_map(|(_, cases, _)| cases.iter());
    cases.map(|case| case.evidence).filter(|evidence| !evidence.contains("== next start"))
}
