//! Following logs: files that our children write, files that others write, FIFOs and our own input.
//!
//! A file is looked at ten times a second and read from where the last look ended, so whoever
//! writes it never waits for us. A line's time is the time of the look that found its end. Only
//! whole lines are passed on (a carriage return ends one too), because a secret that is cut in two
//! is not recognised; an unfinished line waits for its end.

use inferlint_schema::record::{Bytes, Gap, Log, Record};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a log is looked at.
pub(crate) const POLL: Duration = Duration::from_millis(100);
/// Bytes of one record.
const CHUNK: usize = 256 << 10;
/// Bytes read in one look; the rest waits for the next one. 20 MB/s is more than any engine logs.
const LOOK_BYTES: usize = 2 << 20;
/// An unfinished line of this length is passed on in parts, cut at a blank.
const LINE_BYTES: usize = 64 << 10;
/// A log that says nothing for this long under load is worth a record.
const SILENCE_NS: u64 = 10_000_000_000;

/// What is followed.
enum Input {
    /// A file that stays the same even if it is renamed or removed: our children's output.
    Held(File),
    /// A file known by its path, which may be replaced by another one.
    Named { path: PathBuf, file: Option<(File, u64, u64)> },
    /// A FIFO or our input: bytes come once.
    Stream { file: File, ended: bool, fifo: bool },
}

/// Follows one log.
pub(crate) struct Follower {
    src: u32,
    stream: &'static str,
    how: &'static str,
    input: Input,
    /// Where the next read begins.
    off: u64,
    /// Bytes below this offset were there before we came.
    old: u64,
    /// The beginning of an unfinished line; it ends at `off`.
    held: Vec<u8>,
    /// When something came last.
    heard_t: u64,
    unreadable: bool,
}

impl Follower {
    /// Follows what a child of ours writes, from byte `from` on.
    pub(crate) fn written(src: u32, stream: &'static str, file: File, from: u64, t: u64) -> Self {
        Self {
            src,
            stream,
            how: "written",
            input: Input::Held(file),
            off: from,
            old: from,
            held: Vec::new(),
            heard_t: t,
            unreadable: false,
        }
    }

    /// Follows a file or FIFO by its path, or our own input for `-`. What a file holds already is
    /// read too, without a time.
    ///
    /// # Errors
    /// When it is there and cannot be opened. A file that is not there yet is waited for.
    pub(crate) fn named(src: u32, name: &str, t: u64) -> io::Result<Self> {
        let (input, how) = if name == "-" {
            let file = File::from(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?);
            (Input::Stream { file, ended: false, fifo: false }, "stdin")
        } else {
            (open_named(Path::new(name))?, "tail")
        };
        let old = match &input {
            Input::Named { file: Some((file, ..)), .. } => file.metadata()?.len(),
            _ => 0,
        };
        let stream = if name == "-" { "stdout" } else { "file" };
        Ok(Self {
            src,
            stream,
            how,
            input,
            off: 0,
            old,
            held: Vec::new(),
            heard_t: t,
            unreadable: false,
        })
    }

    /// One look at time `t`: what came since the last one. `loading`: silence is worth a record.
    pub(crate) fn look(&mut self, t: u64, loading: bool, out: &mut Vec<Record>) {
        let before = out.len();
        let from = self.heard_t;
        let mut budget = LOOK_BYTES;
        while budget > 0 {
            let most = CHUNK.min(budget);
            let mut fresh = Vec::new();
            match self.read(most, t, &mut fresh, out) {
                Ok(0) => break,
                Ok(n) => {
                    budget -= n;
                    self.heard_t = t;
                    self.take(&fresh, t, out);
                }
                Err(error) => {
                    if !self.unreadable {
                        self.unreadable = true;
                        out.push(self.gap("unreadable", t, t, &error.to_string()));
                    }
                    break;
                }
            }
        }
        if loading && self.heard_t == t && t.saturating_sub(from) > SILENCE_NS {
            let gap = self.gap("silent", from, t, "the log said nothing");
            out.insert(before, gap);
        }
        if !loading {
            self.heard_t = t;
        }
    }

    /// The path of a file that is not there, and was not since we came.
    pub(crate) fn awaited(&self) -> Option<&Path> {
        match &self.input {
            Input::Named { path, file: None } if self.off == 0 => Some(path),
            _ => None,
        }
    }

