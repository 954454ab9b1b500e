//! Could the KV cache hold the load at full length?

use super::{Limit, SATURATED, Tone};
use crate::boot::facts::BootFacts;
use crate::client::ClientResult;
use crate::engine::Signal;
use crate::evidence::{Requested, Scope, Source};
use crate::number::{count, percent};
use std::collections::{BTreeMap, BTreeSet};

/// Gauges of the pages or blocks of a pool, and of the tokens in one.
const POOLS: [(&str, &str); 3] = [
    ("sglang:num_pages", "sglang:page_size"),
    ("sglang:max_total_num_tokens", "sglang:page_size"),
    ("trtllm_kv_cache_max_blocks", "trtllm_kv_cache_tokens_per_block"),
];

/// Gauges that are above 0 only where a model keeps states or windows beside its KV cache.
const STATES: [&str; 4] = [
    "sglang:mamba_available_tokens",
    "sglang:mamba_used_tokens",
    "sglang:mamba_usage",
    "sglang:max_total_num_tokens_swa",
];

/// The KV cache of all replicas.
struct Pool {
    /// Tokens in a block.
    size: f64,
    /// Blocks of each replica.
    replicas: Vec<f64>,
    /// Blocks of each replica that no request gets.
    held_back: f64,
    from: &'static str,
}

/// Tokens of the mean request.
struct Request {
    prompt: f64,
    output: f64,
    from: &'static str,
}

/// How full the cache got, where its gauge shows the moment it is read at.
struct Seen {
    fullest: f64,
    /// Most requests waiting while the cache was full.
    waiting: f64,
    metric: &'static str,
}

pub(super) fn card(scope: &Scope<'_>) -> Option<Limit> {
    let facts = log(scope);
    let seen = seen(scope);
    let pool = pool(scope, facts);
    if let Some(why) = hybrid(scope, facts, pool.as_ref()) {
        let text = format!("A hybrid model ({why}): tokens do not tell how many requests fit. ");
        return seen.map(|seen| measured(&seen, text + &seen.words()));
    }
    match (pool.zip(request(scope)), scope.requested()) {
        (Some((pool, request)), Some(asked)) => {
            Some(against(&pool, &request, &asked, seen.as_ref(), cached(scope)))
        }
        (..) => seen.map(|seen| measured(&seen, seen.words())),
    }
}

/// The arithmetic: blocks asked for at full length against the pool.
fn against(
    pool: &Pool,
    request: &Request,
    asked: &Requested,
    seen: Option<&Seen>,
    cached: f64,
) -> Limit {
    let fit = pool.fits(request.prompt + request.output);
    let mut text = words(pool, request, asked, fit);
    if let Some(seen) = seen {
        text = text + " " + &seen.words();
    }
    // Cached prompt tokens may be of blocks that requests share, which are held once.
    let fit_shared = pool.fits(request.prompt * (1.0 - cached) + request.output);
    let shared = asked.at_once > fit && asked.at_once <= fit_shared;
    if shared {
        text += &format!(
            " {} of the prompt tokens came from the prefix cache: requests that share blocks take fewer.",
            percent(cached)
        );
    }
    let holds = asked.at_once <= fit;
    let (title, tone) = match (seen.map(Seen::full), holds) {
        (Some(true), true) => ("The KV cache was full", Tone::Limit),
        (Some(true), false) => ("The KV cache could not hold the load", Tone::Limit),
        (_, true) => ("The KV cache could hold the load", Tone::Ok),
        (None, false) if !shared => ("The KV cache could not hold the load", Tone::Limit),
        (_, false) => ("The load at full length is more than the KV cache holds", Tone::Note),
    };
    Limit { key: "cache", title, text, tone }
}

fn words(pool: &Pool, request: &Request, asked: &Requested, fit: f64) -> String {
    let each = pool.blocks_of(request.prompt + request.output);
    let (blocks, held): (f64, f64) =
        (pool.replicas.iter().sum(), pool.held_back * pool.replicas.len() as f64);
    let paged = pool.size > 1.0;
    let take = if paged {
        format!("{} blocks of {} tokens", count(each), count(pool.size))
    } else {
        format!("{} tokens", count(each))
    };
    let has = match (paged, held > 0.0) {
        (false, _) => String::new(),
        (true, false) => format!(" in {} blocks", count(blocks)),
        (true, true) => {
            format!(" in {} blocks, {} of them for requests", count(blocks), count(blocks - held))
        }
    };
    format!(
        "{} requests ({}) of {} prompt and {} output tokens ({}) take {take} each at full length, {} tokens in all; the pool has {}{has} ({}): {} fit.",
        count(asked.at_once),
        asked.from,
        count(request.prompt.round()),
        count(request.output.round()),
        request.from,
        count(each * pool.size * asked.at_once),
        count(blocks * pool.size),
        pool.from,
        count(fit)
    )
}

