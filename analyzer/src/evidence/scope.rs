//! The questions a check may ask about one load point and one group of replicas.

use super::{
    Edges, Group, Log, Need, Point, Recording, Restarted, Run, RunningLimit, SERVER_ROLES, Source,
};
use crate::client::ClientResult;
use crate::engine::{Engine, Metric, Pick, Release, Signal};
use crate::failure::Aside;
use crate::number::{grouped, plural};
use std::collections::{BTreeMap, BTreeSet};

/// One load point and one group of replicas of one run.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The run.
    pub run: &'a Run,
    /// The load point.
    pub point: &'a Point,
    /// The replicas whose counts may be added.
    pub group: &'a Group,
}

/// Why a figure cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is missing, in words, ready to stand in a message.
    pub what: String,
    /// True: this source can never have it, so nothing is missing that was to be had.
    pub inapplicable: bool,
}

impl Missing {
    /// Evidence that was to be had.
    pub fn lack(what: impl Into<String>) -> Self {
        Self { what: what.into(), inapplicable: false }
    }

    /// Evidence that this source cannot have.
    pub fn never(what: impl Into<String>) -> Self {
        Self { what: what.into(), inapplicable: true }
    }
}

/// The difference of a counter between a point's edges.
#[derive(Debug, Clone, PartialEq)]
pub struct Count {
    /// Sum over all replicas.
    pub total: f64,
    /// Per replica, in order of their names.
    pub replicas: Vec<(String, f64)>,
    /// The metric it was read from.
    pub metric: &'static str,
}

/// A counter's differences by one label's values.
pub type Sum = BTreeMap<String, f64>;

/// A signal over the samples of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Track {
    /// Sample times in ns.
    pub times: Vec<i64>,
    /// Per replica, its name and one value a sample; `None` where it is unknown.
    pub replicas: Vec<(String, Vec<Option<f64>>)>,
    /// How many servers or replicas one figure is already the sum of; 1 when it is of one.
    pub summed_over: usize,
    /// The metric it was read from.
    pub metric: &'static str,
}

impl Track {
    /// Sum over replicas, per sample; `None` where one of them is unknown.
    pub fn total(&self) -> Vec<Option<f64>> {
        (0..self.times.len())
            .map(|i| self.replicas.iter().map(|(_, v)| v.get(i).copied().flatten()).sum())
            .collect()
    }

    /// Value of replica `r` in sample `i`.
    pub fn at(&self, r: usize, i: usize) -> Option<f64> {
        self.replicas.get(r)?.1.get(i).copied().flatten()
    }
}

/// The three windows of a load point, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// The load command, begin to end.
    pub command: (i64, i64),
    /// First to last sample with requests running or waiting.
    pub inner: (i64, i64),
    /// One sample wider on each side, else as wide as the load can have been.
    pub outer: (i64, i64),
    /// The samples do not show when the load began, or when it ended.
    pub open: bool,
}

/// Requests that a server refused to queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Refused {
    /// How many.
    pub requests: f64,
    /// What counts them: a metric, or the log.
    pub from: &'static str,
}

/// How many requests at once the load asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Requested {
    /// Requests at once: the concurrency, or the number of prompts where that is lower.
    pub at_once: f64,
    /// How it is known.
    pub from: &'static str,
}