    /// The end: what is still held back, as the last and unfinished line.
    pub(crate) fn finish(&mut self, t: u64, loading: bool, out: &mut Vec<Record>) {
        self.look(t, loading, out);
        if self.awaited().is_some() && !self.unreadable {
            self.unreadable = true;
            out.push(self.gap("unreadable", t, t, "there was no such file"));
        }
        if loading && t.saturating_sub(self.heard_t) > SILENCE_NS {
            out.push(self.gap("silent", self.heard_t, t, "the log said nothing"));
        }
        if !self.held.is_empty() {
            let rest = std::mem::take(&mut self.held);
            out.push(self.record(rest, t));
        }
    }

    /// Everything up to the last line end is passed on, the rest is held.
    fn take(&mut self, fresh: &[u8], t: u64, out: &mut Vec<Record>) {
        let fresh_from = self.held.len();
        self.held.extend_from_slice(fresh);
        let is_end = |byte: &u8| *byte == b'\n' || *byte == b'\r';
        let mut cut = fresh.iter().rposition(is_end).map_or(0, |at| fresh_from + at + 1);
        if cut == 0 && self.held.len() > LINE_BYTES {
            let blank = self.held.iter().rposition(u8::is_ascii_whitespace);
            cut = blank.map_or(self.held.len(), |at| at + 1);
        }
        if cut > 0 {
            let rest = self.held.split_off(cut);
            let whole = std::mem::replace(&mut self.held, rest);
            // `off` is already behind what is held.
            let end = self.off;
            self.off = end - self.held.len() as u64;
            out.push(self.record(whole, t));
            self.off = end;
        }
    }

    /// A record of `body`, which ends where `off` stands now.
    fn record(&self, body: Vec<u8>, t: u64) -> Record {
        let len = body.len() as u64;
        let off = self.off.saturating_sub(len);
        let how = if self.off <= self.old && self.how == "tail" { "none" } else { self.how };
        Log {
            t,
            src: self.src,
            stream: self.stream.to_owned(),
            off,
            len,
            ends: line_ends(&body),
            body: Bytes::from(body),
            dts: None,
            how: how.to_owned(),
        }
        .into()
    }

    fn gap(&self, what: &str, from_t: u64, to_t: u64, why: &str) -> Record {
        let (what, why) = (what.to_owned(), why.to_owned());
        Gap { t: to_t, src: Some(self.src), what, from_t, to_t, count: 1, why }.into()
    }

    /// Reads at most `most` bytes; 0: nothing new.
    fn read(
        &mut self,
        most: usize,
        t: u64,
        fresh: &mut Vec<u8>,
        out: &mut Vec<Record>,
    ) -> io::Result<usize> {
        let n = match &mut self.input {
            Input::Held(file) => {
                let len = file.metadata()?.len();
                if len < self.off {
                    return Ok(self.restart("truncated", "the file became shorter", t, out));
                }
                read_at(file, self.off, most, fresh)?
            }
            Input::Named { path, file } => {
                if file.is_none() {
                    *file = open_regular(path)?;
                }
                let Some((open, device, inode)) = file else { return Ok(0) };
                let len = open.metadata()?.len();
                if len < self.off {
                    return Ok(self.restart("truncated", "the file became shorter", t, out));
                }
                // What was there before is a record apart: its lines have no time.
                let most = match self.old.checked_sub(self.off) {
                    Some(left) if left > 0 => most.min(left as usize),
                    _ => most,
                };
                let n = read_at(open, self.off, most, fresh)?;
                let replaced =
                    path.metadata().is_ok_and(|now| (now.dev(), now.ino()) != (*device, *inode));
                if n == 0 && replaced {
                    *file = open_regular(path)?;
                    return Ok(self.restart("rotated", "another file took its name", t, out));
                }
                n
            }
            Input::Stream { file, ended, fifo } => {
                if *ended || !is_readable(file) {
                    return Ok(0);
                }
                fresh.resize(most, 0);
                let n = match file.read(fresh) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                    other => other?,
                };
                fresh.truncate(n);
                // A FIFO without a writer reads as ended until one comes.
                if n == 0 && !(*fifo && self.off == 0) {
                    *ended = true;
                    let gap = self.gap("ended", t, t, "its writer closed it");
                    out.push(gap);
                }
                n
            }
        };
        self.off += n as u64;
        Ok(n)
    }

    fn restart(&mut self, what: &str, why: &str, t: u64, out: &mut Vec<Record>) -> usize {
        if !self.held.is_empty() {
            let rest = std::mem::take(&mut self.held);
            out.push(self.record(rest, t));
        }
        out.push(self.gap(what, t, t, why));
        self.off = 0;
        self.old = 0;
        0
    }
}

