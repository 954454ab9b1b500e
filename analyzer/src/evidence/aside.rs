//! What stands beside the server's log: its exit, the kernel's log, and who holds the cards.

use super::Run;
use crate::failure::{Aside, Holder, Kernel};
use inferlint_schema::engine;
use inferlint_schema::record::{Process, Text};
use std::collections::BTreeMap;

impl Run {
    /// Evidence beside the server's log. The end of a server that outlived the load is the
    /// recorder's own doing and left out.
    pub fn aside(&self) -> Aside {
        Aside {
            exit: self.exit_before_the_end(),
            kernel: self.kernel_log.as_deref().map(Kernel::read),
            holders: self.holders(),
            unowned_mib: self.unowned_mib(),
            ..Aside::default()
        }
    }

    /// The server's exit status, as a shell tells it, when it ended before the load did.
    fn exit_before_the_end(&self) -> Option<i32> {
        let exit = self.server_exit?;
        let loads_end = self.points.iter().filter_map(|point| point.command).map(|c| c.1).max();
        if let (Some(at), Some(end)) = (exit.at, loads_end)
            && at > end
        {
            return None;
        }
        let signal = exit.signal.and_then(|signal| i32::try_from(signal).ok());
        signal.map(|signal| 128 + signal).or(exit.status.and_then(|s| i32::try_from(s).ok()))
    }

    /// GPU memory in use while no visible process holds any, in MiB.
    fn unowned_mib(&self) -> Option<u64> {
        let table = self.table.as_ref().filter(|table| table.holders_seen)?;
        let held = self.processes.iter().any(|process| process.gpu_bytes.is_some());
        let used: u64 = table.cards.iter().map(|card| card.used_mib).sum();
        (!held && used > 0).then_some(used)
    }

    /// Processes with GPU memory, and engine workers, that are not of the server that was recorded.
    fn holders(&self) -> Vec<Holder> {
        let all: BTreeMap<u32, &Process> = self.processes.iter().map(|p| (p.pid, p)).collect();
        let mut found: Vec<Holder> = Vec::new();
        for process in all.values() {
            let orphan = is_worker(process) && has_server(process, &all) == Some(false);
            let bytes: u64 = process.gpu_bytes.iter().flat_map(|gpus| gpus.values()).sum();
            if process.tree == "server" || process.tree == "client" || !(orphan || bytes > 0) {
                continue;
            }
            found.push(Holder {
                pid: u64::from(process.pid),
                title: title(process),
                gpu_mib: (bytes > 0).then_some(bytes >> 20),
                orphan,
            });
        }
        // Whoever holds most is named first; an orphan before anybody else.
        found.sort_by_key(|holder| (!holder.orphan, std::cmp::Reverse(holder.gpu_mib)));
        found
    }
}

impl Run {
    /// Engine workers of which the processes that were seen do not tell whether a server is above
    /// them: the table has no parents, or was cut, or they are of another PID namespace.
    pub fn workers_of_unknown_parents(&self) -> usize {
        let all: BTreeMap<u32, &Process> = self.processes.iter().map(|p| (p.pid, p)).collect();
        let unknown =
            |process: &&&Process| is_worker(process) && has_server(process, &all).is_none();
        all.values().filter(unknown).count()
    }
}

fn title(process: &Process) -> String {
    let argv = process.argv.as_ref().and_then(|argv| argv.first());
    argv.or(process.title.as_ref()).map_or_else(String::new, |text| text.lossy().into_owned())
}

/// An engine's child process: it has a title or a command of its own and starts no server.
fn is_worker(process: &Process) -> bool {
    let titled = || {
        let title = process.title.as_ref().map(|t| t.lossy().into_owned()).unwrap_or_default();
        engine::ENGINES.iter().any(|engine| engine.has_title(&title))
    };
    with_argv(process, |argv| {
        engine::of_argv(argv).is_none() && (engine::of_process(argv).is_some() || titled())
    })
}

/// Whether an ancestor of the process is a server. `None`: its ancestors are not all there, and one of
/// the servers that are there may be one of them.
fn has_server(process: &Process, all: &BTreeMap<u32, &Process>) -> Option<bool> {
    let mut at = process.ppid;
    // A forged table may name a loop.
    for _ in 0..64 {
        let Some(pid) = at else { break };
        match all.get(&pid) {
            // In a container the server itself may be process 1; so may the shell or the init that
            // started it, and orphans become children of that.
            Some(parent) if is_server(parent) => return Some(true),
            Some(parent) => at = parent.ppid,
            None if pid <= 1 => return Some(false),
            None => break,
        }
    }
    // The driver lists holders of memory only, and no server.
    let all_were_listed = all.values().any(|process| process.gpu_bytes.is_none());
    let server = all.values().any(|process| starts_server(process));
    if all_were_listed && !server { Some(false) } else { None }
}

