//! The evidence itself: what the input holds, and what it does not.

use crate::evidence::{Account, Form, Recording, Run, Source};
use crate::number::{self, bytes};
use crate::report::shown::Shown;
use inferlint_schema::container::{Seal, Segment};
use maud::{Markup, html};

/// Most rows of a table.
const ROWS: usize = 64;

/// The evidence of every run.
pub(in crate::report) fn section(runs: &[&Run]) -> Markup {
    html! {
        section aria-labelledby="evidence" {
            h2 id="evidence" { "The evidence" }
            @for run in runs { (of(run)) }
        }
    }
}

fn of(run: &Run) -> Markup {
    html! {
        h3 { (super::head::input(run)) ", " (form(run.form)) }
        @if run.sources.iter().any(read) { (sources(run)) }
        @if !run.logs.is_empty() { (logs(run)) }
        @if let Some(account) = &run.account { (machine(account)) (file(account)) (gaps(account)) (kinds(account)) }
        @if !run.notes.is_empty() {
            ul {
                @for note in run.notes.iter().take(ROWS) { li { (Shown::new(note)) } }
                @if run.notes.len() > ROWS {
                    li { (number::count((run.notes.len() - ROWS) as f64)) " more" }
                }
            }
        }
    }
}

fn form(form: Form) -> &'static str {
    match form {
        Form::Bundle => "an evidence bundle",
        Form::Folder => "a run folder",
        Form::Loose => "loose files",
    }
}

/// True for a source with readings; a log is a source too.
fn read(source: &Source) -> bool {
    !source.full.is_empty() || source.summed.is_some()
}

fn sources(run: &Run) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Metrics that were read" {
            table.full.stacked role="table" {
                caption { "Metrics that were read" }
                (head(&READ))
                tbody role="rowgroup" {
                    @for source in run.sources.iter().filter(|source| read(source)).take(ROWS) {
                        (row(&Shown::name(&source.name), &source.role, &source.full))
                        @if let Some(summed) = &source.summed {
                            (row(&Shown::name(&format!("{} (sums over replicas)", source.name)), &source.role, summed))
                        }
                    }
                }
            }
        }
    }
}

fn row(name: &Shown, role: &str, recording: &Recording) -> Markup {
    let many = recording.len() > 2;
    let pause = recording
        .times()
        .windows(2)
        .filter_map(|w| Some(w.get(1)?.saturating_sub(*w.first()?)))
        .max();
    let mut durations: Vec<u64> =
        recording.durations().iter().copied().filter(|d| *d > 0).collect();
    durations.sort_unstable();
    let median = durations.get(durations.len() / 2);
    let seconds = |ns: Option<i64>| match ns.filter(|_| many) {
        Some(ns) => number::seconds(ns, 2),
        None => "—".into(),
    };
    let took = median.map_or_else(
        || "—".to_owned(),
        |ns| format!("{} ms", number::grouped(*ns as f64 / 1e6, 1)),
    );
    let cells = [
        Shown::name(role),
        Shown::name(&number::count(recording.len() as f64)),
        Shown::name(&number::count(recording.columns().len() as f64)),
        Shown::name(&seconds(recording.interval())),
        Shown::name(&seconds(pause)),
        Shown::name(&took),
    ];
    stacked(&READ, name, &cells)
}

