//! Starting the server and the load as if nobody recorded them.
//!
//! What a process inherits is what it would inherit without us: limits, umask, nice value and
//! environment are never changed here, the signal mask and the ignored signals are put back before
//! the program begins, and files that we opened are closed to it. Output goes to files that we
//! follow, never to a pipe: a recorder that is killed or stopped holds nobody up.

use crate::procfs::{Identity, Procfs};
use crate::stop;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use rustix::fs::{FallocateFlags, MemfdFlags, Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::{WaitOptions, wait};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Which signals were ignored when this process began, one bit each as in `SigIgn` of proc(5):
/// `nohup`, a shell's background jobs and systemd have some ignored, and children inherit that.
static IGNORED: AtomicU64 = AtomicU64::new(0);

// Rust's start-up code ignores SIGPIPE and the C library takes two signals for its threads, so main
// would be too late to look.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = note_ignored;

extern "C" fn note_ignored() {
    let bits = (1..=64).filter(|signal| is_ignored(*signal)).fold(0, |bits, n| bits | 1 << (n - 1));
    IGNORED.store(bits, Ordering::Relaxed);
}

/// The kernel's `struct sigaction`: handler, flags, restorer, mask.
type KernelAction = [usize; 4];
const IGNORE: KernelAction = [nix::libc::SIG_IGN, 0, 0, 0];

/// The system call itself, which unlike the C library's function takes every signal.
fn action(signal: i32, new: Option<&KernelAction>, old: Option<&mut KernelAction>) -> bool {
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    let old = old.map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: both point to structures of the kernel's size, or are null; no handler of ours is set.
    unsafe { nix::libc::syscall(nix::libc::SYS_rt_sigaction, signal, new, old, 8) == 0 }
}

fn is_ignored(signal: i32) -> bool {
    let mut old = KernelAction::default();
    action(signal, None, Some(&mut old)) && old.first() == IGNORE.first()
}

/// What this process was given when it began, to be passed on unchanged.
pub(crate) struct Inherited {
    mask: SigSet,
    ignored: u64,
    files: BTreeSet<RawFd>,
}

impl Inherited {
    /// Looks. Call it before anything is opened or any signal is handled.
    pub(crate) fn take() -> Self {
        if is_ignored(Signal::SIGCHLD as i32) {
            // Ignored, it has the kernel reap our children and forget how they ended.
            action(Signal::SIGCHLD as i32, Some(&KernelAction::default()), None);
        }
        Self {
            mask: SigSet::thread_get_mask().unwrap_or_else(|_| SigSet::empty()),
            ignored: IGNORED.load(Ordering::Relaxed),
            files: open_files().collect(),
        }
    }

    /// Closes to children every file that we opened; libraries do not always.
    fn close_our_files(&self) {
        for fd in open_files().filter(|fd| *fd > 2 && !self.files.contains(fd)) {
            // SAFETY: the number was listed just now; should it be closed meanwhile, this fails.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            let _ = rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC);
        }
    }

    /// Runs in the child between fork and exec: only async-signal-safe calls.
    fn put_back(&self) -> io::Result<()> {
        for signal in (1..=64).filter(|signal| self.ignored >> (signal - 1) & 1 == 1) {
            action(signal, Some(&IGNORE), None);
        }
        nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None)?;
        Ok(())
    }
}

