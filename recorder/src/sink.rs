//! The one owner of the bundle file.
//!
//! Collectors put records into a bounded queue; one thread masks, encodes and compresses them and
//! writes a frame a second. When the disk is slower than the recording, what is worth least is
//! refused first, and counted. Nothing here ever makes a collector wait.

mod file;

use crate::clock::Clock;
use crate::error::Error;
use file::BundleFile;
pub(crate) use file::{Place, part_of};
use inferlint_schema::container::{Head, Writer};
use inferlint_schema::error::WriteError;
use inferlint_schema::record::{End, Gap, Record};
use inferlint_schema::redact::Masker;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A frame a second: what a kill can cost.
const TICK: Duration = Duration::from_secs(1);
/// The writer is woken early when this much waits.
const WAKE_BYTES: usize = 256 << 10;
/// Records waiting, in bytes: 16 MiB is over an hour of one engine's readings at 4 Hz.
const QUEUE_BYTES: usize = 16 << 20;
/// Only power loss needs the disk to have it; a killed process does not.
const SYNC: Duration = Duration::from_secs(10);

/// What a record is worth when not all can be kept: the lesser is refused at a lower level of the
/// queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Worth {
    /// Verbatim texts: a second copy of what the values say.
    Body,
    /// Readings.
    Reading,
    /// What the recording is: phases, gaps, exits. Never refused.
    Account,
}

impl Worth {
    /// The level of the queue, in bytes, from which on it is refused.
    fn level(self) -> usize {
        match self {
            Self::Body => QUEUE_BYTES / 2,
            Self::Reading => QUEUE_BYTES,
            Self::Account => usize::MAX,
        }
    }
}

/// Where records go. Clones share one queue.
#[derive(Debug, Clone)]
pub(crate) struct Sink(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Bytes in the file, for the status line.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    records: Vec<Record>,
    bytes: usize,
    refused: BTreeMap<Loss, Refused>,
    /// Refused or lost in all.
    dropped: u64,
    end: Option<End>,
}

/// The source that lost records, and why.
type Loss = (Option<u32>, &'static str);

const SLOW: &str = "the disk was slower than the recording";
const FULL: &str = "the disk is full";
const BROKEN: &str = "the bundle could not be written";
const UNFIT: &str = "the record is larger than a reader accepts";

#[derive(Debug, Clone, Copy)]
struct Refused {
    from_t: u64,
    to_t: u64,
    count: u64,
}

/// What a bundle begins with. It is made on the writer's thread, so that no other ever masks: a
/// regular expression keeps a table for each thread that searches with it, 0.7 MB for all of them.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) masker: Masker,
    pub(crate) records: Vec<Record>,
}

/// A closed bundle.
#[derive(Debug)]
pub(crate) struct Sealed {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// What could not be kept, in words. The bundle says it too.
    pub(crate) trouble: Option<String>,
}

impl Sink {
    /// Starts the writer, which creates the bundle at `place` and writes `beginning`.
    ///
    /// The receiver gets the outcome after [`Sink::finish`].
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub(crate) fn create(
        place: Place,
        head: Head,
        clock: Clock,
        beginning: impl FnOnce() -> Beginning + Send + 'static,
    ) -> Result<(Self, oneshot::Receiver<Result<Sealed, Error>>), Error> {
        let sink = Self(Arc::new(Shared::new(clock, 0)));
        let (outcome, sealed) = oneshot::channel();
        let (begun, has_begun) = std::sync::mpsc::sync_channel(1);
        let shared = Arc::clone(&sink.0);
        let work = move || match begin(&place, &head, beginning()) {
            Ok(writer) => {
                shared.written.store(writer.offset(), Ordering::Relaxed);
                let _ = begun.send(Ok(()));
                let _ = outcome.send(write(&shared, writer).and_then(|done| publish(place, done)));
            }
            Err(error) => drop(begun.send(Err(error))),
        };
        let failed = |why: &dyn std::fmt::Display| {
            Error::could_not(format!("start the writer: {why}"), "raise the limit on processes")
        };
        let thread = std::thread::Builder::new().name("writer".to_owned());
        thread.spawn(work).map_err(|error| failed(&error))?;
        has_begun.recv().map_err(|_| failed(&"it broke off"))??;
        Ok((sink, sealed))
    }

