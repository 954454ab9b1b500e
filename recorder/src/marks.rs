//! The marks file: how a load script says where its phases begin and end.
//!
//! One line a mark, `begin NAME key=value…` or `end NAME`, quoted as in a shell. A file and not a
//! socket, because `echo` can write it and a bind mount carries it into a container. A line's time
//! is the moment it was read; since when it may have been there is known too.

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc;

/// The file is looked at when the system says that it was written, and this often besides: not every
/// file system says so (NFS, some bind mounts). Each look wakes a sleeping core: ten a second were a
/// quarter of what `watch` costs at 4 Hz.
const POLL: Duration = Duration::from_secs(1);
/// How long the last look may take: with the second that the last readings have it stays within the
/// two that sealing may take.
const LAST_LOOK: Duration = Duration::from_millis(800);
/// Bytes of one line; what is longer is refused as malformed.
const LINE_BYTES: usize = 64 << 10;
/// Bytes read in one poll; the rest waits for the next.
const POLL_BYTES: u64 = 256 << 10;

/// What one line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A phase begins, with what was asked for, in the order written.
    Begin {
        /// The phase's name.
        name: String,
        /// `key=value` words.
        params: Vec<(String, String)>,
    },
    /// The innermost open phase of this name ends.
    End {
        /// The phase's name.
        name: String,
    },
}

/// A line that is no mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Line number in the file, from 1, counted from where the recorder began to read.
    pub(crate) line: u64,
    /// What is wrong with it.
    pub(crate) what: String,
}

/// What one look at the file gave.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Each line, in order.
    pub(crate) marks: Vec<Result<Mark, Malformed>>,
    /// They were written after this.
    pub(crate) since: Instant,
}

/// Follows a marks file from a thread of its own: a slow file system must not hold up a reading.
#[derive(Debug)]
pub(crate) struct Follower {
    lines: mpsc::Receiver<Lines>,
    /// Closing it ends the thread.
    stop: PipeWriter,
}

impl Follower {
    /// Follows `path` from its present end, creating it when it is not there.
    ///
    /// # Errors
    /// What the system said when it can be neither created nor opened.
    pub(crate) fn start(path: &Path) -> io::Result<Self> {
        let mut marks = Marks::open(path)?;
        let (found, lines) = mpsc::channel(16);
        let (stopped, stop) = io::pipe()?;
        let mut alarm = Alarm::new(path);
        let mut looked = Instant::now();
        let follow = move || {
            let mut ended = false;
            while !ended {
                let woken = alarm.wait(&stopped);
                ended = woken == Woken::AtTheEnd;
                let now = Instant::now();
                let mut lines = marks.poll();
                lines.extend(ended.then(|| marks.rest()).flatten());
                let since = match woken {
                    Woken::ByAWrite => marks.written(now).max(looked),
                    Woken::ByTime | Woken::AtTheEnd => looked,
                };
                looked = now;
                let lines = Lines { marks: lines, since };
                if !lines.marks.is_empty() && found.blocking_send(lines).is_err() {
                    break;
                }
            }
            marks.remove();
        };
        let thread = std::thread::Builder::new().name("marks".to_owned()).stack_size(128 << 10);
        thread.spawn(follow)?;
        Ok(Self { lines, stop })
    }

    /// The next lines that are read. Pending for ever once there can be no more.
    pub(crate) async fn next(&mut self) -> Lines {
        match self.lines.recv().await {
            Some(lines) => lines,
            None => std::future::pending().await,
        }
    }

    /// Looks a last time, removes the file if it was created here, and gives the lines that are
    /// left. A file system that does not answer is not waited for.
    pub(crate) async fn finish(self) -> Vec<Lines> {
        self.finish_within(LAST_LOOK).await
    }

    async fn finish_within(mut self, patience: Duration) -> Vec<Lines> {
        drop(self.stop);
        let mut rest = Vec::new();
        let left = async {
            while let Some(lines) = self.lines.recv().await {
                rest.push(lines);
            }
        };
        let _ = tokio::time::timeout(patience, left).await;
        rest
    }
}

