//! The processes of our own trees: the server's, the load's and ourselves.
//!
//! Who they are is a `process` record each; what they use is series of a `process` source, once a
//! second:
//!
//! | series | from |
//! |---|---|
//! | `process_cpu_seconds_total{pid,start_ticks}` | `/proc/PID/stat`, all threads, ended ones included, to 10 ms |
//! | `process_cpu_seconds_total{pid,start_ticks,thread,name}` | `/proc/PID/task/TID/schedstat`, exact; where the kernel has none, `stat` of the thread |
//! | `process_run_delay_seconds_total{…,thread,name}` | the same: runnable, waiting for a CPU |
//! | `process_switches_total{…,thread,name}` | the same: times switched in |
//! | `process_context_switches_total{pid,start_ticks,kind}` | `/proc/PID/status`, the main thread's |
//! | `process_resident_memory_bytes`, `process_threads`, `process_major_page_faults_total` | `/proc/PID/stat` |
//!
//! `thread` is the thread's id and `name` its short name. Nobody else's command line is read: a
//! process that is in none of our trees costs one look at its parent and leaves no trace.

use super::{Ask, Collector, Failure};
use crate::clock::{Clock, together};
use crate::procfs::{Identity, Procfs, Stat, status_field};
use crate::sink::Worth;
use crate::sockets;
use inferlint_schema::delta::Encoder;
use inferlint_schema::engine;
use inferlint_schema::record::{Process, Record, Text};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// Threads read of one process in one second; the largest engine process seen has 420.
const THREADS: usize = 2_048;
/// Threads of one process that are asked for children between two looks: load scripts have one.
const PEEK_THREADS: usize = 64;
/// Looks at a new process during which its arguments are read again: it renames itself soon after it
/// starts (vLLM's workers within a second).
const YOUNG_LOOKS: u32 = 5;
/// Looks after which strangers are looked at anew, because their pid may have been used again.
const STRANGER_LOOKS: u32 = 30;

/// Which of our trees a process is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tree {
    Server,
    Client,
    Recorder,
}

impl Tree {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Recorder => "recorder",
        }
    }
}

/// One process of ours.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) stat: Stat,
    pub(crate) tree: Tree,
    /// Its arguments when last read. Another user's (a setuid program) are not read.
    pub(crate) argv: Option<Vec<Vec<u8>>>,
    looks: u32,
}

impl Member {
    /// It is an engine's server itself: no worker of it, nor the shell or launcher that started it.
    pub(crate) fn serves(&self) -> bool {
        let argv = self.argv.iter().flatten();
        let words: Vec<&str> =
            argv.map(|word| std::str::from_utf8(word).unwrap_or_default()).collect();
        // Both know the server; one the shells before it, the other the workers behind.
        engine::of_argv(&words).is_some() && engine::of_process(&words).is_some()
    }
}

/// What changed between two looks.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) began: Vec<Member>,
    pub(crate) renamed: Vec<Member>,
    pub(crate) ended: Vec<Member>,
}

/// Our trees, followed from the processes we started down to all that descend from them.
#[derive(Debug)]
pub(crate) struct Trees {
    procs: Procfs,
    me: u32,
    members: BTreeMap<u32, Member>,
    strangers: BTreeSet<u32>,
    /// A load has been started: from then on an orphan of unknown descent may be its.
    loaded: bool,
    looks: u32,
    ticks_per_second: f64,
    page_bytes: f64,
}

impl Trees {
    /// Trees of the process table `procs`, in which we are process `me`.
    pub(crate) fn new(procs: Procfs, me: u32) -> Self {
        Self {
            procs,
            me,
            members: BTreeMap::new(),
            strangers: BTreeSet::new(),
            loaded: false,
            looks: 0,
            ticks_per_second: ticks_per_second(),
            page_bytes: rustix::param::page_size() as f64,
        }
    }

