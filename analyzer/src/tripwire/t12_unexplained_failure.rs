use super::Check;
use crate::boot::Stage;
use crate::engine::Signal;
use crate::evidence::{Missing, Run};
use crate::failure::{Conclusion, Failure, Outcome, Phase};
use crate::finding::Verdict;
use crate::number::{grouped, plural};

tripwire! {
    /// # What it checks
    /// Whether the server became ready, and if it did not, why.
    ///
    /// # Why it matters
    /// A log of a failed start holds many errors: re-raised ones, ones of ranks whose peer is gone,
    /// harmless ones, and one that says why. The last line is almost never that one.
    ///
    /// # How it decides
    /// The log is read once. Prefixes of loggers, launchers and shippers are taken off each line,
    /// tracebacks are followed per process, and every line that may be a cause is kept with its kind.
    /// The most specific kind wins; of several ranks one with a cause before one that only lost its
    /// peer; re-raised errors (`Engine core initialization failed`) never. Errors that the same
    /// process went on after, and errors before a server that did become ready, are no failures.
    /// The exit status and the kernel's log count where they were given. A failure no rule knows is
    /// told as "unclassified", with the exception and where it was raised.
    ///
    /// # What to do
    /// The message ends with what to change. `inferlint-analyze check-log FILE` shows the same for a
    /// log alone.
    ///
    /// # When it cannot tell
    /// The log ends before the server is ready and neither it, an exit status nor the kernel's log
    /// says why.
    ///
    /// # References
    /// - 124 public threads on failed starts and crashes of vLLM, SGLang, TensorRT-LLM, llama.cpp and
    ///   TGI; error texts of vLLM 0.8.5 to 0.33.0, SGLang 0.4.6 to 0.5.23, TensorRT-LLM 1.0 to 1.3
    T12_UNEXPLAINED_FAILURE {
        code: "T12",
        slug: "unexplained-failure",
        since: "0.1.0",
        summary: "the server did not become ready",
        needs: ["log", "exit", "process"],
        explained_by: ["T2"],
        check: Check::Run(check),
        notes: {
            "vllm": "Ready is `Application startup complete.`, once an API server. A port that is \
                     taken may be reported after it.",
            "sglang": "Ready is `The server is fired up and ready to roll!`. Uvicorn's `Application \
                     startup complete.` comes before the warm-up request and proves nothing.",
            "trtllm": "The socket is bound long before the server is ready.",
        },
    }
}

fn check(run: &Run) -> Result<Verdict, Missing> {
    let aside = run.aside();
    let mut ready: Option<(&str, Conclusion, Option<f64>)> = None;
    let mut undecided = None;
    for log in &run.logs {
        let conclusion = log.server.conclude(&aside);
        // Of a server that answered, a log without its start shows only the end.
        let is_cause = |failure: &&Failure| failure.kind != STOPPED || !finished(run);
        if let Some(failure) = conclusion.failure(Phase::Boot).filter(is_cause) {
            let verdict = Verdict::fail(failure.message.clone())
                .with("cause", failure.kind)
                .with("log", log.name.as_str())
                .with("line", failure.line)
                .with("stage", failure.stage.map(Stage::doing))
                .with("process", failure.process.as_deref())
                .with("exception", failure.exception.as_deref());
            return Ok(verdict);
        }
        match conclusion.outcome {
            Outcome::NotReady { stage } => undecided = Some((log.server.facts.lines, stage)),
            Outcome::Silent => {}
            Outcome::Failed(ref failure) if failure.phase == Phase::Boot => {}
            _ => ready = Some((&log.name, conclusion, log.server.facts.seconds_to_ready)),
        }
    }
    if run.logs.is_empty() && aside.exit.is_some_and(|exit| exit != 0) && !answered(run) {
        let exit = aside.exit.unwrap_or_default();
        return Ok(Verdict::fail(format!(
            "the server exited with status {exit}; its log was not given, so the cause is not known"
        ))
        .with("cause", "exited"));
    }
    if let Some((lines, stage)) = undecided
        && !answered(run)
    {
        let doing = stage.map(|stage| format!(" while {}", stage.doing())).unwrap_or_default();
        return Err(Missing::lack(format!(
            "not ready, no error: the log ends at line {lines}{doing}; needs the rest of the log, \
             the exit status (--server-exit) or the kernel's log (--kernel-log)"
        )));
    }
    match ready {
        Some((name, conclusion, seconds)) => Ok(became_ready(name, &conclusion, seconds)),
        None if answered(run) => {
            Ok(Verdict::pass("it answered requests; no log of its start tells more"))
        }
        None if run.logs.is_empty() => Err(Missing::never(
            "no log of the server's start was given, and nothing says that it failed",
        )),
        None => Err(Missing::lack(
            "the log shows neither the start nor the work of an engine that is known",
        )),
    }
}

fn became_ready(name: &str, conclusion: &Conclusion, seconds: Option<f64>) -> Verdict {
    let after = seconds.map(|s| format!(", {} s after its first line", grouped(s, 0)));
    let line = conclusion.ready_line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let passed = match conclusion.passed_before_ready {
        0 => String::new(),
        n => format!("; {} before that did not stop it", plural(n as f64, "error")),
    };
    Verdict::pass(format!("it became ready{}{line}{passed}", after.unwrap_or_default()))
        .with("log", name)
        .with("ready_line", conclusion.ready_line)
        .with("seconds_to_ready", seconds)
        .with("errors_before_ready", conclusion.passed_before_ready)
}

