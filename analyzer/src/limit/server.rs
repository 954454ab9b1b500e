//! Did the server's own limit, its admission control, or the client hold the load down?

use super::{Limit, Tone};
use crate::engine::Signal;
use crate::evidence::Scope;
use crate::finding::{Status, Verdict};
use crate::number::{count, plural};
use crate::tripwire::{self, Check};

pub(super) fn card(scope: &Scope<'_>) -> Option<Limit> {
    refused(scope).or_else(|| capped(scope)).or_else(|| client(scope))
}

fn refused(scope: &Scope<'_>) -> Option<Limit> {
    let refused = scope.refused()?;
    let mut text = format!(
        "The server refused {} to queue (by {})",
        plural(refused.requests, "request"),
        refused.from
    );
    if let Ok(finished) = scope.counter(Signal::Finished) {
        text += &format!(" and finished {} ({})", count(finished.total), finished.metric);
    }
    text.push('.');
    Some(limit("Admission control refused requests", text))
}

/// A limit below what was asked for binds whatever the gauges saw.
fn capped(scope: &Scope<'_>) -> Option<Limit> {
    let cap = scope.running_limit()?;
    let asked = scope.requested().filter(|asked| asked.at_once > cap.requests)?;
    let text = format!(
        "The server runs at most {} at once ({}); {} were asked for ({}).",
        plural(cap.requests, "request"),
        cap.why,
        count(asked.at_once),
        asked.from
    );
    Some(limit("The server's own limit", text))
}

/// What T8 found: the load tool never had as many open as it was asked to.
fn client(scope: &Scope<'_>) -> Option<Limit> {
    let verdict = verdict(scope, "T8").filter(|verdict| verdict.status == Status::Fail)?;
    let by = verdict.evidence.get("limited_by").and_then(|by| by.as_str())?;
    let text = format!("T8: {} (gauges of running and waiting requests).", verdict.message);
    (by == "client").then(|| limit("The load tool", text))
}

fn limit(title: &'static str, text: String) -> Limit {
    Limit { key: "server", title, text, tone: Tone::Limit }
}

/// What the tripwire `code` says of this scope; `None` when it cannot tell or does not look at one.
fn verdict(scope: &Scope<'_>, code: &str) -> Option<Verdict> {
    match tripwire::named(code)?.check {
        Check::Point(check) => check(scope).ok(),
        Check::Run(_) | Check::Starts(_) => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::limit::Tone;
    use crate::limit::tests::Case;

    pub(in crate::limit) const CASES: &[Case] = &[
        Case {
            name: "refused",
            evidence: r#"
== params
concurrency=32
== before
vllm:admission_rejections_total{reason="max_num_queued_reqs"} 3
vllm:request_success_total{finished_reason="length"} 0
== 0
== after
vllm:admission_rejections_total{reason="max_num_queued_reqs"} 19
vllm:request_success_total{finished_reason="length"} 16
"#,
            tone: Some(Tone::Limit),
            says: &["refused 16 requests", "vllm:admission_rejections_total", "finished 16"],
        },
        Case {
            name: "refused, by the lines of a release without the counter",
            evidence: r"
== params
concurrency=4
== log
INFO 11-01 10:00:00 [core.py:118] Initializing a V1 LLM engine (v0.30.0) with config: model='/m'
INFO:     Application startup complete.
INFO 11-01 10:00:09 [async_llm.py:1] Request queue full - rejecting request cmpl-1 (current=2, n=1, max=2).
== before
vllm:num_requests_running 0
== 0
== after
",
            tone: Some(Tone::Limit),
            says: &["refused 1 request", "the lines of its log"],
        },
        Case {
            name: "its own limit",
            evidence: r#"
== params
concurrency=32
== before
trtllm_max_num_active_requests{pid="7"} 16
trtllm_num_requests_running{pid="7"} 0
== 0
== 1
== after
"#,
            tone: Some(Tone::Limit),
            says: &["at most 16 requests at once", "32 were asked for"],
        },
        Case {
            name: "a limit that does not bind",
            evidence: r#"
== params
concurrency=16
== before
trtllm_max_num_active_requests{pid="7"} 16
trtllm_num_requests_running{pid="7"} 0
== 0
== 1
== after
"#,
            tone: None,
            says: &[],
        },
        Case {
            name: "a client that sends few",
            evidence: r#"
== result
{"backend": "vllm", "num_prompts": 500, "completed": 500, "max_concurrency": 64}
== before
vllm:num_requests_running 0
vllm:num_requests_waiting 0
vllm:kv_cache_usage_perc 0.1
== 0
vllm:num_requests_running 9
vllm:num_requests_waiting 2
== 1
vllm:num_requests_running 8
== 2
vllm:num_requests_running 9
== 3
vllm:num_requests_running 8
== after
"#,
            tone: Some(Tone::Limit),
            says: &["9 of 64", "never had more than 11 requests open"],
        },
    ];
}
