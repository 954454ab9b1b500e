//! Ctrl-C, SIGTERM, SIGHUP and a second Ctrl-C at every step of a run.

use super::{
    Bench, Standing, copy, exists, port, signal, text, wait_for, wait_for_of, with_argument,
};
use inferlint_schema::record::Record;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Signals sent one after the other, and the status that the first one makes.
const SIGNALS: [(&[&str], i32); 4] =
    [(&["INT"], 130), (&["TERM"], 143), (&["HUP"], 129), (&["INT", "INT"], 130)];
/// `xray`s at once in one test.
const LANES: usize = 3;

/// What speaks for a server whose process, a `sleep` that `xray` starts, says nothing: a listener of
/// ours that answers from that process's beginning on.
struct Puppet {
    asked: Arc<Mutex<Vec<String>>>,
}

/// How a puppet behaves.
#[derive(Clone, Copy)]
struct Manner {
    /// Requests that begin like this are never answered, after so many.
    hangs: (&'static str, usize),
    /// Its counters move whenever they are read.
    busy: bool,
}

impl Puppet {
    fn start(port: u16, begun: PathBuf, manner: Manner) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let puppet = Self { asked: Arc::clone(&asked) };
        thread::spawn(move || {
            while !begun.exists() {
                // The run has ended before it got this far.
                if !begun.parent().is_some_and(Path::exists) {
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
            let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
            for stream in listener.incoming().flatten() {
                let asked = Arc::clone(&asked);
                thread::spawn(move || answer(stream, &asked, manner));
            }
        });
        puppet
    }

    /// Requests so far that begin like this.
    fn count(&self, like: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|line| line.starts_with(like)).count()
    }
}

fn answer(mut stream: TcpStream, asked: &Mutex<Vec<String>>, manner: Manner) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    loop {
        let Some(Ok(request)) = lines.next() else { return };
        while lines.next().and_then(Result::ok).is_some_and(|header| !header.is_empty()) {}
        let count = {
            let mut asked = asked.lock().unwrap();
            asked.push(request.clone());
            asked.iter().filter(|line| line.starts_with(manner.hangs.0)).count()
        };
        if request.starts_with(manner.hangs.0) && count > manner.hangs.1 {
            // Until the other side has had enough.
            let _ = lines.next();
            return;
        }
        let tokens = if manner.busy { asked.lock().unwrap().len() } else { 0 };
        let (status, body) = match request.split(' ').nth(1).unwrap_or_default() {
            "/health" => ("200 OK", String::new()),
            "/v1/models" => ("200 OK", r#"{"data":[{"id":"m"}]}"#.to_owned()),
            "/metrics" => ("200 OK", format!("vllm:generation_tokens_total {tokens}\n")),
            "/v1/completions" => ("200 OK", "{}".to_owned()),
            _ => ("404 Not Found", String::new()),
        };
        // The body of a request is not read, so nothing can come behind it.
        let last = request.starts_with("POST ");
        let close = if last { "Connection: close\r\n" } else { "" };
        let length = body.len();
        let answer = format!("HTTP/1.1 {status}\r\n{close}Content-Length: {length}\r\n\r\n{body}");
        if stream.write_all(answer.as_bytes()).is_err() || last {
            return;
        }
    }
}

/// A step of a run, and what keeps a run in it.
#[derive(Clone, Copy)]
struct Step {
    name: &'static str,
    /// The server's process, for `sh -c`; `SLEEP` stays until it is signalled.
    server: &'static str,
    manner: Manner,
    load: &'static str,
    options: &'static [&'static str],
    /// The run is there.
    reached: fn(&Bench, &Puppet) -> bool,
}

const ORDERLY: Manner = Manner { hangs: ("-", 0), busy: false };

/// What a step is where it says nothing else.
const STEP: Step = Step {
    name: "",
    server: "touch begun; exec SLEEP",
    manner: ORDERLY,
    load: "touch loading; exec SLEEP",
    options: &["--grace", "1s"],
    reached: |_, _| false,
};

