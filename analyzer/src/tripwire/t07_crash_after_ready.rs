use super::Check;
use crate::evidence::{Missing, Run};
use crate::failure::{Conclusion, Outcome, Phase};
use crate::finding::Verdict;
use crate::number::{count, plural};
use inferlint_schema::record::Probe;

tripwire! {
    /// # What it checks
    /// Whether the server went on serving once it was ready.
    ///
    /// # Why it matters
    /// Starting proves little: kernels are compiled on the first request, memory is short only under
    /// load, a rank can stop answering while health says 200. Load tools leave failed requests out of
    /// their averages, so a run across a crash can look fast.
    ///
    /// # How it decides
    /// Failed: a probe request was not answered, or the server was not healthy after it; the log
    /// shows a failure after the server was ready that it did not outlive; or the server's process
    /// ended during the run with a status other than 0, or by a signal. A request that was refused,
    /// an error after which the engine itself worked on (its periodic report, a batch, an answer to a
    /// later request) and everything after a stop from outside are no crash. Access lines of streams
    /// that were under way prove nothing. The cause is named as T12 names it.
    ///
    /// # What to do
    /// The message ends with what to change. Repeat the run: its numbers are those of a dying server.
    ///
    /// # When it cannot tell
    /// Nothing shows that the server answered a request after it was ready.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/v1/engine/core.py`, `vllm/entrypoints/launchers/launcher.py`
    /// - SGLang 0.5.23: `sglang/srt/managers/scheduler.py` (`run_scheduler_process`)
    T07_CRASH_AFTER_READY {
        code: "T7",
        slug: "crash-after-ready",
        since: "0.1.0",
        summary: "the server failed after it was ready",
        needs: ["log", "probe", "exit"],
        explained_by: [],
        check: Check::Run(check),
        notes: {
            "vllm": "The API server reports a dead engine as `EngineDeadError`; the cause stands \
                     before it, in the lines of the engine process.",
            "sglang": "A scheduler that fails ends the whole process tree. From 0.5.3 on `/health` runs \
                     a request of one token, which a busy scheduler drops: a health probe under load \
                     proves little.",
            "trtllm": "The executor writes no line while it works at its default level, so two answered \
                     requests are taken as proof that it serves.",
        },
    }
}

fn check(run: &Run) -> Result<Verdict, Missing> {
    let aside = run.aside();
    let logs = || run.logs.iter().map(|log| (log, log.server.conclude(&aside)));
    if let Some((log, conclusion)) = logs().find(|(_, c)| c.failure(Phase::Serving).is_some())
        && let Some(failure) = conclusion.failure(Phase::Serving)
    {
        return Ok(Verdict::fail(failure.message.clone())
            .with("cause", failure.kind)
            .with("log", log.name.as_str())
            .with("line", failure.line)
            .with("process", failure.process.as_deref())
            .with("exception", failure.exception.as_deref()));
    }
    if let Some(probe) = run.probes.iter().find(|probe| failed(probe)) {
        return Ok(Verdict::fail(unanswered(probe)).with("cause", "probe_failed"));
    }
    let conclusions: Vec<Conclusion> = logs().map(|(_, conclusion)| conclusion).collect();
    let never = |c: &Conclusion| {
        c.failure(Phase::Boot).is_some() || matches!(c.outcome, Outcome::NotReady { .. })
    };
    let served = served(run, &conclusions);
    if conclusions.iter().any(never) && served.is_none() {
        return Err(Missing::never("the server never became ready (see T12)"));
    }
    if run.logs.is_empty() && aside.exit.is_some_and(|exit| exit != 0) {
        return Ok(Verdict::fail(format!(
            "the server exited with status {} during the run; its log was not given",
            aside.exit.unwrap_or_default()
        ))
        .with("cause", "exited"));
    }
    let Some(served) = served else {
        return Err(Missing::lack(
            "nothing shows that the server answered a request: needs metrics, the load tool's \
             result, access lines in its log, or a probe",
        ));
    };
    let outlived: u64 = conclusions.iter().map(|c| c.outlived).sum();
    let refused: u64 = conclusions.iter().map(|c| c.refused).sum();
    let mut message = format!("no failure while it served: {served}");
    if outlived > 0 {
        message += &format!("; {} that it outlived", plural(outlived as f64, "error"));
    }
    let results = || run.points.iter().filter_map(|point| point.result.as_ref());
    let failed: u64 = results().filter_map(|result| result.failed).sum();
    if failed > 0 && results().all(|result| result.completed == 0) {
        message += &format!(
            "; but the load tool counts {} failed and none answered",
            count(failed as f64)
        );
    }
    if refused > 0 {
        message +=
            &format!("; {} of refused or abandoned requests", plural(refused as f64, "line"));
    }
    Ok(Verdict::pass(message)
        .with("errors_outlived", outlived)
        .with("requests_refused_lines", refused))
}

fn failed(probe: &Probe) -> bool {
    matches!(probe.what.as_str(), "request" | "burst" | "health") && probe.ok < probe.asked
}

fn unanswered(probe: &Probe) -> String {
    let why = match (&probe.error, probe.status) {
        (Some(error), _) => format!(": {error}"),
        (None, Some(status)) => format!(": HTTP status {status}"),
        (None, None) => String::new(),
    };
    match probe.what.as_str() {
        "health" => format!("the server was not healthy after the probe requests{why}"),
        _ => format!(
            "{} of {} answered before the load began{why}",
            probe.ok,
            plural(f64::from(probe.asked), "probe request")
        ),
    }
}

