//! Every kind of failure on logs of its own, each in at least two wordings, and what must not be
//! taken for one. All logs are made up; their error texts are those the programs print.
//!
//! The examples of a family's kinds stand under the name of its file: `memory.rs` here shows what
//! `../memory.rs` recognises, in whole logs and, for the words no log holds, in single lines. A
//! pattern without either fails a test.

mod argument;
mod collective;
mod config;
mod cuda;
mod device;
mod driver;
mod hang;
mod healthy;
mod host;
mod jit;
mod library;
mod memory;
mod model;
mod pool;
mod port;
mod scheduler;
mod watch;

use std::collections::HashSet;

use super::noise;
use super::watch::{Watch, kinds};
use super::{Aside, Conclusion, Holder, Kernel, Outcome, Phase};
use crate::boot;
use crate::boot::head::Heads;
use crate::boot::line::Line;
use crate::pattern::Pattern;

/// A log, the kind that is right, and words its message must have.
struct Example {
    kind: &'static str,
    phase: Phase,
    says: &'static [&'static str],
    log: &'static str,
}

const fn boot(kind: &'static str, says: &'static [&'static str], log: &'static str) -> Example {
    Example { kind, phase: Phase::Boot, says, log }
}

const fn serving(kind: &'static str, says: &'static [&'static str], log: &'static str) -> Example {
    Example { kind, phase: Phase::Serving, says, log }
}

fn examples() -> impl Iterator<Item = &'static Example> {
    let families: [&'static [Example]; 16] = [
        argument::EXAMPLES,
        collective::EXAMPLES,
        config::EXAMPLES,
        cuda::EXAMPLES,
        device::EXAMPLES,
        driver::EXAMPLES,
        hang::EXAMPLES,
        host::EXAMPLES,
        jit::EXAMPLES,
        library::EXAMPLES,
        memory::EXAMPLES,
        model::EXAMPLES,
        pool::EXAMPLES,
        port::EXAMPLES,
        scheduler::EXAMPLES,
        watch::EXAMPLES,
    ];
    families.into_iter().flatten()
}

fn lines() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let families: [&'static [(&str, &str)]; 15] = [
        argument::LINES,
        collective::LINES,
        config::LINES,
        cuda::LINES,
        device::LINES,
        driver::LINES,
        hang::LINES,
        host::LINES,
        jit::LINES,
        library::LINES,
        memory::LINES,
        model::LINES,
        pool::LINES,
        port::LINES,
        scheduler::LINES,
    ];
    families.into_iter().flatten()
}

/// What the outer process of each engine says after a start that failed.
const WRAPPERS: &[&str] = &[
    "\n(APIServer pid=1) Traceback (most recent call last):\n(APIServer pid=1)   File \"/v/v1/engine/utils.py\", line 964, in wait_for_engine_startup\n(APIServer pid=1)     raise RuntimeError(\n(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}\n",
    "\n[2026-01-01 10:00:00] Received sigquit from a child process. It usually means the child failed.\n",
    "[2026-01-01 10:00:00] Rank 0 scheduler is dead. Please check if there are relevant logs.\n[2026-01-01 10:00:00] Exit code: 1\nTraceback (most recent call last):\n  File \"/s/engine.py\", line 2, in _launch_subprocesses\nEOFError\n",
    "Traceback (most recent call last):\n  File \"/t/executor/proxy.py\", line 332, in _start_executor_workers\n    raise RuntimeError(\nRuntimeError: Executor worker returned error\n",
    "2026-01-01T10:00:00.1Z ERROR text_generation_launcher: Shard 0 failed to start\n2026-01-01T10:00:00.1Z  INFO text_generation_launcher: Shutting down shards\nError: ShardCannotStart\n",
    "vllm-1 exited with code 1\n",
];

fn prefixed(log: &str, prefix: &str) -> String {
    let lines: Vec<String> = log.lines().map(|line| format!("{prefix}{line}")).collect();
    lines.join("\n") + "\n"
}

