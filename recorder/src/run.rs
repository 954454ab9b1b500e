//! A run under way: everything that goes on while we wait for the next thing to happen. Logs are
//! followed, marks read, processes looked at, load tools noticed; ten times a second, one turn each.

use crate::alarm::Ticks;
use crate::aside::{self, Aside};
use crate::child::{Child, Ending, Outlet, Reaper};
use crate::collect::files::Shelf;
use crate::collect::process::{Member, Tree, Trees, began_t};
use crate::collect::versions;
use crate::follow::{Follower, POLL};
use crate::load_tool::{Call, point_name, recognise};
use crate::marks;
use crate::phase::Edge;
use crate::procfs::{Identity, Procfs};
use crate::results::{Expected, Place, place_of};
use crate::session::{Session, Taken};
use crate::signals::{Signals, Stop};
use crate::sink::Worth;
use crate::status::Voice;
use crate::stop;
use inferlint_schema::engine::EngineIdentity;
use inferlint_schema::record::{Epoch, Exit, Record, Text};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::sleep;

/// The drain ends when the work counters are equal in two readings, or after this.
const DRAIN: Duration = Duration::from_secs(3);
/// A script writes its mark right before it starts the tool; by then the mark has been read.
const MARK_COMES: Duration = Duration::from_millis(250);
/// What a reading at an edge may hold the load up.
const EDGE: Duration = Duration::from_secs(1);
/// Time between two looks at whether errands are done.
const ERRAND: Duration = Duration::from_millis(10);
/// Last lines of a server's output that are shown when it does not come up.
const LAST_LINES: usize = 8;

/// A server we started.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// Its log's source.
    pub(crate) src: u32,
    pub(crate) began_t: u64,
    pub(crate) engine: Option<&'static EngineIdentity>,
    /// It has said in its log that it is ready.
    pub(crate) says_ready: bool,
    pub(crate) last_lines: VecDeque<String>,
    /// How it ended, once it has.
    pub(crate) ending: Option<Ending>,
    /// The launcher in its command, behind which it may run elsewhere.
    pub(crate) launcher: Option<&'static str>,
    /// That launcher has done its work and ended: nothing of the server is ours.
    pub(crate) away: bool,
}

/// A load tool at work: the load command itself, or one below it.
struct Point {
    id: Identity,
    began_t: u64,
    /// Its phase. `None`: a mark of the user's is the point, or the load command is.
    phase: Option<String>,
    /// What its phase will be, while a mark may still claim it.
    proposed: Option<Proposed>,
    argv: Vec<Text>,
    /// Where it leaves its result, once it has been looked at what is there already.
    expected: Option<mpsc::UnboundedReceiver<Expected>>,
}

/// A phase that a load tool would be.
struct Proposed {
    name: String,
    params: BTreeMap<String, Text>,
    found: Instant,
}

/// A load tool that has ended, and when.
type End = (Identity, Instant);

/// Waiting for the counters to come to rest after a load.
struct Drain {
    name: String,
    began: Instant,
    /// Readings so far; only those after its beginning count.
    scrapes: u64,
    /// The work counters in the last of them.
    work: Option<f64>,
}

/// A run under way.
pub(crate) struct Run<'a> {
    pub(crate) voice: &'a Voice,
    pub(crate) session: Session,
    pub(crate) signals: Signals,
    pub(crate) reaper: Reaper,
    trees: Arc<Mutex<Trees>>,
    pub(crate) shelf: Shelf,
    pub(crate) aside: Aside,
    pub(crate) marks: Option<marks::Follower>,
    pub(crate) followers: Vec<Follower>,
    /// Files of ours that children write.
    pub(crate) outlets: Vec<Outlet>,
    pub(crate) server: Option<Server>,
    processes: u32,
    points: Vec<Point>,
    /// No point begins before: the load command's start, then the end of the last point.
    idle_until_t: u64,
    /// Load tools that have ended, and when.
    ends: (mpsc::UnboundedSender<End>, mpsc::UnboundedReceiver<End>),
    drain: Option<Drain>,
    drains: u32,
    loading: bool,
    /// Metrics are read.
    pub(crate) metered: bool,
    /// The load writes to our terminal: then it is the load's alone.
    pub(crate) shares_terminal: bool,
    ticks: Ticks,
    turns: u64,
}

