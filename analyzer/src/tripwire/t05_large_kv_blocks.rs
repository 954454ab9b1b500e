use super::Check;
use crate::boot::facts::BootFacts;
use crate::boot::pyrepr;
use crate::evidence::{Missing, Run};
use crate::finding::Verdict;
use crate::number::{count, percent};

tripwire! {
    /// # What it checks
    /// Whether the KV cache is handed out in larger blocks than were asked for.
    ///
    /// # Why it matters
    /// Hybrid models force vLLM to blocks of hundreds of tokens. A request then holds whole blocks it
    /// does not fill, a pool of a few dozen blocks fits fewer requests than its tokens suggest, and
    /// prefix caching works in steps of a block.
    ///
    /// # How it decides
    /// The tokens per block in force against those asked for, else against the engine's default: 16
    /// for vLLM on a GPU, 128 on a CPU, 1 for SGLang, 32 for TensorRT-LLM. In force is what the log
    /// says the engine forced, what the metrics say (`block_size` of `vllm:cache_config_info`,
    /// `sglang:page_size`, `trtllm_kv_cache_tokens_per_block`), or what the log states. The waste is
    /// that of the mean request of the result file, rounded up to whole blocks.
    ///
    /// # What to do
    /// Count a model's KV cache in blocks, not in tokens, when sizing a load for it. A forced block
    /// size cannot be lowered.
    ///
    /// # When it cannot tell
    /// Neither a log that gets as far as the KV cache nor metrics tell the block size; or it is above
    /// the default and nothing tells what was asked for: no arguments in the log, no
    /// `user_specified_block_size` in the metrics (vLLM 0.18 on).
    ///
    /// # References
    /// - vLLM: `vllm/model_executor/models/config.py`, "Setting attention block size to N tokens";
    ///   `vllm/platforms/interface.py`, "Setting kv cache block size to N for X backend"
    /// - SGLang: `server_args.page_size`; TensorRT-LLM: `KvCacheConfig.tokens_per_block`
    T05_LARGE_KV_BLOCKS {
        code: "T5",
        slug: "large-kv-blocks",
        since: "0.1.0",
        summary: "the KV cache is handed out in larger blocks than were asked for",
        needs: ["log", "scrape"],
        explained_by: [],
        check: Check::Run(check),
    }
    thresholds {
        /// Tokens per block above which no `--block-size` was taken (`vllm/config/cache.py` of 0.8.5 to
        /// 0.16: powers of two up to 256): the engine made them.
        LARGEST_OPTION = 256.0;
    }
}

/// Tokens per block, and where that is from.
struct Size {
    tokens: u64,
    from: &'static str,
}

fn check(run: &Run) -> Result<Verdict, Missing> {
    let engine = run.engine.ok_or_else(|| Missing::lack("the engine is not known"))?;
    let facts = run.logs.first().map(|log| &log.server.facts);
    let default = default_size(engine.name, facts)
        .ok_or_else(|| Missing::never(format!("{} has no blocks of a set size", engine.title())))?;
    let in_force = in_force(run, facts, default).ok_or_else(|| {
        Missing::lack("neither the log nor the metrics tell the tokens per block")
    })?;
    let asked = asked(run, facts, in_force.tokens, default).ok_or_else(|| {
        Missing::lack(format!(
            "blocks of {} ({}), and nothing tells whether they were asked for, or are the default \
             here: needs the server's log",
            tokens(in_force.tokens),
            in_force.from
        ))
    })?;
    let blocks = run
        .info("vllm:cache_config_info", "num_gpu_blocks")
        .and_then(|blocks| blocks.parse::<f64>().ok())
        .or_else(|| facts?.pool_blocks.as_ref().map(|blocks| blocks.value as f64));
    let with = |verdict: Verdict| {
        let verdict = verdict.with("tokens_per_block", in_force.tokens).with("asked", asked.tokens);
        match blocks {
            Some(blocks) => verdict.with("blocks", blocks),
            None => verdict,
        }
    };
    if in_force.tokens <= asked.tokens {
        return Ok(with(Verdict::pass(format!(
            "blocks of {} ({}), {} {}",
            tokens(in_force.tokens),
            in_force.from,
            count(asked.tokens as f64),
            asked.from
        ))));
    }
    let mut message = format!(
        "blocks of {} ({}), not of {} ({})",
        tokens(in_force.tokens),
        in_force.from,
        count(asked.tokens as f64),
        asked.from
    );
    if let Some(blocks) = blocks {
        message += &format!("; the pool has {}", count(blocks));
    }
    let mut verdict = with(Verdict::warn(""));
    if let Some((mean, waste)) = waste(run, in_force.tokens) {
        message += &format!(
            "; a request of {} tokens leaves {} of its blocks empty",
            count(mean.round()),
            percent(waste)
        );
        verdict = verdict.with("wasted_ratio", waste);
    }
    Ok(Verdict { message, ..verdict })
}

