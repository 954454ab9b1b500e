//! vLLM's log, 0.5 to 0.33.
//!
//! Forms read in the source distributions 0.8.5 to 0.33.0 and in logs of 0.28, 0.29, 0.30 (CUDA)
//! and 0.32 (CPU). The KV pool became one line in 0.28, its device word stopped being the constant
//! `GPU` in 0.30, and from 0.31 uvicorn's lines lost the process prefix.

use super::facts::{Arguments, BackendRole, Compile};
use super::grammar::{Grammar, Reading, Rule, Stage, first, last, real, text, whole};
use super::pyrepr;
use crate::pattern::Found;

pub(crate) static VLLM: Grammar = Grammar {
    engine: "vllm",
    rules: RULES,
    stages: &[
        ("non-default args: ", Stage::Configuration),
        ("vLLM API server version ", Stage::Configuration),
        ("Resolved architecture: ", Stage::Configuration),
        ("Initializing a", Stage::EngineStart),
        ("distributed_init_method=", Stage::Distributed),
        ("vLLM is using nccl==", Stage::Distributed),
        ("Starting to load model", Stage::WeightLoading),
        ("Loading safetensors checkpoint", Stage::WeightLoading),
        ("Loading weights took", Stage::WeightLoading),
        ("Model loading took", Stage::Profiling),
        ("torch.compile t", Stage::Profiling),
        ("Available KV cache memory", Stage::KvCache),
        ("KV cache size: ", Stage::KvCache),
        (" GPU blocks: ", Stage::KvCache),
        ("Capturing CUDA graph", Stage::GraphCapture),
        ("Capturing the model for CUDA graphs", Stage::GraphCapture),
        ("Graph capturing finished", Stage::GraphCapture),
        ("JIT kernel warmup starting", Stage::WarmUp),
        ("init engine (profile", Stage::WarmUp),
        ("Available routes are", Stage::HttpStart),
        ("Started server process", Stage::HttpStart),
    ],
    works,
    work_words: &["Avg generation throughput", "Avg generation tput"],
    answering_is_ready: true,
    answers_prove_work: false,
    tested: &[
        "0.8.", "0.9.", "0.10.", "0.11.", "0.12.", "0.14.", "0.16.", "0.18.", "0.20.", "0.22.",
        "0.24.", "0.26.", "0.28.", "0.29.", "0.30.", "0.31.", "0.32.", "0.33.",
    ],
};

/// A periodic report of tokens read or generated since the last one. Running requests alone prove
/// nothing: the API server repeats the last number it heard of an engine that is stuck.
fn works(text: &str) -> bool {
    let moved = |part: &str| {
        let value = text.split_once(part).and_then(|(_, after)| after.split_once(": "));
        value.is_some_and(|(_, n)| !n.starts_with("0.0 "))
    };
    moved("Avg generation t") || (text.contains("Avg generation t") && moved("Avg prompt t"))
}

