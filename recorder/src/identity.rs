//! Who answers at an address, as surely as it can be told from here, and when another one does.
//!
//! | rung | known by |
//! |---|---|
//! | `tree` | the process that holds the listening socket, in the tree that we started |
//! | `pid` | the process that holds it, elsewhere on this host |
//! | `cgroup` | the container that the socket was made in; its process is not ours to see |
//! | `metric` | the start time in its metrics |
//! | `info` | its version and model, as it says |
//! | `none` | nothing |
//!
//! A process that only passes connections on (docker-proxy, ssh) is not who answers: then the
//! ladder goes on below it.
//!
//! Who holds a socket stands in the open files of processes alone, so all that are ours to see are
//! gone through, likely ones first: before the load, and again only when a reading failed, the start
//! time in the metrics moved, another address answered or the process is gone. Otherwise the edge of
//! a phase costs one look at `/proc/PID/stat`, or at the list of sockets where no process is seen.
//! Measured on a machine with 2 cores (debug build): the list of sockets 4 ms, which the kernel
//! spends on those that do not listen; the open files of 100 processes 8 ms; 150,000 of 390
//! processes 0.65 s. It is done beside the readings, never between.

use crate::clock::Clock;
use crate::collect::process::{Tree, Trees, container_of};
use crate::collect::server_info;
use crate::http::Client;
use crate::procfs::{Identity, Procfs, Stat};
use crate::sink::Sink;
use crate::sock_diag;
use crate::sockets;
use crate::status;
use inferlint_schema::engine::EngineIdentity;
use inferlint_schema::record::{Epoch, Text};
use reqwest::Url;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Lifetimes of one source that are written down: behind a balancer each reading may show another.
const LIFETIMES: u32 = 64;

/// How often a server is asked what it is: behind a balancer each reading may come from another.
const ASKS: u32 = 16;

/// Signs that wait while a witness looks; more are let go, at 4 Hz after a quarter of a minute.
const QUEUE: usize = 64;

/// Short names of programs that listen for somebody else: what docker, podman and rootless networks
/// put on a published port, tunnels, and balancers. The kernel keeps 15 bytes of a name.
const FORWARDERS: &[&str] = &[
    "docker-proxy",
    "rootlessport",
    "rootlesskit",
    "slirp4netns",
    "pasta",
    "pasta.avx2",
    "ssh",
    "sshd",
    "sshd-session",
    "kubectl",
    "socat",
    "nginx",
    "haproxy",
    "envoy",
    "traefik",
    "caddy",
];

/// A gauge that holds when its process began.
const PROCESS: &str = "process_start_time_seconds";
/// What the names of gauges end with that hold when a counter was made.
const CREATED: &str = "_created";

/// The processes that the recorder started, where it starts any.
pub(crate) type Ours = Option<Arc<Mutex<Trees>>>;

/// What listens at an address of this host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Listener {
    /// Numbers of the sockets.
    sockets: BTreeSet<u64>,
    /// The process that holds them all; of several the oldest, from which the others have them.
    holder: Option<Holder>,
    /// Some of the sockets are seen to be held by a process, all of them by none.
    shared: bool,
    /// The container that they were made in, where no process is seen.
    container: Option<String>,
}

/// A process that holds a listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holder {
    id: Identity,
    title: Vec<u8>,
    /// In the tree of the server that we started.
    ours: bool,
    container: Option<String>,
}

impl Holder {
    fn forwards(&self) -> bool {
        FORWARDERS.iter().any(|name| name.as_bytes() == self.title)
    }
}

/// When the process behind an exposition began, as it says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stamp {
    series: &'static str,
    /// Unix seconds.
    value: f64,
}

