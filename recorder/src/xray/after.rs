//! The end of a run: the bundle is sealed first, then what was started is stopped, and what that
//! shows is appended.

use super::load::{Load, RESULTS, end_load};
use super::{Early, beside, broken, user_edge, verdict};
use crate::appendix;
use crate::aside;
use crate::child::{self, Echo, Ending, Inherited, Outlet, Reaper, Route, Start};
use crate::clock::Clock;
use crate::collect::files::Shelf;
use crate::collect::process::{Member, Tree, Trees};
use crate::errand::Errand;
use crate::error::{Error, exit};
use crate::follow::Follower;
use crate::gate;
use crate::http::Client;
use crate::plan::Plan;
use crate::probe;
use crate::procfs::{Identity, Procfs};
use crate::results::Expected;
use crate::run::{self, Run, Server};
use crate::session::{Session, WRITER};
use crate::signals::{Signals, Stop};
use crate::sink::Sealed;
use crate::status::Voice;
use crate::stop::{Aim, Stopping, forward};
use inferlint_schema::record::{Note, Record, Text};
use nix::sys::signal::Signal;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a load may take to end after the first signal, before the bundle is sealed without it.
const LOAD_ENDS: Duration = Duration::from_millis(500);
/// Time between two looks at a load that outlives its terminal.
const OUTLIVED: Duration = Duration::from_millis(100);
/// Time between two steps of a stop.
const STEP: Duration = Duration::from_millis(20);
/// How long the last output is passed on after a signal.
const OUTPUT_ENDS: Duration = Duration::from_secs(1);

/// Seals the bundle, stops what was started, appends what that showed, judges, and gives the status.
pub(super) async fn wind_up(
    mut run: Run<'_>,
    plan: &Plan,
    errand: &Errand,
    ended: Result<Ending, Early>,
    mut load: Option<Load>,
    client: &Client,
) -> Result<u8, Error> {
    let first = match &ended {
        Err(Early::Signal(stop)) => Some(*stop),
        _ => None,
    };
    let mut hurried = false;
    if let (Some(stop), Some(load)) = (first, load.as_mut().filter(|load| load.ending.is_none())) {
        hurried = pass_on(&mut run, load, stop).await;
    }
    let late = run.errands(aside::IN_HASTE).await.err();
    hurried |= late.is_some();
    close_books(&mut run).await;
    let how = match &ended {
        Err(Early::Signal(stop)) => stop.how(),
        Err(Early::Error(error)) => {
            run.session.blame(error);
            "failed"
        }
        Ok(_) => "finished",
    };
    let mut after = After::of(run, plan, errand, load);
    if hurried {
        after.stop_all(client, first, true).await;
    }
    let (sealed, again) = after.seal(how).await;
    let mut again = late.or(again);
    if !hurried {
        let hurried = again.is_some();
        again = after.stop_all(client, first, hurried).await.or(again);
    }
    if let Ok(sealed) = &sealed {
        after.append(&sealed.path);
    }
    again = after.settle_output(first.or(again).is_some()).await.or(again);
    match ended {
        Ok(ending) => after.judge(ending.as_status(), sealed, again).await,
        Err(early) => after.break_off(early, sealed),
    }
}

/// Takes the last of the logs and marks, and ends what is open.
async fn close_books(run: &mut Run<'_>) {
    let (t, mut out) = (run.now(), Vec::new());
    for follower in &mut run.followers {
        follower.finish(t, false, &mut out);
        if let Some(path) = follower.awaited() {
            let help = "check the path that --log was given";
            run.voice.warn(&format!("the log {} never came\n  help: {help}", path.display()));
        }
    }
    run.keep_log(out);
    if let Some(marks) = run.marks.take() {
        for lines in marks.finish().await {
            run.session.mark(lines, run.voice);
        }
    }
    run.notice_server_end();
    aside::keep(run.aside.give_up(), &run.session.sink, run.voice);
    let edge = user_edge(run);
    run.session.end_all(edge);
}

/// Has the load command hear the signal that we got, unless its terminal told it already, and waits
/// a little for its end. True: another signal came meanwhile.
async fn pass_on(run: &mut Run<'_>, load: &mut Load, stop: Stop) -> bool {
    let (procs, me) = (Procfs::default(), std::process::id());
    if stop == Stop::Terminate {
        forward(&procs, me, load.child.id, stop.signal());
    } else if !load.foreground || (stop == Stop::Hangup && leads_session()) {
        // What a terminal would have sent to the whole foreground group.
        run.look();
        for member in run.trees().of(Tree::Client) {
            forward(&procs, me, member.stat.id, stop.signal());
        }
    }
    match run.until(tokio::time::timeout(LOAD_ENDS, load.child.ended())).await {
        Ok(Ok(())) => {
            end_load(run, load);
            false
        }
        Ok(Err(_)) => false,
        Err(_) => true,
    }
}