    /// Adds a process we started as the root of a tree. False: it is gone already.
    pub(crate) fn plant(&mut self, pid: u32, tree: Tree) -> bool {
        self.strangers.remove(&pid);
        self.loaded |= tree == Tree::Client;
        let Ok(stat) = self.procs.stat(pid) else { return false };
        let argv = self.own_argv(pid);
        self.members.insert(pid, Member { stat, tree, argv, looks: 0 });
        true
    }

    /// The processes of one tree.
    pub(crate) fn of(&self, tree: Tree) -> Vec<Member> {
        self.members.values().filter(|member| member.tree == tree).cloned().collect()
    }

    /// What is new below the load's processes, or has changed its arguments, found without a look
    /// at the whole table. Those for which `settled` holds, and all below them, are passed over.
    pub(crate) fn peek(&mut self, settled: impl Fn(&Member) -> bool) -> Vec<Member> {
        let mut found = Vec::new();
        let mut pids: Vec<u32> = self.of(Tree::Client).iter().map(|m| m.stat.id.pid).collect();
        while let Some(pid) = pids.pop() {
            if self.descends(pid, &settled) {
                continue;
            }
            let argv = own_argv(&self.procs, pid);
            if let Some(member) = self.members.get_mut(&pid)
                && argv.is_some()
                && argv != member.argv
            {
                member.argv = argv;
                found.push(member.clone());
            }
            for tid in self.procs.threads(pid, PEEK_THREADS).unwrap_or_default() {
                let children = self.procs.read(format!("{pid}/task/{tid}/children"));
                let children = children.unwrap_or_default();
                let children = String::from_utf8_lossy(&children);
                for child in children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
                    if !self.members.contains_key(&child) && self.plant(child, Tree::Client) {
                        found.extend(self.members.get(&child).cloned());
                        pids.push(child);
                    }
                }
            }
        }
        found
    }

    /// True if `pid` descends from a member for which `is` holds, or is one itself.
    pub(crate) fn descends(&self, pid: u32, is: impl Fn(&Member) -> bool) -> bool {
        let mut pid = pid;
        for _ in 0..64 {
            let Some(member) = self.members.get(&pid) else { return false };
            if is(member) {
                return true;
            }
            pid = member.stat.ppid;
        }
        false
    }

    /// Looks at the process table again.
    pub(crate) fn look(&mut self) -> Changes {
        let mut changes = Changes::default();
        self.looks += 1;
        if self.looks.is_multiple_of(STRANGER_LOOKS) {
            self.strangers.clear();
        }
        self.look_at_members(&mut changes);
        let Ok(pids) = self.procs.pids() else { return changes };
        self.strangers.retain(|pid| pids.contains(pid));
        let mut new: Vec<Stat> = pids
            .iter()
            .filter(|pid| !self.members.contains_key(pid) && !self.strangers.contains(pid))
            .filter_map(|pid| self.procs.stat(*pid).ok())
            .collect();
        // A child may come before its parent in the listing: go round until nobody is added.
        loop {
            let (ours, others): (Vec<_>, Vec<_>) =
                new.into_iter().partition(|stat| self.tree_of(stat).is_some());
            new = others;
            if ours.is_empty() {
                break;
            }
            for stat in ours {
                let Some(tree) = self.tree_of(&stat) else { continue };
                let argv = self.own_argv(stat.id.pid);
                let member = Member { stat, tree, argv, looks: 0 };
                changes.began.push(member.clone());
                self.members.insert(member.stat.id.pid, member);
            }
        }
        self.strangers.extend(new.iter().map(|stat| stat.id.pid));
        changes
    }

    fn look_at_members(&mut self, changes: &mut Changes) {
        let pids: Vec<u32> = self.members.keys().copied().collect();
        for pid in pids {
            let Some(member) = self.members.get_mut(&pid) else { continue };
            let Some(stat) = self.procs.same(member.stat.id).filter(|stat| stat.state != b'Z')
            else {
                changes.ended.extend(self.members.remove(&pid));
                continue;
            };
            let renamed = stat.comm != member.stat.comm;
            member.looks = member.looks.saturating_add(1);
            member.stat = stat;
            if !renamed && member.looks > YOUNG_LOOKS {
                continue;
            }
            let argv = own_argv(&self.procs, pid);
            let changed = argv.is_some() && argv != member.argv;
            if changed {
                member.argv = argv;
            }
            if renamed || changed {
                changes.renamed.push(member.clone());
            }
        }
    }

    /// The tree a new process belongs to: its parent's; its session's leader's; and, for an orphan
    /// that was handed to us, the server's as long as no load has been started.
    fn tree_of(&self, stat: &Stat) -> Option<Tree> {
        if stat.id.pid == self.me {
            return None;
        }
        let parent = self.members.get(&stat.ppid).filter(|member| member.stat.id.pid != self.me);
        let leader = self.members.get(&stat.session).filter(|m| m.tree == Tree::Server);
        if let Some(member) = parent.or(leader) {
            return Some(member.tree);
        }
        (stat.ppid == self.me && !self.loaded).then_some(Tree::Server)
    }

    /// The tree that a process is in, also one that began since the last look.
    pub(crate) fn tree_holding(&self, pid: u32) -> Option<Tree> {
        let mut pid = pid;
        for _ in 0..64 {
            if let Some(member) = self.members.get(&pid) {
                return Some(member.tree);
            }
            let stat = self.procs.stat(pid).ok()?;
            if let Some(tree) = self.tree_of(&stat) {
                return Some(tree);
            }
            pid = stat.ppid;
        }
        None
    }

    fn own_argv(&self, pid: u32) -> Option<Vec<Vec<u8>>> {
        own_argv(&self.procs, pid)
    }

    /// The identity record of a member at time `t`.
    pub(crate) fn record(&self, member: &Member, edge: &str, src: Option<u32>, t: u64) -> Process {
        let pid = member.stat.id.pid;
        let own = is_own(&self.procs, pid).unwrap_or(member.argv.is_some());
        let cgroup = cgroup(&self.procs, pid);
        let alive = edge != "end";
        Process {
            t,
            src,
            edge: edge.to_owned(),
            pid,
            start_ticks: member.stat.id.start_ticks,
            ppid: Some(member.stat.ppid),
            title: Some(Text::from(member.stat.comm.as_slice())),
            argv: member
                .argv
                .as_ref()
                .map(|argv| argv.iter().map(|word| Text::from(word.as_slice())).collect()),
            own,
            user: (!own).then(|| "user-other".to_owned()),
            tree: member.tree.name().to_owned(),
            container: cgroup.as_deref().and_then(container_id),
            cgroup: cgroup.map(Text::from),
            threads: alive.then(|| self.thread_names(pid)).flatten(),
            ports: (alive && member.tree == Tree::Server)
                .then(|| sockets::ports(&self.procs, pid))
                .flatten(),
            gpu_bytes: None,
        }
    }

    fn thread_names(&self, pid: u32) -> Option<BTreeMap<String, u32>> {
        let mut names = BTreeMap::new();
        for tid in self.procs.threads(pid, THREADS).ok()? {
            if let Some(name) = self.procs.thread_name(pid, tid) {
                *names.entry(String::from_utf8_lossy(&name).into_owned()).or_insert(0) += 1;
            }
        }
        Some(names)
    }

    /// What each member used so far, as series.
    pub(crate) fn values(&self) -> Vec<(String, f64)> {
        let mut values = Vec::new();
        for member in self.members.values() {
            self.process_values(&member.stat, &mut values);
        }
        values
    }

    fn process_values(&self, stat: &Stat, values: &mut Vec<(String, f64)>) {
        let Identity { pid, start_ticks } = stat.id;
        let who = format!("pid=\"{pid}\",start_ticks=\"{start_ticks}\"");
        let mut push = |name: &str, value: f64| values.push((format!("{name}{{{who}}}"), value));
        push("process_cpu_seconds_total", stat.cpu_ticks as f64 / self.ticks_per_second);
        push("process_resident_memory_bytes", stat.rss_pages as f64 * self.page_bytes);
        push("process_threads", f64::from(stat.threads));
        push("process_major_page_faults_total", stat.major_faults as f64);
        if let Ok(status) = self.procs.read(format!("{pid}/status")) {
            let status = String::from_utf8_lossy(&status);
            for (field, kind) in [
                ("voluntary_ctxt_switches:", "voluntary"),
                ("nonvoluntary_ctxt_switches:", "involuntary"),
            ] {
                let count = status_field(&status, field).and_then(|n| n.parse::<u64>().ok());
                if let Some(count) = count {
                    let name = format!("process_context_switches_total{{{who},kind=\"{kind}\"}}");
                    values.push((name, count as f64));
                }
            }
        }
        for tid in self.procs.threads(pid, THREADS).unwrap_or_default() {
            self.thread_values(pid, tid, &who, values);
        }
    }

    fn thread_values(&self, pid: u32, tid: u32, who: &str, values: &mut Vec<(String, f64)>) {
        let Some(name) = self.procs.thread_name(pid, tid) else { return };
        let who = format!("{who},thread=\"{tid}\",name=\"{}\"", label(&name));
        let mut push = |name: &str, value: f64| values.push((format!("{name}{{{who}}}"), value));
        // A kernel without schedstat gives zeros or no file.
        if let Some(times) = self.procs.schedstat(pid, tid).filter(|times| times.switches > 0) {
            push("process_cpu_seconds_total", times.cpu_ns as f64 / 1e9);
            push("process_run_delay_seconds_total", times.wait_ns as f64 / 1e9);
            push("process_switches_total", times.switches as f64);
        } else if let Some(stat) = self
            .procs
            .read(format!("{pid}/task/{tid}/stat"))
            .ok()
            .and_then(|text| crate::procfs::parse_stat(&text))
        {
            push("process_cpu_seconds_total", stat.cpu_ticks as f64 / self.ticks_per_second);
        }
    }
}