const STEPS: &[Step] = &[
    Step {
        name: "start",
        server: "touch booting; exec SLEEP",
        reached: |folder, _| exists(folder, "booting"),
        ..STEP
    },
    Step {
        name: "ready",
        manner: Manner { hangs: ("GET /health ", 0), ..ORDERLY },
        reached: |_, puppet| puppet.count("GET /health ") > 0,
        ..STEP
    },
    Step {
        name: "discovery",
        manner: Manner { hangs: ("GET /metrics ", 0), ..ORDERLY },
        reached: |_, puppet| puppet.count("GET /metrics ") > 0,
        ..STEP
    },
    Step {
        name: "probe",
        manner: Manner { hangs: ("POST ", 0), ..ORDERLY },
        reached: |_, puppet| puppet.count("POST ") > 0,
        ..STEP
    },
    Step {
        name: "probe, eight at once",
        manner: Manner { hangs: ("POST ", 3), ..ORDERLY },
        reached: |_, puppet| puppet.count("POST ") > 3,
        ..STEP
    },
    Step { name: "load", reached: |folder, _| exists(folder, "loading"), ..STEP },
    Step {
        // The load goes at once, the last readings do not come.
        name: "load, the metrics hang",
        manner: Manner { hangs: ("GET /metrics ", 8), ..ORDERLY },
        reached: |folder, puppet| exists(folder, "loading") && puppet.count("GET /metrics ") > 8,
        ..STEP
    },
    Step {
        name: "load, deaf, the metrics hang",
        manner: Manner { hangs: ("GET /metrics ", 8), ..ORDERLY },
        load: "trap '' INT TERM; touch loading; exec SLEEP",
        reached: |folder, puppet| exists(folder, "loading") && puppet.count("GET /metrics ") > 8,
        ..STEP
    },
    Step {
        name: "drain",
        manner: Manner { busy: true, ..ORDERLY },
        load: "touch loading; sleep 0.3",
        // Nobody but the recorder has the load among its arguments any more.
        reached: |folder, _| exists(folder, "loading") && with_argument_of(folder).len() == 1,
        ..STEP
    },
    Step {
        name: "stop",
        server: "trap '' TERM; touch begun; exec SLEEP",
        load: "true",
        options: &["--grace", "10m"],
        reached: |folder, _| exists(folder, "run.ilb"),
        ..STEP
    },
    Step {
        name: "stop by a command",
        load: "true",
        options: &["--grace", "10m", "--stop", "touch stopping; exec SLEEP"],
        reached: |folder, _| exists(folder, "stopping"),
        ..STEP
    },
];

/// Processes that run this folder's load script.
fn with_argument_of(folder: &Bench) -> Vec<u32> {
    with_argument(folder.path("load.sh").to_str().unwrap())
}

#[test]
fn a_signal_at_any_step_seals_the_bundle_and_stops_the_server() {
    let cases: Vec<_> =
        STEPS.iter().flat_map(|step| SIGNALS.iter().map(move |sent| (step, sent))).collect();
    let (next, times) = (Mutex::new(cases.into_iter()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let case = next.lock().unwrap().next();
                    let Some((step, (signals, status))) = case else { return };
                    let sealed = interrupted(step, signals, *status);
                    times.lock().unwrap().push((sealed, step.name, signals));
                }
            });
        }
    });
    let mut times = times.into_inner().unwrap();
    times.sort_unstable();
    println!("longest times from the signal to the sealed bundle:");
    for (sealed, step, signals) in times.iter().rev().take(8) {
        println!("  {sealed:?} {step} {signals:?}");
    }
    assert!(times.len() == STEPS.len() * SIGNALS.len());
}

