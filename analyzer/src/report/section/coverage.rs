//! What was recorded of each source, and what would fill the holes.

use crate::evidence::{Form, Log, Recording, Run, SERVER_ROLES, Source};
use crate::number;
use crate::report::shown::Shown;
use maud::{Markup, html};

/// Most sources shown.
const ROWS: usize = 64;

/// What was recorded of one thing.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    /// It was, with how much.
    Recorded(String),
    /// There is nothing to record, for this reason.
    Absent(String),
    /// It was not, with what would have recorded it.
    Missing(&'static str),
    /// This source or form of input has no place for it.
    Never,
}

/// The columns, and what each would hold.
const COLUMNS: [(&str, &str); 6] = [
    ("metrics", "metrics"),
    ("log from the start", "the log from the start"),
    ("log during load", "the log during the load"),
    ("GPU", "the GPUs"),
    ("processes", "the processes"),
    ("client result", "the load tool's result"),
];

const WATCH: &str = "inferlint-record watch --url URL -o run.ilb";
const WATCH_GPU: &str = "inferlint-record watch --url URL --scrape dcgm=URL -o run.ilb";
const SERVE: &str = "inferlint-record xray --serve 'SERVER COMMAND' -o run.ilb -- LOAD COMMAND";
const LOG: &str = "inferlint-record xray --url URL --log server.log -o run.ilb -- LOAD COMMAND";
const RESULT: &str =
    "inferlint-record xray --url URL --result result.json -o run.ilb -- LOAD COMMAND";

/// The strip, a row a source.
pub(in crate::report) fn section(runs: &[&Run]) -> Markup {
    let rows: Vec<(Shown, [Cell; 6])> =
        runs.iter().flat_map(|run| rows(run, runs.len() > 1)).collect();
    html! {
        section aria-labelledby="coverage" {
            h2 id="coverage" { "What was recorded" }
            table.coverage role="table" {
                thead role="rowgroup" { tr role="row" {
                    th role="columnheader" scope="col" { "source" }
                    @for (column, _) in COLUMNS { th role="columnheader" scope="col" { (column) } }
                } }
                tbody role="rowgroup" {
                    @for (name, cells) in rows.iter().take(ROWS) {
                        tr role="row" {
                            th role="rowheader" scope="row" { (name) }
                            @for ((column, _), cell) in COLUMNS.iter().zip(cells) { (show(column, cell)) }
                        }
                    }
                }
            }
            @if rows.len() > ROWS { p.soft { (rows.len() - ROWS) " more sources are left out here." } }
            (holes(&rows))
        }
    }
}

/// `named`: rows say which run they are of.
fn rows(run: &Run, named: bool) -> Vec<(Shown, [Cell; 6])> {
    // Logs, processes and the host are columns of what was read, not rows of their own.
    let read = |source: &&Source| {
        matches!(source.kind.as_str(), "" | "exposition") && !source.role.is_empty()
    };
    let sources: Vec<&Source> = run.sources.iter().filter(read).collect();
    if sources.is_empty() {
        return vec![(super::head::input(run), cells(run, None))];
    }
    let run_name = if named { format!("{}: ", super::head::input(run)) } else { String::new() };
    let name = |source: &Source| Shown::name(&format!("{run_name}{}", source.name));
    sources.iter().map(|source| (name(source), cells(run, Some(source)))).collect()
}

fn cells(run: &Run, source: Option<&Source>) -> [Cell; 6] {
    if source.is_some_and(|source| !SERVER_ROLES.contains(&source.role.as_str())) {
        return [metrics(source), Cell::Never, Cell::Never, Cell::Never, Cell::Never, Cell::Never];
    }
    let from_start = |log: &&Log| {
        let facts = &log.server.facts;
        let says = facts.version.is_some() || facts.arguments.is_some();
        log.from_start || says || facts.ready_line.is_some()
    };
    let of_load = |cell: Cell| match cell {
        Cell::Missing(_) if run.broken_off().is_some() => Cell::Absent("no load began".into()),
        cell => cell,
    };
    [
        of_load(metrics(source)),
        log(run, from_start, SERVE),
        of_load(log(run, |log| during_load(run, log), LOG)),
        gpu(run),
        processes(run),
        of_load(result(run)),
    ]
}

fn metrics(source: Option<&Source>) -> Cell {
    let recordings = source.into_iter().flat_map(|s| std::iter::once(&s.full).chain(&s.summed));
    match recordings.map(Recording::len).sum() {
        0 => Cell::Missing(WATCH),
        readings => Cell::Recorded(number::plural(readings as f64, "reading")),
    }
}

/// `wanted`: whether a log tells of the time in question.
fn log(run: &Run, wanted: impl Fn(&&Log) -> bool, command: &'static str) -> Cell {
    let lines: u64 = run.logs.iter().filter(wanted).map(|log| log.server.facts.lines).sum();
    match (lines, run.form) {
        (0, Form::Bundle) => Cell::Missing(command),
        (0, Form::Folder) => Cell::Missing("cp server.log FOLDER/boot.log"),
        (0, Form::Loose) => Cell::Missing("inferlint-analyze report --boot-log server.log …"),
        (lines, _) => Cell::Recorded(number::plural(lines as f64, "line")),
    }
}

