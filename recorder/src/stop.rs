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
        Self { procs, me, aim, grace, began: Instant::now(), targets: BTreeMap::new() }
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
            Aim::Server => "descends from the server we started",
            Aim::Load => "descends from the load we started",
        };
        Ok(Open { pidfd, why: why.to_owned(), sent: None, gone: None })
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

/// Passes a signal on to the load command itself, as the terminal would have. False: it is gone.
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