/// One run that is interrupted; gives the time from the first signal to the sealed bundle.
fn interrupted(step: &Step, signals: &[&str], status: i32) -> Duration {
    let what = format!("{}, {signals:?}", step.name);
    let folder = Bench::new();
    let port = port();
    let url = format!("http://127.0.0.1:{port}");
    // Nobody else's argument.
    let nap = format!("27{port}");
    let sleeping = |command: &str| command.replace("SLEEP", &format!("sleep {nap}"));
    let puppet = Puppet::start(port, folder.path("begun"), step.manner);
    let load = folder.script("load.sh", &sleeping(step.load));
    let mut command = folder.xray(&["--interval", "50ms", "--url", &url]);
    command.args(["--ready-url", &format!("{url}/health"), "--serve", &sleeping(step.server)]);
    command.args(step.options.iter().map(|option| sleeping(option))).args(["--", &load]);
    // Not in the foreground of whatever terminal the test runs in: its keys are not ours.
    let child = command.process_group(0).spawn().unwrap();
    let reached = || (step.reached)(&folder, &puppet).then_some(());
    let (child, ()) = wait_for_of(child, reached);
    thread::sleep(Duration::from_millis(100));
    let sent = Instant::now();
    for name in signals {
        // Two that come at once are one to the system.
        signal(child.id(), name);
        thread::sleep(Duration::from_millis(200));
    }
    let (child, ()) = wait_for_of(child, || exists(&folder, "run.ilb").then_some(()));
    let sealed = sent.elapsed().saturating_sub(Duration::from_millis(200));
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{what}: {said}");
    assert_eq!(folder.left(), ["run.ilb"], "{what}: {said}");
    assert_eq!(with_argument(&nap), [] as [u32; 0], "{what}: all is stopped");
    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean(), "{what}: {:?}", bundle.salvage);
    let stops = bundle.stops();
    assert!(stops.iter().any(|stop| stop.chosen), "{what}: {stops:?}");
    assert!(stops.iter().all(|stop| !stop.chosen || stop.gone == Some(true)), "{what}: {stops:?}");
    let how = bundle.salvage.segments[0].end.as_ref().unwrap().how.clone();
    let after_the_seal = ["stop", "stop by a command"].contains(&step.name);
    let expected = match status {
        // A run that drains may come to its end before the signal comes.
        _ if after_the_seal || (how == "finished" && step.name == "drain") => "finished",
        130 => "interrupted",
        143 => "terminated",
        _ => "hangup",
    };
    assert_eq!(how, expected, "{what}");
    sealed
}

#[test]
fn a_simulated_server_is_stopped_by_a_signal_at_any_step() {
    for (step, load, signals, status) in [
        ("start", "", &["INT"][..], 130),
        ("load", "touch loading; exec SLEEP", &["HUP"], 129),
        ("load", "trap 'exit 4' TERM; touch loading; while :; do sleep 0.1; done", &["TERM"], 143),
        ("load", "trap '' INT TERM; touch loading; sleep 3; SLEEP", &["INT", "INT"], 130),
    ] {
        simulated(step, load, signals, status);
    }
}

fn simulated(step: &str, load: &str, signals: &[&str], status: i32) {
    let folder = Bench::new();
    // The recorder has it only as a part of an argument.
    let port = port().to_string();
    let nap = format!("29{port}");
    let load = folder.script("load.sh", &load.replace("SLEEP", &format!("sleep {nap}")));
    let boot_s = if step == "start" { "3000" } else { "0.2" };
    let server = format!("vllm serve --port {port} --boot-s {boot_s}");
    let mut command = folder.xray(&["--grace", "1s", "--serve", &server, "--", &load]);
    let child = command.process_group(0).spawn().unwrap();
    let reached = || match step {
        "load" => exists(&folder, "loading"),
        _ => !with_argument(&port).is_empty(),
    };
    let (child, ()) = wait_for_of(child, || reached().then_some(()));
    let sent = Instant::now();
    for name in signals {
        signal(child.id(), name);
        thread::sleep(Duration::from_millis(300));
    }
    let (child, ()) = wait_for_of(child, || exists(&folder, "run.ilb").then_some(()));
    let sealed = sent.elapsed();
    println!("{step} {signals:?}: sealed after {sealed:?}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{step}: {}", text(&output.stderr));
    assert!(with_argument(&port).is_empty(), "{step}: the server is gone");
    assert!(with_argument(&nap).is_empty(), "{step}: the load is gone");
    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean(), "{:?}", bundle.salvage);
    let stops = bundle.stops();
    assert!(stops.iter().any(|stop| stop.chosen), "{stops:?}");
    assert!(stops.iter().all(|stop| !stop.chosen || stop.gone == Some(true)), "{stops:?}");
    assert_eq!(folder.left(), ["run.ilb"]);
}

