use super::Check;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope};
use crate::finding::Verdict;
use crate::number::{count, percent};

tripwire! {
    /// # What it checks
    /// Which share of the prompt tokens came from a cache instead of being computed.
    ///
    /// # Why it matters
    /// Prefix caching is on by default and random data sets are the same for the same seed: the second
    /// run of one benchmark on one server replays cached prompts. One recorded pair differed by 2.6
    /// times in throughput for no other reason.
    ///
    /// # How it decides
    /// Cached prompt tokens divided by all prompt tokens of the load, from the first of these that is
    /// exported. vLLM: `prompt_tokens_by_source`, `prompt_tokens_cached`, `prefix_cache_hits` over
    /// `prefix_cache_queries` (which until 0.26 count a waiting request once a step: there the share
    /// is judged by the least and the most of the prompt tokens that it can be). SGLang:
    /// `cached_tokens_total`. TensorRT-LLM: `prompt_cached_tokens_total`. A load that declares a shared
    /// prefix may have that share; 5% or more beyond it is a warning.
    ///
    /// # What to do
    /// Restart the server or reset its prefix cache between runs, change the seed with every run, or
    /// switch prefix caching off if the real load has no shared prefixes.
    ///
    /// # When it cannot tell
    /// No counter of cached tokens, a reading missing, a restart.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/v1/metrics/stats.py` (`PromptTokenStats`), `vllm/v1/core/kv_cache_manager.py`
    /// - SGLang 0.5.23: `sglang/srt/metrics/collector.py`
    /// - TensorRT-LLM 1.3: `tensorrt_llm/metrics/collector.py`
    T22_PREFIX_CACHE_WARM {
        code: "T22",
        slug: "prefix-cache-warm",
        since: "0.1.0",
        summary: "prompt tokens came from a cache that the load did not declare",
        needs: ["scrape", "phase"],
        explained_by: [],
        check: Check::Point(check),
        notes: {
            "vllm": "`--no-enable-prefix-caching` switches the cache off.",
            "sglang": "`--disable-radix-cache` switches the cache off.",
            "trtllm": "`enable_block_reuse: false` in `kv_cache_config` switches the cache off.",
        },
    }
    thresholds {
        /// Share of prompt tokens beyond the declared one. A test request that repeats the first
        /// prompt of a run of 32 puts 3% there on a recorded run, and says nothing of the rest.
        WARM = 0.05;
    }
}

/// The cache is switched off, by the engine's own metrics or the arguments in its log.
fn is_off(scope: &Scope<'_>) -> bool {
    let labels = [
        ("vllm:cache_config_info", "enable_prefix_caching"),
        ("trtllm_kv_cache_config_info", "enable_block_reuse"),
    ];
    labels.iter().any(|(metric, label)| scope.info(metric, label) == Some("False"))
        || scope.logs().iter().any(|log| {
            log.server.facts.argument("disable_radix_cache").is_some_and(|value| value == "True")
        })
}

/// Prompt tokens that a cache gave, of all.
struct Share {
    cached: f64,
    all: f64,
    metric: &'static str,
    /// Not from this server's own cache.
    external: f64,
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    scope.engine()?;
    scope.covered()?;
    let share = share(scope)?;
    if share.all <= 0.0 {
        return Ok(Verdict::pass("no prompt token was processed").with("prompt_tokens", 0));
    }
    let ratio = share.cached / share.all;
    let declared = declared(scope);
    let facts = |verdict: Verdict| {
        verdict
            .with("cached_tokens", share.cached)
            .with("prompt_tokens", share.all)
            .with("cached_ratio", ratio)
            .with("declared_ratio", declared.ratio)
            .with("metric", share.metric)
    };
    let unit = if share.metric.contains(BLOCKS) { "blocks looked up" } else { "prompt tokens" };
    let of = format!(
        "{} of the {unit} ({} of {})",
        percent(ratio),
        count(share.cached),
        count(share.all)
    );
    if ratio - declared.ratio < WARM || declared.shares {
        let message =
            match (is_off(scope), share.cached > 0.0, declared.shares || declared.ratio > 0.0) {
                (true, false, _) => "prefix caching was off".into(),
                (_, _, true) => format!("{of} came from a cache; {}", declared.text),
                (_, true, false) => format!("{of} came from a cache"),
                (_, false, false) => {
                    format!("none of the {} {unit} came from a cache", count(share.all))
                }
            };
        return Ok(facts(Verdict::pass(message)));
    }
    let external = if share.external > 0.0 {
        format!(", {} of them from outside the server", count(share.external))
    } else {
        String::new()
    };
    let when = match at_once(scope) {
        Some(true) => "; they came from the first requests on: the cache was warm before the load",
        Some(false) => "; they grew during the load: its prompts repeat each other",
        None => "",
    };
    let beyond = if declared.ratio > 0.0 { format!("; {}", declared.text) } else { String::new() };
    Ok(facts(Verdict::warn(format!("{of} came from a cache{external}{beyond}{when}"))))
}