impl<'a> Scope<'a> {
    /// The group's engine.
    ///
    /// # Errors
    /// When no metrics of a known engine were read.
    pub fn engine(&self) -> Result<&'static Engine, Missing> {
        let of_group = self.sources().find_map(|(_, source)| source.engine);
        of_group.or(self.run.engine).ok_or_else(|| {
            Missing::lack(
                "the engine is not known: no metrics and no log of it (name it with --engine)",
            )
        })
    }

    /// The group's sources with their edges.
    pub fn sources(&self) -> impl Iterator<Item = (Edges, &'a Source)> + '_ {
        self.group.sources.iter().filter_map(|&i| {
            let edges = self.point.edges.get(i).copied().unwrap_or_default();
            self.run.sources.get(i).map(|source| (edges, source))
        })
    }

    /// That the run lacks something, and how it can be had.
    pub fn lack(&self, need: Need) -> Missing {
        need.lacking(self.run.form)
    }

    /// The server logs.
    pub fn logs(&self) -> &'a [Log] {
        &self.run.logs
    }

    /// Whether the server logs go on to the end of the load: each shows the server's end, or was
    /// followed as it was written with nothing lost on the way, or has a line for each reading of the
    /// metrics, of which the last came after the load, and all together one for each request that the
    /// server had finished by then: others may read its metrics, too.
    pub fn logs_reach_the_end(&self) -> bool {
        let lost = |log: &Log| {
            let gaps = self.run.account.iter().flat_map(|account| &account.gaps);
            gaps.filter(|gap| LOST.contains(&gap.what.as_str())).any(|gap| {
                let source = self.run.sources.get(gap.src.unwrap_or(u32::MAX) as usize);
                source.is_none_or(|source| source.name == log.name)
            })
        };
        let after = self.sources().filter(|(edges, _)| edges.end.is_some());
        let readings = after
            .map(|(_, source)| source.full.len() + source.summed.as_ref().map_or(0, Recording::len))
            .next();
        let concluded =
            || self.logs().iter().map(|log| (log, log.server.conclude(&Aside::default())));
        let answers: u64 = concluded().map(|(_, of)| of.answered).sum();
        let all_answers = self.at_end(Signal::Finished).is_ok_and(|n| answers as f64 >= n);
        concluded().all(|(log, of)| {
            let scrapes = log.server.facts.serving.scrapes;
            let shows_all =
                all_answers && readings.is_some_and(|readings| scrapes >= readings as u64);
            of.stopped_line.is_some() || shows_all || !log.times.is_empty() && !lost(log)
        })
    }

    /// That the group sees requests from their beginning to their end, as the load tool does.
    ///
    /// # Errors
    /// For prefill and encode servers: what they count is a part of each request.
    pub fn sees_whole_requests(&self) -> Result<(), Missing> {
        match self.sources().map(|(_, source)| source.role.as_str()).next() {
            Some(role @ ("prefill" | "encode")) => Err(Missing::never(format!(
                "{role} servers see a part of each request; the decode servers are held against the load"
            ))),
            _ => Ok(()),
        }
    }

    /// What the load tool reported.
    ///
    /// # Errors
    /// When neither its result file was given nor one table is in its output.
    pub fn result(&self) -> Result<&'a ClientResult, Missing> {
        let point = self.point;
        point.result.as_ref().ok_or_else(|| {
            let printed = match &point.printed {
                Some(Err(why)) => format!("; {why}"),
                _ if point.output.is_some() => ", and no table in its output".into(),
                _ => String::new(),
            };
            let ended = match point.exit {
                Some(0) | None => String::new(),
                Some(signal) if signal < 0 => {
                    format!("; the load command was ended by signal {}", signal.unsigned_abs())
                }
                Some(status) => format!("; the load command ended with status {status}"),
            };
            let Missing { what, .. } = self.lack(Need::Result);
            Missing::lack(what + &printed + &ended)
        })
    }

    /// Whether the metrics are those of a release known to export the signal, also where it is absent.
    pub fn release_has(&self, signal: Signal) -> bool {
        let metric = self.engine().ok().and_then(|engine| engine.metric(signal));
        let later = metric.and_then(|metric| metric.not_in.as_ref()).map_or(&[][..], |r| r.lacks);
        self.sources().any(|(_, source)| later.iter().any(|name| source.full.knows(name)))
    }

    /// The difference of a counter between the point's edges, over all replicas.
    ///
    /// # Errors
    /// When an edge is missing, the metric is not exported, or a server or replica was replaced.
    pub fn counter(&self, signal: Signal) -> Result<Count, Missing> {
        let mut replicas = Vec::new();
        let mut metric = "";
        for (edges, source) in self.edges()? {
            let found = Series::of(source, &source.full, signal)?;
            metric = found.name;
            found.kept(edges)?;
            let (old, new) = (found.at(edges.0), found.at(edges.1));
            for (name, values) in old.iter().zip(&new).map(|((n, a), (_, b))| (n, (a, b))) {
                match values {
                    (Some(a), Some(b)) => replicas.push((label(self, source, name), b - a)),
                    (None, Some(_)) => return Err(appeared(&found, name)),
                    (_, None) => return Err(vanished(&found, name)),
                }
            }
        }
        replicas.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Count { total: replicas.iter().map(|(_, v)| v).sum(), replicas, metric })
    }

    /// A counter's differences by the values of `key`, over all replicas. Label values that were
    /// absent before count from 0.
    ///
    /// # Errors
    /// As [`Scope::counter`].
    pub fn counter_by(&self, signal: Signal, key: &str) -> Result<Sum, Missing> {
        let mut sums = Sum::new();
        for ((value, _), n) in self.counter_by_two(signal, key, "")? {
            *sums.entry(value).or_default() += n;
        }
        Ok(sums)
    }

    /// A counter's differences by the values of two labels.
    ///
    /// # Errors
    /// As [`Scope::counter`].
    pub fn counter_by_two(
        &self,
        signal: Signal,
        first: &str,
        second: &str,
    ) -> Result<BTreeMap<(String, String), f64>, Missing> {
        self.counter(signal)?;
        let mut sums = BTreeMap::new();
        for (edges, source) in self.edges()? {
            let found = Series::of(source, &source.full, signal)?;
            for columns in found.replicas.values() {
                for &column in columns {
                    let Some(column) = source.full.columns().get(column) else { continue };
                    let Some(new) = column.at(edges.1) else { continue };
                    let value = |key| column.series.label(key).unwrap_or_default().to_owned();
                    *sums.entry((value(first), value(second))).or_default() +=
                        new - column.at(edges.0).unwrap_or(0.0);
                }
            }
        }
        Ok(sums)
    }

    /// The value of a counter or gauge at the point's end edge, over all replicas.
    ///
    /// # Errors
    /// When the edge is missing or the metric is not exported.
    pub fn at_end(&self, signal: Signal) -> Result<f64, Missing> {
        let mut total = 0.0;
        for (edges, source) in self.sources() {
            let end = edges.end.ok_or_else(|| self.lack(Need::After))?;
            let found = Series::of(source, &source.full, signal)?;
            for (name, value) in found.at(end) {
                total += value.ok_or_else(|| vanished(&found, &name))?;
            }
        }
        Ok(total)
    }

    /// The replicas behind the addresses of the group, by the engine's label for them.
    pub fn replica_labels(&self) -> BTreeSet<&'a str> {
        self.sources().flat_map(|(_, source)| replica_labels(source)).collect()
    }

    /// A label of an info metric, e.g. `num_gpu_blocks` of `vllm:cache_config_info`, from the newest
    /// reading that has it.
    pub fn info(&self, metric: &str, key: &str) -> Option<&'a str> {
        self.group.sources.iter().filter_map(|&i| self.run.sources.get(i)).find_map(|source| {
            source.full.named(metric).find_map(|column| column.series.label(key))
        })
    }

    /// `num_gpu_blocks` of one vLLM replica: under data parallelism the label is the sum over the
    /// replicas, repeated on each.
    pub fn blocks_per_replica(&self) -> Option<f64> {
        let metric = "vllm:cache_config_info";
        let source = self.group.sources.first().and_then(|&i| self.run.sources.get(i))?;
        let engines: BTreeSet<Option<&str>> =
            source.full.named(metric).map(|column| column.series.label("engine")).collect();
        let blocks: f64 = self.info(metric, "num_gpu_blocks")?.parse().ok()?;
        let each = blocks / engines.len() as f64;
        (each.fract() == 0.0 && each > 1.0).then_some(each)
    }

    /// Requests the server refused to queue: by its counter, else by the lines of its log where one
    /// load is all it served. `None`: none, as far as these tell.
    pub fn refused(&self) -> Option<Refused> {
        let counted = self
            .counter(Signal::Rejections)
            .map(|counted| Refused { requests: counted.total, from: counted.metric });
        let logged = || {
            let lines = self.run.logs.iter().map(|log| log.server.facts.serving.rejected);
            let requests = if self.run.points.len() == 1 { lines.sum::<u64>() } else { 0 };
            Refused { requests: requests as f64, from: "the lines of its log" }
        };
        Some(counted.unwrap_or_else(|_| logged())).filter(|refused| refused.requests > 0.0)
    }

    /// Most requests the server runs at once, by its own setting.
    pub fn running_limit(&self) -> Option<RunningLimit> {
        let exported = self.track(Signal::RunningLimit).ok().and_then(|track| {
            // A sibling speaks for a gauge that sums leave out: no server runs at most 0.
            let most =
                track.total().into_iter().flatten().reduce(f64::max).filter(|most| *most > 0.0)?;
            Some(RunningLimit { requests: most, why: track.metric.to_owned() })
        });
        exported.or_else(|| self.run.running_limit.clone())
    }

    /// Both edges of every source of the group, none restarted in between.
    ///
    /// # Errors
    /// When a reading is missing or a server was replaced.
    fn edges(&self) -> Result<Vec<Bounded<'a>>, Missing> {
        let mut out = Vec::new();
        for (edges, source) in self.sources() {
            let begin = edges.begin.ok_or_else(|| self.lack(Need::Before))?;
            let end = edges.end.ok_or_else(|| self.lack(Need::After))?;
            if let Some(reason) = replaced(source, edges) {
                return Err(reason);
            }
            out.push(((begin, end), source));
        }
        if out.is_empty() {
            return Err(self.no_metrics());
        }
        Ok(out)
    }

    /// Why no source of an engine is there: nothing was read, or nothing of it.
    fn no_metrics(&self) -> Missing {
        let mut servers = self.run.sources.iter().filter(|source| is_server(source));
        let read = servers.any(|source| !source.full.is_empty());
        match self.run.engine.filter(|_| read) {
            Some(engine) => Missing::lack(format!(
                "the metrics that were read have no series of {} ({})",
                engine.title(),
                engine.gauges_setting
            )),
            None => self.lack(Need::Metrics),
        }
    }

    /// A signal over the samples of the load command, per replica.
    ///
    /// # Errors
    /// When there are no samples or the metric is not exported.
    pub fn track(&self, signal: Signal) -> Result<Track, Missing> {
        let span = self.span();
        let mut track: Option<Track> = None;
        for (edges, source) in self.sources() {
            let recording = samples_of(source).ok_or_else(|| self.lack(Need::Samples))?;
            // Each reading is of another server: neither their sum nor one of them is shown.
            if let several @ Restarted::Several(_) = Restarted::between(source, edges) {
                return Err(reason(several).unwrap_or_else(|| self.lack(Need::Samples)));
            }
            let found = Series::of(source, recording, signal)?;
            let (from, to) = span.map_or((0, recording.len()), |(a, b)| {
                let times = recording.times();
                (times.partition_point(|&t| t < a), times.partition_point(|&t| t <= b))
            });
            if from >= to {
                return Err(self.lack(Need::Samples));
            }
            found.is_share(from, to)?;
            let summed = source.summed.is_some();
            match &mut track {
                None => track = Some(found.track(self, source, recording, from, to, summed)),
                Some(track) => found.align(self, source, recording, track),
            }
        }
        track.ok_or_else(|| self.lack(Need::Samples))
    }

    /// From when to when samples belong to the point: the command, or all samples there are.
    fn span(&self) -> Option<(i64, i64)> {
        self.point.command
    }

    /// The windows of the point.
    ///
    /// # Errors
    /// When there are no samples of the requests, or none shows one.
    pub fn windows(&self) -> Result<Windows, Missing> {
        let running = self.track(Signal::Running)?;
        let looks = self.looks(&running);
        let (Some(first), Some(last)) =
            (looks.iter().position(|(_, busy)| *busy), looks.iter().rposition(|(_, busy)| *busy))
        else {
            return Err(Missing::lack("no sample shows a request running or waiting"));
        };
        let time = |i: usize| looks.get(i).map(|(t, _)| *t);
        let (Some(a), Some(b)) = (time(first), time(last)) else {
            return Err(self.lack(Need::Samples));
        };
        let (begin, end) = self.bounds();
        let before = first.checked_sub(1).and_then(time);
        let after = time(last + 1);
        let unseen = self.unseen(&looks);
        let outer = (
            before.or(begin).map_or(a, |begin| begin.min(a)),
            after.or(end).map_or(b, |end| end.max(b)),
        );
        let outer = (
            unseen.first().map_or(outer.0, |((from, _), _)| outer.0.min(*from)),
            unseen.last().map_or(outer.1, |((_, to), _)| outer.1.max(*to)),
        );
        // A command bounds its load also where no sample does.
        let unbound = |bound: Option<i64>, at: i64| {
            let near = |bound: i64| (bound - at).abs() <= running.gap();
            !bound.is_some_and(|bound| self.point.command.is_some() || near(bound))
        };
        let open = before.is_none() && unbound(begin, a) || after.is_none() && unbound(end, b);
        let command = self.point.command.unwrap_or((
            running.times.first().copied().unwrap_or(a),
            running.times.last().copied().unwrap_or(b),
        ));
        Ok(Windows { command, inner: (a, b), outer, open })
    }

    /// How many requests at once the load asked for.
    pub fn requested(&self) -> Option<Requested> {
        let number = |key: &str| self.point.params.get(key).and_then(|v| v.parse::<f64>().ok());
        let result = self.point.result.as_ref();
        let told =
            if self.point.concurrency_marked { "the load's mark" } else { "the load command" };
        let asked = [
            (number("concurrency"), told),
            (result.and_then(|result| result.max_concurrency), "the load tool's result"),
            (self.run.requested, "--requested"),
        ];
        // 0 and less is how some tools write that there is no limit.
        let (asked, from) =
            asked.into_iter().find_map(|(n, from)| Some((n.filter(|n| *n >= 1.0)?, from)))?;
        // The option may name more prompts than the data set had.
        let sent = result.and_then(|result| result.num_prompts).map(|n| n as f64);
        let prompts = sent.or_else(|| number("num_prompts"));
        let prompts = prompts.filter(|n| *n >= 1.0);
        match prompts {
            Some(prompts) if prompts < asked => {
                Some(Requested { at_once: prompts, from: "the number of prompts" })
            }
            _ => Some(Requested { at_once: asked, from }),
        }
    }

    /// Why differences over the point mean nothing, where its servers were replaced during it.
    pub fn replaced(&self) -> Option<Missing> {
        self.sources().find_map(|(edges, source)| replaced(source, edges))
    }

    /// Whether the readings at the point's edges can be of this load.
    ///
    /// # Errors
    /// When the load tool counts completed requests and the server finished none between them.
    pub fn covered(&self) -> Result<(), Missing> {
        let completed = self.point.result.as_ref().map_or(0, |result| result.completed);
        let finished = self.counter(Signal::Finished).map_or(f64::NAN, |finished| finished.total);
        if completed > 0 && finished == 0.0 {
            return Err(Missing::lack(format!(
                "the load tool completed {} and the server finished none between the readings: they \
                 are not of this load",
                plural(completed as f64, "request")
            )));
        }
        Ok(())
    }

    /// Whether the servers of the group were replaced during the point.
    pub fn restarts(&self) -> Vec<(&'a Source, Restarted)> {
        let of_engine = self.sources().map(|(edges, source)| (source, edges));
        // Without its statistics a server still exports when its process began.
        let edges = self.point.edges.iter().copied();
        let any = self.run.sources.iter().zip(edges).filter(|(s, _)| is_server(s));
        let any = any.filter(|_| self.group.sources.is_empty());
        let all = of_engine.chain(any);
        all.map(|(source, edges)| (source, Restarted::between(source, edges))).collect()
    }
}

