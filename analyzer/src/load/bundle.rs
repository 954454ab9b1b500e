//! A bundle as a run: one pass, frame by frame, into columns.

use super::output::{self, Output};
use super::{SUMMED, open_bundle};
use crate::boot::Scanner;
use crate::client::ClientResult;
use crate::engine::Engine;
use crate::error::InputError;
use crate::evidence::{
    Account, Edges, Exit, Form, Log, Point, Recording, Run, SERVER_ROLES, Source, ns,
};
use crate::number::plural;
use inferlint_schema::container::{Item, Salvage};
use inferlint_schema::delta::{self, Decoder, Reading};
use inferlint_schema::record::{self, Decoded, Record};
use std::collections::BTreeMap;
use std::path::Path;

/// How long after the end of a load its counters are still waited for where no drain was recorded:
/// engines count preemptions and finished requests late, by less than this.
const DRAIN_NS: i64 = 3_000_000_000;

/// How long a Python client is under way, at the least, before it sends its first request: vLLM
/// 0.32's was importing for 5 s and more in each load measured here.
const UNHURRIED_NS: i64 = 1_000_000_000;

/// Phases that are kept: a long ladder has a hundred.
const PHASES: usize = 4_096;

/// Reads a bundle.
pub(super) fn open(path: &Path) -> Result<Run, InputError> {
    let mut reader = Reader::default();
    let mut account = Account::default();
    account.file = open_bundle(path)?.read(&mut |item| {
        account.item(&item);
        reader.item(item);
    })?;
    let mut run = reader.finish(&account.file);
    if let Some(why) = account.broken_off() {
        run.notes.insert(0, format!("the recording broke off: {why}"));
    }
    run.account = Some(account);
    run.name = path.display().to_string();
    Ok(run)
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    run: Run,
    decoder: Decoder,
    /// Per source id, the column of each series id.
    columns: BTreeMap<u32, Vec<Option<usize>>>,
    /// Per source id, the shape of the reading before.
    shapes: BTreeMap<u32, u32>,
    phases: BTreeMap<u32, Span>,
    phases_left_out: u64,
    logs: BTreeMap<u32, LogParts>,
    /// What load tools printed, by source and stream.
    outputs: BTreeMap<(u32, String), Output>,
    files: BTreeMap<u32, (record::File, Vec<u8>)>,
    exits: Vec<record::Exit>,
    /// Sources that hold sums over the replicas of another.
    summed: Vec<usize>,
    skipped: u64,
}

/// A phase as its two edges tell.
#[derive(Clone)]
struct Span {
    id: u32,
    parent: Option<u32>,
    name: Option<String>,
    kind: String,
    params: BTreeMap<String, String>,
    /// The load script said so itself.
    marked: bool,
    begin: i64,
    /// Absent: the recording ended inside it.
    end: Option<i64>,
}

/// A server's log, read as its records come.
struct LogParts {
    scanner: Scanner,
    /// Per stream, the beginning of a line that has not ended.
    open: BTreeMap<String, Vec<u8>>,
    bytes: u64,
    lines: u64,
    times: Vec<(u64, i64)>,
    /// See [`Log::from_start`].
    from_start: bool,
}

impl LogParts {
    fn new(scanner: Scanner) -> Self {
        Self {
            scanner,
            open: BTreeMap::new(),
            bytes: 0,
            lines: 0,
            times: Vec::new(),
            from_start: false,
        }
    }

    fn add(&mut self, record: &record::Log) {
        // What is followed as it is written comes from a process that the recorder started.
        self.from_start |= self.bytes == 0 && record.off == 0 && record.how == "written";
        self.bytes += record.body.len() as u64;
        if record.how != "none" {
            self.times.push((self.lines + 1, ns(record.t)));
        }
        let open = self.open.entry(record.stream.clone()).or_default();
        let mut rest = record.body.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            open.extend_from_slice(rest.get(..end).unwrap_or_default());
            self.scanner.line(open);
            self.lines += 1;
            open.clear();
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        open.extend_from_slice(rest);
    }

    /// The server's log; an unfinished last line is a line.
    fn finish(mut self, name: String) -> Log {
        for line in self.open.values().filter(|line| !line.is_empty()) {
            self.scanner.line(line);
        }
        let server = self.scanner.finish();
        Log { name, bytes: self.bytes, server, times: self.times, from_start: self.from_start }
    }
}

