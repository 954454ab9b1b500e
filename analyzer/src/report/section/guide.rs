//! The guide: each tripwire's page, and what the statuses mean.

use super::{STATUSES, badge, verdicts::words};
use crate::finding::Status;
use crate::report::prose;
use crate::tripwire::TRIPWIRES;
use maud::{Markup, html};

/// The guide.
pub(in crate::report) fn section() -> Markup {
    html! {
        section.guide aria-labelledby="guide" {
            h2 id="guide" { "Guide" }
            details {
                summary { "What the statuses mean" }
                div {
                    table {
                        thead.sr { tr { th scope="col" { "status" } th scope="col" { "meaning" } } }
                        tbody {
                            @for status in STATUSES {
                                tr { th scope="row" { (badge(status)) } td { (meaning(status)) } }
                            }
                        }
                    }
                }
            }
            @for tripwire in TRIPWIRES {
                details id=(format!("guide-{}", tripwire.code)) {
                    summary { (tripwire.code) " " h3 { (words(tripwire.slug)) } }
                    div {
                        (prose::page(tripwire.doc))
                        @if !tripwire.thresholds.is_empty() {
                            h4 { "Thresholds" }
                            ul {
                                @for threshold in tripwire.thresholds {
                                    li { code { (threshold.name) " = " (threshold.value) } " " (threshold.doc.split_whitespace().collect::<Vec<_>>().join(" ")) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn meaning(status: Status) -> &'static str {
    match status {
        Status::Fail => {
            "The check caught its problem: a number does not mean what it seems, or the server failed."
        }
        Status::Warn => "A number may not mean what it seems.",
        Status::Unknown => "Evidence that was to be had is missing. This is never a pass.",
        Status::Accepted => "It failed or warned, and was waived with a reason.",
        Status::Pass => "It was looked at, and is fine.",
        Status::NotApplicable => "This run, host or engine cannot have the problem.",
    }
}