impl Stamp {
    /// `prometheus_client` exports `process_start_time_seconds`, and for each counter its
    /// `_created`; in multiprocess mode neither. The least of these is that of the counters that
    /// were made at the start.
    fn of(body: &[u8]) -> Option<Self> {
        let stamp = |series, value| Self { series, value };
        status::folded(body, PROCESS, f64::min)
            .map(|value| stamp(PROCESS, value))
            .or_else(|| status::least_ending(body, CREATED).map(|value| stamp(CREATED, value)))
            // A Unix time, not something else of that name.
            .filter(|stamp| stamp.value > 1e9)
    }
}

/// Who answers.
#[derive(Debug, Clone, Default, PartialEq)]
struct Who {
    listener: Listener,
    stamp: Option<Stamp>,
    /// Its version and model, asked for where nothing better is known.
    said: Option<BTreeMap<String, Text>>,
}

impl Who {
    /// The process that answers, if it is seen and no forwarder.
    fn process(&self) -> Option<&Holder> {
        self.listener.holder.as_ref().filter(|holder| !holder.forwards())
    }

    fn rung(&self) -> &'static str {
        match self.process() {
            Some(process) if process.ours => "tree",
            Some(_) => "pid",
            None if self.listener.container.is_some() => "cgroup",
            None if self.stamp.is_some() => "metric",
            None if self.said.is_some() => "info",
            None => "none",
        }
    }

    /// What was read, for the record.
    fn facts(&self) -> BTreeMap<String, Text> {
        let mut facts = self.said.clone().unwrap_or_default();
        let mut put = |key: &str, value: Text| drop(facts.insert(key.to_owned(), value));
        if let Some(stamp) = self.stamp {
            put(stamp.series, Text::from(stamp.value.to_string()));
        }
        let container = self.listener.container.as_ref();
        match (&self.listener.holder, self.process()) {
            (_, Some(process)) => {
                put("pid", Text::from(process.id.pid.to_string()));
                put("start_ticks", Text::from(process.id.start_ticks.to_string()));
                put("title", Text::from(process.title.as_slice()));
            }
            (Some(forwarder), None) => put("forwarder", Text::from(forwarder.title.as_slice())),
            (None, None) => {}
        }
        if let Some(container) = container.or(self.process().and_then(|p| p.container.as_ref())) {
            put("container", Text::from(container.as_str()));
        }
        if self.listener.shared {
            put("shared", Text::from("true"));
        }
        facts
    }

    /// Takes over what is seen of the same server now.
    fn learn(&mut self, now: Self) {
        if now.listener.holder.is_some() || self.listener.holder.is_none() {
            self.listener = now.listener;
        }
        self.stamp = now.stamp.or(self.stamp);
        self.said = now.said.or_else(|| self.said.take());
    }

    /// Why `now` is another server than this one. `None`: nothing says so.
    fn differs(&self, now: &Self, procs: &Procfs) -> Option<String> {
        match (&self.listener.holder, &now.listener.holder) {
            (Some(old), Some(new)) if old.id != new.id => {
                return Some(format!("process {} listens instead of {}", new.id.pid, old.id.pid));
            }
            (Some(old), None) if procs.same(old.id).is_none() => {
                return Some(format!("process {} ended", old.id.pid));
            }
            (None, None)
                if self.listener.sockets.is_disjoint(&now.listener.sockets)
                    && self.listener.sockets.len().min(now.listener.sockets.len()) > 0 =>
            {
                return Some("another socket listens".to_owned());
            }
            _ => {}
        }
        if let (Some(old), Some(new)) = (self.stamp, now.stamp)
            && old.series == new.series
            && old.value != new.value
            // A process that is seen did not change because it dropped its oldest counter.
            && (now.process().is_none() || new.series != CREATED)
        {
            return Some(format!("{} moved from {} to {}", old.series, old.value, new.value));
        }
        let (Some(old), Some(new)) = (&self.said, &now.said) else { return None };
        let (key, old) =
            old.iter().find(|(key, value)| new.get(*key).is_some_and(|n| n != *value))?;
        let new = new.get(key).map(Text::lossy).unwrap_or_default();
        Some(format!("{key} was {} and is {new}", old.lossy()))
    }
}

