use super::Check;
use crate::evidence::{Missing, Restarted, Run};
use crate::finding::Verdict;
use inferlint_schema::engine;
use inferlint_schema::record::{Epoch, Process, Text};

tripwire! {
    /// # What it checks
    /// Whether the server that answered is the one this run means.
    ///
    /// # Why it matters
    /// A server left from before holds the port; the new one waits for it, or listens elsewhere, and
    /// the benchmark measures the old one: another model, other flags, a warm cache.
    ///
    /// # How it decides
    /// Identity is a ladder, and the rung reached is recorded: the listener's pid and start time in
    /// the tree that was started; its cgroup or container; a start time in the metrics; what the
    /// server says of itself; nothing. On the first two, another process or one that changed during a
    /// load point is a failure. On the third it is a warning. In a saved process table, a port that
    /// another process listens on than the server of this log is a failure.
    ///
    /// # What to do
    /// Stop the process that holds the port, by pid, and start again.
    ///
    /// # When it cannot tell
    /// A lower rung, a launcher that starts the server elsewhere, or several servers at one address.
    ///
    /// # References
    /// - Seen with llama.cpp, whose second server on a port waits without an error (public report)
    T13_STALE_WAITER {
        code: "T13",
        slug: "stale-waiter",
        since: "0.1.0",
        summary: "another server than the one that was started answered",
        needs: ["epoch", "process"],
        explained_by: ["T2"],
        check: Check::Run(check),
    }
}

fn check(run: &Run) -> Result<Verdict, Missing> {
    if run.table.is_some() {
        return on_table(run);
    }
    let epochs: Vec<&Epoch> = run.sources.iter().flat_map(|source| &source.epochs).collect();
    let begun: Vec<&Epoch> = epochs.iter().copied().filter(|epoch| epoch.edge == "begin").collect();
    let Some(first) = begun.first() else {
        return Err(Missing::never("no server was started, and none was identified"));
    };
    for point in &run.points {
        for (source, edges) in run.sources.iter().zip(&point.edges) {
            if let Restarted::Several(how) = Restarted::between(source, *edges) {
                return Err(Missing::lack(format!("several servers answer at one address: {how}")));
            }
        }
        let Some((from, to)) = point.command else { continue };
        let inside = |epoch: &&Epoch| (epoch.t as i64) > from && (epoch.t as i64) <= to;
        if let Some(other) = begun.iter().copied().find(inside) {
            return Ok(changed(other));
        }
    }
    let foreign = begun.iter().find(|epoch| sure(&epoch.rung) && !is_ours(run, epoch));
    if let Some(epoch) = foreign {
        return Ok(Verdict::fail(format!(
            "{} answered, which is not in the tree that was started",
            named(epoch)
        ))
        .with("rung", epoch.rung.clone()));
    }
    match first.rung.as_str() {
        rung if sure(rung) => {
            Ok(Verdict::pass(format!("{} answered, the server that was started", named(first)))
                .with("rung", rung))
        }
        "metric" => {
            Ok(Verdict::pass("the start time in the metrics stayed the same")
                .with("rung", "metric"))
        }
        rung => Err(Missing::lack(format!(
            "who answered is known by {} only (rung {rung:?})",
            if rung == "info" { "what it says of itself" } else { "nothing" }
        ))),
    }
}

/// Rungs on which identity is sure.
fn sure(rung: &str) -> bool {
    matches!(rung, "tree" | "pid" | "cgroup")
}

fn named(epoch: &Epoch) -> String {
    let part = |key: &str| epoch.identity.as_ref()?.get(key).map(|text| text.lossy().into_owned());
    match (part("pid"), part("cgroup").or_else(|| part("container"))) {
        (Some(pid), _) => format!("process {pid}"),
        (None, Some(group)) => format!("container {group}"),
        (None, None) => "a process".into(),
    }
}

/// Whether the process is one of the tree that the recorder started. What was not recorded speaks
/// against nobody.
fn is_ours(run: &Run, epoch: &Epoch) -> bool {
    let pid = epoch.identity.as_ref().and_then(|identity| identity.get("pid"));
    let Some(pid) = pid.and_then(|text| text.lossy().parse::<u32>().ok()) else { return true };
    let mut servers = run.processes.iter().filter(|process| process.tree == "server").peekable();
    servers.peek().is_none() || servers.any(|process| process.pid == pid)
}

fn changed(epoch: &Epoch) -> Verdict {
    let why = epoch.why.clone().unwrap_or_else(|| named(epoch));
    let message = format!("the server changed during a load point: {why}");
    let verdict = if sure(&epoch.rung) { Verdict::fail(message) } else { Verdict::warn(message) };
    verdict.with("rung", epoch.rung.clone())
}