/// True for a log with a line from the time of a load; one without times must go on after the line
/// that says the server is ready.
fn during_load(run: &Run, log: &Log) -> bool {
    if log.times.is_empty() {
        let facts = &log.server.facts;
        return facts.ready_line.is_some_and(|ready| facts.lines > ready);
    }
    let mut loads = run.points.iter().filter_map(|point| point.command);
    loads.any(|(begin, end)| log.times.iter().any(|(_, t)| (begin..=end).contains(t)))
}

fn gpu(run: &Run) -> Cell {
    let own = |source: &Source, name: &str| source.kind == "gpu" || name.starts_with("DCGM_");
    let of = |source: &Source| source.full.names().filter(|name| own(source, name)).count();
    let series: usize = run.sources.iter().map(of).sum();
    let seen = run.gates.iter().filter(|gate| !gate.gpus.is_empty()).count();
    // A look that finds none in use without having read one has found that there is none.
    let mut none = run.gates.iter().filter(|gate| gate.clear && gate.gpus.is_empty());
    let why = none.find_map(|gate| gate.why.as_ref()?.get("gpus"));
    match (series, seen, why, run.form) {
        (0, 0, Some(why), _) => Cell::Absent(why.clone()),
        (0, 0, None, Form::Bundle) => Cell::Missing(WATCH_GPU),
        (0, 0, None, _) => Cell::Never,
        (0, looks, ..) => Cell::Recorded(number::plural(looks as f64, "look")),
        (series, ..) => Cell::Recorded(number::plural(series as f64, "metric")),
    }
}

fn processes(run: &Run) -> Cell {
    match (run.processes.len(), run.form) {
        (0, Form::Bundle) => Cell::Missing(SERVE),
        (0, _) => Cell::Never,
        (1, _) => Cell::Recorded("1 process".into()),
        (seen, _) => Cell::Recorded(number::count(seen as f64) + " processes"),
    }
}

fn result(run: &Run) -> Cell {
    let with = run.points.iter().filter(|point| point.result.is_some()).count();
    match (with, run.points.len(), run.form) {
        (0, _, Form::Bundle) => Cell::Missing(RESULT),
        (0, _, Form::Folder) => Cell::Missing("cp result.json FOLDER/bench.json"),
        (0, _, Form::Loose) => Cell::Missing("inferlint-analyze report --result result.json …"),
        (_, 1, _) => {
            let result = run.points.iter().find_map(|point| point.result.as_ref());
            let printed = result.is_some_and(|result| result.printed.is_some());
            let tool = result.map_or("", |result| result.tool);
            Cell::Recorded(format!("{tool}{}", if printed { ", as printed" } else { "" }))
        }
        (with, points, _) => Cell::Recorded(format!("{with} of {points} points")),
    }
}

fn show(column: &str, cell: &Cell) -> Markup {
    let (class, sign) = match cell {
        Cell::Recorded(_) => ("recorded", "●"),
        Cell::Missing(_) => ("missing", "○"),
        Cell::Absent(_) | Cell::Never => ("never", "–"),
    };
    html! {
        td class=(class) role="cell" {
            span.label { (column) }
            span {
                i aria-hidden="true" { (sign) }
                @match cell {
                    Cell::Recorded(what) | Cell::Absent(what) => (Shown::name(what)),
                    Cell::Missing(_) => "not recorded",
                    Cell::Never => "does not apply",
                }
            }
        }
    }
}

/// Each command that would fill a hole, with what it would record.
fn holes(rows: &[(Shown, [Cell; 6])]) -> Markup {
    let mut holes: Vec<(&str, Vec<&str>)> = Vec::new();
    for ((_, column), cell) in rows.iter().flat_map(|(_, cells)| COLUMNS.iter().zip(cells)) {
        let Cell::Missing(command) = cell else { continue };
        match holes.iter_mut().find(|(known, _)| known == command) {
            Some((_, columns)) if columns.contains(column) => {}
            Some((_, columns)) => columns.push(column),
            None => holes.push((command, vec![column])),
        }
    }
    html! {
        @if !holes.is_empty() {
            ul.fill {
                @for (command, columns) in holes {
                    li.command { span { "To record " (columns.join(", ")) ":" } code { (command) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tripwire::example;

    #[test]
    fn a_look_that_finds_no_gpu_is_no_recording_of_one() {
        for (evidence, cell) in [
            (
                "== gate before clear\nno NVIDIA GPU on this host\n",
                Cell::Absent("no NVIDIA GPU on this host".into()),
            ),
            ("== gate before unread\nthe driver does not answer\n", Cell::Missing(WATCH_GPU)),
            ("== before\nDCGM_FI_DEV_GPU_UTIL 50\n", Cell::Recorded("1 metric".into())),
            ("== before\nvllm:num_requests_running 0\n", Cell::Missing(WATCH_GPU)),
        ] {
            let mut run = example::run(evidence);
            run.form = Form::Bundle;
            assert_eq!(gpu(&run), cell, "{evidence}");
        }
    }
}