    /// Takes all of `records`, or none of them: false. `records` is empty afterwards.
    ///
    /// A reading that was refused must be followed by a keyframe.
    pub(crate) fn send(&self, worth: Worth, records: &mut Vec<Record>) -> bool {
        let now = self.0.clock.now();
        let mut queue = self.0.lock();
        let bytes: usize = records.iter().map(cost).sum();
        if queue.bytes + bytes > worth.level() {
            for record in records.drain(..) {
                queue.refuse((source_of(&record), SLOW), now);
            }
            return false;
        }
        queue.bytes += bytes;
        queue.records.append(records);
        if queue.bytes >= WAKE_BYTES {
            self.0.wake.notify_one();
        }
        true
    }

    /// Takes a record that is never refused.
    pub(crate) fn account(&self, record: impl Into<Record>) {
        self.send(Worth::Account, &mut vec![record.into()]);
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Writes what waits, then `end`, and closes the bundle.
    pub(crate) fn finish(&self, end: End) {
        self.0.lock().end = Some(end);
        self.0.wake.notify_one();
    }
}

#[cfg(test)]
impl Sink {
    /// A sink that nobody writes from.
    pub(crate) fn unwritten(clock: Clock) -> Self {
        Self(Arc::new(Shared::new(clock, 0)))
    }