impl Reader {
    fn item(&mut self, item: Item<'_>) {
        match item {
            Item::Segment(_) => {}
            Item::Loss(_) => self.decoder.lost(),
            Item::Record { decoded, .. } => {
                if let Decoded::Known(record) = decoded {
                    self.record(*record);
                }
            }
        }
    }

    fn record(&mut self, record: Record) {
        match record {
            Record::Session(session) => {
                // Segments that are appended have a clock of the same zero.
                self.run.wall_ns = self.run.wall_ns.or(Some(session.wall_ns));
                self.run.run_id = Some(session.run_id);
            }
            Record::Source(source) => self.source(source),
            Record::Series(_) | Record::Shape(_) | Record::Scrape(_) => self.sample(&record),
            Record::Phase(phase) => self.phase(phase),
            Record::Epoch(epoch) => self.epoch(epoch),
            Record::Log(log) => self.log(&log),
            Record::File(file) => self.file(file),
            Record::Exit(exit) => self.exits.push(exit),
            Record::Process(process) => self.run.processes.push(process),
            Record::Probe(probe) => self.run.probes.push(probe),
            Record::Gate(gate) => self.run.gates.push(gate),
            Record::Versions(versions) => self.versions(&versions),
            Record::Note(note) => self.note(&note),
            _ => {}
        }
    }

    /// The source of that id; ids are dense, so a missing one is made to keep the numbering.
    fn at(&mut self, src: u32) -> Option<&mut Source> {
        let wanted = src as usize;
        // The reader keeps `Limits::sources`, so a wild id cannot grow this far.
        while self.run.sources.len() <= wanted && wanted < 1_024 {
            self.run.sources.push(Source { timed: true, ..Source::default() });
        }
        self.run.sources.get_mut(wanted)
    }

    fn source(&mut self, record: record::Source) {
        if record.provider.as_deref() == Some(SUMMED) {
            self.summed.push(record.src as usize);
        }
        let Some(source) = self.at(record.src) else { return };
        source.engine = record.engine.as_deref().and_then(Engine::named);
        source.name = record.name;
        source.role = record.role;
        source.kind = record.kind;
        source.group = record.group;
    }

    fn sample(&mut self, record: &Record) {
        if let Record::Series(series) = record {
            let names: Vec<&[u8]> = series.names.iter().map(record::Text::as_bytes).collect();
            let first = series.first as usize;
            let Some(source) = self.at(series.src) else { return };
            let found: Vec<_> = names.iter().map(|name| source.full.column(name)).collect();
            let columns = self.columns.entry(series.src).or_default();
            if first <= columns.len() {
                let known = columns.len() - first;
                columns.extend(found.into_iter().skip(known));
            }
        }
        match self.decoder.push(record) {
            delta::Decoded::Nothing => {}
            delta::Decoded::Skipped(_) => self.skipped += 1,
            delta::Decoded::Reading(reading) => {
                let columns = self.columns.get(&reading.src).map_or(&[][..], Vec::as_slice);
                let new_shape =
                    self.shapes.insert(reading.src, reading.shape) != Some(reading.shape);
                if let Some(source) = self.run.sources.get_mut(reading.src as usize) {
                    add(source, columns, &reading, new_shape);
                }
            }
        }
    }

    fn phase(&mut self, record: record::Phase) {
        let t = ns(record.t);
        if record.edge == "end" {
            if let Some(span) = self.phases.get_mut(&record.id) {
                span.end = Some(t);
            }
            return;
        }
        if self.phases.len() >= PHASES {
            self.phases_left_out += 1;
            return;
        }
        let params = record.params.unwrap_or_default();
        let span = Span {
            id: record.id,
            parent: record.parent,
            name: record.name,
            kind: record.kind.unwrap_or_default(),
            params: params.into_iter().map(|(k, v)| (k, v.lossy().into_owned())).collect(),
            marked: record.from == "mark",
            begin: t,
            end: None,
        };
        self.phases.insert(record.id, span);
    }

    fn epoch(&mut self, record: record::Epoch) {
        if let Some(source) = self.at(record.src) {
            source.epochs.push(record);
        }
    }