/// A server, or what started one.
fn starts_server(process: &Process) -> bool {
    with_argv(process, |argv| engine::of_argv(argv).is_some())
}

/// A server itself, not the shell, launcher or init that started it.
fn is_server(process: &Process) -> bool {
    with_argv(process, |argv| engine::of_argv(argv).is_some() && engine::of_process(argv).is_some())
}

fn with_argv<T>(process: &Process, ask: impl FnOnce(&[&str]) -> T) -> T {
    let argv: Vec<_> = process.argv.iter().flatten().map(Text::lossy).collect();
    let argv: Vec<&str> = argv.iter().map(AsRef::as_ref).collect();
    ask(&argv)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{Exit, Point};

    fn process(pid: u32, ppid: u32, argv: &[&str], gib: u64) -> Process {
        Process {
            t: 0,
            src: None,
            edge: "begin".into(),
            pid,
            start_ticks: 0,
            ppid: Some(ppid),
            title: None,
            argv: Some(argv.iter().map(|a| Text::from(*a)).collect()),
            own: true,
            user: None,
            tree: "other".into(),
            cgroup: None,
            container: None,
            threads: None,
            ports: None,
            gpu_bytes: (gib > 0).then(|| BTreeMap::from([("gpu".to_owned(), gib << 30)])),
        }
    }

    #[test]
    fn a_worker_without_a_server_above_it_is_an_orphan() {
        let run = Run {
            processes: vec![
                process(1, 0, &["/sbin/init"], 0),
                process(20, 1, &["VLLM::EngineCore"], 0),
                process(21, 20, &["VLLM::Worker_TP0"], 12),
                process(30, 1, &["vllm", "serve", "/m"], 0),
                process(31, 30, &["VLLM::EngineCore"], 4),
                process(40, 1, &["python", "train.py"], 30),
            ],
            ..Run::default()
        };
        let found: Vec<_> = run.holders().iter().map(|h| (h.pid, h.orphan, h.gpu_mib)).collect();
        assert_eq!(
            found,
            [
                (21, true, Some(12 << 10)),
                (20, true, None),
                (40, false, Some(30 << 10)),
                (31, false, Some(4 << 10))
            ]
        );
    }

    #[test]
    fn what_started_a_server_is_none() {
        let orphans = |first: &[&str]| {
            let processes = vec![process(1, 0, first, 0), process(9, 1, &["VLLM::EngineCore"], 70)];
            let run = Run { processes, ..Run::default() };
            run.holders().iter().filter(|holder| holder.orphan).count()
        };
        assert_eq!(orphans(&["sh", "-c", "vllm serve /m; sleep infinity"]), 1);
        assert_eq!(orphans(&["tini", "--", "vllm", "serve", "/m"]), 1);
        assert_eq!(orphans(&["python3", "/usr/bin/vllm", "serve", "/m"]), 0);
    }

    #[test]
    fn a_worker_whose_parents_were_not_seen_may_have_a_server() {
        let mut lone = process(20, 1, &["VLLM::EngineCore"], 0);
        lone.ppid = None;
        let server = process(10, 1, &["vllm", "serve", "/m"], 0);
        let orphans = |processes: Vec<Process>| {
            let run = Run { processes, ..Run::default() };
            let orphans = run.holders().iter().filter(|holder| holder.orphan).count();
            (orphans, run.workers_of_unknown_parents())
        };
        assert_eq!(orphans(vec![lone.clone()]), (1, 0));
        let mut held = process(21, 1, &["VLLM::EngineCore"], 70);
        held.ppid = None;
        assert_eq!(orphans(vec![held]), (0, 1));
        assert_eq!(orphans(vec![lone, server.clone()]), (0, 1));
        let first = process(1, 0, &["vllm", "serve", "/m"], 0);
        assert_eq!(orphans(vec![first, process(9, 1, &["VLLM::EngineCore"], 0)]), (0, 0));
        let cut = process(30, 500, &["VLLM::EngineCore"], 0);
        assert_eq!(orphans(vec![cut, server]), (0, 1));
    }

    #[test]
    fn an_exit_after_the_load_is_not_the_servers_doing() {
        let exit = |at| Run {
            server_exit: Some(Exit { at: Some(at), status: None, signal: Some(9) }),
            points: vec![Point { command: Some((10, 20)), ..Point::default() }],
            ..Run::default()
        };
        assert_eq!(exit(15).aside().exit, Some(137));
        assert_eq!(exit(25).aside().exit, None);
    }
}
