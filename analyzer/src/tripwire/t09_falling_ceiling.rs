use super::Check;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope, Track};
use crate::finding::Verdict;
use crate::number::{count, grouped, percent, plural};

tripwire! {
    /// # What it checks
    /// Whether the number of requests that fit into a full KV cache stayed the same over the load.
    ///
    /// # Why it matters
    /// Requests grow as they generate: 10 of them fill a cache that later holds 7. The concurrency
    /// that a run was measured at is then no one number, and a longer run would show a lower one.
    ///
    /// # How it decides
    /// In each sample with a request running and at least nine tenths of the KV cache in use, the
    /// ceiling is running requests divided by the share in use, rounded down; where the number of
    /// blocks is known, in whole blocks. It moved if two samples differ by more than the gauge's own
    /// rounding (SGLang's is ±0.005). A ceiling computed from a cache that is not full is no finding:
    /// without a full sample the check passes and says how full it got. Each replica is judged by
    /// itself, the one that moved most is reported.
    ///
    /// # What to do
    /// Size the load by the cache at full length: blocks divided by the blocks of a prompt with all
    /// its output.
    ///
    /// # When it cannot tell
    /// No samples, samples that miss more than half of the load, no gauge of the KV cache or one that is
    /// no share, a recording
    /// that holds one sum for several replicas, or an engine whose gauges move only when a request
    /// completes (TensorRT-LLM).
    ///
    /// # References
    /// - vLLM: `vllm:kv_cache_usage_perc` is `1 - free / (num_gpu_blocks - 1)`
    ///   (`vllm/v1/core/block_pool.py`)
    /// - SGLang: `sglang:token_usage`, rounded to two decimals
    T09_FALLING_CEILING {
        code: "T9",
        slug: "falling-ceiling",
        since: "0.1.0",
        summary: "fewer requests fitted into the full KV cache as they grew",
        needs: ["scrape"],
        explained_by: [],
        check: Check::Point(check),
        notes: {
            "sglang": "`sglang:token_usage` is the largest of the usage of full attention, sliding \
                     windows and states, rounded to two decimals.",
            "trtllm": "The gauges move only when a request completes: it can never tell.",
        },
    }
    thresholds {
        /// Share of the KV cache in use from which it limits how many requests run. Below it the
        /// ceiling is an extrapolation; recorded runs that never waited stayed under 0.9.
        SATURATED = 0.9;
    }
}

