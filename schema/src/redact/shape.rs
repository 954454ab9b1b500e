//! A rule that is one regular expression.

use super::rule::{Cases, Hits, Rule};
use super::seeds::Known;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Masks each group of its pattern that took part in a match.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) hint: &'static str,
    pub(super) pattern: LazyLock<Regex>,
    pub(super) cases: Cases,
}

impl Rule for Shape {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hint(&self) -> &'static str {
        self.hint
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for found in self.pattern.captures_iter(line) {
            for group in found.iter().skip(1).flatten() {
                hits.mask(group.range());
            }
        }
    }

    fn cases(&self) -> Cases {
        self.cases
    }
}