    fn log(&mut self, record: &record::Log) {
        let source = self.run.sources.get(record.src as usize);
        if let Some(client) = source.filter(|source| source.role == "client") {
            let name = format!("{} {}", client.name, record.stream);
            let key = (record.src, record.stream.clone());
            let output = self.outputs.entry(key).or_insert_with(|| Output::new(name));
            output.add((record.how != "none").then_some(ns(record.t)), &record.body);
            return;
        }
        let engine = source.and_then(|source| source.engine).map(|engine| engine.name);
        let new = || LogParts::new(Scanner::new(engine));
        self.logs.entry(record.src).or_insert_with(new).add(record);
    }

    fn file(&mut self, mut record: record::File) {
        let body = record.body.take().unwrap_or_default();
        match self.files.get_mut(&record.id) {
            Some((_, whole)) => whole.extend_from_slice(&body),
            None => {
                self.files.insert(record.id, (record, body.into_vec()));
            }
        }
    }

    fn versions(&mut self, record: &record::Versions) {
        let Some(packages) = record.packages.as_ref().filter(|_| record.of == "server") else {
            return;
        };
        let engines = crate::engine::ENGINES.iter();
        let version = engines.flat_map(|e| e.packages).find_map(|name| packages.get(*name));
        self.run.engine_version = version.cloned();
    }

    fn note(&mut self, note: &record::Note) {
        let text = note.value.lossy();
        if note.key.as_deref() == Some("requested") {
            self.run.requested = text.parse().ok();
        }
        let key = note.key.as_deref().map(|key| format!("{key} = ")).unwrap_or_default();
        let what = if note.what == "note" { String::new() } else { format!("{} by ", note.what) };
        self.run.notes.push(format!("{what}{}: {key}{text}", note.by));
    }

    fn finish(mut self, salvage: &Salvage) -> Run {
        self.run.form = Form::Bundle;
        if let Some(reason) = salvage.reason() {
            self.run.notes.push(format!("the bundle is not whole: {reason}"));
        }
        for (kind, count) in &salvage.unknown {
            self.run.notes.push(format!(
                "{} of kind {kind:?}, which is not known",
                plural(*count as f64, "record")
            ));
        }
        if self.phases_left_out > 0 {
            let n = self.phases_left_out;
            self.run.notes.push(format!("{n} phases beyond the first {PHASES} are not judged"));
        }
        if self.skipped > 0 {
            self.run
                .notes
                .push(format!("{} could not be decoded", plural(self.skipped as f64, "reading")));
        }
        for source in &mut self.run.sources {
            if !SERVER_ROLES.contains(&source.role.as_str()) {
                source.engine = None;
            } else if source.engine.is_none() {
                source.engine = Engine::of_metrics(source.full.names());
            }
        }
        for sums in std::mem::take(&mut self.summed) {
            self.attach(sums);
        }
        self.run.points = self.points();
        self.loads();
        self.server_logs();
        self.results();
        let outputs: Vec<Output> = std::mem::take(&mut self.outputs).into_values().collect();
        output::give(&outputs, &mut self.run);
        self.run
    }

    /// Makes a recording of sums part of the server source before it.
    fn attach(&mut self, sums: usize) {
        let Some(source) = self.run.sources.get_mut(sums) else { return };
        source.engine = None;
        let recording = std::mem::take(&mut source.full);
        let servers = self.run.sources.iter_mut().take(sums);
        if let Some(server) = servers.rev().find(|source| source.engine.is_some()) {
            server.summed = Some(recording);
        }
    }

