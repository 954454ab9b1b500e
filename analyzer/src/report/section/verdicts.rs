//! The verdicts: what needs reading in full, the rest folded.

use super::{View, badge, counted, heading};
use crate::evidence::{Form, Run};
use crate::finding::{Finding, Status};
use crate::number;
use crate::report::prose;
use crate::report::shown::Shown;
use crate::tripwire::{self, Check};
use maud::{Markup, html};
use serde_json::Value;

/// Most numbers shown beside a verdict.
const NUMBERS: usize = 16;

/// The verdicts of one view.
pub(in crate::report) fn section(view: &View<'_>) -> Markup {
    let id = format!("{}-verdicts", view.key);
    let of = |statuses: &[Status]| -> Vec<&Finding> {
        let mut found: Vec<&Finding> =
            view.findings.iter().copied().filter(|f| statuses.contains(&f.status)).collect();
        found.sort_by_key(|finding| std::cmp::Reverse(finding.status.rank()));
        found
    };
    let caught = of(&[Status::Fail, Status::Warn, Status::Accepted]);
    html! {
        section aria-labelledby=(id) {
            (heading(view.level, Some(&id), "Verdicts"))
            @if caught.is_empty() { p.soft { "No tripwire failed or warned." } }
            @for finding in caught { (full(view, finding)) }
            @let unknown = of(&[Status::Unknown]);
            @if !unknown.is_empty() {
                ul.short { @for alike in alike(&unknown) { (short(view, &alike)) } }
            }
            (folded(view, Status::Pass, &of(&[Status::Pass])))
            (folded(view, Status::NotApplicable, &of(&[Status::NotApplicable])))
            @if view.left_out > 0 {
                p.soft {
                    (view.left_out) " more findings are left out to keep this page small; "
                    code { "inferlint-analyze check" } " prints them all."
                }
            }
        }
    }
}

/// A verdict that needs reading: what, why it matters, the numbers, the command.
fn full(view: &View<'_>, finding: &Finding) -> Markup {
    let known = tripwire::named(finding.tripwire);
    let why = known.and_then(|tripwire| prose::chapter(tripwire.doc, "Why it matters"));
    let over_time = known.is_some_and(|tripwire| matches!(tripwire.check, Check::Point(_)));
    html! {
        article.verdict id=[view.id(finding)] {
            div { (badge(finding.status)) }
            div {
                (title(view, finding))
                p.message { (scope(finding)) (Shown::new(&sentence(&finding.message))) }
                @if let Some(why) = why { div.why { (why) } }
                p.more {
                    @if let Some(cause) = finding.explained_by.filter(|cause| view.worst(cause).is_some()) {
                        "Explained by " a href=(format!("#{}", view.anchor(cause))) { (cause) } ". "
                    }
                    @if over_time && view.point.is_some() {
                        a href=(format!("#{}-time", view.key)) { "See it over time" } " · "
                    }
                    a href=(format!("#guide-{}", finding.tripwire)) { "How it decides, what to do" }
                }
                @if let Some(command) = view.run.and_then(|run| again(run, finding.tripwire)) {
                    p.more.command { span.soft { "Again:" } code { (command) } }
                }
            }
            div { (numbers(finding)) }
        }
    }
}

/// `Concurrency not reached T8` as a heading of its place.
fn title(view: &View<'_>, finding: &Finding) -> Markup {
    let name = html! { (words(finding.name)) " " span.code { (finding.tripwire) } };
    html! {
        @match view.level {
            2 => h3 { (name) },
            _ => h4 { (name) },
        }
    }
}

fn scope(finding: &Finding) -> Markup {
    html! { @if let Some(source) = &finding.scope.source { (Shown::name(source)) ": " } }
}

/// The numbers a verdict rests on.
fn numbers(finding: &Finding) -> Markup {
    let known = || finding.evidence.iter().filter(|(_, value)| !value.is_null());
    let left = known().count().saturating_sub(NUMBERS);
    html! {
        @if known().next().is_some() {
            table.facts-table {
                caption.sr { "Numbers behind " (finding.tripwire) }
                thead.sr { tr { th scope="col" { "number" } th scope="col" { "value" } } }
                tbody {
                    @for (key, value) in known().take(NUMBERS) {
                        tr { th scope="row" { (Shown::name(&label(key))) } td { (Shown::new(&print(value))) } }
                    }
                }
            }
            @if left > 0 { p.soft { (left) " more in " code { "check --format json" } } }
        }
    }
}

