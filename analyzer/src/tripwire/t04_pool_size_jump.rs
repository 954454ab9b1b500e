use super::Check;
use crate::boot::facts::BootFacts;
use crate::evidence::{Missing, Run};
use crate::finding::Verdict;
use crate::number::{count, grouped};
use serde_json::json;

tripwire! {
    /// # What it checks
    /// Whether two starts of one configuration got the same KV cache.
    ///
    /// # Why it matters
    /// The engine sizes the cache by what it measures at that moment. The same command gave 32,336
    /// tokens once and 47,888 the next time: the first run preempted, the second did not, and a
    /// comparison of the two compares cache sizes.
    ///
    /// # How it decides
    /// Starts whose printed arguments are the same, less values drawn per start (a random seed) and
    /// where it listens. Warned: the pools differ. Starts that did not become ready have no pool and
    /// are left out by name. Under data parallelism each replica prints its own pool; all are compared.
    /// - vLLM: `GPU KV cache size: N tokens`. From 0.20 the figure depends on the longest length for
    ///   hybrid models, so versions are part of the configuration.
    /// - SGLang: `max_total_num_tokens=N`. TensorRT-LLM: the last `for max tokens in paged KV cache
    ///   (N)`; the first is a small pool for profiling.
    ///
    /// # What to do
    /// Pin it: vLLM `--kv-cache-memory` or `--num-gpu-blocks-override`, SGLang `--max-total-tokens`,
    /// TensorRT-LLM `max_tokens`. Start on an idle card with warm compile caches.
    ///
    /// # When it cannot tell
    /// Fewer than two of the starts show a pool.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/v1/core/kv_cache_utils.py`; SGLang 0.5.23: `managers/scheduler.py`
    T04_POOL_SIZE_JUMP {
        code: "T4",
        slug: "pool-size-jump",
        since: "0.1.0",
        summary: "starts of one configuration got KV caches of different sizes",
        needs: ["log"],
        explained_by: ["T11"],
        check: Check::Starts(check),
    }
}

fn check(runs: &[Run]) -> Result<Verdict, Missing> {
    let starts = super::starts::alike(runs, |facts| facts.pool_tokens().is_some())?;
    let pool = |facts: &BootFacts| {
        let mut pools: Vec<u64> = facts.pools.iter().map(|pool| pool.value).collect();
        pools.sort_unstable();
        pools
    };
    let lowest = starts.alike.iter().min_by_key(|start| start.facts.pool_tokens());
    let highest = starts.alike.iter().max_by_key(|start| start.facts.pool_tokens());
    let (Some(low), Some(high)) = (lowest, highest) else {
        return Err(Missing::lack("no start shows a pool"));
    };
    let (Some(least), Some(most)) = (low.facts.pool_tokens(), high.facts.pool_tokens()) else {
        return Err(Missing::lack("no start shows a pool"));
    };
    let evidence = |verdict: Verdict| {
        let pools: Vec<_> = starts
            .alike
            .iter()
            .map(|s| json!({"start": s.name, "tokens": pool(s.facts)}))
            .collect();
        verdict.with("pools", pools).with("left_out", starts.left_out.clone())
    };
    let left_out = starts.left_out_words();
    if starts.alike.iter().all(|start| pool(start.facts) == pool(low.facts)) {
        return Ok(evidence(Verdict::pass(format!(
            "{} starts, each with {} tokens of KV cache{left_out}",
            starts.alike.len(),
            count(least as f64)
        ))));
    }
    let more = (most as f64 / least.max(1) as f64 - 1.0) * 100.0;
    let mut levels: Vec<u64> =
        starts.alike.iter().filter_map(|start| start.facts.pool_tokens()).collect();
    levels.sort_unstable();
    levels.dedup();
    let shown: Vec<String> = levels.iter().take(4).map(|tokens| count(*tokens as f64)).collect();
    let blocks = match block_size(low.facts).filter(|size| least % size == 0 && most % size == 0) {
        Some(size) => format!(
            ", {} against {} blocks of {size}",
            count((least / size) as f64),
            count((most / size) as f64)
        ),
        None => String::new(),
    };
    Ok(evidence(Verdict::warn(format!(
        "{} starts of one configuration got {} tokens of KV cache: {} more than the lowest{blocks} ({} and {}){left_out}",
        starts.alike.len(),
        shown.join(" and "),
        format_args!("{}%", grouped(more, 1)),
        low.name,
        high.name
    ))))
}