/// Why the follower looks at the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// The system says that it was written.
    ByAWrite,
    /// It is time to look anyway.
    ByTime,
    /// The recording ends.
    AtTheEnd,
}

/// Wakes the follower.
struct Alarm {
    path: PathBuf,
    /// `None`: the system has no more watches to give, or none at all.
    inotify: Option<Inotify>,
}

impl Alarm {
    fn new(path: &Path) -> Self {
        let flags = InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK;
        let mut alarm = Self { path: path.to_owned(), inotify: Inotify::init(flags).ok() };
        alarm.watch();
        alarm
    }

    /// Watches the file that has the name now: it may have been replaced.
    fn watch(&mut self) {
        let what =
            AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_MOVE_SELF | AddWatchFlags::IN_ATTRIB;
        let watched = self.inotify.as_ref().map(|inotify| inotify.add_watch(&self.path, what));
        if let Some(Err(Errno::ENOSPC | Errno::ENOSYS)) = watched {
            self.inotify = None;
        }
    }

    /// Waits for a reason to look. The recording ends when `stopped` is closed.
    fn wait(&mut self, stopped: &PipeReader) -> Woken {
        let mut fds = vec![PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
        if let Some(inotify) = &self.inotify {
            fds.push(PollFd::new(inotify.as_fd(), PollFlags::POLLIN));
        }
        let timeout = PollTimeout::try_from(POLL).unwrap_or(PollTimeout::MAX);
        let woken = poll(&mut fds, timeout);
        let ready = |at: usize| fds.get(at).is_some_and(|fd| fd.any() == Some(true));
        let (ended, written) = (ready(0), ready(1));
        if woken.is_err_and(|error| error != Errno::EINTR) {
            // Never a busy loop.
            std::thread::sleep(POLL);
        }
        if let Some(inotify) = &self.inotify {
            while inotify.read_events().is_ok_and(|events| !events.is_empty()) {}
        }
        self.watch();
        match (ended, written) {
            (true, _) => Woken::AtTheEnd,
            (false, true) => Woken::ByAWrite,
            (false, false) => Woken::ByTime,
        }
    }
}

/// One marks file and how far it has been read.
#[derive(Debug)]
struct Marks {
    path: PathBuf,
    file: Option<(File, u64)>,
    /// When the file was written last, by its own time, as of the last look.
    modified: Option<SystemTime>,
    offset: u64,
    partial: Vec<u8>,
    line: u64,
    created: bool,
}

impl Marks {
    /// Follows `path` from its present end, creating it (mode 0600) when it is not there.
    ///
    /// # Errors
    /// What the system said when it can be neither created nor opened.
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = fs::OpenOptions::new();
        let created = match options.write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(error),
        };
        // Without O_NONBLOCK a FIFO would hold the recorder up until somebody writes to it.
        let file =
            fs::OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let file = Some((file, meta.ino()));
        let path = path.to_owned();
        let (modified, offset) = (meta.modified().ok(), meta.len());
        Ok(Self { path, file, modified, offset, partial: Vec::new(), line: 0, created })
    }

    /// When the lines of the last look were written at the earliest, if the system's notice of it
    /// woke us at `woken`: a while before that, where we had to wait for a CPU.
    fn written(&self, woken: Instant) -> Instant {
        let now = Instant::now();
        let age = self.modified.and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
        now.checked_sub(age).map_or(woken, |modified| modified.min(woken))
    }

    /// The lines added since the last poll.
    fn poll(&mut self) -> Vec<Result<Mark, Malformed>> {
        let Ok(meta) = fs::metadata(&self.path) else { return Vec::new() };
        self.modified = meta.modified().ok();
        if self.file.as_ref().is_none_or(|(_, inode)| *inode != meta.ino()) {
            // Replaced by another file: that one is read from its beginning.
            self.file = File::open(&self.path).ok().map(|file| (file, meta.ino()));
            self.offset = 0;
        }
        if meta.len() < self.offset {
            self.offset = 0;
        }
        if meta.len() == self.offset {
            return Vec::new();
        }
        let Some((file, _)) = &mut self.file else { return Vec::new() };
        let mut fresh = Vec::new();
        if file.seek(SeekFrom::Start(self.offset)).is_err()
            || file.take(POLL_BYTES).read_to_end(&mut fresh).is_err()
        {
            return Vec::new();
        }
        self.offset += fresh.len() as u64;
        self.take_lines(&fresh)
    }

    /// The last line, if the file ends without a line feed.
    fn rest(&mut self) -> Option<Result<Mark, Malformed>> {
        let rest = std::mem::take(&mut self.partial);
        if rest.is_empty() { None } else { self.one(&rest) }
    }

    /// Removes the file if it was created here: its lines are in the bundle.
    fn remove(self) {
        if self.created {
            // Left behind when it cannot be removed: it does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }

    fn take_lines(&mut self, fresh: &[u8]) -> Vec<Result<Mark, Malformed>> {
        let mut marks = Vec::new();
        let mut rest = fresh;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(line);
            marks.extend(self.one(&whole));
        }
        if self.partial.len() <= LINE_BYTES {
            self.partial.extend_from_slice(rest);
        }
        marks
    }

    fn one(&mut self, line: &[u8]) -> Option<Result<Mark, Malformed>> {
        self.line += 1;
        parse(line).map_err(|what| Malformed { line: self.line, what }).transpose()
    }
}

