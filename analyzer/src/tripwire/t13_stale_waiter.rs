use super::Check;
use crate::evidence::{Missing, Restarted, Run, Source, ns};
use crate::finding::{Status, Verdict};
use crate::number::{plural, seconds};
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
    /// Identity is a ladder, and the rung reached is recorded: the process that listens, in the tree
    /// that was started or elsewhere on the host; the container that its socket was made in; a start
    /// time in the metrics; what the server says of itself; nothing. With process or container it is a
    /// failure when another than the one that was started answered, when it began before that, or when
    /// it changed during a load point. With a start time in the metrics these are warnings, because
    /// such times can be another's. A server that was not started by the run passes when nobody else
    /// came in its place. In a saved process table, a port that another process listens on than the
    /// server of this log is a failure.
    ///
    /// # What to do
    /// Stop the process that holds the port, by pid, and start again.
    ///
    /// # When it cannot tell
    /// A lower rung; a launcher (docker, srun, ssh, kubectl…) that starts the server elsewhere; a
    /// process that listens only to pass connections on; several servers at one address. The message
    /// says which rung was reached.
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
    thresholds {
        /// Seconds by which a server's start time may seem to lie before ours without being so: the
        /// kernel gives the time of its boot in whole seconds (`btime` of `/proc/stat`), to which
        /// process start times are added.
        START_S = 2.0;
    }
}

fn check(run: &Run) -> Result<Verdict, Missing> {
    if run.table.is_some() {
        return on_table(run);
    }
    let judged = (0..).zip(&run.sources).filter_map(|(index, source)| server(run, index, source));
    let rank = |judged: &Result<Verdict, Missing>| {
        judged.as_ref().map_or(Status::Unknown, |verdict| verdict.status).rank()
    };
    // Of several servers the worst counts.
    judged.max_by_key(rank).unwrap_or_else(|| Err(Missing::never("no server was identified")))
}

/// One server. `None`: nobody looked who answers at this source.
fn server(run: &Run, index: usize, source: &Source) -> Option<Result<Verdict, Missing>> {
    let begun: Vec<&Epoch> = source.epochs.iter().filter(|epoch| epoch.edge == "begin").collect();
    let first = *begun.first()?;
    if let Some(how) = several(run, index, source) {
        return Some(unsure(first, &format!("several servers answer at one address: {how}")));
    }
    let later = begun.get(1..).unwrap_or_default();
    if let Some(other) = later.iter().find(|epoch| is_during_a_point(run, epoch)) {
        return Some(changed(source, other));
    }
    let ours = || run.processes.iter().filter(|process| process.tree == "server");
    let Some(root) = ours().min_by_key(|process| process.start_ticks) else {
        return Some(attached(first, later.len()));
    };
    let foreign = begun.iter().find(|epoch| epoch.rung != "tree");
    Some(match foreign {
        Some(epoch) => not_in_tree(run, epoch, root),
        None => Ok(Verdict::pass(format!("{}, in the tree that was started", named(first)))
            .with("rung", first.rung.clone())),
    })
}

/// What shows that several servers answer at one address.
fn several(run: &Run, index: usize, source: &Source) -> Option<String> {
    if source.epochs.iter().any(|epoch| fact(epoch, "shared").is_some()) {
        return Some("several processes listen on its port".into());
    }
    run.points.iter().find_map(|point| match Restarted::between(source, *point.edges.get(index)?) {
        Restarted::Several(how) => Some(how),
        _ => None,
    })
}

fn is_during_a_point(run: &Run, epoch: &Epoch) -> bool {
    let t = ns(epoch.t);
    run.points.iter().any(|point| point.command.is_none_or(|(from, to)| t > from && t <= to))
}

/// Another server answered during a load point; the surer of both rungs tells how sure that is.
fn changed(source: &Source, new: &Epoch) -> Result<Verdict, Missing> {
    let ended = source.epochs.iter().rfind(|epoch| epoch.edge == "end" && epoch.t <= new.t);
    let both = [ended.unwrap_or(new), new];
    let why = new.why.clone().unwrap_or_else(|| named(new));
    let message = format!("the server changed during a load point: {why}");
    let rung = |of: fn(&str) -> bool| both.iter().map(|e| e.rung.as_str()).find(|rung| of(rung));
    if let Some(rung) = rung(is_sure) {
        return Ok(Verdict::fail(message).with("rung", rung));
    }
    match rung(|rung| rung == "metric") {
        Some(rung) => Ok(Verdict::warn(message).with("rung", rung)),
        None => unsure(new, &message),
    }
}

