//! Simulated runs with random loads and faults: the verdicts equal what really happened.
//!
//! Each seed draws an engine's settings, a load and perhaps a fault, runs the simulator with it and
//! has the analyzer judge what could be seen from outside. What it may say follows from the truth
//! file alone, which the scheduler wrote. Where the truth is too short-lived for readings that come
//! every [`INTERVAL`], nothing is asked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use inferlint_fixtures::spawn::Sim;
use inferlint_fixtures::truth::{Event, Truth};
use serde_json::{Value, json};

/// Time between two readings.
const INTERVAL: Duration = Duration::from_millis(40);
/// A state is certain to be read when it lasts this long, and longer where readings came later than
/// they should: see [`Run::sure_s`].
const SURE_S: f64 = 0.3;
/// How long to wait for what comes soon on a machine with time to spare.
const PATIENCE: Duration = Duration::from_mins(1);
/// Runs at the same time: the machine has few cores and the runs are mostly asleep.
const AT_ONCE: usize = 3;

#[test]
fn verdicts_on_twenty_seeds_equal_the_truth() {
    judge_seeds(0..20);
}

#[test]
#[ignore = "five minutes: cargo test -p inferlint-tests --test e2e two_hundred -- --ignored"]
fn verdicts_on_two_hundred_seeds_equal_the_truth() {
    judge_seeds(0..200);
}

fn judge_seeds(seeds: std::ops::Range<u64>) {
    let next = AtomicU64::new(seeds.start);
    let failures = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    let taken = std::iter::from_fn(|| {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        (seed < seeds.end).then_some(seed)
                    });
                    taken.flat_map(judge_seed).collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect::<Vec<_>>()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// What went wrong with one seed.
fn judge_seed(seed: u64) -> Vec<String> {
    let scenario = Scenario::draw(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let run = scenario.run(folder.path());
    let verdicts = verdicts(folder.path());
    let expected = scenario.expected(&run);
    let wrong = expected.iter().filter_map(|(code, allowed)| {
        let (status, message) = verdicts.get(code.to_owned())?;
        let right = allowed.contains(&status.as_str());
        (!right).then(|| {
            format!("seed {seed}: {code} is {status}, not {allowed:?}: {message}\n  {scenario:?}")
        })
    });
    let clean = scenario.is_clean(&expected);
    let alarms = verdicts
        .iter()
        .filter(|(_, (status, _))| clean && !["pass", "not_applicable"].contains(&status.as_str()));
    let alarms = alarms.map(|(code, (status, message))| {
        format!("seed {seed}: a clean run has {code} {status}: {message}\n  {scenario:?}")
    });
    let missing = expected.keys().filter(|code| !verdicts.contains_key(**code));
    let missing = missing.map(|code| format!("seed {seed}: {code} was not judged"));
    wrong.chain(missing).chain(alarms).collect()
}

/// What goes wrong in a run, besides what the load itself does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    OtherTraffic,
    Restart,
    Admission,
    Crash,
    Abandoned,
    Stall,
    WholeSeconds,
}

/// The engine of a seed: the one with the most behaviour most often.
const ENGINES: &[Engine] = &[
    Engine::Vllm,
    Engine::Sglang,
    Engine::Vllm,
    Engine::Trtllm,
    Engine::Vllm,
    Engine::Sglang,
    Engine::Vllm,
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Engine {
    Vllm,
    Sglang,
    Trtllm,
}

impl Engine {
    fn metrics_path(self) -> &'static str {
        match self {
            Self::Vllm | Self::Sglang => "/metrics",
            Self::Trtllm => "/prometheus/metrics",
        }
    }

    /// Flags without which it shows nothing.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Vllm => &["--engine=vllm"],
            Self::Sglang => &["--engine=sglang", "--enable-metrics", "--decode-log-interval=10"],
            Self::Trtllm => &[
                "--engine=trtllm",
                "--return-perf-metrics",
                "--enable-iter-perf-stats",
                "--max-utilization",
            ],
        }
    }
}

