//! Stopping what we started, and nothing else. This is the only file that sends a signal.
//!
//! A process is named by pid *and* start time. It is opened first (pidfd), looked at second and
//! signalled third, so a pid that was used again is never hit: before the opening the start times
//! differ, after it the pidfd still names the dead process. Kernels before 5.3 have no pidfd; there
//! the look comes right before `kill`, and the record says that the weaker way was taken.
//!
//! A tree is stopped from its tops: SIGTERM goes to the processes that no other of the tree is the
//! parent of, and to the next ones when those are gone, because an engine that is asked in its
//! middle reports a crash of its workers instead of an orderly end. What is left after the grace
//! time gets SIGKILL.

use crate::collect::process::Member;
use crate::procfs::{Identity, Procfs};
use inferlint_schema::record::{Stop, Text};
use nix::sys::signal::Signal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// After SIGKILL a process is gone unless it sleeps inside a driver; that one is reported and not
/// waited for.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// What is to be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aim {
    /// The server we started, in the session that we made for it.
    Server,
    /// The load command, which shares our session.
    Load,
}

/// One stop, from the first signal to the last process gone.
pub(crate) struct Stopping {
    procs: Procfs,
    me: u32,
    aim: Aim,
    grace: Duration,
    began: Instant,
    /// It has had SIGTERM before.
    asked: Option<Identity>,
    targets: BTreeMap<Identity, Target>,
}

struct Target {
    title: Vec<u8>,
    ppid: u32,
    verdict: Result<Open, String>,
}

/// A process that may be signalled.
struct Open {
    pidfd: Option<OwnedFd>,
    why: String,
    sent: Option<(Signal, Instant)>,
    gone: Option<Instant>,
}

impl Stopping {
    /// Begins a stop by process `me`. With `grace` zero, SIGKILL is the first signal.
    pub(crate) fn new(procs: Procfs, me: u32, aim: Aim, grace: Duration) -> Self {
        let (began, asked, targets) = (Instant::now(), None, BTreeMap::new());
        Self { procs, me, aim, grace, began, asked, targets }
    }

    /// A process that was sent SIGTERM just before: it is not asked twice, because many a program
    /// takes a second time for an order to drop everything.
    pub(crate) fn asked(&mut self, id: Identity) {
        self.asked = Some(id);
    }

    /// No more waiting: SIGKILL at the next step.
    pub(crate) fn hurry(&mut self) {
        self.grace = Duration::ZERO;
    }

    /// Takes one step; call it every few ms with the tree as it stands, until it says true: all that
    /// was chosen is gone, or was killed and did not go within 5 s.
    ///
    /// `spare` are processes that must live: the load's, when the server is stopped.
    pub(crate) fn step(&mut self, tree: &[Member], spare: &BTreeSet<Identity>) -> bool {
        for member in tree {
            let id = member.stat.id;
            if let Some(target) = self.targets.get_mut(&id) {
                target.ppid = member.stat.ppid;
                continue;
            }
            let verdict = self.choose(id, spare);
            let title = member.stat.comm.clone();
            self.targets.insert(id, Target { title, ppid: member.stat.ppid, verdict });
        }
        self.notice_ends();
        let waited = self.began.elapsed();
        let living: BTreeSet<u32> = self.living().map(|id| id.pid).collect();
        if living.is_empty() {
            return true;
        }
        let kill = waited >= self.grace;
        for (id, target) in &mut self.targets {
            let Ok(open) = &mut target.verdict else { continue };
            let signal = if kill { Signal::SIGKILL } else { Signal::SIGTERM };
            let due = match open.sent {
                None => kill || !living.contains(&target.ppid),
                Some((sent, _)) => kill && sent != Signal::SIGKILL,
            };
            if due && open.gone.is_none() {
                let _ = send(&self.procs, *id, open.pidfd.as_ref(), signal);
                // The time runs from the first signal.
                let since = open.sent.map_or_else(Instant::now, |(_, since)| since);
                open.sent = Some((signal, since));
            }
        }
        waited >= self.grace + KILL_WAIT
    }