/// What the gauge alone shows.
fn measured(seen: &Seen, text: String) -> Limit {
    let (title, tone) = if seen.full() {
        ("The KV cache was full", Tone::Limit)
    } else {
        ("The KV cache was not the limit", Tone::Ok)
    };
    Limit { key: "cache", title, text, tone }
}

impl Pool {
    fn blocks_of(&self, tokens: f64) -> f64 {
        (tokens / self.size).ceil()
    }

    /// Requests of so many tokens that fit, each whole in one replica.
    fn fits(&self, tokens: f64) -> f64 {
        let each = self.blocks_of(tokens).max(1.0);
        self.replicas.iter().map(|blocks| ((blocks - self.held_back) / each).floor()).sum()
    }
}

impl Seen {
    fn full(&self) -> bool {
        self.fullest >= SATURATED && self.waiting > 0.0
    }

    fn words(&self) -> String {
        let most = format!("At its fullest {} was in use ({})", percent(self.fullest), self.metric);
        if self.full() {
            format!("{most}, while up to {} waited.", count(self.waiting))
        } else {
            most + "."
        }
    }
}

/// The log of the only server: of several, none is known to be this one's.
fn log<'a>(scope: &Scope<'a>) -> Option<&'a BootFacts> {
    match (scope.logs(), scope.sources().count()) {
        ([log], 1) => Some(&log.server.facts),
        _ => None,
    }
}

fn pool(scope: &Scope<'_>, facts: Option<&BootFacts>) -> Option<Pool> {
    let mut pools =
        scope.sources().map(|(_, source)| blocks_of(source).or_else(|| pages_of(source)));
    let Some(first) = pools.next()? else { return logged(scope, facts) };
    pools.try_fold(first, |mut all, pool| {
        let pool = pool.filter(|pool| pool.size == all.size)?;
        all.replicas.extend(pool.replicas);
        Some(all)
    })
}

/// vLLM: under data parallelism the label is the sum over replicas, repeated on each. One block of
/// each replica is never handed out (`vllm/v1/core/block_pool.py`).
fn blocks_of(source: &Source) -> Option<Pool> {
    let metric = "vllm:cache_config_info";
    let label = |key| source.full.named(metric).find_map(|column| column.series.label(key));
    let engines: BTreeSet<_> =
        source.full.named(metric).map(|column| column.series.label("engine")).collect();
    let blocks: f64 = label("num_gpu_blocks")?.parse().ok()?;
    let size: f64 = label("block_size")?.parse().ok()?;
    let each = blocks / engines.len() as f64;
    (each.fract() == 0.0 && each > 1.0 && size > 0.0).then(|| Pool {
        size,
        replicas: vec![each; engines.len()],
        held_back: 1.0,
        from: metric,
    })
}

/// SGLang and TensorRT-LLM: gauges of each replica.
fn pages_of(source: &Source) -> Option<Pool> {
    let label = source.engine?.replica_label;
    POOLS.into_iter().find_map(|(metric, size)| {
        let size = latest(source, size)?;
        let mut replicas = BTreeMap::new();
        for column in source.full.named(metric) {
            let replica = label.and_then(|label| column.series.label(label));
            let newest = column.changes.iter().rev().find_map(|&(_, value)| value);
            replicas.insert(replica, newest?);
        }
        let in_pages = !metric.ends_with("_tokens");
        let blocks = |value: f64| if in_pages { value } else { (value / size).floor() };
        let replicas: Vec<f64> = replicas.into_values().map(blocks).collect();
        let real =
            size > 0.0 && !replicas.is_empty() && replicas.iter().all(|blocks| *blocks > 0.0);
        real.then_some(Pool { size, replicas, held_back: 0.0, from: metric })
    })
}

