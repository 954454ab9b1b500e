//! The marks in a server's life that its log shows.

use crate::pattern::Pattern;

/// Somebody outside asked the server to stop.
const STOPS: &[&str] = &[
    "[shutdown] API server: shutdown triggered",
    "trigger received signal=SIGTERM",
    "trigger received signal=SIGINT",
    "SIGTERM received",
    "Received SIGTERM",
    "received SIGTERM",
    "Received SIGINT",
    "Received signal 15",
    "received signal 15",
    "received signal SIGTERM",
    "Caught signal 15",
    "Shutting down FastAPI HTTP server",
    "KeyboardInterrupt: terminated",
    "KeyboardInterrupt",
    "Gracefully exiting",
    "signal received, starting graceful shutdown",
    "HTTP server shutdown requested",
    "Waiting for connections to close. (CTRL+C to force quit)",
    "DUE TO TIME LIMIT",
    "CANCELLED AT",
    "DUE TO PREEMPTION",
    "received signal 2",
    "Received termination signal",
];

/// Uvicorn and llama.cpp say this also when the server ends itself; before any error it is a stop.
const CLOSINGS: &[&str] = &[
    "Shutting down",
    "cleaning up before exit",
    "Waiting for application shutdown",
    "Application shutdown complete",
    "Finished server process",
];

/// The engine, or what carries it, is dead.
const DEATHS: &[&str] = &[
    "EngineDeadError",
    "EngineCore encountered a fatal error",
    "EngineCore encountered an issue",
    "AsyncLLM output_handler failed",
    "engine core exited unexpectedly",
    "died unexpectedly",
    "Engine core initialization failed",
    "EngineCore failed to start",
    "Engine process failed to start",
    "MQLLMEngine is already dead",
    "MQEngineDeadError",
    "AsyncEngineDeadError",
    "Background loop has errored",
    "Engine loop is not running",
    "Got fatal signal from worker processes",
    "Received sigquit from a child process",
    "SIGQUIT received",
    "kill_process_tree called",
    "Scheduler hit an exception",
    "DetokenizerManager hit an exception",
    "TokenizerManager hit an exception",
    "DataParallelController hit an exception",
    "scheduler is dead",
    // V0 (`vllm/engine/async_llm_engine.py`, to 0.10): the loop of all requests has ended.
    "Engine background task failed",
    "Executor worker returned error",
    // `_event_loop_wrapper` (`tensorrt_llm/_torch/pyexecutor/py_executor.py`, 1.0 to 1.3): the thread
    // that runs requests ends, and the server stays.
    "Error in event loop: ",
    "CppExecutorError",
    "Health check detected fatal engine error",
    "Hang detected on rank",
    "propagating hard-kill",
    "Executor loop crashed on this rank",
    "Webserver Crashed",
    "Shard complete standard error output",
    "Shard process was signaled",
    "terminate called",
    "Fatal Python error",
    "Segmentation fault",
    "core dumped",
    "exiting due to model loading error",
    "WorkerProc hit an exception",
    "WorkerProc failed to start",
    "Exception occurred while running API servers",
];

static ACCESS: Pattern = Pattern::new(
    r#""?(?<method>GET|POST|PUT|DELETE) (?<path>/\S*)(?: HTTP/[\d.]+"?)? (?:\S+ )?(?<status>[1-5]\d\d)\b"#,
);

/// What one line says of the server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Stop,
    Closing,
    Death,
    /// A generating request was answered with success.
    Answered,
    /// A generating request ended in a server error.
    ServerError,
    None,
}

pub(super) fn mark(text: &str) -> Mark {
    let has = |list: &[&str]| list.iter().any(|words| text.contains(words));
    if has(DEATHS) {
        return Mark::Death;
    }
    if has(STOPS) {
        return Mark::Stop;
    }
    if has(CLOSINGS) {
        return Mark::Closing;
    }
    access(text)
}

fn access(text: &str) -> Mark {
    if !text.contains("POST ") {
        return Mark::None;
    }
    let Some(found) = ACCESS.find(text) else { return Mark::None };
    let path = found.part("path").unwrap_or_default();
    let generates = [
        "completion",
        "/generate",
        "/v1/messages",
        "/v1/responses",
        "/v1/embeddings",
        "/invocations",
        "/infill",
    ];
    if !generates.iter().any(|g| path.contains(g)) {
        return Mark::None;
    }
    match found.part("status").unwrap_or_default().as_bytes().first() {
        Some(b'2') => Mark::Answered,
        Some(b'5') => Mark::ServerError,
        _ => Mark::None,
    }
}

