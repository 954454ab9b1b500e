//! One recording, from the first record to the seal. Read top to bottom: it is its story.

use crate::alarm::Ticks;
use crate::clock::Clock;
use crate::collect::host::{Cgroup, limits};
use crate::collect::metrics::{Found, Metrics};
use crate::collect::{Ask, Collector, Failure, Running};
use crate::error::Error;
use crate::http::Client;
use crate::identity::{Means, Ours, Watched};
use crate::marks::{Follower, Lines, Malformed, Mark};
use crate::phase::{Edge, Phases};
use crate::plan::{Plan, random_hex};
use crate::procfs::Procfs;
use crate::root::Root;
use crate::signals::{Signals, Stop};
use crate::sink::{Beginning, Place, Sealed, Sink};
use crate::status::{Live, Voice};
use crate::{host, nic, zone};
use inferlint_schema::container::Head;
use inferlint_schema::record::{self, End, Gap, Note, Record, Source, Text};
use inferlint_schema::redact::{Masker, Seeds};
use inferlint_schema::version::{FORMAT, MINOR};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// The program and its version, as bundles name their writer.
pub(crate) const WRITER: &str = concat!("inferlint-record ", env!("CARGO_PKG_VERSION"));
/// What the last readings may take, so that a bundle is sealed within 2 s of a signal.
const LAST_READINGS: Duration = Duration::from_secs(1);
/// How often the status line and the clocks are looked at.
const TICK: Duration = Duration::from_secs(1);
/// An anchor between the clocks is written at least this often.
const ANCHOR: Duration = Duration::from_mins(1);
/// Malformed marks that are reported; further ones are not.
const MALFORMED: u64 = 1_000;

/// Readings that were asked for at an edge: each resolves when it is taken, or has failed.
pub(crate) type Taken = Vec<oneshot::Receiver<()>>;

/// A recording at work.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its time.
    pub(crate) clock: Clock,
    /// Where its records go.
    pub(crate) sink: Sink,
    /// What its collectors show.
    pub(crate) live: Arc<Live>,
    sealed: oneshot::Receiver<Result<Sealed, Error>>,
    /// The bundle while it is being written.
    part: PathBuf,
    /// The bundle's own id.
    pub(crate) bundle_id: String,
    sources: u32,
    /// First slot of every schedule, once there is one.
    start: Option<Instant>,
    running: Vec<Running>,
    /// Those who watch who answers; they end after the collectors of metrics.
    witnesses: Vec<JoinHandle<()>>,
    phases: Phases,
    anchor: record::Clock,
    malformed: u64,
    /// What ends the recording before its time.
    trouble: Option<String>,
}

impl Session {
    /// Creates the bundle, with what can be told before any source is read: session, machine,
    /// limits, network, remarks.
    /// `intervals` are the sampling intervals by collector or source, where they are settled.
    ///
    /// # Errors
    /// When the bundle cannot be made.
    pub(crate) fn open(
        plan: &Plan,
        place: Place,
        clock: Clock,
        intervals: BTreeMap<String, u64>,
    ) -> Result<Self, Error> {
        let bundle_id = random_hex(16)?;
        let session = opening(plan, clock, 0, bundle_id.clone(), intervals);
        let anchor = clock.anchor();
        let part = place.part().to_owned();
        let head = Head::new(WRITER, clock.wall_ns);
        let (plan, anchored) = (plan.clone(), anchor.clone());
        let beginning = move || beginning(&plan, clock, session, anchored);
        let (sink, sealed) = Sink::create(place, head, clock, beginning)?;
        Ok(Self {
            clock,
            sink,
            live: Arc::default(),
            sealed,
            part,
            bundle_id,
            sources: 0,
            start: None,
            running: Vec::new(),
            witnesses: Vec::new(),
            phases: Phases::default(),
            anchor,
            malformed: 0,
            trouble: None,
        })
    }

    /// Declares a source; `declare` gets its id.
    pub(crate) fn source(&mut self, declare: impl FnOnce(u32) -> Source) -> u32 {
        let src = self.sources;
        self.sources += 1;
        self.sink.account(declare(src));
        src
    }

    /// Reads a source at `interval` from now on.
    pub(crate) fn collect(&mut self, collector: impl Collector, interval: Duration) {
        let now = Instant::now();
        let first = *self.start.get_or_insert(now);
        // All schedules have slots in common; one that begins later begins with its next slot.
        let passed = now.saturating_duration_since(first).as_nanos().div_ceil(interval.as_nanos());
        let start = first + interval * u32::try_from(passed).unwrap_or(u32::MAX);
        let (clock, sink) = (self.clock, self.sink.clone());
        self.running.push(Running::start(collector, interval, start, clock, sink));
    }

