//! The engine's own loop failed while it handled requests.

use super::kind::{Kind, Told};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "kv_pool_exhausted",
        "the KV token pool, not the GPU's memory, had no room for a batch",
        &[
            // `Decode out of memory happened` announces a retraction.
            r"(?<what>Prefill out of memory|Decode out of memory)(?:[.,:;]|\s*$)",
            r"(?<what>alloc_req_slots runs out of memory)",
            r"(?<what>Out of memory even after retracting all other requests)",
        ],
        |t| {
            let what = t.part("what").unwrap_or("out of memory");
            let asked = t.find(r"(?i)(?:try to allocate|need) (\d+) tokens").map(|n| format!(" ({n} tokens wanted")).unwrap_or_default();
            let has = t.find(r"(?i)Available tokens: (\d+)").map(|n| format!(", {n} available")).unwrap_or_default();
            let close = if asked.is_empty() { "" } else { ")" };
            format!("{what}: the KV token pool was exhausted{asked}{has}{close}, not the GPU's memory; lower --max-running-requests or raise --schedule-conservativeness")
        },
    )
    .fatal(),
    Kind::new(
        "warmup_failed",
        "the server's own warm-up request failed, so it never became ready",
        &[r"Initialization failed\. warmup error", r"(?i)warm-?up (?:request )?(?:failed|error)\b", r"Backend\(Warmup\((?<why>.*)", r"Unable to warmup (?:the Python model shards|model): (?<why>.*)"],
        |t| {
            if let Some(why) = t.part("why") {
                return format!("the server's warm-up failed: {}; the shards' own lines may say more", super::kind::shorten(why, 170));
            }
            let why = match t.next {
                Some(e) if e.message.is_empty() => format!(" ({})", e.class),
                Some(e) => format!(" ({}: {})", e.class, super::kind::shorten(&e.message, 90)),
                None => String::new(),
            };
            format!("the server's warmup request failed{why}: 'Application startup complete' was printed, but the server was never ready")
        },
    ),
];

/// Exceptions that a main loop caught and announced; which loop decides the name.
pub(super) const LOOPS: &[(&str, &Kind)] = &[
    ("Scheduler hit an exception", &SCHEDULER),
    ("DetokenizerManager hit an exception", &DETOKENIZER),
    ("TokenizerManager hit an exception", &TOKENIZER),
    ("DataParallelController hit an exception", &CONTROLLER),
    ("TpModelWorkerClient hit an exception", &SCHEDULER),
    ("EngineCore encountered a fatal error", &ENGINE_CORE),
    // vLLM 0.8, and the loop of the engine before V1.
    ("EngineCore hit an exception", &ENGINE_CORE),
    ("Engine background task failed", &ENGINE_CORE),
    ("WorkerProc hit an exception", &WORKER),
    ("AsyncLLM output_handler failed", &OUTPUT),
    // TensorRT-LLM's PyTorch executor, 1.0 to 1.3.
    ("Error in event loop: ", &EXECUTOR),
];

const fn looped(name: &'static str, what: &'static str) -> Kind {
    Kind::new(name, what, &[], raised).fatal()
}

static SCHEDULER: Kind =
    looped("scheduler_exception", "the scheduler's loop ended with an exception");
static DETOKENIZER: Kind =
    looped("detokenizer_exception", "the detokenizer's loop ended with an exception");
static TOKENIZER: Kind =
    looped("tokenizer_exception", "the tokenizer's loop ended with an exception");
static CONTROLLER: Kind =
    looped("controller_exception", "the data-parallel controller's loop ended with an exception");
static ENGINE_CORE: Kind =
    looped("engine_core_exception", "the engine core's loop ended with an exception");
/// vLLM's API server reads all outputs in one task; metrics and tracing run inside it.
static OUTPUT: Kind =
    looped("output_handler_exception", "the API server's output loop ended with an exception")
        .refined(|t| {
            if t.came_through(&["tracing", "otel", "telemetry", "loggers", "metrics", "stats"]) {
                "telemetry_exception"
            } else {
                "output_handler_exception"
            }
        });
static EXECUTOR: Kind =
    looped("executor_loop_exception", "the executor's event loop ended with an exception");
static WORKER: Kind = looped("worker_exception", "a worker's loop ended with an exception");

/// Which loop an exception's header names.
pub(super) fn loop_of(header: &str) -> Option<&'static Kind> {
    LOOPS.iter().find(|(words, _)| header.contains(words)).map(|(_, kind)| *kind)
}

/// All loop kinds, for lists.
pub(super) fn loops() -> impl Iterator<Item = &'static Kind> {
    [&SCHEDULER, &DETOKENIZER, &TOKENIZER, &CONTROLLER, &ENGINE_CORE, &WORKER, &OUTPUT, &EXECUTOR]
        .into_iter()
}

/// An exception no kind knows: its class, its words, and where it was raised.
pub(super) fn raised(t: &Told<'_>) -> String {
    let Some(e) = t.exception else { return t.quote(200) };
    let message = e.message.trim();
    let place = e
        .frames
        .last()
        .map(|f| {
            format!(
                " (raised in {} at {}:{})",
                super::kind::shorten(&f.function, 60),
                f.file,
                f.line
            )
        })
        .unwrap_or_default();
    let lead = match loop_of(&e.header) {
        Some(kind) => format!("{} with ", kind.what.trim_end_matches(" with an exception")),
        None => String::new(),
    };
    let room =
        215_usize.saturating_sub(lead.chars().count() + place.chars().count() + e.class.len());
    let said = match (message.is_empty(), t.tail.iter().find(|l| !l.trim().is_empty())) {
        (false, _) => format!(": {}", super::kind::shorten(message, room)),
        (true, Some(next)) if !next.contains("xception") => {
            format!(": {}", super::kind::shorten(next, room))
        }
        _ => String::new(),
    };
    format!("{lead}{}{said}{place}", e.class)
}

/// What a program said it could not start for, where no nearer kind knows the reason.
pub(super) const REASONS: &[Kind] = &[Kind::new(
    "start_failed",
    "the engine named a reason for not starting that no rule knows",
    &[
        r"Failed to initialize executor on rank \d+: (?<why>\S.*)",
        r"Failed to create (?:instance|executor): (?<why>\S.*)",
        r"error loading model: (?<why>[^:]*[^:\s].*)",
    ],
    |t| {
        let why = super::kind::shorten(t.part("why").unwrap_or(t.text), 200);
        format!("the engine did not start: {why}")
    },
)];

/// An exception outside every known loop.
pub(super) static UNCLASSIFIED: Kind =
    Kind::new("unclassified_exception", "an exception that no rule knows", &[], |t| {
        format!("unclassified failure: {}", raised(t))
    });
