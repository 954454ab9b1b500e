//! Ranks that could not find each other, or stopped taking part.

use super::kind::Kind;

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "nccl_timeout",
        "a collective operation did not complete: a rank never joined it",
        &[
            r"Watchdog caught collective operation timeout.*SeqNum=(?<seq>\d+), OpType=(?<op>\w+).*Timeout\(ms\)=(?<limit>\d+)",
            r"Watchdog caught collective operation timeout",
            r"Timeout at NCCL work: \d+",
            r"(?i)NCCL.{0,60}(?:operation|communicator|collective).{0,40}tim(?:ed out|eout)",
        ],
        |t| match (t.part("op"), t.part("seq"), t.part("limit").and_then(|ms| ms.parse::<u64>().ok())) {
            (Some(op), Some(seq), Some(ms)) => {
                let hint = if seq == "1" {
                    "the first one of all: check GPU peer-to-peer, NCCL_P2P_DISABLE=1 and the interconnect"
                } else {
                    "a rank stopped taking part: look at the other ranks' logs"
                };
                format!("NCCL timed out: {op} (SeqNum={seq}) had not completed after {} s, {hint}", ms / 1000)
            }
            _ => t.say("NCCL timed out in a collective operation", "a rank stopped taking part"),
        },
    )
    .fatal(),
    Kind::new(
        "mpi_spawn_failed",
        "MPI could not start the worker processes",
        &[
            r"MPI_ERR_\w+",
            r"PRTE ERROR",
            r"detected an attempt to run as root",
            r"(?i)There are not enough slots available in the system",
            r"All nodes which are allocated for this job are already filled",
            r"ORTE_ERROR_LOG",
            r"(?i)orted? (?:daemon )?(?:has )?unexpectedly (?:terminated|failed)",
        ],
        |t| t.say("MPI could not start the worker processes", "under Slurm start it with trtllm-llmapi-launch or mpirun, with enough slots"),
    ),
    Kind::new(
        "engine_version_mismatch",
        "the engine file was built by another TensorRT version",
        &[
            r"Version tag does not match.*Current Version: (?<now>\d+), Serialized Engine Version: (?<was>\d+)",
            r"Version tag does not match",
            r"(?i)engine plan file is (?:not compatible|generated on an incompatible)",
            r"(?i)engine (?:was )?built (?:with|by) (?:a )?different (?:TensorRT|version)",
        ],
        |t| match (t.part("now"), t.part("was")) {
            (Some(now), Some(was)) => format!("the engine was built by another TensorRT version (this one reads version {now}, the engine is {was}): rebuild the engine"),
            _ => t.say("the engine was built by another TensorRT version", "rebuild the engine"),
        },
    ),
    Kind::new(
        "rendezvous_timeout",
        "the ranks did not meet in time",
        &[
            r"(?i)timed out after (?<s>\d+) seconds waiting for clients",
            r"(?i)client socket has timed out after (?<s>\d+)",
            r"(?i)(?:TCPStore|rendezvous|DistStore)\w*.{0,80}tim(?:ed out|eout)",
            r"(?i)connect\(\) timed out.*(?:Original timeout was|master)",
            r"Gloo connectFullMesh failed",
            r"wait timeout after \d+ms, keys: ",
        ],
        |t| t.say("the ranks did not find each other in time", "check the master address, the ports between nodes and that every rank was started"),
    ),
    Kind::new(
        "nccl_error",
        "NCCL failed, with no more specific line in the log",
        &[
            r"NCCL error\b.*(?<why>unhandled (?:system|cuda) error|invalid usage|internal error)",
            r"ncclSystemError|ncclUnhandledCudaError|ncclInvalidUsage|ncclInternalError",
            r"NCCL [Ee]rror:? (?:\d+: )?(?:unhandled|invalid|internal)",
            r"NCCL WARN (?:Cuda failure|Error|Call to|Failed)",
        ],
        |t| t.say("NCCL failed", "run with NCCL_DEBUG=INFO to see which call"),
    ),
];
