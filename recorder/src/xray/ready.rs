//! Waiting until the server of ours can serve, and saying why it cannot.

use super::{Early, broken, note, user_edge};
use crate::child::Ending;
use crate::collect::process::Tree;
use crate::errand::Serve;
use crate::error::Error;
use crate::http::Client;
use crate::plan::Plan;
use crate::probe;
use crate::procfs::Procfs;
use crate::run::{Run, Server};
use crate::signals::Stop;
use crate::sockets;
use inferlint_schema::engine::{self, EngineIdentity};
use reqwest::Url;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Time between two looks at whether the server is ready.
const LOOK: Duration = Duration::from_millis(250);
/// Without its ready line a server that answers is taken for ready after this.
const WITHOUT_LINE: Duration = Duration::from_secs(10);

/// Waits until the server can serve. Gives the address where it was found, if not where expected.
pub(super) async fn until_ready(
    run: &mut Run<'_>,
    plan: &Plan,
    serve: &Serve,
    client: &Client,
) -> Result<Option<Url>, Early> {
    let expected = plan.targets.iter().find(|target| target.serves).map(|t| t.url.clone());
    let Some(mut base) = expected.clone() else { return Err(broken().into()) };
    let deadline = Instant::now() + serve.ready_timeout;
    let mut answered: Option<Instant> = None;
    let mut silent_since: Option<Instant> = None;
    loop {
        run.look();
        run.follow();
        tell_engine(run);
        let Some(server) = &run.server else { return Err(broken().into()) };
        if server.ending.is_some() {
            return Err(did_not_start(server).into());
        }
        let (engine, says_ready) = (server.engine, server.says_ready);
        let line_required = engine.is_some_and(|engine| engine.ready_line_required);
        let answers = run.until(is_up(client, &base, serve, engine)).await?;
        answered = if answers { answered.or_else(|| Some(Instant::now())) } else { None };
        let ready_by = match answered {
            Some(_) if serve.ready_url.is_some() => Some("url"),
            Some(_) if says_ready => Some("line"),
            Some(since) if !line_required && since.elapsed() >= WITHOUT_LINE => Some("health"),
            _ => None,
        };
        if let Some(ready_by) = ready_by {
            note(run, "ready_by", ready_by);
            let edge = user_edge(run);
            let _ = run.session.end(edge, "start");
            let says = match ready_by {
                "line" => "its log says so",
                "url" => "--ready-url answers",
                _ => "it answers",
            };
            run.voice.say(&format!("the server is ready ({says})"));
            return Ok((Some(&base) != expected.as_ref()).then_some(base));
        }
        if answered.is_none() && serve.ready_url.is_none() {
            if !serve.address_given {
                base = find_port(run, client, &base, engine).await?.unwrap_or(base);
            } else if says_ready {
                let since = *silent_since.get_or_insert_with(Instant::now);
                if since.elapsed() >= WITHOUT_LINE {
                    return Err(not_there(&base, &tree_ports(run)).into());
                }
            }
        }
        if Instant::now() >= deadline {
            let ports = tree_ports(run);
            return Err(too_late(&base, serve, answered.is_some(), &ports).into());
        }
        run.until(sleep(LOOK)).await?;
    }
}

async fn is_up(
    client: &Client,
    base: &Url,
    serve: &Serve,
    engine: Option<&EngineIdentity>,
) -> bool {
    match &serve.ready_url {
        Some(url) => probe::says_ok(client, url).await,
        None => probe::answers(client, base, engine).await,
    }
}

/// The engine behind a script shows in the arguments of what it starts.
fn tell_engine(run: &mut Run<'_>) {
    if run.server.as_ref().is_some_and(|server| server.engine.is_none()) {
        let members = run.trees().of(Tree::Server);
        let found = members.iter().find_map(|member| engine_of(member.argv.as_ref()?));
        if let Some(server) = &mut run.server {
            server.engine = found;
        }
    }
}

/// The engine whose server a process's arguments start.
pub(super) fn engine_of(argv: &[Vec<u8>]) -> Option<&'static EngineIdentity> {
    let words: Vec<&str> =
        argv.iter().map(|word| std::str::from_utf8(word).unwrap_or_default()).collect();
    engine::of_argv(&words)
}

/// A server that is there already would be taken for ours, and ours could not listen.
pub(super) async fn nobody_there(
    run: &mut Run<'_>,
    plan: &Plan,
    client: &Client,
) -> Result<(), Early> {
    for target in plan.targets.iter().filter(|target| target.serves) {
        if run.until(probe::says_anything(client, &target.url)).await? {
            let what = format!("something answers at {} already", target.address());
            let help = "stop it, or record it with --url and without --serve";
            return Err(Error::could_not(what, help).into());
        }
    }
    Ok(())
}

/// Ports that our server's processes listen on.
fn tree_ports(run: &Run<'_>) -> BTreeSet<u16> {
    let procs = Procfs::default();
    let pids = run.trees().of(Tree::Server).into_iter().map(|member| member.stat.id.pid);
    pids.filter_map(|pid| sockets::ports(&procs, pid)).flatten().collect()
}

fn list(ports: &BTreeSet<u16>) -> String {
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    let word = if ports.len() == 1 { "port" } else { "ports" };
    if ports.is_empty() { "no port".to_owned() } else { format!("{word} {}", ports.join(", ")) }
}

/// The address with a port of the server's own that answers, where none was given.
async fn find_port(
    run: &mut Run<'_>,
    client: &Client,
    base: &Url,
    engine: Option<&EngineIdentity>,
) -> Result<Option<Url>, Stop> {
    for port in tree_ports(run) {
        let mut url = base.clone();
        // Refused only for URLs without a host.
        let _ = url.set_port(Some(port));
        if run.until(probe::answers(client, &url, engine)).await? {
            return Ok(Some(url));
        }
    }
    Ok(None)
}

fn did_not_start(server: &Server) -> Error {
    let how = server.ending.map_or_else(String::new, Ending::in_words);
    let lines: Vec<&str> = server.last_lines.iter().map(String::as_str).collect();
    let said = if lines.is_empty() {
        "it wrote nothing".to_owned()
    } else {
        format!("its last lines:\n    {}", lines.join("\n    "))
    };
    Error::could_not(
        format!("the server {how} before it was ready; {said}"),
        "correct the serve command; its whole log is in the bundle",
    )
}

fn not_there(base: &Url, ports: &BTreeSet<u16>) -> Error {
    let (address, ports) = (crate::plan::address(base), list(ports));
    Error::could_not(
        format!(
            "nothing answers at {address}: the server says it is ready, and listens on {ports}"
        ),
        "name the server's own address with --url",
    )
}

fn too_late(base: &Url, serve: &Serve, answers: bool, ports: &BTreeSet<u16>) -> Error {
    let waited = serve.ready_timeout.as_secs_f64();
    let address = crate::plan::address(serve.ready_url.as_ref().unwrap_or(base));
    let what = if answers {
        format!("the server answers at {address}, but did not say that it is ready in {waited} s")
    } else {
        let ports = list(ports);
        format!("the server did not become ready at {address} in {waited} s, it listens on {ports}")
    };
    Error::could_not(what, "give it more time with --ready-timeout, or its address with --url")
}
