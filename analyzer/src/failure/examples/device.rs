//! Examples of the kinds of `device.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "no_kernel_image",
        &["no kernel image"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n",
    ),
    boot(
        "no_kernel_image",
        &["1300", "compute capability"],
        "main: loading model\n/l/ggml/src/ggml-cuda/mmq.cuh:2750: ERROR: HIP kernel mul_mat_q has no device code compatible with HIP arch 1300. ggml-cuda.cu was compiled for: 1100\n",
    ),
    boot(
        "no_kernel_image",
        &["invalid device function"],
        "RuntimeError: HIP error: invalid device function\n",
    ),
    boot(
        "no_kernel_image",
        &["fp8_scaled_mm", "75"],
        "[2026-01-01 10:01:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/gemm.py\", line 1, in fp8_scaled_mm\nNotImplementedError: No implemented fp8_scaled_mm for current compute capability: 75\n",
    ),
    boot(
        "no_kernel_image",
        &["sm75"],
        "[2026-01-01 10:00:00] server_args=ServerArgs(model_path='/m')\nRuntimeError: SGLang only supports sm75 and above.\n",
    ),
    boot(
        "quantization_unsupported_gpu",
        &["75", "80"],
        "ValueError: The quantization method awq_marlin is not supported for the current GPU. Minimum capability: 80. Current capability: 75.\n",
    ),
    boot(
        "quantization_unsupported_gpu",
        &["fp8e4nv"],
        "triton.compiler.errors.CompilationError: at 10:20: ValueError(\"type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')\")\n",
    ),
    boot(
        "quantization_unsupported_gpu",
        &["NVFP4"],
        "[2026-01-01 10:01:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/layers/quantization/modelopt_quant.py\", line 1, in __init__\nValueError: Current platform does not support NVFP4 quantization. Please use Blackwell and above.\n",
    ),
    boot(
        "dtype_unsupported_gpu",
        &["7.5", "half"],
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 instead.\n",
    ),
    boot(
        "dtype_unsupported_gpu",
        &["bfloat16", "sm_80"],
        "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas /tmp/tmpa1.ptx, line 92; error   : Feature '.bf16' requires .target sm_80 or higher\nptxas fatal   : Ptx assembly aborted due to errors\n",
    ),
    boot(
        "attention_unsupported_gpu",
        &["Ampere"],
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n",
    ),
    boot(
        "attention_unsupported_gpu",
        &["FlashAttention v3", "attention-backend"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/attention_registry.py\", line 3, in create_flashattention_v3_backend\nAssertionError: FlashAttention v3 Backend requires SM>=80 and SM<=90. Please use `--attention-backend flashinfer`.\n\n[2026-01-01 10:00:01] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    boot(
        "attention_unsupported_gpu",
        &["No valid attention backend"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: No valid attention backend found for cuda with AttentionSelectorConfig(head_size=256, dtype=torch.float16, use_mla=False). Reasons: {FLASH_ATTN: [compute capability not supported], TRITON_ATTN: [head_size not supported]}.\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    ("no_kernel_image", "RuntimeError: cudaErrorNoKernelImageForDevice"),
    (
        "no_kernel_image",
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1035",
    ),
    ("no_kernel_image", "RuntimeError: Triton Error [CUDA]: device kernel image is invalid"),
    (
        "quantization_unsupported_gpu",
        "ValueError: FP8 quantization requires a GPU of compute capability 8.9 or newer",
    ),
    (
        "attention_unsupported_gpu",
        "AssertionError: FA3 is only supported on devices with compute capability 9.0",
    ),
];