/// What outlives the recording.
pub(crate) struct Parts<'a> {
    pub(crate) voice: &'a Voice,
    pub(crate) session: Session,
    pub(crate) signals: Signals,
    pub(crate) reaper: Reaper,
    pub(crate) trees: Arc<Mutex<Trees>>,
    pub(crate) followers: Vec<Follower>,
    pub(crate) outlets: Vec<Outlet>,
    pub(crate) server: Option<Server>,
    pub(crate) shelf: Shelf,
}

impl<'a> Run<'a> {
    /// A run in `session`; `processes` is the source of its processes.
    pub(crate) fn new(
        voice: &'a Voice,
        session: Session,
        signals: Signals,
        reaper: Reaper,
        trees: Arc<Mutex<Trees>>,
        processes: u32,
    ) -> Self {
        let aside = Aside::new(session.clock);
        Self {
            voice,
            session,
            signals,
            reaper,
            trees,
            shelf: Shelf::default(),
            aside,
            marks: None,
            followers: Vec::new(),
            outlets: Vec::new(),
            server: None,
            processes,
            points: Vec::new(),
            idle_until_t: 0,
            ends: mpsc::unbounded_channel(),
            drain: None,
            drains: 0,
            loading: false,
            metered: false,
            shares_terminal: false,
            ticks: Ticks::new(tokio::time::Instant::now(), POLL),
            turns: 0,
        }
    }