/// The kind of a server that was told to stop before it was ready.
const STOPPED: &str = "stopped_before_ready";

/// The load tool's result or the server's counters show a request that it finished. Metrics alone do
/// not: SGLang exports them before its warm-up.
fn finished(run: &Run) -> bool {
    let metric = run.engine.and_then(|engine| engine.metric(Signal::Finished));
    let names = metric.map_or(&[][..], |metric| metric.names);
    let counted = run.sources.iter().any(|source| {
        let columns = names.iter().flat_map(|name| source.full.named(name));
        columns.flat_map(|column| &column.changes).any(|(_, n)| n.is_some_and(|n| n > 0.0))
    });
    counted || run.points.iter().filter_map(|p| p.result.as_ref()).any(|r| r.completed > 0)
}

/// The server's metrics or the load tool's result show that it served.
fn answered(run: &Run) -> bool {
    let read = run.sources.iter().any(|source| source.engine.is_some() && !source.full.is_empty());
    let mut results = run.points.iter().filter_map(|point| point.result.as_ref());
    read || results.any(|result| result.completed > 0)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "a log that begins after the start, of a server that finished requests",
            evidence: r#"
== log
(APIServer pid=1) INFO:     10.0.0.5:1 - "GET /metrics HTTP/1.1" 200 OK
(APIServer pid=1) INFO 11-01 10:09:00 [launcher.py:110] [shutdown] API server: shutdown triggered
(EngineCore pid=7) INFO 11-01 10:09:00 [core.py:900] [shutdown] EngineCore: trigger received signal=SIGTERM
== before
vllm:request_success_total{finished_reason="length"} 0
== after
vllm:request_success_total{finished_reason="length"} 8
"#,
            status: Status::Pass,
            says: &["answered requests"],
        },
        Case {
            name: "no memory for the cache",
            evidence: r"
== log
(EngineCore pid=7) INFO 09-05 11:20:14 [core.py:118] Initializing a V1 LLM engine (v0.28.0) with config: model='/m'
(EngineCore pid=7) INFO 09-05 11:21:14 [gpu_worker.py:298] Available KV cache memory: -0.41 GiB
(EngineCore pid=7) ERROR 09-05 11:21:16 [core.py:1348] EngineCore failed to start.
(EngineCore pid=7) ERROR 09-05 11:21:16 [core.py:1348] Traceback (most recent call last):
(EngineCore pid=7) ERROR 09-05 11:21:16 [core.py:1348]     raise ValueError('No available memory for the cache blocks. '
(EngineCore pid=7) ERROR 09-05 11:21:16 [core.py:1348] ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}
",
            status: Status::Fail,
            says: &[
                "No available memory for the cache blocks",
                "line 6",
                "--gpu-memory-utilization",
            ],
        },
        Case {
            name: "ready after a warning",
            evidence: r"
== log
WARNING 10-10 10:22:58 [x.py:1] Failed to import from vllm._C with ImportError('libx.so: cannot open shared object file')
INFO 10-10 10:23:00 [api_server.py:1] vLLM API server version 0.11.0
INFO 10-10 10:25:00 [launcher.py:1] Available routes are:
INFO:     Application startup complete.
",
            status: Status::Pass,
            says: &["became ready, 122 s after its first line (line 4)"],
        },
        Case {
            name: "cut while loading weights",
            evidence: r"
== log
(EngineCore pid=7) INFO 09-05 11:20:14 [core.py:118] Initializing a V1 LLM engine (v0.28.0) with config: model='/m'
(EngineCore pid=7) INFO 09-05 11:20:20 [gpu_model_runner.py:1] Starting to load model /m...
Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:03<00:09,  3.10s/it]
",
            status: Status::Unknown,
            says: &["not ready, no error", "line 3", "loading weights"],
        },
        Case {
            name: "the same with an exit status",
            evidence: r"
== log
(EngineCore pid=7) INFO 09-05 11:20:14 [core.py:118] Initializing a V1 LLM engine (v0.28.0) with config: model='/m'
(EngineCore pid=7) INFO 09-05 11:20:20 [gpu_model_runner.py:1] Starting to load model /m...
== exit
137
== kernel
[26002.1] Out of memory: Killed process 57641 (VLLM::EngineCor) total-vm:78521468kB
",
            status: Status::Fail,
            says: &["OOM killer", "57641", "loading weights"],
        },
        Case {
            name: "no rule knows it",
            evidence: r#"
== log
INFO 10-10 10:23:00 [api_server.py:1] vLLM API server version 0.11.0
Traceback (most recent call last):
  File "/opt/venv/bin/vllm", line 8, in <module>
    sys.exit(main())
  File "/opt/plugin/zoo.py", line 31, in feed
    raise Hungry(animal)
zoo.Hungry: the bear was not fed
"#,
            status: Status::Fail,
            says: &["unclassified failure: Hungry: the bear was not fed", "feed at zoo.py:31"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "ready after a warning",
        find: "INFO:     Application startup complete.",
        replace: "OSError: [Errno 98] Address already in use",
        becomes: Status::Fail,
    };
}