fn open_files() -> impl Iterator<Item = RawFd> {
    std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Where one output stream of a child goes.
pub(crate) enum Route {
    /// To our own terminal. Not recorded.
    Terminal,
    /// To the regular file that is our own output already; we read along from this offset.
    Along { reader: File, from: u64 },
    /// To a file of ours.
    Kept(Outlet),
}

impl Route {
    /// The way for a load's stream `fd` (1 or 2): untouched when it is a terminal (unless it is to
    /// be recorded) or a regular file, else by a file at `path` that is echoed.
    pub(crate) fn of_ours(fd: u8, path: &Path, record_terminal: bool) -> io::Result<Self> {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let (ours, terminal) = if fd == 1 {
            (stdout.as_fd(), stdout.is_terminal())
        } else {
            (stderr.as_fd(), stderr.is_terminal())
        };
        if terminal && !record_terminal {
            return Ok(Self::Terminal);
        }
        let stat = rustix::fs::fstat(ours)?;
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::RegularFile
            && let Ok(mut reader) = File::open(format!("/proc/self/fd/{fd}"))
        {
            let appends = rustix::fs::fcntl_getfl(ours)?.contains(OFlags::APPEND);
            let end = reader.seek(SeekFrom::End(0))?;
            let from = if appends { end } else { rustix::fs::tell(ours).unwrap_or(end) };
            return Ok(Self::Along { reader, from });
        }
        Ok(Self::Kept(Outlet::create(path)?))
    }

    /// The file of ours, if it is one.
    pub(crate) fn into_outlet(self) -> Option<Outlet> {
        match self {
            Self::Kept(outlet) => Some(outlet),
            Self::Terminal | Self::Along { .. } => None,
        }
    }

    fn stdio(&self) -> io::Result<Stdio> {
        match self {
            Self::Terminal | Self::Along { .. } => Ok(Stdio::inherit()),
            Self::Kept(outlet) => Ok(outlet.writer.try_clone()?.into()),
        }
    }
}

/// True if both our output streams are one and the same open file or pipe, as after `2>&1`.
pub(crate) fn outputs_are_one() -> bool {
    let of = |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).map(|s| (s.st_dev, s.st_ino));
    match (of(io::stdout().as_fd()), of(io::stderr().as_fd())) {
        (Ok(out), Ok(err)) => out == err,
        _ => false,
    }
}

/// A file that a child writes and we follow.
///
/// It lies beside the bundle, with some MiB reserved so that a disk that fills up fails no write of
/// the child's. Where even that cannot be had it is a file in memory.
pub(crate) struct Outlet {
    writer: File,
    reader: File,
    path: Option<PathBuf>,
    reserved: u64,
}

/// Bytes reserved on disk ahead of what a child has written.
const RESERVE: u64 = 4 << 20;
/// With less than this left on the disk, output is kept in memory.
const DISK_LEFT: u64 = 64 << 20;

