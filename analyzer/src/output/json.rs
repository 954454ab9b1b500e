//! `inferlint.results/1`: one document for programs.

use super::Judged;
use crate::evidence::Run;
use crate::finding::{Finding, FindingScope};
use crate::limit::{self, Limit};
use serde_json::{Value, json};

/// Name of the document's form.
pub const SCHEMA: &str = "inferlint.results/1";

/// The results document.
pub fn document(judged: &[Judged<'_>]) -> Value {
    json!({
        "schema": SCHEMA,
        "analyzer": env!("CARGO_PKG_VERSION"),
        "runs": judged.iter().map(run).collect::<Vec<_>>(),
    })
}

fn run(judged: &Judged<'_>) -> Value {
    let run = judged.run;
    json!({
        "run": run.map_or("comparison", |run| run.name.as_str()),
        "run_id": run.and_then(|run| run.run_id.as_deref()),
        "sources": run.map_or_else(Vec::new, |run| run.sources.iter().map(|s| &s.name).collect()),
        "engine": run.and_then(|run| run.engine).map(|engine| engine.name),
        "engine_version": run.and_then(|run| run.engine_version.as_deref()),
        "points": run.map_or_else(Vec::new, points),
        "verdicts": judged.findings.iter().map(verdict).collect::<Vec<_>>(),
        "limits": run.map_or_else(Vec::new, limits),
        "facts": {},
        "notes": run.map_or(&[][..], |run| &run.notes),
    })
}

fn points(run: &Run) -> Vec<Value> {
    let named = run.points.iter().filter(|point| point.name.is_some());
    named.map(|point| json!({ "point": point.name, "params": point.params })).collect()
}

fn limits(run: &Run) -> Vec<Value> {
    let json = |(scope, limit): &(FindingScope, Limit)| {
        json!({
            "key": limit.key,
            "title": limit.title,
            "text": limit.text,
            "tone": limit.tone.key(),
            "scope": scoped(scope),
        })
    };
    limit::of_run(run).iter().map(json).collect()
}

fn scoped(scope: &FindingScope) -> Value {
    json!({ "point": scope.point, "source": scope.source })
}

fn verdict(finding: &Finding) -> Value {
    json!({
        "tripwire": finding.tripwire,
        "name": finding.name,
        "status": finding.status.key(),
        "scope": scoped(&finding.scope),
        "message": finding.message,
        "evidence": finding.evidence,
        "explained_by": finding.explained_by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Verdict;

    #[test]
    fn a_document_has_every_key_of_its_form() {
        let run = Run { name: "a.ilb".into(), ..Run::default() };
        let scope = FindingScope { point: Some("c=4".into()), source: None };
        let verdict = Verdict::fail("10 of 32").with("peak", 10);
        let findings = vec![Finding::new("T8", "concurrency-not-reached", scope, verdict)];
        let document = document(&[Judged { run: Some(&run), findings }]);
        let expected = json!({
            "schema": "inferlint.results/1",
            "analyzer": env!("CARGO_PKG_VERSION"),
            "runs": [{
                "run": "a.ilb", "run_id": null, "sources": [], "engine": null,
                "engine_version": null, "points": [],
                "verdicts": [{
                    "tripwire": "T8", "name": "concurrency-not-reached", "status": "fail",
                    "scope": {"point": "c=4", "source": null}, "message": "10 of 32",
                    "evidence": {"peak": 10}, "explained_by": null
                }],
                "limits": [], "facts": {}, "notes": []
            }]
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn limits_have_their_shape_and_scope() {
        let mut run = crate::tripwire::example::run(
            "== params\nconcurrency=8\n== before\nvllm:num_requests_running 0\n== 0\n\
             vllm:num_requests_running 8\n== 1\n== after\n",
        );
        run.points[0].name = Some("c=8".into());
        let document = document(&[Judged { run: Some(&run), findings: Vec::new() }]);
        let expected = json!([{
            "key": "concurrency",
            "title": "The load ran at the concurrency asked for",
            "text": "8.0 requests ran at once on average, of 8 asked for (the load command): \
                     vllm:num_requests_running over 1.0 s busy.",
            "tone": "ok",
            "scope": {"point": "c=8", "source": null}
        }]);
        assert_eq!(document["runs"][0]["limits"], expected);
    }
}