const RULES: &[Rule] = &[
    Rule {
        anchor: "vLLM API server version ",
        forms: &[r"vLLM API server version (?<v>\S+)"],
        read: |r, c| first(&mut r.facts.version, text(c, "v").map(str::to_owned), r.line),
    },
    Rule {
        // The banner of 0.16 on; the block characters are its logo.
        anchor: "\u{2588}  version ",
        forms: &[r"version (?<v>\S+)"],
        read: |r, c| first(&mut r.facts.version, text(c, "v").map(str::to_owned), r.line),
    },
    Rule {
        anchor: " LLM engine (v",
        forms: &[r"LLM engine \(v(?<v>[^)\s]+)\) with config: (?<config>.*)"],
        read: engine_config,
    },
    Rule {
        anchor: "non-default args: ",
        forms: &[r"non-default args: (?<args>\{.*)"],
        read: |r, c| arguments(r, c, true),
    },
    Rule {
        anchor: "args: Namespace(",
        forms: &[r"args: (?<args>Namespace\(.*)"],
        read: |r, c| arguments(r, c, false),
    },
    Rule {
        anchor: "Using max model len ",
        forms: &[r"Using max model len (?<n>\d+)"],
        // A draft model's follows: the first is the served model's.
        read: |r, c| first(&mut r.facts.max_model_len, whole(c, "n"), r.line),
    },
    Rule {
        anchor: "Auto-fit max_model_len: reduced",
        forms: &[r"reduced from (?<asked>\d+) to (?<n>\d+)"],
        read: |r, c| last(&mut r.facts.max_model_len, whole(c, "n"), r.line),
    },
    Rule {
        // CUDA says `attention backend`, ROCm `backend`, and overrides what it found unfit
        // (`vllm/platforms/rocm.py` of 0.20 to 0.22). MoE kernels are chosen in like words.
        anchor: " out of potential backends",
        forms: &[
            r"Using (?<name>\w+)(?: attention)? backend out of",
            r"Overriding with (?<name>\w+) out of",
            r" out of potential backends",
        ],
        read: backend,
    },
    Rule {
        anchor: "Using AttentionBackendEnum.",
        // The second form chooses the vision encoder's, which is not the text model's.
        forms: &[
            r"Using AttentionBackendEnum\.(?<name>\w+) backend",
            r"Using AttentionBackendEnum\.\w+ for (?<other>\w+)",
        ],
        read: backend,
    },
    Rule {
        anchor: " backend (selected via --attention-backend)",
        forms: &[r"Using (?<name>[\w ]+) backend \(selected"],
        read: backend,
    },
    Rule {
        anchor: " backend on V1 engine",
        forms: &[r"Using (?<name>[\w /-]+?) backend on V1 engine"],
        read: backend,
    },
    Rule {
        // The other platforms and the engine before V1 (`vllm/platforms/{rocm,xpu,cpu,tpu,hpu}.py`,
        // 0.8.5 to 0.28; `vllm-gaudi`). Encoders' choices end in `for ViT model`, kernels' in another
        // word: `Using Marlin backend.`, `Using CPU SDPA MLA prefill backend.`
        anchor: " backend.",
        forms: &[
            r"\bUsing (?<name>(?:[A-Za-z0-9]+ )*?(?:\w*Attention(?:V1|MLA)?|attention|\w*MLA|MLA Sparse|SDPA|Pallas|Pallas V1|XFormers|FlashInfer|Triton)) backend\.(?:\s|$)",
            r"Falling back to (?<name>Triton Attention) backend\.",
            r" backend\.",
        ],
        read: backend,
    },
    Rule {
        anchor: "Loading drafter model",
        forms: &["Loading drafter model"],
        read: |r, _| *r.drafting = true,
    },
    Rule {
        anchor: "Setting attention block size to ",
        forms: &[r"Setting attention block size to (?<n>\d+) tokens"],
        read: |r, c| last(&mut r.facts.block_size_forced, whole(c, "n"), r.line),
    },
    Rule {
        // `Forcing` for FlashMLA, CUTLASS MLA and others (`vllm/platforms/cuda.py`, 0.8.5 to 0.16), then
        // what the backend prefers where no size was asked for (`vllm/platforms/interface.py`, 0.18 on).
        anchor: " cache block size ",
        forms: &[
            r"(?:Setting|Forcing) (?i:kv) cache block size to (?<n>\d+)",
            r"Adjusting (?i:kv) cache block size from \d+ to (?<n>\d+)",
            " cache block size ",
        ],
        read: |r, c| last(&mut r.facts.block_size_forced, whole(c, "n"), r.line),
    },
    Rule {
        anchor: "KV cache size: ",
        forms: &[r"(?<device>\w+(?: \+ host)?) KV cache size: (?<n>[\d,]+) tokens"],
        read: |r, c| {
            if let Some(n) = whole(c, "n") {
                r.pool(n);
            }
            first(&mut r.facts.device, text(c, "device").map(str::to_owned), r.line);
        },
    },
    Rule {
        // V0, and the executors of 0.8: `# GPU blocks: 27123, # CPU blocks: 2048`. Tokens are not said;
        // a block has 16 where no other size was asked for.
        anchor: " blocks: ",
        forms: &[r"# (?<device>\w+) blocks: (?<n>\d+), # CPU blocks"],
        read: |r, c| {
            last(&mut r.facts.pool_blocks, whole(c, "n"), r.line);
            let size = r.facts.block_size_asked.as_ref().map_or(16, |size| size.value);
            if let Some(tokens) = whole(c, "n").and_then(|n| n.checked_mul(size)) {
                r.pool(tokens);
            }
            first(&mut r.facts.device, text(c, "device").map(str::to_uppercase), r.line);
        },
    },
    Rule {
        // 0.9 to 0.14, later at DEBUG (`v1/metrics/loggers.py`). With data parallelism it is the sum
        // of all engines.
        anchor: "after num_gpu_blocks is: ",
        forms: &[r"Engine 0+: .*after num_gpu_blocks is: (?<n>\d+)", "after num_gpu_blocks is: "],
        read: |r, c| {
            if r.facts.data_parallel.as_ref().is_none_or(|ranks| ranks.value == 1) {
                last(&mut r.facts.pool_blocks, whole(c, "n"), r.line);
            }
        },
    },
    Rule {
        // A count of 0 is that of the small pool the CUDA graphs are profiled with (0.18 on), which
        // nobody asked for (`gpu_model_runner.py`, "Profiling CUDA graph memory").
        anchor: "Overriding num_gpu_blocks=",
        forms: &[
            r"num_gpu_blocks=[1-9]\d* with num_gpu_blocks_override=(?<n>\d+)",
            "Overriding num_gpu_blocks=0 ",
        ],
        read: |r, c| last(&mut r.facts.pool_blocks, whole(c, "n"), r.line),
    },
    Rule {
        anchor: "Available KV cache memory: ",
        forms: &[r"Available KV cache memory: (?<gib>-?[\d.]+) GiB"],
        read: |r, c| {
            if let Some(gib) = real(c, "gib") {
                r.kv_memory(gib);
            }
        },
    },
    Rule {
        anchor: " memory for KV Cache as specified by kv_cache_memory_bytes",
        forms: &[r"reserved (?<gib>[\d.]+) GiB memory for KV Cache"],
        read: |r, c| {
            if let Some(gib) = real(c, "gib") {
                r.kv_memory(gib);
            }
        },
    },
    Rule {
        // The CPU worker (0.32) sets the pool aside instead of measuring what is left.
        anchor: " GiB for KV cache on node",
        forms: &[r"set \((?<gib>[\d.]+)/[\d.]+\) GiB for KV cache"],
        read: |r, c| {
            if let Some(gib) = real(c, "gib") {
                r.kv_memory(gib);
            }
        },
    },
    Rule {
        anchor: "Actual usage is ",
        forms: &[r"Actual usage is (?<split>.+?CUDAGraph memory|.+?\. )"],
        read: memory_split,
    },
    Rule {
        // V0 (0.8): one line of semicolons.
        anchor: "model weights take ",
        forms: &[
            r"model weights take (?<weights>[\d.]+)GiB; non_torch_memory takes (?<other>[\d.]+)GiB; PyTorch activation peak memory takes (?<peak>[\d.]+)GiB; the rest of the memory reserved for KV Cache is (?<kv>[\d.]+)GiB",
        ],
        read: |r, c| {
            for (name, part) in [("weights", WEIGHTS), ("other", "non-torch"), ("peak", PEAK)] {
                if let Some(gib) = real(c, name) {
                    r.memory(part, gib);
                }
            }
            if let Some(gib) = real(c, "kv") {
                r.kv_memory(gib);
            }
        },
    },
    Rule {
        anchor: "Model loading took ",
        forms: &[r"Model loading took (?<gib>[\d.]+) ?Gi?B(?: memory)? and (?<s>[\d.]+) seconds"],
        read: |r, c| {
            *r.drafting = false;
            last(&mut r.facts.load_seconds, real(c, "s"), r.line);
            if let Some(gib) = real(c, "gib") {
                r.memory("model", gib);
            }
        },
    },
    Rule {
        anchor: "CUDA graph pool memory: ",
        forms: &[r"CUDA graph pool memory: (?<gib>[\d.]+) GiB \(actual\)"],
        read: |r, c| {
            if let Some(gib) = real(c, "gib") {
                r.memory(GRAPHS, gib);
            }
        },
    },
    Rule {
        // 0.32 tags the model part: `[backbone] torch.compile took`.
        anchor: "torch.compile t",
        forms: &[r"torch\.compile (?:takes|took) (?<s>[\d.]+) s(?:econds)? in total"],
        read: |r, c| {
            if let Some(s) = real(c, "s") {
                r.compiled(s);
            }
        },
    },
    Rule {
        anchor: "Compiling a graph for ",
        forms: &["Compiling a graph for "],
        read: |r, _| compile(r, Compile::Cold),
    },
    Rule {
        anchor: "saved AOT compiled function",
        forms: &["saved AOT compiled function"],
        read: |r, _| compile(r, Compile::Cold),
    },
    Rule {
        anchor: "Directly load ",
        forms: &[r"Directly load (?:the compiled graph|AOT compilation)"],
        read: |r, _| compile(r, Compile::Warm),
    },
    Rule {
        anchor: "Enforce eager set",
        forms: &["Enforce eager set"],
        read: |r, _| compile(r, Compile::Off),
    },
    Rule {
        anchor: "init engine (profile",
        forms: &[r"took (?<s>[\d.]+) s(?:econds)?\b"],
        read: |r, c| last(&mut r.facts.init_seconds, real(c, "s"), r.line),
    },
    Rule {
        anchor: " API server processes",
        forms: &[r"Started (?<n>\d+) API server processes"],
        read: |r, c| last(&mut r.facts.api_servers, whole(c, "n"), r.line),
    },
    Rule {
        anchor: "Starting vLLM ",
        forms: &[r"Starting vLLM (?:API )?server (?:\d+ )?on (?<url>\S+)"],
        read: |r, c| first(&mut r.facts.address, text(c, "url").map(str::to_owned), r.line),
    },
];