/// The ceiling over the saturated samples of one replica.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    lowest: f64,
    highest: f64,
    /// The lowest and highest differ by more than rounding.
    moved: bool,
    samples: usize,
    /// Blocks a request held when the ceiling was highest and lowest, where the pool is known.
    blocks: Option<(f64, f64)>,
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    let engine = scope.engine()?;
    let usage = scope.track(Signal::KvUsage)?;
    let running = scope.track(Signal::Running)?;
    if let Some(reason) = engine.gauges_lag {
        return Err(Missing::lack(format!("{reason}: two stale readings prove no ceiling")));
    }
    if usage.summed_over > 1 {
        return Err(Missing::lack(format!(
            "the recording holds one summed series for {} replicas: no ceiling per replica",
            usage.summed_over
        )));
    }
    let pool = pool_blocks(scope);
    let ceilings: Vec<(&str, Ceiling)> = usage
        .replicas
        .iter()
        .enumerate()
        .filter_map(|(r, (name, _))| {
            Some((name.as_str(), ceiling(&running, &usage, r, pool, engine.usage_rounding)?))
        })
        .collect();
    let spread = |c: &Ceiling| (c.moved, c.highest - c.lowest);
    let worst = ceilings.iter().max_by(|a, b| {
        spread(&a.1).partial_cmp(&spread(&b.1)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some((replica, ceiling)) = worst else {
        let most = fullest_while_busy(&running, &usage).ok_or_else(|| {
            Missing::lack("no sample shows requests running together with the KV cache's use")
        })?;
        return Ok(Verdict::pass(format!(
            "the KV cache was never the limit (at most {} in use){}",
            percent(most),
            scope.shown(&running)?
        ))
        .with("max_usage", most));
    };
    let of = if usage.replicas.len() > 1 { format!("replica {replica}: ") } else { String::new() };
    let facts = |verdict: Verdict| {
        let verdict = verdict
            .with("highest", ceiling.highest)
            .with("lowest", ceiling.lowest)
            .with("saturated_samples", ceiling.samples);
        match ceiling.blocks {
            Some((few, many)) => verdict
                .with("blocks_per_request_at_highest", few)
                .with("blocks_per_request_at_lowest", many),
            None => verdict,
        }
    };
    let samples = plural(ceiling.samples as f64, "sample");
    if !ceiling.moved {
        return Ok(facts(Verdict::pass(format!(
            "{of}{} fit into the full KV cache, the same in {samples}{}",
            plural(ceiling.lowest, "request"),
            scope.shown(&running)?
        ))));
    }
    let blocks = ceiling.blocks.map_or(String::new(), |(few, many)| {
        format!("; a request held {} blocks, then {}", grouped(few, 1), grouped(many, 1))
    });
    Ok(facts(Verdict::warn(format!(
        "{of}between {} and {} requests fit into the full KV cache, over {samples}{blocks}",
        count(ceiling.lowest),
        count(ceiling.highest)
    ))))
}

/// Highest KV use of the samples with requests running.
fn fullest_while_busy(running: &Track, usage: &Track) -> Option<f64> {
    let both = |r: usize| {
        let at = move |i| usage.at(r, i).filter(|_| running.at(r, i).is_some_and(|n| n >= 1.0));
        (0..usage.times.len()).filter_map(at)
    };
    (0..usage.replicas.len()).flat_map(both).reduce(f64::max)
}

/// Usable blocks of one replica's pool, vLLM: one block is never handed out.
fn pool_blocks(scope: &Scope<'_>) -> Option<f64> {
    scope.blocks_per_replica().map(|blocks| blocks - 1.0)
}

fn ceiling(
    running: &Track,
    usage: &Track,
    replica: usize,
    pool: Option<f64>,
    rounding: f64,
) -> Option<Ceiling> {
    let mut found: Option<Ceiling> = None;
    // Intervals in which the exact ceiling lies; the gauge's rounding widens them.
    let (mut least_high, mut most_low) = (f64::INFINITY, f64::NEG_INFINITY);
    for i in 0..usage.times.len() {
        let (Some(requests), Some(share)) = (running.at(replica, i), usage.at(replica, i)) else {
            continue;
        };
        if requests < 1.0 || share < SATURATED {
            continue;
        }
        let used = pool.map(|blocks| (blocks * share).round());
        let exact = match (pool, used) {
            (Some(blocks), Some(used)) if used > 0.0 => blocks * requests / used,
            _ => requests / share,
        };
        least_high = least_high.min(requests / (share - rounding));
        most_low = most_low.max(requests / (share + rounding));
        let (fit, held) = (exact.floor(), used.map(|used| used / requests));
        let c = found.get_or_insert(Ceiling {
            lowest: fit,
            highest: fit,
            moved: false,
            samples: 0,
            blocks: held.map(|held| (held, held)),
        });
        c.samples += 1;
        c.lowest = c.lowest.min(fit);
        c.highest = c.highest.max(fit);
        if let (Some((few, many)), Some(held)) = (c.blocks, held) {
            c.blocks = Some((few.min(held), many.max(held)));
        }
        c.moved = c.highest > c.lowest && most_low > least_high;
    }
    found
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "falls as requests grow",
            evidence: r#"
== before
vllm:num_requests_running{engine="0"} 0
vllm:kv_cache_usage_perc{engine="0"} 0
vllm:cache_config_info{engine="0",num_gpu_blocks="43"} 1
== 0
vllm:num_requests_running{engine="0"} 10
vllm:kv_cache_usage_perc{engine="0"} 0.9523809523809523
== 1
vllm:num_requests_running{engine="0"} 7
vllm:kv_cache_usage_perc{engine="0"} 1
== after
"#,
            status: Status::Warn,
            says: &["between 7 and 10 requests", "held 4.0 blocks, then 6.0"],
        },
        Case {
            name: "constant",
            evidence: r"
== before
vllm:num_requests_running 0
vllm:kv_cache_usage_perc 0
== 0
vllm:num_requests_running 4
vllm:kv_cache_usage_perc 0.9230769230769231
== 1
vllm:num_requests_running 4
vllm:kv_cache_usage_perc 1
== after
",
            status: Status::Pass,
            says: &["4 requests fit", "2 samples"],
        },
        Case {
            name: "never full",
            evidence: r"
== before
vllm:num_requests_running 0
vllm:kv_cache_usage_perc 0
== 0
vllm:num_requests_running 32
vllm:kv_cache_usage_perc 0.73
== 1
vllm:num_requests_running 16
vllm:kv_cache_usage_perc 0.2
== after
",
            status: Status::Pass,
            says: &["never the limit (at most 73% in use)"],
        },
        Case {
            name: "not looked at for most of the load",
            evidence: r"
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:kv_cache_usage_perc 0
== 0
== 1
vllm:num_requests_running 32
vllm:kv_cache_usage_perc 0.3
== 2
vllm:kv_cache_usage_perc 0.4
== 40
vllm:kv_cache_usage_perc 0.2
== 41
vllm:num_requests_running 0
== after
",
            status: Status::Unknown,
            says: &["the samples miss 93% of the load"],
        },
        Case {
            name: "idle whenever it was looked at",
            evidence: r"
== before
vllm:num_requests_running 0
vllm:kv_cache_usage_perc 0
== 0
== 1
== after
",
            status: Status::Unknown,
            says: &["no sample shows requests running"],
        },
        Case {
            name: "no share",
            evidence: r"
== before
vllm:num_requests_running 0
vllm:kv_cache_usage_perc 0
== 0
vllm:num_requests_running 8
vllm:kv_cache_usage_perc 97
== 1
vllm:num_requests_running 4
vllm:kv_cache_usage_perc NaN
== after
",
            status: Status::Unknown,
            says: &["vllm:kv_cache_usage_perc reads up to 97", "no share of the KV cache"],
        },
        Case {
            name: "within the rounding of a two-decimal gauge",
            evidence: r"
== before
sglang:num_running_reqs 0
sglang:token_usage 0
== 0
sglang:num_running_reqs 92
sglang:token_usage 0.92
== 1
sglang:num_running_reqs 93
sglang:token_usage 0.94
== after
",
            status: Status::Pass,
            says: &["requests fit"],
        },
        Case {
            name: "worst replica",
            evidence: r#"
== before
vllm:num_requests_running{engine="0"} 0
vllm:num_requests_running{engine="1"} 0
vllm:kv_cache_usage_perc{engine="0"} 0
vllm:kv_cache_usage_perc{engine="1"} 0
== 0
vllm:num_requests_running{engine="0"} 5
vllm:kv_cache_usage_perc{engine="0"} 1
vllm:num_requests_running{engine="1"} 9
vllm:kv_cache_usage_perc{engine="1"} 1
== 1
vllm:num_requests_running{engine="1"} 6
== after
"#,
            status: Status::Warn,
            says: &["replica 1: between 6 and 9"],
        },
        Case {
            name: "two pods in one exposition",
            evidence: r#"
== before
vllm:num_requests_running{engine="0",pod="a"} 0
vllm:num_requests_running{engine="0",pod="b"} 0
vllm:kv_cache_usage_perc{engine="0",pod="a"} 0
vllm:kv_cache_usage_perc{engine="0",pod="b"} 0
== 0
vllm:num_requests_running{engine="0",pod="a"} 8
vllm:num_requests_running{engine="0",pod="b"} 4
vllm:kv_cache_usage_perc{engine="0",pod="a"} 0.5
vllm:kv_cache_usage_perc{engine="0",pod="b"} 0.45
== 1
vllm:num_requests_running{engine="0",pod="a"} 2
== after
"#,
            status: Status::Unknown,
            says: &["no sample shows requests running together with the KV cache's use"],
        },
        Case {
            name: "one sum for two replicas",
            evidence: r#"
== summed
== before
vllm:num_preemptions_total{engine="0"} 0
vllm:num_preemptions_total{engine="1"} 0
== 0
vllm:num_requests_running 9
vllm:kv_cache_usage_perc 1
== 1
vllm:num_requests_running 6
== after
"#,
            status: Status::Unknown,
            says: &["one summed series for 2 replicas"],
        },
        Case {
            name: "gauges that lag",
            evidence: r"
== before
trtllm_num_requests_running 0
trtllm_kv_cache_utilization 0
== 0
trtllm_num_requests_running 32
trtllm_kv_cache_utilization 0.95
== after
",
            status: Status::Unknown,
            says: &["move only when a request completes"],
        },
        Case {
            name: "gauges switched off",
            evidence: "== before\ntrtllm_request_success_total 1\n== 0\n== after\n",
            status: Status::Unknown,
            says: &["enable_iter_perf_stats"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "never full",
        find: "0.73",
        replace: "0.99\n== 0.5\nvllm:num_requests_running 20",
        becomes: Status::Warn,
    };
}