fn conclude(log: &str, aside: &Aside) -> Conclusion {
    boot::read(log.as_bytes(), None).unwrap().conclude(aside)
}

/// What is wrong with the conclusion from `log`, a variant of the example's own.
fn wrong(example: &Example, log: &str) -> Option<String> {
    let found = conclude(log, &Aside::default());
    let Outcome::Failed(failure) = &found.outcome else {
        return Some(format!("{}: {:?}\n{log}", example.kind, found.outcome));
    };
    let message = &failure.message;
    if (failure.kind, failure.phase) != (example.kind, example.phase) {
        return Some(format!("{} is called {}: {message}\n{log}", example.kind, failure.kind));
    }
    if let Some(words) = example.says.iter().find(|words| !message.contains(**words)) {
        return Some(format!("{}: {words:?} is not said: {message}", example.kind));
    }
    let only = ["root_cause_not_in_log", "host_oom_killed"].contains(&example.kind);
    let wrappers = ["Engine core initialization failed", "EngineDeadError", "sigquit"];
    let wrapped = !only && wrappers.iter().any(|wrapper| message.contains(wrapper));
    (wrapped || message.chars().count() > 300).then(|| message.clone())
}

#[track_caller]
fn all_are_named(variants: impl Iterator<Item = (&'static Example, String)>) {
    let wrong: Vec<String> = variants.filter_map(|(example, log)| wrong(example, &log)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}

#[test]
fn every_example_is_named() {
    all_are_named(examples().map(|example| (example, example.log.to_owned())));
}

#[test]
fn a_wrapper_after_the_cause_changes_nothing() {
    // A wait is only a cause where nothing else is said.
    let alone = ["root_cause_not_in_log", "placement_group_wait", "worker_stalled", "start_wait"];
    let wrapped: Vec<String> = examples()
        .filter(|e| e.phase == Phase::Boot && !alone.contains(&e.kind))
        .flat_map(|e| WRAPPERS.iter().map(move |wrapper| (e, format!("{}{wrapper}", e.log))))
        // Advice speaks of the engine that the log is of, which the wrapper may change.
        .filter_map(|(e, log)| wrong(&Example { says: &[], ..*e }, &log))
        .collect();
    assert!(wrapped.is_empty(), "{}", wrapped.join("\n---\n"));
}

/// What follows the end of a serving engine: requests that fail, streams that end, the server that
/// closes, ranks that miss their peer, a launcher that kills what is left.
const AFTERMATHS: &[&str] = &[
    "INFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 500 Internal Server Error\nINFO:     Shutting down\nINFO:     Waiting for application shutdown.\nINFO:     Application shutdown complete.\nINFO:     Finished server process [1]\n",
    "INFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n[rank1]: RuntimeError: [/gloo/transport/tcp/pair.cc:544] Connection closed by peer [127.0.0.1]:2000\n",
    "Traceback (most recent call last):\n  File \"/u/runners.py\", line 2, in run\nasyncio.exceptions.CancelledError\n(APIServer pid=1) INFO 01-01 10:09:09 [launcher.py:1] [shutdown] API server: shutdown triggered\n",
    "/start.sh: line 12:    57 Killed                  vllm serve /m\n",
];

#[test]
fn what_follows_the_end_of_an_engine_is_not_its_cause() {
    let followed: Vec<String> = examples()
        .filter(|e| e.phase == Phase::Serving && e.kind != "root_cause_not_in_log")
        .flat_map(|e| AFTERMATHS.iter().map(move |after| (e, format!("{}{after}", e.log))))
        .filter_map(|(e, log)| wrong(&Example { says: &[], ..*e }, &log))
        .collect();
    assert!(followed.is_empty(), "{}", followed.join("\n---\n"));
}

#[test]
fn prefixes_of_launchers_and_shippers_change_nothing() {
    let prefixes = [
        "server-1  | ",
        "2026-11-30T10:00:00.000000000Z ",
        "\u{1b}[36mvllm-0  |\u{1b}[0m ",
        "[1,3]<stderr>:",
        "ERROR 2026-11-30T10:00:00.1Z ",
        "Nov 30 10:00:00 gpu7 vllm[123]: ",
    ];
    all_are_named(examples().flat_map(|e| prefixes.map(|prefix| (e, prefixed(e.log, prefix)))));
}

#[test]
fn prefixes_that_no_layer_knows_change_nothing_where_a_log_begins_itself() {
    let prefixes = [
        "\u{430}\u{432}\u{433} 30 10:00:00 gpu7 vllm[123]: ",
        "vllm-7d9f8b6c5-x2x4z vllm ",
        "Nov 30 10:00:00 ",
        "2026-11-30 10:00:00,123 DEBG 'vllm' stderr output: ",
    ];
    let begins = |e: &&Example| {
        let first = e.log.lines().next().unwrap_or_default();
        let line = Line::strip(1, first.as_bytes());
        // What started the server begins its lines in a way of its own.
        let alone = e.kind != "root_cause_not_in_log";
        alone && (line.is_record || !line.process.is_empty())
    };
    all_are_named(
        examples().filter(begins).flat_map(|e| prefixes.map(|prefix| (e, prefixed(e.log, prefix)))),
    );
}

/// Words of a line that say what happened: no numbers, names in quotes or paths.
fn words(text: &str) -> HashSet<String> {
    let named = |token: &str| token.contains(|c: char| c.is_ascii_digit() || "'\"`/".contains(c));
    text.split_whitespace()
        .filter(|token| !named(token))
        .map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The line an example's cause stands on, without its prefix.
fn decisive(example: &Example) -> String {
    let found = conclude(example.log, &Aside::default());
    let Outcome::Failed(failure) = found.outcome else { return String::new() };
    let number = failure.line.unwrap_or_default();
    let raw = example.log.lines().nth(number as usize - 1).unwrap();
    Line::strip(number, raw.as_bytes()).text.into_owned()
}

#[test]
fn every_kind_has_two_examples_in_different_words() {
    for kind in kinds() {
        // The name of `oom` depends on the moment: each of its names counts as a kind.
        if kind.name != "oom" {
            is_shown_in_two_wordings(kind.name);
        }
        assert!(!kind.what.is_empty() && !kind.what.ends_with('.'), "{}", kind.name);
    }
    for example in examples() {
        is_shown_in_two_wordings(example.kind);
    }
}

#[test]
fn every_further_line_is_named() {
    let wrong: Vec<String> = lines()
        .filter_map(|(kind, line)| {
            let start = "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0";
            // A wait is only a cause when it goes on.
            let log = format!("{start}\n{line}\n{line}\n{line}\n");
            let found = conclude(&log, &Aside::default());
            let called = found.failure(Phase::Boot).map(|failure| failure.kind);
            (called != Some(*kind)).then(|| format!("{kind} is called {called:?}: {line}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_pattern_has_a_line_it_knows() {
    let read = |raw: &str| -> Vec<String> {
        boot::line::unfold(raw.as_bytes(), &mut Heads::default())
            .unwrap_or_else(|| vec![Line::strip(1, raw.as_bytes()).text.into_owned()])
    };
    let logs = examples().map(|e| e.log).chain(lines().map(|(_, line)| *line));
    let said: Vec<String> = logs.flat_map(str::lines).flat_map(read).collect();
    let unused: Vec<String> = kinds()
        .flat_map(|kind| kind.patterns.iter().map(move |pattern| (kind.name, *pattern)))
        .filter(|(_, source)| {
            let pattern = Pattern::new(source);
            !said.iter().any(|line| pattern.find(line).is_some())
        })
        .map(|(kind, source)| format!("{kind}: {source}"))
        .collect();
    assert!(unused.is_empty(), "no line shows these:\n{}", unused.join("\n"));
}

#[track_caller]
fn is_shown_in_two_wordings(kind: &str) {
    let said: Vec<_> = examples().filter(|e| e.kind == kind).map(|e| words(&decisive(e))).collect();
    let differ = said.iter().any(|a| {
        said.iter().any(|b| a.difference(b).next().is_some() && b.difference(a).next().is_some())
    });
    assert!(differ, "{kind} has no two examples in different words: {said:?}");
}

#[test]
fn what_is_no_failure_is_not_called_one() {
    for log in healthy::LOGS {
        for prefix in ["", "server-1  | ", "2026-11-30T10:00:00.1Z "] {
            let log = prefixed(log, prefix);
            let found = conclude(&log, &Aside::default());
            assert_eq!(found.outcome, Outcome::Ready, "{log}");
        }
    }
}

#[test]
fn what_a_start_does_without_is_no_failure_of_it() {
    let start = "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0";
    for line in healthy::ON_THE_WAY {
        let found = conclude(&format!("{start}\n{line}\n"), &Aside::default());
        assert!(matches!(found.outcome, Outcome::NotReady { .. }), "{line}: {:?}", found.outcome);
    }
}

#[test]
fn what_ends_nothing_is_no_crash_although_the_log_ends_with_it() {
    let serving = "INFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
    for line in healthy::LINES {
        let found = conclude(&format!("{serving}{line}\n"), &Aside::default());
        assert_eq!(found.outcome, Outcome::Ready, "{line}");
    }
    for source in noise::HARMLESS.iter().chain(noise::REQUEST) {
        let pattern = Pattern::new(source);
        let shown = healthy::LINES.iter().any(|line| pattern.find(line).is_some());
        assert!(shown, "no line shows {source}");
    }
}

#[test]
fn a_server_is_ready_by_its_work_but_not_by_its_own_warm_up() {
    let work = "[2026-01-01 10:10:00 TP0] Decode batch. #running-req: 9, #token: 2625, token usage: 0.09, gen throughput (token/s): 40.49, #queue-req: 0\n";
    let crash = "[2026-01-01 10:10:09 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nIndexError: pop from an empty deque\n";
    let found = conclude(&format!("{work}{crash}"), &Aside::default());
    assert_eq!(found.failure(Phase::Serving).map(|f| f.kind), Some("scheduler_exception"));
    let start = "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n";
    let found = conclude(&format!("{start}{work}{crash}"), &Aside::default());
    assert_eq!(found.failure(Phase::Boot).map(|f| f.kind), Some("scheduler_exception"));
}

#[test]
fn a_server_that_is_ready_does_not_make_up_for_the_dead_one_beside_it() {
    let start = "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n";
    let dead = "(EngineCore pid=7) ERROR 01-01 10:00:50 [core.py:1] EngineCore failed to start.\n(EngineCore pid=7) ERROR 01-01 10:00:50 [core.py:1] ValueError: To serve at least one request with the models's max seq len (100000), (4.26 GiB KV cache is needed, which is larger than the available KV cache memory (4.25 GiB).\n";
    let ready = "INFO:     Application startup complete.\nINFO:     1.2.3.4:5 - \"POST /v1/completions HTTP/1.1\" 200 OK\n";
    let (prefill, decode) = ("prefill-1  | ", "decode-1   | ");
    let both = format!("{}{}", prefixed(start, prefill), prefixed(start, decode));
    let log = format!("{both}{}{}", prefixed(dead, decode), prefixed(ready, prefill));
    let found = conclude(&log, &Aside::default());
    assert!(found.failure(Phase::Boot).is_some(), "{found:?}");
    // The second began only when the first had died.
    let log = format!(
        "{}{}{}",
        prefixed(start, decode),
        prefixed(dead, decode),
        prefixed(&format!("{start}{ready}"), prefill)
    );
    let found = conclude(&log, &Aside::default());
    assert!(found.failure(Phase::Boot).is_some(), "{found:?}");
    // The same server, tried again, and a client that fell over while it waited.
    let again = format!(
        "{}{}{}",
        prefixed(start, decode),
        prefixed(dead, decode),
        prefixed(&format!("{start}{ready}"), decode)
    );
    assert_eq!(conclude(&again, &Aside::default()).outcome, Outcome::Ready);
    let client = "bench-1  | Segmentation fault (core dumped)\n";
    let log = format!("{}{client}{}", prefixed(start, prefill), prefixed(ready, prefill));
    assert_eq!(conclude(&log, &Aside::default()).outcome, Outcome::Ready);
}

#[test]
fn a_crash_stays_one_although_the_server_was_started_again() {
    let log = "INFO 01-01 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA error: device-side assert triggered\nINFO 01-01 10:02:00 [api_server.py:1] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n";
    let found = conclude(log, &Aside::default());
    assert_eq!(found.failure(Phase::Serving).map(|f| f.kind), Some("cuda_launch_failure"));
}

#[test]
fn what_stands_beside_the_log_is_used() {
    let loading = "INFO 11-20 10:45:50 [a.py:1] vLLM API server version 0.11.0\nINFO 11-20 10:45:55 [m.py:680] Starting to load model /m...\nLoading safetensors checkpoint shards:  75% Completed | 3/4\n";
    let kernel = Kernel::read(b"[1.0] Out of memory: Killed process 57 (python3) total-vm:1kB\n");
    let aside = Aside { exit: Some(137), kernel: Some(kernel), ..Aside::default() };
    let failure = conclude(loading, &aside);
    let failure = failure.failure(Phase::Boot).unwrap();
    assert_eq!(failure.kind, "host_oom_killed");
    assert!(failure.message.contains("57"), "{}", failure.message);

    let killed = conclude(loading, &Aside { exit: Some(-9), ..Aside::default() });
    assert_eq!(killed.failure(Phase::Boot).unwrap().kind, "killed");

    let stopped = conclude(loading, &Aside { exit: Some(143), ..Aside::default() });
    assert!(matches!(stopped.outcome, Outcome::NotReady { .. }), "{stopped:?}");

    let crashed = "INFO:     Application startup complete.\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: CUDA error: unknown error\n(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] EngineCore encountered a fatal error.\n";
    let kernel =
        Kernel::read(b"[1.0] NVRM: Xid (PCI:0000:41:00): 79, pid=7, GPU has fallen off the bus.\n");
    let xid = conclude(crashed, &Aside { kernel: Some(kernel), ..Aside::default() });
    let failure = xid.failure(Phase::Serving).unwrap();
    assert_eq!(failure.kind, "gpu_hardware_xid");
    assert!(failure.message.contains("Xid 79"), "{}", failure.message);

    let held = "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: Free memory on device (1.10/23.69 GiB) on startup is less than desired GPU memory utilization (0.9, 21.32 GiB).\n";
    let holder = |orphan| Holder {
        pid: 4711,
        title: "VLLM::EngineCore".into(),
        gpu_mib: Some(20_000),
        orphan,
    };
    for (orphan, kind) in
        [(true, "gpu_memory_held_by_orphan_engine"), (false, "gpu_memory_held_by_other_process")]
    {
        let found = conclude(held, &Aside { holders: vec![holder(orphan)], ..Aside::default() });
        let failure = found.failure(Phase::Boot).unwrap();
        assert_eq!(failure.kind, kind);
        assert!(failure.message.contains("4711"), "{}", failure.message);
    }
}

#[test]
fn a_log_of_nothing_but_errors_needs_little_memory_and_ends() {
    let mut watch = Watch::default();
    for number in 1..20_000_u64 {
        let raw = format!("(W{number} pid=1) RuntimeError: CUDA error: {number}");
        watch.observe(&boot::line::Line::strip(number, raw.as_bytes()), None);
    }
    let found = watch.finish().conclude(&Aside::default(), None);
    assert_eq!(found.failure(Phase::Boot).unwrap().line, Some(1));
}