/// What a reading of the metrics shows of who answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sign {
    /// There was an exposition.
    Answered {
        peer: Option<SocketAddr>,
        stamp: Option<Stamp>,
        /// A phase begins or ends.
        edge: bool,
    },
    /// There was none. `answers`: but an HTTP status.
    Failed { answers: bool },
}

impl Sign {
    /// The sign that exposition `body` from `peer` is.
    pub(crate) fn answered(peer: Option<SocketAddr>, body: &[u8], edge: bool) -> Self {
        Self::Answered { peer, stamp: Stamp::of(body), edge }
    }
}

/// A source whose witness is at work.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Takes each reading's sign, in a queue: looking may take longer than reading.
    pub(crate) signs: mpsc::Sender<Sign>,
    /// Ends when nobody can send signs any more.
    pub(crate) task: JoinHandle<()>,
}

/// Watches who answers at one source's address and writes its lifetimes down.
#[derive(Debug)]
struct Witness {
    src: u32,
    base: Url,
    engine: Option<&'static EngineIdentity>,
    means: Means,
    procs: Procfs,
    /// Who answered last. `None`: nobody yet, or not since that process ended.
    known: Option<Who>,
    peer: Option<SocketAddr>,
    stamp: Option<Stamp>,
    /// Since it was last looked, a reading failed.
    shaken: bool,
    lifetimes: u32,
    asks: u32,
}

/// What every witness of a recording shares.
#[derive(Debug, Clone)]
pub(crate) struct Means {
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) sink: Sink,
    pub(crate) ours: Ours,
}

/// Puts a witness to work for the server at `base`, source `src`.
pub(crate) fn watch(
    src: u32,
    base: Url,
    engine: Option<&'static EngineIdentity>,
    means: Means,
) -> Watched {
    let (signs, mut taken) = mpsc::channel(QUEUE);
    let mut witness = Witness::new(src, base, engine, means);
    let task = tokio::spawn(async move {
        while let Some(sign) = taken.recv().await {
            witness.take(sign).await;
        }
    });
    Watched { signs, task }
}

impl Witness {
    fn new(src: u32, base: Url, engine: Option<&'static EngineIdentity>, means: Means) -> Self {
        let procs = Procfs::default();
        let (known, peer, stamp, shaken, lifetimes, asks) = (None, None, None, false, 0, 0);
        Self { src, base, engine, means, procs, known, peer, stamp, shaken, lifetimes, asks }
    }

    async fn take(&mut self, sign: Sign) {
        match sign {
            Sign::Answered { peer, stamp, edge } => {
                let other = (peer, stamp) != (self.peer, self.stamp);
                if other || edge || self.shaken || self.known.is_none() {
                    (self.peer, self.stamp) = (peer, stamp);
                    self.look(other).await;
                }
            }
            Sign::Failed { answers } => {
                self.shaken = true;
                let holder = self.known.as_ref().and_then(|known| known.listener.holder.as_ref());
                let gone = holder.map(|holder| holder.id).filter(|id| is_gone(&self.procs, *id));
                if let Some(id) = gone {
                    self.end(&format!("process {} ended", id.pid));
                }
                if answers && self.known.is_none() {
                    self.look(true).await;
                }
            }
        }
    }

    async fn look(&mut self, doubtful: bool) {
        let known = self.known.as_ref();
        let holder = known.and_then(|known| known.listener.holder.as_ref());
        if !doubtful && !self.shaken && holder.is_some_and(|h| !is_gone(&self.procs, h.id)) {
            return;
        }
        let mut now = Who { stamp: self.stamp, ..Who::default() };
        if let Some(at) = self.peer.or_else(|| literal(&self.base)) {
            let (procs, ours) = (self.procs.clone(), self.means.ours.clone());
            let before = known.map(|known| known.listener.clone()).unwrap_or_default();
            // To go through all routes and the open files of all processes takes a while.
            let found = tokio::task::spawn_blocking(move || {
                sockets::is_here(&procs, at.ip()).then(|| find(&procs, &ours, at, before))
            });
            now.listener = found.await.ok().flatten().unwrap_or_default();
        }
        if now.rung() == "none" {
            let again = (doubtful || self.shaken || known.is_none()) && self.asks < ASKS;
            now.said = if again { self.ask().await } else { known.and_then(|k| k.said.clone()) };
        }
        self.shaken = false;
        self.settle(now);
    }

