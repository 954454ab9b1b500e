//! Collectors: each reads one source at a steady interval and turns what it read into records.
//!
//! A collector is one file. It implements [`Collector`]; when to read, what to do when a reading
//! fails, is late, or the collector itself is broken, is decided here, once for all of them.

pub(crate) mod files;
pub(crate) mod host;
pub(crate) mod metrics;
pub(crate) mod process;
pub(crate) mod server_info;
pub(crate) mod versions;

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::sink::{Sink, Worth};
use inferlint_schema::record::{Gap, Record};
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

/// A reader may resume at a keyframe; one is due at least this often.
const KEYFRAME: Duration = Duration::from_mins(1);
/// Equal failures become one gap record; it is written at least this often.
const GAP: Duration = Duration::from_secs(10);
/// What was missed becomes a keyframe's reason only when it is long: a slow endpoint misses every
/// other reading and must not be written whole each time.
const LONG_MISS: Duration = Duration::from_secs(5);
/// What is kept for the last reading when another is in flight as the recording ends.
const LAST: Duration = Duration::from_millis(500);

/// What one reading should be.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ask {
    /// Write every value, with dictionary and shape, so that a reader can begin here.
    pub(crate) keyframe: bool,
    /// Keep the verbatim text, for this reason.
    pub(crate) keep: Option<&'static str>,
}

/// A reading that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// As in `gap.what`: `scrape`, `too_large` or `unreadable`.
    pub(crate) what: &'static str,
    /// The reason; the same words for the same cause, so that a run of failures is one gap.
    pub(crate) why: String,
}

impl Failure {
    fn unanswered() -> Self {
        Self { what: "scrape", why: "no answer before the recording ended".to_owned() }
    }
}

/// Reads one source.
pub(crate) trait Collector: Send + 'static {
    /// The source it reads.
    fn src(&self) -> u32;

    /// What its readings are worth when the disk is slower than the recording.
    fn worth(&self) -> Worth;

    /// Reads once and appends the records. Nothing may be appended when it fails.
    ///
    /// May be dropped at any await point: then the reading did not happen.
    fn read(
        &mut self,
        ask: Ask,
        out: &mut Vec<Record>,
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// What a running collector is told.
#[derive(Debug)]
enum Order {
    /// A phase begins or ends: read now, as a keyframe, and say when it is done.
    Edge(oneshot::Sender<()>),
    /// The recording ends: read once more and stop, before this moment.
    End(Instant),
}

/// A collector at work.
#[derive(Debug)]
pub(crate) struct Running {
    orders: mpsc::Sender<Order>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    /// Starts `collector`: a reading at `start` and at every `interval` after it.
    pub(crate) fn start<C: Collector>(
        collector: C,
        interval: Duration,
        start: Instant,
        clock: Clock,
        sink: Sink,
    ) -> Self {
        Self::start_by(Alarm::of_kernel(), collector, interval, start, clock, sink)
    }

    fn start_by<C: Collector>(
        alarm: Alarm,
        collector: C,
        interval: Duration,
        start: Instant,
        clock: Clock,
        sink: Sink,
    ) -> Self {
        let (orders, inbox) = mpsc::channel(8);
        let src = collector.src();
        let report = sink.clone();
        let sampler = Sampler::new(alarm, collector, interval, start, clock, sink);
        let sampling = tokio::spawn(sampler.run(Inbox::new(inbox)));
        // A collector that panics is a gap; the others go on.
        let task = tokio::spawn(async move {
            if let Err(error) = sampling.await {
                let t = clock.now();
                let why = format!("the collector broke off: {}", panic_text(error));
                report.account(Gap {
                    t,
                    src: Some(src),
                    what: "ended".to_owned(),
                    from_t: t,
                    to_t: t,
                    count: 1,
                    why,
                });
            }
        });
        Self { orders, task }
    }

    /// Asks for a keyframe now. The receiver resolves when the reading was taken or has failed.
    pub(crate) fn edge(&self) -> oneshot::Receiver<()> {
        let (done, taken) = oneshot::channel();
        // A full inbox means that edges are waiting already: one reading serves them all.
        let _ = self.orders.try_send(Order::Edge(done));
        taken
    }

    /// Takes the last reading and stops, before `deadline`.
    pub(crate) async fn end(self, deadline: Instant) {
        let ended = async {
            let _ = self.orders.send(Order::End(deadline)).await;
            let _ = self.task.await;
        };
        // The grace is for encoding the last reading.
        let _ = timeout_at(deadline + Duration::from_millis(200), ended).await;
    }
}

fn panic_text(error: tokio::task::JoinError) -> String {
    let Ok(payload) = error.try_into_panic() else { return "cancelled".to_owned() };
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast::<&str>().map_or_else(|_| String::new(), |t| (*t).into()),
    }
}