fn share(scope: &Scope<'_>) -> Result<Share, Missing> {
    if let Ok(sources) = scope.counter_by(Signal::PromptTokensBySource, "source")
        && sources.contains_key("local_cache_hit")
    {
        let of = |source: &str| sources.get(source).copied().unwrap_or(0.0);
        let external = of("external_kv_transfer");
        return Ok(Share {
            cached: of("local_cache_hit") + external,
            all: sources.values().sum(),
            metric: "vllm:prompt_tokens_by_source_total",
            external,
        });
    }
    let share = |cached: Signal, all: Signal| {
        let cached = scope.counter(cached)?;
        let all = scope.counter(all)?.total;
        Ok(Share { cached: cached.total, all, metric: cached.metric, external: 0.0 })
    };
    share(Signal::CachedPromptTokens, Signal::PromptTokens).or_else(|first: Missing| {
        let found = share(Signal::PrefixHits, Signal::PrefixQueries).map_err(|_: Missing| first)?;
        looked_up_once(scope, found)
    })
}

/// Hits and queries of vLLM to 0.26, where a request that waits for blocks, or comes back from a
/// preemption, is looked up again: of the prompt tokens at least those hits were cached that repeats
/// cannot account for, and at most as many as there were hits.
fn looked_up_once(scope: &Scope<'_>, found: Share) -> Result<Share, Missing> {
    let prompts = scope.counter(Signal::PromptTokens).map_or(f64::NAN, |prompts| prompts.total);
    let again = found.all - prompts;
    if found.metric.contains(BLOCKS) || prompts <= 0.0 || again.is_nan() || again <= 0.0 {
        return Ok(found);
    }
    let (least, most) = ((found.cached - again).max(0.0), found.cached.min(prompts));
    let declared = declared(scope);
    let beyond = |cached: f64| !declared.shares && cached / prompts - declared.ratio >= WARM;
    if beyond(least) == beyond(most) {
        return Ok(Share {
            cached: if beyond(least) { least } else { most },
            all: prompts,
            ..found
        });
    }
    Err(Missing::lack(format!(
        "requests that waited were looked up again ({} tokens for {} of prompts): {} to {} of them \
         came from a cache",
        count(found.all),
        count(prompts),
        percent(least / prompts),
        percent(most / prompts)
    )))
}

/// In the name of the counters of vLLM 0.8, which count blocks.
const BLOCKS: &str = "gpu_prefix_cache";

/// What the load itself declares to share.
struct Declared {
    /// Share of a prompt that is a prefix common to all.
    ratio: f64,
    /// The data set shares prefixes, how much is not known.
    shares: bool,
    text: String,
}

/// Data sets whose prompts share prefixes by design: multi-turn talks and traces.
const SHARING: [&str; 8] = [
    "prefix_repetition",
    "generated-shared-prefix",
    "timed_trace",
    "mooncake",
    "burstgpt",
    "multi-turn",
    "multi_turn",
    "sonnet",
];

fn declared(scope: &Scope<'_>) -> Declared {
    let params = &scope.point.params;
    let number = |key: &str| params.get(key).and_then(|value| value.parse::<f64>().ok());
    if let Some(set) = params.get("dataset").filter(|set| SHARING.contains(&set.as_str())) {
        return Declared {
            ratio: 0.0,
            shares: true,
            text: format!("data set {set} shares prefixes"),
        };
    }
    let prefix = number("prefix_len").unwrap_or(0.0);
    let ratio = number("input_len").map_or(0.0, |input| prefix / (prefix + input).max(1.0));
    Declared {
        ratio,
        shares: false,
        text: format!("the load declares {} as a shared prefix", percent(ratio)),
    }
}