/// A server that answered although it is not in the tree that was started, of which `root` is the
/// oldest process.
fn not_in_tree(run: &Run, epoch: &Epoch, root: &Process) -> Result<Verdict, Missing> {
    let ticks = fact(epoch, "start_ticks").and_then(|ticks| ticks.parse::<u64>().ok());
    if is_sure(&epoch.rung) && ticks.is_some_and(|ticks| ticks < root.start_ticks) {
        return Ok(Verdict::fail(format!(
            "{}, which was there before the server that was started",
            named(epoch)
        ))
        .with("rung", epoch.rung.clone()));
    }
    let launcher = run
        .processes
        .iter()
        .filter(|process| process.tree == "server")
        .find_map(|process| engine::launcher_of(&words(process)));
    let stamp = ["process_start_time_seconds", "_created"].iter().find_map(|key| fact(epoch, key));
    let stamp = stamp.and_then(|stamp| stamp.parse::<f64>().ok());
    let started = run.wall_ns.map(|wall| (wall.saturating_add(root.t)) as f64 / 1e9);
    if epoch.rung == "metric"
        && let (Some(stamp), Some(started)) = (stamp, started)
        && stamp + START_S < started
    {
        return Ok(Verdict::warn(format!(
            "by the start time in its metrics the server that answered was there {} before the one \
             that was started",
            seconds(((started - stamp) * 1e9) as i64, 0)
        ))
        .with("rung", "metric"));
    }
    match launcher {
        Some(launcher) => unsure(epoch, &format!("{launcher} starts the server elsewhere")),
        None if is_sure(&epoch.rung) => {
            let message = format!("{}, which is not in the tree that was started", named(epoch));
            Ok(Verdict::fail(message).with("rung", epoch.rung.clone()))
        }
        None => unsure(epoch, "nobody in the tree that was started is seen to listen"),
    }
}

/// A server that was there.
fn attached(first: &Epoch, later: usize) -> Result<Verdict, Missing> {
    let mut message = match first.rung.as_str() {
        rung if is_sure(rung) => format!("{}, and nobody else during the load", named(first)),
        "metric" => "the start time in the metrics stayed the same during the load".into(),
        _ => return unsure(first, "the server was not started here"),
    };
    if later > 0 {
        let times = plural(later as f64, "time");
        message.push_str(&format!("; before or after it was replaced {times}"));
    }
    Ok(Verdict::pass(message).with("rung", first.rung.clone()))
}

/// Rungs on which identity is sure.
fn is_sure(rung: &str) -> bool {
    matches!(rung, "tree" | "pid" | "cgroup")
}

fn unsure(epoch: &Epoch, why: &str) -> Result<Verdict, Missing> {
    let by = match epoch.rung.as_str() {
        "tree" | "pid" => "its process",
        "cgroup" => "its container",
        "metric" => "a start time in its metrics only",
        "info" => "what it says of itself only",
        _ => "nothing",
    };
    let behind = fact(epoch, "forwarder")
        .map_or_else(String::new, |name| format!("; {name} listens there and passes on"));
    let rung = &epoch.rung;
    Err(Missing::lack(format!("{why}; who answered is known by {by} (rung {rung:?}){behind}")))
}

fn fact(epoch: &Epoch, key: &str) -> Option<String> {
    epoch.identity.as_ref()?.get(key).map(|text| text.lossy().into_owned())
}