const FAULTS: &[Fault] = &[
    Fault::None,
    Fault::OtherTraffic,
    Fault::None,
    Fault::Restart,
    Fault::Admission,
    Fault::None,
    Fault::Crash,
    Fault::Abandoned,
    Fault::Stall,
    Fault::WholeSeconds,
];

/// One run as drawn.
#[derive(Clone, Debug)]
struct Scenario {
    seed: u64,
    engine: Engine,
    fault: Fault,
    replicas: u64,
    block_size: u64,
    blocks: u64,
    max_running: u64,
    concurrency: u64,
    prompts: u64,
    input: u64,
    output: u64,
    spread: bool,
    warmups: u64,
}

/// Numbers of a seed.
struct Draw(u64);

impl Draw {
    fn of(&mut self, choices: &[u64]) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        choices[(self.0 >> 33) as usize % choices.len()]
    }
}

/// Longest request.
const LONGEST: u64 = 512;

impl Scenario {
    fn draw(seed: u64) -> Self {
        let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        draw.of(&[0]);
        let fault = FAULTS[seed as usize % FAULTS.len()];
        let engine = ENGINES[seed as usize % ENGINES.len()];
        let concurrency = draw.of(&[4, 8, 16, 24, 32]);
        let (input, output) = (draw.of(&[20, 60, 120, 200]), draw.of(&[60, 100, 160]));
        // SGLang counts single tokens unless it is told otherwise.
        let sizes: &[u64] = if engine == Engine::Sglang { &[1] } else { &[16, 32, 128] };
        let block_size = draw.of(sizes);
        let demand = concurrency * (input + output).div_ceil(block_size);
        let percent = draw.of(&[45, 70, 90, 130, 300]);
        // The longest request must fit, and one block is never given out.
        let blocks = (demand * percent / 100).max(LONGEST.div_ceil(block_size)) + 1;
        Self {
            seed,
            engine,
            fault,
            replicas: if engine == Engine::Vllm { draw.of(&[1, 1, 1, 2]) } else { 1 },
            block_size,
            blocks,
            max_running: if draw.of(&[0, 0, 0, 1]) == 1 { concurrency / 2 } else { 64 },
            concurrency,
            prompts: concurrency * draw.of(&[2, 3, 4]),
            input,
            output,
            spread: draw.of(&[0, 0, 1]) == 1,
            warmups: draw.of(&[0, 0, 2]),
        }
    }

    fn server(&self) -> Vec<String> {
        let mut flags = vec![
            format!("--seed={}", self.seed),
            format!("--block-size={}", self.block_size),
            format!("--num-gpu-blocks-override={}", self.blocks),
            format!("--max-num-seqs={}", self.max_running),
            format!("--max-model-len={LONGEST}"),
            format!("--data-parallel-size={}", self.replicas),
            "--boot-s=0.2".into(),
            "--time-scale=0.8".into(),
            "--step-ms=3".into(),
            "--orphan-s=10".into(),
        ];
        flags.extend(self.engine.flags().iter().map(ToString::to_string));
        match self.fault {
            Fault::OtherTraffic => flags.push("--other-traffic=9".into()),
            Fault::Restart => {
                flags.extend(["--restart-at=0.5".into(), "--restart-down-s=0.3".into()]);
            }
            Fault::Admission => {
                flags.push(format!("--max-num-queued-reqs={}", self.concurrency / 2));
            }
            Fault::Crash => flags.push(format!("--crash-on-request={}", self.concurrency)),
            Fault::Stall => flags.extend(["--stall-at=0.4".into(), "--stall-s=1".into()]),
            Fault::None | Fault::Abandoned | Fault::WholeSeconds => {}
        }
        flags
    }

