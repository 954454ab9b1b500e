//! TensorRT-LLM's log: the PyTorch backend's 1.x server, and the lines older ones share.
//!
//! Forms read in sources of about 1.0 to 1.3 and in logs of 1.3.0rc29. The KV pool is printed
//! twice: the first is a small one for profiling. The socket is bound long before the server is
//! ready.

use super::facts::{Arguments, BackendRole};
use super::grammar::{Grammar, Rule, Stage, first, last, real, text, whole};
use super::pyrepr;

pub(crate) static TRTLLM: Grammar = Grammar {
    engine: "trtllm",
    rules: RULES,
    stages: &[
        ("Using LLM with", Stage::Configuration),
        ("MpiPoolSession", Stage::Distributed),
        ("executor_creation: start", Stage::EngineStart),
        ("Engine version", Stage::EngineStart),
        ("for model weights", Stage::WeightLoading),
        ("Loading safetensors weights", Stage::WeightLoading),
        ("Model loading metrics", Stage::Profiling),
        ("Memory used at after loading", Stage::Profiling),
        ("Peak memory during memory usage profiling", Stage::KvCache),
        ("for max tokens in paged KV cache", Stage::KvCache),
        ("CUDA graph warmup", Stage::GraphCapture),
        ("CUDA graph capture", Stage::GraphCapture),
        ("[Autotuner]", Stage::WarmUp),
        ("Started server process", Stage::HttpStart),
    ],
    // The iteration log, off by default, is the only line the executor writes while it works.
    works: |text| text.contains("num_scheduled_requests = "),
    work_words: &["num_scheduled_requests = "],
    answering_is_ready: true,
    answers_prove_work: true,
    tested: &["1.0", "1.1", "1.2", "1.3"],
};

const RULES: &[Rule] = &[
    Rule {
        anchor: "LLM version: ",
        forms: &[r"TensorRT[ -]LLM version: (?<v>\S+)"],
        read: |r, c| first(&mut r.facts.version, text(c, "v").map(str::to_owned), r.line),
    },
    Rule {
        // One line, after the line `LLM Args:`.
        anchor: "kv_cache_config=KvCacheConfig(",
        forms: &[r"^(?:LLM Args:\s*)?(?<args>\w+=.*kv_cache_config=.*)"],
        read: |r, c| {
            if r.facts.arguments.is_some() {
                return;
            }
            let values = pyrepr::pairs(text(c, "args").unwrap_or_default());
            let arguments = Arguments::new(values, false, r.line);
            first(&mut r.facts.model, arguments.get("model").map(str::to_owned), r.line);
            first(&mut r.facts.tensor_parallel, arguments.number("tensor_parallel_size"), r.line);
            first(
                &mut r.facts.pipeline_parallel,
                arguments.number("pipeline_parallel_size"),
                r.line,
            );
            first(&mut r.facts.running_limit_asked, arguments.number("max_batch_size"), r.line);
            if let Some(backend) = arguments.get("attn_backend") {
                r.backend(backend, BackendRole::Model);
            }
            r.facts.arguments = Some(arguments);
        },
    },
    Rule {
        // 1.0 and 1.1 print what the executor made of the arguments, and no arguments.
        anchor: "PyTorchConfig(",
        forms: &[r"PyTorchConfig\(.*\battn_backend='(?<name>\w+)'", r"PyTorchConfig\("],
        read: |r, c| {
            if let Some(backend) = text(c, "name") {
                r.backend(backend, BackendRole::Model);
            }
        },
    },
    Rule {
        anchor: "max tokens in paged KV cache (",
        forms: &[r"Allocated (?<gib>[\d.]+) GiB for max tokens in paged KV cache \((?<n>\d+)\)"],
        // Printed for the profiling pool, then for the real one: the last stands.
        read: |r, c| {
            if let Some(n) = whole(c, "n") {
                r.pool(n);
            }
            if let Some(gib) = real(c, "gib") {
                r.kv_memory(gib);
            }
        },
    },
    Rule {
        anchor: "primary blocks=",
        forms: &[r"tokens per block=(?<size>\d+), primary blocks=(?<n>\d+)"],
        read: |r, c| {
            last(&mut r.facts.block_size, whole(c, "size"), r.line);
            last(&mut r.facts.pool_blocks, whole(c, "n"), r.line);
        },
    },
    Rule {
        // The C++ executor's own lines, 0.x and 1.x.
        anchor: "Number of tokens per block: ",
        forms: &[r"Number of tokens per block: (?<size>\d+)"],
        read: |r, c| last(&mut r.facts.block_size, whole(c, "size"), r.line),
    },
    Rule {
        anchor: "Number of blocks in KV cache primary pool: ",
        forms: &[r"Number of blocks in KV cache primary pool: (?<n>\d+)"],
        read: |r, c| last(&mut r.facts.pool_blocks, whole(c, "n"), r.line),
    },
    Rule {
        // Engines built ahead (0.x): the executor runs this many at once.
        anchor: "TRTGptModel maxNumSequences: ",
        forms: &[r"TRTGptModel maxNumSequences: (?<n>\d+)"],
        read: |r, c| last(&mut r.facts.running_limit, whole(c, "n"), r.line),
    },
    Rule {
        anchor: "max_num_requests=",
        forms: &[r"max_seq_len=(?<len>\d+), max_num_requests=(?<n>\d+)"],
        read: |r, c| {
            last(&mut r.facts.max_model_len, whole(c, "len"), r.line);
            last(&mut r.facts.running_limit, whole(c, "n"), r.line);
        },
    },
    Rule {
        // `scheduler_v2.py`: written whether it was asked for or came with the model.
        anchor: "KVCacheV2Scheduler",
        forms: &[r"(?<name>KVCacheV2Scheduler)"],
        read: |r, c| first(&mut r.facts.scheduler, text(c, "name").map(str::to_owned), r.line),
    },
    Rule {
        anchor: "(inside torch) in memory usage profiling",
        forms: &[
            r"Memory used (?:at )?after loading (?:model )?weights \(inside torch\) in memory usage profiling: (?<gib>[\d.]+) GiB",
            r"\(inside torch\)",
        ],
        read: |r, c| {
            if let Some(gib) = real(c, "gib") {
                r.memory("weights", gib);
            }
        },
    },
    Rule {
        anchor: "during inference (inside torch)",
        forms: &[r"\(inside torch\) in memory usage profiling: (?<gib>[\d.]+) GiB"],
        read: |r, c| {
            if let Some(gib) = real(c, "gib") {
                r.memory("peak activation", gib);
            }
        },
    },
    Rule {
        anchor: "Memory used outside torch (e.g., NCCL and CUDA graphs)",
        forms: &[r"in memory usage profiling: (?<gib>[\d.]+) GiB"],
        read: |r, c| {
            if let Some(gib) = real(c, "gib") {
                r.memory("outside torch (NCCL, CUDA graphs)", gib);
            }
        },
    },
    Rule {
        anchor: "Model loading metrics for rank",
        forms: &[r"total_model_loading_seconds=(?<s>[\d.]+)"],
        read: |r, c| last(&mut r.facts.load_seconds, real(c, "s"), r.line),
    },
    Rule {
        anchor: "executor_creation: done, total=",
        forms: &[r"total=(?<s>[\d.]+)s"],
        read: |r, c| last(&mut r.facts.init_seconds, real(c, "s"), r.line),
    },
    Rule {
        anchor: "Uvicorn running on ",
        forms: &[r"Uvicorn running on (?<url>\S+)"],
        read: |r, c| first(&mut r.facts.address, text(c, "url").map(str::to_owned), r.line),
    },
];

