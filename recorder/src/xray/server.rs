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
use inferlint_schema::engine::{EngineIdentity, launcher_of};
use inferlint_schema::record::{Record, Versions};
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
    let clock = run.session.clock;
    let (mut crashed, mut unhealthy) = (None, false);
    let sources: Vec<u32> = metrics.iter().map(|(metrics, _)| metrics.src()).collect();
    for (src, target) in serving(plan, &sources) {
        let pages = server_info::ask(client, &target.url, engine, src, clock);
        let pages = run.until(pages).await?;
        let model = server_info::first_model(&pages);
        for page in pages {
            run.session.sink.account(page);
        }
        if !errand.probe {
            continue;
        }
        let Some(model) = model else {
            let why = "no model is listed at /v1/models, so nothing could be asked".to_owned();
            run.session.sink.account(files::gap(run.now(), Some(src), "unreadable", why));
            continue;
        };
        let edge = user_edge(run);
        let _ = run.session.begin(edge, "probe", []);
        let probes = probe::first_requests(client, &target.url, engine, &model, src, clock);
        let probes = run.until(probes).await?;
        let edge = user_edge(run);
        let _ = run.session.end(edge, "probe");
        if let Some(failed) = probes.iter().find(|probe| probe.ok < probe.asked) {
            let why = failed.error.clone().unwrap_or_default();
            let what = format!(
                "{} of {} first requests failed: {why}",
                failed.asked - failed.ok,
                failed.asked
            );
            run.voice.warn(&format!("{what}\n  help: see the server's log in the bundle"));
            crashed = Some(what);
            unhealthy |= probes.last().is_some_and(|health| health.ok == 0);
        }
        for probe in probes {
            run.session.sink.account(probe);
        }
    }
    identify_server(run, errand, engine);
    run.errands(aside::PATIENCE).await?;
    run.look();
    let gone = run.server.as_ref().and_then(|server| server.ending).map(Ending::in_words);
    match (gone, crashed) {
        (Some(how), what) => {
            let what = what.map_or_else(String::new, |what| format!("; {what}"));
            let what = format!("the server {how} before the load began{what}");
            Err(Error::could_not(what, "see its log in the bundle").into())
        }
        (None, Some(what)) if unhealthy && run.server.is_some() => {
            let what = format!("the server is no longer healthy before the load began; {what}");
            Err(Error::could_not(what, "see its log in the bundle").into())
        }
        _ => Ok(()),
    }
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
