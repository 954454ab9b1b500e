//! What limited one load point: up to three cards, the most decisive first.

use super::{View, heading};
use crate::evidence::Scope;
use crate::limit::{self, Tone};
use crate::report::shown::Shown;
use maud::{Markup, html};

/// The cards of one view; nothing where no numbers tell.
pub(in crate::report) fn section(view: &View<'_>) -> Markup {
    let (Some(run), Some(point)) = (view.run, view.point) else { return html! {} };
    let groups = run.groups();
    let cards: Vec<_> = groups
        .iter()
        .flat_map(|group| {
            let limits = limit::of(&Scope { run, point, group });
            limits.into_iter().map(|limit| (group.name.as_deref(), limit))
        })
        .collect();
    let id = format!("{}-limits", view.key);
    html! {
        @if !cards.is_empty() {
            section aria-labelledby=(id) {
                @let what = if run.points.len() > 1 { "What limited this point" } else { "What limited this run" };
                (heading(view.level, Some(&id), what))
                ul.limits {
                    @for (group, limit) in &cards {
                        @let (class, sign, words) = look(limit.tone);
                        li {
                            span class=(format!("status {class}")) { i aria-hidden="true" { (sign) } (words) }
                            " "
                            strong { @if let Some(group) = group { (Shown::name(group)) ": " } (limit.title) }
                            p { (Shown::new(&limit.text)) }
                        }
                    }
                }
            }
        }
    }
}

/// A tone as its class, sign and words: colour alone says nothing.
fn look(tone: Tone) -> (&'static str, &'static str, &'static str) {
    match tone {
        Tone::Limit => ("warn", "!", "Limit"),
        Tone::Note => ("na", "–", "Note"),
        Tone::Ok => ("pass", "✓", "No limit"),
    }
}
