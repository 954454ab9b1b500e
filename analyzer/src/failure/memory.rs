//! GPU memory: held by somebody else, or not enough of it.

use super::kind::{Kind, Told};
use crate::boot::grammar::Stage;

pub(super) const HELD: &[Kind] = &[
    Kind::new(
        "gpu_memory_held_by_other_process",
        "the card was not empty when the server started",
        &[
            r"Free memory on device (?:\S+ )?\((?<free>[\d.]+)/(?<total>[\d.]+) GiB\) on startup is less than desired GPU memory utilization \((?<share>[\d.]+), (?<want>[\d.]+) GiB\)",
            r"Free memory on device .* less than desired",
            r"(?i)memory capacity is unbalanced",
            r"(?i)GPUs? may be occupied by other processes",
        ],
        held,
    )
    .refined(holder_kind),
    Kind::new(
        "memory_changed_while_profiling",
        "another process freed or took GPU memory while the server measured it",
        &[r"Error in memory profiling", r"Initial free memory .* current free memory"],
        |t| t.say("another process used the GPU while the server measured its memory", "start again when the card is idle"),
    ),
];

fn held(t: &Told<'_>) -> String {
    let (Some(free), Some(total), Some(share), Some(want)) =
        (t.part("free"), t.part("total"), t.part("share"), t.part("want"))
    else {
        return t.say(
            "other processes hold GPU memory",
            "free the card first: nvidia-smi shows who holds it",
        );
    };
    let who = match t.aside.holders.first() {
        Some(first) if holder_kind(t) == "gpu_memory_held_by_orphan_engine" => {
            let named: Vec<String> = t
                .aside
                .holders
                .iter()
                .filter(|h| h.orphan)
                .take(3)
                .map(|h| format!("PID {} {}", h.pid, super::kind::shorten(&h.title, 24)))
                .collect();
            let named =
                if named.is_empty() { format!("PID {}", first.pid) } else { named.join(", ") };
            format!("an orphan engine of an earlier server holds the card ({named}): stop it")
        }
        Some(first) => format!(
            "PID {} {} holds {}: stop it",
            first.pid,
            super::kind::shorten(&first.title, 40),
            mib(first.gpu_mib)
        ),
        None if t.aside.unowned_mib.is_some() => {
            "no visible process owns the memory: another container or PID namespace holds it"
                .to_owned()
        }
        None => "another process holds the card: nvidia-smi shows which".to_owned(),
    };
    format!(
        "only {free} of {total} GiB were free at the start, {want} GiB wanted (memory share {share}); {who}"
    )
}

fn mib(mib: Option<u64>) -> String {
    mib.map_or_else(|| "memory".to_owned(), |m| format!("{m} MiB"))
}