#[cfg(test)]
mod tests {
    #[test]
    fn a_start_of_1_1_tells_its_backend_and_its_second_pool() {
        // Reported with gpt-oss-120b on a DGX Spark, December 2025.
        let log = "\
[TensorRT-LLM] TensorRT-LLM version: 1.1.0rc3
[12/20/2025-04:20:19] [TRT-LLM] [I] PyTorchConfig(extra_resource_managers={}, use_cuda_graph=True, cuda_graph_batch_sizes=[1, 2], attn_backend='TRTLLM', moe_backend='CUTLASS')
[12/20/2025-04:21:10] [TRT-LLM] [W] Attention window size 131072 exceeds upper bound 8224 for available blocks. Reducing to 8224.
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 0.56 GiB for max tokens in paged KV cache (8224).
[12/20/2025-04:21:10] [TRT-LLM] [I] max_seq_len=8224, max_num_requests=64, max_num_tokens=8192, max_batch_size=64
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 5.95 GiB for max tokens in paged KV cache (86720).
[12/20/2025-04:21:52] [TRT-LLM] [I] max_seq_len=86720, max_num_requests=64, max_num_tokens=8192, max_batch_size=64
INFO:     Application startup complete.
";
        let facts = crate::boot::read(log.as_bytes(), None).unwrap().facts;
        assert_eq!(facts.backends.first().map(|b| b.value.name.as_str()), Some("TRTLLM"));
        assert_eq!((facts.pool_tokens(), facts.kv_gib()), (Some(86_720), Some(5.95)));
        assert_eq!(facts.block_size.map(|size| size.value), Some(32));
        assert_eq!(facts.running_limit.map(|limit| limit.value), Some(64));
        assert!(facts.unparsed.is_empty() && facts.ready_line == Some(10));
    }

    #[test]
    fn an_engine_built_ahead_tells_its_blocks_and_its_limit() {
        // Reported with a draft and a target engine, January 2025.
        let log = "\
[TensorRT-LLM][INFO] TRTGptModel maxNumSequences: 64
[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 994
[TensorRT-LLM][INFO] Number of tokens per block: 64.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 9.71 GiB for max tokens in paged KV cache (63616).
";
        let facts = crate::boot::read(log.as_bytes(), None).unwrap().facts;
        let value = |fact: &Option<crate::boot::facts::Fact<u64>>| fact.as_ref().map(|f| f.value);
        assert_eq!(value(&facts.pool_blocks), Some(994));
        assert_eq!(value(&facts.block_size), Some(64));
        assert_eq!(value(&facts.running_limit), Some(64));
        assert_eq!(facts.pool_tokens(), Some(63_616));
    }
}