    /// The load points with their edges; the whole recording where there is none.
    fn points(&self) -> Vec<Point> {
        let is_load = |span: &&Span| span.kind == "load";
        let leaf = |span: &&Span| {
            !self.phases.values().filter(is_load).any(|inner| inner.parent == Some(span.id))
        };
        let mut spans: Vec<&Span> = self.phases.values().filter(is_load).filter(leaf).collect();
        spans.sort_by_key(|span| span.begin);
        if spans.is_empty() {
            let edges = self.run.sources.iter().map(|source| Edges {
                begin: (!source.full.is_empty()).then_some(0),
                end: source.full.len().checked_sub(1),
            });
            return vec![Point { edges: edges.collect(), ..Point::default() }];
        }
        let bounds: Vec<Bounds> = spans
            .iter()
            .enumerate()
            .map(|(i, span)| {
                let next = spans.get(i + 1).map(|next| next.begin);
                let end = span.end.unwrap_or(i64::MAX);
                Bounds { begin: span.begin, end, drained: self.drained(end, next), next }
            })
            .collect();
        let mut of_sources: Vec<_> = self
            .run
            .sources
            .iter()
            .map(|source| edges(&source.full, &bounds).into_iter())
            .collect();
        let mut points = Vec::new();
        for (span, bounds) in spans.iter().zip(&bounds) {
            points.push(Point {
                name: Some(name_of(span, &points)),
                params: span.params.clone(),
                concurrency_marked: span.marked && span.params.contains_key("concurrency"),
                command: Some((bounds.begin, bounds.end)),
                edges: of_sources.iter_mut().filter_map(Iterator::next).collect(),
                ..Point::default()
            });
        }
        points
    }

    /// When the drain after a load's end was over, at the latest when the next load began.
    fn drained(&self, end: i64, next: Option<i64>) -> i64 {
        let next = next.unwrap_or(i64::MAX);
        self.phases
            .values()
            .filter(|phase| phase.kind == "drain" && phase.begin >= end && phase.begin < next)
            .filter_map(|phase| phase.end)
            .min()
            .unwrap_or(end.saturating_add(DRAIN_NS))
            .min(next)
    }

    /// The load commands' exits, and the server's.
    fn loads(&mut self) {
        for exit in std::mem::take(&mut self.exits) {
            let at = ns(exit.t);
            if exit.what == "server" {
                let end = Exit { at: Some(at), status: exit.status, signal: exit.signal };
                self.run.server_exit = Some(end);
                continue;
            }
            let Some(point) = self.point_at(exit.began_t.map_or(at, ns)) else {
                continue;
            };
            let argv: Option<Vec<String>> =
                exit.argv.map(|argv| argv.iter().map(|a| a.lossy().into_owned()).collect());
            if let Some(argv) = &argv {
                for (key, value) in crate::client::params(argv) {
                    point.params.entry(key).or_insert(value);
                }
            }
            point.exit = exit.status.or(point.exit);
            point.argv = argv.or(point.argv.take());
        }
    }

    /// The point that was under way at `t`, or had ended last.
    fn point_at(&mut self, t: i64) -> Option<&mut Point> {
        let begun = |point: &Point| point.command.is_none_or(|(begin, _)| begin <= t);
        let at = self.run.points.iter().rposition(begun).unwrap_or(0);
        self.run.points.get_mut(at)
    }

    fn server_logs(&mut self) {
        for (src, parts) in std::mem::take(&mut self.logs) {
            let source = self.run.sources.get(src as usize);
            let name = source.map_or_else(|| format!("source {src}"), |s| s.name.clone());
            self.run.logs.push(parts.finish(name));
        }
    }

    /// When a file got what it holds. A script's next load may have begun before its result is
    /// fetched, and a whole folder of results is fetched at the end.
    fn written(&self, file: &record::File) -> i64 {
        let fetched = ns(file.t);
        let since = |modified: u64| i64::try_from(modified.checked_sub(self.run.wall_ns?)?).ok();
        file.modified_ns.and_then(since).map_or(fetched, |written| written.min(fetched))
    }

    /// True for a file that nothing wrote to since the recording began.
    fn is_older(&self, file: &record::File) -> bool {
        let old = file.modified_ns.zip(self.run.wall_ns).is_some_and(|(at, zero)| at < zero);
        old && file.size_before == Some(file.size)
    }

    /// Result files, each with the point it belongs to.
    fn results(&mut self) {
        for (file, body) in std::mem::take(&mut self.files).into_values() {
            if file.what != "result" {
                continue;
            }
            if self.is_older(&file) {
                let name = file.name.lossy();
                let note = format!("{name} is older than the recording, and no load's result");
                self.run.notes.push(note);
                continue;
            }
            let text = String::from_utf8_lossy(fresh(&file, &body)).into_owned();
            match ClientResult::parse(&text) {
                Ok(result) => {
                    if let Some(point) = self.point_at(self.written(&file)) {
                        point.result = Some(result);
                    }
                }
                Err(what) => self.run.notes.push(format!("{}: {what}", file.name.lossy())),
            }
        }
    }
}