/// A column's name, and whether it holds numbers.
type Column = (&'static str, bool);

const READ: [Column; 7] = [
    ("source", false),
    ("role", false),
    ("readings", true),
    ("series", true),
    ("interval", true),
    ("longest pause", true),
    ("median reading took", true),
];

const GAPS: [Column; 5] =
    [("what", false), ("count", true), ("from (s)", true), ("to (s)", true), ("why", false)];

/// The head of a table whose rows stand in blocks where the page is narrow.
fn head(columns: &[Column]) -> Markup {
    html! {
        thead role="rowgroup" { tr role="row" {
            @for (column, number) in columns {
                th role="columnheader" scope="col" class=[number.then_some("n")] { (column) }
            }
        } }
    }
}

/// A row of such a table: each cell says its column, which only the narrow page shows.
fn stacked(columns: &[Column], name: &Shown, cells: &[Shown]) -> Markup {
    html! {
        tr role="row" {
            th role="rowheader" scope="row" { (name) }
            @for ((column, number), cell) in columns.iter().skip(1).zip(cells) {
                td role="cell" class=[number.then_some("n")] {
                    span.label aria-hidden="true" { (column) } span { (cell) }
                }
            }
        }
    }
}

fn logs(run: &Run) -> Markup {
    html! {
        table {
            caption { "Logs" }
            thead { tr { th scope="col" { "log" } th.n scope="col" { "size" } th.n scope="col" { "lines" } } }
            tbody {
                @for log in run.logs.iter().take(ROWS) {
                    tr {
                        th scope="row" { (Shown::name(&log.name)) }
                        td.n { (bytes(log.bytes)) }
                        td.n { (number::count(log.server.facts.lines as f64)) }
                    }
                }
            }
        }
    }
}

/// What it ran on.
fn machine(account: &Account) -> Markup {
    let machine = account.machine();
    html! {
        @if !machine.is_empty() {
            table.keys {
                caption { "The machine" }
                thead.sr { tr { th scope="col" { "what" } th scope="col" { "value" } } }
                tbody { @for (what, words) in &machine { (fact(what, words)) } }
            }
        }
    }
}

/// The file: who wrote it, whether it is whole, and what was masked.
fn file(account: &Account) -> Markup {
    let unpacked: u64 = account.kinds.values().map(|(_, bytes)| bytes).sum();
    let end = account.file.segments.iter().find_map(|segment| segment.end.as_ref());
    let size = format!("{}, {} unpacked", bytes(account.file.bytes), bytes(unpacked));
    html! {
        table.keys {
            caption { "The file" }
            thead.sr { tr { th scope="col" { "what" } th scope="col" { "value" } } }
            tbody {
                @if let Some(session) = &account.session {
                    (fact("recorded by", &format!("{} {}", session.writer, session.command)))
                    (fact("bundle id", &session.bundle_id))
                }
                (fact("size", &size))
                @for (i, segment) in account.file.segments.iter().take(ROWS).enumerate() {
                    (fact(if i == 0 { "seal" } else { "seal of what was added" }, &seal(segment)))
                }
                (fact("masked before writing", &masked(account)))
                @if let Some((cpu, end)) = end.and_then(|end| Some((end.cpu_ns?, end))) {
                    (fact("the recorder itself", &format!(
                        "{} s of CPU time{}",
                        number::grouped(cpu as f64 / 1e9, 2),
                        end.max_rss_bytes.map_or(String::new(), |rss| format!(", {} of memory", bytes(rss)))
                    )))
                }
            }
        }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { tr { th scope="row" { (name) } td { (Shown::new(value)) } } }
}

fn masked(account: &Account) -> String {
    let masked = account.masked();
    let total: u64 = masked.values().sum();
    if total == 0 {
        return "nothing".into();
    }
    let rules: Vec<String> = masked.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    format!("{}: {}", number::plural(total as f64, "value"), rules.join(", "))
}

fn seal(segment: &Segment) -> String {
    let seal = match segment.seal {
        Seal::Sealed => "sealed, and unchanged since",
        Seal::Broken => "broken: the bytes are not those that were sealed",
        Seal::Missing => "none: the recorder was stopped before it could",
    };
    let digest = segment.sha256.as_deref().filter(|_| segment.seal == Seal::Sealed);
    digest.map_or_else(|| seal.to_owned(), |digest| format!("{seal}; SHA-256 {digest}"))
}

fn gaps(account: &Account) -> Markup {
    if account.gaps.is_empty() {
        return html! { p.soft { "The recorder reported no gap." } };
    }
    let left = account.more_gaps + account.gaps.len().saturating_sub(ROWS) as u64;
    html! {
        div.scroll tabindex="0" role="region" aria-label="Gaps" {
            table.full.stacked role="table" {
                caption { "Gaps: what was not recorded" }
                (head(&GAPS))
                tbody role="rowgroup" {
                    @for gap in account.gaps.iter().take(ROWS) {
                        (stacked(&GAPS, &Shown::name(&gap.what), &[
                            Shown::name(&number::count(gap.count as f64)),
                            Shown::name(&number::grouped(gap.from_t as f64 / 1e9, 1)),
                            Shown::name(&number::grouped(gap.to_t as f64 / 1e9, 1)),
                            Shown::new(&gap.why),
                        ]))
                    }
                }
            }
        }
        @if left > 0 { p.soft { (number::count(left as f64)) " more gaps are left out here." } }
    }
}

fn kinds(account: &Account) -> Markup {
    html! {
        details.data {
            summary { "Records by kind" }
            table {
                thead { tr { th scope="col" { "kind" } th.n scope="col" { "records" } th.n scope="col" { "unpacked" } } }
                tbody {
                    @for (kind, (records, size)) in account.kinds.iter().take(ROWS) {
                        tr {
                            th scope="row" { (Shown::name(kind)) }
                            td.n { (number::count(*records as f64)) }
                            td.n { (bytes(*size)) }
                        }
                    }
                }
            }
        }
    }
}