/// A terminal that is closed tells only the leader of its session; a shell passes that on, and here
/// we are in its place.
fn leads_session() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session == rustix::process::getpid())
}

/// The server and the load being stopped.
struct Halt {
    server: Stopping,
    /// Once it is the load's turn.
    load: Option<Stopping>,
    /// The load command, while it runs.
    running: Option<Identity>,
    /// The signal that ended the run.
    first: Option<Stop>,
    grace: Duration,
    began: Instant,
}

impl Halt {
    /// Begins with the server.
    fn new(running: Option<Identity>, first: Option<Stop>, grace: Duration) -> Self {
        let server = stopping(Aim::Server, grace);
        Self { server, load: None, running, first, grace, began: Instant::now() }
    }

    /// Goes on with the load. SIGTERM it has heard already, if that ended the run.
    fn begin_with_load(&mut self) {
        if self.load.is_some() {
            return;
        }
        let load = self.load.insert(stopping(Aim::Load, self.grace));
        if let (Some(id), Some(Stop::Terminate)) = (self.running, self.first) {
            load.asked(id);
        }
    }

    /// Ends the patience with all of it.
    fn hurry(&mut self) {
        self.server.hurry();
        if self.running.is_some() {
            self.load.get_or_insert_with(|| stopping(Aim::Load, Duration::ZERO)).hurry();
        }
    }
}

fn stopping(aim: Aim, grace: Duration) -> Stopping {
    Stopping::new(Procfs::default(), std::process::id(), aim, grace)
}

/// What is left to do once the recording is closed.
struct After<'a> {
    plan: &'a Plan,
    errand: &'a Errand,
    voice: &'a Voice,
    session: Option<Session>,
    signals: Signals,
    reaper: Reaper,
    trees: Arc<Mutex<Trees>>,
    followers: Vec<Follower>,
    outlets: Vec<Outlet>,
    server: Option<Server>,
    load: Option<Load>,
    shelf: Shelf,
    clock: Clock,
    bundle_id: String,
    records: Vec<Record>,
}

impl<'a> After<'a> {
    fn of(run: Run<'a>, plan: &'a Plan, errand: &'a Errand, load: Option<Load>) -> Self {
        let parts = run.into_parts();
        let clock = parts.session.clock;
        let bundle_id = parts.session.bundle_id.clone();
        Self {
            plan,
            errand,
            voice: parts.voice,
            session: Some(parts.session),
            signals: parts.signals,
            reaper: parts.reaper,
            trees: parts.trees,
            followers: parts.followers,
            outlets: parts.outlets,
            server: parts.server,
            load,
            shelf: parts.shelf,
            clock,
            bundle_id,
            records: Vec::new(),
        }
    }

    async fn seal(&mut self, how: &str) -> (Result<Sealed, Error>, Option<Stop>) {
        match self.session.take() {
            Some(session) => session.seal_anyway(how, &mut self.signals).await,
            None => (Err(broken()), None),
        }
    }

    /// Stops the server, and after a signal the load. Gives the signal that came meanwhile.
    async fn stop_all(
        &mut self,
        client: &Client,
        first: Option<Stop>,
        hurried: bool,
    ) -> Option<Stop> {
        let running = self.load.as_ref().filter(|load| load.ending.is_none());
        let running = running.map(|load| load.child.id);
        if self.server.is_none() && running.is_none() && first.is_none() {
            return None;
        }
        let mut again = if hurried { None } else { self.give_way(first, running.is_some()).await };
        let hurried = hurried || again.is_some();
        let mut halt =
            Halt::new(running, first, if hurried { Duration::ZERO } else { self.errand.grace });
        let patience = self.patience(first, hurried && running.is_some());
        while !self.step(&mut halt, patience) {
            tokio::select! {
                biased;
                stop = self.signals.next() => {
                    // Whoever repeats a signal wants the end of it.
                    again = again.or(Some(stop));
                    halt.hurry();
                }
                () = sleep(STEP) => {}
            }
        }
        self.account_for_stop(&halt.server, halt.load.as_ref(), client).await;
        again
    }

    /// What comes before anything is stopped: the time of a load that outlives its terminal, and the
    /// `--stop` command. Gives the signal that cut it short.
    async fn give_way(&mut self, first: Option<Stop>, load_runs: bool) -> Option<Stop> {
        if first == Some(Stop::Hangup)
            && load_runs
            && let Some(stop) = self.outlived().await
        {
            return Some(stop);
        }
        let command = self.errand.serve.as_ref().and_then(|serve| serve.stop.clone())?;
        self.run_stop_command(&command).await
    }

