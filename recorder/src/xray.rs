//! `xray`: a whole run, from nothing to a sealed bundle. Read top to bottom: it is its story.

mod after;
mod load;
mod ready;
mod server;
mod verdict;

use crate::aside;
use crate::child::{Ending, Inherited, Reaper};
use crate::clock::Clock;
use crate::collect::host::{Cgroup, Machine};
use crate::collect::metrics::{self, Metrics, Trouble};
use crate::collect::process::{Tree, Trees, Usage};
use crate::errand::Errand;
use crate::error::Error;
use crate::follow::Follower;
use crate::http::Client;
use crate::marks;
use crate::phase::Edge;
use crate::plan::Plan;
use crate::procfs::Procfs;
use crate::run::Run;
use crate::session::{Session, WRITER};
use crate::signals::{Signals, Stop};
use crate::sink::Place;
use crate::status::Voice;
use inferlint_schema::record::{Note, Source, Text};
use load::Load;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

/// Interval of the processes' and the machine's series.
const SAMPLE: Duration = Duration::from_secs(1);
/// Why a run ends before its time.
enum Early {
    /// A signal came.
    Signal(Stop),
    /// The recorder could not do its part.
    Error(Error),
}

impl From<Stop> for Early {
    fn from(stop: Stop) -> Self {
        Self::Signal(stop)
    }
}
impl From<Error> for Early {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Records a run and gives its exit status.
///
/// # Errors
/// When the recorder could not do its part; the load's own failure is a status.
pub(crate) async fn xray(
    plan: &Plan,
    errand: &Errand,
    inherited: &Arc<Inherited>,
    voice: &Voice,
) -> Result<u8, Error> {
    let place = Place::check(&plan.output, plan.force)?;
    load::check_load(errand)?;
    if let Some(warning) = place.warning() {
        voice.warn(&warning);
    }
    if errand.serve.is_none() && !plan.targets.iter().any(|target| target.serves) {
        voice.say("no server is recorded: --url would name one that runs, --serve start one");
    }
    let signals = Signals::listen()?;
    let client = Client::new().map_err(|error| {
        Error::could_not(format!("set up HTTP: {error}"), "check the limits of this session")
    })?;
    let clock = Clock::start();
    let mut session = Session::open(plan, place, clock, planned_intervals(plan, errand))?;
    let procs = Procfs::default();
    let me = std::process::id();
    let trees = Arc::new(Mutex::new(Trees::new(procs.clone(), me)));
    let reaper = Reaper::new();
    let cgroup = Cgroup::own(&procs);
    let processes = session.source(|src| source(src, clock, "processes", "other", "process"));
    let machine = session.source(|src| source(src, clock, "host", "host", "host"));
    session.collect(Usage::new(processes, Arc::clone(&trees), clock), SAMPLE);
    session.collect(Machine::new(machine, procs, cgroup, clock), SAMPLE);
    let mut run = Run::new(voice, session, signals, reaper, trees, processes);
    run.plant(me, Tree::Recorder);
    run.marks = plan.marks.as_deref().map(open_marks).transpose()?;

    let mut load = None;
    let ended = story(&mut run, plan, errand, inherited, &client, &mut load).await;
    after::wind_up(run, plan, errand, ended, load, &client).await
}

/// Everything up to the end of the drain; gives how the load ended.
async fn story(
    run: &mut Run<'_>,
    plan: &Plan,
    errand: &Errand,
    inherited: &Arc<Inherited>,
    client: &Client,
    load: &mut Option<Load>,
) -> Result<Ending, Early> {
    follow_logs(run, errand)?;
    let mut plan = plan.clone();
    if let Some(serve) = &errand.serve {
        ready::nobody_there(run, &plan, client).await?;
        server::start_server(run, &plan, serve, inherited)?;
        let url = ready::until_ready(run, &plan, serve, client).await?;
        if let (Some(url), Some(target)) = (url, plan.targets.iter_mut().find(|t| t.serves)) {
            target.url = url;
        }
        if let (None, Some(told)) = (&plan.engine, run.server.as_ref().and_then(|s| s.engine)) {
            plan.engine = Some(told.name.to_owned());
            plan.engine_from = "argv";
        }
    }
    let metrics = discover(run, &plan, errand, client).await?;
    server::note_server(run, &plan, errand, client, &metrics).await?;
    for (metrics, interval) in metrics {
        run.session.collect(metrics, interval);
    }
    load::note_client_files(run, errand).await?;
    let results = load::settle_results(run, &plan, errand).await?;
    // A reading right before the load bounds its beginning.
    let taken = run.session.read_all();
    run.taken(taken).await?;
    let under_way = load.insert(load::start_load(run, &plan, errand, results, inherited)?);
    let ending = load::wait_for_load(run, under_way).await?;
    while run.is_draining() {
        run.until(sleep(Duration::from_millis(50))).await?;
    }
    run.errands(aside::PATIENCE).await?;
    Ok(ending)
}

fn broken() -> Error {
    Error::could_not("the load was lost sight of", "report this with the bundle")
}

fn planned_intervals(plan: &Plan, errand: &Errand) -> BTreeMap<String, u64> {
    let ns = |interval: Duration| interval.as_nanos() as u64;
    let mut intervals =
        BTreeMap::from([("process".to_owned(), ns(SAMPLE)), ("host".to_owned(), ns(SAMPLE))]);
    if !plan.targets.is_empty() {
        let metrics = plan.interval.unwrap_or_else(|| default_interval(errand));
        intervals.insert("metrics".to_owned(), ns(metrics));
    }
    intervals
}

fn default_interval(errand: &Errand) -> Duration {
    if errand.serve.is_some() { metrics::OWN } else { metrics::ATTACHED }
}

fn source(src: u32, clock: Clock, name: &str, role: &str, kind: &str) -> Source {
    Source {
        t: clock.now(),
        src,
        name: name.to_owned(),
        role: role.to_owned(),
        kind: kind.to_owned(),
        group: None,
        address: None,
        engine: None,
        engine_from: None,
        provider: (kind == "process" || kind == "host").then(|| "procfs".to_owned()),
        why: None,
    }
}

fn open_marks(path: &Path) -> Result<marks::Follower, Error> {
    marks::Follower::start(path).map_err(|error| {
        let what = format!("open the marks file {}: {error}", path.display());
        Error::could_not(what, "name another bundle with -o")
    })
}

/// A file of ours beside the bundle: `run.ilb` and `server.out` give `run.server.out`.
fn beside(plan: &Plan, suffix: &str) -> PathBuf {
    plan.output.with_extension(suffix)
}

fn note(run: &Run<'_>, key: &str, value: &str) {
    run.session.sink.account(Note {
        t: run.now(),
        what: "note".to_owned(),
        key: Some(key.to_owned()),
        value: Text::from(value),
        by: WRITER.to_owned(),
    });
}

fn user_edge(run: &Run<'_>) -> Edge {
    Edge { t: run.now(), from: "user", error_ns: None }
}

fn follow_logs(run: &mut Run<'_>, errand: &Errand) -> Result<(), Error> {
    for (name, file) in &errand.logs {
        let clock = run.session.clock;
        let src = run.session.source(|src| Source {
            address: Some(file.clone()),
            ..source(src, clock, name, "engine", "log")
        });
        let follower = Follower::named(src, file, run.now()).map_err(|error| {
            let what = format!("follow the log {file}: {}", error.to_string().to_lowercase());
            Error::could_not(what, "check the path and its permissions")
        })?;
        run.followers.push(follower);
    }
    Ok(())
}

fn no_outlet(error: &std::io::Error, path: &Path) -> Error {
    let what = format!("create {}: {}", path.display(), error.to_string().to_lowercase());
    Error::could_not(what, "move what is there away, or replace it with --force")
}

/// Finds and declares the metrics, each with its interval. Missing ones of a server of ours end the
/// run before the load.
async fn discover(
    run: &mut Run<'_>,
    plan: &Plan,
    errand: &Errand,
    client: &Client,
) -> Result<Vec<(Metrics, Duration)>, Early> {
    let found = run.until(metrics::discover(client, plan)).await?;
    for found in &found {
        let Some(Trouble { what, help, missing, .. }) = &found.trouble else { continue };
        let required = plan.require_metrics || (errand.serve.is_some() && *missing);
        if found.serves() && required {
            return Err(Error::could_not(what, help).into());
        }
        run.voice.warn(&format!("source {}: {what}\n  help: {help}", found.name()));
    }
    let default = default_interval(errand);
    let intervals = metrics::intervals(&found, plan.interval, default);
    let longest = intervals.iter().max().copied().unwrap_or_default();
    if plan.interval.is_none() && longest > default {
        note(run, "interval_ms", &longest.as_millis().to_string());
    }
    run.metered = !found.is_empty();
    let ours = errand.serve.as_ref().map(|_| run.shared_trees());
    Ok(run.session.declare(found, client, &ours).into_iter().zip(intervals).collect())
}
