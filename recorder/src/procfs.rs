//! `/proc`, as far as the recorder reads it: who a process is, who its parent is, what it used.
//!
//! The root is a parameter, so that tests can lay out a tree of their own. Every read is bounded and
//! every failure is a value: processes vanish while they are being read.

use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most bytes read of one file below `/proc`: argv of a hundred thousand bytes exists.
const READ_BYTES: u64 = 256 << 10;

/// One process for as long as the machine runs: a pid alone is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Identity {
    /// Process id in our namespace.
    pub(crate) pid: u32,
    /// Start time in clock ticks after boot, field 22 of `/proc/PID/stat`.
    pub(crate) start_ticks: u64,
}

/// What `/proc/PID/stat` says (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) id: Identity,
    /// Short name, at most 15 bytes, any bytes.
    pub(crate) comm: Vec<u8>,
    /// `R`, `S`, `D`, `T`, `Z`…
    pub(crate) state: u8,
    pub(crate) ppid: u32,
    pub(crate) session: u32,
    /// User and system time, all threads, ended ones included.
    pub(crate) cpu_ticks: u64,
    /// Page faults that needed the disk.
    pub(crate) major_faults: u64,
    pub(crate) threads: u32,
    /// Kernel threads carry `PF_KTHREAD` here.
    pub(crate) flags: u64,
    pub(crate) rss_pages: u64,
}

impl Stat {
    /// `PF_KTHREAD` of the kernel's `sched.h`: a thread of the kernel itself.
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.flags & 0x0020_0000 != 0
    }
}

/// What `/proc/PID/task/TID/schedstat` says (Documentation/scheduler/sched-stats.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SchedStat {
    /// Time on a CPU.
    pub(crate) cpu_ns: u64,
    /// Time runnable but waiting for a CPU.
    pub(crate) wait_ns: u64,
    /// Times it was switched in.
    pub(crate) switches: u64,
}

/// The process table.
#[derive(Debug, Clone)]
pub(crate) struct Procfs {
    root: PathBuf,
}

impl Default for Procfs {
    fn default() -> Self {
        Self::at("/proc")
    }
}