fn is_server(source: &Source) -> bool {
    SERVER_ROLES.contains(&source.role.as_str())
}

/// Gaps by which lines of a log are lost.
const LOST: [&str; 5] = ["rotated", "truncated", "too_large", "unreadable", "dropped"];

/// Why differences between these readings of one source mean nothing.
fn replaced(source: &Source, edges: Edges) -> Option<Missing> {
    reason(Restarted::between(source, edges))
}

fn reason(restarted: Restarted) -> Option<Missing> {
    let reason = match restarted {
        Restarted::No(_) | Restarted::Unknown => return None,
        Restarted::Yes(restart) => {
            format!(
                "the server was restarted in between ({}): differences mean nothing",
                restart.how
            )
        }
        Restarted::Several(how) => {
            format!(
                "several servers answer at one address ({how}): the readings are of none of them"
            )
        }
        Restarted::Swapped(how) => {
            format!("the readings before and after the load are in the wrong order: {how}")
        }
    };
    Some(Missing::lack(reason))
}

/// A source with the numbers of the readings that bound a point.
type Bounded<'a> = ((usize, usize), &'a Source);

/// The recording that has samples over time: the summed one where there is one.
fn samples_of(source: &Source) -> Option<&Recording> {
    match &source.summed {
        Some(summed) => Some(summed),
        None => Some(&source.full).filter(|full| full.len() > 2),
    }
}