/// The server's log, where it speaks of one replica.
fn logged(scope: &Scope<'_>, facts: Option<&BootFacts>) -> Option<Pool> {
    let facts = facts?;
    let one = facts.data_parallel.as_ref().is_none_or(|replicas| replicas.value == 1);
    // vLLM's own metric is there whenever vLLM is; its log prints no block size.
    scope.engine().ok().filter(|engine| one && engine.name != "vllm")?;
    let size = facts.block_size.as_ref()?.value as f64;
    let tokens = facts.pool_tokens()? as f64;
    let blocks = (tokens / size).floor();
    (size > 0.0 && blocks > 0.0).then(|| Pool {
        size,
        replicas: vec![blocks],
        held_back: 0.0,
        from: "the server's log",
    })
}

fn latest(source: &Source, metric: &str) -> Option<f64> {
    let newest = |changes: &[(u32, Option<f64>)]| changes.iter().rev().find_map(|&(_, v)| v);
    source.full.named(metric).find_map(|column| newest(&column.changes))
}

/// Tokens per block above which none are asked for (`vllm/config/cache.py` of 0.8.5 to 0.16).
const LARGEST_ASKED: u64 = 256;

/// Why tokens do not tell how many requests fit: states or windows beside the KV cache, or blocks of
/// several groups of layers, which a pool's stated tokens show.
fn hybrid(scope: &Scope<'_>, facts: Option<&BootFacts>, pool: Option<&Pool>) -> Option<String> {
    // A backend's own size is one that can be asked for; states make blocks of any size.
    let by_states = |tokens: u64| !tokens.is_power_of_two() || tokens > LARGEST_ASKED;
    let forced = facts.and_then(|facts| facts.block_size_forced.as_ref());
    if let Some(forced) = forced.filter(|forced| by_states(forced.value)) {
        return Some(format!("blocks of {} tokens forced", count(forced.value as f64)));
    }
    if facts.is_some_and(|facts| facts.memory_part("state cache").is_some()) {
        return Some("a state cache in the log".into());
    }
    let info = |key| scope.info("vllm:cache_config_info", key);
    if let Some(mode) = info("mamba_cache_mode").filter(|m| !matches!(*m, "none" | "None")) {
        return Some(format!("mamba_cache_mode={mode} in vllm:cache_config_info"));
    }
    for (_, source) in scope.sources() {
        let state = |name: &&str| latest(source, name).is_some_and(|value| value > 0.0);
        if let Some(name) = STATES.into_iter().find(|name| state(name)) {
            return Some(format!("{name} is not 0"));
        }
    }
    let pool = pool?;
    let stated = info("kv_cache_size_tokens").and_then(|tokens| tokens.parse().ok());
    let stated = stated.or_else(|| facts?.pool_tokens().map(|tokens| tokens as f64))?;
    let each = pool.replicas.first()? * pool.size;
    ((stated - each).abs() > 2.0 * pool.size).then(|| {
        format!("its pool is stated as {} tokens, its blocks hold {}", count(stated), count(each))
    })
}

/// Tokens of the mean request: by the load tool, else by the server.
fn request(scope: &Scope<'_>) -> Option<Request> {
    let mean = |tokens: f64, requests: f64| (requests > 0.0).then(|| tokens / requests);
    let told = scope.point.result.as_ref().and_then(ClientResult::mean_tokens);
    if let Some((prompt, output)) = told {
        return Some(Request { prompt, output, from: "the load tool's result, on average" });
    }
    let total = |signal| scope.counter(signal).ok().map(|counted| counted.total);
    let finished = total(Signal::Finished)?;
    let request = Request {
        prompt: mean(total(Signal::PromptTokens)?, finished)?,
        output: mean(total(Signal::GenerationTokens)?, finished)?,
        from: "the server's counters, on average",
    };
    (request.prompt + request.output > 0.0).then_some(request)
}

/// Share of the prompt tokens that came from the prefix cache.
fn cached(scope: &Scope<'_>) -> f64 {
    let total = |signal| scope.counter(signal).ok().map(|counted| counted.total);
    let share = total(Signal::CachedPromptTokens).zip(total(Signal::PromptTokens));
    share.filter(|(_, all)| *all > 0.0).map_or(0.0, |(cached, all)| (cached / all).clamp(0.0, 1.0))
}

