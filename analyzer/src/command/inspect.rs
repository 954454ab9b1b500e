//! `inspect`: what a bundle or a run folder holds, what is missing and how large it is.

use crate::cli::Inspect;
use crate::error::InputError;
use crate::evidence::{Account, Run, Source};
use crate::load::{self, Inputs};
use crate::number::{count, grouped, plural};
use crate::visible::visible_lines;
use inferlint_schema::container::{Salvage, Seal};

pub(super) fn run(arguments: &Inspect) -> Result<u8, InputError> {
    let mut out = String::new();
    for path in &arguments.paths {
        let inputs = Inputs { paths: vec![path.clone()], ..Inputs::default() };
        for run in load::open(&inputs)? {
            out += &format!("{}\n", run.name);
            if let Some(account) = &run.account {
                out += &of_account(account);
            }
            out += &of_run(&run);
            out.push('\n');
        }
    }
    // Names come from the input.
    super::print(&visible_lines(&out))?;
    Ok(0)
}

/// What only the file itself tells.
fn of_account(account: &Account) -> String {
    let mut out = String::new();
    if let Some(session) = &account.session {
        out += &format!(
            "recorded by {} ({}), run {}, bundle {}\n",
            session.writer, session.command, session.run_id, session.bundle_id
        );
    }
    let raw: u64 = account.kinds.values().map(|(_, bytes)| bytes).sum();
    out += &format!(
        "{} bytes, {} records, {} bytes unpacked, {:.1} s\n",
        count(account.file.bytes as f64),
        count(account.file.records as f64),
        count(raw as f64),
        account.file.last_t.unwrap_or(0) as f64 / 1e9
    );
    out += &of_file(&account.file);
    if let Some(why) = account.broken_off() {
        out += &format!("broke off: {why}\n");
    }
    for (what, words) in account.machine() {
        out += &format!("{what}: {words}\n");
    }
    out += "records:\n";
    for (kind, (number, bytes)) in &account.kinds {
        let unknown = if account.file.unknown.contains_key(kind) {
            "  not known to this version"
        } else {
            ""
        };
        let (number, bytes) = (count(*number as f64), count(*bytes as f64));
        out += &format!("  {kind:<10} {number:>9}  {bytes:>12} bytes{unknown}\n");
    }
    for gap in &account.gaps {
        let (from, to) = (gap.from_t as f64 / 1e9, gap.to_t as f64 / 1e9);
        let source = gap.src.map_or(String::new(), |src| format!(" source {src}"));
        out += &format!(
            "gap:{source} {} × {} from {from:.1} s to {to:.1} s: {}\n",
            gap.what, gap.count, gap.why
        );
    }
    if account.more_gaps > 0 {
        out += &format!("gap: {} more\n", count(account.more_gaps as f64));
    }
    out
}

/// Whether the file is whole, and what is missing, in words.
fn of_file(salvage: &Salvage) -> String {
    let mut out = String::new();
    for (number, segment) in salvage.segments.iter().enumerate() {
        let seal = match segment.seal {
            Seal::Sealed => "sealed",
            Seal::Broken => "its seal does not fit",
            Seal::Missing => "not sealed",
        };
        let end = segment.end.as_ref().map_or("no end record".into(), |end| end.how.clone());
        out += &format!("segment {number}: {seal}, {end}, by {}\n", segment.head.writer);
    }
    for loss in &salvage.losses {
        out += &format!(
            "lost: {} bytes at byte {}: {}\n",
            count(loss.bytes as f64),
            count(loss.offset as f64),
            loss.reason
        );
    }
    if salvage.more_losses > 0 {
        out += &format!("lost: {} more places\n", salvage.more_losses);
    }
    if salvage.unverified > 0 {
        out += &format!(
            "{} of a cut frame that no checksum vouches for\n",
            plural(salvage.unverified as f64, "record")
        );
    }
    if let Some(why) = &salvage.malformed_why {
        out += &format!("{} malformed: {why}\n", plural(salvage.malformed as f64, "record"));
    }
    if salvage.is_clean() {
        out += "whole: nothing is missing from the file\n";
    }
    out
}

/// What was recorded, whatever it was stored in.
fn of_run(run: &Run) -> String {
    let mut out = String::new();
    if let Some(engine) = run.engine {
        let version = run.engine_version.as_deref().unwrap_or("version not known");
        out += &format!("engine: {} {version}\n", engine.title());
    }
    for source in &run.sources {
        out += &of_source(source);
    }
    for point in &run.points {
        let name = point.name.as_deref().unwrap_or("the whole recording");
        let params: Vec<String> = point.params.iter().map(|(k, v)| format!("{k}={v}")).collect();
        out += format!("load point: {name} {}", params.join(" ")).trim_end();
        if let Some((begin, end)) = point.command.filter(|(_, end)| *end < i64::MAX) {
            out += &format!(", {} s", grouped((end - begin) as f64 / 1e9, 1));
        }
        out += match &point.result {
            Some(result) if result.printed.is_some() => ", with a result that was printed",
            Some(_) => ", with a result",
            None => ", without a result",
        };
        out.push('\n');
    }
    for log in &run.logs {
        out += &format!(
            "log: {}, {} bytes, {}\n",
            log.name,
            count(log.bytes as f64),
            plural(log.server.facts.lines as f64, "line")
        );
    }
    for note in &run.notes {
        out += &format!("note: {note}\n");
    }
    out
}

fn of_source(source: &Source) -> String {
    let mut out = format!("source: {}", source.name);
    if !source.role.is_empty() {
        out += &format!(" ({})", source.role);
    }
    let recordings = [(Some(&source.full), "series"), (source.summed.as_ref(), "summed signals")];
    for (recording, what) in recordings {
        let Some(recording) = recording.filter(|recording| !recording.is_empty()) else { continue };
        out += &format!(
            ", {} of {} {what}",
            plural(recording.len() as f64, "reading"),
            count(recording.columns().len() as f64)
        );
        if let Some(interval) = recording.interval().filter(|_| recording.len() > 2) {
            out += &format!(" every {} s", grouped(interval as f64 / 1e9, 2));
        }
    }
    out.push('\n');
    out
}
