//! `inferlint-record xray` around simulated servers and loads that behave, and others that do not.
//!
//! The load is sacred: most of these tests run it once bare and once recorded, and compare.

mod identity;
mod inheritance;
mod metrics;
mod signals;
mod stop;
mod terminal;
mod undisturbed;

use inferlint_schema::container::{Item, Salvage, read};
use inferlint_schema::limits::Limits;
use inferlint_schema::record::{Decoded, Exit, Gap, Phase, Probe, Record, Stop, Text};
use std::collections::BTreeMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long to wait for something that comes soon on a machine with time to spare.
const PATIENCE: Duration = Duration::from_mins(1);

/// A folder with `vllm` on the path, which is the simulator.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        let sim = inferlint_tests::binary("inferlint-sim").unwrap();
        symlink(sim, folder.path().join("bin/vllm")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn script(&self, name: &str, text: &str) -> String {
        let path = self.path(name).to_str().unwrap().to_owned();
        let source = self.path(&format!("{name}.source"));
        fs::write(&source, format!("#!/bin/sh\n{text}\n")).unwrap();
        copy(&source, &path);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
        path
    }

    fn bare(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap();
        let bin = self.path("bin");
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["INFERLINT_MARKS", "INFERLINT_ENGINE", "SLURM_JOB_ID"] {
            command.env_remove(name);
        }
        command
    }

    /// `xray` without the analyzer's last word.
    fn xray(&self, args: &[&str]) -> Command {
        let recorder = inferlint_tests::binary("inferlint-record").unwrap();
        let mut command = self.bare(recorder.to_str().unwrap());
        command.args(["xray", "-o", "run.ilb", "--no-analyze"]).args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.xray(args).output().unwrap()
    }

    fn bundle(&self) -> Bundle {
        Bundle::read(&self.path("run.ilb"))
    }

    /// What a run left in the folder, besides what the test made.
    fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("run."))
            .collect();
        names.sort();
        names
    }
}

/// Copies a file that is to be run, in a process of its own: while ours has it open for writing, a
/// process that another test starts has it open too, and the kernel runs no such file (ETXTBSY).
fn copy(from: &Path, to: impl AsRef<Path>) {
    assert!(Command::new("cp").arg(from).arg(to.as_ref()).status().unwrap().success());
}

