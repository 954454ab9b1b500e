//! `import`: a run folder of the Python tool becomes a bundle.
//!
//! Everything the folder holds goes in: each saved exposition whole, the six summed numbers where
//! there are no whole scrapes, logs, the result, the load command and the processes around it.

use super::destination::Destination;
use crate::cli::Import;
use crate::client;
use crate::error::InputError;
use crate::load::{Folder, Load, SUMMED, Series, Snapshot};
use flate2::read::MultiGzDecoder;
use inferlint_schema::container::{Head, Writer};
use inferlint_schema::delta::{Encoder, ReadingHead};
use inferlint_schema::engine;
use inferlint_schema::record::{
    Bytes, End, Exit, File, Log, Phase, Process, Record, Session, Source, Text,
};
use inferlint_schema::redact::{Masker, Seeds};
use inferlint_schema::{limits, prom, version};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A keyframe and a verbatim text this often, as the recorder writes them.
const MINUTE_NS: u64 = 60_000_000_000;

pub(super) fn run(arguments: &Import) -> Result<u8, InputError> {
    let folder = Folder::open(&arguments.folder)?;
    let records = Records::of(&folder)?;
    let count = records.list.len();
    let read: Vec<PathBuf> = folder.files().cloned().collect();
    write(Destination::new(&arguments.output, arguments.force, &read)?, records)?;
    super::print(&format!("{}: {count} records\n", arguments.output.display()))?;
    Ok(0)
}

/// Writes the bundle, and names it when it is sealed.
fn write(place: Destination, records: Records) -> Result<(), InputError> {
    let file = BufWriter::new(place.create()?);
    let mut file = records.write(file).map_err(|error| place.not_written(&error))?;
    file.flush().map_err(|error| place.failed(error))?;
    place.finish()
}

/// The records of a bundle, in the order they are written once sorted by time.
struct Records {
    list: Vec<Record>,
    session: Session,
    /// Sources declared so far.
    sources: u32,
    /// Time of the last record.
    last: u64,
}

/// One process in a line of `procs.jsonl.gz`.
#[derive(Deserialize)]
struct Seen {
    pid: u32,
    ppid: u32,
    starttime: u64,
    utime: u64,
    stime: u64,
    rss_pages: u64,
    comm: String,
    argv: Vec<String>,
}

#[derive(Deserialize)]
struct Processes {
    t_mono_ns: i64,
    procs: Vec<Seen>,
}

impl Records {
    fn of(folder: &Folder) -> Result<Self, InputError> {
        let scrapes = scrapes(folder)?;
        let series = folder.series.as_deref().map(Series::open).transpose()?;
        let load = folder.load()?;
        let clock = Clock::of(&scrapes, series.as_ref());
        let mut records = Self { list: Vec::new(), session: session(&clock), sources: 0, last: 0 };
        let name = scrapes
            .iter()
            .find_map(|s| engine_of(&s.text))
            .or_else(|| Some(series.as_ref()?.engine?.name));
        let server = records.source("server", "engine", "exposition", name, None);
        records.scrapes(server, &scrapes, &clock);
        if scrapes.len() <= 2
            && let Some(series) = &series
        {
            let src = records.source("samples", "engine", "exposition", name, Some(SUMMED));
            records.samples(src, series, &clock);
        }
        let span = load.as_ref().and_then(|load| load.window(clock.mono));
        let span = span.map(|(begin, end)| (clock.at(begin), clock.at(end)));
        if let (Some(load), Some((begin, end))) = (&load, span) {
            records.load(&load.argv, load.exit, begin, end);
        }
        records.log(folder.boot_log.as_deref(), server, "file", 0)?;
        if let Some(path) = &folder.load_log {
            let src = records.source("load tool", "client", "log", None, None);
            records.log(Some(path.as_path()), src, "stdout", span.map_or(0, |(begin, _)| begin))?;
        }
        if let Some(path) = &folder.result {
            records.result(path, span.map_or(records.last, |(_, end)| end))?;
        }
        if let (Some(path), Some(load)) = (&folder.processes, &load) {
            let src = records.source("processes", "host", "process", None, None);
            records.processes(src, path, load, &clock)?;
        }
        records.list.sort_by_key(Record::t);
        Ok(records)
    }