/// Whether the first tenth of the prompt tokens was cached as much as the whole: `None` without
/// samples that show it.
fn at_once(scope: &Scope<'_>) -> Option<bool> {
    let cached = scope.track(Signal::CachedPromptTokens).ok()?.total();
    let prompts = scope.track(Signal::PromptTokens).ok()?.total();
    let both: Vec<(f64, f64)> =
        cached.iter().zip(&prompts).filter_map(|(c, p)| Some(((*c)?, (*p)?))).collect();
    let (&(first_c, first_p), &(last_c, last_p)) = (both.first()?, both.last()?);
    if last_p <= first_p {
        return None;
    }
    let early = both.iter().find(|(_, p)| p - first_p >= (last_p - first_p) / 10.0)?;
    let share = |c: f64, p: f64| c / p;
    let whole = share(last_c - first_c, last_p - first_p);
    Some(share(early.0 - first_c, early.1 - first_p) >= whole / 2.0)
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "the same benchmark again",
            evidence: r#"
== before
vllm:prompt_tokens_total 22406
vllm:prompt_tokens_cached_total 0
vllm:prompt_tokens_by_source_total{source="local_compute"} 22406
vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 0
vllm:prompt_tokens_by_source_total{source="external_kv_transfer"} 0
== 0
== 1
vllm:prompt_tokens_total 27406
vllm:prompt_tokens_cached_total 4600
== 2
vllm:prompt_tokens_total 44812
vllm:prompt_tokens_cached_total 20480
vllm:prompt_tokens_by_source_total{source="local_compute"} 24332
vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 20480
== after
"#,
            status: Status::Warn,
            says: &["91% of the prompt tokens (20,480 of 22,406)", "warm before the load"],
        },
        Case {
            name: "cold",
            evidence: r#"
== before
vllm:prompt_tokens_by_source_total{source="local_compute"} 63
vllm:prompt_tokens_by_source_total{source="local_cache_hit"} 900
== after
vllm:prompt_tokens_by_source_total{source="local_compute"} 2879
"#,
            status: Status::Pass,
            says: &["none of the 2,816 prompt tokens"],
        },
        Case {
            name: "hits and queries only",
            evidence: r"
== before
vllm:prefix_cache_queries_total 0
vllm:prefix_cache_hits_total 0
== after
vllm:prefix_cache_queries_total 1000
vllm:prefix_cache_hits_total 300
",
            status: Status::Warn,
            says: &["30% of the prompt tokens (300 of 1,000)"],
        },
        Case {
            name: "hits of requests that were looked up again and again",
            evidence: r"
== before
vllm:prompt_tokens_total 0
vllm:prefix_cache_queries_total 0
vllm:prefix_cache_hits_total 0
== after
vllm:prompt_tokens_total 2816
vllm:prefix_cache_queries_total 500000
vllm:prefix_cache_hits_total 50000
",
            status: Status::Unknown,
            says: &["looked up again", "0% to 100%"],
        },
        Case {
            name: "more hits than repeats account for",
            evidence: r"
== before
vllm:prompt_tokens_total 0
vllm:prefix_cache_queries_total 0
vllm:prefix_cache_hits_total 0
== after
vllm:prompt_tokens_total 1000
vllm:prefix_cache_queries_total 1100
vllm:prefix_cache_hits_total 400
",
            status: Status::Warn,
            says: &["30% of the prompt tokens (300 of 1,000)"],
        },
        Case {
            name: "counted in blocks",
            evidence: r"
== before
vllm:prompt_tokens_total 0
vllm:gpu_prefix_cache_queries_total 0
vllm:gpu_prefix_cache_hits_total 0
== after
vllm:prompt_tokens_total 1600
vllm:gpu_prefix_cache_queries_total 100
vllm:gpu_prefix_cache_hits_total 40
",
            status: Status::Warn,
            says: &["40% of the blocks looked up (40 of 100)"],
        },
        Case {
            name: "a declared prefix",
            evidence: r"
== params
prefix_len=500
input_len=500
== before
vllm:prompt_tokens_total 0
vllm:prompt_tokens_cached_total 0
== after
vllm:prompt_tokens_total 1000
vllm:prompt_tokens_cached_total 490
",
            status: Status::Pass,
            says: &["declares 50%"],
        },
        Case {
            name: "no hit ever makes no series",
            evidence: r"
== before
sglang:num_requests_total 4
sglang:prompt_tokens_total 10
== after
sglang:prompt_tokens_total 1010
",
            status: Status::Pass,
            says: &["none of the 1,000"],
        },
        Case {
            name: "block reuse switched off",
            evidence: r#"
== before
trtllm_kv_cache_config_info{enable_block_reuse="False"} 1
trtllm_request_success_total{finished_reason="length"} 1
trtllm_prompt_tokens_total 0
== after
trtllm_prompt_tokens_total 1000
"#,
            status: Status::Pass,
            says: &["prefix caching was off"],
        },
        Case {
            name: "radix cache switched off",
            evidence: "
== log
[2026-10-01 01:12:35] server_args={'model_path': '/m', 'disable_radix_cache': True}
== before
sglang:num_requests_total 4
sglang:prompt_tokens_total 10
== after
sglang:prompt_tokens_total 1010
",
            status: Status::Pass,
            says: &["prefix caching was off"],
        },
        Case {
            name: "block reuse",
            evidence: r#"
== before
trtllm_request_success_total{finished_reason="length"} 1
trtllm_prompt_tokens_total 0
== after
trtllm_prompt_tokens_total 1000
trtllm_prompt_cached_tokens_total 640
"#,
            status: Status::Warn,
            says: &["64%"],
        },
        Case {
            name: "no counters",
            evidence: "== before\nvllm:num_requests_running 0\n== after\n",
            status: Status::Unknown,
            says: &["is not exported"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "a declared prefix",
        find: "prefix_len=500",
        replace: "prefix_len=0",
        becomes: Status::Warn,
    };
}