fn holder_kind(t: &Told<'_>) -> &'static str {
    if t.aside.holders.iter().any(|h| h.orphan) {
        "gpu_memory_held_by_orphan_engine"
    } else if t.aside.holders.is_empty() && t.aside.unowned_mib.is_some() {
        "gpu_memory_held_no_visible_process"
    } else {
        "gpu_memory_held_by_other_process"
    }
}

pub(super) const OUT: &[Kind] = &[Kind::new(
    "oom",
    "the GPU ran out of memory",
    &[
        r"(?:torch\.|cuda\.|\b)OutOfMemoryError: (?:CUDA|HIP|XPU|Allocation)",
        r"CUDA out of memory",
        r"\b(?:HIP|XPU|NPU|HPU|MUSA) out of memory",
        r"(?i)cuda(?: runtime)? error:? \(?(?:\d+\)?:? )?out of memory",
        r"cudaMalloc(?:Async)? failed: out of memory",
        r"CUDA_ERROR_OUT_OF_MEMORY",
        r"Triton Error \[\w+\]: out of memory",
        // Jetson's driver.
        r"NvMapMemAlloc\w*: .*error 12\b",
        r"\(out of memory\)",
        r"insufficient GPU memory",
        r"CUBLAS_STATUS_ALLOC_FAILED",
        r"ErrorOutOfDeviceMemory",
        r"unable to allocate \w+ buffer",
        r"failed to allocate (?:\w+ )?buffer (?:of size|for kv cache)",
        r"CUDA runtime error in .*: out of memory",
        r"Requested amount of GPU memory \(\d+ bytes\) could not be allocated",
        r"Failed to (?:CUDA|cuda) (?:m|M)alloc|CUDA malloc failed",
        // TGI's own words for running out of memory in its warm-up.
        r"(?i)not enough memory to handle \d+ (?:prefill )?tokens",
    ],
    out_of_memory,
)
.refined(when)
.fatal()];

/// The moment names the kind: each has another knob.
fn when(t: &Told<'_>) -> &'static str {
    if t.serving {
        return "oom_serving";
    }
    if t.came_through(&["_dummy_sampler_run"]) || t.text.contains("warming up sampler") {
        return "oom_sampler_warmup";
    }
    match t.find(r"component could not be created: (.*)") {
        Some(part) if part.contains("KV") || part.contains("kv_cache") => return "oom_kv_cache",
        Some(part) if part.starts_with("Model") => return "oom_weight_load",
        Some(_) => return "oom_warmup",
        None => {}
    }
    if t.text.contains("kv cache") {
        return "oom_kv_cache";
    }
    if ["warmup", "Warmup", "warm up", "prefill tokens"].iter().any(|w| t.text.contains(w)) {
        return "oom_warmup";
    }
    if t.text.contains("apture cuda graph")
        || t.text.contains("apture CUDA graph")
        || t.came_through(&["capture", "cuda_graph_runner"])
    {
        return "oom_cuda_graph_capture";
    }
    if t.came_through(&[
        "load_model",
        "load_weights",
        "create_weights",
        "initialize_model",
        "initialize_cache",
    ]) {
        return if t.came_through(&["initialize_cache"]) {
            "oom_kv_cache"
        } else {
            "oom_weight_load"
        };
    }
    if t.came_through(&[
        "allocate_kv_cache",
        "initialize_kv_cache",
        "_allocate_kv",
        "init_memory_pool",
    ]) {
        return "oom_kv_cache";
    }
    if t.came_through(&[
        "profile_run",
        "determine_available_memory",
        "determine_num_available_blocks",
        "profile_num_available_blocks",
    ]) {
        return "oom_profiling";
    }
    if t.came_through(&["warmup", "warm_up"]) {
        return "oom_warmup";
    }
    match t.stage {
        Some(Stage::GraphCapture) => "oom_cuda_graph_capture",
        Some(Stage::KvCache) => "oom_kv_cache",
        Some(Stage::Profiling) => "oom_profiling",
        Some(Stage::WarmUp | Stage::HttpStart) => "oom_warmup",
        _ => "oom_weight_load",
    }
}

fn out_of_memory(t: &Told<'_>) -> String {
    let asked = t
        .find(r"Tried to allocate ([\d.]+ [GMK]i?B)")
        .or_else(|| t.find(r"allocating ([\d.]+ [GMK]i?B) on device"))
        .or_else(|| t.find(r"Requested\s*: ([\d.]+ [GMK]i?B)"));
    let total = t
        .find(r"total capacity of ([\d.]+ [GMK]i?B)")
        .or_else(|| t.find(r"Device limit\s*: ([\d.]+ [GMK]i?B)"));
    let free = t
        .find(r"of which ([\d.]+ [GMK]i?B) is free")
        .or_else(|| t.find(r"Free \(according to CUDA\): ([\d.]+ [GMK]i?B)"));
    let other = t.find(r"Process (\d+ has [\d.]+ GiB) memory in use");
    let kind = when(t);
    let moment = match kind {
        "oom_serving" => "while serving",
        "oom_sampler_warmup" => "while warming up the sampler",
        "oom_warmup" => "in the warm-up",
        "oom_cuda_graph_capture" => "while capturing CUDA graphs",
        "oom_kv_cache" => "while allocating the KV cache",
        "oom_profiling" => "in the profiling run",
        _ => "while loading weights",
    };
    let mut numbers = Vec::new();
    if let Some(asked) = asked {
        numbers.push(format!("tried to allocate {asked}"));
    }
    if let Some(free) = free {
        numbers.push(match total {
            Some(total) => format!("{free} free of {total}"),
            None => format!("{free} free"),
        });
    }
    if let Some((pid, held)) = other.and_then(|other| other.split_once(" has ")) {
        numbers.push(format!("process {pid} holds {held} of it"));
    }
    let numbers = if numbers.is_empty() { t.quote(110) } else { numbers.join(", ") };
    format!("GPU out of memory {moment}: {numbers}; {}", advice(t, kind))
}

fn advice(t: &Told<'_>, kind: &str) -> &'static str {
    match (t.engine, kind) {
        (Some("llamacpp"), _) => {
            "lower -ngl (layers on the GPU), the context, or use a smaller quantization"
        }
        (Some("tgi"), "oom_warmup") => "lower --max-batch-prefill-tokens or --max-input-tokens",
        (Some("tgi"), _) => "shard over more GPUs or use a smaller model",
        (Some("sglang"), "oom_cuda_graph_capture") => {
            "lower --mem-fraction-static or --cuda-graph-max-bs"
        }
        (Some("sglang"), "oom_weight_load") => "use more GPUs (--tp) or a smaller model",
        (Some("sglang"), _) => "lower --mem-fraction-static or --chunked-prefill-size",
        (Some("trtllm"), "oom_weight_load") => "use more GPUs (--tp_size) or a smaller model",
        (Some("trtllm"), _) => "lower free_gpu_memory_fraction, max_batch_size or max_num_tokens",
        (_, "oom_sampler_warmup") => "lower --max-num-seqs or --gpu-memory-utilization",
        (_, "oom_cuda_graph_capture") => {
            "lower --gpu-memory-utilization or the largest captured graph, or --enforce-eager"
        }
        (_, "oom_weight_load") => {
            "use more GPUs (--tensor-parallel-size), a quantized or a smaller model"
        }
        (_, "oom_serving") => {
            "lower --gpu-memory-utilization or --max-num-batched-tokens to leave room for activations"
        }
        _ => "lower --gpu-memory-utilization, --max-num-seqs or --max-num-batched-tokens",
    }
}