fn named(epoch: &Epoch) -> String {
    let title = fact(epoch, "title").map_or_else(String::new, |title| format!(" ({title})"));
    match (fact(epoch, "pid"), fact(epoch, "container").or_else(|| fact(epoch, "cgroup"))) {
        (Some(pid), _) => format!("process {pid}{title} answered"),
        (None, Some(id)) => format!("container {} answered", id.get(..12).unwrap_or(&id)),
        (None, None) => "another server answered".into(),
    }
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
        && let Some(port) = port(own).or_else(|| default_port(own))
        && let Some(listener) = listener(port)
    {
        if listener.pid == own.pid {
            return Ok(Verdict::pass(format!("process {} listens on port {port}", own.pid)));
        }
        if is_below(run, listener, own.pid) {
            return Ok(Verdict::pass(format!(
                "process {}, below {}, listens on port {port}",
                listener.pid, own.pid
            )));
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

/// Whether `pid` is an ancestor of the process, by the table.
fn is_below(run: &Run, process: &Process, pid: u32) -> bool {
    let mut at = process.ppid;
    // A forged table may name a loop.
    for _ in 0..64 {
        let Some(parent) = at.filter(|parent| *parent != pid) else { break };
        at = run.processes.iter().find(|process| process.pid == parent).and_then(|p| p.ppid);
    }
    at == Some(pid)
}

/// Where a server listens that is told no port.
fn default_port(process: &Process) -> Option<u16> {
    engine::of_argv(&words(process))?.default_ports.first().copied()
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
            name: "another listens where a server listens that is told no port",
            evidence: "
== log
(APIServer pid=100) INFO 08-19 11:58:01 [utils.py:233] non-default args: {'model_tag': '/models/m'}
(EngineCore pid=150) INFO 08-19 11:58:09 [core.py:118] Initializing a V1 LLM engine (v0.27.1) with config: model='/models/m'
== processes
# ps -eo pid,ppid,args
 77 1 /opt/other/bin/server
 100 1 /opt/venv/bin/python /opt/venv/bin/vllm serve /models/m
# ss -ltnp
LISTEN 0 512 0.0.0.0:8000 0.0.0.0:* users:((\"server\",pid=77,fd=3))
",
            status: Status::Fail,
            says: &["port 8000 belongs to another process (77 /opt/other/bin/server)"],
        },
        Case {
            name: "a child of this server listens",
            evidence: "
== log
(APIServer_0 pid=120) INFO 08-19 11:58:01 [utils.py:233] non-default args: {'model_tag': '/models/m', 'api_server_count': 2}
(EngineCore_DP0 pid=150) INFO 08-19 11:58:09 [core.py:118] Initializing a V1 LLM engine (v0.27.1) with config: model='/models/m'
== processes
# ps -eo pid,ppid,args
 100 1 /opt/venv/bin/python /opt/venv/bin/vllm serve /models/m --port 8000 --api-server-count 2
 120 100 VLLM::APIServer_0
# ss -ltnp
LISTEN 0 512 0.0.0.0:8000 0.0.0.0:* users:((\"VLLM::APIServer\",pid=120,fd=3))
",
            status: Status::Pass,
            says: &["process 120, below 100, listens on port 8000"],
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
== tree 17 5000 vllm serve m
== before
vllm:num_requests_running 0
== epoch 0 begin tree pid=17 start_ticks=5000 title=vllm
== after
",
            status: Status::Pass,
            says: &["process 17 (vllm) answered, in the tree that was started"],
        },
        Case {
            name: "another process than one of the tree",
            evidence: "
== tree 17 5000 vllm serve m
== before
vllm:num_requests_running 0
== epoch 0 begin pid pid=9 start_ticks=6000
== after
",
            status: Status::Fail,
            says: &["process 9 answered, which is not in the tree that was started"],
        },
        Case {
            name: "a process that was there before the launcher",
            evidence: "
== tree 17 5000 docker run vllm/vllm-openai
== before
vllm:num_requests_running 0
== epoch 0 begin pid pid=9 start_ticks=4000
== after
",
            status: Status::Fail,
            says: &["process 9 answered, which was there before"],
        },
        Case {
            name: "a launcher that starts it elsewhere",
            evidence: "
== tree 17 5000 sh -c docker run vllm/vllm-openai
== before
vllm:num_requests_running 0
== epoch 0 begin pid pid=9 start_ticks=6000
== after
",
            status: Status::Unknown,
            says: &["docker starts the server elsewhere", "its process (rung \"pid\")"],
        },
        Case {
            name: "a container that is none of the tree's",
            evidence: "
== tree 17 5000 vllm serve m
== before
vllm:num_requests_running 0
== epoch 0 begin cgroup container=0123456789abcdef0123456789abcdef
== after
",
            status: Status::Fail,
            says: &["container 0123456789ab answered, which is not in the tree"],
        },
        Case {
            name: "replaced during the load",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin tree pid=17
== 1
== 5
== epoch 3 end tree pid=17
== epoch 3 begin tree pid=18
== after
",
            status: Status::Fail,
            says: &["changed during a load point: process 18"],
        },
        Case {
            name: "replaced by one of which less is known",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin pid pid=17
== 1
== 5
== epoch 3 end pid pid=17
== epoch 3 begin none
== after
",
            status: Status::Fail,
            says: &["changed during a load point"],
        },
        Case {
            name: "replaced before the load",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin pid pid=17
== epoch 0.5 end pid pid=17
== epoch 0.5 begin pid pid=18
== 1
== 5
== after
",
            status: Status::Pass,
            says: &["process 17 answered", "replaced 1 time"],
        },
        Case {
            name: "another container during the load",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin cgroup container=a
== 1
== 5
== epoch 3 end cgroup container=a
== epoch 3 begin cgroup container=b
== after
",
            status: Status::Fail,
            says: &["container b"],
        },
        Case {
            name: "a start time that moved during the load",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin metric process_start_time_seconds=1700000000
== 1
== 5
== epoch 3 end metric process_start_time_seconds=1700000000
== epoch 3 begin metric process_start_time_seconds=1700000100
== after
",
            status: Status::Warn,
            says: &["changed during a load point"],
        },
        Case {
            name: "a start time before ours",
            evidence: "
== clock 1700000100
== tree 17 5000 docker run vllm/vllm-openai
== before
vllm:num_requests_running 0
== epoch 0 begin metric process_start_time_seconds=1700000000
== after
",
            status: Status::Warn,
            says: &["was there 100 s before the one that was started"],
        },
        Case {
            name: "a start time after ours, behind a launcher",
            evidence: "
== clock 1700000100
== tree 17 5000 docker run vllm/vllm-openai
== before
vllm:num_requests_running 0
== epoch 0 begin metric process_start_time_seconds=1700000105 forwarder=docker-proxy
== after
",
            status: Status::Unknown,
            says: &["docker starts", "(rung \"metric\")", "docker-proxy listens there"],
        },
        Case {
            name: "attached, and one start time",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin metric process_start_time_seconds=1700000000
== after
",
            status: Status::Pass,
            says: &["the start time in the metrics stayed the same"],
        },
        Case {
            name: "attached, and one process",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin pid pid=17 title=vllm
== after
",
            status: Status::Pass,
            says: &["process 17 (vllm) answered, and nobody else"],
        },
        Case {
            name: "another version during the load, and nothing surer",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin info version=1
== 1
== 5
== epoch 3 end info version=1
== epoch 3 begin info version=2
== after
",
            status: Status::Unknown,
            says: &["changed during a load point", "what it says of itself only (rung \"info\")"],
        },
        Case {
            name: "what it says only",
            evidence: "
== before
vllm:num_requests_running 0
== epoch 0 begin info version=1
== after
",
            status: Status::Unknown,
            says: &["rung \"info\""],
        },
        Case {
            name: "no rung reached",
            evidence: "== before\nvllm:num_requests_running 0\n== epoch 0 begin none\n== after\n",
            status: Status::Unknown,
            says: &["rung \"none\""],
        },
        Case {
            name: "several processes at one port",
            evidence: "
== tree 17 5000 vllm serve m
== before
vllm:num_requests_running 0
== epoch 0 begin none shared=true
== after
",
            status: Status::Unknown,
            says: &["several processes listen on its port", "rung \"none\""],
        },
        Case {
            name: "start times that alternate",
            evidence: "
== before
process_start_time_seconds 1000
== epoch 0 begin metric process_start_time_seconds=1000
== 1
process_start_time_seconds 1500
== 2
process_start_time_seconds 1000
== after
",
            status: Status::Unknown,
            says: &["several servers answer at one address", "rung \"metric\""],
        },
        Case {
            name: "nobody looked",
            evidence: "== before\nvllm:num_requests_running 0\n== after\n",
            status: Status::NotApplicable,
            says: &["no server was identified"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "this server listens",
        find: "pid=4200,fd=3",
        replace: "pid=4300,fd=3))\n# ps -eo pid,ppid,args\n 4300  1 nginx\n# ss -ltnp\nLISTEN 0 1 127.0.0.1:8080 0.0.0.0:* users:((\"nginx\",pid=4300,fd=3",
        becomes: Status::Fail,
    };
}