    fn client(&self) -> Vec<String> {
        let mut flags = vec![
            format!("--seed={}", self.seed),
            format!("--random-input-len={}", self.input),
            format!("--random-output-len={}", self.output),
            format!("--random-range-ratio={}", if self.spread { 0.3 } else { 0.0 }),
            format!("--num-prompts={}", self.prompts),
            format!("--max-concurrency={}", self.concurrency),
            format!("--num-warmups={}", self.warmups),
            "--ignore-eos".into(),
            "--save-result".into(),
            "--result-filename=bench.json".into(),
        ];
        match self.fault {
            Fault::Abandoned => flags.push("--abandon-rate=0.2".into()),
            Fault::WholeSeconds => flags.push("--whole-second-timer".into()),
            _ => {}
        }
        flags
    }

    /// Runs server and load, and leaves a run folder.
    fn run(&self, folder: &Path) -> Run {
        let flags = self.server();
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        let mut sim = Sim::serve(folder, &flags).expect("a server");
        let (scrapes, load) = record(&sim, self);
        let truth = sim.truth().expect("a truth");
        sim.stop().expect("its end");
        write_folder(folder, &scrapes, &load);
        let result: Value = fs::read(folder.join("bench.json"))
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let apart = scrapes.windows(2).map(|pair| {
            let from = pair[0].at.mono_ns;
            (pair[1].at.mono_ns - from) as f64 * 1e-9 + pair[1].latency_s
        });
        // Twice the longest time between readings holds one whole reading; as much again is for what
        // an engine shows late.
        let sure_s = apart.fold(SURE_S, |sure_s, apart| sure_s.max(4.0 * apart));
        Run { truth: truth.between(load.start.wall_s, f64::INFINITY), whole: truth, result, sure_s }
    }

    /// Verdicts that the truth allows.
    fn expected(&self, run: &Run) -> Expected {
        let truth = &run.truth;
        if !truth.crashes().is_empty() {
            return Expected::from([("T7", FAIL)]);
        }
        if !truth.restarts().is_empty() {
            // What a counter lost cannot be told. TensorRT-LLM shows none before a request ends.
            return match self.engine {
                Engine::Trtllm => Expected::from([("T16", FAIL)]),
                _ => Expected::from([("T16", FAIL), ("T1", UNKNOWN), ("T15", UNKNOWN)]),
            };
        }
        let preempted = !truth.preemptions().is_empty();
        let mut expected = Expected::from([
            ("T1", if preempted { FAIL } else { PASS }),
            ("T7", PASS),
            ("T16", PASS),
        ]);
        if self.engine != Engine::Vllm {
            expected.insert("T14", NOT_APPLICABLE);
        } else if self.blocks > 12 {
            // Of a few blocks all may be held in every reading, which fits any number.
            expected.insert("T14", PASS);
        }
        self.expect_concurrency(run, &mut expected);
        self.expect_ceiling(run, &mut expected);
        let truncated = run.truncated();
        if self.engine == Engine::Trtllm {
            expected.insert("T10", UNKNOWN);
        } else if truth.other() > 0 {
            // The server worked for others before and after.
        } else if truncated > 0.2 {
            expected.insert("T10", WARN);
        } else if truncated < 0.002 && run.timed_by_server() {
            expected.insert("T10", PASS);
        }
        if truth.other() > 0 {
            expected.insert("T15", FAIL);
        } else if self.fault != Fault::Abandoned {
            expected.insert("T15", PASS);
        }
        expected
    }

    fn expect_concurrency(&self, run: &Run, expected: &mut Expected) {
        let asked = self.concurrency as usize;
        if self.engine == Engine::Trtllm {
            // It shows what it admitted, at the moments when requests complete.
            expected.insert("T8", &["pass", "unknown"]);
        } else if run.truth.ran_at_once(asked) > run.sure_s {
            expected.insert("T8", PASS);
        } else if run.truth.peak_running() < asked {
            expected.insert("T8", FAIL);
        }
    }

