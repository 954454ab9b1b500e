//! Several load points at a glance: points × tripwires.

use super::{View, look};
use crate::report::shown::Shown;
use crate::tripwire::TRIPWIRES;
use maud::{Markup, html};

/// Most rows of the table.
const ROWS: usize = 200;

/// What the rows are.
pub(in crate::report) fn title(views: &[View<'_>]) -> &'static str {
    let several = |view: &View<'_>| view.run.is_some_and(|run| run.points.len() > 1);
    if views.iter().any(several) { "Load points" } else { "Runs" }
}

/// The table; each cell leads to its verdict.
pub(in crate::report) fn section(views: &[View<'_>]) -> Markup {
    let judged: Vec<_> = TRIPWIRES
        .iter()
        .filter(|tripwire| views.iter().any(|view| view.worst(tripwire.code).is_some()))
        .collect();
    html! {
        section aria-labelledby="points" {
            h2 id="points" { (title(views)) }
            p.soft { "Each against every tripwire; every sign leads to its verdict." }
            div.scroll tabindex="0" role="region" aria-labelledby="points" {
                table.matrix {
                    caption.sr { "Load points and tripwires" }
                    thead { tr {
                        th scope="col" { span.sr { "point" } }
                        @for tripwire in &judged {
                            th scope="col" { abbr title=(tripwire.slug) { (tripwire.code) } }
                        }
                    } }
                    tbody {
                        @for view in views.iter().take(ROWS) { (row(view, &judged)) }
                    }
                }
            }
            @if views.len() > ROWS {
                p.soft { (views.len() - ROWS) " more points are left out of this table." }
            }
        }
    }
}

fn row(view: &View<'_>, judged: &[&&crate::tripwire::Tripwire]) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(format!("#{}", view.key)) { (Shown::name(&view.name)) } }
            @for tripwire in judged {
                @match view.worst(tripwire.code) {
                    Some(status) => {
                        @let (class, sign, words) = look(status);
                        td class=(class) {
                            a href=(format!("#{}", view.anchor(tripwire.code))) title=(format!("{} {}: {words}", tripwire.code, tripwire.slug)) {
                                span aria-hidden="true" { (sign) }
                                span.sr { (tripwire.code) " " (words) }
                            }
                        }
                    }
                    None => td { span.sr { "not judged" } },
                }
            }
        }
    }
}