impl Outlet {
    /// Creates the file, which must not exist.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let flags = OFlags::CREATE
            | OFlags::EXCL
            | OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CLOEXEC
            | OFlags::NOFOLLOW;
        let on_disk = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR);
        let writer = match on_disk {
            Ok(fd) if has_room(&fd) && reserve(&fd, 0).is_ok() => File::from(fd),
            Ok(_) => {
                std::fs::remove_file(path)?;
                return Self::in_memory();
            }
            Err(rustix::io::Errno::NOSPC) => return Self::in_memory(),
            Err(error) => return Err(error.into()),
        };
        let reader = File::open(path)?;
        Ok(Self { writer, reader, path: Some(path.to_owned()), reserved: RESERVE })
    }

    fn in_memory() -> io::Result<Self> {
        let fd = rustix::fs::memfd_create("inferlint-output", MemfdFlags::CLOEXEC)?;
        // A second opening has an offset of its own, and O_APPEND as on disk.
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        let writer = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
        Ok(Self { writer, reader: File::open(path)?, path: None, reserved: u64::MAX })
    }

    /// The file to read what the child wrote, with an offset of its own.
    pub(crate) fn reader(&self) -> io::Result<File> {
        File::open(format!("/proc/self/fd/{}", self.reader.as_raw_fd()))
    }

    /// Where it lies. `None`: in memory, the disk had no room.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Keeps some room reserved ahead of the child. Call it now and then.
    pub(crate) fn tend(&mut self) {
        let Ok(written) = self.reader.metadata().map(|meta| meta.len()) else { return };
        if written.saturating_add(RESERVE / 2) > self.reserved
            && reserve(&self.writer, self.reserved).is_ok()
        {
            self.reserved += RESERVE;
        }
    }

    /// Gives back what is reserved and, unless it is to be kept, the file.
    pub(crate) fn close(self, keep: bool) {
        let Some(path) = &self.path else { return };
        if keep {
            let _ = self.writer.metadata().and_then(|meta| self.writer.set_len(meta.len()));
        } else {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn has_room(fd: &OwnedFd) -> bool {
    rustix::fs::fstatvfs(fd)
        .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= DISK_LEFT)
}

fn reserve(fd: impl AsFd, from: u64) -> rustix::io::Result<()> {
    match rustix::fs::fallocate(fd, FallocateFlags::KEEP_SIZE, from, RESERVE) {
        // Nothing can be reserved on some network file systems: go without.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// Copies what a load writes to our own output, byte for byte, on a thread of its own: whoever reads
/// us may be slow, and then only this thread waits.
pub(crate) struct Echo {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Echo {
    /// Begins to copy `reader` to our stream `fd` (1 or 2).
    pub(crate) fn begin(mut reader: File, fd: u8) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let no_more = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                let last = no_more.load(Ordering::Acquire);
                match reader.read(&mut buffer) {
                    Ok(0) | Err(_) if last => return,
                    Ok(0) | Err(_) => std::thread::sleep(Duration::from_millis(20)),
                    Ok(n) => {
                        if !write_all(fd, buffer.get(..n).unwrap_or_default()) {
                            return;
                        }
                    }
                }
            }
        });
        Self { ended, thread }
    }

    /// The writer has ended: copy what is left. True once that is done.
    pub(crate) fn finish(&self) -> bool {
        self.ended.store(true, Ordering::Release);
        self.thread.is_finished()
    }
}

/// False: nobody reads any more.
fn write_all(fd: u8, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let written = if fd == 1 {
            rustix::io::write(io::stdout().as_fd(), bytes)
        } else {
            rustix::io::write(io::stderr().as_fd(), bytes)
        };
        match written {
            Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
            Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(5)),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

/// How a child is to be started.
pub(crate) struct Start<'a> {
    /// Program and arguments.
    pub(crate) argv: &'a [OsString],
    /// Variables besides those we have ourselves.
    pub(crate) env: &'a [(&'a str, OsString)],
    /// A session of its own, without a terminal; the server's case.
    pub(crate) own_session: bool,
    pub(crate) stdout: &'a Route,
    /// `None`: the same as `stdout`.
    pub(crate) stderr: Option<&'a Route>,
}

/// A process whose end can be waited for: one we started and have not reaped yet, or another one.
pub(crate) struct Child {
    pub(crate) id: Identity,
    pidfd: Option<OwnedFd>,
}

/// Starts a child.
///
/// # Errors
/// As `exec` gives them: not found, not permitted.
pub(crate) fn start(inherited: &Arc<Inherited>, start: &Start<'_>) -> io::Result<Child> {
    let (program, args) =
        start.argv.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
    let mut command = Command::new(program);
    command.args(args).stdout(start.stdout.stdio()?);
    command.stderr(match (start.stderr, start.stdout) {
        (Some(route), _) => route.stdio()?,
        (None, Route::Kept(outlet)) => outlet.writer.try_clone()?.into(),
        (None, _) => Stdio::inherit(),
    });
    for (name, value) in start.env {
        command.env(name, value);
    }
    if start.own_session {
        command.stdin(Stdio::null());
    }
    let own_session = start.own_session;
    let hand_on = Arc::clone(inherited);
    inherited.close_our_files();
    // SAFETY: the closure only calls setsid, sigaction and sigprocmask, which are
    // async-signal-safe, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if own_session {
                rustix::process::setsid()?;
            }
            hand_on.put_back()
        });
    }
    let pid = command.spawn()?.id();
    let pidfd = stop::open(pid);
    // Nobody reaps but us, so the entry is there even if the process has ended.
    let id = Procfs::default().stat(pid)?.id;
    Ok(Child { id, pidfd })
}