/// A load in time, in ns.
struct Bounds {
    begin: i64,
    end: i64,
    drained: i64,
    /// When the next load began.
    next: Option<i64>,
}

/// The readings of one source that bound each load: the last before it begins and the last of the
/// drain after it. Where the next load began before there was one, the first after the end is both
/// its end and the next one's beginning.
fn edges(full: &Recording, loads: &[Bounds]) -> Vec<Edges> {
    let mut found: Vec<Edges> = Vec::new();
    for load in loads {
        let before = found.last().and_then(|edges| edges.end);
        let (at_end, mut end) = (full.last_at(load.end), full.last_at(load.drained));
        let after = at_end.map_or(0, |reading| reading + 1);
        if end == at_end
            && let (Some(next), Some(t)) = (load.next, full.time(after))
            && t <= next.saturating_add(UNHURRIED_NS)
        {
            end = Some(after);
        }
        found.push(Edges { begin: full.last_at(load.begin).max(before), end });
    }
    found
}

/// The point's name as recorded, else after what varies; a repeat is numbered.
fn name_of(span: &Span, before: &[Point]) -> String {
    let after = |key: &str, short: &str| Some(format!("{short}={}", span.params.get(key)?));
    let name = span
        .name
        .clone()
        .or_else(|| after("concurrency", "c"))
        .or_else(|| after("rate", "rate"))
        .unwrap_or_else(|| "load".into());
    let taken = |name: &str| before.iter().any(|point| point.name.as_deref() == Some(name));
    if !taken(&name) {
        return name;
    }
    // One of so many numbers is free.
    (2..before.len() + 3).map(|n| format!("{name}#{n}")).find(|name| !taken(name)).unwrap_or(name)
}

/// Adds a reading to its source's columns.
fn add(source: &mut Source, columns: &[Option<usize>], reading: &Reading<'_>, new_shape: bool) {
    let middle = ns(reading.t.saturating_add(reading.dur_ns / 2));
    let number = source.full.begin(middle, reading.dur_ns);
    if let Some(peer) = reading.peer
        && source.peers.last().is_none_or(|(_, last)| last != peer)
    {
        source.peers.push((number as usize, peer.to_owned()));
    }
    let mut set = |position: usize| {
        let id = reading.ids.get(position).copied().unwrap_or(u32::MAX);
        if let Some(Some(column)) = columns.get(id as usize)
            && let Some(&value) = reading.values.get(position)
        {
            source.full.set(*column, number, value);
        }
    };
    match &reading.changed {
        Some(changed) if !new_shape => changed.iter().copied().for_each(&mut set),
        _ => {
            (0..reading.ids.len()).for_each(&mut set);
            source.full.forget_unseen(number);
        }
    }
}