fn seen(scope: &Scope<'_>) -> Option<Seen> {
    scope.engine().ok().filter(|engine| engine.gauges_lag.is_none())?;
    let usage = scope.track(Signal::KvUsage).ok().filter(|track| track.summed_over == 1)?;
    let waiting = scope.track(Signal::Waiting).ok().map(|track| track.total()).unwrap_or_default();
    let mut seen = Seen { fullest: 0.0, waiting: 0.0, metric: usage.metric };
    for (_, values) in &usage.replicas {
        for (value, waiting) in
            values.iter().zip(waiting.iter().copied().chain(std::iter::repeat(None)))
        {
            let Some(value) = *value else { continue };
            seen.fullest = seen.fullest.max(value);
            if value >= SATURATED {
                seen.waiting = seen.waiting.max(waiting.unwrap_or(0.0));
            }
        }
    }
    // A gauge that never left 0, or samples that miss most of the load, saw nothing of it.
    let running = scope.track(Signal::Running).ok();
    let saw = || running.as_ref().is_none_or(|running| scope.shown(running).is_ok());
    (seen.full() || seen.fullest > 0.0 && saw()).then_some(seen)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::limit::Tone;
    use crate::limit::tests::Case;

    pub(in crate::limit) const CASES: &[Case] = &[
        Case {
            name: "vllm, more than the pool at full length",
            evidence: r#"
== params
concurrency=32
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_input_tokens":2816,"total_output_tokens":32000}
== before
vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="2021",kv_cache_size_tokens="32336",mamba_cache_mode="none"} 1
vllm:num_requests_waiting{engine="0"} 0
vllm:kv_cache_usage_perc{engine="0"} 0
== 0
vllm:num_requests_waiting{engine="0"} 3
vllm:kv_cache_usage_perc{engine="0"} 0.99
== after
"#,
            tone: Some(Tone::Limit),
            says: &[
                "32 requests",
                "68 blocks of 16",
                "34,816 tokens",
                "32,336",
                "2,020",
                ": 29 fit",
                "99%",
                "3 waited",
            ],
        },
        Case {
            name: "vllm, blocks of the size that its backend prefers",
            evidence: r#"
== params
concurrency=32
== log
(Worker_TP0 pid=3) INFO 05-19 02:40:23 [interface.py:489] Setting kv cache block size to 64 for FLASHMLA backend.
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_input_tokens":2816,"total_output_tokens":32000}
== before
vllm:cache_config_info{engine="0",block_size="64",num_gpu_blocks="505",kv_cache_size_tokens="32320",mamba_cache_mode="none"} 1
vllm:num_requests_waiting{engine="0"} 0
vllm:kv_cache_usage_perc{engine="0"} 0
== 0
vllm:num_requests_waiting{engine="0"} 3
vllm:kv_cache_usage_perc{engine="0"} 0.99
== after
"#,
            tone: Some(Tone::Limit),
            says: &["17 blocks of 64", ": 29 fit"],
        },
        Case {
            name: "vllm, replicas with room",
            evidence: r#"
== params
concurrency=32
== result
{"backend":"vllm","num_prompts":48,"completed":48,"total_input_tokens":4224,"total_output_tokens":7200}
== before
vllm:cache_config_info{engine="0",block_size="128",num_gpu_blocks="120"} 1
vllm:cache_config_info{engine="1",block_size="128",num_gpu_blocks="120"} 1
== 0
== after
"#,
            tone: Some(Tone::Ok),
            says: &["2 blocks of 128", "120 blocks, 118 of them", ": 58 fit"],
        },
        Case {
            name: "more than the pool, but never full",
            evidence: r#"
== params
concurrency=32
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_input_tokens":2816,"total_output_tokens":32000}
== before
vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="2021"} 1
vllm:kv_cache_usage_perc{engine="0"} 0
== 0
vllm:kv_cache_usage_perc{engine="0"} 0.5
== after
"#,
            tone: Some(Tone::Note),
            says: &[": 29 fit", "50%"],
        },
        Case {
            name: "shared prompts may take fewer",
            evidence: r#"
== params
concurrency=4
== result
{"backend":"vllm","num_prompts":4,"completed":4,"total_input_tokens":4000,"total_output_tokens":400}
== before
vllm:cache_config_info{engine="0",block_size="100",num_gpu_blocks="24"} 1
vllm:prompt_tokens_total{engine="0"} 0
vllm:prompt_tokens_cached_total{engine="0"} 0
== 0
== after
vllm:prompt_tokens_total{engine="0"} 4000
vllm:prompt_tokens_cached_total{engine="0"} 3000
"#,
            tone: Some(Tone::Note),
            says: &["11 blocks of 100", ": 2 fit", "75% of the prompt tokens"],
        },
        Case {
            name: "a hybrid gets no token arithmetic",
            evidence: r#"
== params
concurrency=32
== result
{"backend":"vllm","num_prompts":32,"completed":32,"total_input_tokens":2816,"total_output_tokens":32000}
== before
vllm:cache_config_info{engine="0",block_size="784",num_gpu_blocks="43",kv_cache_size_tokens="26093"} 1
vllm:num_requests_waiting{engine="0"} 0
vllm:kv_cache_usage_perc{engine="0"} 0
== 0
vllm:num_requests_waiting{engine="0"} 22
vllm:kv_cache_usage_perc{engine="0"} 0.97
== after
"#,
            tone: Some(Tone::Limit),
            says: &[
                "hybrid",
                "stated as 26,093 tokens, its blocks hold 33,712",
                "97%",
                "22 waited",
            ],
        },
        Case {
            name: "sglang with state slots",
            evidence: r#"
== params
concurrency=32
== before
sglang:num_pages{tp_rank="0"} 17675
sglang:page_size{tp_rank="0"} 1
sglang:mamba_available_tokens{tp_rank="0"} 4
sglang:token_usage{tp_rank="0"} 0
sglang:num_queue_reqs{tp_rank="0"} 0
== 0
sglang:token_usage{tp_rank="0"} 0.8
sglang:num_queue_reqs{tp_rank="0"} 31
== after
"#,
            tone: Some(Tone::Ok),
            says: &["hybrid", "sglang:mamba_available_tokens", "80%"],
        },
        Case {
            name: "sglang, tokens by the server's counters",
            evidence: r#"
== params
concurrency=32
== before
sglang:max_total_num_tokens{tp_rank="0"} 32096
sglang:page_size{tp_rank="0"} 1
sglang:num_running_reqs{tp_rank="0"} 0
sglang:num_requests_total 1
sglang:prompt_tokens_total 10
sglang:generation_tokens_total 5
== 0
== after
sglang:num_requests_total 33
sglang:prompt_tokens_total 2826
sglang:generation_tokens_total 32005
"#,
            tone: Some(Tone::Limit),
            says: &[
                "88 prompt and 1,000 output",
                "the server's counters",
                "1,088 tokens each",
                "32,096",
                ": 29 fit",
            ],
        },
        Case {
            name: "tensorrt-llm",
            evidence: r#"
== params
concurrency=32
== result
{"backend":"openai","num_prompts":32,"completed":32,"total_input_tokens":2816,"total_output_tokens":32000}
== before
trtllm_kv_cache_max_blocks{pid="7"} 655
trtllm_kv_cache_tokens_per_block{pid="7"} 32
== after
"#,
            tone: Some(Tone::Limit),
            says: &["34 blocks of 32", "20,960 in 655 blocks", ": 19 fit"],
        },
        Case {
            name: "tensorrt-llm, pool by the log",
            evidence: r#"
== params
concurrency=4
== result
{"backend":"openai","num_prompts":4,"completed":4,"total_input_tokens":2816,"total_output_tokens":32000}
== log
[TensorRT-LLM] TensorRT LLM version: 1.3.0rc29
[TRT-LLM] [I] [batchmgr][RANK 0] Max KV cache blocks per sequence: 512 [window size=16384], tokens per block=32, primary blocks=1131, secondary blocks=0, max sequence length=16384
[TRT-LLM] [I] [batchmgr][RANK 0] [MemUsageChange] Allocated 4.97 GiB for max tokens in paged KV cache (36192).
== before
trtllm_request_success_total 1
== after
"#,
            tone: Some(Tone::Ok),
            says: &["36,192 in 1,131 blocks (the server's log)", "take 272 blocks", ": 4 fit"],
        },
        Case {
            name: "no pool and no gauge",
            evidence: "== params\nconcurrency=4\n== before\nvllm:num_requests_running 0\n== 0\n== after\n",
            tone: None,
            says: &[],
        },
    ];
}