fn on_table(run: &Run) -> Result<Verdict, Missing> {
    let facts = run.logs.first().map(|log| &log.server.facts);
    let model = facts.and_then(|facts| facts.model.as_ref()).map(|model| model.value.as_str());
    let is_server = |process: &&Process| engine::of_argv(&words(process)).is_some();
    let servers: Vec<&Process> = run.processes.iter().filter(is_server).collect();
    let own: Vec<&&Process> =
        servers.iter().filter(|p| model.is_some_and(|model| words(p).contains(&model))).collect();
    let listener = |port: u16| {
        run.processes.iter().find(|p| p.ports.as_ref().is_some_and(|ports| ports.contains(&port)))
    };
    if let [own] = own.as_slice()
        && let Some(port) = port(own)
        && let Some(listener) = listener(port)
    {
        if listener.pid == own.pid {
            return Ok(Verdict::pass(format!("process {} listens on port {port}", own.pid)));
        }
        return Ok(Verdict::fail(format!(
            "port {port} belongs to another process ({} {}), not to this server ({}): requests go \
             to the other",
            listener.pid,
            words(listener).first().unwrap_or(&"?"),
            own.pid
        ))
        .with("listener_pid", listener.pid)
        .with("server_pid", own.pid));
    }
    for (i, first) in servers.iter().enumerate() {
        let same = |other: &&&Process| port(other).is_some() && port(other) == port(first);
        if let Some(second) = servers.iter().skip(i + 1).find(same) {
            return Err(Missing::lack(format!(
                "processes {} and {} were both told to listen on port {}: one of them waits",
                first.pid,
                second.pid,
                port(first).unwrap_or_default()
            )));
        }
    }
    Err(Missing::never("the process table does not show who listens on the server's port"))
}

/// The port in a server's arguments.
fn port(process: &Process) -> Option<u16> {
    let argv = words(process);
    let at = argv.iter().position(|word| *word == "--port" || word.starts_with("--port="))?;
    match argv.get(at)?.split_once('=') {
        Some((_, port)) => port.parse().ok(),
        None => argv.get(at + 1)?.parse().ok(),
    }
}

fn words(process: &Process) -> Vec<&str> {
    let argv = process.argv.iter().flatten().map(Text::as_bytes);
    argv.map(|word| std::str::from_utf8(word).unwrap_or_default()).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "another server holds the port",
            evidence: "
== log
srv    load_model: loading model '/models/b.gguf'
main: server is listening on http://127.0.0.1:8080 - starting the main loop
== processes
# ps -eo pid,ppid,args
 4100  4000 llama-server --model /models/a.gguf --port 8080
 4200  4001 llama-server --model /models/b.gguf --port 8080
# ss -ltnp
LISTEN 0 512 127.0.0.1:8080 0.0.0.0:* users:((\"llama\",pid=4100,fd=3))
",
            status: Status::Fail,
            says: &["port 8080 belongs to another process (4100 llama-server)"],
        },
        Case {
            name: "this server listens",
            evidence: "
== log
srv    load_model: loading model '/models/b.gguf'
main: server is listening on http://127.0.0.1:8080 - starting the main loop
== processes
# ps -eo pid,ppid,args
 4200  4001 llama-server --model /models/b.gguf --port 8080
# ss -ltnp
LISTEN 0 512 127.0.0.1:8080 0.0.0.0:* users:((\"llama\",pid=4200,fd=3))
",
            status: Status::Pass,
            says: &["process 4200 listens on port 8080"],
        },
        Case {
            name: "two on one port and nothing tells which listens",
            evidence: "
== processes
# ps -eo pid,ppid,args
 4100  4000 vllm serve /a --port 8000
 4200  4001 vllm serve /b --port=8000
",
            status: Status::Unknown,
            says: &["4100 and 4200", "port 8000"],
        },
        Case {
            name: "the tree that was started",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin tree 17
== after
",
            status: Status::Pass,
            says: &["process 17 answered"],
        },
        Case {
            name: "replaced during the load",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin tree 17
== 1
== 5
== epoch 3 begin tree 18
== after
",
            status: Status::Fail,
            says: &["changed during a load point: process 18"],
        },
        Case {
            name: "no rung reached",
            evidence: "== before\nvllm:num_requests_running 0\n== epoch 0 begin none\n== after\n",
            status: Status::Unknown,
            says: &["rung \"none\""],
        },
        Case {
            name: "attached",
            evidence: "== before\nvllm:num_requests_running 0\n== after\n",
            status: Status::NotApplicable,
            says: &["no server was started"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "this server listens",
        find: "pid=4200,fd=3",
        replace: "pid=4300,fd=3))\n# ps -eo pid,ppid,args\n 4300  1 nginx\n# ss -ltnp\nLISTEN 0 1 127.0.0.1:8080 0.0.0.0:* users:((\"nginx\",pid=4300,fd=3",
        becomes: Status::Fail,
    };
}