/// What the run added to a file that was there before: tools append one result after another.
fn fresh<'a>(file: &record::File, body: &'a [u8]) -> &'a [u8] {
    let before = file.size_before.unwrap_or(0) as usize;
    let ends_a_line = before.checked_sub(1).and_then(|i| body.get(i)) == Some(&b'\n');
    let added = body.get(before..).filter(|added| !added.is_empty());
    added.filter(|_| ends_a_line).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tripwire;
    use inferlint_schema::container::{Head, Writer};
    use inferlint_schema::delta::{Encoder, ReadingHead};
    use inferlint_schema::record::{Bytes, End, Phase, Text};
    use inferlint_schema::redact::{Masker, Seeds};

    const S: u64 = 1_000_000_000;

    fn phase(t: u64, id: u32, begin: Option<(&str, &str)>) -> Record {
        let params = begin
            .filter(|(_, concurrency)| !concurrency.is_empty())
            .map(|(_, n)| BTreeMap::from([("concurrency".to_owned(), Text::from(n))]));
        Phase {
            t,
            id,
            edge: if begin.is_some() { "begin" } else { "end" }.into(),
            parent: None,
            name: None,
            kind: begin.map(|(kind, _)| kind.to_owned()),
            params,
            from: "argv".into(),
            error_ns: None,
        }
        .into()
    }

    fn log(t: u64, stream: &str, body: &str) -> Record {
        record::Log {
            t,
            src: 0,
            stream: stream.into(),
            off: 0,
            len: body.len() as u64,
            body: Bytes::from(body.as_bytes().to_vec()),
            ends: Vec::new(),
            dts: None,
            how: "written".into(),
        }
        .into()
    }

    /// A ladder of two loads on one server: the second preempts twice.
    fn ladder() -> Vec<u8> {
        let mut records: Vec<Record> = vec![
            record::Source {
                t: 0,
                src: 0,
                name: "server".into(),
                role: "engine".into(),
                kind: "exposition".into(),
                group: None,
                address: None,
                engine: Some("vllm".into()),
                engine_from: None,
                provider: None,
                why: None,
            }
            .into(),
            phase(2 * S, 0, Some(("load", "4"))),
            phase(4 * S, 0, None),
            phase(4 * S, 1, Some(("drain", ""))),
            phase(5 * S, 1, None),
            phase(7 * S, 2, Some(("load", "4"))),
            phase(9 * S, 2, None),
            phase(9 * S, 3, Some(("drain", ""))),
            phase(10 * S, 3, None),
            log(S, "stdout", "INFO: one li"),
            log(S, "stderr", "a whole line\n"),
            log(3 * S, "stdout", "ne\nlast"),
        ];
        let mut encoder = Encoder::new(0);
        for t in 1..12_u64 {
            let (running, preempted) = match t {
                3 => (4, 7),
                8 => (2, 8),
                9.. => (0, 9),
                _ => (0, 7),
            };
            let body = format!(
                "vllm:num_requests_running {running}\nvllm:num_requests_waiting 0\n\
                 vllm:num_preemptions_total {preempted}\nvllm:generation_tokens_total {t}\n"
            );
            let head = ReadingHead { t: t * S, ..ReadingHead::default() };
            encoder.exposition(&head, body.as_bytes(), t == 1, None, &mut records);
        }
        records.sort_by_key(Record::t);
        let head = Head::new("test 1", 7);
        let mut writer = Writer::create(Vec::new(), &head, Masker::new(Seeds::default())).unwrap();
        for record in &records {
            writer.push(record).unwrap();
        }
        let end = End {
            t: 12 * S,
            how: "finished".into(),
            counts: BTreeMap::new(),
            gaps: 0,
            dropped: 0,
            redacted: BTreeMap::new(),
            wall_ns: 0,
            mono_ns: 0,
            cpu_ns: None,
            max_rss_bytes: None,
            scrapes: None,
            scrape_dur_ns: None,
            error: None,
        };
        writer.finish(end).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Run, InputError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ilb");
        std::fs::write(&path, bytes).unwrap();
        super::open(&path)
    }

    #[test]
    fn every_point_has_its_own_verdict() {
        let run = read(&ladder()).unwrap();
        let names: Vec<_> = run.points.iter().map(|point| point.name.clone().unwrap()).collect();
        assert_eq!(names, ["c=4", "c=4#2"]);
        let judged = tripwire::judge(&run, tripwire::TRIPWIRES);
        let status = |code: &str| -> Vec<&str> {
            let own = judged.iter().filter(|finding| finding.tripwire == code);
            own.map(|finding| finding.status.key()).collect()
        };
        assert_eq!(status("T1"), ["pass", "fail"]);
        assert_eq!(status("T8"), ["pass", "unknown"], "the second has too few samples");
    }

    #[test]
    fn who_said_the_concurrency_is_kept() {
        for (from, kind, marked) in [("argv", "4", false), ("mark", "4", true), ("mark", "", false)]
        {
            let mut reader = Reader::default();
            let Record::Phase(begin) = phase(S, 0, Some(("load", kind))) else { panic!() };
            reader.record(Phase { from: from.into(), ..begin }.into());
            let run = reader.finish(&Salvage::default());
            assert_eq!(run.points[0].concurrency_marked, marked, "{from} {kind:?}");
        }
    }

    #[test]
    fn a_result_belongs_to_the_load_that_was_under_way_when_it_was_written() {
        let zero = 100 * S;
        let result = |id: u32, fetched: u64, written: Option<u64>| {
            let body = format!(r#"{{"completed": {id}, "num_prompts": 9}}"#).into_bytes();
            let file = record::File {
                t: fetched * S,
                src: None,
                id,
                name: "r.json".into(),
                what: "result".into(),
                media: None,
                size: body.len() as u64,
                size_before: None,
                sha256: None,
                modified_ns: written.map(|t| t * S),
                by: "recorder".into(),
                part: 0,
                last: true,
                cut: None,
                body: None,
            };
            (id, (file, body))
        };
        let placed = |files: &[(u32, (record::File, Vec<u8>))]| -> Vec<Option<u64>> {
            let mut reader = Reader { files: files.iter().cloned().collect(), ..Reader::default() };
            reader.run.wall_ns = Some(zero);
            for (begin, end) in [(2, 4), (5, 7)] {
                let command = Some((begin * S as i64, end * S as i64));
                reader.run.points.push(Point { command, ..Point::default() });
            }
            reader.results();
            let results = reader.run.points.iter().map(|point| point.result.as_ref());
            results.map(|result| result.map(|result| result.completed)).collect()
        };
        // Fetched when the next load had begun, or both at the end.
        assert_eq!(placed(&[result(1, 6, Some(104))]), [Some(1), None]);
        assert_eq!(placed(&[result(1, 9, Some(107)), result(2, 9, Some(104))]), [Some(2), Some(1)]);
        // One that no load touched.
        let mut old = result(1, 9, Some(99));
        old.1.0.size_before = Some(old.1.0.size);
        assert_eq!(placed(&[old]), [None, None]);
        // Written before the recording began, in its future, or nobody knows when.
        for written in [Some(99), Some(200), None] {
            assert_eq!(placed(&[result(1, 6, written)]), [None, Some(1)], "{written:?}");
        }
    }

    #[test]
    fn a_load_that_follows_at_once_shares_the_reading_between_them() {
        let bounds = |steps: &[(i64, i64)]| -> Vec<Bounds> {
            let all = steps.iter().enumerate();
            all.map(|(i, &(begin, end))| {
                let next = steps.get(i + 1).map(|(begin, _)| *begin);
                let drained = next.unwrap_or(end + 30);
                Bounds { begin, end, drained, next }
            })
            .collect()
        };
        let of = |times: &[i64], steps: &[(i64, i64)]| -> Vec<(Option<usize>, Option<usize>)> {
            let mut full = Recording::default();
            for t in times {
                full.push(*t, 0, [(&b"a"[..], 1.0)]);
            }
            edges(&full, &bounds(steps)).iter().map(|edges| (edges.begin, edges.end)).collect()
        };
        let both = |a, b, c, d| vec![(Some(a), Some(b)), (Some(c), Some(d))];
        // A reading in between, or several: each its own.
        assert_eq!(of(&[5, 25, 60], &[(10, 20), (30, 50)]), both(0, 1, 1, 2));
        assert_eq!(of(&[5, 22, 28, 60], &[(10, 20), (30, 50)]), both(0, 2, 2, 3));
        // None: the one that the recorder took at the end came when the next tool was loading.
        assert_eq!(of(&[5, 15, 22, 60], &[(10, 20), (21, 50)]), both(0, 2, 2, 3));
        // None for long: those at hand.
        let late = 21 + UNHURRIED_NS + 1;
        assert_eq!(of(&[5, 15, late], &[(10, 20), (21, late - 1)]), both(0, 1, 1, 2));
        // Nothing after the last, and nothing at all.
        assert_eq!(of(&[5, 15], &[(10, 20)]), [(Some(0), Some(1))]);
        assert_eq!(of(&[], &[(10, 20), (21, 50)]), [(None, None), (None, None)]);
    }

    #[test]
    fn lines_of_both_streams_are_put_together_each_by_itself() {
        let run = read(&ladder()).unwrap();
        let [log] = run.logs.as_slice() else { panic!("one log") };
        assert_eq!(log.server.facts.lines, 3);
        assert!(log.from_start, "its first byte was written under the recorder's eyes");
        assert_eq!(log.time_of(2), Some(3 * S as i64));
    }

    #[test]
    fn a_damaged_bundle_is_read_as_far_as_it_goes() {
        let whole = ladder();
        for cut in (0..whole.len()).step_by(7) {
            if let Ok(run) = read(&whole[..cut]) {
                assert!(!run.points.is_empty());
                tripwire::judge(&run, tripwire::TRIPWIRES);
            }
        }
        for at in (0..whole.len()).step_by(5) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            if let Ok(run) = read(&flipped) {
                tripwire::judge(&run, tripwire::TRIPWIRES);
            }
        }
    }
}