/// The orders of one collector: what was asked and not yet done.
struct Inbox {
    orders: mpsc::Receiver<Order>,
    edges: Vec<oneshot::Sender<()>>,
    end: Option<Instant>,
}

impl Inbox {
    fn new(orders: mpsc::Receiver<Order>) -> Self {
        Self { orders, edges: Vec::new(), end: None }
    }

    /// Waits for one order and keeps it.
    async fn next(&mut self) {
        match self.orders.recv().await {
            Some(Order::Edge(done)) => self.edges.push(done),
            Some(Order::End(deadline)) => self.end = Some(deadline),
            None => self.end = Some(Instant::now()),
        }
    }

    /// Waits until a reading in flight has to give way to the last one.
    async fn time_is_up(&mut self) {
        while self.end.is_none() {
            self.next().await;
        }
        if let Some(deadline) = self.end {
            sleep_until(deadline.checked_sub(LAST).unwrap_or(deadline)).await;
        }
    }
}

/// Keeps one collector to its schedule.
struct Sampler<C> {
    alarm: Alarm,
    collector: C,
    interval: Duration,
    start: Instant,
    clock: Clock,
    sink: Sink,
    out: Vec<Record>,
    /// What failed last, by `gap.what`, and how much of it is not written yet.
    gaps: BTreeMap<&'static str, OpenGap>,
    /// Nothing has been read yet: the first text is kept.
    fresh: bool,
    /// The next reading must be a keyframe: something before it is missing.
    broken: bool,
    last_keyframe: Instant,
}

/// Equal failures that follow each other.
struct OpenGap {
    why: String,
    unwritten: Option<Gap>,
    written: Instant,
}

impl<C: Collector> Sampler<C> {
    fn new(
        alarm: Alarm,
        collector: C,
        interval: Duration,
        start: Instant,
        clock: Clock,
        sink: Sink,
    ) -> Self {
        Self {
            alarm,
            collector,
            interval,
            start,
            clock,
            sink,
            out: Vec::new(),
            gaps: BTreeMap::new(),
            fresh: true,
            broken: true,
            last_keyframe: start,
        }
    }

    /// Reading `k` is taken at `start + k * interval`, whatever happened before it; a slot whose
    /// time has passed is never made up for, it is a gap.
    async fn run(mut self, mut inbox: Inbox) {
        let mut slot = 0;
        loop {
            if let Some(deadline) = inbox.end {
                self.skip(slot, self.due(), "the recorder was not running");
                return self.last(deadline, &mut inbox).await;
            }
            if !inbox.edges.is_empty() {
                let edges = std::mem::take(&mut inbox.edges);
                let ask = Ask { keyframe: true, ..self.regular() };
                self.read(ask, &mut inbox).await;
                for done in edges {
                    let _ = done.send(());
                }
                slot = self.skip(slot, self.due(), "the reading before was still going on");
                continue;
            }
            tokio::select! {
                biased;
                () = inbox.next() => continue,
                () = self.alarm.at(self.start + self.interval * slot) => {}
            }
            slot = self.skip(slot, self.due(), "the recorder was not running");
            let ask = self.regular();
            self.read(ask, &mut inbox).await;
            slot = self.skip(slot + 1, self.due() + 1, "the reading before was still going on");
        }
    }

    /// The slot whose time came last.
    fn due(&self) -> u32 {
        let elapsed = Instant::now().saturating_duration_since(self.start);
        u32::try_from(elapsed.as_nanos() / self.interval.as_nanos().max(1)).unwrap_or(u32::MAX)
    }

    /// Goes on from slot `from` to `to`, if that is later, and writes down those in between.
    fn skip(&mut self, from: u32, to: u32, why: &str) -> u32 {
        if to <= from {
            return from;
        }
        let count = to - from;
        let at = |slot| self.clock.at((self.start + self.interval * slot).into_std());
        let (from_t, to_t) = (at(from), at(to - 1));
        self.broken |= self.interval * count >= LONG_MISS;
        self.gap("missed", why, from_t, to_t, u64::from(count));
        to
    }

    fn regular(&self) -> Ask {
        let minute = self.last_keyframe.elapsed() >= KEYFRAME;
        let keep = if self.fresh { Some("start") } else { minute.then_some("minute") };
        Ask { keyframe: self.broken || minute, keep }
    }

    async fn read(&mut self, ask: Ask, inbox: &mut Inbox) {
        let ask = Ask { keyframe: ask.keyframe || self.broken, ..ask };
        let from_t = self.clock.now();
        let result = tokio::select! {
            biased;
            result = self.collector.read(ask, &mut self.out) => result,
            () = inbox.time_is_up() => Err(Failure::unanswered()),
        };
        self.settle(ask, from_t, result);
    }