    fn push(&mut self, record: impl Into<Record>) {
        let record = record.into();
        self.last = self.last.max(record.t());
        self.list.push(record);
    }

    fn source(
        &mut self,
        name: &str,
        role: &str,
        kind: &str,
        engine: Option<&str>,
        provider: Option<&str>,
    ) -> u32 {
        let server = role == "engine";
        let src = self.sources;
        self.sources += 1;
        self.push(Source {
            t: 0,
            src,
            name: name.into(),
            role: role.into(),
            kind: kind.into(),
            group: None,
            address: None,
            engine: engine.filter(|_| server).map(str::to_owned),
            engine_from: engine.filter(|_| server).map(|_| "metrics".to_owned()),
            provider: provider.map(str::to_owned),
            why: None,
        });
        src
    }

    fn scrapes(&mut self, src: u32, scrapes: &[Snapshot], clock: &Clock) {
        let mut encoder = Encoder::new(src);
        let mut last_key: Option<u64> = None;
        for (i, scrape) in scrapes.iter().enumerate() {
            let t = clock.of_snapshot(scrape).map_or(self.last, |ns| clock.at(ns));
            let edge = match i {
                0 => Some("start"),
                _ if i + 1 == scrapes.len() => Some("end"),
                _ => None,
            };
            let minute = last_key.is_none_or(|key| t.saturating_sub(key) >= MINUTE_NS);
            let keep = edge.or(minute.then_some("minute"));
            if keep.is_some() {
                last_key = Some(t);
            }
            let head = ReadingHead {
                t,
                dur_ns: scrape.duration_ns,
                bytes: Some(scrape.text.len() as u64),
                ..ReadingHead::default()
            };
            let mut out = Vec::new();
            encoder.exposition(&head, &scrape.text, keep.is_some(), keep, &mut out);
            for record in out {
                self.push(record);
            }
            // A reading is over when its answer is.
            self.last = self.last.max(t.saturating_add(scrape.duration_ns));
        }
    }

    fn samples(&mut self, src: u32, series: &Series, clock: &Clock) {
        let Some(engine) = series.engine.or_else(|| crate::engine::Engine::named("vllm")) else {
            return;
        };
        let mut encoder = Encoder::new(src);
        let mut last_key: Option<u64> = None;
        for (ns, values) in series.rows(engine, clock.mono) {
            let t = clock.at(ns);
            let key = last_key.is_none_or(|key| t.saturating_sub(key) >= MINUTE_NS);
            if key {
                last_key = Some(t);
            }
            let mut out = Vec::new();
            encoder.values(t, 0, &values, key, &mut out);
            for record in out {
                self.push(record);
            }
        }
    }

    fn load(&mut self, argv: &[String], exit: Option<i64>, begin: u64, end: u64) {
        let params = client::params(argv);
        let name = params.get("concurrency").map_or("load".into(), |n| format!("c={n}"));
        let params = params.into_iter().map(|(k, v)| (k, Text::from(v))).collect();
        let edge = |t, edge: &str| Phase {
            t,
            id: 0,
            edge: edge.into(),
            parent: None,
            name: None,
            kind: None,
            params: None,
            from: "argv".into(),
            error_ns: None,
        };
        self.push(Phase {
            name: Some(name),
            kind: Some("load".into()),
            params: Some(params),
            ..edge(begin, "begin")
        });
        self.push(edge(end, "end"));
        self.push(Exit {
            t: end,
            src: None,
            what: "load".into(),
            pid: 0,
            start_ticks: None,
            argv: Some(argv.iter().map(|a| Text::from(a.as_str())).collect()),
            status: exit,
            signal: None,
            began_t: Some(begin),
            phase: Some(0),
        });
        // What follows until the last reading is the drain.
        let last = self.last.max(end);
        self.push(Phase { id: 1, kind: Some("drain".into()), ..edge(end, "begin") });
        self.push(Phase { id: 1, ..edge(last, "end") });
    }