const WEIGHTS: &str = "weights";
const PEAK: &str = "peak activation";
const GRAPHS: &str = "CUDA graphs";

fn engine_config(r: &mut Reading<'_>, c: &Found<'_>) {
    first(&mut r.facts.version, text(c, "v").map(str::to_owned), r.line);
    let config = text(c, "config").unwrap_or_default();
    let of = |name: &str| pyrepr::value(&format!("Config({config})"), name);
    first(&mut r.facts.model, of("model"), r.line);
    first(
        &mut r.facts.tensor_parallel,
        of("tensor_parallel_size").and_then(|n| n.parse().ok()),
        r.line,
    );
    first(
        &mut r.facts.pipeline_parallel,
        of("pipeline_parallel_size").and_then(|n| n.parse().ok()),
        r.line,
    );
    // `data_parallel_size` here is one engine core's own view, which is 1: the arguments say it.
    last(&mut r.facts.max_model_len, of("max_seq_len").and_then(|n| n.parse().ok()), r.line);
    if of("enforce_eager").as_deref() == Some("True") {
        compile(r, Compile::Off);
    }
}

fn arguments(r: &mut Reading<'_>, c: &Found<'_>, only_changed: bool) {
    if r.facts.arguments.is_some() {
        return;
    }
    let listed = pyrepr::pairs(text(c, "args").unwrap_or_default());
    let arguments = Arguments::new(listed, only_changed, r.line);
    first(
        &mut r.facts.model,
        arguments.get("model").or(arguments.get("model_tag")).map(str::to_owned),
        r.line,
    );
    let backend = match arguments.get("attention_config") {
        Some(config) => arguments
            .get("attention_backend")
            .map(str::to_owned)
            .or_else(|| pyrepr::value(config, "backend")),
        None => arguments.get("attention_backend").map(str::to_owned),
    };
    first(&mut r.facts.requested_backend, backend.map(|b| plain_backend(&b)), r.line);
    first(&mut r.facts.block_size_asked, arguments.number("block_size"), r.line);
    first(&mut r.facts.running_limit_asked, arguments.number("max_num_seqs"), r.line);
    first(&mut r.facts.running_limit, arguments.number("max_num_seqs"), r.line);
    first(&mut r.facts.data_parallel, arguments.number("data_parallel_size"), r.line);
    r.facts.arguments = Some(arguments);
}