/// Parses one line. `None`: nothing but blanks or a comment.
fn parse(line: &[u8]) -> Result<Option<Mark>, String> {
    if line.len() > LINE_BYTES {
        return Err(format!("longer than {LINE_BYTES} bytes"));
    }
    let text = std::str::from_utf8(line).map_err(|_| "not UTF-8".to_owned())?;
    let words = shlex::split(text.trim_end()).ok_or("a quote is not closed")?;
    let mut words = words.into_iter();
    let Some(verb) = words.next() else { return Ok(None) };
    if verb != "begin" && verb != "end" {
        return Err(format!("begins with {verb:?}, not with begin or end"));
    }
    let name = words.next().filter(|name| !name.is_empty()).ok_or("no name")?;
    if verb == "end" {
        return Ok(Some(Mark::End { name }));
    }
    let params = words
        .map(|word| match word.split_once('=') {
            Some((key, value)) if !key.is_empty() && key.len() <= 64 => {
                Ok((key.to_owned(), value.to_owned()))
            }
            _ => Err(format!("{word:?} is not key=value")),
        })
        .collect::<Result<_, _>>()?;
    Ok(Some(Mark::Begin { name, params }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn begin(name: &str, params: &[(&str, &str)]) -> Mark {
        let params = params.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Mark::Begin { name: name.to_owned(), params }
    }

    #[test]
    fn a_write_is_heard_before_it_is_time_to_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks");
        let marks = Marks::open(&path).unwrap();
        let (stopped, stop) = io::pipe().unwrap();
        let mut alarm = Alarm::new(&path);
        fs::write(&path, "begin x\n").unwrap();
        assert_eq!(alarm.wait(&stopped), Woken::ByAWrite);
        // What has been heard is heard once: then it waits.
        let begin = Instant::now();
        assert_eq!(alarm.wait(&stopped), Woken::ByTime);
        assert!(begin.elapsed() >= POLL, "{:?}", begin.elapsed());
        drop(stop);
        assert_eq!(alarm.wait(&stopped), Woken::AtTheEnd);
        marks.remove();
    }

    #[test]
    fn a_line_is_as_old_as_its_file_says_when_its_notice_came_late() {
        let folder = tempfile::tempdir().unwrap();
        let mut marks = Marks::open(&folder.path().join("marks")).unwrap();
        let woken = Instant::now();
        marks.modified = SystemTime::now().checked_sub(Duration::from_secs(3));
        assert!(woken - marks.written(woken) > Duration::from_secs(2));
        marks.modified = SystemTime::now().checked_add(Duration::from_secs(100));
        assert_eq!(marks.written(woken), woken, "a clock that is ahead says nothing");
        marks.modified = None;
        assert_eq!(marks.written(woken), woken);
    }

    #[test]
    fn lines_are_quoted_as_in_a_shell() {
        let good = [
            (
                "begin c=32 concurrency=32 rate=inf",
                begin("c=32", &[("concurrency", "32"), ("rate", "inf")]),
            ),
            ("begin 'two words' note='a b'", begin("two words", &[("note", "a b")])),
            ("begin x key=", begin("x", &[("key", "")])),
            ("begin x expr=a=b", begin("x", &[("expr", "a=b")])),
            ("  end\tc=32  ", Mark::End { name: "c=32".into() }),
            ("begin c=1\r", begin("c=1", &[])),
        ];
        for (line, mark) in good {
            assert_eq!(parse(line.as_bytes()), Ok(Some(mark)), "{line}");
        }
        for line in ["", "   ", "# a comment"] {
            assert_eq!(parse(line.as_bytes()), Ok(None), "{line:?}");
        }
        let bad =
            ["start x", "begin", "end", "begin 'open", "begin x word", "begin x =v", "begin ''"];
        for line in bad {
            assert!(parse(line.as_bytes()).is_err(), "{line}");
        }
        assert!(parse(b"begin \xff").is_err());
        assert!(parse(&vec![b'a'; LINE_BYTES + 1]).is_err());
    }

    #[test]
    fn lines_are_read_as_they_grow_and_old_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.marks");
        fs::write(&path, "begin old\n").unwrap();
        let mut marks = Marks::open(&path).unwrap();
        assert_eq!(marks.poll(), []);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"begin a\nend a\nbeg").unwrap();
        let end = Mark::End { name: "a".into() };
        assert_eq!(marks.poll(), [Ok(begin("a", &[])), Ok(end)]);
        file.write_all(b"in b\nnonsense\n").unwrap();
        let polled = marks.poll();
        assert_eq!(polled[0], Ok(begin("b", &[])));
        assert_eq!(polled[1].as_ref().unwrap_err().line, 4);
        file.write_all(b"end b").unwrap();
        assert_eq!(marks.poll(), []);
        assert_eq!(marks.rest(), Some(Ok(Mark::End { name: "b".into() })));
        assert_eq!(marks.rest(), None);
        marks.remove();
        assert!(path.exists(), "not created here");
    }

    #[test]
    fn a_file_that_was_truncated_replaced_or_removed_is_read_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.marks");
        let mut marks = Marks::open(&path).unwrap();
        fs::write(&path, "begin first\n").unwrap();
        assert_eq!(marks.poll().len(), 1);
        fs::write(&path, "end first\n").unwrap();
        assert_eq!(marks.poll(), [Ok(Mark::End { name: "first".into() })]);
        fs::remove_file(&path).unwrap();
        assert_eq!(marks.poll(), []);
        fs::write(folder.path().join("other"), "begin second\n").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        assert_eq!(marks.poll(), [Ok(begin("second", &[]))]);
        marks.remove();
        assert!(!path.exists(), "created here");
    }

    #[tokio::test]
    async fn a_follower_gives_lines_as_they_come_and_the_rest_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.marks");
        let mut follower = Follower::start(&path).unwrap();
        fs::write(&path, "begin a\n").unwrap();
        assert_eq!(follower.next().await.marks, [Ok(begin("a", &[]))]);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"end a").unwrap();
        let rest = follower.finish_within(Duration::from_mins(1)).await;
        let rest: Vec<_> = rest.into_iter().flat_map(|lines| lines.marks).collect();
        assert_eq!(rest, [Ok(Mark::End { name: "a".into() })]);
        assert!(!path.exists());
        assert!(Follower::start(folder.path()).is_err(), "a folder is no file");
    }
}