/// How what started a process says that it ended, and with what: systemd, supervisord, pm2. The last
/// two write of all their programs into one log: the server's is told by its name.
static ENDED: Pattern = Pattern::new(
    r"\.service: Main process exited, code=(?<systemd>\w+, status=\d+)|exited: (?i:\S*(?:vllm|sglang|trt|llm|infer)\S*) \((?:exit status (?<supervisord>\d+)|terminated by SIG(?:KILL|SEGV|ABRT|BUS|QUIT|ILL|FPE)); not expected\)|App \[(?i:\S*(?:vllm|sglang|trt|llm|infer)\S*)\] exited with code \[(?<pm2>\d+)\]",
);

/// `vllm-1 exited with code 1`, as `docker compose` says it.
static CONTAINER: Pattern = Pattern::new(
    r"^(?<name>[A-Za-z][\w.-]*) exited with code (?<status>\d+)(?: \(restarting\))?\s*$",
);

/// Statuses of a process that ended in order, or was asked to: SIGINT, SIGTERM, as 128 + n and as
/// systemd says them. A status of 2 is that of flags the server does not know.
const IN_ORDER: [&str; 8] = [
    "0",
    "130",
    "143",
    "exited, status=0",
    "exited, status=130",
    "exited, status=143",
    "killed, status=2",
    "killed, status=15",
];

/// What a line says of the end of a process, by the words of what started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End<'t> {
    /// The one process that the log is of ended badly.
    Badly,
    /// This container ended, badly or in order.
    Container {
        name: &'t str,
        badly: bool,
    },
    None,
}

pub(super) fn end(text: &str) -> End<'_> {
    if !text.contains("xited") {
        return End::None;
    }
    if let Some(found) = CONTAINER.find(text) {
        let (name, status) = (found.part("name"), found.part("status"));
        let badly = !status.is_some_and(|status| IN_ORDER.contains(&status));
        return name.map_or(End::None, |name| End::Container { name, badly });
    }
    let Some(found) = ENDED.find(text) else { return End::None };
    let status = ["systemd", "supervisord", "pm2"].into_iter().find_map(|name| found.part(name));
    if status.is_some_and(|status| IN_ORDER.contains(&status)) { End::None } else { End::Badly }
}

/// Words worth reading a line for: marks of a life's end, in any state.
pub(super) fn end_words() -> impl Iterator<Item = &'static str> {
    STOPS.iter().chain(CLOSINGS).chain(DEATHS).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_is_read_in_its_starters_words() {
        let cases = [
            ("vllm.service: Main process exited, code=exited, status=1/FAILURE", End::Badly),
            ("vllm.service: Main process exited, code=killed, status=9/KILL", End::Badly),
            ("vllm.service: Main process exited, code=killed, status=15/TERM", End::None),
            ("vllm.service: Main process exited, code=exited, status=143/n/a", End::None),
            (
                "vllm.service: Main process exited, code=exited, status=2/INVALIDARGUMENT",
                End::Badly,
            ),
            ("INFO exited: vllm (exit status 2; not expected)", End::Badly),
            ("INFO exited: vllm (exit status 1; not expected)", End::Badly),
            ("INFO exited: vllm (terminated by SIGSEGV (core dumped); not expected)", End::None),
            ("INFO exited: vllm (terminated by SIGKILL; not expected)", End::Badly),
            ("INFO exited: nginx (exit status 1; not expected)", End::None),
            ("PM2 | App [vllm:0] exited with code [1] via signal [SIGINT]", End::Badly),
            ("PM2 | App [vllm:0] exited with code [0] via signal [SIGINT]", End::None),
            (
                "vllm-1 exited with code 1 (restarting)",
                End::Container { name: "vllm-1", badly: true },
            ),
            ("bench-1 exited with code 0", End::Container { name: "bench-1", badly: false }),
            ("a client exited with code 1 before", End::None),
        ];
        for (text, want) in cases {
            assert_eq!(end(text), want, "{text}");
        }
    }

    #[test]
    fn access_lines_of_every_server_are_read() {
        let cases = [
            ("10.0.0.5:41000 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK", Mark::Answered),
            ("127.0.0.1:1 - \"POST /generate HTTP/1.1\" 200 OK", Mark::Answered),
            (
                "10.0.0.5:41010 - \"POST /v1/completions HTTP/1.1\" 500 Internal Server Error",
                Mark::ServerError,
            ),
            ("10.0.0.5:41010 - \"POST /v1/completions HTTP/1.1\" 400 Bad Request", Mark::None),
            ("127.0.0.1:1 - \"POST /tokenize HTTP/1.1\" 200 OK", Mark::None),
            ("127.0.0.1:1 - \"GET /health HTTP/1.1\" 200 OK", Mark::None),
            (
                "srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 200",
                Mark::Answered,
            ),
        ];
        for (text, want) in cases {
            assert_eq!(mark(text), want, "{text}");
        }
    }
}