    /// What was sent since the last call.
    pub(crate) fn sent(&self) -> Vec<Record> {
        let mut queue = self.0.lock();
        queue.bytes = 0;
        std::mem::take(&mut queue.records)
    }
}

impl Shared {
    fn new(clock: Clock, written: u64) -> Self {
        let (queue, wake) = (Mutex::default(), Condvar::new());
        Self { clock, queue, wake, written: AtomicU64::new(written) }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has come in by the next tick, sooner when it is much or the last.
    fn take(&self, spare: &mut Vec<Record>) -> Option<End> {
        let mut queue = self.lock();
        let tick = Instant::now() + TICK;
        while queue.bytes < WAKE_BYTES && queue.end.is_none() {
            let left = tick.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.wake.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        spare.clear();
        std::mem::swap(&mut queue.records, spare);
        queue.bytes = 0;
        queue.end.take()
    }
}

impl Queue {
    fn refuse(&mut self, loss: Loss, t: u64) {
        self.dropped += 1;
        let fresh = Refused { from_t: t, to_t: t, count: 0 };
        let refused = self.refused.entry(loss).or_insert(fresh);
        refused.to_t = refused.to_t.max(t);
        refused.count += 1;
    }
}

/// What the writer writes to.
trait Output: Write {
    /// The disk is full: only the reserve for the end is left.
    fn is_full(&self) -> bool {
        false
    }
    /// Asks the disk to keep what was written, without waiting for it.
    fn sync(&self) {}
}

/// Creates the bundle and writes what it begins with.
fn begin(place: &Place, head: &Head, beginning: Beginning) -> Result<Writer<BundleFile>, Error> {
    let failed = |error: WriteError| {
        Error::could_not(
            format!("write {}: {error}", place.part().display()),
            "free some space, or name another place with -o",
        )
    };
    let mut writer = Writer::create(place.create()?, head, beginning.masker).map_err(failed)?;
    let begun = beginning.records.iter().try_for_each(|record| writer.push(record));
    begun.and_then(|()| writer.flush()).map_err(failed)?;
    Ok(writer)
}

/// Everything the writer needs to close the file well.
struct Done<W> {
    out: W,
    trouble: Option<String>,
}

/// The writer thread: from the queue to the output until the end.
fn write<W: Output>(shared: &Shared, mut writer: Writer<W>) -> Result<Done<W>, Error> {
    let mut batch = Vec::new();
    let mut synced = Instant::now();
    let mut trouble: Option<String> = None;
    loop {
        let end = shared.take(&mut batch);
        for record in &batch {
            let lost = match trouble {
                Some(_) => Some(BROKEN),
                None if writer.output().is_full() => Some(FULL),
                None => match add(&mut writer, record) {
                    Ok(()) => None,
                    Err(WriteError::TooLarge { .. } | WriteError::Encode { .. }) => Some(UNFIT),
                    Err(error) => {
                        trouble = Some(error.to_string());
                        Some(BROKEN)
                    }
                },
            };
            if let Some(why) = lost {
                shared.lock().refuse((source_of(record), why), record.t());
            }
        }
        if trouble.is_none() && !writer.output().is_full() {
            let written = account(shared, &mut writer).and_then(|()| writer.flush());
            trouble = written.err().map(|error| error.to_string());
        }
        shared.written.store(writer.offset(), Ordering::Relaxed);
        if synced.elapsed() >= SYNC {
            writer.output().sync();
            synced = Instant::now();
        }
        if let Some(end) = end {
            return close(shared, writer, end, trouble);
        }
    }
}

/// Adds one record; a keyframe begins a frame of its own.
fn add<W: Output>(writer: &mut Writer<W>, record: &Record) -> Result<(), WriteError> {
    if matches!(record, Record::Series(series) if series.first == 0) {
        writer.flush()?;
    }
    writer.push(record)
}

/// Writes down what was lost since the last time.
fn account<W: Output>(shared: &Shared, writer: &mut Writer<W>) -> Result<(), WriteError> {
    let refused = std::mem::take(&mut shared.lock().refused);
    let t = shared.clock.now();
    refused
        .into_iter()
        .try_for_each(|(loss, refused)| writer.push(&dropped(t, loss, refused).into()))
}

/// Writes the last account of what was lost, and `end`. On a full disk these go into the reserve.
fn close<W: Output>(
    shared: &Shared,
    mut writer: Writer<W>,
    mut end: End,
    trouble: Option<String>,
) -> Result<Done<W>, Error> {
    let lost = shared.lock().dropped;
    let full = writer.output().is_full();
    let trouble = trouble.or_else(|| full.then(|| FULL.to_owned()));
    let failed = |error: WriteError| {
        let error = trouble.clone().unwrap_or_else(|| error.to_string());
        Error::could_not(
            format!("close the bundle: {error}; {lost} records were not kept"),
            "free some space; what was written before that can be read",
        )
    };
    account(shared, &mut writer).map_err(failed)?;
    end.dropped = lost;
    if full {
        FULL.clone_into(end.error.get_or_insert_default());
        "disk_full".clone_into(&mut end.how);
    }
    let out = writer.finish(end).map_err(failed)?;
    let trouble = trouble.map(|trouble| format!("{trouble}: {lost} records were not kept"));
    Ok(Done { out, trouble })
}

fn publish(place: Place, done: Done<BundleFile>) -> Result<Sealed, Error> {
    let bytes = done.out.len();
    let path = place.publish(&done.out)?;
    Ok(Sealed { path, bytes, trouble: done.trouble })
}

fn dropped(t: u64, (src, why): Loss, refused: Refused) -> Gap {
    let Refused { from_t, to_t, count } = refused;
    Gap { t, src, what: "dropped".to_owned(), from_t, to_t, count, why: why.to_owned() }
}

/// The source a record belongs to.
fn source_of(record: &Record) -> Option<u32> {
    match record {
        Record::Scrape(body) => Some(body.src),
        Record::Series(body) => Some(body.src),
        Record::Shape(body) => Some(body.src),
        Record::TextBody(body) => Some(body.src),
        Record::Log(body) => Some(body.src),
        Record::Gap(body) => body.src,
        Record::File(body) => body.src,
        Record::Process(body) => body.src,
        _ => None,
    }
}

/// About how much memory a record takes while it waits.
fn cost(record: &Record) -> usize {
    let body = match record {
        Record::Scrape(body) => body.v.0.len() * 12,
        Record::Series(body) => body.names.iter().map(|name| name.as_bytes().len() + 24).sum(),
        Record::Shape(body) => body.ids.len() * 8,
        Record::TextBody(body) => body.body.len(),
        Record::Log(body) => body.body.len() + body.ends.len() * 4,
        Record::File(body) => body.body.as_ref().map_or(0, |bytes| bytes.len()),
        _ => 256,
    };
    body + std::mem::size_of::<Record>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferlint_schema::container::{Item, Salvage, read};
    use inferlint_schema::limits::Limits;
    use inferlint_schema::record::{
        Bytes, Clock as Anchor, Decoded, Scrape, Series, Text, TextBody, Values,
    };
    use std::io;

    fn scrape(src: u32, t: u64) -> Record {
        Scrape {
            t,
            src,
            dur_ns: 1,
            shape: 0,
            full: None,
            at: None,
            v: Values(vec![1.0]),
            status: None,
            bytes: None,
            peer: None,
            date_s: None,
            stamp_at: None,
            stamp_ms: None,
        }
        .into()
    }

    fn keyframe(src: u32, t: u64) -> Record {
        Series { t, src, first: 0, names: vec![Text::from("a")], meta: None }.into()
    }

    fn text(bytes: usize) -> Record {
        let (why, body) = ("start".to_owned(), Bytes::from(vec![b'x'; bytes]));
        TextBody { t: 1, src: 0, id: 0, part: 0, last: true, why, body }.into()
    }

    fn end() -> End {
        End {
            t: 9,
            how: "finished".to_owned(),
            counts: BTreeMap::new(),
            gaps: 0,
            dropped: 0,
            redacted: BTreeMap::new(),
            wall_ns: 1,
            mono_ns: 1,
            cpu_ns: None,
            max_rss_bytes: None,
            scrapes: None,
            scrape_dur_ns: None,
            error: None,
        }
    }

    fn shared() -> Shared {
        Shared::new(Clock::start(), 0)
    }

    /// What `bytes` hold: every record in order, and the account.
    fn decode(mut bytes: &[u8]) -> (Vec<Record>, Salvage) {
        let mut records = Vec::new();
        let salvage = read(&mut bytes, &Limits::default(), &mut |item| {
            if let Item::Record { decoded: Decoded::Known(record), .. } = item {
                records.push(*record);
            }
        });
        (records, salvage.unwrap())
    }

    /// An output with room for so many bytes.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        full: bool,
    }

    impl Write for Disk {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            if self.bytes.len() + buf.len() > self.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(buf);
            Ok(buf.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Output for Disk {
        fn is_full(&self) -> bool {
            self.full
        }
    }

    fn disk(room: usize, full: bool) -> Writer<Disk> {
        let disk = Disk { bytes: Vec::new(), room, full };
        Writer::create(disk, &Head::new("test", 0), Masker::off()).unwrap()
    }

    #[test]
    fn everything_that_was_sent_stands_in_the_bundle_with_each_keyframe_in_a_frame_of_its_own() {
        let sink = Sink(Arc::new(shared()));
        let mut records =
            vec![keyframe(0, 1), scrape(0, 1), keyframe(1, 2), scrape(1, 2), scrape(0, 3)];
        let sent = records.clone();
        assert!(sink.send(Worth::Reading, &mut records));
        assert!(records.is_empty());
        sink.finish(end());
        let done = write(&sink.0, disk(usize::MAX, false)).unwrap();
        assert_eq!(done.trouble, None);
        let (found, salvage) = decode(&done.out.bytes);
        assert_eq!(found[..5], sent);
        assert!(salvage.is_clean(), "{:?}", salvage.reason());
        let frames: Vec<u64> = salvage.segments[0].frames.iter().map(|f| f.records).collect();
        assert_eq!(frames, [2, 3, 1]);
    }

    #[test]
    fn a_full_queue_refuses_texts_first_and_says_how_many() {
        let sink = Sink(Arc::new(shared()));
        while sink.send(Worth::Body, &mut vec![text(1 << 20)]) {}
        assert!(sink.send(Worth::Reading, &mut vec![scrape(0, 1)]), "readings still fit");
        while sink.send(Worth::Reading, &mut vec![text(1 << 20)]) {}
        assert!(!sink.send(Worth::Reading, &mut vec![text(1 << 20), scrape(2, 1)]), "all or none");
        sink.account(Anchor { t: 5, wall_ns: 1, mono_ns: 1, error_ns: None });
        sink.finish(end());
        let done = write(&sink.0, disk(usize::MAX, false)).unwrap();
        let (found, salvage) = decode(&done.out.bytes);
        assert!(found.iter().any(|record| matches!(record, Record::Clock(_))));
        let gaps: Vec<_> = found
            .iter()
            .filter_map(|record| match record {
                Record::Gap(gap) => Some((gap.what.as_str(), gap.src, gap.count)),
                _ => None,
            })
            .collect();
        assert_eq!(gaps, [("dropped", Some(0), 3), ("dropped", Some(2), 1)]);
        assert_eq!(salvage.segments[0].end.as_ref().unwrap().dropped, 4);
    }

    #[test]
    fn a_full_disk_leaves_what_is_there_and_an_end_that_says_so() {
        let sink = Sink(Arc::new(shared()));
        sink.send(Worth::Reading, &mut vec![scrape(0, 1), scrape(0, 2)]);
        sink.finish(end());
        let done = write(&sink.0, disk(usize::MAX, true)).unwrap();
        assert_eq!(done.trouble.as_deref(), Some("the disk is full: 2 records were not kept"));
        let (found, salvage) = decode(&done.out.bytes);
        assert!(salvage.is_clean());
        let end = salvage.segments[0].end.as_ref().unwrap();
        assert_eq!((end.how.as_str(), end.dropped), ("disk_full", 2));
        assert!(matches!(&found[0], Record::Gap(gap) if gap.count == 2 && gap.why == FULL));
    }

    #[test]
    fn a_write_that_fails_at_any_moment_ends_in_an_error_and_a_readable_bundle() {
        let sink = Sink(Arc::new(shared()));
        sink.send(Worth::Reading, &mut vec![keyframe(0, 1), scrape(0, 1)]);
        sink.finish(end());
        let whole = write(&sink.0, disk(usize::MAX, false)).unwrap().out.bytes.len();
        let mut least = 0;
        for room in 64..whole {
            let shared = Arc::new(shared());
            let sink = Sink(Arc::clone(&shared));
            sink.send(Worth::Reading, &mut vec![keyframe(0, 1), scrape(0, 1)]);
            sink.finish(end());
            let kept: Arc<Mutex<Vec<u8>>> = Arc::default();
            let output = Copying { disk: Disk { bytes: Vec::new(), room, full: false }, kept };
            let kept = Arc::clone(&output.kept);
            let Ok(writer) = Writer::create(output, &Head::new("test", 0), Masker::off()) else {
                continue;
            };
            let error = write(&shared, writer).map(|_| ()).unwrap_err();
            assert_eq!(error.status, crate::error::exit::COULD_NOT);
            let (found, _) = decode(&kept.lock().unwrap());
            assert!(found.len() >= least, "room {room}");
            least = found.len();
        }
        assert_eq!(least, 3, "with room for all but the seal everything is there");
    }

    /// A disk whose content outlives it.
    struct Copying {
        disk: Disk,
        kept: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Copying {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            let n = self.disk.write(buf)?;
            self.kept.lock().unwrap().extend_from_slice(buf);
            Ok(n)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Output for Copying {}
}