fn open_named(path: &Path) -> io::Result<Input> {
    if path.metadata().is_ok_and(|meta| meta.file_type().is_fifo()) {
        let nonblocking = nix::libc::O_NONBLOCK;
        let file = File::options().read(true).custom_flags(nonblocking).open(path)?;
        return Ok(Input::Stream { file, ended: false, fifo: true });
    }
    Ok(Input::Named { path: path.to_owned(), file: open_regular(path)? })
}

/// The file with its device and inode. `None`: it is not there yet.
fn open_regular(path: &Path) -> io::Result<Option<(File, u64, u64)>> {
    let nonblocking = nix::libc::O_NONBLOCK;
    let file = match File::options().read(true).custom_flags(nonblocking).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is neither a file nor a FIFO"));
    }
    Ok(Some((file, meta.dev(), meta.ino())))
}

fn read_at(file: &mut File, off: u64, most: usize, fresh: &mut Vec<u8>) -> io::Result<usize> {
    file.seek(SeekFrom::Start(off))?;
    file.take(most as u64).read_to_end(fresh)
}

fn is_readable(file: &File) -> bool {
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Where lines end, one past the line feed, gap-coded as `log.ends` has it.
fn line_ends(body: &[u8]) -> Vec<u32> {
    let mut last = 0;
    let mut ends = Vec::new();
    for at in body.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1) {
        ends.push((at - last) as u32);
        last = at;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    const S: u64 = 1_000_000_000;

    /// Looks, and says what was found in few words.
    fn look(follower: &mut Follower, t: u64, loading: bool) -> Vec<String> {
        let mut out = Vec::new();
        follower.look(t, loading, &mut out);
        out.iter().map(describe).collect()
    }

    fn describe(record: &Record) -> String {
        match record {
            Record::Log(log) => format!(
                "{}+{} {} {:?} {:?}",
                log.off,
                log.len,
                log.how,
                String::from_utf8_lossy(&log.body),
                log.ends
            ),
            Record::Gap(gap) => format!("gap {} {}-{}", gap.what, gap.from_t / S, gap.to_t / S),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn whole_lines_are_passed_on_and_the_rest_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut writer = File::create(&path).unwrap();
        let mut follower = Follower::written(3, "stdout", File::open(&path).unwrap(), 0, 0);
        assert!(look(&mut follower, S, true).is_empty());
        writer.write_all(b"one\ntwo\nthr").unwrap();
        assert_eq!(look(&mut follower, S, true), [r#"0+8 written "one\ntwo\n" [4, 4]"#]);
        writer.write_all(b"ee").unwrap();
        assert!(look(&mut follower, S, true).is_empty());
        writer.write_all(b"\n10%\r20%\r3").unwrap();
        assert_eq!(look(&mut follower, S, true), [r#"8+14 written "three\n10%\r20%\r" [6]"#]);
        fs::remove_file(&path).unwrap();
        writer.write_all(b"0%\nlast").unwrap();
        assert_eq!(look(&mut follower, S, true), [r#"22+4 written "30%\n" [4]"#]);
        let mut out = Vec::new();
        follower.finish(S, true, &mut out);
        assert_eq!(out.iter().map(describe).collect::<Vec<_>>(), [r#"26+4 written "last" []"#]);
    }

    #[test]
    fn a_line_without_end_is_cut_at_a_blank() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let line = format!("{} secret", "x".repeat(LINE_BYTES));
        fs::write(&path, &line).unwrap();
        let mut follower = Follower::written(3, "stdout", File::open(&path).unwrap(), 0, 0);
        let mut out = Vec::new();
        follower.look(S, true, &mut out);
        let [Record::Log(log)] = out.as_slice() else { panic!("{out:?}") };
        assert_eq!(log.len as usize, LINE_BYTES + 1);
        assert_eq!(follower.held, b"secret");
    }

    #[test]
    fn what_was_there_before_has_no_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("boot.log");
        fs::write(&path, "old\nhalf").unwrap();
        let mut follower = Follower::named(1, path.to_str().unwrap(), 0).unwrap();
        let mut writer = File::options().append(true).open(&path).unwrap();
        writer.write_all(b" new\nnew\n").unwrap();
        assert_eq!(
            look(&mut follower, S, true),
            [r#"0+4 none "old\n" [4]"#, r#"4+13 tail "half new\nnew\n" [9, 4]"#]
        );
    }

    #[test]
    fn truncation_and_rotation_are_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        let mut follower = Follower::named(1, path.to_str().unwrap(), 0).unwrap();
        assert!(look(&mut follower, S, true).is_empty(), "not there yet");
        fs::write(&path, "aaaa\nbb").unwrap();
        assert_eq!(look(&mut follower, S, true), [r#"0+5 tail "aaaa\n" [5]"#]);
        fs::write(&path, "c\n").unwrap();
        assert_eq!(look(&mut follower, 2 * S, true), [r#"5+2 tail "bb" []"#, "gap truncated 2-2"]);
        assert_eq!(look(&mut follower, 2 * S, true), [r#"0+2 tail "c\n" [2]"#]);
        fs::rename(&path, folder.path().join("server.log.1")).unwrap();
        let mut old =
            File::options().append(true).open(folder.path().join("server.log.1")).unwrap();
        old.write_all(b"late\n").unwrap();
        fs::write(&path, "new\n").unwrap();
        assert_eq!(
            look(&mut follower, 3 * S, true),
            [r#"2+5 tail "late\n" [5]"#, "gap rotated 3-3"]
        );
        assert_eq!(look(&mut follower, 3 * S, true), [r#"0+4 tail "new\n" [4]"#]);
    }

    #[test]
    fn silence_counts_under_load_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut writer = File::create(&path).unwrap();
        let mut follower = Follower::written(3, "stdout", File::open(&path).unwrap(), 0, 0);
        for t in 1..=30 {
            assert!(look(&mut follower, t * S, false).is_empty());
        }
        for t in 31..=45 {
            assert!(look(&mut follower, t * S, true).is_empty());
        }
        writer.write_all(b"x\n").unwrap();
        assert_eq!(
            look(&mut follower, 46 * S, true),
            ["gap silent 30-46", r#"0+2 written "x\n" [2]"#]
        );
        let mut out = Vec::new();
        follower.finish(60 * S, true, &mut out);
        assert_eq!(out.iter().map(describe).collect::<Vec<_>>(), ["gap silent 46-60"]);
    }

    #[test]
    fn a_fifo_is_read_without_waiting_for_a_writer() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut follower = Follower::named(1, path.to_str().unwrap(), 0).unwrap();
        assert!(look(&mut follower, S, true).is_empty());
        let mut writer = File::options().write(true).open(&path).unwrap();
        assert!(look(&mut follower, S, true).is_empty());
        writer.write_all(b"hello\n").unwrap();
        assert_eq!(look(&mut follower, S, true), [r#"0+6 tail "hello\n" [6]"#]);
        drop(writer);
        assert_eq!(look(&mut follower, S, true), ["gap ended 1-1"]);
        assert!(look(&mut follower, S, true).is_empty());
    }

    #[test]
    fn a_log_that_never_came_is_a_gap_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server.log");
        let mut follower = Follower::named(0, path.to_str().unwrap(), 0).unwrap();
        let mut out = Vec::new();
        follower.finish(1, false, &mut out);
        follower.finish(2, false, &mut out);
        assert_eq!(follower.awaited(), Some(path.as_path()));
        assert!(
            matches!(out.as_slice(), [Record::Gap(gap)] if gap.why == "there was no such file")
        );
        std::fs::write(&path, "late\n").unwrap();
        follower.finish(3, false, &mut out);
        assert_eq!(follower.awaited(), None);
    }

    #[test]
    fn a_folder_is_refused() {
        assert!(Follower::named(1, "/tmp", 0).is_err());
    }
}
