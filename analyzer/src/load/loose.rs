//! Files named one by one, and what a run folder is made of.

use super::output::{self, Output};
use super::series::Series;
use super::snapshot::Snapshot;
use super::{bytes, log, process_table, result, unless_cut};
use crate::engine::Engine;
use crate::error::InputError;
use crate::evidence::{Edges, Exit, Form, Point, Run, Source};
use inferlint_schema::prom;
use std::path::PathBuf;

/// Evidence files by what they are.
#[derive(Debug, Clone, Default)]
pub struct Loose {
    /// Server logs. Each further one is a start of its own.
    pub boot_logs: Vec<PathBuf>,
    /// Metrics before the load.
    pub before: Option<PathBuf>,
    /// Metrics after the load.
    pub after: Option<PathBuf>,
    /// Samples during the load.
    pub series: Option<PathBuf>,
    /// The load tool's result.
    pub result: Option<PathBuf>,
    /// The load tool's output.
    pub load_log: Option<PathBuf>,
    /// A saved process table.
    pub process_table: Option<PathBuf>,
    /// The kernel's log.
    pub kernel_log: Option<PathBuf>,
    /// The server's exit status.
    pub server_exit: Option<i64>,
}

impl Loose {
    /// The files that are named.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let metrics = [&self.before, &self.after, &self.series];
        let rest = [&self.result, &self.load_log, &self.process_table, &self.kernel_log];
        self.boot_logs.iter().chain(metrics.into_iter().chain(rest).flatten())
    }

    fn is_empty(&self) -> bool {
        self.files().next().is_none() && self.server_exit.is_none()
    }
}

/// The runs that loose files make: one, and one more for each further server log.
pub(super) fn open(loose: &Loose) -> Result<Vec<Run>, InputError> {
    if loose.is_empty() {
        return Ok(Vec::new());
    }
    let mut runs = vec![assemble(loose)?.0];
    for path in loose.boot_logs.iter().skip(1) {
        let alone = Loose { boot_logs: vec![path.clone()], ..Loose::default() };
        runs.push(assemble(&alone)?.0);
    }
    Ok(runs)
}

/// One run from its files, of several server logs the first; and whether its times are those of the
/// monotonic clock, else of the wall clock.
pub(super) fn assemble(loose: &Loose) -> Result<(Run, bool), InputError> {
    let mut run = Run { form: Form::Loose, ..Run::default() };
    let mut point = Point::default();
    let named = [
        &loose.before,
        &loose.after,
        &loose.series,
        &loose.result,
        &loose.load_log,
        &loose.process_table,
    ];
    let first = loose.boot_logs.first().or(named.into_iter().flatten().next());
    run.name = first.map_or_else(String::new, |path| path.display().to_string());
    if let Some(path) = &loose.process_table {
        let (processes, table) = process_table::open(path)?;
        run.processes = processes;
        run.table = Some(table);
    }
    run.kernel_log = loose.kernel_log.as_deref().map(bytes).transpose()?;
    run.server_exit = loose.server_exit.map(exited);
    point.result = unless_cut(loose.result.as_deref().map(result), &mut run.notes)?;
    let mut on_monotonic = true;
    if let Some((source, edges, mono)) = metrics(loose, &mut run)? {
        run.sources.push(source);
        point.edges.push(edges);
        on_monotonic = mono;
    }
    if let Some(path) = loose.boot_logs.first() {
        let engine = run.sources.first().and_then(|source| source.engine);
        run.logs.push(log(path, engine)?);
    }
    run.points.push(point);
    if let Some(path) = &loose.load_log {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let mut log = Output::new(name.into_owned());
        log.add(None, &bytes(path)?);
        output::give(&[log], &mut run);
    }
    Ok((run, on_monotonic))
}

/// An exit status as a shell tells it: 128 and above is the signal that ended the process.
fn exited(status: i64) -> Exit {
    match u32::try_from(status - 128) {
        Ok(signal) if signal > 0 => Exit { at: None, status: None, signal: Some(signal) },
        _ if status < 0 => Exit { at: None, status: None, signal: u32::try_from(-status).ok() },
        _ => Exit { at: None, status: Some(status), signal: None },
    }
}

/// The metrics of the run as one source, with the readings that bound its load.
fn metrics(loose: &Loose, run: &mut Run) -> Result<Option<(Source, Edges, bool)>, InputError> {
    let before = unless_cut(loose.before.as_deref().map(Snapshot::open), &mut run.notes)?;
    let after = unless_cut(loose.after.as_deref().map(Snapshot::open), &mut run.notes)?;
    let series = loose.series.as_deref().map(Series::open).transpose()?;
    if before.is_none() && after.is_none() && series.is_none() {
        return Ok(None);
    }
    let snapshots = || [&before, &after].into_iter().flatten();
    let mono = series.as_ref().is_none_or(Series::has_mono)
        && snapshots().all(|snapshot| snapshot.mono.is_some());
    let time = |snapshot: &Snapshot| if mono { snapshot.mono } else { snapshot.wall };
    let mut source = Source {
        name: "server".into(),
        role: "engine".into(),
        timed: snapshots().all(|snapshot| time(snapshot).is_some()),
        ..Source::default()
    };
    let mut edges = Edges::default();
    for (snapshot, edge) in [(&before, &mut edges.begin), (&after, &mut edges.end)] {
        let Some(snapshot) = snapshot else { continue };
        let parsed = prom::parse(&snapshot.text);
        let samples = parsed.samples.iter().map(|sample| (sample.series, sample.number));
        let t = time(snapshot).unwrap_or(source.full.len() as i64);
        source.full.push(t, snapshot.duration_ns, samples);
        *edge = Some(source.full.len() - 1);
        if parsed.refused > 0 {
            run.notes.push(format!("{} metric lines were not understood", parsed.refused));
        }
    }
    let of_header = series.as_ref().and_then(|series| series.engine);
    source.engine = Engine::of_metrics(source.full.names()).or(of_header);
    if let Some(series) = &series {
        if series.refused > 0 {
            run.notes.push(format!("lines of the samples that are no sample: {}", series.refused));
        }
        // Headers without an engine are older than the tool's support of anything but vLLM.
        let engine = source.engine.or_else(|| Engine::named("vllm"));
        source.engine = engine;
        if series.is_empty() {
            run.notes.push("the file of samples holds none: it was cut before the first".into());
        } else {
            source.summed = engine.map(|engine| series.recording(engine, mono));
        }
    }
    Ok(Some((source, edges, mono)))
}
