//! Examples of the kinds of `jit.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "jit_no_nvcc",
        &["CUDA_HOME"],
        "(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1] RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist\n",
    ),
    boot(
        "jit_no_nvcc",
        &["nvcc"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/f/jit/env.py\", line 3, in f\nFileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'\n\n[2026-01-01 10:00:00] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    boot(
        "jit_missing_header",
        &["Python.h", "python3-dev"],
        "(EngineCore pid=7) /tmp/tmpx/main.c:3:10: fatal error: Python.h: No such file or directory\n(EngineCore pid=7)     3 | #include <Python.h>\n(EngineCore pid=7) compilation terminated.\n(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1] subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpx/main.c']' returned non-zero exit status 1.\n",
    ),
    boot(
        "jit_missing_header",
        &["cublas_v2.h"],
        "RuntimeError: Ninja build failed. Ninja output:\nFAILED: [code=1] gemm.cuda.o\n/f/gemm.cuh:12:10: fatal error: cublas_v2.h: No such file or directory\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_missing_header",
        &["cuda_fp8.h"],
        "(EngineCore pid=7) /usr/lib/llvm/bin/clang -c k.cu\n(EngineCore pid=7) /f/k.cuh:9:10: fatal error: 'cuda_fp8.h' file not found\n(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1] subprocess.CalledProcessError: Command '['clang', 'k.cu']' returned non-zero exit status 1.\n",
    ),
    boot(
        "jit_ptxas_arch",
        &["sm_103a"],
        "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas fatal   : Value 'sm_103a' is not defined for option 'gpu-name'\n",
    ),
    boot(
        "jit_ptxas_arch",
        &[".version 8.8"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/t/backends/nvidia/compiler.py\", line 3, in make_cubin\ntriton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas /tmp/tmpb2.ptx, line 5; fatal   : Unsupported .version 8.8; current version is '8.4'\n",
    ),
    boot(
        "jit_nvcc_arch",
        &["compute_120a"],
        "RuntimeError: Ninja build failed. Ninja output:\nFAILED: [code=1] a.cuda.o\nnvcc fatal   : Unsupported gpu architecture 'compute_120a'\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_nvcc_arch",
        &["No supported CUDA architectures"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: No supported CUDA architectures found for major versions [12].\n",
    ),
    boot(
        "jit_nvcc_arch",
        &["12.1"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/t/utils/cpp_extension.py\", line 3, in _get_cuda_arch_flags\nValueError: Unknown CUDA arch (12.1) or GPU not supported\n\n",
    ),
    boot(
        "jit_header_mismatch",
        &["headers are incompatible"],
        "RuntimeError: Ninja build failed. Ninja output:\n/c/cuda_toolkit.h:41:8: error: #error \"CUDA compiler and CUDA toolkit headers are incompatible, please check your include paths\"\n",
    ),
    boot(
        "jit_header_mismatch",
        &["unsupported GNU version"],
        "RuntimeError: Error building extension 'x': [1/2] nvcc\n/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!\n",
    ),
    boot(
        "jit_missing_library",
        &["-lcudart"],
        "RuntimeError: Ninja build failed. Ninja output:\n/usr/bin/ld: cannot find -lcudart: No such file or directory\ncollect2: error: ld returned 1 exit status\n",
    ),
    boot(
        "jit_missing_library",
        &["-lcuda"],
        "(EngineCore pid=7) ld.lld: error: unable to find library -lcuda\n(EngineCore pid=7) clang: error: linker command failed with exit code 1 (use -v to see invocation)\n(EngineCore pid=7) ERROR 09-05 11:20:16 [core.py:1] subprocess.CalledProcessError: Command '['/usr/bin/clang', '/tmp/tmpx/main.c']' returned non-zero exit status 1.\n",
    ),
    boot(
        "jit_no_compiler",
        &["compiler"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.\n",
    ),
    boot(
        "jit_no_compiler",
        &["ninja"],
        "Traceback (most recent call last):\n  File \"/f/jit/cpp_ext.py\", line 3, in run_ninja\nFileNotFoundError: [Errno 2] No such file or directory: 'ninja'\n",
    ),
    boot(
        "jit_compiler_killed",
        &["host ran out of memory"],
        "RuntimeError: Ninja build failed. Ninja output:\nnvcc error   : 'cicc' died due to signal 9 (Kill signal)\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_compiler_killed",
        &["MAX_JOBS"],
        "RuntimeError: Error building extension 'fused': [1/3] c++ -MMD -c fused.cpp\nFAILED: fused.o\nc++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
    ),
    boot(
        "jit_compile_error",
        &["no member"],
        "RuntimeError: Ninja build failed. Ninja output:\nFAILED: [code=1] a.cuda.o\n/f/norm.cuh(88): error: class \"vec_t\" has no member \"cast_load\"\n1 error detected in the compilation of \"norm.cu\".\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_compile_error",
        &["vec_n.h"],
        "torch._inductor.exc.InductorError: CppCompileError: C++ compile error\n\nCommand:\ng++ /tmp/torchinductor_root/cx/k.main.cpp -O3 -o /tmp/k.so\n\nOutput:\n/t/include/ATen/cpu/vec/vec_n.h:80:1: error: invalid use of incomplete type 'class at::vec::VectorizedN<float, 2>'\n",
    ),
    boot(
        "jit_compile_error",
        &["tl.dot", "CompilationError"],
        "(Worker_TP0 pid=7) ERROR 01-01 10:00:00 [m.py:1] triton.compiler.errors.CompilationError: at 33:15: AssertionError('Input shapes should have M >= 16, N >= 16 and K >= 16 in tl.dot')\n",
    ),
    boot(
        "jit_build_failed",
        &["not in the log"],
        "RuntimeError: Ninja build failed. Ninja output:\nninja: Entering directory `/root/.cache/flashinfer'\nninja: build stopped: subcommand failed.\n",
    ),
    boot(
        "jit_build_failed",
        &["not in the log"],
        "[2026-01-01 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/t/utils/cpp_extension.py\", line 3, in _run_ninja_build\nRuntimeError: Error building extension 'sgl_jit'\n\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    ("jit_no_nvcc", "/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found"),
    ("jit_no_nvcc", "RuntimeError: Could not find CUDA_HOME on this machine"),
    (
        "jit_no_nvcc",
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
    ),
    ("jit_no_nvcc", "RuntimeError: CUDA_HOME must be set to build the kernels"),
    (
        "jit_missing_header",
        "/f/k.cuh(9): catastrophic error: cannot open source file \"cuda_fp4.h\"",
    ),
    (
        "jit_ptxas_arch",
        "ptxas /tmp/a.ptx, line 9; error   : Feature 'cp.async' requires .target sm_80 or higher",
    ),
    (
        "jit_ptxas_arch",
        "ptxas /tmp/a.ptx, line 9; error   : Feature '.bulk' requires .target sm_90 or higher",
    ),
    ("jit_nvcc_arch", "RuntimeError: SM 12.x requires CUDA >= 12.9"),
    ("jit_nvcc_arch", "RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)"),
    ("jit_no_compiler", "RuntimeError: Ninja build failed. /bin/sh: 1: g++: not found"),
    (
        "jit_no_compiler",
        "RuntimeError: Ninja is required to load C++ extensions (pip install ninja to get it)",
    ),
    ("jit_no_compiler", "gcc: fatal: cannot execute 'cc1plus': execvp: No such file or directory"),
    ("jit_compile_error", "FAILED: k.so\n/bin/sh: 1: ccache: not found"),
    (
        "jit_compile_error",
        "FAILED: k.so\nk.o: in function `run': undefined reference to `cuTensorMapEncodeTiled'",
    ),
    (
        "jit_build_failed",
        "subprocess.CalledProcessError: Command '['ninja', '-v', '-j', '8']' returned non-zero exit status 255.",
    ),
    ("jit_compile_error", "RuntimeError: failed to translate module to LLVM IR"),
];