    /// What the server says of itself that lasts as long as it does.
    async fn ask(&mut self) -> Option<BTreeMap<String, Text>> {
        self.asks += 1;
        let Means { client, clock, .. } = &self.means;
        let pages = server_info::ask(client, &self.base, self.engine, self.src, *clock).await;
        let told = [
            ("version", server_info::version(&pages)),
            ("model", server_info::first_model(&pages)),
        ];
        let told =
            told.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
        let told: BTreeMap<String, Text> = told.collect();
        (!told.is_empty()).then_some(told)
    }

    fn settle(&mut self, now: Who) {
        let mut why = (self.lifetimes > 0).then(|| "somebody answers again".to_owned());
        if let Some(known) = &mut self.known {
            why = known.differs(&now, &self.procs);
            let Some(why) = &why else {
                known.learn(now);
                return;
            };
            self.end(&why.clone());
        }
        self.lifetimes += 1;
        self.write("begin", &now, why);
        self.known = Some(now);
    }

    fn end(&mut self, why: &str) {
        if let Some(known) = self.known.take() {
            self.write("end", &known, Some(why.to_owned()));
        }
    }

    fn write(&self, edge: &str, who: &Who, why: Option<String>) {
        if self.lifetimes > LIFETIMES {
            return;
        }
        let facts = who.facts();
        self.means.sink.account(Epoch {
            t: self.means.clock.now(),
            src: self.src,
            edge: edge.to_owned(),
            rung: who.rung().to_owned(),
            identity: (!facts.is_empty()).then_some(facts),
            why,
        });
    }
}

fn is_gone(procs: &Procfs, id: Identity) -> bool {
    procs.same(id).is_none_or(|stat| stat.state == b'Z')
}

/// The address of a URL that needs no name server.
fn literal(url: &Url) -> Option<SocketAddr> {
    let host = url.host_str()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let ip = if host == "localhost" { Some(Ipv4Addr::LOCALHOST.into()) } else { bare.parse().ok() };
    Some(SocketAddr::new(ip?, url.port_or_known_default()?))
}

/// What listens at `at`. `before`: what did when it was looked last.
fn find(procs: &Procfs, ours: &Ours, at: SocketAddr, before: Listener) -> Listener {
    let taking = sockets::taking(&sockets::listening(procs, "net"), at);
    let sockets: BTreeSet<u64> = taking.iter().map(|socket| socket.inode).collect();
    let alive = |holder: &Holder| !is_gone(procs, holder.id);
    if sockets == before.sockets && before.holder.as_ref().is_none_or(alive) {
        return before;
    }
    if sockets.is_empty() {
        return Listener::default();
    }
    let trees = || ours.as_ref().map(|ours| ours.lock().unwrap_or_else(PoisonError::into_inner));
    let own = trees().map(|trees| trees.of(Tree::Server)).unwrap_or_default();
    let own = own.iter().map(|member| member.stat.id.pid).collect();
    let owners: BTreeSet<u32> = taking.iter().map(|socket| socket.uid).collect();
    let mut holders = holding(procs, own, &sockets);
    // The likely ones first: all may be many.
    for likely in [true, false] {
        if !holders.iter().any(|(_, part)| *part == sockets) {
            let seen = procs.pids().unwrap_or_default().into_iter();
            let seen = seen.filter(|pid| {
                owner_of_shown(procs, *pid).is_some_and(|owner| owners.contains(&owner) == likely)
            });
            holders.extend(holding(procs, seen.collect(), &sockets));
        }
    }
    let is_ours = |pid: u32| trees().is_some_and(|t| t.tree_holding(pid) == Some(Tree::Server));
    // Workers of ours may have a socket each.
    let seen: BTreeSet<u64> = holders.iter().flat_map(|(_, part)| part).copied().collect();
    let workers = seen == sockets && holders.iter().all(|(stat, _)| is_ours(stat.id.pid));
    let whole = holders.iter().filter(|(_, part)| workers || *part == sockets);
    let whole = whole.map(|(stat, _)| stat);
    let holder = whole.min_by_key(|stat| stat.id.start_ticks).map(|stat| Holder {
        id: stat.id,
        title: stat.comm.clone(),
        ours: is_ours(stat.id.pid),
        container: container_of(procs, stat.id.pid),
    });
    let shared = holder.is_none() && !holders.is_empty();
    let container = if holders.is_empty() { sock_diag::container(&sockets) } else { None };
    Listener { sockets, holder, shared, container }
}

