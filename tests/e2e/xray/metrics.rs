//! Metrics that are missing or misbehave.

use super::{Bench, PATIENCE, Standing, is_open, port, text};
use inferlint_schema::record::Record;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn metrics_that_misbehave_are_written_down_and_the_load_runs_to_its_end() {
    let cases = [
        ("hang", "scrape"),
        ("endless", "too_large"),
        ("reset", "scrape"),
        ("gzip", "scrape"),
        ("redirect", "scrape"),
        ("key", "scrape"),
    ];
    thread::scope(|scope| {
        for lane in cases.chunks(3) {
            scope.spawn(move || {
                for (name, what) in lane {
                    misbehaved(name, what);
                }
            });
        }
    });
}

fn misbehaved(name: &'static str, what: &str) {
    let folder = Bench::new();
    let url = misbehaving(name);
    let load = folder.script("load.sh", "sleep 0.5; exit 5");
    let begun = Instant::now();
    let output = folder.run(&["--interval", "100ms", "--url", &url, "--", &load]);
    assert_eq!(output.status.code(), Some(5), "{name}: {}", text(&output.stderr));
    assert!(begun.elapsed() < PATIENCE, "{name}");
    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean());
    let found = bundle.gaps().iter().any(|gap| gap.what == what);
    assert!(found, "{name}: {:?}", bundle.gaps());
}

/// A server whose metrics are no use.
fn misbehaving(how: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || misbehave(stream, how));
        }
    });
    url
}

fn misbehave(mut stream: TcpStream, how: &str) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    loop {
        let Some(Ok(request)) = lines.next() else { return };
        while lines.next().and_then(Result::ok).is_some_and(|header| !header.is_empty()) {}
        let (head, body): (&str, &[u8]) = match how {
            _ if !request.starts_with("GET /metrics ") => ("404 Not Found", b""),
            "hang" => {
                thread::sleep(Duration::from_hours(1));
                return;
            }
            "endless" => {
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n";
                let mut sent = stream.write_all(head);
                while sent.is_ok() {
                    sent = stream.write_all(&b"a 1\n".repeat(4_096));
                }
                return;
            }
            "reset" => return,
            "slow" => {
                thread::sleep(Duration::from_secs(3));
                ("200 OK", b"vllm:num_requests_running 1\n")
            }
            "gzip" => ("200 OK\r\nContent-Encoding: gzip", b"\x1f\x8b"),
            "redirect" => ("302 Found\r\nLocation: http://127.0.0.1:1/", b""),
            _ => ("401 Unauthorized", b""),
        };
        let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
        if stream.write_all(&[head.as_bytes(), body].concat()).is_err() {
            return;
        }
    }
}

#[test]
fn metrics_that_take_three_seconds_are_read_and_what_was_missed_meanwhile_is_said() {
    let folder = Bench::new();
    let url = misbehaving("slow");
    let load = folder.script("load.sh", "sleep 4; exit 5");
    let output = folder.run(&["--interval", "100ms", "--url", &url, "--", &load]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean());
    let took = bundle.of(|record| match record {
        Record::Scrape(scrape) if scrape.status == Some(200) => Some(scrape.dur_ns),
        _ => None,
    });
    assert!(took.iter().any(|took| *took >= 3_000_000_000), "{took:?}");
    let missed: u64 =
        bundle.gaps().iter().filter(|gap| gap.what == "missed").map(|gap| gap.count).sum();
    assert!(missed >= 20, "{:?}", bundle.gaps());
}

/// A server whose metrics are switched off, as its own flags leave it, and what must be said.
struct Unmetered {
    /// Name under which the simulator is called.
    program: &'static str,
    arguments: &'static str,
    setting: &'static [&'static str],
}

const UNMETERED: [Unmetered; 2] = [
    Unmetered { program: "sglang", arguments: "serve", setting: &["sglang with --enable-metrics"] },
    Unmetered {
        program: "trtllm-serve",
        arguments: "serve model",
        setting: &["return_perf_metrics: true", "enable_iter_perf_stats: true", "--config"],
    },
];

impl Unmetered {
    fn folder(&self) -> Bench {
        let folder = Bench::new();
        let sim = inferlint_tests::binary("inferlint-sim").unwrap();
        symlink(sim, folder.path("bin").join(self.program)).unwrap();
        folder
    }
}

#[test]
fn missing_metrics_of_our_own_server_stop_the_run_before_the_load() {
    for server in &UNMETERED {
        let (folder, port) = (server.folder(), port());
        let Unmetered { program, arguments, setting } = server;
        let command = format!("{program} {arguments} --port {port} --boot-s 0.2");
        let output = folder.run(&["--serve", &command, "--", "touch", "loaded"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{program}: {said}");
        let help = said.split_once("help: ").unwrap().1;
        for word in *setting {
            assert!(help.contains(word), "{program}: {word} in {said}");
        }
        assert!(!folder.path("loaded").exists(), "{program}: the load must not run");
        assert!(!is_open(port), "{program}: the server is gone");
        assert_eq!(folder.left(), ["run.ilb"], "{program}");
        let bundle = folder.bundle();
        assert!(bundle.salvage.is_clean(), "{program}");
        assert_eq!(bundle.salvage.segments[0].end.as_ref().unwrap().how, "failed");
        let log = ["stdout", "stderr"].map(|stream| bundle.log("server", stream)).concat();
        assert!(log.contains("Application startup complete"), "{program}: {log}");
        let stops = bundle.stops();
        assert!(stops.iter().all(|stop| stop.chosen && stop.gone == Some(true)), "{stops:?}");
        assert!(!stops.is_empty());
    }
}

#[test]
fn missing_metrics_of_another_server_are_a_warning_unless_they_are_required() {
    for server in &UNMETERED {
        let folder = server.folder();
        let Unmetered { program, arguments, setting } = server;
        let standing = Standing::of(&folder, program, arguments);
        let load = folder.script("load.sh", "touch loaded; exit 6");
        for (more, status) in [(&["--require", "metrics"][..], 125), (&[], 6)] {
            let args = [&["--force", "--url", &standing.url], more, &["--", &load]].concat();
            let output = folder.run(&args);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(status), "{program}: {said}");
            let kind = if status == 125 { "error: " } else { "warning: source " };
            assert!(said.contains(kind), "{program}: {said}");
            for word in *setting {
                assert!(said.contains(word), "{program}: {word} in {said}");
            }
            assert_eq!(folder.path("loaded").exists(), status == 6, "{program}");
            assert!(folder.bundle().salvage.is_clean(), "{program}");
        }
        let sources = folder.bundle().of(|record| match record {
            Record::Source(source) => source.why.clone(),
            _ => None,
        });
        assert!(sources.iter().any(|why| why.contains_key("metrics")), "{program}: {sources:?}");
    }
}
