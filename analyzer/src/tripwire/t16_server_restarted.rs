use super::Check;
use crate::evidence::{Missing, Restarted, Scope};
use crate::finding::Verdict;
use crate::number::seconds;

tripwire! {
    /// # What it checks
    /// Whether the server, or one of its replicas, ended and was replaced while the load ran.
    ///
    /// # Why it matters
    /// Counters begin at 0 again, so every difference over the load is wrong; requests in flight were
    /// lost; and what came after ran on a cold cache.
    ///
    /// # How it decides
    /// Between the readings that bound the load: a `*_created` or `process_start_time_seconds` value
    /// that moved, a counter that fell, a replica, process or model label that vanished, or another
    /// process found at the address. Of a reading that holds others' metrics too, the engine's series
    /// count and those of its process and web framework. Start times that alternate, or counters that
    /// fall and come back, are several servers behind one address. A server restarted between two load
    /// points is a new lifetime, not a finding.
    ///
    /// # What to do
    /// Repeat the run; look for the cause of the end in the server's log (T7).
    ///
    /// # When it cannot tell
    /// A reading before or after the load is missing, it has neither start times nor counters, or
    /// several servers answer at one address.
    ///
    /// # References
    /// - prometheus_client exports `*_created` with one process, not in multiprocess mode (vLLM with
    ///   several API servers, SGLang, TensorRT-LLM): there counters that fall are the evidence.
    T16_SERVER_RESTARTED {
        code: "T16",
        slug: "server-restarted",
        since: "0.1.0",
        summary: "the server ended and was replaced during the load",
        needs: ["scrape", "epoch"],
        explained_by: ["T7"],
        check: Check::Point(check),
        notes: {
            "vllm": "With one API server `*_created` and `process_start_time_seconds` tell; with \
                     several neither is exported.",
            "sglang": "Its metrics are in multiprocess mode, without start times: counters that fall \
                     tell.",
            "trtllm": "Its metrics are in multiprocess mode, without start times. After a restart in \
                     one metrics folder gauges of two `pid` labels can stand side by side.",
        },
    }
}

fn check(scope: &Scope<'_>) -> Result<Verdict, Missing> {
    let found = scope.restarts();
    let several = scope.group.sources.len() > 1;
    let of = |name: &str| if several { format!("{name}: ") } else { String::new() };
    for (source, restarted) in &found {
        if let Restarted::Yes(restart) = restarted {
            let when = when(scope, restart.at).unwrap_or_default();
            let more = match restart.series {
                0 | 1 => String::new(),
                n => format!(" and {} more series", n - 1),
            };
            return Ok(Verdict::fail(format!(
                "{}the server was restarted{when}: {}{more}",
                of(&source.name),
                restart.how
            ))
            .with("how", restart.how.clone())
            .with("series", restart.series));
        }
    }
    for (source, restarted) in &found {
        match restarted {
            Restarted::Several(how) => {
                return Err(Missing::lack(format!(
                    "{}several servers answer at one address: {how}",
                    of(&source.name)
                )));
            }
            Restarted::Swapped(how) => {
                return Err(Missing::lack(format!(
                    "{}the readings before and after the load are in the wrong order: {how}",
                    of(&source.name)
                )));
            }
            Restarted::Unknown => {
                return Err(Missing::lack(format!(
                    "{}needs a metrics reading before and one after the load",
                    of(&source.name)
                )));
            }
            _ => {}
        }
    }
    match found.first() {
        None => Err(Missing::lack("needs a metrics reading before and one after the load")),
        Some((_, Restarted::No("start times"))) => {
            Ok(Verdict::pass("one lifetime: every start time in the metrics stayed the same"))
        }
        Some(_) => {
            Ok(Verdict::pass("one lifetime: no counter fell (the server exports no start times)"))
        }
    }
}

/// How long after the load's beginning: its command's, else its first request's.
fn when(scope: &Scope<'_>, at: Option<i64>) -> Option<String> {
    let first = || scope.windows().ok().map(|windows| windows.inner.0);
    let begin = scope.point.command.map(|(begin, _)| begin).or_else(first)?;
    Some(format!(" {} into the load", seconds(at? - begin, 1)))
}

#[cfg(test)]
pub(super) mod tests {
    use crate::finding::Status;
    use crate::tripwire::example::{Case, Mutation};

    pub(in crate::tripwire) const CASES: &[Case] = &[
        Case {
            name: "start time moved",
            evidence: r"
== before
vllm:generation_tokens_created 1000
vllm:generation_tokens_total 5
== 0
== 1
== 2
vllm:generation_tokens_created 2000
vllm:generation_tokens_total 50
== after
",
            status: Status::Fail,
            says: &["restarted 2.0 s into the load", "moved from 1000 to 2000"],
        },
        Case {
            name: "one lifetime",
            evidence: r"
== before
process_start_time_seconds 1000
vllm:generation_tokens_total 5
== after
vllm:generation_tokens_total 50
",
            status: Status::Pass,
            says: &["start time"],
        },
        Case {
            name: "counters only",
            evidence: "== before\nsglang:prompt_tokens_total 5\n== after\nsglang:prompt_tokens_total 9\n",
            status: Status::Pass,
            says: &["no counter fell"],
        },
        Case {
            name: "a counter fell in the summed recording",
            evidence: r#"
== summed
== before
vllm:generation_tokens_total{engine="0"} 0
== 0
vllm:generation_tokens_total 900
== 1
vllm:generation_tokens_total 30
== after
- vllm:generation_tokens_total
"#,
            status: Status::Fail,
            says: &["fell from 900 to 30"],
        },
        Case {
            name: "some time after the first request, by a clock that began long before",
            evidence: r#"
== summed
== no command
== before
vllm:num_requests_running 0
vllm:generation_tokens_total{engine="0"} 0
== 1000
== 1001
vllm:num_requests_running 4
vllm:generation_tokens_total 900
== 1004
vllm:generation_tokens_total 30
== after
- vllm:generation_tokens_total
"#,
            status: Status::Fail,
            says: &["restarted 3.0 s into the load"],
        },
        Case {
            name: "no series of an engine, but of its process",
            evidence: "== before\nprocess_start_time_seconds 7\n== after\nprocess_start_time_seconds 7\n",
            status: Status::Pass,
            says: &["start time"],
        },
        Case {
            name: "alternating",
            evidence: r"
== before
process_start_time_seconds 1000
vllm:generation_tokens_total 5
== 0
process_start_time_seconds 1500
== 1
process_start_time_seconds 1000
== after
",
            status: Status::Unknown,
            says: &["several servers answer at one address"],
        },
        Case {
            name: "readings in the wrong order",
            evidence: r"
== before
vllm:generation_tokens_created 1000
vllm:generation_tokens_total 50
== after
vllm:generation_tokens_total 5
",
            status: Status::Unknown,
            says: &["wrong order", "vllm:generation_tokens_total fell"],
        },
        Case {
            name: "no reading after",
            evidence: "== before\nvllm:generation_tokens_total 5\n",
            status: Status::Unknown,
            says: &["before and one after"],
        },
    ];

    pub(in crate::tripwire) const MUTATION: Mutation = Mutation {
        case: "one lifetime",
        find: "== after\n",
        replace: "== after\nprocess_start_time_seconds 1700\n",
        becomes: Status::Fail,
    };
}