    /// True if something that was chosen is still there.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.living().next().is_some()
    }

    fn living(&self) -> impl Iterator<Item = Identity> {
        self.targets
            .iter()
            .filter(|(_, target)| target.verdict.as_ref().is_ok_and(|open| open.gone.is_none()))
            .map(|(id, _)| *id)
    }

    fn choose(&self, id: Identity, spare: &BTreeSet<Identity>) -> Result<Open, String> {
        let pidfd = open(id.pid);
        if let Some(why) = refusal(&self.procs, self.me, self.aim, id, spare) {
            return Err(why);
        }
        let why = match self.aim {
            Aim::Server => "descends from what we started for the server",
            Aim::Load => "descends from the load we started",
        };
        let sent = (self.asked == Some(id)).then_some((Signal::SIGTERM, self.began));
        Ok(Open { pidfd, why: why.to_owned(), sent, gone: None })
    }

    fn notice_ends(&mut self) {
        for (id, target) in &mut self.targets {
            if let Ok(open) = &mut target.verdict
                && open.gone.is_none()
                && has_ended(&self.procs, *id, open.pidfd.as_ref())
            {
                open.gone = Some(Instant::now());
            }
        }
    }

    /// What was chosen and what was refused, and what became of it.
    pub(crate) fn records(&self, t: u64, src: Option<u32>) -> Vec<Stop> {
        let record = |(id, target): (&Identity, &Target)| {
            let open = target.verdict.as_ref().ok();
            let sent = open.and_then(|open| open.sent);
            let gone = open.and_then(|open| open.gone);
            Stop {
                t,
                src,
                pid: id.pid,
                start_ticks: id.start_ticks,
                title: Some(Text::from(target.title.as_slice())),
                chosen: open.is_some(),
                why: match &target.verdict {
                    Ok(open) => open.why.clone(),
                    Err(why) => why.clone(),
                },
                signal: sent.map(|(signal, _)| signal as i32 as u32),
                by: open
                    .filter(|open| open.sent.is_some())
                    .map(|open| if open.pidfd.is_some() { "pidfd" } else { "kill" }.to_owned()),
                gone: open.map(|open| open.gone.is_some()),
                took_ns: sent
                    .zip(gone)
                    .map(|((_, since), gone)| gone.duration_since(since).as_nanos() as u64),
            }
        };
        self.targets.iter().map(record).collect()
    }
}

/// Passes a signal on to a process of the load, as a terminal would have. False: it is gone.
pub(crate) fn forward(procs: &Procfs, me: u32, load: Identity, signal: Signal) -> bool {
    let pidfd = open(load.pid);
    refusal(procs, me, Aim::Load, load, &BTreeSet::new()).is_none()
        && send(procs, load, pidfd.as_ref(), signal)
}

