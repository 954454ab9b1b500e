//! Text from a bundle, made safe to show.
//!
//! Whoever wrote a bundle chose its strings. maud keeps them from being markup; this keeps them from
//! hiding, reordering or flooding what stands around them.

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
    for c in text.chars().take(most) {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if hidden(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    let left = text.chars().count().saturating_sub(most);
    if left > 0 {
        out.push_str(&format!("… ({left} more characters)"));
    }
    out
}

/// Characters that show as nothing, or change how others show: controls, direction marks and
/// overrides, joiners, separators, variation selectors, tags, private use, byte order marks.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_reorders_is_shown_as_an_escape() {
        let table = [
            ("plain – ünï 千 🙂", "plain – ünï 千 🙂"),
            ("a\0b\x1b[31m", "a\\u{0}b\\u{1b}[31m"),
            ("two\nlines\r\n\ttab", "two\\nlines\\r\\n\\ttab"),
            ("\u{202e}gnp.exe\u{2066}", "\\u{202e}gnp.exe\\u{2066}"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("bad \u{fffd} utf-8", "bad \u{fffd} utf-8"),
        ];
        for (text, shown) in table {
            assert_eq!(Shown::new(text).as_str(), shown);
        }
    }

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