    fn log(
        &mut self,
        path: Option<&Path>,
        src: u32,
        stream: &str,
        t: u64,
    ) -> Result<(), InputError> {
        let Some(path) = path else { return Ok(()) };
        let body = read(path)?;
        for (part, chunk) in body.chunks(limits::PART_BYTES).enumerate() {
            let mut ends = Vec::new();
            let mut last = 0;
            for (i, _) in chunk.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
                ends.push((i + 1 - last) as u32);
                last = i + 1;
            }
            self.push(Log {
                t,
                src,
                stream: stream.into(),
                off: (part * limits::PART_BYTES) as u64,
                len: chunk.len() as u64,
                body: Bytes::from(chunk.to_vec()),
                ends,
                dts: None,
                how: "none".into(),
            });
        }
        Ok(())
    }

    fn result(&mut self, path: &Path, t: u64) -> Result<(), InputError> {
        let body = read(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let chunks: Vec<&[u8]> = body.chunks(limits::PART_BYTES).collect();
        for (part, chunk) in chunks.iter().enumerate() {
            self.push(File {
                t,
                src: None,
                id: 0,
                name: Text::from(name.clone()),
                what: "result".into(),
                media: Some("application/json".into()),
                size: body.len() as u64,
                size_before: None,
                sha256: None,
                modified_ns: None,
                by: "recorder".into(),
                part: part as u32,
                last: part + 1 == chunks.len(),
                cut: None,
                body: Some(Bytes::from(chunk.to_vec())),
            });
        }
        Ok(())
    }

    fn processes(
        &mut self,
        src: u32,
        path: &Path,
        load: &Load,
        clock: &Clock,
    ) -> Result<(), InputError> {
        let mut encoder = Encoder::new(src);
        let mut alive: HashMap<(u32, u64), &'static str> = HashMap::new();
        let mut first = true;
        for line in gzipped_lines(path)? {
            let Ok(seen) = serde_json::from_str::<Processes>(&line?) else { continue };
            let t = clock.at(seen.t_mono_ns);
            let mut values = Vec::new();
            for process in &seen.procs {
                let key = (process.pid, process.starttime);
                let tree =
                    alive.get(&key).copied().unwrap_or_else(|| tree(process, &seen, &load.argv));
                if alive.insert(key, tree).is_none() {
                    self.push(identity(t, "begin", process, tree));
                }
                let labels = format!("{{pid=\"{}\",start=\"{}\"}}", process.pid, process.starttime);
                if let Some(clk_tck) = load.clk_tck.filter(|hz| *hz > 0) {
                    let cpu = (process.utime + process.stime) as f64 / clk_tck as f64;
                    values.push((format!("process_cpu_seconds_total{labels}"), cpu));
                }
                if let Some(page) = load.page_size {
                    let rss = (process.rss_pages * page) as f64;
                    values.push((format!("process_resident_memory_bytes{labels}"), rss));
                }
            }
            let values: Vec<(&str, f64)> = values.iter().map(|(n, v)| (n.as_str(), *v)).collect();
            let mut out = Vec::new();
            encoder.values(t, 0, &values, std::mem::take(&mut first), &mut out);
            for record in out {
                self.push(record);
            }
        }
        Ok(())
    }

    fn write<W: Write>(self, out: W) -> Result<W, inferlint_schema::error::WriteError> {
        let head = Head::new(&self.session.writer, now());
        let mut writer = Writer::create(out, &head, Masker::new(Seeds::default()))?;
        let end = End {
            t: self.last,
            how: "finished".into(),
            counts: BTreeMap::new(),
            gaps: 0,
            dropped: 0,
            redacted: BTreeMap::new(),
            wall_ns: self.session.wall_ns.saturating_add(self.last),
            mono_ns: self.session.mono_ns.saturating_add(self.last),
            cpu_ns: None,
            max_rss_bytes: None,
            scrapes: None,
            scrape_dur_ns: None,
            error: None,
        };
        writer.push(&self.session.into())?;
        for record in &self.list {
            // A keyframe restates the dictionary; a frame begins with it so that a reader can too.
            if matches!(record, Record::Series(series) if series.first == 0) {
                writer.flush()?;
            }
            writer.push(record)?;
        }
        writer.finish(end)
    }
}

/// The clock of a folder's readings and its origin.
struct Clock {
    mono: bool,
    origin: i64,
    wall: i64,
}

impl Clock {
    fn of(scrapes: &[Snapshot], series: Option<&Series>) -> Self {
        let mono = scrapes.iter().all(|scrape| scrape.mono.is_some())
            && series.is_none_or(Series::has_mono);
        let mut clock = Self { mono, origin: 0, wall: 0 };
        let readings = scrapes.iter().filter_map(|s| Some((clock.of_snapshot(s)?, s.wall)));
        let samples = series.and_then(|series| series.first(mono));
        let first = readings.chain(samples).min_by_key(|(t, _)| *t);
        if let Some((origin, wall)) = first {
            clock.origin = origin;
            clock.wall = wall.unwrap_or(0);
        }
        clock
    }