impl Child {
    /// A process that somebody else started.
    pub(crate) fn watch(id: Identity) -> Self {
        Self { id, pidfd: stop::open(id.pid) }
    }

    /// Waits until the process has ended. It is not reaped here.
    pub(crate) async fn ended(&self) {
        let same = Procfs::default().same(self.id).is_some();
        if let Some(fd) = self.pidfd.as_ref().filter(|_| same).and_then(|fd| fd.try_clone().ok()) {
            // SAFETY: an `OwnedFd` stays open, and the same file, for as long as it is registered.
            let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
            if let Ok(fd) = fd
                && fd.readable().await.is_ok()
            {
                return;
            }
        }
        while !stop::has_ended(&Procfs::default(), self.id, self.pidfd.as_ref()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

impl Ending {
    /// How it ended, behind the name of what ended.
    pub(crate) fn in_words(self) -> String {
        match self {
            Self::Status(status) => format!("exited with status {status}"),
            Self::Signal(signal) => {
                let name = Signal::try_from(signal).map_or("", Signal::as_str);
                format!("was ended by signal {signal} {name}").trim_end().to_owned()
            }
        }
    }

    /// As the exit status of a shell that waited for it.
    pub(crate) fn as_status(self) -> u8 {
        match self {
            Self::Status(status) => status as u8,
            Self::Signal(signal) => (128 + signal) as u8,
        }
    }
}

/// Reaps every child: those we started and, because we are a subreaper, the orphans they leave.
#[derive(Default)]
pub(crate) struct Reaper {
    endings: BTreeMap<u32, Ending>,
}

impl Reaper {
    /// Makes this process the one that orphans of its descendants are handed to.
    pub(crate) fn new() -> Self {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Self::default()
    }

    /// Reaps what has ended by now.
    pub(crate) fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let by_itself = status.exit_status().map(Ending::Status);
            if let Some(ending) = by_itself.or(status.terminating_signal().map(Ending::Signal)) {
                self.endings.insert(pid.as_raw_nonzero().get().unsigned_abs(), ending);
            }
        }
    }

    /// How a child ended. `None`: it has not, or was not ours.
    pub(crate) fn ending(&self, pid: u32) -> Option<Ending> {
        self.endings.get(&pid).copied()
    }
}

/// Why a command cannot be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// Exit status 127, as shells have it.
    NotFound,
    /// Exit status 126.
    NotExecutable,
}

