//! What looks like a cause and is none.

use std::sync::LazyLock;

use crate::patterns::Patterns;

/// Lines (and the tracebacks they announce) of programs that went on. Each is harmless by its own
/// words or by the engine's source.
pub(super) const HARMLESS: &[&str] = &[
    r"(?i)failed to import (?:from )?\S+ with",
    r"(?i)^ignore import error",
    r"(?i)skipping import of",
    r"(?i)retrying \d+ of \d+|, retrying|will retry|retry(?:ing)? in ",
    r"Error querying CC and NVLE state",
    r"(?i)freeze_gc failed",
    r"(?i)py-?spy",
    r"Exception ignored in",
    r"resource_tracker",
    r"destroy_process_group\(\) was not called",
    r"(?i)\b\w*(?:Deprecation|Future|User|Runtime|Syntax|Resource|Import)Warning: ",
    r"(?i)report_usage|usage[_ ]stats|usage_lib",
    r"(?i)(?:failed|error|unable|transient error).{0,60}export(?:ing)? (?:traces|spans|span batch|metrics|batch)",
    r"(?i)opentelemetry",
    r"\[start of \S+ loading traceback\]",
    r"NOTE: Redirects are currently not supported",
    r"(?i)\b0 errors?\b",
    r"(?i)(?:^|[\w:,] )no errors?\b",
    r"(?i)error[_ ]?(?:rate|code)=?0\b",
    r"Failed to get device capability|Failed to load plugin",
    r"failed to mlock \d+-byte buffer",
    // SGLang's soft watchdog (`srt/utils/watchdog.py`, 0.5.6 on) dumps its state and ends nothing.
    r"watchdog timeout \(.*\bsoft=True\)",
];

static HARMLESS_SET: LazyLock<Option<Patterns>> = LazyLock::new(|| set(HARMLESS));

/// Lists of settings, dumps of a step's input and logged requests: what they quote is no event.
const QUOTES: &[&str] = &[
    "server_args=",
    "non-default args: ",
    "args: Namespace(",
    "kv_cache_config=KvCacheConfig(",
    " with config: ",
    "Dumping input data",
    "Dumping scheduler ",
    "Received request ",
    "Generated response ",
    "Generated streaming response ",
    "Receive: obj=",
    "Finish: obj=",
    "prompt: '",
    "prompt: \"",
    "\"prompt\":",
    "'prompt':",
    "\"messages\":",
    "'messages':",
    "\"content\":",
    "'content':",
    "params: SamplingParams(",
];

/// A request that was refused or that its client gave up: the server did its work.
pub(super) const REQUEST: &[&str] = &[
    r"(?i)maximum (?:context|input|model|sequence)?\s*length",
    r"(?i)is longer than the (?:model's|maximum|allowed)",
    r"(?i)(?:input|prompt|request|sequence)\b.{0,60}(?:too long|exceeds|longer than)",
    r"(?i)please reduce the length",
    r"(?i)exceeds the available context size",
    r"(?i)validation error for (?:\w*Request|body)|RequestValidationError",
    r"(?i)BadRequest|HTTPException|\b4\d\d (?:Bad|Not|Unauth|Forbidden|Unprocess|Too Many)",
    r"(?i)must (?:not )?be (?:positive|non-?negative|at least|at most|between|in \[|greater|less)",
    r"(?i)invalid (?:json|grammar|regex|json schema|image|base64|url|audio)",
    r"(?i)jinja2?\.|TemplateError|chat template",
    r"(?i)model `?\S+`? does not exist",
    r"(?i)client (?:has )?disconnect|ClientDisconnect|is disconnected, abort|disconnected from the client|Request .{0,80} aborted",
    r"(?i)CancelledError|ConnectionResetError|BrokenPipeError|Broken pipe|Connection reset by peer|EndOfStream|WouldBlock|LocalProtocolError|ConnectionClosed|ConnectionAborted",
    r"(?i)request queue (?:is )?full|QueueOverflow|MaxQueuedTokens|overloaded|model is overloaded",
    r"(?i)cancel task, id_task",
];

static REQUEST_SET: LazyLock<Option<Patterns>> = LazyLock::new(|| set(REQUEST));