/// Opens a process for signalling and waiting. `None`: it is gone, or the kernel is older than 5.3.
pub(crate) fn open(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// True if the process has ended, as a zombie that waits for its parent or altogether.
pub(crate) fn has_ended(procs: &Procfs, id: Identity, pidfd: Option<&OwnedFd>) -> bool {
    if let Some(fd) = pidfd {
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if let Ok(ready) = poll(&mut fds, Some(&at_once)) {
            return ready > 0;
        }
    }
    procs.same(id).is_none_or(|stat| stat.state == b'Z')
}

/// Why this process is never signalled. `None`: it may be.
///
/// Everything that protects other people's processes stands here.
fn refusal(
    procs: &Procfs,
    me: u32,
    aim: Aim,
    id: Identity,
    spare: &BTreeSet<Identity>,
) -> Option<String> {
    let no = |why: &str| Some(why.to_owned());
    if id.pid <= 1 {
        return no("process 0 and 1 are never signalled");
    }
    if id.pid == me {
        return no("it is the recorder itself");
    }
    if spare.contains(&id) {
        return no("it belongs to the load");
    }
    let stat = match procs.stat(id.pid) {
        Ok(stat) if stat.id == id => stat,
        Ok(_) => return no("its pid belongs to another process now"),
        Err(_) => return no("it is gone"),
    };
    if stat.is_kernel_thread() {
        return no("it is a thread of the kernel");
    }
    let Ok(own) = procs.stat(me) else { return no("the recorder's own entry cannot be read") };
    if is_ancestor(procs, id.pid, own.ppid) {
        return no("it is an ancestor of the recorder");
    }
    if procs.uid(id.pid).ok() != procs.uid(me).ok() {
        return no("it is another user's");
    }
    if procs.link(id.pid, "ns/pid").ok() != procs.link(me, "ns/pid").ok() {
        return no("it is in another pid namespace");
    }
    if aim == Aim::Server && stat.session == own.session {
        return no("it is in the recorder's own session");
    }
    None
}

fn is_ancestor(procs: &Procfs, pid: u32, first_parent: u32) -> bool {
    let mut parent = first_parent;
    // Deeper than any real chain of parents; a loop cannot happen but in a made-up table.
    for _ in 0..1_024 {
        if parent == pid {
            return true;
        }
        match procs.stat(parent) {
            Ok(stat) if parent > 1 => parent = stat.ppid,
            _ => return false,
        }
    }
    true
}

#[expect(clippy::disallowed_methods, reason = "the one place that signals")]
fn send(procs: &Procfs, id: Identity, pidfd: Option<&OwnedFd>, signal: Signal) -> bool {
    match pidfd {
        Some(fd) => rustix::process::Signal::from_named_raw(signal as i32)
            .is_some_and(|signal| pidfd_send_signal(fd, signal).is_ok()),
        None => {
            procs.same(id).is_some()
                && i32::try_from(id.pid).is_ok_and(|pid| {
                    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal).is_ok()
                })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::{Started, alone, start_shell};
    use crate::collect::process::{Tree, Trees};
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    fn me() -> u32 {
        std::process::id()
    }

    /// Stops the tree that `started` is the root of and returns the records.
    fn stop(started: &mut Started, grace: Duration) -> Vec<Stop> {
        let mut trees = Trees::new(Procfs::default(), me());
        trees.plant(started.child.id.pid, Tree::Server);
        trees.look();
        let mut stopping = Stopping::new(Procfs::default(), me(), Aim::Server, grace);
        let end = Instant::now() + Duration::from_mins(1);
        while !stopping.step(&trees.of(Tree::Server), &BTreeSet::new()) {
            assert!(Instant::now() < end, "the stop does not end");
            std::thread::sleep(Duration::from_millis(10));
            started.reaper.reap();
            trees.look();
        }
        started.reaper.reap();
        assert!(!stopping.is_incomplete());
        stopping.records(0, None)
    }

    /// An argument for `sleep` that no process of another test program has.
    fn word(number: u32) -> String {
        format!("{number}.{}", me())
    }

    /// Waits until `count` processes have `word` as an argument of their own.
    fn wait_for(word: &str, count: usize) -> Vec<u32> {
        let procs = Procfs::default();
        let end = Instant::now() + Duration::from_mins(1);
        while Instant::now() < end {
            let has = |pid: &u32| {
                procs.argv(*pid).is_ok_and(|argv| argv.iter().any(|arg| arg == word.as_bytes()))
            };
            let pids: Vec<u32> = procs.pids().unwrap().into_iter().filter(has).collect();
            if pids.len() == count {
                return pids;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("never {count} processes with {word}");
    }

    /// Enough for a process that ends when it is asked to, on a machine with no time to spare.
    const GRACE: Duration = Duration::from_secs(4);

    #[test]
    fn a_whole_tree_goes_and_a_bystander_stays() {
        let _alone = alone();
        // The same words in its argv, the same user, even a child of ours: but not the server's.
        let mut bystander = std::process::Command::new("bash")
            .args(["-c", &format!("exec -a 'vllm serve model' sleep {}", word(3141))])
            .spawn()
            .unwrap();
        // A daemon (double fork, session of its own), a renamed worker, one that ignores TERM.
        let script = format!(
            "(setsid sh -c 'sleep {} & exec sleep {}' &)
            bash -c 'exec -a VLLM::EngineCore sleep {}' &
            sh -c 'trap \"\" TERM; exec sleep {}' &
            exec sleep {}",
            word(3142),
            word(3143),
            word(3144),
            word(3145),
            word(3146)
        );
        let mut started = start_shell(&script);
        for number in 3142..=3146 {
            wait_for(&word(number), 1);
        }
        let records = stop(&mut started, GRACE);
        assert_eq!(records.iter().filter(|stop| stop.chosen).count(), 5, "{records:#?}");
        let lives = |stop: &&Stop| stop.chosen && stop.gone != Some(true);
        assert_eq!(records.iter().find(lives), None);
        let killed: Vec<_> = records.iter().filter(|stop| stop.signal == Some(9)).collect();
        assert_eq!(killed.len(), 1, "only the one that ignores TERM: {records:#?}");
        assert!(killed[0].took_ns.unwrap() >= 3_000_000_000);
        for number in 3142..=3146 {
            wait_for(&word(number), 0);
        }
        assert_eq!(wait_for(&word(3141), 1), [bystander.id()]);
        bystander.kill().unwrap();
        bystander.wait().unwrap();
    }

    #[test]
    fn odd_names_and_stopped_processes_go_too() {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a) R (b");
        fs::copy("/bin/sleep", &odd).unwrap();
        let stopped = format!("bash -c 'trap : TERM; kill -STOP $$; sleep 1' {}", word(3152));
        let script = format!("'{}' {} & {stopped} & wait", odd.display(), word(3151));
        let mut started = start_shell(&script);
        wait_for(&word(3151), 1);
        wait_for(&word(3152), 1);
        let records = stop(&mut started, GRACE);
        assert_eq!(records.iter().filter(|stop| stop.chosen).count(), 3, "{records:#?}");
        let title =
            |name: &str| records.iter().find(|stop| stop.title == Some(Text::from(name))).unwrap();
        assert_eq!(title("a) R (b").signal, Some(15));
        assert_eq!(title("bash").signal, Some(9), "stopped, with a handler: KILL alone helps");
        wait_for(&word(3151), 0);
        wait_for(&word(3152), 0);
    }

    #[test]
    fn workers_are_asked_after_the_process_above_them() {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("order");
        // The parent takes its child down in its own way; nobody else must ask the child.
        let script = format!(
            "sh -c 'trap \"echo worker >> {0}; exit\" TERM; while :; do sleep 0.05; done' worker &
             trap 'echo parent >> {0}; sleep 0.3; kill $!; wait; exit 0' TERM
             while :; do sleep 0.05; done",
            log.display()
        );
        let mut started = start_shell(&script);
        wait_for("worker", 1);
        stop(&mut started, Duration::from_secs(30));
        assert_eq!(fs::read_to_string(log).unwrap(), "parent\nworker\n");
    }

    /// Sends a signal as a user would, not through what is tested.
    fn kill(pid: u32, signal: &str) {
        let sent = Command::new("kill").args(["-s", signal, &pid.to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn lives(id: Identity) -> bool {
        !has_ended(&Procfs::default(), id, None)
    }

    /// Options of `unshare` for a pid namespace that an ordinary user may make, where users may.
    const NAMESPACE: [&str; 5] = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];

    /// False, with the reason printed, where no pid namespace can be made.
    fn has_namespaces() -> bool {
        let tried = Command::new("unshare").args(NAMESPACE).arg("true").output();
        match tried {
            Ok(done) if done.status.success() => true,
            Ok(done) => {
                let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
                println!("skipped: no pid namespace can be made here: {why}");
                false
            }
            Err(error) => {
                println!("skipped: unshare cannot be run: {error}");
                false
            }
        }
    }

    /// Set inside a pid namespace of a test's own.
    const INSIDE: &str = "INFERLINT_TEST_INSIDE";

    #[test]
    fn a_process_that_has_the_pid_of_one_that_ended_is_never_hit() {
        if std::env::var_os(INSIDE).is_some() {
            return reuse_a_pid();
        }
        let _alone = alone();
        if !has_namespaces() {
            return;
        }
        // Only in a namespace of our own are the next pids ours to choose.
        let name = "stop::tests::a_process_that_has_the_pid_of_one_that_ended_is_never_hit";
        let inside = Command::new("unshare")
            .args(NAMESPACE)
            .args(["--kill-child", "sh", "-c", "\"$0\" \"$@\"; exit $?"])
            .arg(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&inside.stdout).into_owned();
        println!("{said}");
        let error = String::from_utf8_lossy(&inside.stderr).into_owned();
        assert!(inside.status.success() && said.contains("1 passed"), "{said}{error}");
    }

    fn reuse_a_pid() {
        let _alone = alone();
        let procs = Procfs::default();
        let mut started = start_shell("exec sleep 600");
        let old = started.child.id;
        let mut trees = Trees::new(procs.clone(), me());
        trees.plant(old.pid, Tree::Server);
        let tree = trees.of(Tree::Server);
        let early = Stopping::new(procs.clone(), me(), Aim::Server, GRACE);
        let opened = early.choose(old, &BTreeSet::new()).unwrap();
        kill(old.pid, "KILL");
        while started.reaper.ending(old.pid).is_none() {
            std::thread::sleep(Duration::from_millis(5));
            started.reaper.reap();
        }
        // Start times have ticks of 10 ms.
        std::thread::sleep(Duration::from_millis(50));
        let Some(mut new) = started_as(old.pid) else {
            println!("skipped: this kernel does not let the next pid be chosen");
            return;
        };
        let stranger = procs.stat(new.child.id.pid).unwrap().id;
        assert_eq!(stranger.pid, old.pid);
        assert!(stranger.start_ticks > old.start_ticks);

        // Opened while it lived: the descriptor names the dead process for ever.
        let pidfd = opened.pidfd.as_ref().expect("this kernel has pidfd");
        assert!(has_ended(&procs, old, Some(pidfd)));
        assert!(!send(&procs, old, Some(pidfd), Signal::SIGKILL));
        // Without pidfd the look right before the signal tells.
        assert!(!send(&procs, old, None, Signal::SIGKILL));
        // Opened after it ended: the start times differ.
        let mut late = Stopping::new(procs.clone(), me(), Aim::Server, Duration::ZERO);
        assert!(late.step(&tree, &BTreeSet::new()), "nothing is left to stop");
        let records = late.records(0, None);
        assert_eq!(records.len(), 1);
        assert!(!records[0].chosen && records[0].signal.is_none(), "{records:?}");
        assert!(records[0].why.contains("another process now"), "{records:?}");
        assert!(!forward(&procs, me(), old, Signal::SIGKILL));

        std::thread::sleep(Duration::from_millis(200));
        assert!(lives(stranger), "the stranger with the old pid was hit");
        kill(stranger.pid, "KILL");
        new.reaper.reap();
    }

    /// A process, in a session of its own, that is given this pid. `None`: it cannot be had.
    fn started_as(pid: u32) -> Option<Started> {
        // What the kernel gave last is ours to set in our own namespace (proc_sys_kernel(5)); it is
        // not there without CONFIG_CHECKPOINT_RESTORE.
        for _ in 0..100 {
            fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).ok()?;
            let started = start_shell("exec sleep 600");
            if started.child.id.pid == pid {
                return Some(started);
            }
            kill(started.child.id.pid, "KILL");
        }
        None
    }

    #[test]
    fn a_process_in_another_pid_namespace_is_left_alone() {
        let _alone = alone();
        if !has_namespaces() {
            return;
        }
        let script = format!("unshare {} sleep {} & wait", NAMESPACE.join(" "), word(3161));
        let mut started = start_shell(&script);
        // unshare, and what it runs.
        let pids = wait_for(&word(3161), 2);
        let records = stop(&mut started, GRACE);
        let refused: Vec<&Stop> = records.iter().filter(|stop| !stop.chosen).collect();
        assert_eq!(refused.len(), 1, "{records:#?}");
        assert!(refused[0].why.contains("another pid namespace"), "{refused:?}");
        let inside = Identity { pid: refused[0].pid, start_ticks: refused[0].start_ticks };
        assert!(pids.contains(&inside.pid) && lives(inside));
        kill(inside.pid, "KILL");
        wait_for_end(&mut started, inside);
    }

    #[test]
    fn a_process_of_another_user_is_left_alone() {
        let _alone = alone();
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can start a process as another user");
            return;
        }
        let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
        let tried = Command::new("sh").args(["-c", &format!("{nobody} true")]).status();
        if !tried.is_ok_and(|status| status.success()) {
            println!("skipped: setpriv cannot be run");
            return;
        }
        let mut started =
            start_shell(&format!("{nobody} sleep {} & sleep {} & wait", word(3162), word(3163)));
        let procs = Procfs::default();
        wait_for(&word(3163), 1);
        let end = Instant::now() + Duration::from_mins(1);
        let other = loop {
            let pid = wait_for(&word(3162), 1)[0];
            if procs.uid(pid).is_ok_and(|uid| uid == 65_534) {
                break procs.stat(pid).unwrap().id;
            }
            assert!(Instant::now() < end, "setpriv never became nobody");
        };
        let records = stop(&mut started, GRACE);
        let refused: Vec<&Stop> = records.iter().filter(|stop| !stop.chosen).collect();
        assert_eq!(refused.len(), 1, "{records:#?}");
        assert_eq!(refused[0].pid, other.pid);
        assert!(refused[0].why.contains("another user's"), "{refused:?}");
        assert!(lives(other));
        wait_for(&word(3163), 0);
        kill(other.pid, "KILL");
        wait_for_end(&mut started, other);
    }

    fn wait_for_end(started: &mut Started, id: Identity) {
        let end = Instant::now() + Duration::from_mins(1);
        while lives(id) {
            assert!(Instant::now() < end, "{id:?} does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        started.reaper.reap();
    }

    /// A made-up process table: what cannot be had here for real.
    fn table(root: &Path, pid: u32, ppid: u32, session: u32, uid: u32, flags: u32, ns: &str) {
        let folder = root.join(pid.to_string());
        fs::create_dir_all(folder.join("ns")).unwrap();
        let stat = format!(
            "{pid} (x) S {ppid} {pid} {session} 0 -1 {flags} 0 0 0 0 1 1 0 0 20 0 1 0 {} 0 10 0",
            pid * 10
        );
        fs::write(folder.join("stat"), stat).unwrap();
        fs::write(folder.join("status"), format!("Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n")).unwrap();
        let _ = fs::remove_file(folder.join("ns/pid"));
        std::os::unix::fs::symlink(ns, folder.join("ns/pid")).unwrap();
    }

    #[test]
    fn what_is_never_signalled() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let ours = "pid:[1]";
        table(root, 1, 0, 1, 0, 0, ours);
        table(root, 10, 1, 10, 1000, 0, ours); // our grandparent
        table(root, 20, 10, 10, 1000, 0, ours); // our parent
        table(root, 30, 20, 10, 1000, 0, ours); // ourselves
        table(root, 40, 30, 40, 1000, 0, ours); // the server
        table(root, 41, 40, 40, 0, 0, ours); // another user's
        table(root, 42, 40, 40, 1000, 0, "pid:[2]");
        table(root, 43, 2, 0, 1000, 0x0020_0000, ours);
        table(root, 44, 30, 10, 1000, 0, ours); // in our session
        let procs = Procfs::at(root);
        let id = |pid: u32| Identity { pid, start_ticks: u64::from(pid) * 10 };
        let why = |aim, id, spare: &[Identity]| {
            refusal(&procs, 30, aim, id, &spare.iter().copied().collect()).unwrap_or_default()
        };
        for (pid, words) in [
            (0, "process 0 and 1"),
            (1, "process 0 and 1"),
            (10, "an ancestor"),
            (20, "an ancestor"),
            (30, "the recorder itself"),
            (41, "another user's"),
            (42, "another pid namespace"),
            (43, "of the kernel"),
            (44, "own session"),
            (99, "it is gone"),
            (40, ""),
        ] {
            let found = why(Aim::Server, id(pid), &[]);
            assert!(
                found.contains(words) && found.is_empty() == words.is_empty(),
                "{pid}: {found}"
            );
        }
        let reused = Identity { start_ticks: 1, ..id(40) };
        assert!(why(Aim::Server, reused, &[]).contains("another process now"));
        assert!(why(Aim::Server, id(40), &[id(40)]).contains("the load"));
        assert_eq!(why(Aim::Load, id(44), &[]), "", "the load shares our session");
    }
}
