//! The card is there and works, but cannot do what was asked of it.

use super::kind::{Kind, Told};

pub(super) const KINDS: &[Kind] = &[
    Kind::new(
        "no_kernel_image",
        "the build holds no code for this GPU",
        &[
            r"no kernel image is available",
            r"cudaErrorNoKernelImageForDevice",
            r"has no device code compatible with (?:CUDA|HIP) arch",
            r"only supports sm\d+ and above",
            r"TensileLibrary.*for GPU arch",
            r"(?i)HIP error: invalid device function|hipErrorNoBinaryForGpu",
            r"No (?:compiled|implemented) \w+ for .{0,30}compute capability",
            r"device kernel image is invalid",
        ],
        |t| {
            t.say(
                "this build has no kernels for the GPU",
                "install a build made for its compute capability",
            )
        },
    )
    .fatal(),
    Kind::new(
        "quantization_unsupported_gpu",
        "the GPU is older than the quantisation needs",
        &[
            r"Min(?:imum)? capability:? *(?<need>\d+)\D+Current capability:? *(?<has>\d+)",
            r"(?i)quantization .{0,60}not supported (?:for|on|by) .{0,20}(?:GPU|device|platform)",
            r"(?i)(?:platform|device|GPU|hardware) does not support \w+ quantization",
            r"type fp8e4nv not supported in this architecture",
            r"(?i)(?:FP8|FP4|NVFP4|MXFP4|INT4|AWQ|Marlin)\b.{0,80}(?:requires|needs|only supported).{0,40}(?:compute capability|capability|SM ?\d+|Ampere|Hopper|Ada|Blackwell)",
        ],
        |t| match (t.part("need"), t.part("has")) {
            (Some(need), Some(has)) => format!(
                "the quantization is not supported on this GPU: it needs compute capability {need}, the card has {has}; use another checkpoint or card"
            ),
            _ => t.say(
                "the quantization is not supported on this GPU",
                "use another checkpoint or card",
            ),
        },
    ),
    Kind::new(
        "dtype_unsupported_gpu",
        "the GPU cannot compute in the model's data type",
        &[
            r"(?i)bfloat16 is only supported.*?capability of at least (?<need>[\d.]+).*?capability (?<has>[\d.]+)",
            r"(?i)bfloat16 is (?:only|not) supported",
            r"Feature '\.bf16\S*' requires \.target sm_\d+",
        ],
        |t| match (t.part("need"), t.part("has")) {
            (Some(need), Some(has)) => format!(
                "bfloat16 needs compute capability {}, this GPU has {}; start with {}",
                need.trim_end_matches('.'),
                has.trim_end_matches('.'),
                half(t)
            ),
            _ => t.say("this GPU has no bfloat16", half(t)),
        },
    ),
    Kind::new(
        "attention_unsupported_gpu",
        "the attention kernels asked for do not run on this GPU",
        &[
            r"(?i)Flash[ -]?Attention (?:v?\d )?(?:backend )?(?:only supports|requires) .*",
            r"(?i)(?:FA[23]|flash ?attn?|flashinfer|flashmla|cutlass).{0,40}(?:only supported|not supported|requires).{0,60}(?:capability|GPU|Ampere|Hopper|device)",
            r"No valid attention backend found.*compute capability not supported",
        ],
        |t| {
            t.say(
                "the attention backend does not run on this GPU",
                t.advise(
                    "choose another --attention-backend",
                    "choose another --attention-backend",
                    "choose another attn_backend",
                ),
            )
        },
    ),
];

fn half(t: &Told<'_>) -> &'static str {
    t.advise("--dtype=half (float16)", "--dtype half (float16)", "dtype float16")
}