/// Re-raised and reported errors: they say that there is a cause, not which.
const WRAPPERS: &[&str] = &[
    r"Engine core initialization failed",
    r"Engine process failed to start",
    r"EngineCore failed to start",
    r"(?i)WorkerProc (?:initialization failed|failed to start|hit an exception)",
    r"Worker failed with error",
    r"EngineDeadError|EngineCore encountered an issue|EngineCore encountered a fatal error",
    r"AsyncLLM output_handler failed",
    r"MQLLMEngine is already dead|MQEngineDeadError|Engine loop is not running|AsyncEngineDeadError|Background loop (?:has errored|is stopped)",
    r"Got fatal signal from worker processes",
    r"(?i)received sigquit from a child|SIGQUIT received",
    r"(?i)Executor worker (?:returned error|died|process)",
    r"ShardCannotStart|WebserverFailed|Webserver Crashed|Shard \d+ failed to start|Shard complete standard error output",
    r"RayActorError|RayTaskError|ActorDiedError|ActorUnavailableError",
    r"failed to be inspected",
    r"^EOFError\s*$|raise EOFError",
    r"(?i)exiting due to model loading error|failed to load model|error loading model:? *$|error loading model: unable to allocate",
    r"(?i)scheduler is dead|scheduler died|child failed",
    r"(?i)died unexpectedly|exited unexpectedly|crashed with exit code|Engine process \(pid \d+\) died",
    r"hit an exception: *(?:%s|Traceback)?\s*$",
    // vLLM's launcher of its frontends (`vllm/v1/utils.py`, 0.9 on).
    r"Process \w+ \(PID: \d+\) died with exit code",
    r"Exception in worker \w+ while processing method",
    r"ChildFailedError|ProcessRaisedException|ProcessExitedException|BrokenProcessPool",
    r"CppExecutorError|RequestError: Engine|Health check detected fatal engine error",
    r"(?i)failed to load all models|failed to create instance|failed to load '\w+' version|modelInstanceState",
    r"CalledProcessError: Command",
    r"BackendCompilerFailed: .*raised:\s*$",
    r"^(?:Initialization|Startup|Server) failed\.?$",
    r"^SystemExit|^KeyboardInterrupt|^GeneratorExit",
    r"terminate called after throwing",
    r"^Error: Webserver",
];

static WRAPPERS_SET: LazyLock<Option<Patterns>> = LazyLock::new(|| set(WRAPPERS));

/// What a rank says when another one is gone.
const PEER_GONE: &[&str] = &[
    r"(?i)connection closed by peer",
    r"(?i)connection reset by peer|broken ?pipe|ConnectionResetError",
    r"(?i)remote process (?:exited|has)|ncclRemoteError",
    r"(?i)^RuntimeError: cancelled",
    r"(?i)worker \w+ pid \d+ died|Worker proc \S+ died",
    r"(?i)connection refused",
];

static PEER_GONE_SET: LazyLock<Option<Patterns>> = LazyLock::new(|| set(PEER_GONE));

fn set(sources: &'static [&'static str]) -> Option<Patterns> {
    Patterns::new(sources.iter().copied())
}

fn any(set: &LazyLock<Option<Patterns>>, text: &str) -> bool {
    set.as_ref().is_some_and(|set| set.any(text))
}

pub(super) fn is_harmless(text: &str) -> bool {
    any(&HARMLESS_SET, text)
}

/// Where quoted text begins, when the line quotes a request or lists settings.
pub(super) fn quotes(text: &str) -> bool {
    QUOTES.iter().any(|words| text.contains(words))
}

pub(super) fn is_request(text: &str) -> bool {
    any(&REQUEST_SET, text)
}

pub(super) fn is_wrapper(text: &str) -> bool {
    any(&WRAPPERS_SET, text)
}

pub(super) fn is_peer_gone(text: &str) -> bool {
    any(&PEER_GONE_SET, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for set in [&HARMLESS_SET, &REQUEST_SET, &WRAPPERS_SET, &PEER_GONE_SET] {
            assert!(set.is_some());
        }
    }
}