    /// One step of stopping the server and, when its time has come, what is left of the load. True:
    /// nothing is left.
    fn step(&mut self, halt: &mut Halt, patience: Option<Duration>) -> bool {
        let (servers, clients) = self.look();
        let spare: BTreeSet<_> = clients.iter().map(|member| member.stat.id).collect();
        let server_done = halt.server.step(&servers, &spare);
        let load_gone = halt.running.is_none_or(|id| self.reaper.ending(id.pid).is_some());
        let is_time = patience.is_some_and(|patience| halt.began.elapsed() >= patience);
        if is_time || (halt.first.is_some() && load_gone) {
            halt.begin_with_load();
        }
        let load_done = match &mut halt.load {
            Some(stopping) => stopping.step(&clients, &BTreeSet::new()),
            None => load_gone,
        };
        self.follow();
        server_done && load_done
    }

    /// How long a load has that was told of the signal `first`, before SIGTERM ends what is left of
    /// it. `None`: as long as it likes, as without us; so has what is left after its own end.
    fn patience(&self, first: Option<Stop>, hurried: bool) -> Option<Duration> {
        let foreground = self.load.as_ref().is_some_and(|load| load.foreground);
        match first {
            _ if hurried => Some(Duration::ZERO),
            None => None,
            Some(Stop::Interrupt) if foreground => None,
            Some(Stop::Interrupt | Stop::Hangup) => Some(self.errand.grace),
            // That was SIGTERM, so its time runs already.
            Some(Stop::Terminate) => Some(Duration::ZERO),
        }
    }

    /// The server's processes and the load's, as they stand.
    fn look(&mut self) -> (Vec<Member>, Vec<Member>) {
        self.reaper.reap();
        let mut trees = self.trees.lock().unwrap_or_else(PoisonError::into_inner);
        trees.look();
        (trees.of(Tree::Server), trees.of(Tree::Client))
    }

    /// Leaves a load that outlives its terminal, as under nohup, its server and its time. What is
    /// written meanwhile comes after the seal and is not recorded. Gives the signal that ended it.
    async fn outlived(&mut self) -> Option<Stop> {
        let procs = Procfs::default();
        let outlives = |member: &Member| procs.ignores(member.stat.id.pid, Signal::SIGHUP);
        while self.look().1.iter().any(outlives) {
            self.follow();
            self.records.clear();
            self.outlets.iter_mut().for_each(Outlet::tend);
            tokio::select! {
                biased;
                stop = self.signals.next() => return Some(stop),
                () = sleep(OUTLIVED) => {}
            }
        }
        None
    }

    fn follow(&mut self) {
        let t = self.clock.now();
        for follower in &mut self.followers {
            follower.look(t, false, &mut self.records);
        }
    }

    /// Runs the `--stop` command. Gives the signal that came before its end; what is left of it then
    /// is stopped with the server.
    async fn run_stop_command(&mut self, command: &str) -> Option<Stop> {
        let Ok(mut outlet) = Outlet::create(&beside(self.plan, "stop.out")) else { return None };
        outlet.tend();
        let route = Route::Kept(outlet);
        let argv = ["sh", "-c", command].map(OsString::from);
        let how = Start { argv: &argv, env: &[], own_session: true, stdout: &route, stderr: None };
        let inherited = Arc::new(Inherited::take());
        let mut again = None;
        if let Ok(child) = child::start(&inherited, &how) {
            self.trees
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .plant(child.id.pid, Tree::Server);
            tokio::select! {
                biased;
                stop = self.signals.next() => again = Some(stop),
                ended = tokio::time::timeout(self.errand.grace, child.ended()) => {
                    if ended.is_err() {
                        let help = "see what it waits for";
                        let what = "the --stop command has not ended";
                        self.voice.warn(&format!("{what}\n  help: {help}"));
                    }
                }
            }
            self.reaper.reap();
            let t = self.clock.now();
            let argv = argv.iter().map(|word| Text::from(word.as_bytes())).collect();
            let ending = self.reaper.ending(child.id.pid);
            self.records.push(run::exit(t, "child", child.id, Some(argv), ending, None).into());
        }
        self.outlets.extend(route.into_outlet());
        again
    }