fn tokens(tokens: u64) -> String {
    let word = if tokens == 1 { "token" } else { "tokens" };
    format!("{} {word}", count(tokens as f64))
}

/// The tokens per block that were asked for, else the default; `None` when nothing tells which.
fn asked(run: &Run, facts: Option<&BootFacts>, in_force: u64, default: u64) -> Option<Size> {
    let printed = facts.and_then(|facts| facts.block_size_asked.as_ref()).map(|asked| asked.value);
    let config = facts.and_then(|facts| facts.argument("kv_cache_config"));
    let nested = || pyrepr::value(config?, "tokens_per_block")?.parse().ok();
    let options = ["--block-size", "--page-size"];
    let given = || run.server_option(&options)?.parse().ok();
    if let Some(tokens) = printed.or_else(nested).or_else(given) {
        return Some(Size { tokens, from: "asked for" });
    }
    let logged = |facts: &BootFacts| facts.arguments.is_some() || facts.block_size_forced.is_some();
    let by_user = run.info("vllm:cache_config_info", "user_specified_block_size");
    // What the option does not take was not asked for.
    let no_option = !in_force.is_power_of_two() || in_force as f64 > LARGEST_OPTION;
    if by_user == Some("True") && !no_option {
        return Some(Size { tokens: in_force, from: "asked for" });
    }
    let told = |facts: &BootFacts| facts.device.is_some() || facts.block_size_forced.is_some();
    let vllm = run.engine.is_some_and(|engine| engine.name == "vllm");
    if vllm && in_force == ON_CPU && !facts.is_some_and(told) {
        return None;
    }
    let by_default = in_force <= default || by_user.is_some() || no_option;
    (by_default || facts.is_some_and(logged))
        .then_some(Size { tokens: default, from: "by default" })
}

/// vLLM's default on a CPU, which GPU back ends for latent attention (CUTLASS) force too.
const ON_CPU: u64 = 128;

/// The engine's default: `vllm/config/cache.py` and `vllm/platforms/cpu.py`, SGLang's `page_size`,
/// TensorRT-LLM's `KvCacheConfig`. vLLM's XPU platform set 64 unasked while its log still called the
/// device a GPU (`vllm/platforms/xpu.py` about 0.12); releases that say `XPU` leave it at 16.
fn default_size(engine: &str, facts: Option<&BootFacts>) -> Option<u64> {
    let device = facts.and_then(|facts| facts.device.as_ref()).map(|device| device.value.as_str());
    match engine {
        "vllm" if device == Some("CPU") => Some(ON_CPU),
        "vllm" => Some(16),
        "sglang" => Some(1),
        "trtllm" => Some(32),
        _ => None,
    }
}