    fn of_snapshot(&self, snapshot: &Snapshot) -> Option<i64> {
        if self.mono { snapshot.mono } else { snapshot.wall }
    }

    /// Ns since the first reading. What came before it, such as the load's first lines, is at 0.
    fn at(&self, ns: i64) -> u64 {
        u64::try_from(ns.saturating_sub(self.origin)).unwrap_or(0)
    }
}

fn session(clock: &Clock) -> Session {
    let created = now();
    Session {
        t: 0,
        format: version::FORMAT,
        minor: version::MINOR,
        writer: format!("inferlint-analyze {}", env!("CARGO_PKG_VERSION")),
        build: None,
        bundle_id: format!("{created:032x}"),
        run_id: format!("import-{created:x}"),
        segment: 0,
        command: "import".into(),
        argv: Vec::new(),
        wall_ns: u64::try_from(clock.wall).unwrap_or(0),
        mono_ns: if clock.mono { u64::try_from(clock.origin).unwrap_or(0) } else { 0 },
        boot_id: None,
        tz: None,
        tz_offset_s: None,
        intervals_ns: None,
        privacy: None,
        abilities: None,
        why: None,
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Every whole exposition of the folder in order: before, the scrapes, after.
fn scrapes(folder: &Folder) -> Result<Vec<Snapshot>, InputError> {
    let mut out: Vec<Snapshot> = Vec::new();
    out.extend(folder.before.as_deref().map(Snapshot::open).transpose()?);
    if let Some(path) = &folder.scrapes {
        for line in gzipped_lines(path)? {
            if let Ok(scrape) = Snapshot::parse(line?.as_bytes()) {
                out.push(scrape);
            }
        }
    }
    out.extend(folder.after.as_deref().map(Snapshot::open).transpose()?);
    Ok(out)
}

fn engine_of(text: &[u8]) -> Option<&'static str> {
    let parsed = prom::parse(text);
    let names = parsed.samples.iter().filter_map(|s| std::str::from_utf8(s.series).ok());
    engine::of_series(names).map(|engine| engine.name)
}

fn gzipped_lines(
    path: &Path,
) -> Result<impl Iterator<Item = Result<String, InputError>>, InputError> {
    let owned: PathBuf = path.to_owned();
    let failed = move |error| InputError::Io { path: owned.clone(), error };
    let file = fs::File::open(path).map_err(&failed)?;
    Ok(BufReader::new(MultiGzDecoder::new(file)).lines().map(move |line| line.map_err(&failed)))
}

fn read(path: &Path) -> Result<Vec<u8>, InputError> {
    fs::read(path).map_err(|error| InputError::Io { path: path.to_owned(), error })
}

/// Which tree a process belongs to: the load command's, an engine's, or neither.
fn tree(process: &Seen, all: &Processes, load: &[String]) -> &'static str {
    let argv: Vec<&str> = process.argv.iter().map(String::as_str).collect();
    let tail = |argv: &[String]| argv.iter().rev().take(4).cloned().collect::<Vec<_>>();
    if engine::of_process(&argv).is_some() {
        return "server";
    }
    let mut pid = process.pid;
    for _ in 0..all.procs.len() {
        let Some(found) = all.procs.iter().find(|p| p.pid == pid) else { break };
        if !load.is_empty() && tail(&found.argv) == tail(load) && found.comm != "python" {
            return "client";
        }
        pid = found.ppid;
    }
    "other"
}

fn identity(t: u64, edge: &str, process: &Seen, tree: &str) -> Process {
    Process {
        t,
        src: None,
        edge: edge.into(),
        pid: process.pid,
        start_ticks: process.starttime,
        ppid: Some(process.ppid),
        title: Some(Text::from(process.comm.clone())),
        argv: Some(process.argv.iter().map(|a| Text::from(a.as_str())).collect()),
        own: true,
        user: None,
        tree: tree.into(),
        cgroup: None,
        container: None,
        threads: None,
        ports: None,
        gpu_bytes: None,
    }
}
