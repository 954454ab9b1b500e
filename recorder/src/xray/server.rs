//! Our server: starting it, and noting who it is before the load.

use super::{Early, beside, no_outlet, source, user_edge};
use crate::aside;
use crate::child::{self, Ending, Inherited, Outlet, Route, Start};
use crate::collect::files::{self, Item, Keep, Shelf};
use crate::collect::metrics::Metrics;
use crate::collect::process::Tree;
use crate::collect::{Collector, server_info, versions};
use crate::errand::{Errand, Serve};
use crate::error::Error;
use crate::follow::Follower;
use crate::gate;
use crate::http::Client;
use crate::plan::{Plan, Target};
use crate::probe;
use crate::procfs::Procfs;
use crate::run::{Run, Server};
use crate::signals::Stop;
use inferlint_schema::engine::{EngineIdentity, launcher_of};
use inferlint_schema::record::{Probe, Record, Versions};
use reqwest::Url;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(super) fn start_server(
    run: &mut Run<'_>,
    plan: &Plan,
    serve: &Serve,
    inherited: &Arc<Inherited>,
) -> Result<(), Error> {
    let gate = gate::look(Path::new("/"), "before", run.now());
    if !gate.clear {
        run.voice.warn("the GPUs are not looked at by this version\n  help: see nvidia-smi");
    }
    run.session.sink.account(gate);
    let edge = user_edge(run);
    let _ = run.session.begin(edge, "start", []);
    let clock = run.session.clock;
    let src = run.session.source(|src| source(src, clock, "server", "engine", "log"));
    let mut routes = Vec::new();
    for (stream, name) in [("stdout", "server.out"), ("stderr", "server.err")] {
        let outlet = outlet(plan, name)?;
        let reader = outlet.reader().map_err(|error| no_outlet(&error, &beside(plan, name)))?;
        run.followers.push(Follower::written(src, stream, reader, 0, run.now()));
        routes.push(Route::Kept(outlet));
    }
    let argv = ["sh", "-c", &serve.command].map(OsString::from);
    let unbuffered = std::env::var_os("PYTHONUNBUFFERED").is_none();
    let env = [("PYTHONUNBUFFERED", OsString::from("1"))];
    let how = Start {
        argv: &argv,
        env: if unbuffered { &env } else { &[] },
        own_session: true,
        stdout: routes.first().unwrap_or(&Route::Terminal),
        stderr: routes.last(),
    };
    let began_t = run.now();
    let child = child::start(inherited, &how).map_err(|error| {
        Error::could_not(format!("start the server by sh: {error}"), "check that sh is there")
    })?;
    run.outlets.extend(routes.into_iter().filter_map(Route::into_outlet));
    run.plant(child.id.pid, Tree::Server);
    run.voice.say(&format!("the server is starting (pid {})", child.id.pid));
    run.server = Some(Server {
        child,
        src,
        began_t,
        engine: serve.engine,
        says_ready: false,
        last_lines: VecDeque::new(),
        ending: None,
        launcher: launcher_of(&["sh", "-c", &serve.command]),
        away: false,
    });
    Ok(())
}

fn outlet(plan: &Plan, suffix: &str) -> Result<Outlet, Error> {
    let path = beside(plan, suffix);
    if plan.force {
        // A recorder that was killed left it; another one that is alive keeps its open file.
        let _ = fs::remove_file(&path);
    }
    Outlet::create(&path).map_err(|error| no_outlet(&error, &path))
}

/// Asks the server what it is, notes its process, versions and files, and sends its first requests.
pub(super) async fn note_server(
    run: &mut Run<'_>,
    plan: &Plan,
    errand: &Errand,
    client: &Client,
    metrics: &[(Metrics, Duration)],
) -> Result<(), Early> {
    let engine = plan.engine.as_deref().and_then(inferlint_schema::engine::by_name);
    let mut failed: Option<Failed> = None;
    let sources: Vec<u32> = metrics.iter().map(|(metrics, _)| metrics.src()).collect();
    for (src, target) in serving(plan, &sources) {
        let server = At { src, url: &target.url, engine, client };
        let model = ask(run, &server).await?;
        if errand.probe
            && let Some(now) = probe(run, &server, model).await?
        {
            let before = failed.is_some_and(|failed| failed.unhealthy);
            failed = Some(Failed { unhealthy: now.unhealthy || before, ..now });
        }
    }
    identify_server(run, errand, engine);
    run.errands(aside::PATIENCE).await?;
    run.look();
    fit_for_load(run.server.as_ref(), failed)
}

/// A server where it is asked.
struct At<'a> {
    src: u32,
    url: &'a Url,
    engine: Option<&'static EngineIdentity>,
    client: &'a Client,
}

/// First requests that failed.
struct Failed {
    /// How many, and why.
    what: String,
    /// It did not say afterwards that it is healthy.
    unhealthy: bool,
}

/// Records what a server says of itself. Gives its first model.
async fn ask(run: &mut Run<'_>, server: &At<'_>) -> Result<Option<String>, Stop> {
    let clock = run.session.clock;
    let pages = server_info::ask(server.client, server.url, server.engine, server.src, clock);
    let pages = run.until(pages).await?;
    let model = server_info::first_model(&pages);
    for page in pages {
        run.session.sink.account(page);
    }
    Ok(model)
}

