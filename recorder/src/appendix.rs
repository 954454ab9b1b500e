//! A later segment: what is known only after the seal is appended behind it, and the sealed bytes
//! stay as they are.

use crate::clock::Clock;
use crate::error::Error;
use crate::plan::Plan;
use crate::session::{WRITER, masker, opening};
use inferlint_schema::container::{self, Head, Seal, Writer};
use inferlint_schema::limits::Limits;
use inferlint_schema::record::{End, Record};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Appends a segment with `records` to the sealed bundle at `path`. `how` is its `end.how`.
///
/// # Errors
/// When the bundle is not sealed or cannot be written; it is then as it was, or ends with a torn
/// segment that readers report as such.
pub(crate) fn append(
    path: &Path,
    plan: &Plan,
    clock: Clock,
    bundle_id: &str,
    records: &[Record],
    how: &str,
) -> Result<(), Error> {
    let failed = |what: &dyn std::fmt::Display| {
        Error::could_not(
            format!("append to {}: {what}", path.display()),
            "the recording itself is whole; only what came after it is missing",
        )
    };
    let open =
        |flags| rustix::fs::open(path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty());
    let sealed = File::from(open(OFlags::RDONLY).map_err(|error| failed(&error))?);
    let salvage = container::read(&sealed, &Limits::default(), &mut |_| {})
        .map_err(|error| failed(&error))?;
    let last = salvage.segments.last().filter(|last| last.seal == Seal::Sealed);
    let last = last.ok_or_else(|| failed(&"it is not sealed"))?;
    let number = salvage.segments.len() as u32;
    let file = File::from(open(OFlags::WRONLY | OFlags::APPEND).map_err(|error| failed(&error))?);
    // Not every file system has locks.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    let head = Head { seal: last.sha256.clone(), ..Head::new(WRITER, clock.anchor().wall_ns) };
    let mut whole = File::from(open(OFlags::RDONLY).map_err(|error| failed(&error))?);
    let mut writer =
        Writer::append(file, &head, masker(plan), &mut whole).map_err(|error| failed(&error))?;
    let session = opening(plan, clock, number, bundle_id.to_owned(), BTreeMap::new());
    let written = writer.push(&session.into());
    let written = written.and_then(|()| records.iter().try_for_each(|record| writer.push(record)));
    written.map_err(|error| failed(&error))?;
    let anchor = clock.anchor();
    let end = End {
        t: anchor.t,
        how: how.to_owned(),
        counts: BTreeMap::new(),
        gaps: 0,
        dropped: 0,
        redacted: BTreeMap::new(),
        wall_ns: anchor.wall_ns,
        mono_ns: anchor.mono_ns,
        cpu_ns: None,
        max_rss_bytes: None,
        scrapes: None,
        scrape_dur_ns: None,
        error: None,
    };
    let file = writer.finish(end).map_err(|error| failed(&error))?;
    file.sync_all().map_err(|error| failed(&error))
}
