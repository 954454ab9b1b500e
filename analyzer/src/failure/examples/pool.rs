//! Examples of the kinds of `pool.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "kv_cache_too_small",
        &["131072", "17632"],
        "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (17632). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n",
    ),
    boot(
        "kv_cache_too_small",
        &["8.0", "1.2", "6144"],
        "(EngineCore pid=7) ERROR 01-01 10:00:00 [core.py:1] ValueError: To serve at least one request with the models's max seq len (40960), (8.0 GiB KV cache is needed, which is larger than the available KV cache memory (1.2 GiB). Based on the available memory, the estimated maximum model length is 6144.\n",
    ),
    boot(
        "state_cache_too_small",
        &["mamba"],
        "[2026-01-01 10:00:00] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nRuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any requests. max_mamba_cache_size=0\n",
    ),
    boot(
        "state_cache_too_small",
        &["512"],
        "(EngineCore pid=7) ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (512). Reduce max_num_seqs.\n",
    ),
    boot(
        "no_memory_for_kv_cache",
        &["mem-fraction-static", "0.62"],
        "[2026-01-01 10:00:00] Scheduler hit an exception: Traceback (most recent call last):\n  File \"/s/x.py\", line 3, in f\nValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.5. Raise --mem-fraction-static above 0.62 (minimum viable = 0.62).\n",
    ),
    boot(
        "no_memory_for_kv_cache",
        &["could not be created: KV cache", "9.86", "140.06"],
        "[07/08/2025-19:47:15] [TRT-LLM] [RANK 1] [E] Failed to initialize executor on rank 1: Executor creation failed due to insufficient GPU memory.\n\nThe following component could not be created: KV cache\nTotal GPU memory (GiB): 140.06\nFree GPU memory before component creation attempt (GiB): 9.86\n",
    ),
    boot(
        "no_memory_for_kv_cache",
        &["cache blocks"],
        "{\"levelname\": \"INFO\", \"processName\": \"APIServer\", \"process\": 1, \"message\": \"vLLM API server version 0.31.0\"}\n{\"levelname\": \"ERROR\", \"processName\": \"EngineCore\", \"process\": 94, \"message\": \"EngineCore failed to start.\", \"exc_info\": \"Traceback (most recent call last):\\n  File \\\"/v/v1/core/kv_cache_utils.py\\\", line 694, in check_enough_kv_cache_memory\\nValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\"}\n",
    ),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] = &[
    (
        "kv_cache_too_small",
        "RuntimeError: maxTokensInPagedKvCache must be large enough to process at least 1 sequence to completion",
    ),
    (
        "state_cache_too_small",
        "RuntimeError: Not enough GPU memory for hybrid (mamba/linear-attention) state cache. total_rest_memory=-1.2 GB",
    ),
    (
        "no_memory_for_kv_cache",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ),
    ("no_memory_for_kv_cache", "RuntimeError: No enough memory for kv cache"),
    ("no_memory_for_kv_cache", "RuntimeError: Not enough memory to allocate KV cache."),
];
