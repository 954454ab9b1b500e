//! A kernel or the card itself went wrong.

use super::kind::Kind;
use crate::pattern::Pattern;

const XID_WORDS: &str = r"NVRM: Xid \(PCI:(?<pci>[0-9a-fA-F:.]+)\): (?<xid>\d+)";

/// The driver's line in the kernel's log.
pub(super) static XID_LINE: Pattern = Pattern::new(XID_WORDS);

pub(super) const XID: Kind = Kind::new(
    "gpu_hardware_xid",
    "the driver reported a hardware error of the card",
    &[
        XID_WORDS,
        r"(?i)GPU has fallen off the bus",
        r"(?i)uncorrectable (?:ECC|NVLink) error",
        r"(?i)CUDA error: uncorrectable",
    ],
    |t| match (t.part("pci"), t.part("xid")) {
        (Some(pci), Some(xid)) => format!("the GPU at {pci} reported Xid {xid} in the kernel log: a hardware or driver fault; CUDA errors after it follow from it"),
        _ => t.say("the GPU failed in hardware", "see the kernel log for its Xid, and nvidia-smi -q"),
    },
)
.fatal()
.needs(super::kind::Needs::Nothing);

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "illegal_memory_access",
        "a kernel read or wrote outside its memory",
        &[
            r"an illegal memory access was encountered",
            r"CUDA_ERROR_ILLEGAL_ADDRESS",
            r"cudaErrorIllegalAddress",
            // AMD's driver.
            r"Memory access fault by GPU",
        ],
        |t| {
            if t.text.contains("Memory access fault") || t.text.contains("HIP") {
                return t.say(
                    "illegal memory access on the GPU",
                    "run once with AMD_SERIALIZE_KERNEL=3 to find the kernel",
                );
            }
            t.say(
                "CUDA illegal memory access",
                "run once with CUDA_LAUNCH_BLOCKING=1 to find the kernel",
            )
        },
    )
    .fatal(),
    Kind::new(
        "cuda_launch_failure",
        "a kernel failed on the card",
        &[
            r"(?i)unspecified launch failure",
            r"(?i)device-side assert triggered",
            r"(?i)misaligned address",
            r"(?i)an illegal instruction was encountered",
            r"(?i)invalid configuration argument",
            r"CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|NOT_INITIALIZED)",
            r"CUDNN_STATUS_\w+",
        ],
        |t| t.say("a CUDA kernel failed", "run once with CUDA_LAUNCH_BLOCKING=1 to find it"),
    )
    .fatal(),
    Kind::new(
        "kernel_out_of_resources",
        "a kernel asks for more shared memory or registers than the card has",
        &[r"OutOfResources: out of resource", r"(?i)too many resources requested for launch"],
        |t| {
            t.say(
                "a kernel does not fit this GPU",
                "its block sizes need another card, head size or data type",
            )
        },
    )
    .fatal(),
    Kind::new(
        "cuda_error",
        "CUDA returned an error that no nearer kind names",
        &[
            r"CUDA (?:runtime )?error(?: in .*\))?: (?<why>.+)",
            r"(?i)\bcudaError\w+\b.*",
            r"CUDA driver error: .*",
            r"Triton Error \[\w+\]: (?<why>.+)",
            r"HIP error: .*",
        ],
        |t| t.say("CUDA failed", "run once with CUDA_LAUNCH_BLOCKING=1 to find the call"),
    )
    .fatal(),
];
