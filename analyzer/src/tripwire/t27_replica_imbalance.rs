use super::Check;
use crate::engine::Signal;
use crate::evidence::{Count, Missing, Scope};
use crate::finding::Verdict;
use crate::number::{count, percent, plural};

tripwire! {
    /// # What it checks
    /// Whether the replicas of one role did equal shares of the work, as far as chance allows.
    ///
    /// # Why it matters
    /// A replica that idles, or gets twice the work of another, makes the sum of them slower than the
    /// number of replicas promises, and hides that one of them is broken.
    ///
    /// # How it decides
    /// Generated tokens of each replica over the load. A replica without any, when fair random
    /// routing of that many requests would leave one so less than once in 370 runs, is a failure. A
    /// share that is off the fair one by more than three standard deviations of fair random routing,
    /// and by more than 10%, is a warning.
    ///
    /// # What to do
    /// Look at the router's policy and at the replica's own log; routing by prefix is uneven on
    /// purpose.
    ///
    /// # When it cannot tell
    /// No counter of generated tokens per replica, a reading missing, a replica that appeared or
    /// vanished.
    ///
    /// # References
    /// - vLLM: label `engine` under `--data-parallel-size`; SGLang: label `dp_rank`
    T27_REPLICA_IMBALANCE {
        code: "T27",
        slug: "replica-imbalance",
        since: "0.1.0",
        summary: "replicas of one role did unequal work",
        needs: ["scrape", "source"],
        explained_by: ["T16"],
        check: Check::Point(check),
    }
    thresholds {
        /// Standard deviations of fair random routing within which shares are chance: outside of
        /// three is one run in 370.
        DEVIATIONS = 3.0;
        /// Part of the fair share below which a difference does not matter, however sure it is: it
        /// costs the sum less than two repeats of a run differ.
        MATTERS = 0.10;
        /// Chance of a replica without a request below which it is no chance: three standard
        /// deviations again.
        IDLE_CHANCE = 0.0027;
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    scope.engine()?;
    let read = scope.sources().all(|(edges, _)| edges.end.is_some());
    if read && scope.sources().count() == 1 && scope.replica_labels().len() < 2 {
        return Err(Missing::never("one replica"));
    }
    let tokens = generated(scope)?;
    let replicas = tokens.replicas.len() as f64;
    let requests = scope.counter(Signal::Finished)?.total;
    let fair = tokens.total / replicas;
    let figures: Vec<String> =
        tokens.replicas.iter().take(8).map(|(name, n)| format!("{name}: {}", count(*n))).collect();
    let more = match tokens.replicas.len() {
        0..=8 => String::new(),
        n => format!(" and {} more", n - 8),
    };
    let figures = format!("generated tokens by replica {}{more}", figures.join(", "));
    if tokens.total <= 0.0 {
        return Ok(Verdict::pass("no token was generated on any replica"));
    }
    let off = tokens.replicas.iter().map(|(_, n)| (n / fair - 1.0).abs()).fold(0.0, f64::max);
    // A request goes to each replica with the same chance: binomial, relative to its mean.
    let deviation = ((replicas - 1.0) / requests.max(1.0)).sqrt();
    let facts = |verdict: Verdict| {
        verdict
            .with("replicas", replicas)
            .with("off_fair_ratio", off)
            .with("chance_ratio", DEVIATIONS * deviation)
            .with("tokens", tokens.replicas.iter().map(|(_, n)| *n).collect::<Vec<f64>>())
    };
    let idle = tokens.replicas.iter().filter(|(_, n)| *n == 0.0).count() as f64;
    let chance = (1.0 - 1.0 / replicas).powf(requests) * replicas;
    if idle > 0.0 && chance < IDLE_CHANCE {
        return Ok(facts(Verdict::fail(format!(
            "{} of {} idle while {} finished: {figures}",
            count(idle),
            plural(replicas, "replica"),
            plural(requests, "request")
        ))));
    }
    let within = format!("{} off the fair share", percent(off));
    Ok(facts(if off > DEVIATIONS * deviation && off > MATTERS {
        Verdict::warn(format!(
            "{within}, more than the {} that chance allows: {figures}",
            percent(DEVIATIONS * deviation)
        ))
    } else {
        Verdict::pass(format!("at most {within}: {figures}"))
    }))
}

/// Generated tokens by replica. SGLang's front end counts them for all replicas together; its
/// schedulers count each decoded token (0.5.10 and later).
fn generated(scope: &Scope<'_>) -> Result<Count, Missing> {
    let counted = scope.counter(Signal::GenerationTokens)?;
    let names = scope.replica_labels();
    let Some(label) = scope.engine()?.replica_label else { return Ok(counted) };
    if counted.replicas.len() > 1 || names.len() < 2 {
        return Ok(counted);
    }
    let by_mode = scope.counter_by_two(Signal::PromptTokensBySource, "mode", label)?;
    let decoded = |name: &str| by_mode.get(&("decode".to_owned(), name.to_owned())).copied();
    let replicas: Vec<(String, f64)> =
        names.into_iter().map(|name| (name.to_owned(), decoded(name).unwrap_or(0.0))).collect();
    Ok(Count { total: replicas.iter().map(|(_, n)| n).sum(), replicas, metric: counted.metric })
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "within chance",
            evidence: r#"
== before
vllm:generation_tokens_total{engine="0"} 0
vllm:generation_tokens_total{engine="1"} 0
vllm:request_success_total{engine="0"} 0
vllm:request_success_total{engine="1"} 0
== after
vllm:generation_tokens_total{engine="0"} 3300
vllm:generation_tokens_total{engine="1"} 3900
vllm:request_success_total{engine="0"} 22
vllm:request_success_total{engine="1"} 26
"#,
            status: Status::Pass,
            says: &["8.3% off the fair share", "0: 3,300, 1: 3,900"],
        },
        Case {
            name: "idle",
            evidence: r#"
== before
vllm:generation_tokens_total{engine="0"} 0
vllm:generation_tokens_total{engine="1"} 0
vllm:request_success_total{engine="0"} 0
vllm:request_success_total{engine="1"} 0
== after
vllm:generation_tokens_total{engine="0"} 7200
vllm:request_success_total{engine="0"} 48
"#,
            status: Status::Fail,
            says: &["1 of 2 replicas idle while 48 requests finished"],
        },
        Case {
            name: "beyond chance",
            evidence: r#"
== before
sglang:generation_tokens_total{dp_rank="0"} 0
sglang:generation_tokens_total{dp_rank="1"} 0
sglang:num_requests_total{dp_rank="0"} 0
sglang:num_requests_total{dp_rank="1"} 0
== after
sglang:generation_tokens_total{dp_rank="0"} 30000
sglang:generation_tokens_total{dp_rank="1"} 70000
sglang:num_requests_total{dp_rank="0"} 300
sglang:num_requests_total{dp_rank="1"} 700
"#,
            status: Status::Warn,
            says: &["40% off the fair share", "9.5% that chance allows"],
        },
        Case {
            name: "idle, by the schedulers' own counters",
            evidence: r#"
== before
sglang:num_running_reqs{dp_rank="0"} 0
sglang:num_running_reqs{dp_rank="1"} 0
sglang:num_requests_total 0
sglang:generation_tokens_total 0
sglang:realtime_tokens_total{dp_rank="0",mode="prefill_compute"} 5
sglang:realtime_tokens_total{dp_rank="1",mode="prefill_compute"} 5
== after
sglang:num_requests_total 48
sglang:generation_tokens_total 4800
sglang:realtime_tokens_total{dp_rank="0",mode="decode"} 4800
"#,
            status: Status::Fail,
            says: &["1 of 2 replicas idle", "0: 4,800, 1: 0"],
        },
        Case {
            name: "two replicas and one count for both",
            evidence: r#"
== before
sglang:num_running_reqs{dp_rank="0"} 0
sglang:num_running_reqs{dp_rank="1"} 0
sglang:num_requests_total 0
sglang:generation_tokens_total 0
== after
sglang:num_requests_total 48
sglang:generation_tokens_total 4800
"#,
            status: Status::Unknown,
            says: &["realtime_tokens_total is not exported"],
        },
        Case {
            name: "one replica",
            evidence: "== before\nvllm:generation_tokens_total 0\n== after\nvllm:generation_tokens_total 5\n",
            status: Status::NotApplicable,
            says: &["one replica"],
        },
        Case {
            name: "one replica without the counter",
            evidence: "== before\ntrtllm_request_success_total 1\n== after\n",
            status: Status::NotApplicable,
            says: &["one replica"],
        },
        Case {
            name: "a replica vanished",
            evidence: r#"
== before
vllm:generation_tokens_total{engine="0"} 0
vllm:generation_tokens_total{engine="1"} 0
== after
- vllm:generation_tokens_total{engine="1"}
"#,
            status: Status::Unknown,
            says: &["vanished"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "within chance",
        find: "{engine=\"0\"} 3300",
        replace: "{engine=\"0\"} 0",
        becomes: Status::Fail,
    };
}