    fn expect_ceiling(&self, run: &Run, expected: &mut Expected) {
        let replicas = 0..self.replicas as usize;
        let ceilings = replicas.clone().map(|replica| run.whole.ceilings(replica));
        let sure = |ceilings: &BTreeMap<usize, f64>| {
            ceilings.values().filter(|seconds| **seconds > run.sure_s).count() > 1
        };
        match self.engine {
            Engine::Vllm if ceilings.clone().any(|ceilings| sure(&ceilings)) => {
                expected.insert("T9", WARN);
            }
            Engine::Vllm if ceilings.clone().all(|ceilings| ceilings.len() <= 1) => {
                expected.insert("T9", PASS);
            }
            // A usage in hundredths, seen at every tenth step.
            Engine::Sglang if replicas.clone().all(|replica| run.whole.full(replica) == 0.0) => {
                expected.insert("T9", PASS);
            }
            Engine::Trtllm => {
                expected.insert("T9", UNKNOWN);
            }
            Engine::Vllm | Engine::Sglang => {}
        }
    }

    /// Whether nothing went wrong, so that no tripwire may say anything but that.
    fn is_clean(&self, expected: &Expected) -> bool {
        let fine = [PASS, NOT_APPLICABLE];
        self.fault == Fault::None
            && self.warmups == 0
            && self.engine != Engine::Trtllm
            && ["T1", "T8", "T9", "T10"]
                .iter()
                .all(|code| expected.get(code).is_some_and(|status| fine.contains(status)))
    }
}

type Expected = BTreeMap<&'static str, &'static [&'static str]>;

const PASS: &[&str] = &["pass"];
const FAIL: &[&str] = &["fail"];
const WARN: &[&str] = &["warn"];
const UNKNOWN: &[&str] = &["unknown"];
const NOT_APPLICABLE: &[&str] = &["not_applicable"];

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
struct Moment {
    wall_s: f64,
    mono_ns: u64,
}

/// The load command.
struct Load {
    argv: Vec<String>,
    output: Vec<u8>,
    start: Moment,
    end: Moment,
}

/// A scrape.
struct Scrape {
    at: Moment,
    latency_s: f64,
    text: String,
}

/// What a seed's run was.
struct Run {
    /// Since the load began.
    truth: Truth,
    whole: Truth,
    result: Value,
    /// A state that lasted this long was certainly read.
    sure_s: f64,
}

impl Run {
    /// The share of the load's true duration that the client's own leaves out.
    fn truncated(&self) -> f64 {
        let duration = self.result["duration"].as_f64().unwrap_or_default();
        let latencies = self.result["latencies"].as_array();
        let queues = self.result["queue_times"].as_array();
        // The last answer of a closed loop ends its longest wait for a slot and an answer.
        let longest = latencies.into_iter().flatten().zip(queues.into_iter().flatten());
        let true_s = longest
            .filter_map(|(latency, queue)| Some(latency.as_f64()? + queue.as_f64()?))
            .fold(0.0_f64, f64::max);
        (true_s - duration) / true_s.max(1e-9)
    }
}

impl Run {
    /// Whether the client timed what the server worked, within what T10 lets pass. One that waits for
    /// a CPU times that too.
    fn timed_by_server(&self) -> bool {
        let entries = &self.truth.entries;
        let work = entries.iter().filter(|entry| matches!(entry.event, Event::Level { .. }));
        let times: Vec<f64> = work.map(|entry| entry.t).collect();
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return false };
        let duration = self.result["duration"].as_f64().unwrap_or_default();
        (duration - (last - first)).abs() < 0.3
    }
}

