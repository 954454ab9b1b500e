//! Regular expressions over log text.
//!
//! Logs are searched by ASCII classes: `\w` of all Unicode costs milliseconds to compile and defeats
//! the fast matcher, and no engine writes what a check looks for in other letters.

use std::fmt;
use std::sync::OnceLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

/// A regular expression, compiled when it is first needed.
pub(crate) struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// The regular expression as it is written.
    pub(crate) const fn source(&self) -> &'static str {
        self.source
    }

    fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(self.source)).as_ref()
    }

    /// True if it matches `text`.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text.as_bytes()))
    }

    /// The leftmost match in `text`, with its named parts.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<Found<'t>> {
        self.regex()?.captures(text.as_bytes()).map(Found)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source)
    }
}

/// A match.
pub(crate) struct Found<'t>(Captures<'t>);

impl<'t> Found<'t> {
    /// Where it stands, in bytes.
    pub(crate) fn span(&self) -> std::ops::Range<usize> {
        self.0.get(0).map_or(0..0, |all| all.range())
    }

    /// A named part; none as well when it would cut a character in two.
    pub(crate) fn part(&self, name: &str) -> Option<&'t str> {
        str::from_utf8(self.0.name(name)?.as_bytes()).ok()
    }
}

/// The first group of a pattern that is used once.
pub(crate) fn first_group<'t>(pattern: &str, text: &'t str) -> Option<&'t str> {
    let found = compile(pattern)?.captures(text.as_bytes())?;
    str::from_utf8(found.get(1)?.as_bytes()).ok()
}

fn compile(source: &str) -> Option<Regex> {
    RegexBuilder::new(source).unicode(false).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_text_and_other_letters_are_no_word() {
        let pattern = Pattern::new(r"(?<a>\w+) – (?<b>.)");
        let found = pattern.find("ärger – übel").unwrap();
        assert_eq!(found.part("a"), Some("rger"));
        assert_eq!(found.part("b"), None);
        assert!(Pattern::new("(").find("(").is_none());
    }
}