    /// Records what was stopped and how, and whether the server is really gone.
    async fn account_for_stop(
        &mut self,
        server: &Stopping,
        load: Option<&Stopping>,
        client: &Client,
    ) {
        let t = self.clock.now();
        // What ended after the last look was seen to be gone, and not how it ended.
        self.reaper.reap();
        if let Some(late) = self.load.as_mut().filter(|load| load.ending.is_none()) {
            late.ending = self.reaper.ending(late.child.id.pid);
            if let Some(ending) = late.ending {
                self.records.push(late.exit(ending, t).into());
                let fetch = late.pick_up(&self.shelf, t);
                let fetched = aside::within(aside::PATIENCE, self.clock, RESULTS, fetch).await;
                self.records.extend(fetched.records);
            }
        }
        let src = self.server.as_ref().map(|server| server.src);
        self.records.extend(server.records(t, src).into_iter().map(Record::from));
        self.records
            .extend(load.into_iter().flat_map(|load| load.records(t, None)).map(Record::from));
        for follower in &mut self.followers {
            follower.finish(t, false, &mut self.records);
        }
        if server.is_incomplete() {
            self.voice.warn(
                "not all of the server has ended, a process may be stuck in a driver\n  \
                 help: see the stop records with inferlint-analyze inspect",
            );
        }
        let Some(own) = &self.server else { return };
        if own.ending.is_none() && !own.away {
            let ending = self.reaper.ending(own.child.id.pid);
            let began_t = Some(own.began_t);
            self.records.push(run::exit(t, "server", own.child.id, None, ending, began_t).into());
        }
        let port = self.plan.targets.iter().find(|target| target.serves);
        if let Some(target) = port {
            let still = probe::says_anything(client, &target.url).await;
            let value = if still { "still answers" } else { "closed" };
            if let (true, Some(launcher)) = (still, own.launcher) {
                self.voice.warn(&format!(
                    "the server that {launcher} started still answers at {}\n  help: stop it, and \
                     say how with --stop the next time",
                    target.address()
                ));
            }
            self.records.push(
                Note {
                    t: self.clock.now(),
                    what: "note".to_owned(),
                    key: Some("port_after_stop".to_owned()),
                    value: Text::from(value),
                    by: WRITER.to_owned(),
                }
                .into(),
            );
        }
        self.records.push(gate::look(Path::new("/"), "after", self.clock.now()).into());
    }

    fn append(&mut self, path: &Path) {
        if self.records.is_empty() {
            return;
        }
        let records = std::mem::take(&mut self.records);
        let done =
            appendix::append(path, self.plan, self.clock, &self.bundle_id, &records, "finished");
        if let Err(error) = done {
            self.voice.error(&error);
        }
    }

    /// Waits until the load's output has been passed on, after a signal not for long, and removes
    /// what only we wanted. Gives the signal that came meanwhile.
    async fn settle_output(&mut self, in_haste: bool) -> Option<Stop> {
        let mut again = None;
        if let Some(load) = &self.load {
            let begun = Instant::now();
            while !load.echoes.iter().all(Echo::finish) {
                if in_haste && begun.elapsed() >= OUTPUT_ENDS {
                    break;
                }
                tokio::select! {
                    biased;
                    stop = self.signals.next() => {
                        again = Some(stop);
                        break;
                    }
                    () = sleep(STEP) => {}
                }
            }
            load.expected.iter().for_each(Expected::clean_up);
        }
        for outlet in self.outlets.drain(..) {
            if let (true, Some(path)) = (self.errand.keep_logs, outlet.path()) {
                self.voice.say(&format!("kept {}", path.display()));
            }
            outlet.close(self.errand.keep_logs);
        }
        again
    }

    /// The status of a run whose load ended with `status`: that, unless a further signal came or it is
    /// 0 and the verdict is not.
    async fn judge(
        mut self,
        status: u8,
        sealed: Result<Sealed, Error>,
        again: Option<Stop>,
    ) -> Result<u8, Error> {
        let voice = self.voice;
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(error) if status != 0 || again.is_some() => {
                voice.error(&error);
                return Ok(again.map_or(status, Stop::as_status));
            }
            Err(error) => return Err(error),
        };
        if let Some(trouble) = &sealed.trouble {
            voice.warn(&format!("{} is not complete: {trouble}", sealed.path.display()));
        }
        if let Some(stop) = again {
            return Ok(stop.as_status());
        }
        let signals = &mut self.signals;
        let verdict = verdict::judge(self.plan, self.errand, &sealed, voice, signals).await;
        Ok(match (status, verdict, sealed.trouble) {
            (_, Err(stop), _) => stop.as_status(),
            (0, _, Some(_)) => exit::COULD_NOT,
            (0, Ok(verdict), None) => verdict,
            (status, ..) => status,
        })
    }

    /// Says what there is of a run that did not come to its end, and gives its status.
    fn break_off(self, early: Early, sealed: Result<Sealed, Error>) -> Result<u8, Error> {
        let what = match &early {
            Early::Signal(stop) => format!("sealed, the run was {}", stop.how()),
            Early::Error(_) => "what there was is in it".to_owned(),
        };
        match sealed {
            Ok(sealed) => {
                let path = sealed.path.display();
                let next = format!("judge it with inferlint-analyze check {path}");
                self.voice.say(&format!("{path}: {what}; {next}"));
            }
            Err(error) => self.voice.error(&error),
        }
        match early {
            Early::Signal(stop) => Ok(stop.as_status()),
            Early::Error(error) => Err(error),
        }
    }
}
