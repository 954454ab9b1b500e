use super::Check;
use crate::boot::facts::{BootFacts, Compile};
use crate::evidence::{Missing, Run};
use crate::finding::Verdict;
use crate::number::{grouped, plural};
use serde_json::json;

tripwire! {
    /// # What it checks
    /// Whether starts of one configuration had the same memory left for the KV cache, and if not,
    /// which part of the card's memory moved.
    ///
    /// # Why it matters
    /// What is left for the cache is what the weights, the activation peak of the profiling run, the
    /// CUDA graphs and everything else on the card leave. A start that compiles from scratch measures
    /// a higher peak than one that loads its kernels from a cache, and keeps the smaller cache for
    /// its whole life. T4 is what it does to the pool.
    ///
    /// # How it decides
    /// Starts as T4 groups them. Warned: the memory left for the KV cache differs by more than its
    /// printed decimals allow. The parts that moved are named from the engine's own account of its
    /// memory (vLLM `Actual usage is …`, SGLang `mem usage=`, TensorRT-LLM `Memory used …`).
    ///
    /// # What to do
    /// Start once to fill the compile cache, then start again for the measurement; leave nothing else
    /// on the card; or set the memory yourself (vLLM `--kv-cache-memory`).
    ///
    /// # When it cannot tell
    /// Fewer than two of the starts say what was left.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/v1/worker/gpu_worker.py` (`determine_available_memory`)
    T11_KV_MEMORY_DRIFT {
        code: "T11",
        slug: "kv-memory-drift",
        since: "0.1.0",
        summary: "starts of one configuration had different memory left for the KV cache",
        needs: ["log"],
        explained_by: [],
        check: Check::Starts(check),
    }
    thresholds {
        /// GiB by which two figures may differ without meaning anything: every engine prints two
        /// decimals, so equal amounts differ by at most one unit of the last.
        ROUNDING = 0.011;
    }
}

fn check(runs: &[Run]) -> Result<Verdict, Missing> {
    let starts = super::starts::alike(runs, |facts| facts.kv_gib().is_some())?;
    let figure = |facts: &BootFacts| facts.kv_gib().unwrap_or(0.0);
    let by_figure = |a: &&super::starts::Start<'_>, b: &&super::starts::Start<'_>| {
        figure(a.facts).total_cmp(&figure(b.facts))
    };
    let (Some(low), Some(high)) =
        (starts.alike.iter().min_by(by_figure), starts.alike.iter().max_by(by_figure))
    else {
        return Err(Missing::lack("no start says what was left for the KV cache"));
    };
    let (least, most) = (figure(low.facts), figure(high.facts));
    let cold = starts.alike.iter().filter(|start| is_cold(start.facts)).count();
    let compiled = match cold {
        0 => String::new(),
        n if n == starts.alike.len() => "; all compiled from scratch".to_owned(),
        n => format!(
            "; {} of {} compiled from scratch",
            n,
            plural(starts.alike.len() as f64, "start")
        ),
    };
    let evidence = |verdict: Verdict| {
        let figures: Vec<_> = starts
            .alike
            .iter()
            .map(|s| json!({"start": s.name, "kv_gib": figure(s.facts), "memory": s.facts.memory, "compile": s.facts.compile}))
            .collect();
        verdict.with("starts", figures).with("left_out", starts.left_out.clone())
    };
    if most - least <= ROUNDING {
        return Ok(evidence(Verdict::pass(format!(
            "{} starts, each with {} GiB left for the KV cache{compiled}{}",
            starts.alike.len(),
            grouped(least, 2),
            starts.left_out_words()
        ))));
    }
    Ok(evidence(Verdict::warn(format!(
        "{} GiB left for the KV cache in {}, {} GiB in {}{}{compiled}{}",
        grouped(least, 2),
        low.name,
        grouped(most, 2),
        high.name,
        moved(low.facts, high.facts),
        starts.left_out_words()
    ))))
}

fn is_cold(facts: &BootFacts) -> bool {
    facts.compile.as_ref().is_some_and(|fact| fact.value == Compile::Cold)
}

