//! What a rule is, and how what it finds is replaced.

use super::RULES;
use super::seeds::Known;
use regex::bytes::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// One kind of private value: where it may stand, and what of it is replaced.
pub trait Rule: Sync {
    /// Name of the rule, in the replacement text and in the counts.
    fn name(&self) -> &'static str;

    /// A regular expression that matches in every line where the rule may find something. One pass
    /// over all hints sorts out most lines. Empty: the rule looks at every line.
    fn hint(&self) -> &'static str;

    /// Reports what is to be replaced in `line`, which holds no line feed but a last one.
    fn find(&self, line: &[u8], known: &Known, hits: &mut Hits);

    /// True when what is to be replaced goes on in the lines behind this one.
    fn opens(&self, _line: &[u8]) -> bool {
        false
    }

    /// Reports what is to be replaced in a line behind one that opened; `bytes` of such lines have
    /// passed, this one counted. True: it goes on in the next line.
    fn inside(&self, _line: &[u8], _bytes: usize, _hits: &mut Hits) -> bool {
        false
    }

    /// Lines it changes and lines it leaves, for the test that runs over all rules.
    fn cases(&self) -> Cases;
}

/// Compiles a rule's own pattern, over bytes.
#[expect(clippy::expect_used, reason = "the patterns are constants and every test compiles them")]
pub(super) fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern).unicode(false).build().expect("a constant pattern that compiles")
}

/// Examples of a rule, with the seeds of `test_seeds` in `masker.rs`.
#[derive(Debug, Clone, Copy)]
pub struct Cases {
    /// A line, and the same line masked by this rule alone.
    pub masks: &'static [(&'static str, &'static str)],
    /// Lines the rule must not change.
    pub keeps: &'static [&'static str],
}

/// What the replacement looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Label {
    /// `<rule-n>`.
    Rule,
    /// `"<rule-n>"`: a bare value in JSON.
    Quoted,
    /// `name-n`, for a part of a path or an address.
    Plain(&'static str),
    /// As it stands: nothing is numbered.
    Fixed(String),
}

/// A span to replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) span: Range<usize>,
    /// The value itself where the span holds another form of it.
    value: Option<Vec<u8>>,
    label: Label,
}

/// The spans a rule found in one line.
#[derive(Debug, Default)]
pub struct Hits {
    found: Vec<Hit>,
    looked_at: usize,
    gave_up: bool,
}

/// Bytes a rule may look at again and again, as a multiple of the line's length: names nested in
/// each other's values would cost their square.
const LOOKS: usize = 8;

impl Hits {
    /// The span becomes `<rule-n>`.
    pub fn mask(&mut self, span: Range<usize>) {
        self.found.push(Hit { span, value: None, label: Label::Rule });
    }

    /// The span becomes `"<rule-n>"`.
    pub fn quoted(&mut self, span: Range<usize>) {
        self.found.push(Hit { span, value: None, label: Label::Quoted });
    }

    /// The span, some form of `value`, becomes `<rule-n>`.
    pub fn form_of(&mut self, span: Range<usize>, value: &[u8]) {
        self.found.push(Hit { span, value: Some(value.to_vec()), label: Label::Rule });
    }

    /// The span, some form of `value`, becomes `name-n`.
    pub fn rename(&mut self, span: Range<usize>, value: &[u8], name: &'static str) {
        self.found.push(Hit { span, value: Some(value.to_vec()), label: Label::Plain(name) });
    }

    /// The span becomes `text`.
    pub fn replace(&mut self, span: Range<usize>, text: String) {
        self.found.push(Hit { span, value: None, label: Label::Fixed(text) });
    }

    /// Counts bytes looked at beyond the one pass over `line`. False: too many, the line becomes
    /// unreadable and the rule should stop.
    pub fn look_at(&mut self, bytes: usize, line: &[u8]) -> bool {
        self.looked_at += bytes;
        self.gave_up = self.looked_at > LOOKS * line.len().max(4_096);
        !self.gave_up
    }