    /// The last reading of the recording.
    async fn last(mut self, deadline: Instant, inbox: &mut Inbox) {
        let ask = Ask { keyframe: true, keep: Some("end") };
        let from_t = self.clock.now();
        let reading = self.collector.read(ask, &mut self.out);
        let result = timeout_at(deadline, reading).await;
        self.settle(ask, from_t, result.unwrap_or_else(|_| Err(Failure::unanswered())));
        for gap in std::mem::take(&mut self.gaps).into_values() {
            self.write(gap.unwritten);
        }
        for done in inbox.edges.drain(..) {
            let _ = done.send(());
        }
    }

    fn settle(&mut self, ask: Ask, from_t: u64, result: Result<(), Failure>) {
        match result {
            Ok(()) => {
                self.recovered();
                self.fresh = false;
                // A reading that was refused leaves what follows without its base.
                let texts = self.out.extract_if(.., |record| matches!(record, Record::TextBody(_)));
                let mut texts: Vec<Record> = texts.collect();
                self.broken = !self.sink.send(self.collector.worth(), &mut self.out);
                self.sink.send(Worth::Body, &mut texts);
                if ask.keyframe && !self.broken {
                    self.last_keyframe = Instant::now();
                }
            }
            Err(failure) => {
                self.out.clear();
                self.broken = true;
                self.gap(failure.what, &failure.why, from_t, self.clock.now(), 1);
            }
        }
    }

    /// The first of equal failures is written at once, those that follow it together.
    fn gap(&mut self, what: &'static str, why: &str, from_t: u64, to_t: u64, count: u64) {
        let (t, src) = (self.clock.now(), Some(self.collector.src()));
        let fresh = Gap { t, src, what: what.to_owned(), from_t, to_t, count, why: why.to_owned() };
        if let Some(open) = self.gaps.get_mut(what).filter(|open| open.why == why) {
            let gap = open.unwritten.get_or_insert(Gap { count: 0, ..fresh });
            (gap.t, gap.to_t) = (t, to_t);
            gap.count += count;
            if open.written.elapsed() >= GAP {
                open.written = Instant::now();
                let gap = open.unwritten.take();
                self.write(gap);
            }
            return;
        }
        let open = OpenGap { why: why.to_owned(), unwritten: None, written: Instant::now() };
        let before = self.gaps.insert(what, open).and_then(|open| open.unwritten);
        self.write(before);
        self.write(Some(fresh));
    }

    fn write(&self, gap: Option<Gap>) {
        if let Some(gap) = gap {
            self.sink.account(gap);
        }
    }

