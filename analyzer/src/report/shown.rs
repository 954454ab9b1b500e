//! Text from a bundle, made safe to show.
//!
//! Whoever wrote a bundle chose its strings. maud keeps them from being markup, `visible.rs` from
//! hiding and reordering, and this from flooding what stands around them.

use crate::visible;
use maud::{Markup, Render, html};
use std::fmt::{self, Display, Formatter};

/// Longest text shown, in characters.
const CHARS: usize = 600;
/// Longest text shown where a name is expected.
const NAME_CHARS: usize = 80;

/// Text as it may be shown: no control characters, nothing invisible, no direction of its own, of
/// bounded length.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Shown(String);

impl Shown {
    /// A sentence, an argument, a value.
    pub(super) fn new(text: &str) -> Self {
        Self(safe(text, CHARS))
    }

    /// A name, cut where names are.
    pub(super) fn name(text: &str) -> Self {
        Self(safe(text, NAME_CHARS))
    }

    /// The safe text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// True without a character.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for Shown {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Render for Shown {
    fn render(&self) -> Markup {
        // A right-to-left text keeps to itself.
        html! { bdi { (self.0) } }
    }
}

fn safe(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(4 * most));
    text.chars().take(most).for_each(|c| visible::push(&mut out, c));
    let left = text.chars().count().saturating_sub(most);
    if left > 0 {
        out.push_str(&format!("… ({left} more characters)"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        let markup = html! { (Shown::new("<script>alert(\"1\")</script>&amp;")) }.into_string();
        assert_eq!(markup, "<bdi>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;</bdi>");
    }

    #[test]
    fn length_is_capped_and_what_is_left_out_is_counted() {
        let shown = Shown::name(&"é".repeat(100));
        assert!(shown.as_str().ends_with("é… (20 more characters)"), "{shown}");
        assert!(Shown::new(&"\0".repeat(1_000_000)).as_str().len() < 4_000);
    }
}