    /// Declares the expositions that were found; each comes back with its collector.
    ///
    /// Servers of one role are replicas of each other.
    pub(crate) fn declare(
        &mut self,
        found: Vec<Found>,
        client: &Client,
        ours: &Ours,
    ) -> Vec<Metrics> {
        let mut of_role: BTreeMap<String, usize> = BTreeMap::new();
        for found in found.iter().filter(|found| found.serves()) {
            *of_role.entry(found.role().to_owned()).or_default() += 1;
        }
        let mut collectors = Vec::new();
        for found in found {
            let replicas = of_role.get(found.role()).is_some_and(|count| *count > 1);
            let group = (found.serves() && replicas).then(|| found.role().to_owned());
            let t = self.clock.now();
            let src = self.source(|src| found.source(t, src, group));
            let live = Arc::clone(&self.live);
            let means = Means {
                client: client.clone(),
                clock: self.clock,
                sink: self.sink.clone(),
                ours: ours.clone(),
            };
            let watched = found.watch(src, means).map(|Watched { signs, task }| {
                self.witnesses.push(task);
                signs
            });
            collectors.push(found.collector(src, client.clone(), self.clock, live, watched));
        }
        collectors
    }

    /// Reads a source once, text and all.
    pub(crate) async fn read_once(&mut self, mut collector: impl Collector) {
        let ask = Ask { keyframe: true, keep: Some("alone") };
        let mut out = Vec::new();
        let from_t = self.clock.now();
        let result = collector.read(ask, &mut out).await;
        if let Err(Failure { what, why }) = result {
            let (t, src) = (self.clock.now(), Some(collector.src()));
            self.sink.account(Gap {
                t,
                src,
                what: what.to_owned(),
                from_t,
                to_t: t,
                count: 1,
                why,
            });
        } else {
            self.sink.send(collector.worth(), &mut out);
        }
    }