    /// A good reading ends every gap but that of missed slots, which goes on between readings.
    fn recovered(&mut self) {
        if self.gaps.keys().any(|what| *what != "missed") {
            let missed = self.gaps.remove_entry("missed");
            for gap in std::mem::take(&mut self.gaps).into_values() {
                self.write(gap.unwritten);
            }
            self.gaps.extend(missed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferlint_schema::record::{Scrape, Series, Values};
    use std::sync::{Arc, Mutex};

    /// What a scripted reading does.
    #[derive(Debug, Clone, Copy)]
    enum Act {
        /// Succeeds after so many ms.
        Take(u64),
        Fail(&'static str),
        Hang,
        Panic,
    }

    /// Reads as scripted, the last act for ever, and notes when and how it was asked, in ms.
    struct Scripted {
        acts: Vec<Act>,
        began: Instant,
        asked: Arc<Mutex<Vec<(u64, bool)>>>,
    }

    impl Collector for Scripted {
        fn src(&self) -> u32 {
            3
        }
        fn worth(&self) -> Worth {
            Worth::Reading
        }
        async fn read(&mut self, ask: Ask, out: &mut Vec<Record>) -> Result<(), Failure> {
            let at = self.began.elapsed().as_millis() as u64;
            self.asked.lock().unwrap().push((at, ask.keyframe));
            let act = if self.acts.len() > 1 { self.acts.remove(0) } else { self.acts[0] };
            match act {
                Act::Take(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Act::Fail(why) => return Err(Failure { what: "scrape", why: why.to_owned() }),
                Act::Hang => std::future::pending().await,
                Act::Panic => panic!("a bug"),
            }
            if ask.keyframe {
                out.push(Series { t: at, src: 3, first: 0, names: vec![], meta: None }.into());
            }
            out.push(
                Scrape {
                    t: at,
                    src: 3,
                    dur_ns: 0,
                    shape: 0,
                    full: ask.keyframe.then_some(true),
                    at: None,
                    v: Values::default(),
                    status: None,
                    bytes: None,
                    peer: None,
                    date_s: None,
                    stamp_at: None,
                    stamp_ms: None,
                }
                .into(),
            );
            Ok(())
        }
    }

    struct Rig {
        running: Running,
        asked: Arc<Mutex<Vec<(u64, bool)>>>,
        sink: Sink,
    }

    /// Runs the acts every 100 ms of paused time.
    fn rig(acts: &[Act]) -> Rig {
        let (clock, asked, began) = (Clock::start(), Arc::default(), Instant::now());
        let sink = Sink::unwritten(clock);
        let collector = Scripted { acts: acts.to_vec(), began, asked: Arc::clone(&asked) };
        let interval = Duration::from_millis(100);
        let alarm = Alarm::of_tokio();
        let running = Running::start_by(alarm, collector, interval, began, clock, sink.clone());
        Rig { running, asked, sink }
    }

    impl Rig {
        async fn end(self) -> (Vec<(u64, bool)>, Vec<(String, u64, String)>) {
            self.running.end(Instant::now() + Duration::from_secs(1)).await;
            let gaps = self.sink.sent().into_iter().filter_map(|record| match record {
                Record::Gap(gap) => Some((gap.what, gap.count, gap.why)),
                _ => None,
            });
            let gaps = gaps.collect();
            (self.asked.lock().unwrap().clone(), gaps)
        }
    }

    async fn after(ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    fn times(asked: &[(u64, bool)]) -> Vec<u64> {
        asked.iter().map(|asked| asked.0).collect()
    }

    fn missed(count: u64, why: &str) -> (String, u64, String) {
        ("missed".to_owned(), count, why.to_owned())
    }

    const BUSY: &str = "the reading before was still going on";

    #[tokio::test(start_paused = true)]
    async fn readings_keep_to_the_schedule_whatever_they_take() {
        let rig = rig(&[Act::Take(30), Act::Take(90), Act::Take(5)]);
        after(350).await;
        let (asked, gaps) = rig.end().await;
        assert_eq!(times(&asked), [0, 100, 200, 300, 350], "four slots and the last");
        assert_eq!(gaps, []);
        let keyframes: Vec<bool> = asked.iter().map(|asked| asked.1).collect();
        assert_eq!(keyframes, [true, false, false, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn slots_that_pass_during_a_reading_are_gaps_and_not_made_up_for() {
        let rig = rig(&[Act::Take(250), Act::Take(1)]);
        after(450).await;
        let (asked, gaps) = rig.end().await;
        assert_eq!(times(&asked), [0, 300, 400, 450]);
        assert_eq!(gaps, [missed(2, BUSY)]);
    }

    #[tokio::test(start_paused = true)]
    async fn equal_failures_are_two_gaps_the_first_and_the_rest_and_then_a_keyframe() {
        let fail = Act::Fail("connection refused");
        let rig = rig(&[Act::Take(1), fail, fail, fail, Act::Fail("HTTP 500"), Act::Take(1)]);
        after(650).await;
        let (asked, gaps) = rig.end().await;
        let gap = |count, why: &str| ("scrape".to_owned(), count, why.to_owned());
        let refused = "connection refused";
        assert_eq!(gaps, [gap(1, refused), gap(2, refused), gap(1, "HTTP 500")]);
        let keyframes: Vec<bool> = asked.iter().map(|asked| asked.1).collect();
        assert_eq!(keyframes, [true, false, true, true, true, true, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_edge_is_an_extra_reading_with_a_keyframe() {
        let rig = rig(&[Act::Take(1)]);
        after(150).await;
        rig.running.edge().await.unwrap();
        after(100).await;
        let (asked, gaps) = rig.end().await;
        assert_eq!(asked, [(0, true), (100, false), (150, true), (200, false), (251, true)]);
        assert_eq!(gaps, []);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reading_that_hangs_gives_way_when_the_recording_ends() {
        let rig = rig(&[Act::Hang]);
        after(50).await;
        let began = Instant::now();
        let (asked, gaps) = rig.end().await;
        assert!(began.elapsed() <= Duration::from_secs(1));
        assert_eq!(times(&asked), [0, 550], "the one in flight and the last");
        let hung = ("scrape".to_owned(), 1, "no answer before the recording ended".to_owned());
        assert_eq!(gaps, [hung.clone(), missed(5, BUSY), hung]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_collector_that_panics_is_a_gap() {
        let rig = rig(&[Act::Take(1), Act::Panic]);
        after(350).await;
        let (asked, gaps) = rig.end().await;
        assert_eq!(times(&asked), [0, 100]);
        let why = "the collector broke off: a bug".to_owned();
        assert_eq!(gaps, [("ended".to_owned(), 1, why)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_keyframe_comes_every_minute() {
        let rig = rig(&[Act::Take(1)]);
        after(125_050).await;
        let (asked, _) = rig.end().await;
        let keyframes = asked.iter().filter(|asked| asked.1).map(|asked| asked.0);
        assert_eq!(keyframes.collect::<Vec<_>>(), [0, 60_100, 120_200, 125_050]);
    }
}