fn backend(r: &mut Reading<'_>, c: &Found<'_>) {
    let Some(name) = text(c, "name") else { return };
    let role = if *r.drafting { BackendRole::Draft } else { BackendRole::Model };
    r.backend(&plain_backend(name), role);
}

/// The name the option takes, from the words of the releases before 0.12 and from enum reprs.
fn plain_backend(name: &str) -> String {
    match name {
        "Flash Attention" | "FlashAttention" => "FLASH_ATTN".to_owned(),
        "Triton" | "Triton Attention" => "TRITON_ATTN".to_owned(),
        "Flash Infer" | "FlashInfer" => "FLASHINFER".to_owned(),
        "Rocm Attention" => "ROCM_ATTN".to_owned(),
        "Aiter Flash Attention" => "ROCM_AITER_FA".to_owned(),
        "Aiter Unified Attention" => "ROCM_AITER_UNIFIED_ATTN".to_owned(),
        "AITER MLA" => "ROCM_AITER_MLA".to_owned(),
        "AITER TRITON MLA" => "ROCM_AITER_TRITON_MLA".to_owned(),
        "ROCmFlashAttention" => "ROCM_FLASH".to_owned(),
        "FlexAttention" | "Flex Attention" => "FLEX_ATTENTION".to_owned(),
        "Tree Attention" => "TREE_ATTN".to_owned(),
        "Pallas V1" => "PALLAS".to_owned(),
        "IPEX attention" => "IPEX".to_owned(),
        "TurboQuant attention" => "TURBOQUANT".to_owned(),
        _ => {
            let name = name.trim_start_matches('<').split([':', '>']).next().unwrap_or(name);
            name.rsplit('.').next().unwrap_or(name).trim().replace([' ', '-'], "_").to_uppercase()
        }
    }
}