impl Procfs {
    /// The process table below `root`.
    pub(crate) fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// `/proc/NAME`.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root.join(name)
    }

    /// A file below `/proc`, at most 256 KiB of it.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        read_bounded(&self.path(name), READ_BYTES)
    }

    /// Every process id there is now.
    pub(crate) fn pids(&self) -> io::Result<BTreeSet<u32>> {
        Ok(numbered(&self.root)?.collect())
    }

    /// Thread ids of a process, at most `most`.
    pub(crate) fn threads(&self, pid: u32, most: usize) -> io::Result<Vec<u32>> {
        Ok(numbered(&self.path(format!("{pid}/task")))?.take(most).collect())
    }

    /// `/proc/PID/stat`.
    pub(crate) fn stat(&self, pid: u32) -> io::Result<Stat> {
        let text = self.read(format!("{pid}/stat"))?;
        parse_stat(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat is malformed")))
    }

    /// The process with this identity, if it still is that process.
    pub(crate) fn same(&self, id: Identity) -> Option<Stat> {
        self.stat(id.pid).ok().filter(|stat| stat.id == id)
    }

    /// `/proc/PID/task/TID/schedstat`.
    pub(crate) fn schedstat(&self, pid: u32, tid: u32) -> Option<SchedStat> {
        let text = self.read(format!("{pid}/task/{tid}/schedstat")).ok()?;
        let mut numbers =
            std::str::from_utf8(&text).ok()?.split_ascii_whitespace().map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        Some(SchedStat { cpu_ns: next()?, wait_ns: next()?, switches: next()? })
    }

    /// Short name of a thread.
    pub(crate) fn thread_name(&self, pid: u32, tid: u32) -> Option<Vec<u8>> {
        let mut name = self.read(format!("{pid}/task/{tid}/comm")).ok()?;
        if name.last() == Some(&b'\n') {
            name.pop();
        }
        Some(name)
    }

    /// Arguments. A process that renamed itself left one argument and NUL padding.
    pub(crate) fn argv(&self, pid: u32) -> io::Result<Vec<Vec<u8>>> {
        let text = self.read(format!("{pid}/cmdline"))?;
        let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let (words, padding) = text.split_at(end);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let mut argv: Vec<Vec<u8>> = words.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        // An argument that is empty and last leaves two NULs; a retitled process leaves many more.
        if padding.len() == 2 {
            argv.push(Vec::new());
        }
        Ok(argv)
    }

    /// Real user id.
    pub(crate) fn uid(&self, pid: u32) -> io::Result<u32> {
        let text = self.read(format!("{pid}/status"))?;
        let text = String::from_utf8_lossy(&text);
        status_field(&text, "Uid:")
            .and_then(|rest| rest.split_ascii_whitespace().next()?.parse().ok())
            .ok_or_else(|| io::Error::other(format!("/proc/{pid}/status has no Uid line")))
    }

    /// Whether a process ignores a signal, as under nohup (`SigIgn` of proc(5)).
    pub(crate) fn ignores(&self, pid: u32, signal: Signal) -> bool {
        let text = self.read(format!("{pid}/status")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mask = status_field(&text, "SigIgn:").and_then(|m| u64::from_str_radix(m, 16).ok());
        mask.is_some_and(|mask| mask >> (signal as i32 - 1) & 1 == 1)
    }

    /// Where a link of a process points: `exe`, `cwd`, `ns/pid`.
    pub(crate) fn link(&self, pid: u32, name: &str) -> io::Result<PathBuf> {
        fs::read_link(self.path(format!("{pid}/{name}")))
    }
}

/// The rest of the line of `/proc/PID/status` that begins with `name`.
pub(crate) fn status_field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// At most `most` bytes of a file.
pub(crate) fn read_bounded(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_all(File::open(path)?, most)
}

/// At most `most` bytes of an open file.
pub(crate) fn read_all(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn numbered(folder: &Path) -> io::Result<impl Iterator<Item = u32>> {
    Ok(fs::read_dir(folder)?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// Parses `/proc/PID/stat`. The name stands in brackets and may itself hold blanks and brackets, so
/// the fields begin after the *last* one.
pub(crate) fn parse_stat(text: &[u8]) -> Option<Stat> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let pid = std::str::from_utf8(text.get(..open)?).ok()?.trim().parse().ok()?;
    let comm = text.get(open + 1..close)?.to_vec();
    let rest = std::str::from_utf8(text.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // proc(5) counts from 1 and the state is field 3.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |n: usize| field(n)?.parse::<u64>().ok();
    Some(Stat {
        id: Identity { pid, start_ticks: number(22)? },
        comm,
        state: *field(3)?.as_bytes().first()?,
        ppid: field(4)?.parse().ok()?,
        session: field(6)?.parse().ok()?,
        flags: number(9)?,
        major_faults: number(12)?,
        cpu_ticks: number(14)?.saturating_add(number(15)?),
        threads: field(20)?.parse().ok()?,
        rss_pages: number(24)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_may_hold_brackets_and_blanks() {
        let line = |comm: &str| {
            format!(
                "77 ({comm}) S 5 77 70 0 -1 4194560 100 0 3 0 11 4 0 0 20 0 9 0 152276 2048 303 1 2"
            )
        };
        for comm in ["vllm", "a) (b", ") R 1 1 1", "", "x (y) z", "VLLM::EngineCor"] {
            let stat = parse_stat(line(comm).as_bytes()).unwrap();
            assert_eq!(stat.comm, comm.as_bytes());
            assert_eq!(stat.id, Identity { pid: 77, start_ticks: 152_276 });
            assert_eq!((stat.ppid, stat.session, stat.threads), (5, 70, 9));
            assert_eq!((stat.cpu_ticks, stat.rss_pages, stat.major_faults), (15, 303, 3));
        }
    }

    #[test]
    fn a_cut_or_foreign_stat_is_no_process() {
        let line = b"77 (vllm) S 5 77 70 0 -1 4194560 100 0 3 0 11 4 0 0 20 0 9 0 152276 2048 303";
        assert!(parse_stat(line).is_some());
        for text in [&b""[..], b"77", b"77 (vllm", b"x (y) S 1", b")(", b"\xff (a) S", &line[..60]]
        {
            assert_eq!(parse_stat(text), None, "{:?}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn our_own_process_is_found() {
        let procs = Procfs::default();
        let me = procs.stat(std::process::id()).unwrap();
        assert!(!me.is_kernel_thread());
        assert!(procs.pids().unwrap().contains(&me.id.pid));
        assert_eq!(procs.same(me.id).unwrap().id, me.id);
        assert!(procs.same(Identity { start_ticks: me.id.start_ticks + 1, ..me.id }).is_none());
        assert_eq!(procs.uid(me.id.pid).unwrap(), rustix::process::getuid().as_raw());
        assert!(!procs.argv(me.id.pid).unwrap().is_empty());
    }

    #[test]
    fn arguments_keep_empty_words_and_lose_padding() {
        let folder = tempfile::tempdir().unwrap();
        let procs = Procfs::at(folder.path());
        fs::create_dir(folder.path().join("9")).unwrap();
        for (raw, argv) in [
            (&b"vllm\0serve\0"[..], vec!["vllm", "serve"]),
            (b"a\0\0b\0", vec!["a", "", "b"]),
            (b"a\0\0", vec!["a", ""]),
            (b"VLLM::EngineCore\0\0\0\0\0\0\0", vec!["VLLM::EngineCore"]),
            (b"title without end", vec!["title without end"]),
            (b"", vec![]),
        ] {
            fs::write(folder.path().join("9/cmdline"), raw).unwrap();
            let found = procs.argv(9).unwrap();
            assert_eq!(found, argv.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>());
        }
    }
}