/// Tokens per block, as forced, printed or asked for, else the engine's default.
fn block_size(facts: &BootFacts) -> Option<u64> {
    let stated = facts
        .block_size_forced
        .as_ref()
        .or(facts.block_size.as_ref())
        .or(facts.block_size_asked.as_ref());
    let default = match (facts.engine, facts.device.as_ref().map(|d| d.value.as_str())) {
        (Some("vllm"), Some("CPU")) => Some(128),
        (Some("vllm"), _) => Some(16),
        _ => None,
    };
    stated.map(|fact| fact.value).or(default).filter(|size| *size > 1)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "two levels",
            evidence: r"
== log
(APIServer pid=1) INFO 10-01 01:24:26 [utils.py:286] non-default args: {'model_tag': '/m', 'port': 8000, 'max_num_seqs': 32}
(EngineCore pid=3) INFO 10-01 01:25:33 [kv_cache_utils.py:2395] GPU KV cache size: 32,000 tokens, Maximum concurrency for 16,384 tokens per request: 1.95x
(APIServer pid=1) INFO:     Application startup complete.
== next start
== log
(APIServer pid=1) INFO 10-01 02:24:26 [utils.py:286] non-default args: {'model_tag': '/m', 'port': 8001, 'max_num_seqs': 32}
(EngineCore pid=4) INFO 10-01 02:25:33 [kv_cache_utils.py:2395] GPU KV cache size: 40,000 tokens, Maximum concurrency for 16,384 tokens per request: 2.44x
(APIServer pid=1) INFO:     Application startup complete.
",
            status: Status::Warn,
            says: &["32,000 and 40,000 tokens", "25.0% more", "2,000 against 2,500 blocks of 16"],
        },
        Case {
            name: "the same, but for the seed",
            evidence: r"
== log
[2026-10-01 01:40:37] server_args={'model_path': '/m', 'random_seed': 102080269, 'port': 30000}
[2026-10-01 01:41:33] max_total_num_tokens=32096, chunked_prefill_size=4096, max_prefill_tokens=16384, max_running_requests=32, context_len=16384, available_gpu_mem=1.08 GB
[2026-10-01 01:41:36] The server is fired up and ready to roll!
== next start
== log
[2026-10-01 03:40:37] server_args={'model_path': '/m', 'random_seed': 1058469960, 'port': 30000}
[2026-10-01 03:41:33] max_total_num_tokens=32096, chunked_prefill_size=4096, max_prefill_tokens=16384, max_running_requests=32, context_len=16384, available_gpu_mem=1.09 GB
[2026-10-01 03:41:36] The server is fired up and ready to roll!
",
            status: Status::Pass,
            says: &["2 starts, each with 32,096 tokens"],
        },
        Case {
            name: "two levels of V0, in blocks, and no arguments to compare",
            evidence: r"
== log
INFO 05-05 10:00:18 [llm_engine.py:240] Initializing a V0 LLM engine (v0.8.5) with config: model='/m', dtype=torch.bfloat16
INFO 05-05 10:00:46 [executor_base.py:112] # cuda blocks: 2021, # CPU blocks: 2048
INFO:     Application startup complete.
== next start
== log
INFO 05-05 11:00:18 [llm_engine.py:240] Initializing a V0 LLM engine (v0.8.5) with config: model='/m', dtype=torch.bfloat16
INFO 05-05 11:00:46 [executor_base.py:112] # cuda blocks: 2993, # CPU blocks: 2048
INFO:     Application startup complete.
",
            status: Status::Warn,
            says: &["32,336 and 47,888 tokens", "2,021 against 2,993 blocks of 16", "no arguments"],
        },
        Case {
            name: "one start only",
            evidence: "== log\nINFO:     Application startup complete.\n",
            status: Status::NotApplicable,
            says: &["needs two starts"],
        },
        Case {
            name: "one of two failed",
            evidence: r"
== log
(APIServer pid=1) INFO 10-01 01:24:26 [utils.py:286] non-default args: {'model_tag': '/m'}
(EngineCore pid=3) INFO 10-01 01:25:33 [kv_cache_utils.py:2395] GPU KV cache size: 32,000 tokens, Maximum concurrency for 16,384 tokens per request: 1.95x
(APIServer pid=1) INFO:     Application startup complete.
== next start
== log
(APIServer pid=1) INFO 10-01 02:24:26 [utils.py:286] non-default args: {'model_tag': '/m'}
OSError: [Errno 98] Address already in use
",
            status: Status::Unknown,
            says: &["left out"],
        },
        Case {
            name: "other options",
            evidence: r"
== log
(APIServer pid=1) INFO 10-01 01:24:26 [utils.py:286] non-default args: {'model_tag': '/m', 'max_model_len': 4096}
(EngineCore pid=3) INFO 10-01 01:25:33 [kv_cache_utils.py:2395] GPU KV cache size: 32,000 tokens, Maximum concurrency for 4,096 tokens per request: 7.95x
(APIServer pid=1) INFO:     Application startup complete.
== next start
== log
(APIServer pid=1) INFO 10-01 02:24:26 [utils.py:286] non-default args: {'model_tag': '/m', 'max_model_len': 8192}
(EngineCore pid=4) INFO 10-01 02:25:33 [kv_cache_utils.py:2395] GPU KV cache size: 40,000 tokens, Maximum concurrency for 8,192 tokens per request: 4.44x
(APIServer pid=1) INFO:     Application startup complete.
",
            status: Status::NotApplicable,
            says: &["differ in max_model_len"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation =
        Mutation { case: "two levels", find: "40,000", replace: "32,000", becomes: Status::Pass };
}