    /// What outlives the recording.
    pub(crate) fn into_parts(self) -> Parts<'a> {
        Parts {
            voice: self.voice,
            session: self.session,
            signals: self.signals,
            reaper: self.reaper,
            trees: self.trees,
            followers: self.followers,
            outlets: self.outlets,
            server: self.server,
            shelf: self.shelf,
        }
    }

    /// Ns since the recording began.
    pub(crate) fn now(&self) -> u64 {
        self.session.clock.now()
    }

    /// Our process trees.
    pub(crate) fn trees(&self) -> MutexGuard<'_, Trees> {
        self.trees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Our process trees, for somebody else who looks at them.
    pub(crate) fn shared_trees(&self) -> Arc<Mutex<Trees>> {
        Arc::clone(&self.trees)
    }

    /// Goes on with the run until `event`.
    ///
    /// # Errors
    /// The signal that came before it.
    pub(crate) async fn until<T>(&mut self, event: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::pin!(event);
        loop {
            tokio::select! {
                biased;
                stop = self.signals.next() => return Err(stop),
                value = &mut event => return Ok(value),
                lines = next(&mut self.marks) => self.session.mark(lines, self.voice),
                Some((id, when)) = self.ends.1.recv() => {
                    self.end_point(id, self.session.clock.at(when));
                }
                brought = self.aside.next() => {
                    aside::keep(brought, &self.session.sink, self.voice);
                }
                () = self.ticks.next() => self.turn(),
            }
        }
    }

    /// Goes on with the run until all errands are done, for `patience` at most. Those that are not go
    /// on.
    ///
    /// # Errors
    /// The signal that came before it.
    pub(crate) async fn errands(&mut self, patience: Duration) -> Result<(), Stop> {
        let began = Instant::now();
        while self.aside.is_busy() && began.elapsed() < patience {
            self.until(sleep(ERRAND)).await?;
        }
        Ok(())
    }

    /// Waits for readings that were asked for, but holds nobody up for long.
    ///
    /// # Errors
    /// The signal that came before it.
    pub(crate) async fn taken(&mut self, taken: Taken) -> Result<(), Stop> {
        let all = async {
            for reading in taken {
                let _ = reading.await;
            }
        };
        self.until(tokio::time::timeout(EDGE, all)).await.map(drop)
    }

    fn turn(&mut self) {
        self.turns += 1;
        self.reaper.reap();
        self.follow();
        if self.loading {
            self.notice_new_points();
            self.decide_points();
        }
        self.go_on_draining();
        let ours = self.voice.has_status_line() && !(self.loading && self.shares_terminal);
        if self.turns.is_multiple_of(5) && ours {
            let elapsed = Duration::from_nanos(self.now());
            let bytes = self.session.sink.bytes();
            let line = self.session.live.line(self.session.phase(), elapsed, bytes);
            self.voice.status(&line);
        }
        if self.turns.is_multiple_of(10) {
            self.session.watch_clock();
            self.outlets.iter_mut().for_each(Outlet::tend);
            self.look();
        }
    }

    /// Looks at the process table.
    pub(crate) fn look(&mut self) {
        let t = self.now();
        let changes = self.trees().look();
        for member in changes.began.iter().chain(&changes.renamed) {
            self.consider(member);
        }
        let edges =
            [("begin", &changes.began), ("change", &changes.renamed), ("end", &changes.ended)];
        for (edge, members) in edges {
            for member in members {
                self.identify(member, edge, t);
            }
        }
        self.notice_server_end();
    }

    /// Records who a process is.
    pub(crate) fn identify(&self, member: &Member, edge: &str, t: u64) {
        let record = self.trees().record(member, edge, Some(self.processes), t);
        self.session.sink.account(record);
    }

    /// Adds a process we started to its tree.
    pub(crate) fn plant(&mut self, pid: u32, tree: Tree) {
        let planted = self.trees().plant(pid, tree);
        if planted && let Some(member) = self.member(pid, tree) {
            self.identify(&member, "begin", self.now());
            // What was started may have become another program already.
            self.consider(&member);
        }
    }

    fn member(&self, pid: u32, tree: Tree) -> Option<Member> {
        self.trees().of(tree).into_iter().find(|member| member.stat.id.pid == pid)
    }

    /// Reads what was added to the logs.
    pub(crate) fn follow(&mut self) {
        let (t, mut out) = (self.now(), Vec::new());
        for follower in &mut self.followers {
            follower.look(t, self.loading, &mut out);
        }
        self.keep_log(out);
    }

    /// Records what was followed, and listens for the server's word that it is ready.
    pub(crate) fn keep_log(&mut self, mut out: Vec<Record>) {
        if let Some(server) = &mut self.server {
            for record in &out {
                if let Record::Log(log) = record
                    && log.src == server.src
                {
                    server.hear(&log.body);
                }
            }
        }
        if !out.is_empty() {
            self.session.sink.send(Worth::Body, &mut out);
        }
    }

    /// Writes down that the server has ended, once.
    pub(crate) fn notice_server_end(&mut self) {
        self.reaper.reap();
        let at_work = |server: &&Server| server.ending.is_none() && !server.away;
        let Some(id) = self.server.as_ref().filter(at_work).map(|server| server.child.id) else {
            return;
        };
        let Some(ending) = self.reaper.ending(id.pid) else { return };
        if ending == Ending::Status(0) && self.hand_over(id) {
            return;
        }
        let Some(server) = self.server.as_mut() else { return };
        server.ending = Some(ending);
        let why = format!("the server's process {}", ending.in_words());
        let (t, src, began_t) = (self.session.clock.now(), server.src, server.began_t);
        self.session.sink.account(exit(t, "server", id, None, Some(ending), Some(began_t)));
        self.session.sink.account(Epoch {
            t,
            src,
            edge: "end".to_owned(),
            rung: "tree".to_owned(),
            identity: Some(identity(id)),
            why: Some(why),
        });
    }

    /// Goes on with who serves when `id`, which we started for it, has done its work and ended: a
    /// script that left the server in the background, or `docker run -d`. False: nobody is left.
    fn hand_over(&mut self, id: Identity) -> bool {
        let members = self.trees().of(Tree::Server);
        let starting = self.session.phase() == Some("start");
        let loading = self.loading;
        let Some(server) = self.server.as_mut() else { return false };
        let unknown = server.engine.is_none() && !starting;
        let successor = members.iter().find(|member| member.serves() || unknown);
        match successor.map(|member| member.stat.id) {
            // The table was last read before it ended: what it left behind shows next time.
            _ if members.iter().any(|member| member.stat.id == id) => return true,
            Some(successor) => server.child = Child::watch(successor),
            // Who is left may become the server yet.
            None if starting && !members.is_empty() => return true,
            // One that stays until there is load is how the server runs, and its end is the server's.
            None if server.launcher.is_some() && !loading => server.away = true,
            None => return false,
        }
        let (t, began_t) = (self.session.clock.now(), server.began_t);
        let ending = Some(Ending::Status(0));
        self.session.sink.account(exit(t, "child", id, None, ending, Some(began_t)));
        true
    }

    /// From `t` on, silence of logs is worth a record and load tools are looked for, or no longer.
    pub(crate) fn set_loading(&mut self, loading: bool, t: u64) {
        self.loading = loading;
        self.idle_until_t = t;
        self.session.live.watch();
    }

    /// Adds a load tool that we start ourselves as the point it is.
    pub(crate) fn add_point(&mut self, id: Identity, began_t: u64, argv: Vec<Text>) {
        let (phase, proposed, expected) = (None, None, None);
        self.points.push(Point { id, began_t, phase, proposed, argv, expected });
    }

    fn notice_new_points(&mut self) {
        let tools: Vec<Identity> = self.points.iter().map(|point| point.id).collect();
        let settled = |member: &Member| tools.contains(&member.stat.id);
        let found = self.trees().peek(settled);
        for member in &found {
            self.identify(member, "begin", self.now());
            self.consider(member);
        }
    }

    /// Begins a point if this process of the load's is a load tool, and not part of one.
    fn consider(&mut self, member: &Member) {
        let inside = |m: &Member| self.points.iter().any(|point| point.id == m.stat.id);
        if !self.loading
            || member.tree != Tree::Client
            || self.trees().descends(member.stat.id.pid, inside)
        {
            return;
        }
        let Some(argv) = &member.argv else { return };
        if let Some(call) = recognise(argv) {
            self.begin_point(member, argv, &call);
        }
    }

    fn begin_point(&mut self, member: &Member, argv: &[Vec<u8>], call: &Call) {
        let (now, id) = (self.now(), member.stat.id);
        // A process that became a load tool later than it was started began when we saw it.
        let began_t = began_t(id, self.session.clock)
            .filter(|began| now.saturating_sub(*began) < 1_000_000_000)
            .unwrap_or(now);
        // The tool before it may have ended since we last looked, and then before this one began.
        self.end_points(began_t.min(now));
        // Start times are known to 10 ms, rounded down. The reading before the load command must not
        // fall into its first point, nor what the tool before left, which bears the time of its end.
        let began_t = began_t.max(self.idle_until_t + 1);
        self.end_drain(began_t);
        let _ = self.session.read_all();
        let params = call.params();
        let name = point_name(&params);
        let proposed = Some(Proposed { name, params, found: Instant::now() });
        let cwd = Procfs::default().link(id.pid, "cwd").unwrap_or_default();
        let expected = place_of(call, &cwd).map(|place| self.look_at(place));
        let argv = argv.iter().map(|word| Text::from(word.as_slice())).collect();
        self.points.push(Point { id, began_t, phase: None, proposed, argv, expected });
        let (tool, ends) = (Child::watch(id), self.ends.0.clone());
        tokio::spawn(async move {
            tool.ended().await;
            let _ = ends.send((id, Instant::now()));
        });
        self.aside.begin("what the load tool runs on", move || {
            vec![versions::of_process(&Procfs::default(), id.pid, "client", None, now).into()]
        });
    }

    /// Has it looked what is at `place` already.
    fn look_at(&mut self, place: Place) -> mpsc::UnboundedReceiver<Expected> {
        let (seen, expected) = mpsc::unbounded_channel();
        self.aside.begin("the place of a result, before its load tool,", move || {
            let _ = seen.send(Expected::at(place, false));
            Vec::new()
        });
        expected
    }

    /// Begins the phases of points that no mark has claimed by now.
    fn decide_points(&mut self) {
        let due = |point: &&mut Point| {
            point.proposed.as_ref().is_some_and(|phase| phase.found.elapsed() >= MARK_COMES)
        };
        for point in self.points.iter_mut().filter(due) {
            decide(point, &mut self.session);
        }
    }

    /// Ends the points whose load tools have ended, as of `t`.
    pub(crate) fn end_points(&mut self, t: u64) {
        let procs = Procfs::default();
        let ended = |point: &Point| stop::has_ended(&procs, point.id, None);
        let ids: Vec<Identity> =
            self.points.iter().filter(|point| ended(point)).map(|point| point.id).collect();
        for id in ids {
            self.end_point(id, t);
        }
    }

    fn end_point(&mut self, id: Identity, t: u64) {
        let Some(at) = self.points.iter().position(|point| point.id == id) else { return };
        let mut point = self.points.remove(at);
        decide(&mut point, &mut self.session);
        let Point { began_t, phase, argv, expected, .. } = point;
        self.idle_until_t = t;
        if let Some(name) = &phase {
            let edge = Edge { t, from: "argv", error_ns: None };
            self.session.end_alone(edge, name);
            let _ = self.session.read_all();
            self.begin_drain(t);
        }
        // The load command's own end is written down where it is waited for.
        if phase.is_some() || expected.is_some() {
            let ending = self.reaper.ending(id.pid);
            self.session.sink.account(exit(t, "child", id, Some(argv), ending, Some(began_t)));
        }
        if let Some(mut expected) = expected {
            let shelf = self.shelf.clone();
            self.aside.begin("the result of a load tool", move || {
                let mut out = Vec::new();
                // `None`: it broke off, and that errand says so.
                if let Some(expected) = expected.blocking_recv() {
                    expected.pick_up(&shelf, t, None, &mut out);
                }
                out
            });
        }
    }

    /// Begins to wait for the counters to come to rest.
    pub(crate) fn begin_drain(&mut self, t: u64) {
        if self.drain.is_some() || !self.metered {
            return;
        }
        self.drains += 1;
        let name =
            if self.drains == 1 { "drain".to_owned() } else { format!("drain#{}", self.drains) };
        let edge = Edge { t, from: "user", error_ns: None };
        self.session.begin_after_reading(edge, "drain", []);
        let (scrapes, _) = self.session.live.scrapes();
        self.drain = Some(Drain { name, began: Instant::now(), scrapes, work: None });
    }

    /// True while counters may still move.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    fn go_on_draining(&mut self) {
        let (scrapes, _) = self.session.live.scrapes();
        let work = self.session.live.figures().work;
        let Some(drain) = &mut self.drain else { return };
        let fresh = scrapes > drain.scrapes;
        let at_rest = fresh && work.is_some() && drain.work == work;
        if fresh {
            (drain.scrapes, drain.work) = (scrapes, work);
        }
        if at_rest || drain.began.elapsed() >= DRAIN {
            self.end_drain(self.session.clock.now());
        }
    }

    fn end_drain(&mut self, t: u64) {
        if let Some(drain) = self.drain.take() {
            let edge = Edge { t, from: "user", error_ns: None };
            self.session.end_alone(edge, &drain.name);
        }
    }
}