/// Those of the processes that hold some of the sockets, with these.
fn holding(procs: &Procfs, pids: Vec<u32>, sockets: &BTreeSet<u64>) -> Vec<(Stat, BTreeSet<u64>)> {
    let holder = |pid: u32| {
        let held = sockets::held(procs, pid)?;
        let part: BTreeSet<u64> = held.intersection(sockets).copied().collect();
        (!part.is_empty()).then_some((procs.stat(pid).ok()?, part))
    };
    pids.into_iter().filter_map(holder).collect()
}

/// Whose a process is, if its open files are shown to us.
fn owner_of_shown(procs: &Procfs, pid: u32) -> Option<u32> {
    let owner = procs.path(pid.to_string()).metadata().ok()?.uid();
    let me = rustix::process::geteuid().as_raw();
    (me == 0 || me == owner).then_some(owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::tests::alone;
    use inferlint_schema::record::Record;
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command, Stdio};

    const BODY: &[u8] = b"# TYPE process_start_time_seconds gauge\n\
        process_start_time_seconds 1.7e+09\nvllm:num_requests_running 0\n";

    /// A process that holds a listening socket, as its standard input.
    struct Server(Child);

    impl Server {
        fn hold(program: &str, listener: &TcpListener) -> Self {
            let socket = OwnedFd::from(listener.try_clone().unwrap());
            let mut command = Command::new(program);
            let server = Self(command.arg("600").stdin(Stdio::from(socket)).spawn().unwrap());
            // Until it is another program it has our name.
            let (procs, pid) = (Procfs::default(), server.0.id());
            let name = program.rsplit('/').next().unwrap();
            for _ in 0..6_000 {
                if procs.stat(pid).is_ok_and(|stat| stat.comm == name.as_bytes()) {
                    return server;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            panic!("{program} does not run");
        }

        fn pid(&self) -> u32 {
            self.0.id()
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn listener() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        (listener, at)
    }

    fn look(ours: &Ours, at: SocketAddr) -> Listener {
        find(&Procfs::default(), ours, at, Listener::default())
    }

    fn witness(at: SocketAddr, ours: Ours) -> Witness {
        let clock = Clock::start();
        let (client, sink) = (Client::new().unwrap(), Sink::unwritten(clock));
        let base = Url::parse(&format!("http://{at}")).unwrap();
        Witness::new(3, base, None, Means { client, clock, sink, ours })
    }

    fn epochs(witness: &Witness) -> Vec<Epoch> {
        let sent = witness.means.sink.sent().into_iter();
        let epochs = sent.filter_map(|record| match record {
            Record::Epoch(epoch) => Some(epoch),
            _ => None,
        });
        epochs.collect()
    }

    fn shown(epochs: &[Epoch]) -> Vec<(&str, &str, &str)> {
        let why = |epoch| -> &str { Option::as_deref(epoch).unwrap_or("") };
        epochs.iter().map(|e| (e.edge.as_str(), e.rung.as_str(), why(&e.why))).collect()
    }

    #[test]
    fn who_holds_the_socket_is_found_in_our_tree_and_elsewhere() {
        let _alone = alone();
        let (listener, at) = listener();
        let server = Server::hold("sleep", &listener);
        let me = std::process::id();
        assert_eq!(look(&None, at).holder.unwrap().id.pid, me, "we hold it longer");
        drop(listener);
        let holder = look(&None, at).holder.unwrap();
        assert_eq!((holder.id.pid, holder.ours), (server.pid(), false));
        assert_eq!(holder.title, b"sleep");
        let mut trees = Trees::new(Procfs::default(), u32::MAX);
        trees.plant(server.pid(), Tree::Server);
        let ours = Some(Arc::new(Mutex::new(trees)));
        assert!(look(&ours, at).holder.unwrap().ours);
        let mut trees = Trees::new(Procfs::default(), u32::MAX);
        trees.plant(me, Tree::Server);
        let ours = Some(Arc::new(Mutex::new(trees)));
        assert!(look(&ours, at).holder.unwrap().ours, "a child that nobody has looked at yet");
    }

    #[test]
    fn who_passes_connections_on_is_not_who_answers() {
        let _alone = alone();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("docker-proxy");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let (listener, at) = listener();
        let server = Server::hold(program.to_str().unwrap(), &listener);
        drop(listener);
        let listener = look(&None, at);
        assert_eq!(listener.holder.as_ref().unwrap().id.pid, server.pid());
        let who = Who { listener, stamp: Stamp::of(BODY), said: None };
        assert_eq!(who.rung(), "metric");
        let facts = who.facts();
        assert_eq!(facts["forwarder"], Text::from("docker-proxy"));
        assert_eq!(facts[PROCESS], Text::from("1700000000"));
        assert!(!facts.contains_key("pid"));
    }

    #[test]
    fn two_processes_with_sockets_of_their_own_share_the_port() {
        let _alone = alone();
        let bind = |port: u16| {
            use rustix::net::{AddressFamily, SocketFlags, SocketType};
            use rustix::net::{bind, listen, socket_with, sockopt};
            let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
            let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap();
            sockopt::set_socket_reuseport(&socket, true).unwrap();
            bind(&socket, &SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
            listen(&socket, 8).unwrap();
            TcpListener::from(socket)
        };
        let first = bind(0);
        let at = first.local_addr().unwrap();
        let second = bind(at.port());
        let both = look(&None, at);
        assert_eq!((both.sockets.len(), both.shared), (2, false), "we hold both");
        let (one, two) = (Server::hold("sleep", &first), Server::hold("sleep", &second));
        drop((first, second));
        let apart = look(&None, at);
        assert_eq!((apart.holder, apart.shared), (None, true));
        let mut trees = Trees::new(Procfs::default(), u32::MAX);
        trees.plant(one.pid(), Tree::Server);
        let ours = Arc::new(Mutex::new(trees));
        let mixed = look(&Some(Arc::clone(&ours)), at);
        assert_eq!((mixed.holder, mixed.shared), (None, true), "a stranger's and ours");
        ours.lock().unwrap().plant(two.pid(), Tree::Server);
        let workers = look(&Some(ours), at);
        assert_eq!((workers.holder.unwrap().id.pid, workers.shared), (one.pid(), false));
        drop((one, two));
    }

    #[test]
    fn another_process_on_the_port_is_another_lifetime() {
        let _alone = alone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(replaced());
    }

    async fn replaced() {
        let (listener, at) = listener();
        let first = Server::hold("sleep", &listener);
        drop(listener);
        let mut witness = witness(at, None);
        witness.take(Sign::answered(Some(at), BODY, true)).await;
        witness.take(Sign::answered(Some(at), BODY, true)).await;
        witness.take(Sign::Failed { answers: false }).await;
        witness.take(Sign::answered(Some(at), BODY, false)).await;
        let began = epochs(&witness);
        assert_eq!(shown(&began), [("begin", "pid", "")], "a failed reading ends nothing");
        let identity = began[0].identity.as_ref().unwrap();
        assert_eq!(identity["pid"], Text::from(first.pid().to_string()));

        let ended = format!("process {} ended", first.pid());
        drop(first);
        witness.take(Sign::Failed { answers: false }).await;
        witness.take(Sign::Failed { answers: false }).await;
        assert_eq!(shown(&epochs(&witness)), [("end", "pid", ended.as_str())]);
        let listener = TcpListener::bind(at).unwrap();
        let second = Server::hold("sleep", &listener);
        drop(listener);
        witness.take(Sign::answered(Some(at), BODY, false)).await;
        assert_eq!(shown(&epochs(&witness)), [("begin", "pid", "somebody answers again")]);

        // So fast that no reading failed.
        let instead = format!("listens instead of {}", second.pid());
        drop(second);
        let _third = TcpListener::bind(at).unwrap();
        witness.take(Sign::answered(Some(at), BODY, true)).await;
        let found = epochs(&witness);
        assert_eq!(found.len(), 2, "{found:?}");
        let why = found[0].why.as_deref().unwrap();
        assert!(why.ends_with(&instead), "{why}");
        assert_eq!((found[0].edge.as_str(), found[1].edge.as_str()), ("end", "begin"));
    }

    #[tokio::test]
    async fn below_the_process_the_start_time_tells_and_then_what_is_said() {
        // Nobody of this host is at this address, which is for documentation (RFC 5737).
        let at: SocketAddr = "198.51.100.1:9".parse().unwrap();
        let mut far = witness(at, None);
        let body = |start: &str| format!("{PROCESS} {start}\na_total 5\n").into_bytes();
        for start in ["1.7e9", "1.7e9", "1.8e9"] {
            far.take(Sign::answered(Some(at), &body(start), true)).await;
        }
        let moved = "process_start_time_seconds moved from 1700000000 to 1800000000";
        let expected =
            [("begin", "metric", ""), ("end", "metric", moved), ("begin", "metric", moved)];
        assert_eq!(shown(&epochs(&far)), expected);
        for turn in 0..500 {
            far.take(Sign::answered(Some(at), &body(["1.7e9", "1.8e9"][turn % 2]), false)).await;
        }
        let many = epochs(&far).len();
        assert!(many <= 2 * LIFETIMES as usize, "{many} records of a balancer's servers");

        let said = |version: &str| Who {
            said: Some(BTreeMap::from([("version".to_owned(), Text::from(version))])),
            ..Who::default()
        };
        assert_eq!((said("1").rung(), Who::default().rung()), ("info", "none"));
        let procs = Procfs::default();
        assert_eq!(said("1").differs(&said("1"), &procs), None);
        let why = said("1").differs(&said("2"), &procs).unwrap();
        assert_eq!(why, "version was 1 and is 2");
        assert_eq!(said("1").differs(&Who::default(), &procs), None, "absent is not another");
    }

    #[test]
    fn the_start_time_is_the_processs_or_that_of_its_first_counter() {
        let created = b"a_created{x=\"1\"} 1.7000005e9\n# HELP b_created 1e9\nb_created 1.7e9\n\
            c{name=\"d_created 5\"} 1\n";
        let stamp = |series, value| Some(Stamp { series, value });
        for (body, expected) in [
            (BODY, stamp(PROCESS, 1.7e9)),
            (created, stamp(CREATED, 1.7e9)),
            (b"job_created 7\n", None),
            (b"vllm:num_requests_running 0\n", None),
            (b"", None),
        ] {
            assert_eq!(Stamp::of(body), expected, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn an_address_in_a_url_is_known_without_a_name_server() {
        for (url, at) in [
            ("http://localhost:8000/metrics", "127.0.0.1:8000"),
            ("http://[::1]", "[::1]:80"),
            ("http://gpu1:8000", ""),
        ] {
            let found = literal(&Url::parse(url).unwrap()).map(|at| at.to_string());
            assert_eq!(found.unwrap_or_default(), at);
        }
    }
}