/// Reads what the processes of our trees use.
pub(crate) struct Usage {
    src: u32,
    trees: Arc<Mutex<Trees>>,
    encoder: Encoder,
    clock: Clock,
}

impl Usage {
    /// A collector for source `src`.
    pub(crate) fn new(src: u32, trees: Arc<Mutex<Trees>>, clock: Clock) -> Self {
        Self { src, trees, encoder: Encoder::new(src), clock }
    }
}

impl Collector for Usage {
    fn src(&self) -> u32 {
        self.src
    }

    fn worth(&self) -> Worth {
        Worth::Reading
    }

    async fn read(&mut self, ask: Ask, out: &mut Vec<Record>) -> Result<(), Failure> {
        let t = self.clock.now();
        let values = self.trees.lock().unwrap_or_else(PoisonError::into_inner).values();
        let samples: Vec<(&str, f64)> = values.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let took = self.clock.now() - t;
        self.encoder.values(t, took, &samples, ask.keyframe, out);
        Ok(())
    }
}

/// When a process was started, on the recording's clock, to 10 ms. `None`: before the recording.
pub(crate) fn began_t(id: Identity, clock: Clock) -> Option<u64> {
    let boot = || nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME);
    let (boot, now) = together(|| (boot(), clock.now()));
    let boot = boot.ok()?;
    let boot_ns = boot.tv_sec() as u64 * 1_000_000_000 + boot.tv_nsec() as u64;
    let started_ns = (id.start_ticks as f64 / ticks_per_second() * 1e9) as u64;
    now.checked_sub(boot_ns.saturating_sub(started_ns))
}