/// Begins the phase that was proposed for a point, unless a mark is the point.
fn decide(point: &mut Point, session: &mut Session) {
    let Some(Proposed { name, params, .. }) = point.proposed.take() else { return };
    if !session.is_marked(&name) {
        let error_ns = Some(POLL.as_nanos() as u64);
        let edge = Edge { t: point.began_t, from: "argv", error_ns };
        let params = params.into_iter().map(|(key, value)| (key, value.lossy().into_owned()));
        session.begin_after_reading(edge, &name, params);
        point.phase = session.phase().map(str::to_owned);
    }
}

async fn next(marks: &mut Option<marks::Follower>) -> marks::Lines {
    match marks {
        Some(marks) => marks.next().await,
        None => std::future::pending().await,
    }
}

impl Server {
    fn hear(&mut self, body: &[u8]) {
        for line in String::from_utf8_lossy(body).lines().filter(|line| !line.trim().is_empty()) {
            self.says_ready |= self.engine.is_some_and(|engine| engine.is_ready_line(line));
            if self.last_lines.len() == LAST_LINES {
                self.last_lines.pop_front();
            }
            self.last_lines.push_back(line.chars().take(500).collect());
        }
    }
}

/// The record of a process's end.
pub(crate) fn exit(
    t: u64,
    what: &str,
    id: Identity,
    argv: Option<Vec<Text>>,
    ending: Option<Ending>,
    began_t: Option<u64>,
) -> Exit {
    let (status, signal) = match ending {
        Some(Ending::Status(status)) => (Some(i64::from(status)), None),
        Some(Ending::Signal(signal)) => (None, Some(signal.unsigned_abs())),
        None => (None, None),
    };
    Exit {
        t,
        src: None,
        what: what.to_owned(),
        pid: id.pid,
        start_ticks: Some(id.start_ticks),
        argv,
        status,
        signal,
        began_t,
        phase: None,
    }
}

/// A process's identity as `epoch.identity` has it.
pub(crate) fn identity(id: Identity) -> BTreeMap<String, Text> {
    BTreeMap::from([
        ("pid".to_owned(), Text::from(id.pid.to_string())),
        ("start_ticks".to_owned(), Text::from(id.start_ticks.to_string())),
    ])
}
