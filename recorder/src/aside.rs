//! What may take long is done aside: errands to files and folders on disks that are not ours to know.
//!
//! A network file system answers when it likes. Each errand there has a thread of its own, so that
//! neither a reading nor a signal waits for it, and a time to be done by: of one that was not, the
//! bundle says what is missing.

use crate::clock::Clock;
use crate::sink::{Sink, Worth};
use crate::status::Voice;
use inferlint_schema::record::{Gap, Record};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long is waited for what a server runs on before its load, and for the load's results: 64 MiB,
/// the most that is kept of one, take some seconds from a slow disk.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How long after a signal: the bundle is to be sealed within 2 s of it.
pub(crate) const IN_HASTE: Duration = Duration::from_millis(500);

/// What an errand brings.
#[derive(Debug, Default)]
pub(crate) struct Brought {
    /// For the bundle.
    pub(crate) records: Vec<Record>,
    /// For whoever started the recording.
    pub(crate) warnings: Vec<String>,
}

impl From<Vec<Record>> for Brought {
    fn from(records: Vec<Record>) -> Self {
        Self { records, warnings: Vec::new() }
    }
}

/// Errands under way.
#[derive(Debug)]
pub(crate) struct Aside {
    clock: Clock,
    /// Each, by its number: when it began, and what it is for.
    open: Vec<(u64, u64, &'static str)>,
    next: u64,
    done: (mpsc::UnboundedSender<Done>, mpsc::UnboundedReceiver<Done>),
}

/// The number of an errand, and what it brought.
type Done = (u64, Brought);

impl Aside {
    /// None under way.
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, open: Vec::new(), next: 0, done: mpsc::unbounded_channel() }
    }

    /// Begins an errand for `what`, in words that fit before "could not be read". Needs a runtime.
    pub(crate) fn begin<T: Into<Brought>>(
        &mut self,
        what: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) {
        let (number, t, done) = (self.next, self.clock.now(), self.done.0.clone());
        self.next += 1;
        self.open.push((number, t, what));
        drop(spawn_blocking(move || done.send((number, whole(t, what, work)))));
    }

    /// Some errand is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !self.open.is_empty()
    }

    /// Waits for the next errand to be done, for ever while there is none. May be dropped at any
    /// moment.
    pub(crate) async fn next(&mut self) -> Brought {
        loop {
            let Some((number, brought)) = self.done.1.recv().await else {
                return std::future::pending().await;
            };
            let open = self.open.iter().position(|(open, ..)| *open == number);
            // What was given up is in the bundle as missing, and stays so.
            if let Some(open) = open {
                self.open.remove(open);
                return brought;
            }
        }
    }

    /// The recording ends: what is not done is missing.
    pub(crate) fn give_up(&mut self) -> Brought {
        let (now, open) = (self.clock.now(), self.open.drain(..));
        let why = "no answer of its file system before the recording ended";
        open.map(|(_, t, what)| missing(t, now, what, why)).collect::<Vec<_>>().into()
    }
}

/// Records and says what an errand brought. A copy of a file may be refused when the disk is slow.
pub(crate) fn keep(brought: Brought, sink: &Sink, voice: &Voice) {
    let Brought { mut records, warnings } = brought;
    for warning in warnings {
        voice.warn(&warning);
    }
    let is_file = |record: &mut Record| matches!(record, Record::File(_));
    let mut files: Vec<Record> = records.extract_if(.., is_file).collect();
    sink.send(Worth::Account, &mut records);
    if !files.is_empty() {
        sink.send(Worth::Body, &mut files);
    }
}

/// Does `work` aside for so long at most, where nothing else goes on meanwhile.
pub(crate) async fn within<T: Into<Brought>>(
    patience: Duration,
    clock: Clock,
    what: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Brought {
    let t = clock.now();
    match timeout(patience, spawn_blocking(move || whole(t, what, work))).await {
        Ok(Ok(brought)) => brought,
        Ok(Err(error)) => vec![missing(t, clock.now(), what, &error.to_string())].into(),
        Err(_) => {
            let why = format!("no answer of its file system within {} s", patience.as_secs_f64());
            vec![missing(t, clock.now(), what, &why)].into()
        }
    }
}

/// What an errand brings, whatever happens to it.
fn whole<T: Into<Brought>>(t: u64, what: &str, work: impl FnOnce() -> T) -> Brought {
    let broken = |_| vec![missing(t, t, what, "the recorder broke off, a bug")].into();
    catch_unwind(AssertUnwindSafe(work)).map_or_else(broken, Into::into)
}

fn missing(from_t: u64, t: u64, what: &str, why: &str) -> Record {
    let (what, why) = ("unreadable".to_owned(), format!("{what} could not be read: {why}"));
    Gap { t, src: None, what, from_t, to_t: t, count: 1, why }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alarm::Ticks;
    use std::sync::mpsc::{Receiver, channel};
    use tokio::time::Instant;

    const MS: Duration = Duration::from_millis(1);

    fn found(t: u64) -> Vec<Record> {
        vec![missing(t, t, "a test", "found")]
    }

    /// Ends when the sender does, as a disk that comes back.
    fn hanging(disk: Receiver<()>) -> impl FnOnce() -> Vec<Record> + Send + 'static {
        move || {
            let _ = disk.recv();
            found(1)
        }
    }

    fn reasons(brought: &Brought) -> Vec<&str> {
        let mut found = Vec::new();
        for record in &brought.records {
            let Record::Gap(gap) = record else { panic!("{record:?}") };
            found.push(gap.why.as_str());
        }
        found
    }

    #[tokio::test]
    async fn an_errand_that_hangs_holds_up_nobody_and_is_missing_in_the_end() {
        let mut aside = Aside::new(Clock::start());
        let (disk, answers) = channel();
        aside.begin("the result", hanging(answers));
        let mut ticks = Ticks::new(Instant::now(), MS * 10);
        for _ in 0..5 {
            tokio::select! {
                biased;
                _ = aside.next() => panic!("nothing answers"),
                () = ticks.next() => {}
            }
        }
        assert!(aside.is_busy());
        let why =
            "the result could not be read: no answer of its file system before the recording ended";
        assert_eq!(reasons(&aside.give_up()), [why]);
        assert!(!aside.is_busy());
        drop(disk);
        let late = timeout(MS * 100, aside.next()).await;
        assert!(late.is_err(), "what the bundle says is missing does not come after all");
    }

    #[tokio::test]
    async fn what_an_errand_brings_comes_once_and_one_that_breaks_off_is_said() {
        let mut aside = Aside::new(Clock::start());
        aside.begin("one", || found(1));
        assert_eq!(reasons(&aside.next().await), ["a test could not be read: found"]);
        assert!(!aside.is_busy());
        aside.begin("two", || -> Brought { panic!("a bug") });
        let why = "two could not be read: the recorder broke off, a bug";
        assert_eq!(reasons(&aside.next().await), [why]);
        assert!(!aside.is_busy() && aside.give_up().records.is_empty());
    }

    #[tokio::test]
    async fn with_nothing_else_going_on_an_errand_is_waited_for_so_long() {
        let clock = Clock::start();
        assert_eq!(within(MS * 500, clock, "one", || found(1)).await.records, found(1));
        let (disk, answers) = channel();
        let began = Instant::now();
        let brought = within(MS * 20, clock, "two", hanging(answers)).await;
        assert!(began.elapsed() >= MS * 20);
        let why = "two could not be read: no answer of its file system within 0.02 s";
        assert_eq!(reasons(&brought), [why]);
        // The runtime ends with the test and would wait for the disk.
        drop(disk);
    }
}
