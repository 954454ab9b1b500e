//! The parts of the page: one file each, from evidence and findings to markup.

pub(super) mod coverage;
pub(super) mod evidence;
pub(super) mod guide;
pub(super) mod happened;
pub(super) mod head;
pub(super) mod limits;
pub(super) mod points;
pub(super) mod timeline;
pub(super) mod verdicts;

use crate::evidence::{Point, Run, Scope};
use crate::finding::{Finding, Status};
use crate::number;
use maud::{Markup, html};

/// One load point of one run, or a run as a whole, with what was found about it.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// The run. `None`: the comparison of several starts.
    pub(super) run: Option<&'a Run>,
    /// The load point. `None`: the run as a whole.
    pub(super) point: Option<&'a Point>,
    /// What was found, in the order of the tripwires.
    pub(super) findings: Vec<&'a Finding>,
    /// Findings left out to keep the page small.
    pub(super) left_out: usize,
    /// Prefix of its ids, unique in the page and never of the input's choosing.
    pub(super) key: String,
    /// Its name where the page has several views.
    pub(super) name: String,
    /// Level of its headings.
    pub(super) level: u8,
}

impl View<'_> {
    /// Id of a tripwire's verdicts in this view.
    pub(super) fn anchor(&self, code: &str) -> String {
        format!("{}-{code}", self.key)
    }

    /// The first of the worst findings of a tripwire here.
    fn worst_of(&self, code: &str) -> Option<&Finding> {
        let found = self.findings.iter().copied().filter(|finding| finding.tripwire == code);
        found.rev().max_by_key(|finding| finding.status.rank())
    }

    /// The worst status of a tripwire here.
    pub(super) fn worst(&self, code: &str) -> Option<Status> {
        self.worst_of(code).map(|finding| finding.status)
    }

    /// The id that `finding` carries: of several findings of a tripwire, the worst one has it.
    pub(super) fn id(&self, finding: &Finding) -> Option<String> {
        let worst = self.worst_of(finding.tripwire)?;
        std::ptr::eq(worst, finding).then(|| self.anchor(finding.tripwire))
    }
}

/// From when to when the server was at work, in ns; `None` where its gauges do not show it.
pub(super) fn at_work(scope: &Scope<'_>) -> Option<(i64, i64)> {
    let shown = scope.engine().is_ok_and(|engine| engine.gauges_lag.is_none());
    scope.windows().ok().filter(|_| shown).map(|windows| windows.inner)
}

/// A heading of a level that depends on where its part stands.
pub(super) fn heading(level: u8, id: Option<&str>, text: &str) -> Markup {
    html! {
        @match level {
            2 => h2 id=[id] { (text) },
            3 => h3 id=[id] { (text) },
            _ => h4 id=[id] { (text) },
        }
    }
}

/// Statuses from the worst to the least, as the page lists them.
pub(super) const STATUSES: [Status; 6] = [
    Status::Fail,
    Status::Warn,
    Status::Unknown,
    Status::Accepted,
    Status::Pass,
    Status::NotApplicable,
];

/// A status as its class, sign and words: colour alone says nothing.
pub(super) fn look(status: Status) -> (&'static str, &'static str, &'static str) {
    match status {
        Status::Fail => ("fail", "✕", "Tripwire failed"),
        Status::Warn => ("warn", "!", "Warning"),
        Status::Unknown => ("unknown", "?", "Can't tell"),
        Status::Accepted => ("accepted", "=", "Accepted"),
        Status::Pass => ("pass", "✓", "Pass"),
        Status::NotApplicable => ("na", "–", "Does not apply"),
    }
}

/// A status as a small label.
pub(super) fn badge(status: Status) -> Markup {
    let (class, sign, words) = look(status);
    html! { span class=(format!("status {class}")) { i aria-hidden="true" { (sign) } (words) } }
}

/// How many findings of each status the views have.
pub(super) fn counts(views: &[View<'_>]) -> Markup {
    let count = |status| {
        views.iter().flat_map(|view| &view.findings).filter(|f| f.status == status).count()
    };
    html! {
        ul.counts aria-label="Verdicts" {
            @for status in STATUSES {
                @let count = count(status);
                @if count > 0 {
                    @let (class, sign, _) = look(status);
                    li class=(format!("status {class}")) {
                        i aria-hidden="true" { (sign) } (count) " " (counted(status, count))
                    }
                }
            }
        }
    }
}

/// What comes after a number of findings.
fn counted(status: Status, count: usize) -> &'static str {
    match status {
        Status::Fail => "failed",
        Status::Warn => "warned",
        Status::Unknown => "can't tell",
        Status::Accepted => "accepted",
        Status::Pass => "passed",
        Status::NotApplicable if count == 1 => "does not apply",
        Status::NotApplicable => "do not apply",
    }
}

/// A length of time as people say it: `4.7 s`, `1 min 48 s`, `2 h 5 min`.
pub(super) fn duration(ns: i64) -> String {
    let seconds = ns as f64 / 1e9;
    let whole = seconds.round() as i64;
    match whole {
        w if w < 60 => format!("{} s", number::grouped(seconds, 1)),
        w if w < 3600 => format!("{} min {} s", w / 60, w % 60),
        w => format!("{} h {} min", w / 3600, w % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_said_as_people_say_them() {
        let table = [
            (4_700_000_000, "4.7 s"),
            (108_392_000_000, "1 min 48 s"),
            (7_500_000_000_000, "2 h 5 min"),
        ];
        for (ns, text) in table {
            assert_eq!(duration(ns), text);
        }
    }
}