/// A port nobody listens on, and nobody else is given: below those that the system hands out for
/// connections and for port 0 (from 32768 on, `ip_local_port_range`), each once.
pub(super) fn port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    loop {
        // Test programs that run at the same time begin at different places.
        let next = std::process::id() * 16 + GIVEN.fetch_add(1, Ordering::Relaxed);
        let port = 16_000 + (next % 16_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn is_open(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn serve(port: u16, more: &str) -> String {
    format!("vllm serve --port {port} --boot-s 0.2 {more}")
}

/// A load of so many requests at once that the simulator's client sends.
fn bench(port: u16, concurrency: u32, more: &str) -> String {
    format!(
        "vllm bench serve --port {port} --random-input-len 64 --random-output-len 24 \
         --num-prompts {} --max-concurrency {concurrency} --ignore-eos --disable-tqdm {more}",
        concurrency * 6
    )
}

/// A server that was there before.
struct Standing {
    child: Child,
    url: String,
}

impl Standing {
    fn start(bench: &Bench) -> Self {
        Self::of(bench, "vllm", "serve")
    }

    /// `program` is a name of the simulator's.
    fn of(bench: &Bench, program: &str, arguments: &str) -> Self {
        let ready = bench.path("ready");
        let mut command = bench.bare(program);
        command.args(arguments.split_ascii_whitespace());
        command.args(["--port", "0", "--boot-s", "0.1", "--ready-file"]).arg(&ready);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let address = wait_for(|| fs::read_to_string(&ready).ok().filter(|text| !text.is_empty()));
        Self { child, url: format!("http://{}", address.trim()) }
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        // Its engine processes follow its death.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

pub(super) fn wait_for<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "it never came");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Waits as [`wait_for`] does for what `child` brings about; says its last words if it ends before.
fn wait_for_of<T>(mut child: Child, mut found: impl FnMut() -> Option<T>) -> (Child, T) {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return (child, found);
        }
        if child.try_wait().unwrap().is_some() || Instant::now() > end {
            let _ = child.kill();
            panic!("it never came: {}", text(&child.wait_with_output().unwrap().stderr));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Processes that have `word` among their arguments.
fn with_argument(word: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |pid: &u32| {
        let argv = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        argv.split(|byte| *byte == 0).any(|arg| arg == word.as_bytes())
    };
    pids.filter(has).collect()
}

fn exists(folder: &Bench, name: &str) -> bool {
    folder.path(name).exists()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

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

    fn of<'a, T>(&'a self, pick: impl Fn(&'a Record) -> Option<T>) -> Vec<T> {
        self.records.iter().filter_map(pick).collect()
    }

    fn exits(&self, what: &str) -> Vec<&Exit> {
        self.of(|record| match record {
            Record::Exit(exit) if exit.what == what => Some(exit),
            _ => None,
        })
    }

    fn gaps(&self) -> Vec<&Gap> {
        self.of(|record| if let Record::Gap(gap) = record { Some(gap) } else { None })
    }

    fn stops(&self) -> Vec<&Stop> {
        self.of(|record| if let Record::Stop(stop) = record { Some(stop) } else { None })
    }

    fn probes(&self) -> Vec<&Probe> {
        self.of(|record| if let Record::Probe(probe) = record { Some(probe) } else { None })
    }

    /// Phases as they began, each with its begin and end.
    fn phases(&self) -> Vec<(&Phase, u64, u64)> {
        let edges =
            self.of(|record| if let Record::Phase(phase) = record { Some(phase) } else { None });
        let end = |id: u32| edges.iter().find(|p| p.id == id && p.edge == "end").map(|p| p.t);
        let begun = edges.iter().filter(|phase| phase.edge == "begin");
        begun.map(|phase| (*phase, phase.t, end(phase.id).unwrap_or(u64::MAX))).collect()
    }

    /// Names of the load points: phases of kind load with none of that kind inside.
    fn points(&self) -> Vec<String> {
        let phases = self.phases();
        let is_load = |phase: &Phase| phase.kind.as_deref() == Some("load");
        let inside = |id: u32| phases.iter().any(|(p, ..)| is_load(p) && p.parent == Some(id));
        let points = phases.iter().filter(|(phase, ..)| is_load(phase) && !inside(phase.id));
        points.map(|(phase, ..)| phase.name.clone().unwrap()).collect()
    }

    /// What was recorded of a log source's stream.
    fn log(&self, source: &str, stream: &str) -> String {
        let src = self.of(|record| match record {
            Record::Source(found) if found.name == source => Some(found.src),
            _ => None,
        });
        let parts = self.of(|record| match record {
            Record::Log(log) if src.contains(&log.src) && log.stream == stream => {
                Some(text(&log.body))
            }
            _ => None,
        });
        parts.concat()
    }

    fn files(&self, what: &str) -> BTreeMap<String, String> {
        let found = self.of(|record| match record {
            Record::File(file) if file.what == what => {
                let body = file.body.as_ref().map(|body| text(body)).unwrap_or_default();
                Some((file.name.lossy().into_owned(), body))
            }
            _ => None,
        });
        found.into_iter().collect()
    }
}

#[test]
fn a_run_goes_from_nothing_to_a_sealed_bundle_and_leaves_nothing_else() {
    let folder = Bench::new();
    let port = port();
    let server = serve(port, "--max-num-seqs 64 --block-size 128 --num-gpu-blocks-override 60");
    let load = format!(
        "vllm bench serve --port {port} --random-input-len 600 --random-output-len 120 \
         --num-prompts 48 --max-concurrency 32 --ignore-eos --disable-tqdm --api-key swordfish7"
    );
    // The client does not know the option, the shell that stands for it drops it.
    let known = load.replace(" --api-key swordfish7", "");
    let client = folder.script("client", &format!("exec {known} \"$@\""));
    let args = ["--interval", "100ms", "--requested", "32", "--note", "key=swordfish7"];
    let mut command = folder.xray(&args);
    command.args(["--serve", &server, "--", &client]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(folder.left(), ["run.ilb"]);
    assert!(!is_open(port), "the server is gone");

    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean(), "{:?}", bundle.salvage);
    assert_eq!(bundle.salvage.segments.len(), 2, "what the stop showed comes after the seal");
    assert_eq!(bundle.points(), ["c=32"]);
    let phases = bundle.phases();
    let names: Vec<_> = phases.iter().map(|(phase, ..)| phase.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["start", "probe", "load", "c=32", "drain"]);
    let probes: Vec<_> =
        bundle.probes().iter().map(|probe| (probe.what.clone(), probe.asked, probe.ok)).collect();
    for expected in [("request", 1, 1), ("burst", 8, 8), ("health", 1, 1)] {
        assert!(probes.contains(&(expected.0.to_owned(), expected.1, expected.2)), "{probes:?}");
    }
    assert!(bundle.probes().iter().all(|probe| probe.t < phases[2].1), "probes before the load");
    assert_eq!(bundle.exits("load")[0].status, Some(0));
    assert!(bundle.log("server", "stderr").contains("Application startup complete."));
    assert!(bundle.log("load", "stdout").contains("Successful requests:"));
    assert_eq!(text(&output.stdout), bundle.log("load", "stdout"));
    let stops = bundle.stops();
    assert!(
        stops.len() >= 2 && stops.iter().all(|s| s.chosen && s.gone == Some(true)),
        "{stops:?}"
    );
    // A machine without time to spare misses a reading now and then.
    assert!(bundle.gaps().iter().all(|gap| gap.what == "missed"), "{:?}", bundle.gaps());
    // Each process of the server is known by pid and start time, and has series. At first sight a
    // worker may still be called as the process that started it.
    let workers = bundle.of(|record| match record {
        Record::Process(p) if p.tree == "server" && p.edge != "end" => p.title.clone(),
        _ => None,
    });
    assert!(workers.contains(&Text::from("VLLM::EngineCor")), "{workers:?}");
}

#[test]
fn a_result_is_asked_for_recorded_and_not_left() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let port = standing.url.rsplit(':').next().unwrap().parse().unwrap();
    let line = bench(port, 4, "");
    let load: Vec<&str> = line.split_ascii_whitespace().collect();
    let mut args = vec!["--url", &standing.url, "--interval", "100ms", "--"];
    args.extend(&load);
    let output = folder.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(folder.left(), ["run.ilb"]);
    let bundle = folder.bundle();
    let results = bundle.files("result");
    assert_eq!(results.len(), 1);
    assert!(results.values().all(|body| body.contains("\"completed\":24")), "{results:?}");
    let argv = bundle.exits("load")[0].argv.clone().unwrap();
    assert!(argv.contains(&Text::from("--save-result")), "{argv:?}");
    assert!(!argv.iter().any(|word| word.lossy().contains("detail")), "no prompts, no texts");
    assert!(bundle.probes().iter().all(|probe| probe.what != "request"), "not ours: no probe");
    assert_eq!(bundle.points(), ["c=4"]);
    assert!(bundle.stops().is_empty());
    assert!(is_open(port), "a server that we did not start stays");
}

#[test]
fn a_ladder_has_one_point_for_each_load_tool_below_the_script() {
    let folder = Bench::new();
    let port = port();
    let steps: Vec<String> = [4, 16, 32, 4]
        .iter()
        .enumerate()
        .map(|(n, c)| bench(port, *c, &format!("--save-result --result-filename b{n}.json")))
        .collect();
    let ladder = folder.script("ladder.sh", &format!("{}\nexit 7", steps.join(" || exit 9\n")));
    let output = folder.run(&["--interval", "50ms", "--serve", &serve(port, ""), "--", &ladder]);
    assert_eq!(output.status.code(), Some(7), "the load's own: {}", text(&output.stderr));
    let bundle = folder.bundle();
    assert_eq!(bundle.points(), ["c=4", "c=16", "c=32", "c=4#2"]);
    assert_eq!(bundle.files("result").len(), 4);
    assert_eq!(bundle.files("script").len(), 1);
    assert_eq!(bundle.exits("child").len(), 4);
    let phases = bundle.phases();
    let points: Vec<_> =
        phases.iter().filter(|(p, ..)| p.params.is_some() && p.from == "argv").collect();
    assert!(points.windows(2).all(|two| two[0].2 < two[1].1), "points follow each other");
    let load = phases.iter().find(|(p, ..)| Some(p.id) == points[0].0.parent).unwrap();
    assert!(load.1 <= points[0].1, "the first begins inside the load");
    let params = points[1].0.params.as_ref().unwrap();
    assert_eq!((&params["concurrency"], &params["num_prompts"]), (&"16".into(), &"96".into()));
    for (_, begin, end) in &points {
        let inside = |record: &&Record| {
            matches!(record, Record::Scrape(s) if s.full == Some(true) && s.status.is_some()
                && (*begin..=*end + 100_000_000).contains(&s.t))
        };
        assert!(bundle.records.iter().filter(inside).count() >= 2, "a keyframe at each edge");
    }
}

#[test]
fn a_ladder_that_saves_no_result_is_judged_by_the_tables_it_prints() {
    let folder = Bench::new();
    let port = port();
    // The first sends a test request before its clock starts, and says so only in its output.
    let steps = [bench(port, 4, "--ready-check-timeout-sec 60"), bench(port, 16, "")];
    // A Python client imports for seconds before it sends: there are readings between two of them.
    let ladder = format!("{} || exit 9\nsleep 2\n{}", steps[0], steps[1]);
    let ladder = folder.script("ladder.sh", &ladder);
    let output = folder.run(&["--interval", "50ms", "--serve", &serve(port, ""), "--", &ladder]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    assert_eq!(bundle.points(), ["c=4", "c=16"]);
    assert!(bundle.files("result").is_empty());

    let analyzer = inferlint_tests::binary("inferlint-analyze").unwrap();
    let judged = folder
        .bare(analyzer.to_str().unwrap())
        .args(["check", "--format", "json", "run.ilb"])
        .output()
        .unwrap();
    let judged: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
    let verdicts = judged["runs"][0]["verdicts"].as_array().unwrap();
    let printed = text(&output.stdout);
    for (point, completed, untimed) in [("c=4", 24, 1), ("c=16", 96, 0)] {
        let of = |code: &str| {
            let same =
                |v: &&serde_json::Value| v["tripwire"] == code && v["scope"]["point"] == point;
            verdicts.iter().find(same).unwrap()
        };
        assert_eq!(of("T39")["status"], "pass", "{point}");
        // What the readings show beside it depends on the machine's spare time.
        let verdict = of("T15");
        let sides = &verdict["evidence"];
        assert_eq!(sides["client_requests"], f64::from(completed), "{point} {verdict:#}");
        assert_eq!(sides["untimed_requests"], untimed, "{point} {verdict:#}");
        let message = of("T10")["message"].as_str().unwrap();
        assert!(!message.contains("no result"), "{point} {message}");
        let place = sides["client_result"].as_str().unwrap();
        let line = place.rsplit("load stdout, line ").next().unwrap().trim_end_matches(')');
        let line = printed.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
        assert!(line.contains("Serving Benchmark Result"), "{place}: {line}");
    }
}

#[test]
fn marks_make_points_of_a_tool_nobody_knows_and_outrank_one_that_is_known() {
    let folder = Bench::new();
    symlink(inferlint_tests::binary("inferlint-sim").unwrap(), folder.path("bin/other")).unwrap();
    let port = port();
    let step = |tool: &str, c: u32| {
        let line = bench(port, c, "").replacen("vllm bench serve", tool, 1);
        format!(
            "echo \"begin c={c} concurrency={c}\" >> $INFERLINT_MARKS; {line}; sleep 0.3\n\
             echo \"end c={c}\" >> $INFERLINT_MARKS; sleep 0.3"
        )
    };
    let ladder = format!("{}\n{}", step("other bench", 4), step("vllm bench serve", 8));
    let ladder = folder.script("marks.sh", &ladder);
    let output = folder.run(&["--interval", "50ms", "--serve", &serve(port, ""), "--", &ladder]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    assert_eq!(bundle.points(), ["c=4", "c=8"]);
    assert_eq!(folder.left(), ["run.ilb"], "the marks file was ours");
}

#[test]
fn a_server_left_in_the_background_is_the_server_and_is_stopped() {
    let folder = Bench::new();
    let port = port();
    let script = folder.script("start.sh", &format!("{} &", serve(port, "")));
    let load = folder.script("load.sh", &bench(port, 2, ""));
    let output = folder.run(&["--serve", &script, "--", &load]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!is_open(port));
    let bundle = folder.bundle();
    assert_eq!(bundle.exits("child")[0].status, Some(0), "the script");
    assert_eq!(bundle.exits("server").len(), 1);
    assert_ne!(bundle.exits("server")[0].pid, bundle.exits("child")[0].pid);
}

/// The page about a bundle.
fn page_of(bundle: &Path) -> String {
    let analyzer = inferlint_tests::binary("inferlint-analyze").unwrap();
    let report = Command::new(analyzer).arg("report").arg(bundle).args(["-o", "-"]).output();
    text(&report.unwrap().stdout)
}

#[test]
fn a_server_that_does_not_come_up_is_said_with_its_last_words() {
    let elsewhere = port();
    let given = format!("http://127.0.0.1:{}", port());
    let on_other_port = serve(elsewhere, "");
    // Nobody else's argument.
    let nap = format!("26{elsewhere}");
    let sleeps = format!("sleep {nap}");
    for (args, words) in [
        (vec!["--serve", "no-such-server --x"], &["status 127", "not found"][..]),
        (vec!["--serve", "echo loading; echo boom >&2; exit 3"], &["status 3", "loading", "boom"]),
        (vec!["--ready-timeout", "1s", "--serve", &sleeps], &["did not become ready", "in 1 s"]),
        (
            vec!["--ready-timeout", "2s", "--url", &given, "--serve", &on_other_port],
            &["did not become ready", "listens on port"],
        ),
        (vec!["--serve", &serve(port(), "--fail out-of-memory")], &["before it was ready"]),
        (vec!["--serve", &serve(port(), "--crash-on-request 3")], &["before the load", "requests"]),
    ] {
        let folder = Bench::new();
        let touched = folder.path("load-ran").to_str().unwrap().to_owned();
        let mut command = folder.xray(&args);
        let output = command.args(["--", "touch", &touched]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{args:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{args:?}: {word:?} in {said}");
        }
        assert!(said.contains("help: "), "{said}");
        assert!(!Path::new(&touched).exists(), "{args:?}: the load must not run");
        let bundle = folder.bundle();
        assert!(bundle.salvage.is_clean(), "{args:?}");
        let end = bundle.salvage.segments[0].end.as_ref().unwrap();
        assert_eq!(end.how, "failed");
        let why = end.error.as_ref().unwrap();
        assert!(said.contains(&format!("error: {why}")) && !why.contains('\n'), "{why} in {said}");
        let page = page_of(&folder.path("run.ilb"));
        assert!(page.contains("The recording broke off: ") && page.contains("no load began"));
        let log = "<span class=\"label\">log from the start</span><span><i aria-hidden=\"true\">●";
        let words = bundle.log("server", "stdout") + &bundle.log("server", "stderr");
        assert_eq!(page.contains(log), !words.is_empty(), "{args:?}");
        if said.contains("boom") {
            assert_eq!(bundle.log("server", "stderr"), "boom\n");
            assert_eq!(bundle.exits("server")[0].status, Some(3));
        }
    }
    assert_eq!(with_argument(&nap), [] as [u32; 0]);
}

#[test]
fn a_load_without_a_server_is_recorded_and_said_to_have_none() {
    let folder = Bench::new();
    let output = folder.run(&["--", "true"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("no server is recorded: --url"), "{said}");
    assert_eq!(folder.bundle().exits("load")[0].status, Some(0));
    let standing = Standing::start(&folder);
    let output = folder.run(&["--force", "--url", &standing.url, "--", "true"]);
    assert!(!text(&output.stderr).contains("no server is recorded"), "{}", text(&output.stderr));
}

#[test]
fn a_named_result_or_log_that_never_comes_and_a_page_in_the_way_are_said() {
    let folder = Bench::new();
    fs::write(folder.path("run.html"), "mine").unwrap();
    let log = folder.path("nope.log").to_str().unwrap().to_owned();
    let result = folder.path("nope.json").to_str().unwrap().to_owned();
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    let mut judged = folder.bare(recorder.to_str().unwrap());
    judged.args(["xray", "-o", "run.ilb", "--log", &log, "--result", &result, "--", "true"]);
    let said = text(&judged.output().unwrap().stderr);
    for line in [
        format!("warning: the log {log} never came\n  help: "),
        format!("warning: the load left no result in {result}\n  help: "),
    ] {
        assert!(said.contains(&line), "{line} in {said}");
    }
    assert!(said.contains("run.html exists, and is left as it is\n  help: "), "{said}");
    assert_eq!(fs::read_to_string(folder.path("run.html")).unwrap(), "mine");
    let gaps = folder.bundle().of(|record| match record {
        Record::Gap(gap) => Some(gap.why.clone()),
        _ => None,
    });
    assert!(gaps.iter().any(|why| why == "there was no such file"), "{gaps:?}");
}

#[test]
fn what_is_wrong_is_said_before_anything_is_started() {
    let folder = Bench::new();
    fs::write(folder.path("data"), "x").unwrap();
    let server = format!("touch {}; sleep 60", folder.path("started").display());
    for (args, status, words) in [
        (vec!["--serve", &server, "--", "no-such-load"], 127, "not found"),
        (vec!["--serve", &server, "--", "./data"], 126, "cannot be executed"),
        (vec!["--serve", &server, "--", "/tmp"], 126, "cannot be executed"),
        (vec!["--serve", &server], 125, "LOAD"),
        (vec!["--no-such-option", "--", "true"], 125, "no-such-option"),
        (vec!["--stop", "x", "--", "true"], 125, "--serve"),
        (vec!["--url", "nonsense", "--", "true"], 125, "no URL"),
    ] {
        let output = folder.run(&args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
        assert!(!folder.path("started").exists() && folder.left().is_empty(), "{args:?}");
    }
    // A server that is there already would be taken for the new one.
    let standing = Standing::start(&folder);
    let output = folder.run(&["--url", &standing.url, "--serve", &server, "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("already"), "{}", text(&output.stderr));
    assert!(!folder.path("started").exists());
}

#[test]
fn the_loads_status_is_passed_on() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    for (script, status) in [("exit 0", 0), ("exit 42", 42), ("kill -KILL $$", 137)] {
        let load = folder.script("load.sh", script);
        let output = folder.run(&["--force", "--url", &standing.url, "--", &load]);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
    }
    let exit = folder.bundle().exits("load")[0].clone();
    assert_eq!((exit.status, exit.signal), (None, Some(9)));
}

#[test]
fn a_bystander_with_the_same_words_lives() {
    let folder = Bench::new();
    let words = serve(port(), "");
    let mut bystander =
        Command::new("bash").args(["-c", &format!("exec -a '{words}' sleep 60")]).spawn().unwrap();
    let output = folder.run(&["--serve", &serve(port(), ""), "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(bystander.try_wait().unwrap().is_none());
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn logs_are_followed_by_name_and_what_was_there_has_no_time() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    fs::write(folder.path("server.log"), "old line\n").unwrap();
    let load = folder.script("load.sh", "echo new line >> server.log; sleep 0.3");
    let log = "server=server.log";
    let output = folder.run(&["--url", &standing.url, "--log", log, "--", &load]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    let lines = bundle.of(|record| match record {
        Record::Log(log) => Some((text(&log.body), log.how.clone())),
        _ => None,
    });
    let line = |text: &str, how: &str| (text.to_owned(), how.to_owned());
    assert_eq!(lines, [line("old line\n", "none"), line("new line\n", "tail")]);
}

#[test]
fn a_dry_run_starts_nothing() {
    let folder = Bench::new();
    let touch = format!("touch {}", folder.path("started").display());
    let output = folder.run(&["--dry-run", "--serve", &touch, "--", "echo", "a b"]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    for word in ["start    touch", "run      echo 'a b'", "1 request, then 8"] {
        assert!(said.contains(word), "{said}");
    }
    assert!(!folder.path("started").exists() && folder.left().is_empty());
}

#[test]
fn secrets_of_the_commands_are_masked_everywhere() {
    let folder = Bench::new();
    let server = serve(port(), "").replace("vllm serve", "./server.sh --api-key swordfish7");
    folder.script("server.sh", "shift 2; echo \"key is swordfish7\"; exec vllm serve \"$@\"");
    let output = folder.run(&["--serve", &server, "--", "sh", "-c", "echo swordfish7 again"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "swordfish7 again\n", "the load's own output is untouched");
    let bundle = folder.bundle();
    assert!(bundle.log("server", "stdout").starts_with("key is <"));
    let mut raw = Vec::new();
    for record in &bundle.records {
        record.encode(&mut raw).unwrap();
    }
    assert!(!text(&raw).contains("swordfish7"));
}