    /// The bytes of each span.
    pub(super) fn values<'l>(&self, line: &'l [u8]) -> Vec<&'l [u8]> {
        self.found.iter().filter_map(|hit| line.get(hit.span.clone())).collect()
    }

    /// The spans in order, without those inside a replacement made before. Spans that overlap become
    /// one. `None`: a span that is not inside the line, or the rule gave up.
    pub(super) fn settle(&mut self, line: &[u8]) -> Option<Vec<Hit>> {
        if self.gave_up {
            return None;
        }
        if self.found.is_empty() {
            return Some(Vec::new());
        }
        self.found.sort_by_key(|hit| (hit.span.start, usize::MAX - hit.span.end));
        let masks: Vec<Range<usize>> = MASK.find_iter(line).map(|mask| mask.range()).collect();
        let mut settled: Vec<Hit> = Vec::new();
        for hit in self.found.drain(..) {
            let empty = line.get(hit.span.clone())?.is_empty();
            let behind = masks.partition_point(|mask| mask.start <= hit.span.start);
            let masked = behind.checked_sub(1).and_then(|i| masks.get(i));
            if empty || masked.is_some_and(|mask| hit.span.end <= mask.end) {
                continue;
            }
            match settled.last_mut() {
                Some(last) if hit.span.start < last.span.end => {
                    if hit.span.end > last.span.end {
                        last.span.end = hit.span.end;
                        last.value = None;
                    }
                }
                _ => settled.push(hit),
            }
        }
        Some(settled)
    }
}

impl Hit {
    /// Name and value to number, `None` where the replacement has no number.
    pub(super) fn numbered<'a>(
        &'a self,
        line: &'a [u8],
        rule: &'static str,
    ) -> Option<(&'static str, &'a [u8])> {
        let name = match self.label {
            Label::Rule | Label::Quoted => rule,
            Label::Plain(name) => name,
            Label::Fixed(_) => return None,
        };
        let value = self.value.as_deref().or_else(|| line.get(self.span.clone()));
        Some((name, value.unwrap_or_default()))
    }

    /// The replacement, given its number.
    pub(super) fn replacement(&self, rule: &str, n: usize) -> Cow<'_, str> {
        match &self.label {
            Label::Rule => format!("<{rule}-{n}>").into(),
            Label::Quoted => format!("\"<{rule}-{n}>\"").into(),
            Label::Plain(name) => format!("{name}-{n}").into(),
            Label::Fixed(text) => text.as_str().into(),
        }
    }
}

/// What a line becomes whose masking failed.
pub(super) const UNREADABLE: &str = "<unreadable>";

/// Every form of replacement.
static MASK: LazyLock<Regex> = LazyLock::new(|| {
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.name()).collect();
    compile(&format!(
        "<(?:{})-[0-9]+>|{UNREADABLE}|<prompt_text [0-9]+ bytes>|\
         (?:user|host|ip[46]-private|ip[46]-global)-[0-9]+",
        rules.join("|")
    ))
});

/// True when `bytes` are nothing but one replacement made before.
pub(super) fn is_mask(bytes: &[u8]) -> bool {
    MASK.find(bytes).is_some_and(|mask| mask.len() == bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_replacements_are_masks() {
        for mask in ["<secret-1>", "<jwt-12>", "user-3", "ip4-private-1", UNREADABLE] {
            assert!(is_mask(mask.as_bytes()), "{mask}");
        }
        for other in [
            "",
            "<>",
            "<-1>",
            "<secret>",
            "x<secret-1>",
            "<secret-1>x",
            "user-",
            "bob-1",
            "<bob-1>",
        ] {
            assert!(!is_mask(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn overlapping_spans_become_one_and_masks_are_left() {
        let line = b"0123<jwt-1>9";
        let mut hits = Hits::default();
        hits.mask(2..4);
        hits.mask(0..3);
        hits.mask(4..11);
        hits.mask(5..8);
        hits.mask(11..11);
        let spans: Vec<_> = hits.settle(line).unwrap().into_iter().map(|hit| hit.span).collect();
        assert_eq!(spans, vec![0..4; 1]);
        let mut hits = Hits::default();
        hits.mask(4..99);
        assert_eq!(hits.settle(line), None);
    }
}