fn appeared(series: &Series<'_>, replica: &str) -> Missing {
    let what = if replica.is_empty() { String::new() } else { format!(" of replica {replica:?}") };
    Missing::lack(format!("{}: no usable value{what} before the load", series.name))
}

fn vanished(series: &Series<'_>, replica: &str) -> Missing {
    let what = if replica.is_empty() { String::new() } else { format!(" of replica {replica:?}") };
    Missing::lack(format!("{}: no usable value{what} after the load", series.name))
}

/// A replica's name in a scope: its label, or its source where several sources are replicas.
fn label(scope: &Scope<'_>, source: &Source, replica: &str) -> String {
    match (scope.group.sources.len() > 1, replica.is_empty()) {
        (false, _) => replica.to_owned(),
        (true, true) => source.name.clone(),
        (true, false) => format!("{}/{replica}", source.name),
    }
}

/// The series of one signal in one recording, by replica.
struct Series<'a> {
    name: &'static str,
    recording: &'a Recording,
    engine: &'static Engine,
    metric: &'static Metric,
    replicas: BTreeMap<String, Vec<usize>>,
}

impl<'a> Series<'a> {
    fn of(source: &Source, recording: &'a Recording, signal: Signal) -> Result<Self, Missing> {
        let engine = source.engine.ok_or_else(|| Missing::lack("the engine is not known"))?;
        let metric = engine
            .metric(signal)
            .ok_or_else(|| Missing::never(format!("{} exports nothing like it", engine.title())))?;
        let known = metric.names.iter().copied().find(|name| recording.knows(name));
        // A gauge that never appeared, however long the recording, is not exported.
        let witnessed = !metric.signal.is_gauge()
            && !metric.not_in.as_ref().is_some_and(|release| is_of(recording, release))
            && metric.witnesses.iter().any(|name| recording.knows(name));
        let Some(name) = known.or(metric.names.first().copied().filter(|_| witnessed)) else {
            return Err(not_exported(engine, metric));
        };
        let mut series = Self { name, recording, engine, metric, replicas: BTreeMap::new() };
        series.replicas = series.by_replica(name);
        if series.replicas.is_empty() {
            // Never exported, but a sibling is: every replica of the sibling reads 0.
            let sibling = metric.witnesses.iter().find(|name| recording.knows(name));
            let replicas = sibling.map(|name| series.by_replica(name)).unwrap_or_default();
            series.replicas = replicas.into_keys().map(|replica| (replica, Vec::new())).collect();
        }
        Ok(series)
    }

