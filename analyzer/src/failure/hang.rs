//! Nothing failed and nothing moves.

use super::kind::{Kind, Needs};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "scheduler_watchdog_timeout",
        "the scheduler's watchdog saw one batch take longer than its limit",
        &[
            r"(?i)(?<who>\w* ?)watchdog timeout \((?:self\.)?watchdog_timeout=(?<s>[\d.]+)",
            r"(?i)\w+ watchdog timeout \(",
        ],
        |t| {
            let who = match t.part("who") {
                None | Some("" | "Scheduler") => "scheduler",
                Some(who) => who,
            };
            let advice = "look for a stuck collective or a deadlocked rank";
            match t.part("s") {
                Some(s) => format!("the {who} hung: its watchdog fired because one batch took longer than {s} s, and it ends the server (watchdog timeout); {advice}"),
                None => t.say("the scheduler hung, its watchdog fired", advice),
            }
        },
    )
    .fatal(),
    Kind::new(
        "executor_hang",
        "the executor's hang detector saw no progress",
        &[
            r"Hang detected on rank (?<rank>\d+)",
            r"Hang detected after (?<s>\d+) seconds",
            r"HangDetector: ",
            r"V2 ?[Ss]cheduler[\]:]? (?:Declaring )?deadlock",
        ],
        |t| t.say("the executor stopped making progress", "it is shut down: look for a stuck collective or kernel"),
    )
    .fatal(),
    Kind::new(
        "health_check_failed",
        "the server stopped answering its own health check",
        &[
            r"(?i)health check failed\..*(?:couldn't|could not) get a response from (?<who>\w+) for (?:the )?last (?<s>\d+) seconds",
            r"(?i)couldn't get a response from (?<who>detokenizer|scheduler)",
            r"(?:\bkubelet\b.*|\bKilling\b.*|^)Container \S+ failed liveness probe, will be restarted",
        ],
        |t| {
            if t.text.contains("liveness probe") {
                return t.say("the server stopped answering its health check", "the orchestrator killed it for that");
            }
            let who = t.part("who").unwrap_or("the detokenizer");
            let s = t.part("s").map(|s| format!(" for {s} s")).unwrap_or_default();
            let end = match t.aside.exit {
                Some(137 | -9) => " and the container was killed from outside (exit 137, no OOM kill seen)",
                Some(code) if code != 0 => " and the server was ended",
                _ => "",
            };
            format!("the server stopped answering: no response from the {who}{s}, the health check failed {} times{end}", t.count)
        },
    )
    .refined(|t| match t.aside.exit {
        Some(137 | -9 | 143 | -15) => "health_check_failed_killed_externally",
        _ => "health_check_failed",
    })
    // The orchestrator reports it as news of its own.
    .needs(Needs::Nothing)
    .fatal(),
    Kind::new(
        "rpc_timeout",
        "a worker did not answer the engine in time",
        &[
            r"RPC call to (?<what>\w+) timed out",
            r"(?i)TimeoutError: RPC\b.*",
            r"(?i)execute_model timed out",
            r"(?i)timed out.{0,40}waiting for (?:worker|model execution|execute_model)",
            r"RayChannelTimeoutError: ",
            r"No heartbeat received from \w+",
            // V0 (`vllm/engine/async_llm_engine.py`, to 0.10).
            r"Engine iteration timed out",
        ],
        |t| t.say("a worker did not answer the engine in time", "the rank hangs: look for a stuck collective, or raise the timeout for slow compiles"),
    )
    .fatal(),
    Kind::new(
        "placement_group_timeout",
        "Ray could not place the workers within its limit",
        &[r"Cannot provide a placement group"],
        |t| t.say("Ray could not place the workers, the cluster has too few free GPUs", "check ray status and who holds them"),
    ),
    Kind::new(
        "engine_start_timeout",
        "the engine was not ready within the launcher's limit",
        &[
            r"(?i)timed out waiting for (?:the )?engine[ _]?core",
            r"(?:\bkubelet\b.*|\bKilling\b.*|^)Container \S+ failed startup probe, will be restarted",
            r"(?i)(?:engine|server|model|worker|shard)\w* (?:did not|didn't|failed to) (?:become ready|start|respond|initialize|come up)\w* (?:with)?in (?:\S+ )?(?:\d+|time)",
            r"(?i)(?:engine|startup|initiali[sz]ation|handshake)\b.{0,60}timed out",
            r"(?i)Timeout(?:Error)?.{0,60}(?:engine core|startup|handshake|initiali[sz]ation)",
        ],
        |t| {
            let headline = match t.find(r"(?i)waited (\d+) ?s") {
                Some(limit) => format!("the engine was not ready in time (within {limit} s)"),
                None => "the engine was not ready in time".to_owned(),
            };
            t.say(&headline, "loading was slower than the limit: raise it (VLLM_ENGINE_READY_TIMEOUT_S) or use faster storage")
        },
    ),
];

/// Waits that end by themselves as a rule. They are a cause only when a log ends with several of
/// them and the server never became ready.
pub(super) const WAITS: &[Kind] = &[
    Kind::new(
        "placement_group_wait",
        "Ray cannot place the workers: the cluster has too few free GPUs",
        &[r"Waiting for creating a placement group of specs for (?<s>\d+) seconds", r"Waiting for creating a placement group", r"Waiting for removing a placement group", r"(?i)No available node types can fulfill resource request"],
        |t| {
            let s = t.part("s").map(|s| format!(", {s} s at the last")).unwrap_or_default();
            format!("never became ready: Ray waits for a placement group (said {} times{s}), so the cluster has too few free GPUs; check ray status and who holds them", t.count)
        },
    )
    .needs(Needs::Nothing),
    Kind::new(
        "worker_stalled",
        "a worker process stopped taking part while the server started",
        &[r"No available (?:shared memory broadcast )?block found in (?<s>\d+) seconds?"],
        |t| format!("never became ready: a worker stopped taking part (no shared memory broadcast block found, said {} times); look for a slow compile or a stuck rank", t.count),
    )
    .needs(Needs::Nothing),
    Kind::new(
        "start_wait",
        "the server keeps waiting for something that does not come",
        &[
            r"(?i)waiting for .{0,60}(?:core engine|engine core|worker|node|rank|shard|port|leader|server|process)\w*.{0,80}",
            r"(?i)still waiting for .*",
        ],
        |t| format!("never became ready, waiting: {} (said {} times)", t.quote(150), t.count),
    )
    .needs(Needs::Nothing),
];