/// Findings that say the same, in the order of the first of them.
fn alike<'a>(findings: &[&'a Finding]) -> Vec<Vec<&'a Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    for finding in findings {
        let same = |group: &&mut Vec<&Finding>| {
            group.first().is_some_and(|first| {
                first.message == finding.message && first.scope == finding.scope
            })
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
}

/// Verdicts that say the same, in one line.
fn short(view: &View<'_>, alike: &[&Finding]) -> Markup {
    html! {
        @if let Some(first) = alike.first() {
            li {
                div { (badge(first.status)) }
                div {
                    @for (i, finding) in alike.iter().enumerate() {
                        @if i > 0 { ", " }
                        span id=[view.id(finding)] {
                            strong { (words(finding.name)) } " "
                            a href=(format!("#guide-{}", finding.tripwire)) { (finding.tripwire) }
                        }
                    }
                    br;
                    span.soft { (scope(first)) (Shown::new(&sentence(&first.message))) }
                }
            }
        }
    }
}

fn folded(view: &View<'_>, status: Status, findings: &[&Finding]) -> Markup {
    html! {
        @if !findings.is_empty() {
            details {
                summary { (findings.len()) " " (counted(status, findings.len())) }
                ul.short { @for finding in findings { (short(view, &[finding])) } }
            }
        }
    }
}

/// `concurrency-not-reached` as `Concurrency not reached`.
pub(super) fn words(slug: &str) -> String {
    let text = slug.replace('-', " ").replace("kv ", "KV ");
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A message with a capital where it begins with a plain word.
fn sentence(message: &str) -> String {
    let first = message.split(' ').next().unwrap_or_default();
    if !first.is_empty() && first.bytes().all(|b| b.is_ascii_lowercase()) {
        let mut letters = message.chars();
        return letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    }
    message.to_owned()
}

/// `first_s` as `first (s)`, `peak_running` as `peak running`.
fn label(key: &str) -> String {
    for (ending, unit) in [("_s", "s"), ("_ms", "ms"), ("_ns", "ns"), ("_bytes", "bytes")] {
        if let Some(name) = key.strip_suffix(ending) {
            return format!("{} ({unit})", name.replace('_', " "));
        }
    }
    key.replace('_', " ")
}

/// A value as text; a number with thousands separators and at most three decimals.
fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(value) if value.fract() == 0.0 => number::grouped(value, 0),
            Some(value) => {
                let text = number::grouped(value, 3);
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            None => number.to_string(),
        },
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Null => "—".into(),
        Value::Array(values) => values.iter().map(print).collect::<Vec<_>>().join(", "),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| format!("{}: {}", label(key), print(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The command that shows a verdict again; `None` where it takes more files than the run is named
/// after. A name that a shell would not take as it is stands for itself as `INPUT`.
fn again(run: &Run, code: &str) -> Option<String> {
    let name = std::path::Path::new(&run.name).file_name().and_then(|name| name.to_str());
    let plain = |name: &&str| {
        !name.starts_with('-')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-+@%:=".contains(c))
    };
    let input = name.filter(plain).unwrap_or("INPUT");
    let alone = run.sources.is_empty() && run.points.iter().all(|point| point.result.is_none());
    let flag = match run.form {
        Form::Bundle | Form::Folder => "",
        Form::Loose if run.logs.len() == 1 && alone => "--boot-log ",
        Form::Loose => return None,
    };
    Some(format!("inferlint-analyze check {flag}{input} --only {code}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_values_are_for_people() {
        assert_eq!(words("concurrency-not-reached"), "Concurrency not reached");
        assert_eq!(
            (label("first_s"), label("peak_running")),
            ("first (s)".into(), "peak running".into())
        );
        let table = [
            (json!(32000), "32,000"),
            (json!(0.91666666), "0.917"),
            (json!([1, 2.5]), "1, 2.5"),
            (json!({"prompt_tokens": 7}), "prompt tokens: 7"),
            (json!(true), "yes"),
            (json!(null), "—"),
        ];
        for (value, text) in table {
            assert_eq!(print(&value), text);
        }
    }

    #[test]
    fn only_a_name_a_shell_takes_as_it_is_stands_in_a_command() {
        for (name, input) in [
            ("/a/run.ilb", "run.ilb"),
            ("a b", "INPUT"),
            ("x;rm", "INPUT"),
            ("-o", "INPUT"),
            ("", "INPUT"),
        ] {
            let run = Run { name: name.into(), form: Form::Bundle, ..Run::default() };
            let expected = format!("inferlint-analyze check {input} --only T8");
            assert_eq!(again(&run, "T8"), Some(expected));
        }
        assert_eq!(again(&Run::default(), "T8"), None);
    }
}