    /// Records until a signal, or until `duration` has passed; says how it ended, as in `end.how`.
    pub(crate) async fn run(
        &mut self,
        duration: Option<Duration>,
        mut marks: Option<&mut Follower>,
        signals: &mut Signals,
        voice: &Voice,
    ) -> &'static str {
        let end = async {
            match duration {
                Some(duration) => tokio::time::sleep(duration).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(end);
        // In step with the readings, so that both are one time to wake up.
        let mut ticks = Ticks::new(self.start.unwrap_or_else(Instant::now), TICK);
        if voice.has_status_line() {
            self.live.watch();
        }
        loop {
            let marked = async {
                match &mut marks {
                    Some(marks) => marks.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                stop = signals.next() => return stop.how(),
                () = &mut end => return "duration",
                lines = marked => self.mark(lines, voice),
                () = ticks.next() => {
                    self.watch_clock();
                    if voice.has_status_line() {
                        voice.status(&self.status());
                    }
                }
            }
        }
    }

    fn status(&self) -> String {
        let elapsed = Duration::from_nanos(self.clock.now());
        self.live.line(self.phases.current(), elapsed, self.sink.bytes())
    }

    /// Turns lines of the marks file into phases; each edge gets a reading and a keyframe.
    pub(crate) fn mark(&mut self, lines: Lines, voice: &Voice) {
        let t = self.clock.now();
        let error_ns = Some(lines.since.elapsed().as_nanos() as u64);
        let edge = Edge { t, from: "mark", error_ns };
        for line in lines.marks {
            let wrong = match line {
                Ok(Mark::Begin { name, params }) => {
                    let _ = self.begin(edge, &name, params);
                    None
                }
                Ok(Mark::End { name }) => {
                    let ended = self.end(edge, &name);
                    ended.is_none().then(|| format!("end {name}: no such phase has begun"))
                }
                Err(Malformed { line, what }) => Some(format!("line {line}: {what}")),
            };
            if let Some(wrong) = wrong {
                self.malformed(t, &wrong, voice);
            }
        }
    }

    fn malformed(&mut self, t: u64, wrong: &str, voice: &Voice) {
        self.malformed += 1;
        if self.malformed > MALFORMED {
            return;
        }
        voice.warn(&format!(
            "the marks file, {wrong}\n  help: write begin NAME key=value… or end NAME"
        ));
        let (what, why) = ("unparsed".to_owned(), format!("marks file, {wrong}"));
        self.sink.account(Gap { t, src: None, what, from_t: t, to_t: t, count: 1, why });
    }

    /// Begins a phase and has every source read; wait for what comes back to know them read.
    pub(crate) fn begin(
        &mut self,
        edge: Edge,
        name: &str,
        params: impl IntoIterator<Item = (String, String)>,
    ) -> Taken {
        self.sink.account(self.phases.begin(edge, name, params));
        self.read_all()
    }

    /// Begins a phase whose first reading has been taken already.
    pub(crate) fn begin_after_reading(
        &mut self,
        edge: Edge,
        name: &str,
        params: impl IntoIterator<Item = (String, String)>,
    ) {
        self.sink.account(self.phases.begin(edge, name, params));
    }

    /// Ends this phase alone; what was begun inside it goes on.
    pub(crate) fn end_alone(&mut self, edge: Edge, name: &str) {
        if let Some(phase) = self.phases.end_alone(edge, name) {
            self.sink.account(phase);
        }
    }

    /// Ends every open phase.
    pub(crate) fn end_all(&mut self, edge: Edge) {
        for phase in self.phases.end_all(edge) {
            self.sink.account(phase);
        }
    }

    /// True when the innermost open phase is the user's mark for a point like this one.
    pub(crate) fn is_marked(&self, name: &str) -> bool {
        self.phases.is_marked(name)
    }

    /// Name of the innermost open phase.
    pub(crate) fn phase(&self) -> Option<&str> {
        self.phases.current()
    }

    /// Ends a phase and has every source read. `None`: no such phase is open.
    pub(crate) fn end(&mut self, edge: Edge, name: &str) -> Option<Taken> {
        let ended = self.phases.end(edge, name);
        let any = !ended.is_empty();
        for phase in ended {
            self.sink.account(phase);
        }
        any.then(|| self.read_all())
    }

    /// Has every source read now, as a keyframe.
    pub(crate) fn read_all(&self) -> Taken {
        self.running.iter().map(Running::edge).collect()
    }

    /// Writes an anchor when one is due or the wall clock was stepped.
    pub(crate) fn watch_clock(&mut self) {
        let due = self.clock.now() - self.anchor.t >= ANCHOR.as_nanos() as u64;
        let anchor =
            if due { Some(self.clock.anchor()) } else { self.clock.step_since(&self.anchor) };
        if let Some(anchor) = anchor {
            self.anchor = anchor.clone();
            self.sink.account(anchor);
        }
    }

    /// Takes the last readings and closes the bundle. A second Ctrl-C leaves it as it stands.
    ///
    /// # Errors
    /// When the bundle cannot be closed, or the second Ctrl-C came.
    pub(crate) async fn seal(mut self, how: &str, signals: &mut Signals) -> Result<Sealed, Error> {
        let part = self.part.clone();
        let last = async {
            self.last_readings().await;
            self.close(how).await
        };
        tokio::select! {
            biased;
            sealed = last => sealed,
            () = signals.interrupt() => Err(Error::interrupted(&part)),
        }
    }

    /// As [`Session::seal`], but a first signal only cuts the last readings short. It is given too.
    pub(crate) async fn seal_anyway(
        mut self,
        how: &str,
        signals: &mut Signals,
    ) -> (Result<Sealed, Error>, Option<Stop>) {
        let mut again = tokio::select! {
            biased;
            () = self.last_readings() => None,
            stop = signals.next() => Some(stop),
        };
        if again.is_some() {
            let (t, what) = (self.clock.now(), "ended".to_owned());
            let why = "a further signal cut the last readings short".to_owned();
            self.sink.account(Gap { t, src: None, what, from_t: t, to_t: t, count: 1, why });
        }
        let part = self.part.clone();
        let close = self.close(how);
        tokio::pin!(close);
        loop {
            tokio::select! {
                biased;
                sealed = &mut close => return (sealed, again),
                stop = signals.next() => match again {
                    None => again = Some(stop),
                    // The disk does not answer, and somebody insists.
                    Some(_) => return (Err(Error::interrupted(&part)), again),
                },
            }
        }
    }

    /// Notes why the recording ends before its time, in one line; what a server said last is in its
    /// log.
    pub(crate) fn blame(&mut self, error: &Error) {
        self.trouble = error.what.split(['\n', ';']).next().map(str::to_owned);
    }

    async fn last_readings(&mut self) {
        let deadline = Instant::now() + LAST_READINGS;
        let last = self.running.drain(..).map(|running| tokio::spawn(running.end(deadline)));
        for ended in last.collect::<Vec<_>>() {
            let _ = ended.await;
        }
        for witness in self.witnesses.drain(..) {
            let _ = timeout_at(deadline, witness).await;
        }
    }

    async fn close(&mut self, how: &str) -> Result<Sealed, Error> {
        self.sink.account(host::changes(self.clock.now(), &Root::default()));
        let anchor = self.clock.anchor();
        self.sink.account(anchor.clone());
        let (cpu_ns, max_rss_bytes) = usage();
        let (scrapes, scrape_dur_ns) = self.live.scrapes();
        self.sink.finish(End {
            t: anchor.t,
            how: how.to_owned(),
            counts: BTreeMap::new(),
            gaps: 0,
            dropped: 0,
            redacted: BTreeMap::new(),
            wall_ns: anchor.wall_ns,
            mono_ns: anchor.mono_ns,
            cpu_ns,
            max_rss_bytes,
            scrapes: Some(scrapes),
            scrape_dur_ns: Some(scrape_dur_ns),
            error: self.trouble.take(),
        });
        let broken = || {
            let what = format!("close {}: the writer broke off", self.part.display());
            Error::could_not(what, "what was recorded can be read all the same")
        };
        (&mut self.sealed).await.map_err(|_| broken())?
    }
}

/// What is told before any source is read.
fn beginning(
    plan: &Plan,
    clock: Clock,
    session: record::Session,
    anchor: record::Clock,
) -> Beginning {
    let mut masker = masker(plan);
    let root = Root::default();
    let host = host::facts(clock.now(), &root, &mut masker);
    let limits = limits(clock.now(), &Cgroup::own(&Procfs::default()));
    let mut records: Vec<Record> = vec![session.into(), anchor.into(), host.into(), limits.into()];
    records.extend(nic::all(clock.now(), &root).into_iter().map(Record::from));
    records.extend(plan.remarks.iter().map(|remark| {
        let (t, by) = (clock.now(), "user".to_owned());
        let (what, key) = (remark.what.to_owned(), remark.key.clone());
        Note { t, what, key, value: Text::from(remark.value.as_str()), by }.into()
    }));
    Beginning { masker, records }
}

/// The first record of segment `segment`. Both clocks are those of the recording's beginning.
pub(crate) fn opening(
    plan: &Plan,
    clock: Clock,
    segment: u32,
    bundle_id: String,
    intervals: BTreeMap<String, u64>,
) -> record::Session {
    let mut why = BTreeMap::new();
    let boot_id = host::boot_id().map_err(|error| why.insert("boot_id".to_owned(), error)).ok();
    let tz = std::env::var_os("TZ");
    let zone = zone::of(&Root::default(), tz.as_deref(), clock.wall_ns / 1_000_000_000);
    let zone = zone.map_err(|error| why.insert("tz".to_owned(), error)).ok();
    record::Session {
        t: if segment == 0 { 0 } else { clock.now() },
        format: FORMAT,
        minor: MINOR,
        writer: WRITER.to_owned(),
        build: Some(format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)),
        bundle_id,
        run_id: plan.run_id.clone(),
        segment,
        command: plan.command.to_owned(),
        argv: plan.argv.iter().map(|arg| Text::from(arg.as_str())).collect(),
        wall_ns: clock.wall_ns,
        mono_ns: clock.mono_ns,
        boot_id,
        tz_offset_s: zone.as_ref().map(|zone| zone.offset_s),
        tz: zone.map(|zone| zone.name),
        intervals_ns: (!intervals.is_empty()).then_some(intervals),
        privacy: Some(plan.privacy.name().to_owned()),
        abilities: Some(BTreeMap::from([("metrics".to_owned(), true)])),
        why: (!why.is_empty()).then_some(why),
    }
}

/// The masker, knowing beforehand what is private in our environment and arguments.
pub(crate) fn masker(plan: &Plan) -> Masker {
    let mut seeds = Seeds::from_env(std::env::vars_os());
    seeds.host(crate::plan::host_name().as_bytes());
    for target in &plan.targets {
        if let Some(password) = target.url.password() {
            seeds.secret(password.as_bytes());
        }
    }
    let mut masker = Masker::new(seeds);
    for command in &plan.commands {
        // What it learns here it finds everywhere.
        masker.argv(command);
    }
    masker
}

/// CPU time, user and system, in ns, and the largest resident memory in bytes, of this process.
fn usage() -> (Option<u64>, Option<u64>) {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else { return (None, None) };
    let cpu_us = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    (u64::try_from(cpu_us * 1_000).ok(), u64::try_from(usage.max_rss() * 1_024).ok())
}