/// The parts of the card's memory that differ between two starts, the largest difference first.
fn moved(low: &BootFacts, high: &BootFacts) -> String {
    let mut parts: Vec<&str> = low.memory.iter().map(|part| part.part.as_str()).collect();
    parts.sort_unstable();
    parts.dedup();
    let mut differ: Vec<(f64, String)> = parts
        .iter()
        .filter_map(|part| {
            let (a, b) = (low.memory_part(part)?, high.memory_part(part)?);
            let words = format!("{part} {} against {}", grouped(a, 2), grouped(b, 2));
            ((a - b).abs() > ROUNDING).then_some(((a - b).abs(), words))
        })
        .collect();
    differ.sort_by(|a, b| b.0.total_cmp(&a.0));
    let words: Vec<String> = differ.into_iter().take(3).map(|(_, words)| words).collect();
    match (words.is_empty(), parts.contains(&"peak activation")) {
        (false, _) => {}
        // With weights, peak and graphs the same, the difference is not the engine's.
        (true, true) => {
            return "; no part of the engine's own account explains it: something else held memory"
                .to_owned();
        }
        (true, false) => return "; the log does not say which part of the memory moved".to_owned(),
    }
    format!("; moved: {} GiB", words.join(", "))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "a cold and a warm start",
            evidence: r"
== log
(APIServer pid=1) INFO 10-01 01:24:26 [utils.py:286] non-default args: {'model_tag': '/m'}
(EngineCore pid=3) INFO 10-01 01:25:27 [backends.py:393] Compiling a graph for compile range (1, 2048) takes 13.46 s
(EngineCore pid=3) INFO 10-01 01:25:33 [gpu_worker.py:640] Available KV cache memory: 4.44 GiB
(EngineCore pid=3) INFO 10-01 01:25:39 [gpu_worker.py:888] Free memory on device (22.45/23.99 GiB) on startup. Desired GPU memory utilization is (0.93, 22.31 GiB). Actual usage is 16.56 GiB for consumed memory (weights + non-torch), 1.3 GiB for peak activation, and 0.07 GiB for CUDAGraph memory. Replace it.
(APIServer pid=1) INFO:     Application startup complete.
== next start
== log
(APIServer pid=1) INFO 10-01 02:24:26 [utils.py:286] non-default args: {'model_tag': '/m'}
(EngineCore pid=3) INFO 10-01 02:25:27 [backends.py:393] Directly load the compiled graph(s) for compile range (1, 2048) from the cache, took 1.2 s
(EngineCore pid=3) INFO 10-01 02:25:33 [gpu_worker.py:640] Available KV cache memory: 6.58 GiB
(EngineCore pid=3) INFO 10-01 02:25:39 [gpu_worker.py:888] Free memory on device (22.45/23.99 GiB) on startup. Desired GPU memory utilization is (0.93, 22.31 GiB). Actual usage is 15.62 GiB for consumed memory (weights + non-torch), 0.1 GiB for peak activation, and 0.07 GiB for CUDAGraph memory. Replace it.
(APIServer pid=1) INFO:     Application startup complete.
",
            status: Status::Warn,
            says: &[
                "4.44 GiB left",
                "6.58 GiB",
                "peak activation 1.30 against 0.10",
                "weights and non-torch 16.56 against 15.62",
                "1 of 2 starts compiled from scratch",
            ],
        },
        Case {
            name: "no account of the parts",
            evidence: r"
== log
[2025-05-01 10:00:00] server_args=ServerArgs(model_path='/m', random_seed=1)
[2025-05-01 10:00:21] KV Cache is allocated. #tokens: 320960, K size: 24.50 GB, V size: 24.50 GB
[2025-05-01 10:00:50] The server is fired up and ready to roll!
== next start
== log
[2025-05-01 11:00:00] server_args=ServerArgs(model_path='/m', random_seed=2)
[2025-05-01 11:00:21] KV Cache is allocated. #tokens: 300000, K size: 22.90 GB, V size: 22.90 GB
[2025-05-01 11:00:50] The server is fired up and ready to roll!
",
            status: Status::Warn,
            says: &["45.80 GiB", "49.00 GiB", "does not say which part"],
        },
        Case {
            name: "the same",
            evidence: r"
== log
[TRT-LLM] [I] [batchmgr][RANK 0] [MemUsageChange] Allocated 2.39 GiB for max tokens in paged KV cache (17408).
[TRT-LLM] [I] [batchmgr][RANK 0] [MemUsageChange] Allocated 5.19 GiB for max tokens in paged KV cache (37760).
model='/m' kv_cache_config=KvCacheConfig(enable_block_reuse=True, max_tokens=37761) max_batch_size=32
INFO:     Application startup complete.
== next start
== log
[TRT-LLM] [I] [batchmgr][RANK 0] [MemUsageChange] Allocated 2.39 GiB for max tokens in paged KV cache (17408).
[TRT-LLM] [I] [batchmgr][RANK 0] [MemUsageChange] Allocated 5.19 GiB for max tokens in paged KV cache (37760).
model='/m' kv_cache_config=KvCacheConfig(enable_block_reuse=True, max_tokens=37790) max_batch_size=32
INFO:     Application startup complete.
",
            status: Status::Pass,
            says: &["2 starts, each with 5.19 GiB"],
        },
        Case {
            name: "nothing printed",
            evidence: r"
== log
(APIServer pid=1) INFO 10-01 01:24:26 [utils.py:286] non-default args: {'model_tag': '/m'}
(APIServer pid=1) INFO:     Application startup complete.
== next start
== log
(APIServer pid=1) INFO 10-01 01:24:26 [utils.py:286] non-default args: {'model_tag': '/m'}
(APIServer pid=1) INFO:     Application startup complete.
",
            status: Status::Unknown,
            says: &["left out"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "a cold and a warm start",
        find: "memory: 6.58 GiB",
        replace: "memory: 4.44 GiB",
        becomes: Status::Pass,
    };
}