/// Clock ticks per second, `USER_HZ`: 100 on every Linux that runs these engines.
pub(crate) fn ticks_per_second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

fn is_own(procs: &Procfs, pid: u32) -> Option<bool> {
    Some(procs.uid(pid).ok()? == rustix::process::getuid().as_raw())
}

fn own_argv(procs: &Procfs, pid: u32) -> Option<Vec<Vec<u8>>> {
    is_own(procs, pid)?.then(|| procs.argv(pid).ok()).flatten()
}

/// A label value: quotes, backslashes and line feeds escaped, bytes that are not UTF-8 replaced.
fn label(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in String::from_utf8_lossy(raw).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => drop(write!(out, "\\\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

fn cgroup(procs: &Procfs, pid: u32) -> Option<Vec<u8>> {
    procs.read(format!("{pid}/cgroup")).ok().filter(|text| !text.is_empty())
}

/// The id of the container that a process is in, as its cgroup tells.
pub(crate) fn container_of(procs: &Procfs, pid: u32) -> Option<String> {
    container_id(&cgroup(procs, pid)?)
}

/// The container id in a cgroup path: 64 hex digits, as docker, containerd, podman and CRI-O write it.
pub(crate) fn container_id(cgroup: &[u8]) -> Option<String> {
    cgroup
        .split(|byte| !byte.is_ascii_hexdigit())
        .find(|word| word.len() == 64)
        .map(|word| String::from_utf8_lossy(word).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn put(root: &Path, pid: u32, ppid: u32, session: u32, comm: &str, argv: &str) {
        let folder = root.join(pid.to_string());
        let task = folder.join(format!("task/{pid}"));
        fs::create_dir_all(&task).unwrap();
        let stat = format!(
            "{pid} ({comm}) S {ppid} {pid} {session} 0 -1 0 0 0 2 0 150 50 0 0 20 0 1 0 {} 0 10 0",
            pid * 10
        );
        fs::write(folder.join("stat"), stat).unwrap();
        fs::write(folder.join("cmdline"), argv.replace(' ', "\0") + "\0").unwrap();
        let uid = rustix::process::getuid().as_raw();
        let status = format!(
            "Name:\t{comm}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n"
        );
        fs::write(folder.join("status"), status).unwrap();
        fs::write(task.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(task.join("schedstat"), "1500000000 250000000 42\n").unwrap();
    }

    fn pids(members: &[Member]) -> Vec<u32> {
        members.iter().map(|member| member.stat.id.pid).collect()
    }

    #[test]
    fn trees_are_followed_down_and_strangers_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(root, 1, 0, 1, "init", "init");
        put(root, 50, 1, 50, "inferlint", "inferlint-record xray");
        put(root, 60, 50, 60, "sh", "sh -c serve");
        // The child stands before its parent in the listing.
        put(root, 61, 99, 60, "VLLM::EngineCor", "VLLM::EngineCore");
        put(root, 99, 60, 60, "vllm", "python vllm serve");
        put(root, 70, 1, 70, "vllm", "vllm serve bystander");
        let mut trees = Trees::new(Procfs::at(root), 50);
        assert!(trees.plant(60, Tree::Server));
        let changes = trees.look();
        assert_eq!(pids(&changes.began), [61, 99]);
        assert_eq!(trees.of(Tree::Server).len(), 3);

        // The launcher dies; its child is handed to us and stays the server's. A daemon of the
        // server's that left the session before anybody looked is an orphan of ours.
        fs::remove_dir_all(root.join("60")).unwrap();
        put(root, 99, 50, 60, "vllm", "python vllm serve");
        put(root, 101, 50, 101, "daemon", "daemon");
        let changes = trees.look();
        assert_eq!(pids(&changes.ended), [60]);
        assert_eq!(pids(&changes.began), [101]);
        assert_eq!(trees.of(Tree::Server).len(), 3);

        // Once a load runs, an orphan of unknown descent is nobody's.
        put(root, 110, 50, 1, "bench", "vllm bench serve");
        assert!(trees.plant(110, Tree::Client));
        put(root, 111, 110, 1, "python3", "python3 worker");
        put(root, 112, 50, 112, "odd", "odd");
        assert_eq!(pids(&trees.look().began), [111]);
        assert!(trees.descends(111, |member| member.stat.id.pid == 110));
        assert!(!trees.descends(99, |member| member.stat.id.pid == 110));
    }

    #[test]
    fn a_load_tool_is_found_at_once_below_its_script_and_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(root, 60, 50, 1, "bash", "bash ladder.sh");
        let mut trees = Trees::new(Procfs::at(root), 50);
        trees.plant(60, Tree::Client);
        assert!(trees.peek(|_| false).is_empty());
        put(root, 61, 60, 1, "bash", "bash ladder.sh");
        fs::write(root.join("60/task/60/children"), "61 ").unwrap();
        assert_eq!(pids(&trees.peek(|_| false)), [61]);
        put(root, 61, 60, 1, "vllm", "python vllm bench serve");
        assert_eq!(pids(&trees.peek(|_| false)), [61], "it has become another program");
        put(root, 62, 61, 1, "python", "python worker");
        fs::write(root.join("61/task/61/children"), "62 ").unwrap();
        let settled = |member: &Member| member.stat.id.pid == 61;
        assert!(trees.peek(settled).is_empty(), "what the tool starts is its own affair");
    }

    #[test]
    fn a_start_time_is_put_on_the_recordings_clock() {
        let _alone = crate::child::tests::alone();
        let clock = Clock::start();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let before = clock.now();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let after = clock.now();
        let id = Procfs::default().stat(child.id()).unwrap().id;
        let began = began_t(id, clock).unwrap();
        // The kernel counts in hundredths of a second.
        let tick = 20_000_000;
        assert!(before <= began + tick && began <= after + tick, "{before}, {began}, {after}");
        child.kill().unwrap();
        child.wait().unwrap();
        let me = Procfs::default().stat(1).unwrap().id;
        assert_eq!(began_t(me, clock), None);
    }

    #[test]
    fn a_renamed_process_is_told_and_a_reused_pid_is_another() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(root, 60, 50, 60, "python3", "python3 -c spawn_main");
        let mut trees = Trees::new(Procfs::at(root), 50);
        trees.plant(60, Tree::Server);
        put(root, 60, 50, 60, "VLLM::EngineCor", "VLLM::EngineCore");
        let changes = trees.look();
        assert_eq!(pids(&changes.renamed), [60]);
        let argv = changes.renamed[0].argv.as_ref().unwrap();
        assert_eq!(argv, &[b"VLLM::EngineCore".to_vec()]);

        let stat = fs::read_to_string(root.join("60/stat")).unwrap();
        fs::write(root.join("60/stat"), stat.replace(" 600 ", " 900 ")).unwrap();
        let changes = trees.look();
        assert_eq!(pids(&changes.ended), [60]);
        assert_eq!(pids(&changes.began), [60], "the new process is an orphan of ours");
    }

    #[test]
    fn series_carry_identity_and_exact_thread_times() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), 60, 50, 60, "a \"b\"", "x");
        let mut trees = Trees::new(Procfs::at(root.path()), 50);
        trees.plant(60, Tree::Client);
        let values: BTreeMap<String, f64> = trees.values().into_iter().collect();
        let who = r#"pid="60",start_ticks="600""#;
        let thread = r#"thread="60",name="a \"b\"""#;
        for (name, value) in [
            (format!("process_cpu_seconds_total{{{who}}}"), 2.0),
            (format!("process_cpu_seconds_total{{{who},{thread}}}"), 1.5),
            (format!("process_run_delay_seconds_total{{{who},{thread}}}"), 0.25),
            (format!("process_switches_total{{{who},{thread}}}"), 42.0),
            (format!("process_context_switches_total{{{who},kind=\"involuntary\"}}"), 3.0),
            (format!("process_threads{{{who}}}"), 1.0),
        ] {
            assert_eq!(values.get(&name), Some(&value), "{name} in {values:#?}");
        }
    }

    #[test]
    fn container_ids_are_64_hex_digits() {
        let id = "0123456789abcdef".repeat(4);
        let path = format!("0::/system.slice/docker-{id}.scope\n");
        assert_eq!(container_id(path.as_bytes()), Some(id));
        assert_eq!(container_id(b"0::/user.slice/session-3.scope\n"), None);
    }
}