/// Looks whether `program` could be run, as `execvp` would: before a server is started for it.
///
/// # Errors
/// The reason why not.
pub(crate) fn find(program: &OsStr) -> Result<PathBuf, Unfit> {
    let fit = |path: &Path| match path.metadata() {
        Err(_) => Err(Unfit::NotFound),
        Ok(meta) if meta.is_dir() => Err(Unfit::NotExecutable),
        Ok(_) => rustix::fs::access(path, rustix::fs::Access::EXEC_OK)
            .map(|()| path.to_owned())
            .map_err(|_| Unfit::NotExecutable),
    };
    if program.as_encoded_bytes().contains(&b'/') {
        return fit(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let mut result = Err(Unfit::NotFound);
    for folder in std::env::split_paths(&path) {
        match fit(&folder.join(program)) {
            Ok(found) => return Ok(found),
            Err(Unfit::NotExecutable) => result = Err(Unfit::NotExecutable),
            Err(Unfit::NotFound) => {}
        }
    }
    result
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// Tests that start processes must not reap each other's.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A shell in a session of its own.
    pub(crate) struct Started {
        pub(crate) child: Child,
        pub(crate) reaper: Reaper,
        pub(crate) output: File,
        _folder: tempfile::TempDir,
    }

    pub(crate) fn start_shell(script: &str) -> Started {
        let reaper = Reaper::new();
        let folder = tempfile::tempdir().unwrap();
        let outlet = Outlet::create(&folder.path().join("out")).unwrap();
        let output = outlet.reader().unwrap();
        let argv = ["sh", "-c", script].map(OsString::from);
        let route = Route::Kept(outlet);
        let how = Start { argv: &argv, env: &[], own_session: true, stdout: &route, stderr: None };
        let child = start(&Arc::new(Inherited::take()), &how).unwrap();
        Started { child, reaper, output, _folder: folder }
    }

    fn text(mut file: File) -> String {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn output_goes_to_the_file_and_the_ending_is_known() {
        let _alone = alone();
        for (script, ending) in [
            ("echo out; echo err >&2; exit 3", Ending::Status(3)),
            ("echo out; echo err >&2; kill -KILL $$", Ending::Signal(9)),
            ("echo out; echo err >&2; kill -35 $$", Ending::Signal(35)),
        ] {
            let mut started = start_shell(script);
            let pid = started.child.id.pid;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(started.child.ended());
            started.reaper.reap();
            assert_eq!(started.reaper.ending(pid), Some(ending));
            assert_eq!(text(started.output), "out\nerr\n");
        }
    }

    #[test]
    fn a_child_leads_its_own_session_and_sees_none_of_our_files() {
        let _alone = alone();
        // A file that a careless library opened.
        let leaked = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()).unwrap();
        let leaked = leaked.as_raw_fd();
        let inherited = Arc::new(Inherited { files: BTreeSet::new(), ..Inherited::take() });
        let folder = tempfile::tempdir().unwrap();
        let outlet = Outlet::create(&folder.path().join("out")).unwrap();
        let output = outlet.reader().unwrap();
        let script = "cut -d' ' -f6 /proc/$$/stat; echo $$; exec ls /proc/self/fd";
        let argv = ["sh", "-c", script].map(OsString::from);
        let route = Route::Kept(outlet);
        let how = Start { argv: &argv, env: &[], own_session: true, stdout: &route, stderr: None };
        let child = start(&inherited, &how).unwrap();
        let mut reaper = Reaper::new();
        while reaper.ending(child.id.pid).is_none() {
            std::thread::sleep(Duration::from_millis(5));
            reaper.reap();
        }
        let pid = child.id.pid;
        // 3 is the folder that ls reads.
        let expected = format!("{pid}\n{pid}\n0\n1\n2\n3\n");
        assert_eq!(text(output), expected, "fd {leaked} was open here");
    }

    #[test]
    fn a_command_is_looked_for_as_the_shell_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data");
        std::fs::write(&file, "x").unwrap();
        for (program, found) in [
            ("sh", None),
            ("/bin/sh", None),
            ("no-such-program-here", Some(Unfit::NotFound)),
            ("/no/such/program", Some(Unfit::NotFound)),
            ("/tmp", Some(Unfit::NotExecutable)),
            (file.to_str().unwrap(), Some(Unfit::NotExecutable)),
        ] {
            assert_eq!(find(OsStr::new(program)).err(), found, "{program}");
        }
    }

    #[test]
    fn an_outlet_is_ours_alone_and_refuses_what_exists() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let outlet = Outlet::create(&path).unwrap();
        let mode = std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap());
        assert_eq!(mode & 0o777, 0o600);
        assert!(Outlet::create(&path).is_err());
        outlet.close(false);
        assert!(!path.exists());
    }

    #[test]
    fn an_outlet_in_memory_is_written_and_read_alike() {
        use std::io::Write;
        let outlet = Outlet::in_memory().unwrap();
        let reader = outlet.reader().unwrap();
        (&outlet.writer).write_all(b"one\n").unwrap();
        outlet.writer.try_clone().unwrap().write_all(b"two\n").unwrap();
        assert_eq!(text(reader), "one\ntwo\n");
    }
}
