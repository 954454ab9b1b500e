//! The host, not the GPU, ended a process or refused it memory.

use super::kind::{Kind, Needs, shorten};

/// Words that say a process was killed without saying why. They are a cause only when nothing
/// before them is: a launcher kills its children for every other cause too.
pub(super) const KILLED: Kind = Kind::new(
    "host_oom_killed",
    "a process was killed with SIGKILL, which the kernel does when the host (or the cgroup) runs out of memory",
    &[
        r"^Killed\s*$",
        r": line \d+:\s+\d+ Killed\b",
        // A shell's word of a job in the background, bash's and zsh's.
        r"^\[\d+\]\s*[-+]?\s*(?:\d+ )?(?i:killed)\s.*(?:vllm|sglang|trtllm)",
        r"(?i)\bexit ?code:? ?\(?-9\b",
        r"(?i)\bexit ?code[ :=]+137\b",
        r"(?i)\b(?:exited|terminated|died|crashed|failed) (?:with|by|due to)[\w ]* (?:-9|137|SIGKILL|signal 9)\b",
        r"Failed core proc\(s\): \{[^}]*: -9\b",
        r"SIGKILL by OOM killer",
        r"signaled to shutdown with signal 9",
        r"killed due to (?:the node running low on memory|memory pressure \(OOM\))",
        r"(?i)\boom[-_ ]?killed\b|oom[-_]kill event|Detected \d+ oom_kill|killed by the OOM killer|result 'oom-kill'",
        r"code=(?:killed|dumped), status=9/KILL",
        r"Out of memory: Killed process|Memory cgroup out of memory",
        r"exited on signal 9",
    ],
    |t| {
        let kernel = t.aside.kernel.as_ref().and_then(|k| k.oom.as_deref());
        let exit = match t.aside.exit {
            Some(code @ (137 | -9)) => format!(", exit status {code}"),
            _ => String::new(),
        };
        let code = t.find(r"(\{[^{}]*: -9[^{}]*\})").map(str::to_owned);
        let words = match code.unwrap_or_else(|| t.quote(70)) {
            words if words == "Killed" => String::new(),
            words => format!(" ('{words}')"),
        };
        match kernel {
            Some(line) => format!("the process was killed (SIGKILL{exit}) by the kernel's OOM killer: {}; the host ran out of memory", shorten(line, 110)),
            None => format!(
                "a server process was killed with SIGKILL{exit}{words}, likely by the host's OOM killer: see dmesg and the container's memory limit"
            ),
        }
    },
)
.fatal();

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "shm_too_small",
        "shared memory (/dev/shm) was too small for NCCL, Ray or a queue between processes",
        &[
            r"NCCL WARN.*(?:shared memory segment|/dev/shm|posix_fallocate)",
            r"(?i)posix_fallocate failed",
            r"(?i)error while creating shared memory segment",
            r"(?i)(?:unable to|failed to|could not) (?:open|extend|mmap|allocate|resize) (?:a )?shared memory",
            r"No space left on device.*(?:/dev/shm|/psm_|shared memory)|(?:/dev/shm|/psm_|shared memory).*No space left on device",
            r"insufficient shared memory",
            r"not enough space for \S*/dev/shm|the shared-memory backing file",
        ],
        |t| t.say("shared memory (/dev/shm) is too small", "start the container with a larger --shm-size or --ipc=host"),
    )
    .needs(Needs::Nothing)
    .fatal(),
    Kind::new(
        "host_out_of_memory",
        "the host, not the GPU, had no memory to give",
        &[
            r"Cannot allocate memory|can't allocate memory: you tried to allocate",
            r"^MemoryError\b|std::bad_alloc",
            r"(?i)not enough (?:host|CPU) memory",
            r"Too large swap space",
            r"(?:failed|unable) to allocate CPU\w* buffer",
        ],
        |t| t.say("the host has no memory left for it", "lower what is kept in host memory (offloading, swap, host cache), or give the container more"),
    ),
    Kind::new(
        "open_files_limit",
        "a process may not open any more files or sockets",
        &[r"(?i)too many open files", r"\[Errno 24\]|\bEMFILE\b"],
        |t| t.say("the limit of open files was reached", "raise it (ulimit -n, LimitNOFILE=, --ulimit nofile)"),
    ),
    Kind::new(
        "bus_error_shm",
        "SIGBUS: a mapped page could not be backed, as a rule because /dev/shm is full",
        &[
            r"\bSIGBUS\b",
            r"Fatal Python error: Bus error",
            r"\bBus error\b",
            r"(?i)\bexit(?:ed with)?(?: exit)? ?(?:code|status)[ :=]*\(?(?:-7|135)\b",
            r"status=7/BUS|Failed core proc\(s\): \{[^}]*: -7\b",
            r"shutdown with signal 7\b",
        ],
        |t| t.say("bus error (SIGBUS), as a rule a full /dev/shm", "start the container with a larger --shm-size or --ipc=host"),
    )
    .fatal(),
];

/// A process ended in native code. Like a kill it is often the consequence of what stands before it.
pub(super) const CRASHED: &[Kind] = &[
    Kind::new(
        "illegal_instruction",
        "the build uses instructions this CPU does not have",
        &[
            r"Illegal instruction",
            r"\bSIGILL\b",
            r"(?i)\bexit(?:ed with)?(?: exit)? ?(?:code|status)[ :=]*\(?(?:-4|132)\b",
            r"status=4/ILL|Failed core proc\(s\): \{[^}]*: -4\b",
            r"shutdown with signal 4\b",
        ],
        |t| {
            t.say(
                "this CPU lacks instructions the build uses (AVX-512?)",
                "use a build made for it",
            )
        },
    )
    .fatal(),
    Kind::new(
        "segmentation_fault",
        "a process crashed in native code",
        &[
            r"Segmentation fault",
            r"\bSIGSEGV\b",
            r"(?i)\bexit(?:ed with)?(?: exit)? ?(?:code|status)[ :=]*\(?(?:-11|139)\b",
            r"status=11/SEGV|Failed core proc\(s\): \{[^}]*: -11\b",
            r"Signal \(11\) received",
            r"shutdown with signal 11\b",
        ],
        |t| {
            t.say(
                "a server process crashed in native code",
                "run with PYTHONFAULTHANDLER=1 to see where",
            )
        },
    )
    .fatal(),
    Kind::new(
        "native_abort",
        "native code gave up: a failed assertion, an exception nobody caught, a panic",
        &[
            r"GGML_ASSERT\(.*\) failed",
            r"(?:terminate called.*)?what\(\): +(?<why>\S.*)",
            r"thread '[^']*' panicked at",
            r"(?i)\bfloating point exception\b|\bSIGFPE\b|\bexit ?code[ :=]*\(?(?:-8|136)\b",
            r"(?i)\bexit(?:ed with)?(?: exit)? ?(?:code|status)[ :=]*\(?(?:-6|134)\b",
            r"status=6/ABRT|Failed core proc\(s\): \{[^}]*: -6\b",
            r"\.(?:c|cc|cpp|cu|h|hpp)(?::\d+)?: .*Assertion .* failed",
        ],
        |t| t.say("native code gave up", "the words are the library's own"),
    )
    .fatal(),
    // TensorRT-LLM's runtime throws it: it refuses a request in the same way as it ends a start.
    Kind::new(
        "native_abort",
        "an assertion of TensorRT-LLM's runtime failed",
        &[r"(?:^|\[TensorRT-LLM\]\[ERROR\] )Assertion failed: (?<why>\S.*)"],
        |t| t.say("an assertion of the runtime failed", "the words are the library's own"),
    ),
];