    /// The columns of `name` that are to be added, by replica.
    fn by_replica(&self, name: &str) -> BTreeMap<String, Vec<usize>> {
        let all = self.recording.columns();
        let label = |column: usize, key: &str| all.get(column).and_then(|c| c.series.label(key));
        let mut columns: Vec<usize> =
            (0..all.len()).filter(|&i| all.get(i).is_some_and(|c| c.series.name == name)).collect();
        if let Some(total) = self.engine.total_label
            && columns.iter().any(|&column| label(column, total) == Some(""))
        {
            columns.retain(|&column| label(column, total).is_none_or(str::is_empty));
        }
        let mut out: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for column in columns {
            let key = self.engine.replica_label.and_then(|key| label(column, key));
            out.entry(key.unwrap_or_default().to_owned()).or_default().push(column);
        }
        let number = |column: usize, key: &str| -> i64 {
            label(column, key).and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        // Within a replica: with attention data parallelism each has ranks of its own.
        for columns in out.values_mut() {
            match self.metric.pick {
                Pick::All => {}
                Pick::LowestOf(keys) => {
                    for key in keys {
                        let lowest = columns.iter().map(|&column| number(column, key)).min();
                        columns.retain(|&column| Some(number(column, key)) == lowest);
                    }
                }
                Pick::HighestOf(key) => {
                    let highest = columns.iter().map(|&column| number(column, key)).max();
                    columns.retain(|&column| Some(number(column, key)) == highest);
                }
            }
        }
        out
    }

    /// The value of one replica in reading `i`: the sum of its series, 0 where a witness speaks for
    /// it, else unknown.
    fn value(&self, replica: &str, columns: &[usize], i: usize) -> Option<f64> {
        let all = self.recording.columns();
        let present: Vec<f64> =
            columns.iter().filter_map(|&c| all.get(c)).filter_map(|c| c.at(i)).collect();
        if !present.is_empty() {
            let usable = |value: &f64| self.metric.signal.allows(*value);
            let sum: f64 = present.iter().sum();
            // Shares of several caches under one replica's name (pods in one exposition) are no share.
            let one = self.metric.signal != Signal::KvUsage || present.len() == 1;
            return (one && present.iter().all(usable) && sum.is_finite()).then_some(sum);
        }
        let is_there = |name: &str| {
            self.recording.named(name).any(|column| {
                let own = self.engine.replica_label.and_then(|label| column.series.label(label));
                own.is_none_or(|own| replica.is_empty() || own == replica) && column.at(i).is_some()
            })
        };
        let speaks_for_it = self.metric.witnesses.iter().any(|name| is_there(name))
            && !self.engine.set_together(self.metric.signal).any(is_there)
            && !self.metric.not_in.as_ref().is_some_and(|old| is_of(self.recording, old));
        speaks_for_it.then_some(0.0)
    }

    /// That a share of the KV cache in use is one: a gauge that reads 97 counts something else, and its
    /// low readings are no shares either.
    fn is_share(&self, from: usize, to: usize) -> Result<(), Missing> {
        let columns = self.replicas.values().flatten();
        let columns = columns.filter_map(|&column| self.recording.columns().get(column));
        let values =
            columns.flat_map(|column| column.between(from, to - 1)).map(|(_, value)| value);
        let most = values.fold(0.0, f64::max);
        if self.metric.signal == Signal::KvUsage
            && most.is_finite()
            && !self.metric.signal.allows(most)
        {
            return Err(Missing::lack(format!(
                "{} reads up to {}: it is no share of the KV cache, which is 0 to 1",
                self.name,
                grouped(most, 1)
            )));
        }
        Ok(())
    }

    /// That every series of it that was there at the first edge is there at the last: a counter keeps
    /// its series as long as its server lives, and without one of them the sum is not smaller but
    /// unknown. Where all are made at the server's start, none comes later either.
    fn kept(&self, edges: (usize, usize)) -> Result<(), Missing> {
        let lacks = |from: usize, to: usize| {
            let columns = self.replicas.values().flatten();
            let mut columns = columns.filter_map(|&column| self.recording.columns().get(column));
            columns.any(|c| c.at(from).is_some() && c.at(to).is_none())
        };
        let made_at_start = self.engine.made_at_start.contains(&self.metric.signal);
        let (which, other) = if lacks(edges.0, edges.1) {
            ("after", "before")
        } else if made_at_start && lacks(edges.1, edges.0) {
            ("before", "after")
        } else {
            return Ok(());
        };
        Err(Missing::lack(format!(
            "the reading {which} the load lacks a series of {} that the one {other} it has: was it cut?",
            self.name
        )))
    }

    fn at(&self, i: usize) -> Vec<(String, Option<f64>)> {
        let value =
            |(name, columns): (&String, &Vec<usize>)| (name.clone(), self.value(name, columns, i));
        self.replicas.iter().map(value).collect()
    }

    fn track(
        &self,
        scope: &Scope<'_>,
        source: &Source,
        recording: &Recording,
        from: usize,
        to: usize,
        summed: bool,
    ) -> Track {
        let replicas = self.replicas.iter().map(|(name, columns)| {
            let values = (from..to).map(|i| self.value(name, columns, i)).collect();
            (label(scope, source, name), values)
        });
        Track {
            times: recording.times().get(from..to).unwrap_or_default().to_vec(),
            replicas: replicas.collect(),
            summed_over: if summed { replicas_of(source) } else { 1 },
            metric: self.name,
        }
    }

    /// Adds this source's values at the sample times of `track`: the newest reading not later than
    /// half an interval after each.
    fn align(&self, scope: &Scope<'_>, source: &Source, recording: &Recording, track: &mut Track) {
        let slack = recording.interval().unwrap_or(0) / 2;
        for (name, columns) in &self.replicas {
            let values = track
                .times
                .iter()
                .map(|&t| recording.last_at(t + slack).and_then(|i| self.value(name, columns, i)))
                .collect();
            track.replicas.push((label(scope, source, name), values));
        }
    }
}

/// Whether the exposition is of one of these releases.
fn is_of(recording: &Recording, release: &Release) -> bool {
    recording.knows(release.has) && !release.lacks.iter().any(|name| recording.knows(name))
}

/// How many replicas the whole expositions of a source show; 1 where they show none.
fn replicas_of(source: &Source) -> usize {
    replica_labels(source).len().max(1)
}

fn replica_labels(source: &Source) -> BTreeSet<&str> {
    let Some(label) = source.engine.and_then(|engine| engine.replica_label) else {
        return BTreeSet::new();
    };
    source.full.columns().iter().filter_map(|column| column.series.label(label)).collect()
}

fn not_exported(engine: &Engine, metric: &Metric) -> Missing {
    let name = metric.names.first().copied().unwrap_or_default();
    Missing::lack(match metric.signal {
        Signal::Running | Signal::Waiting | Signal::KvUsage | Signal::Paused => {
            format!("{name} is not exported ({})", engine.gauges_setting)
        }
        _ => format!("{name} is not exported"),
    })
}
