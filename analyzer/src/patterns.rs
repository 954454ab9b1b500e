//! Many patterns over one line.
//!
//! One automaton of all 400 took 16 ms to build and as long again to fill while it read its first
//! lines, more than the rest of a `check`. Nearly every pattern needs a word to stand in the line,
//! so the words are looked for at once, and only the patterns of those that stand there are tried.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::pattern::Pattern;

/// A shorter word stands in too many lines to be worth looking for.
const MIN_WORD_BYTES: usize = 3;

/// Patterns that are tried together.
pub(crate) struct Patterns {
    all: Vec<Pattern>,
    words: AhoCorasick,
    /// For each word, the patterns that need it or one of its like.
    of_word: Vec<usize>,
    /// Patterns that need no word.
    wordless: Vec<usize>,
}

impl Patterns {
    /// `None`: one is no regular expression.
    pub(crate) fn new(sources: impl IntoIterator<Item = &'static str>) -> Option<Self> {
        let all: Vec<Pattern> = sources.into_iter().map(Pattern::new).collect();
        let (mut words, mut of_word, mut wordless) = (Vec::new(), Vec::new(), Vec::new());
        for (at, pattern) in all.iter().enumerate() {
            let parser = &mut ParserBuilder::new().unicode(false).utf8(false).build();
            let hir = parser.parse(pattern.source()).ok()?;
            match needed(&hir).filter(|needed| shortest(needed) >= MIN_WORD_BYTES) {
                Some(needed) => {
                    of_word.extend(needed.iter().map(|_| at));
                    words.extend(needed);
                }
                None => wordless.push(at),
            }
        }
        let words = AhoCorasick::builder().ascii_case_insensitive(true).build(words).ok()?;
        Some(Self { all, words, of_word, wordless })
    }

    /// Those that match `text`, with their positions, in order.
    pub(crate) fn matches(&self, text: &str) -> impl Iterator<Item = (usize, &Pattern)> {
        let hits = self.words.find_overlapping_iter(text);
        let hits = hits.filter_map(|hit| self.of_word.get(hit.pattern().as_usize()));
        let tried: BTreeSet<usize> = hits.chain(&self.wordless).copied().collect();
        let found = tried.into_iter().filter_map(|at| Some((at, self.all.get(at)?)));
        found.filter(move |(_, pattern)| pattern.is_in(text))
    }

    /// True if any matches `text`.
    pub(crate) fn any(&self, text: &str) -> bool {
        self.matches(text).next().is_some()
    }
}

fn shortest(words: &[Vec<u8>]) -> usize {
    words.iter().map(Vec::len).min().unwrap_or_default()
}

/// Words, in any case of letters, of which each text that matches holds at least one. Of several
/// such choices, the one whose shortest word is longest.
fn needed(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let choices: Vec<Vec<Vec<u8>>> = match hir.kind() {
        HirKind::Concat(parts) => {
            let mut choices: Vec<_> = parts.iter().filter_map(needed).collect();
            choices.extend(runs(parts).into_iter().map(|run| vec![run]));
            choices
        }
        HirKind::Alternation(parts) => {
            let all: Option<Vec<_>> = parts.iter().map(needed).collect();
            all.map(|all| all.concat()).into_iter().collect()
        }
        HirKind::Capture(group) => needed(&group.sub).into_iter().collect(),
        HirKind::Repetition(again) if again.min > 0 => needed(&again.sub).into_iter().collect(),
        _ => runs(std::slice::from_ref(hir)).into_iter().map(|run| vec![run]).collect(),
    };
    choices.into_iter().max_by_key(|words| shortest(words))
}

/// Stretches of plain letters among parts that follow each other.
fn runs(parts: &[Hir]) -> Vec<Vec<u8>> {
    let mut runs = vec![Vec::new()];
    for part in parts {
        match (plain(part), runs.last_mut()) {
            (Some(letters), Some(run)) => run.extend(letters),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// What a part stands for, if it is the same text but for the case of letters.
fn plain(part: &Hir) -> Option<Vec<u8>> {
    match part.kind() {
        // A place between letters, as `\b`, takes none.
        HirKind::Look(_) | HirKind::Empty => Some(Vec::new()),
        HirKind::Literal(text) => Some(text.0.to_vec()),
        HirKind::Class(Class::Bytes(class)) => {
            let mut letters = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let (first, second) = (letters.next()?, letters.next()?);
            let same = first.eq_ignore_ascii_case(&second) && letters.next().is_none();
            same.then(|| vec![first])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(pattern: &str) -> Vec<String> {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).unwrap();
        let words = needed(&hir).unwrap_or_default();
        words.into_iter().map(|word| String::from_utf8_lossy(&word).to_lowercase()).collect()
    }

    #[test]
    fn the_words_that_a_pattern_needs_are_found() {
        for (pattern, expected) in [
            ("out of memory", &["out of memory"][..]),
            (r"(?i)\bcuda\b error: \d+", &["cuda error: "]),
            (r"tried to (?<x>allocate) [0-9.]+ GiB", &["tried to "]),
            ("(?:first|second)[0-9]", &["first", "second"]),
            ("(?:port|ports?) (?:no|number) [0-9]+", &["port", "port"]),
            ("(?:timed out)?", &[]),
            ("(?:again )+", &["again "]),
            (r"^\S+$", &[]),
            ("no[a-z]", &["no"]),
        ] {
            assert_eq!(words(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_matches_here_where_it_matches_alone() {
        let sources = [
            "(?i)out of memory",
            r"^\d+ errors?$",
            "(?:NCCL|RCCL) error",
            "a|bcd",
            r"(?i)[k]ill(?:ed)?\b",
            "memory.{0,10}lost",
        ];
        let patterns = Patterns::new(sources).unwrap();
        for text in [
            "CUDA Out Of Memory",
            "12 errors",
            "an RCCL error",
            "xbcdx",
            "KILLED",
            "skill",
            "",
            "é memory é lost",
        ] {
            let alone: Vec<usize> = (0..sources.len())
                .filter(|at| Pattern::new(sources[*at]).find(text).is_some())
                .collect();
            let here: Vec<usize> = patterns.matches(text).map(|(at, _)| at).collect();
            assert_eq!(here, alone, "{text}");
        }
        assert!(Patterns::new(["("]).is_none());
    }
}