fn in_force(run: &Run, facts: Option<&BootFacts>, default: u64) -> Option<Size> {
    let fact = |size: Option<u64>, from| size.map(|tokens| Size { tokens, from });
    let forced = facts.and_then(|facts| facts.block_size_forced.as_ref()).map(|size| size.value);
    let label = run.info("vllm:cache_config_info", "block_size").and_then(|v| v.parse().ok());
    let gauge = ["sglang:page_size", "trtllm_kv_cache_tokens_per_block"]
        .into_iter()
        .find_map(|name| run.latest(name))
        .map(|size| size as u64);
    let stated = facts.and_then(|facts| facts.block_size.as_ref()).map(|size| size.value);
    fact(forced, "forced by the engine")
        .or_else(|| fact(label.or(gauge), "by the metrics"))
        .or_else(|| fact(stated, "by the log"))
        .or_else(|| {
            // vLLM prints a block size only when it forces one.
            let pool = facts.is_some_and(|facts| !facts.pools.is_empty());
            let asked = facts.and_then(|facts| facts.block_size_asked.as_ref());
            fact(pool.then_some(asked.map_or(default, |size| size.value)), "the log forces none")
        })
}

/// Mean tokens of a request, prompt and output, and the share of its last block's room that stays
/// empty.
fn waste(run: &Run, block: u64) -> Option<(f64, f64)> {
    let result = run.points.iter().find_map(|point| point.result.as_ref())?;
    let (prompt, output) = result.mean_tokens()?;
    let mean = prompt + output;
    let held = (mean / block as f64).ceil() * block as f64;
    (held > 0.0 && mean > 0.0).then(|| (mean, (held - mean) / held))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "forced by a hybrid model",
            evidence: r#"
== before
vllm:cache_config_info{block_size="784",num_gpu_blocks="43"} 1
== result
{"backend":"vllm","num_prompts":2,"completed":2,"total_input_tokens":176,"total_output_tokens":2000}
"#,
            status: Status::Warn,
            says: &["784 tokens", "not of 16", "pool has 43", "request of 1,088 tokens", "31%"],
        },
        Case {
            name: "forced by the log alone",
            evidence: "
== log
(EngineCore pid=1) INFO 11-01 10:00:00 [core.py:118] Initializing a V1 LLM engine (v0.28.0) with config: model='/m'
(EngineCore pid=1) INFO 11-01 10:00:00 [config.py:555] Setting attention block size to 784 tokens to ensure that attention page size is >= mamba page size.
",
            status: Status::Warn,
            says: &["784 tokens (forced by the engine)"],
        },
        Case {
            name: "as asked for, by the metrics",
            evidence: "== before\nvllm:cache_config_info{block_size=\"64\",user_specified_block_size=\"True\"} 1\n",
            status: Status::Pass,
            says: &["blocks of 64 tokens", "64 asked for"],
        },
        Case {
            name: "a size that may have been asked for",
            evidence: "== before\nvllm:cache_config_info{block_size=\"64\",num_gpu_blocks=\"2021\"} 1\n",
            status: Status::Unknown,
            says: &["64 tokens", "nothing tells whether they were asked for"],
        },
        Case {
            name: "a CPU's default, or forced on a GPU",
            evidence: "== before\nvllm:cache_config_info{block_size=\"128\",user_specified_block_size=\"False\"} 1\n",
            status: Status::Unknown,
            says: &["128 tokens", "or are the default here"],
        },
        Case {
            name: "pages that may have been asked for",
            evidence: "== before\nsglang:page_size{tp_rank=\"0\"} 64\n",
            status: Status::Unknown,
            says: &["nothing tells"],
        },
        Case {
            name: "forced by a backend for latent attention",
            evidence: "
== log
INFO 06-30 05:57:46 [cuda.py:154] Forcing kv cache block size to 64 for FlashMLA backend.
INFO 06-30 05:57:47 [core.py:118] Initializing a V1 LLM engine (v0.9.2) with config: model='/m'
INFO 06-30 05:58:46 [kv_cache_utils.py:716] GPU KV cache size: 435,712 tokens
",
            status: Status::Warn,
            says: &["64 tokens (forced by the engine)", "not of 16"],
        },
        Case {
            name: "preferred by a sparse backend",
            evidence: r"
== log
(APIServer pid=1) INFO 05-19 02:39:02 [utils.py:253] non-default args: {'model_tag': '/m', 'tensor_parallel_size': 2}
(Worker_TP0 pid=3714502) INFO 05-19 02:40:23 [interface.py:489] Setting kv cache block size to 64 for DEEPSEEK_V32_INDEXER backend.
(Worker_TP1 pid=3714503) INFO 05-19 02:40:23 [interface.py:489] Setting kv cache block size to 64 for DEEPSEEK_V32_INDEXER backend.
(EngineCore pid=3714500) INFO 05-19 02:40:46 [kv_cache_utils.py:1733] GPU KV cache size: 435,712 tokens
",
            status: Status::Warn,
            says: &["64 tokens (forced by the engine)", "not of 16"],
        },
        Case {
            name: "adjusted to the backend, then to the states of a hybrid model",
            evidence: r"
== log
(APIServer pid=1) INFO 08-26 11:08:02 [utils.py:253] non-default args: {'model_tag': '/m', 'block_size': 32}
(EngineCore pid=2) INFO 08-26 11:08:53 [cuda.py:200] Adjusting KV cache block size from 32 to 64 for FLASHMLA backend.
(EngineCore pid=2) INFO 08-26 11:08:54 [interface.py:926] Setting attention block size to 1152 tokens to ensure that attention page size is >= mamba page size.
",
            status: Status::Warn,
            says: &["1,152 tokens (forced by the engine)", "not of 32 (asked for)"],
        },
        Case {
            name: "tensorrt's, as asked for",
            evidence: "
== log
[TRT-LLM] [I] LLM Args:
backend='pytorch' kv_cache_config=KvCacheConfig(enable_block_reuse=True, tokens_per_block=64) scheduler_config=SchedulerConfig(use_python_scheduler=False)
== before
trtllm_kv_cache_tokens_per_block 64
",
            status: Status::Pass,
            says: &["blocks of 64 tokens", "64 asked for"],
        },
        Case {
            name: "as by default",
            evidence: "== before\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"2021\",user_specified_block_size=\"False\"} 1\n",
            status: Status::Pass,
            says: &["blocks of 16 tokens"],
        },
        Case {
            name: "one token a page",
            evidence: "== before\nsglang:page_size{tp_rank=\"0\"} 1\n",
            status: Status::Pass,
            says: &["blocks of 1 token"],
        },
        Case {
            name: "pages as asked for",
            evidence: "
== log
[2026-10-01 01:12:35] server_args={'model_path': '/m', 'page_size': 64, 'device': 'cuda'}
== before
sglang:page_size{tp_rank=\"0\"} 64
",
            status: Status::Pass,
            says: &["blocks of 64 tokens", "64 asked for"],
        },
        Case {
            name: "pages forced by the backend",
            evidence: "
== log
[2026-10-01 01:12:34] FlashMLA only supports a page_size of 64, change page_size to 64.
[2026-10-01 01:12:35] server_args={'model_path': '/m', 'page_size': 64, 'device': 'cuda'}
== before
sglang:page_size{tp_rank=\"0\"} 64
",
            status: Status::Warn,
            says: &["64 tokens (forced by the engine)", "not of 1 (by default)"],
        },
        Case {
            name: "tensorrt's default",
            evidence: "== before\ntrtllm_kv_cache_tokens_per_block 32\n",
            status: Status::Pass,
            says: &["blocks of 32 tokens"],
        },
        Case {
            name: "no block size anywhere",
            evidence: "== before\nvllm:num_requests_running 0\n",
            status: Status::Unknown,
            says: &["tokens per block"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "as by default",
        find: "block_size=\"16\"",
        replace: "block_size=\"64\"",
        becomes: Status::Warn,
    };
}