/// Scrapes the server from before the load to after its drain.
fn record(sim: &Sim, scenario: &Scenario) -> (Vec<Scrape>, Load) {
    let clock = Instant::now();
    let now = || Moment {
        wall_s: SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs_f64(),
        mono_ns: 1_000_000_000 + clock.elapsed().as_nanos() as u64,
    };
    let scrape = || {
        let at = now();
        let text = sim.get(scenario.engine.metrics_path()).ok()?;
        let latency_s = (now().mono_ns - at.mono_ns) as f64 * 1e-9;
        text.starts_with("# HELP").then_some(Scrape { at, latency_s, text })
    };
    let (over, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    let until_taken = |count| {
        let enough = taken.load(Ordering::Acquire) + count;
        wait_until("readings", || taken.load(Ordering::Acquire) >= enough);
    };
    thread::scope(|scope| {
        let scraper = scope.spawn(|| {
            let mut scrapes = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let due = Instant::now() + INTERVAL;
                scrapes.extend(scrape());
                taken.store(scrapes.len() as u64, Ordering::Release);
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            scrapes.extend(scrape());
            scrapes
        });
        until_taken(2);
        let flags = scenario.client();
        let flags: Vec<_> = flags.iter().map(String::as_str).collect();
        let start = now();
        let output = sim.bench(&flags).expect("a load client");
        let end = now();
        if scenario.fault == Fault::Restart {
            wait_until("a second start", || sim.truth().expect("a truth").starts() == 2);
        }
        // The drain. What a client abandoned leaves without a step in which it could be told.
        if ![Fault::Crash, Fault::Abandoned].contains(&scenario.fault) {
            wait_until("an idle server", || sim.truth().expect("a truth").is_idle());
        }
        if scenario.fault != Fault::Crash {
            until_taken(8);
        }
        over.store(true, Ordering::Relaxed);
        let argv = ["vllm", "bench", "serve"].into_iter().chain(flags).map(str::to_owned).collect();
        (scraper.join().expect("scrapes"), Load { argv, output: output.stdout, start, end })
    })
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "never {what}");
        thread::sleep(INTERVAL / 2);
    }
}

/// The run as a folder that the analyzer imports.
fn write_folder(folder: &Path, scrapes: &[Scrape], load: &Load) {
    fs::rename(folder.join("server.log"), folder.join("boot.log")).expect("a log");
    fs::write(folder.join("load.log"), &load.output).expect("a file");
    let about = json!({
        "argv": load.argv,
        "exit": 0,
        "start_wall": load.start.wall_s,
        "start_mono_ns": load.start.mono_ns,
        "end_wall": load.end.wall_s,
        "end_mono_ns": load.end.mono_ns,
    });
    fs::write(folder.join("load.json"), about.to_string()).expect("a file");
    let saved = |scrape: &Scrape| {
        json!({
            "t_wall": scrape.at.wall_s,
            "t_mono_ns": scrape.at.mono_ns,
            "latency_s": scrape.latency_s,
            "text": scrape.text,
        })
    };
    let file = File::create(folder.join("scrapes.jsonl.gz")).expect("a file");
    let mut zip = GzEncoder::new(file, Compression::fast());
    for scrape in scrapes {
        writeln!(zip, "{}", saved(scrape)).expect("a line");
    }
    zip.finish().expect("a file");
}

/// Status and message of each tripwire on the folder's bundle.
fn verdicts(folder: &Path) -> BTreeMap<String, (String, String)> {
    let analyzer = inferlint_tests::binary("inferlint-analyze").expect("the analyzer");
    let bundle = folder.join("run.ilb");
    let imported =
        Command::new(&analyzer).arg("import").arg(folder).arg("-o").arg(&bundle).output();
    let imported = imported.expect("the analyzer");
    assert!(imported.status.success(), "{imported:?}");
    let checked = Command::new(&analyzer).args(["check", "--format=json"]).arg(&bundle).output();
    let document: Value =
        serde_json::from_slice(&checked.expect("the analyzer").stdout).expect("JSON");
    let text = |verdict: &Value, name: &str| verdict[name].as_str().unwrap_or_default().to_owned();
    document["runs"][0]["verdicts"]
        .as_array()
        .expect("verdicts")
        .iter()
        .map(|verdict| {
            (text(verdict, "tripwire"), (text(verdict, "status"), text(verdict, "message")))
        })
        .collect()
}
