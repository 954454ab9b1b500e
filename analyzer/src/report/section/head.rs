//! What ran, when, for how long, and how it came out.

use super::{at_work, duration};
use crate::evidence::{Point, Run, Scope};
use crate::report::shown::Shown;
use maud::{Markup, html};
use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

/// `vLLM 0.30.0 · Qwen3-8B`, or what of it is known.
pub(in crate::report) fn title(run: &Run) -> Shown {
    let engine = run.engine.map_or("Engine not known", |engine| engine.title());
    let parts = [Some(engine), version(run)];
    let mut title = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if let Some(model) = model(run) {
        // Of a path, its last part names the model.
        let path = model.starts_with('/').then(|| model.rsplit('/').find(|part| !part.is_empty()));
        title.push_str(" · ");
        title.push_str(path.flatten().unwrap_or(model));
    }
    Shown::name(&title)
}

/// The model: as the metrics of every engine label it, else as the server's log has it.
fn model(run: &Run) -> Option<&str> {
    let columns = run.sources.iter().flat_map(|source| source.full.columns());
    let mut labels = columns.filter_map(|column| column.series.label("model_name"));
    let logged = || run.logs.iter().find_map(|log| log.server.facts.model.as_ref());
    labels.find(|name| !name.is_empty()).or_else(|| logged().map(|model| model.value.as_str()))
}

fn version(run: &Run) -> Option<&str> {
    let logged = || run.logs.iter().find_map(|log| log.server.facts.version.as_ref());
    run.engine_version.as_deref().or_else(|| logged().map(|version| version.value.as_str()))
}

/// The last part of the path that the input was named by: the page must not depend on where it lay.
pub(in crate::report) fn input(run: &Run) -> Shown {
    let path = std::path::Path::new(&run.name);
    let name = path.file_name().map_or("run".into(), |name| name.to_string_lossy());
    Shown::name(&name)
}

/// Input and length of the load in one line, below the title.
pub(in crate::report) fn line(run: &Run) -> Markup {
    html! {
        (input(run))
        @if let Some(length) = load(run) { " · load of " (length) }
        @if let Some(when) = when(run) { " · " (when) }
    }
}

/// What ran.
pub(in crate::report) fn facts(run: &Run) -> Markup {
    let or_none = |text: Option<&str>| text.map_or_else(|| Shown::new("not recorded"), Shown::name);
    html! {
        dl.facts {
            (fact("Engine", &engine(run)))
            (fact("Model", &or_none(model(run))))
            (fact("Load", &or_none(load(run).as_deref())))
            (fact("Began", &or_none(when(run).as_deref())))
            (fact("Run id", &or_none(run.run_id.as_deref())))
        }
        @for warning in warnings(run) { p.notice { strong { "Note " } (Shown::new(&warning)) } }
    }
}

/// How long load ran, in words: the load commands, else the time the server was at work, else as the
/// load tool has it.
fn load(run: &Run) -> Option<String> {
    let groups = run.groups();
    let length = |point: &Point| {
        let mut scopes = groups.iter().map(|group| Scope { run, point, group });
        let known = point.command.or_else(|| scopes.find_map(|scope| at_work(&scope)));
        let known = known.filter(|(_, end)| *end < i64::MAX);
        let told = || Some((point.result.as_ref()?.duration_s? * 1e9) as i64);
        known.map(|(begin, end)| end.saturating_sub(begin)).or_else(told)
    };
    let lengths: Vec<i64> = run.points.iter().filter_map(length).collect();
    match lengths.as_slice() {
        [] => None,
        [one] => Some(duration(*one)),
        several => Some(format!(
            "{} in {} points",
            duration(several.iter().fold(0, |sum: i64, one| sum.saturating_add(*one))),
            several.len()
        )),
    }
}

fn fact(name: &str, value: &Shown) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn engine(run: &Run) -> Shown {
    let title = run.engine.map_or("not known", |engine| engine.title());
    Shown::name(&match version(run) {
        Some(version) => format!("{title} {version}"),
        None if run.engine.is_some() => format!("{title}, version not recorded"),
        None => title.to_owned(),
    })
}

/// When the first load began, or else the recording: UTC, and the host's own time where it is known.
fn when(run: &Run) -> Option<String> {
    let session = run.account.as_ref()?.session.as_ref()?;
    let begun = run.points.first().and_then(|point| point.command).map_or(0, |(begin, _)| begin);
    let at = session.wall_ns.checked_add_signed(begun)? / 1_000_000_000;
    let utc = clock(at)?;
    let local = session.tz_offset_s.and_then(|offset| {
        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 3600, offset.abs() % 3600 / 60);
        let local = clock(at.checked_add_signed(offset)?)?;
        Some(format!(" ({} at the host, {sign}{hours:02}:{minutes:02})", local.split_at(11).1))
    });
    Some(format!(
        "{utc} UTC{}",
        local.filter(|_| session.tz_offset_s != Some(0)).unwrap_or_default()
    ))
}

/// `2026-10-01 03:12:13` for Unix seconds.
fn clock(unix_s: u64) -> Option<String> {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(unix_s))?;
    // A year of five digits is an error of the formatter.
    let mut out = String::new();
    write!(out, "{}", humantime::format_rfc3339_seconds(time)).ok()?;
    Some(out.trim_end_matches('Z').replace('T', " "))
}

/// What a reader must know before trusting anything below.
fn warnings(run: &Run) -> Vec<String> {
    let mut out = Vec::new();
    if run.sources.iter().any(|source| !source.timed) {
        out.push("The readings carry no times: nothing here is judged over time.".to_owned());
    }
    if let Some(why) = run.account.as_ref().and_then(|account| account.broken_off()) {
        out.push(format!("The recording broke off: {why}."));
    }
    if let Some(why) = run.account.as_ref().and_then(|account| account.file.reason()) {
        out.push(format!("The bundle is not whole: {why}. What is there was judged."));
    }
    if run.logs.iter().any(|log| log.server.facts.untested_version) {
        let engine = engine(run);
        out.push(format!("The log's grammar was not checked against {engine}: figures read from it may be missing."));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_said_in_utc() {
        assert_eq!(clock(1_790_824_333).as_deref(), Some("2026-10-01 03:12:13"));
        assert_eq!(clock(u64::MAX / 1_000_000_000).as_deref(), Some("2554-07-21 23:34:33"));
        assert_eq!(clock(u64::MAX), None);
    }
}