/// Sends a server its first requests, in a phase of their own.
async fn probe(
    run: &mut Run<'_>,
    server: &At<'_>,
    model: Option<String>,
) -> Result<Option<Failed>, Stop> {
    let Some(model) = model else {
        let why = "no model is listed at /v1/models, so nothing could be asked".to_owned();
        run.session.sink.account(files::gap(run.now(), Some(server.src), "unreadable", why));
        return Ok(None);
    };
    let edge = user_edge(run);
    let _ = run.session.begin(edge, "probe", []);
    let At { src, url, engine, client } = *server;
    let clock = run.session.clock;
    let probes = probe::first_requests(client, url, engine, &model, src, clock);
    let probes = run.until(probes).await?;
    let edge = user_edge(run);
    let _ = run.session.end(edge, "probe");
    let failed = failed(&probes);
    if let Some(Failed { what, .. }) = &failed {
        run.voice.warn(&format!("{what}\n  help: see the server's log in the bundle"));
    }
    for probe in probes {
        run.session.sink.account(probe);
    }
    Ok(failed)
}

/// What failed of the first requests; the last of them asks for the server's health.
fn failed(probes: &[Probe]) -> Option<Failed> {
    let failed = probes.iter().find(|probe| probe.ok < probe.asked)?;
    let why = failed.error.clone().unwrap_or_default();
    let count = failed.asked - failed.ok;
    let what = format!("{count} of {} first requests failed: {why}", failed.asked);
    Some(Failed { what, unhealthy: probes.last().is_some_and(|health| health.ok == 0) })
}

/// Whether the load may begin at our server, whose first requests may have failed.
fn fit_for_load(server: Option<&Server>, failed: Option<Failed>) -> Result<(), Early> {
    let gone = server.and_then(|server| server.ending).map(Ending::in_words);
    let what = match (gone, failed) {
        (Some(how), failed) => {
            let failed = failed.map_or_else(String::new, |failed| format!("; {}", failed.what));
            format!("the server {how} before the load began{failed}")
        }
        (None, Some(Failed { what, unhealthy: true })) if server.is_some() => {
            format!("the server is no longer healthy before the load began; {what}")
        }
        _ => return Ok(()),
    };
    Err(Error::could_not(what, "see its log in the bundle").into())
}

/// The targets that have a part in serving, with their sources; sources stand in the order of the
/// targets.
fn serving<'a>(plan: &'a Plan, sources: &'a [u32]) -> impl Iterator<Item = (u32, &'a Target)> {
    let all = sources.iter().copied().zip(&plan.targets);
    all.filter(|(_, target)| target.serves)
}

/// Records the processes of our server, and has it read what they run on and are configured by.
fn identify_server(run: &mut Run<'_>, errand: &Errand, engine: Option<&EngineIdentity>) {
    let members = run.trees().of(Tree::Server);
    let server = members
        .iter()
        .filter(|member| member.serves())
        .max_by_key(|member| member.stat.id.start_ticks)
        .or_else(|| members.last());
    let Some(server) = server else { return };
    let (pid, t) = (server.stat.id.pid, run.now());
    for member in &members {
        run.identify(member, "change", t);
    }
    // Workers map the GPU's libraries; the front end may not.
    let worker = members.iter().max_by_key(|member| member.stat.rss_pages).unwrap_or(server);
    let worker = worker.stat.id.pid;
    run.aside.begin("what the server runs on", move || vec![versions(pid, worker, t).into()]);
    let argv = server.argv.clone().unwrap_or_default();
    let with_model = errand.model_files && engine.is_some();
    let shelf = run.shelf.clone();
    run.aside.begin("the server's model and configuration", move || {
        server_files(pid, &argv, with_model, &shelf, t)
    });
}

/// Versions of what a server's process and its largest worker run on.
fn versions(pid: u32, worker: u32, t: u64) -> Versions {
    let procs = Procfs::default();
    let mut found = versions::of_process(&procs, pid, "server", None, t);
    if worker != pid {
        let more = versions::of_process(&procs, worker, "server", None, t);
        found.libraries = more.libraries.or(found.libraries);
        found.packages = found.packages.or(more.packages);
    }
    found
}

/// The files that a server's arguments name.
fn server_files(pid: u32, argv: &[Vec<u8>], model: bool, shelf: &Shelf, t: u64) -> Vec<Record> {
    let cwd = Procfs::default().link(pid, "cwd").unwrap_or_default();
    let mut out = Vec::new();
    let cache = files::model_cache(|name| std::env::var_os(name));
    if model && let Some(folder) = files::model_folder(argv, &cwd, cache.as_deref()) {
        files::model(shelf, t, None, &folder, &mut out);
    }
    for path in files::named_in(argv, &cwd) {
        let item = Item { path: &path, what: "config", keep: Keep::Beginning, size_before: None };
        shelf.put(t, None, item, &mut out);
    }
    out
}