#[test]
fn a_load_hears_of_a_signal_once_and_has_its_time() {
    for (signals, status) in SIGNALS.iter().take(3) {
        let folder = Bench::new();
        let standing = Standing::start(&folder);
        let name = signals[0];
        let load = folder.script(
            "load.sh",
            &format!(
                "trap 'echo told something else >> got; exit 9' TERM\n\
                 trap 'echo told >> got; sleep 2; echo done >> got; exit 4' {name}\n\
                 touch loading; while :; do sleep 0.05; done"
            ),
        );
        let mut command = folder.xray(&["--grace", "10m", "--url", &standing.url, "--", &load]);
        let child = command.process_group(0).spawn().unwrap();
        let (child, ()) = wait_for_of(child, || exists(&folder, "loading").then_some(()));
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(*status), "{}", text(&output.stderr));
        assert_eq!(fs::read_to_string(folder.path("got")).unwrap(), "told\ndone\n", "{name}");
        let bundle = folder.bundle();
        let exits = bundle.exits("load");
        let said = text(&output.stderr);
        assert_eq!(exits.first().and_then(|exit| exit.status), Some(4), "{name}: {said}");
    }
}

#[test]
fn a_signal_while_a_large_data_set_is_read_is_heard_before_its_end() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    // All of it is read for its digest, for seconds; a hole takes no room on the disk.
    fs::File::create(folder.path("big.json")).unwrap().set_len(2 << 30).unwrap();
    let load = ["vllm", "bench", "serve", "--dataset-name", "sharegpt"];
    let mut command = folder.xray(&["--quiet", "--url", &standing.url, "--"]);
    let child = command.args(load).args(["--dataset-path", "big.json"]).spawn().unwrap();
    let pid = child.id();
    let data = folder.path("big.json");
    let (child, ()) = wait_for_of(child, || opened(pid, &data).then_some(()));
    let sent = Instant::now();
    signal(pid, "TERM");
    let output = child.wait_with_output().unwrap();
    println!("sealed and ended after {:?}", sent.elapsed());
    assert_eq!(output.status.code(), Some(143), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean());
    let read = |record: &Record| matches!(record, Record::File(_)).then_some(());
    assert!(bundle.of(read).is_empty(), "it was read to its end first");
}

/// Whether a process has this file open.
fn opened(pid: u32, path: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| link == path)
}

#[test]
fn a_signal_while_the_bundle_is_judged_ends_the_judging() {
    for (signals, status) in &SIGNALS {
        let folder = Bench::new();
        let standing = Standing::start(&folder);
        // The analyzer is looked for beside the recorder first.
        let recorder = folder.path("inferlint-record");
        copy(&inferlint_tests::binary("inferlint-record").unwrap(), &recorder);
        let nap = format!("28{}", port());
        let deaf = if signals.len() > 1 { "trap '' INT; " } else { "" };
        folder.script("inferlint-analyze", &format!("{deaf}touch judging; exec sleep {nap}"));
        let mut command = folder.bare(recorder.to_str().unwrap());
        command.args(["xray", "-o", "run.ilb", "--url", &standing.url, "--", "true"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let (child, ()) = wait_for_of(child, || exists(&folder, "judging").then_some(()));
        let pid = child.id();
        signal(pid, signals[0]);
        for name in signals.iter().skip(1) {
            // Two that come at once are one to the system.
            wait_for(|| {
                signal(pid, name);
                has_ended(pid).then_some(())
            });
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(*status), "{}", text(&output.stderr));
        assert_eq!(with_argument(&nap), [] as [u32; 0], "{signals:?}");
        assert!(folder.bundle().salvage.is_clean());
    }
}

#[test]
fn a_reader_that_does_not_read_does_not_outlast_ctrl_c() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    // More than a pipe holds; nobody reads ours until the end.
    let load = folder.script("load.sh", "head -c 300000 /dev/zero; touch done");
    let child = folder.xray(&["--quiet", "--url", &standing.url, "--", &load]).spawn().unwrap();
    let (child, ()) = wait_for_of(child, || exists(&folder, "run.ilb").then_some(()));
    signal(child.id(), "INT");
    // Reading only now, the pipe was full all the time.
    let pid = child.id();
    wait_for(|| has_ended(pid).then_some(()));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert_eq!(folder.left(), ["run.ilb"]);
}

/// Whether a child of ours has ended; it is waited for elsewhere.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z'))
}
