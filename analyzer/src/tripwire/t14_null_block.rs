use super::Check;
use crate::engine::Signal;
use crate::evidence::{Missing, Scope};
use crate::finding::Verdict;
use crate::number::{count, plural};
use std::collections::BTreeSet;

tripwire! {
    /// # What it checks
    /// Whether vLLM's KV cache gauge counts in blocks out of `num_gpu_blocks` − 1: one block, the
    /// null block, is never handed out.
    ///
    /// # Why it matters
    /// Every figure computed from the gauge and the printed block count, the ceiling of T9 and the
    /// tokens a pool holds, is off by a block if the denominator is taken as `num_gpu_blocks`. With
    /// 43 blocks that is a request.
    ///
    /// # How it decides
    /// Each non-zero reading of each replica must be a whole multiple of 1/(N − 1), to within a
    /// millionth of a block, N being `num_gpu_blocks` of `vllm:cache_config_info`. Under data
    /// parallelism the label is the sum over replicas and is divided by their number. At least one
    /// reading must not also be a multiple of 1/N. The least denominator is never inferred from the
    /// readings: readings that share a factor would infer a divisor.
    ///
    /// # What to do
    /// On a failure, do not use figures in blocks from this server; report the engine version.
    ///
    /// # When it cannot tell
    /// No non-zero reading, no `num_gpu_blocks`, one sum for several replicas, or readings that fit
    /// both denominators.
    ///
    /// # References
    /// - vLLM 0.33: `vllm/v1/core/block_pool.py` (`get_usage`), `vllm/v1/core/kv_cache_manager.py`
    T14_NULL_BLOCK {
        code: "T14",
        slug: "null-block",
        since: "0.1.0",
        summary: "the KV cache gauge does not count in blocks out of the pool less one",
        needs: ["scrape"],
        explained_by: [],
        check: Check::Point(check),
        notes: {
            "sglang": "Does not apply: it has no null block.",
            "trtllm": "Does not apply: it has no null block.",
        },
    }
    thresholds {
        /// How far, in blocks, a reading may be from a whole number: the gauge is a float64 ratio of
        /// two counts, exact to about 1e-11 of a block in the largest pools seen.
        EXACT_BLOCKS = 1e-6;
        /// Largest denominator tried to name one that does fit; larger pools have not been seen.
        LARGEST_DENOMINATOR = 65_536.0;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    let engine = scope.engine()?;
    if engine.name != "vllm" {
        return Err(Missing::never(format!("{} has no null block", engine.title())));
    }
    let usage = scope.track(Signal::KvUsage)?;
    if usage.summed_over > 1 {
        return Err(Missing::lack(format!(
            "the recording holds one summed series for {} replicas",
            usage.summed_over
        )));
    }
    let blocks = scope
        .blocks_per_replica()
        .ok_or_else(|| Missing::lack("num_gpu_blocks of vllm:cache_config_info was not read"))?;
    let readings: BTreeSet<u64> = usage
        .replicas
        .iter()
        .flat_map(|(_, values)| values.iter().flatten())
        .filter(|share| share.is_finite() && **share > 0.0)
        .map(|share| share.to_bits())
        .collect();
    let readings: Vec<f64> = readings.into_iter().map(f64::from_bits).collect();
    if readings.is_empty() {
        return Err(Missing::lack("no reading of the KV cache gauge is above 0"));
    }
    let fits = |denominator: f64| readings.iter().filter(move |&&r| whole(r, denominator)).count();
    let facts = |verdict: Verdict| {
        verdict
            .with("num_gpu_blocks", blocks)
            .with("readings", readings.len())
            .with("fit_less_one", fits(blocks - 1.0))
            .with("fit_whole", fits(blocks))
    };
    let (less_one, all) = (count(blocks - 1.0), count(blocks));
    let number = plural(readings.len() as f64, "different reading");
    if fits(blocks - 1.0) < readings.len() {
        let other = (1..=LARGEST_DENOMINATOR as u32)
            .map(f64::from)
            .find(|&denominator| readings.iter().all(|&share| whole(share, denominator)));
        let other = match other {
            Some(denominator) => format!("1/{} fits all", count(denominator)),
            None => format!("no denominator up to {} does", count(LARGEST_DENOMINATOR)),
        };
        return Ok(facts(Verdict::fail(format!(
            "{} of {number} of the KV gauge are no multiple of 1/{less_one} \
             (num_gpu_blocks {all}); {other}",
            count((readings.len() - fits(blocks - 1.0)) as f64)
        ))));
    }
    if fits(blocks) == readings.len() {
        return Ok(facts(Verdict::unknown(format!(
            "{number} of the KV gauge fit both 1/{less_one} and 1/{all}"
        ))));
    }
    Ok(facts(Verdict::pass(format!(
        "the KV gauge counts in blocks out of {less_one}, not {all}: {number}"
    ))))
}

/// True when `share` of `denominator` blocks is a whole number of blocks.
fn whole(share: f64, denominator: f64) -> bool {
    let blocks = share * denominator;
    (blocks - blocks.round()).abs() <= EXACT_BLOCKS
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "out of the pool less one",
            evidence: r#"
== before
vllm:kv_cache_usage_perc{engine="0"} 0
vllm:cache_config_info{engine="0",num_gpu_blocks="45"} 1
== 0
vllm:kv_cache_usage_perc{engine="0"} 0.36363636363636365
== 1
vllm:kv_cache_usage_perc{engine="0"} 0.9772727272727273
== after
"#,
            status: Status::Pass,
            says: &["out of 44, not 45"],
        },
        Case {
            name: "readings that share a factor are still of the pool less one",
            evidence: r#"
== before
vllm:kv_cache_usage_perc 0
vllm:cache_config_info{num_gpu_blocks="400"} 1
== 0
vllm:kv_cache_usage_perc 0.007518796992481203
== 1
vllm:kv_cache_usage_perc 0.12030075187969924
== after
"#,
            status: Status::Pass,
            says: &["out of 399, not 400"],
        },
        Case {
            name: "two replicas share the label",
            evidence: r#"
== before
vllm:kv_cache_usage_perc{engine="0"} 0
vllm:kv_cache_usage_perc{engine="1"} 0
vllm:cache_config_info{engine="0",num_gpu_blocks="90"} 1
vllm:cache_config_info{engine="1",num_gpu_blocks="90"} 1
== 0
vllm:kv_cache_usage_perc{engine="0"} 0.36363636363636365
== after
"#,
            status: Status::Pass,
            says: &["out of 44, not 45"],
        },
        Case {
            name: "another denominator",
            evidence: r#"
== before
vllm:kv_cache_usage_perc 0
vllm:cache_config_info{num_gpu_blocks="45"} 1
== 0
vllm:kv_cache_usage_perc 0.1111111111111111
== 1
vllm:kv_cache_usage_perc 0.6
== after
"#,
            status: Status::Fail,
            says: &["2 of 2", "1/45 fits all"],
        },
        Case {
            name: "both fit",
            evidence: r#"
== before
vllm:kv_cache_usage_perc 0
vllm:cache_config_info{num_gpu_blocks="45"} 1
== 0
vllm:kv_cache_usage_perc 1
== after
"#,
            status: Status::Unknown,
            says: &["fit both"],
        },
        Case {
            name: "no block count",
            evidence: "== before\nvllm:kv_cache_usage_perc 0\n== 0\nvllm:kv_cache_usage_perc 0.5\n== after\n",
            status: Status::Unknown,
            says: &["num_gpu_blocks"],
        },
        Case {
            name: "another engine",
            evidence: "== before\nsglang:token_usage 0\n== 0\n== after\n",
            status: Status::NotApplicable,
            says: &["SGLang has no null block"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "out of the pool less one",
        find: "num_gpu_blocks=\"45\"",
        replace: "num_gpu_blocks=\"46\"",
        becomes: Status::Fail,
    };
}