fn compile(r: &mut Reading<'_>, how: Compile) {
    // One graph compiled from scratch makes the start a cold one.
    let known = r.facts.compile.as_ref().map(|f| f.value);
    if known.is_none() || (known == Some(Compile::Warm) && how == Compile::Cold) {
        r.facts.compile = Some(r.fact(how));
    }
}

/// `G GiB for weight, P GiB for peak activation, N GiB for non-torch memory, and C GiB for
/// CUDAGraph memory`; from 0.28 the first is `consumed memory (weights + non-torch)`.
fn memory_split(r: &mut Reading<'_>, c: &Found<'_>) {
    let mut rest = text(c, "split").unwrap_or_default();
    while let Some((before, after)) = rest.split_once(" GiB for ") {
        let number = before.rsplit(' ').next().and_then(|n| n.parse().ok());
        let end = after.find([',', '.']).unwrap_or(after.len());
        let words = after.get(..end).unwrap_or_default();
        let part = match words.trim() {
            "weight" => WEIGHTS,
            "consumed memory (weights + non-torch)" => "weights and non-torch",
            "peak activation" => PEAK,
            "non-torch memory" => "non-torch",
            w if w.starts_with("CUDAGraph memory") => GRAPHS,
            w => w,
        };
        if let Some(gib) = number {
            r.memory(part, gib);
        }
        rest = after.get(end..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use crate::boot::facts::BootFacts;

    fn facts(log: &str) -> BootFacts {
        crate::boot::read(log.as_bytes(), Some("vllm")).unwrap().facts
    }

    #[test]
    fn the_pool_that_graphs_are_profiled_with_is_not_the_servers() {
        // Reported with 0.19 on three nodes, April 2026.
        let profiled = "(RayWorkerWrapper pid=9, ip=172.20.4.203) INFO 04-01 11:25:38 [kv_cache_utils.py:826] Overriding num_gpu_blocks=0 with num_gpu_blocks_override=256 [repeated 12x across cluster]\n";
        assert_eq!(facts(profiled).pool_blocks, None);
        assert!(facts(profiled).unparsed.is_empty());
        let asked = "(EngineCore pid=9) INFO 11-30 17:20:06 [kv_cache_utils.py:2619] Overriding num_gpu_blocks=4096 with num_gpu_blocks_override=60\n";
        let facts = facts(&format!("{profiled}{asked}"));
        assert_eq!(facts.pool_blocks.map(|blocks| blocks.value), Some(60));
    }

    #[test]
    fn blocks_are_read_of_one_engine_alone() {
        // Reported with 0.11 on two GPUs, December 2025.
        let said = "(APIServer pid=9) INFO 12-18 06:01:05 [loggers.py:191] Engine 000: vllm cache_config_info with initialization after num_gpu_blocks is: 103813\n";
        assert_eq!(facts(said).pool_blocks.map(|blocks| blocks.value), Some(103_813));
        let two = "(APIServer pid=9) INFO 12-18 06:00:01 [utils.py:233] non-default args: {'data_parallel_size': 2}\n";
        assert_eq!(facts(&format!("{two}{said}")).pool_blocks, None);
    }

    #[test]
    fn ranks_compile_side_by_side() {
        let facts = facts("\
(Worker_TP0 pid=7) INFO 12-18 06:00:39 [monitor.py:34] torch.compile takes 25.73 s in total
(Worker_TP1 pid=8) INFO 12-18 06:00:39 [monitor.py:34] torch.compile takes 26.03 s in total
(Worker_TP0 pid=7) INFO 12-18 06:00:52 [monitor.py:53] [eagle_head] torch.compile took 1.00 s in total
");
        assert_eq!(facts.compile_seconds.map(|s| (s.value, s.line)), Some((26.73, 3)));
    }

    #[test]
    fn every_platforms_choice_is_read_and_no_encoders() {
        let cases = [
            (
                "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].",
                "FLASH_ATTN",
            ),
            (
                "Using ROCM_ATTN backend out of potential backends: ['ROCM_ATTN', 'TRITON_ATTN'].",
                "ROCM_ATTN",
            ),
            ("Using Rocm Attention backend.", "ROCM_ATTN"),
            ("Using Rocm Attention backend on V1 engine.", "ROCM_ATTN"),
            ("Using Aiter Unified Attention backend.", "ROCM_AITER_UNIFIED_ATTN"),
            ("Using AITER MLA backend.", "ROCM_AITER_MLA"),
            ("Using ROCmFlashAttention backend.", "ROCM_FLASH"),
            ("Using Triton Attention backend.", "TRITON_ATTN"),
            ("Using Triton backend.", "TRITON_ATTN"),
            ("Using Flash Attention backend.", "FLASH_ATTN"),
            ("Using XPU MLA Sparse backend.", "XPU_MLA_SPARSE"),
            ("Using TurboQuant attention backend.", "TURBOQUANT"),
            ("Using Torch SDPA backend.", "TORCH_SDPA"),
            ("Using CPU MLA backend.", "CPU_MLA"),
            ("Using Pallas V1 backend.", "PALLAS"),
            ("Using HPUAttention backend.", "HPUATTENTION"),
            ("Using XFormers backend. [repeated 3x across cluster]", "XFORMERS"),
        ];
        for (line, name) in cases {
            let facts = facts(line);
            let chosen: Vec<_> = facts.backends.iter().map(|b| b.value.name.as_str()).collect();
            assert_eq!(chosen, [name], "{line}");
        }
        for line in [
            "Using Flash Attention backend for ViT model.",
            "Using CPU SDPA MLA prefill backend.",
            "Using Marlin backend.",
            "Using Triton backend",
            "Cannot use None backend on TPU.",
            "Using 'TRITON' Fp8 MoE backend out of potential backends: ['TRITON'].",
            "uni is not supported on CPU, fallback to mp distributed executor backend.",
        ] {
            let facts = facts(line);
            assert!(facts.backends.is_empty() && facts.unparsed.is_empty(), "{line}");
        }
    }
}