/// What shows that the server answered, in words.
fn served(run: &Run, conclusions: &[Conclusion]) -> Option<String> {
    let probes: u32 = run.probes.iter().filter(|p| p.what != "health").map(|p| p.ok).sum();
    let results = run.points.iter().filter_map(|point| point.result.as_ref());
    let completed: u64 = results.map(|result| result.completed).sum();
    if completed > 0 {
        return Some(format!("the load tool counts {} answered", count(completed as f64)));
    }
    if conclusions.iter().any(|c| c.answered > 0) {
        return Some("its log has answers".to_owned());
    }
    if conclusions.iter().any(|c| c.worked) {
        return Some("its engine reports work".to_owned());
    }
    if probes > 0 {
        return Some(format!("{} answered", plural(f64::from(probes), "probe request")));
    }
    let readings: usize =
        run.sources.iter().filter(|s| s.engine.is_some()).map(|s| s.full.len()).sum();
    (readings > 1).then(|| format!("{} of its metrics", plural(readings as f64, "reading")))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "alive, and no request of the load was answered",
            evidence: r#"
== result
{"backend":"vllm","num_prompts":200,"completed":0,"failed":200}
== before
vllm:num_requests_running 0
== after
"#,
            status: Status::Pass,
            says: &["2 readings of its metrics", "counts 200 failed and none answered"],
        },
        Case {
            name: "a kernel failed under load",
            evidence: r#"
== log
(APIServer pid=1) INFO:     Application startup complete.
(APIServer pid=1) INFO:     10.0.0.5:1 - "POST /v1/completions HTTP/1.1" 200 OK
(EngineCore pid=5) ERROR 06-22 11:29:08 [core.py:1182] EngineCore encountered a fatal error.
(EngineCore pid=5) ERROR 06-22 11:29:08 [core.py:1182] Traceback (most recent call last):
(EngineCore pid=5) ERROR 06-22 11:29:08 [core.py:1182]   File "/v/gpu_model_runner.py", line 3920, in execute_model
(EngineCore pid=5) ERROR 06-22 11:29:08 [core.py:1182] torch.AcceleratorError: CUDA error: an illegal memory access was encountered
(APIServer pid=1) ERROR 06-22 11:29:08 [async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.
(APIServer pid=1) INFO:     10.0.0.5:2 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error
(APIServer pid=1) INFO:     Shutting down
"#,
            status: Status::Fail,
            says: &["illegal memory access", "line 6", "while serving"],
        },
        Case {
            name: "a refused request and an orderly end",
            evidence: r#"
== log
(APIServer pid=1) INFO:     Application startup complete.
(APIServer pid=1) INFO:     10.0.0.5:1 - "POST /v1/completions HTTP/1.1" 200 OK
(APIServer pid=1) ERROR 02-21 11:34:27 [serving.py:120] Error in preprocessing prompt inputs
(APIServer pid=1) ERROR 02-21 11:34:27 [serving.py:120] Traceback (most recent call last):
(APIServer pid=1) ERROR 02-21 11:34:27 [serving.py:120] ValueError: This model's maximum context length is 16384 tokens. However, you requested 19591 tokens.
(APIServer pid=1) INFO:     10.0.0.5:2 - "POST /v1/completions HTTP/1.1" 400 Bad Request
(APIServer pid=1) INFO 07-30 12:00:00 [launcher.py:80] Shutting down FastAPI HTTP server.
(EngineCore_0 pid=9) Traceback (most recent call last):
(EngineCore_0 pid=9) KeyboardInterrupt: terminated
(APIServer pid=1) ERROR 07-30 12:00:00 [async_llm.py:416] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.
"#,
            status: Status::Pass,
            says: &["no failure while it served: its log has answers"],
        },
        Case {
            name: "an error, and the scheduler went on",
            evidence: r#"
== log
[2026-09-22 06:12:12] server_args=ServerArgs(model_path='/m')
[2026-09-22 06:12:13] The server is fired up and ready to roll!
[2026-09-22 06:13:13] Failed to flush the metrics cache
Traceback (most recent call last):
  File "/s/x.py", line 3, in flush
OSError: [Errno 5] Input/output error
[2026-09-22 06:14:13] Decode batch, #running-req: 4, #token: 3261, token usage: 0.10, cuda graph: True, gen throughput (token/s): 165.08, #queue-req: 0
[2026-09-22 06:14:14] INFO:     10.0.0.5:2 - "POST /generate HTTP/1.1" 200 OK
"#,
            status: Status::Pass,
            says: &["1 error that it outlived"],
        },
        Case {
            name: "ready, and nothing more",
            evidence: "== log\nINFO 10-10 10:23:00 [a.py:1] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n",
            status: Status::Unknown,
            says: &["nothing shows that the server answered"],
        },
        Case {
            name: "never ready",
            evidence: "== log\nINFO 10-10 10:23:00 [a.py:1] vLLM API server version 0.11.0\nOSError: [Errno 98] Address already in use\n",
            status: Status::NotApplicable,
            says: &["never became ready"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "an error, and the scheduler went on",
        find: "Failed to flush the metrics cache",
        replace: "Scheduler hit an exception:",
        becomes: Status::Fail,
    };
}
