//! What a kind of failure is, and how one is told in a sentence.

use std::fmt::Write as _;

use super::Aside;
use super::trace::Exception;
use crate::boot::grammar::Stage;
use crate::pattern::{self, Pattern};

/// Longest message of a finding, characters: what a terminal line and a ticket's title can hold.
pub(crate) const MAX_MESSAGE_CHARS: usize = 300;

/// One kind of failure.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Its name in a finding's evidence (`cause`).
    pub name: &'static str,
    /// What it recognises.
    pub what: &'static str,
    /// Regular expressions over a stripped line. Any of them is enough.
    pub patterns: &'static [&'static str],
    /// The sentence: what happened with its numbers, and what to do.
    pub tell: fn(&Told<'_>) -> String,
    /// A nearer name, where the same words mean different things at different moments.
    pub refine: Option<fn(&Told<'_>) -> &'static str>,
    /// What it takes, once the server is ready, to call it the end of the server.
    pub after_ready: AfterReady,
    /// Conditions on what stands around the line.
    pub needs: Needs,
}

/// What an error of a kind means for a server that was serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterReady {
    /// The process that met it cannot go on.
    Fatal,
    /// One request may have met it: only fatal when the server is seen to die.
    OnlyIfItDied,
}

/// Where a kind's words count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// In any line but those a logger calls information or a warning.
    Loud,
    /// In any line at all.
    Nothing,
    /// Between the lines that begin and end a compiler's output.
    Build,
}

impl Kind {
    /// The common case: loud lines only, and after ready only with a death.
    pub(crate) const fn new(
        name: &'static str,
        what: &'static str,
        patterns: &'static [&'static str],
        tell: fn(&Told<'_>) -> String,
    ) -> Self {
        Self {
            name,
            what,
            patterns,
            tell,
            refine: None,
            after_ready: AfterReady::OnlyIfItDied,
            needs: Needs::Loud,
        }
    }

    pub(crate) const fn fatal(mut self) -> Self {
        self.after_ready = AfterReady::Fatal;
        self
    }

    pub(crate) const fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    pub(crate) const fn refined(mut self, refine: fn(&Told<'_>) -> &'static str) -> Self {
        self.refine = Some(refine);
        self
    }
}

/// All that is known of one failure when it is told.
pub(crate) struct Told<'a> {
    /// The stripped line that the kind's pattern matched.
    pub text: &'a str,
    /// Lines of the same process that followed it, up to the next record.
    pub tail: &'a [String],
    /// The exception the line is the end of, when a traceback stood before it.
    pub exception: Option<&'a Exception>,
    /// The next exception of the same process, for lines that only announce one.
    pub next: Option<&'a Exception>,
    pub engine: Option<&'static str>,
    pub stage: Option<Stage>,
    /// The server had been ready.
    pub serving: bool,
    /// How often the kind was seen.
    pub count: u64,
    pub pattern: &'a Pattern,
    pub aside: &'a Aside,
}

impl<'a> Told<'a> {
    /// A named part of the match.
    pub(crate) fn part(&self, name: &str) -> Option<&'a str> {
        self.pattern.find(self.text)?.part(name).map(str::trim)
    }

    /// The first group of `pattern` in the line or in the lines after it.
    pub(crate) fn find(&self, pattern: &str) -> Option<&'a str> {
        std::iter::once(self.text)
            .chain(self.tail.iter().map(String::as_str))
            .find_map(|line| pattern::first_group(pattern, line).map(str::trim))
    }

    /// Whether any function or file of the traceback has one of these words in its name.
    pub(crate) fn came_through(&self, words: &[&str]) -> bool {
        self.exception.is_some_and(|e| {
            e.frames
                .iter()
                .any(|f| words.iter().any(|w| f.function.contains(w) || f.file.contains(w)))
        })
    }

    /// The line itself, without the path of its exception's class, at most `max` characters. Where the
    /// words that decided stand beyond that, the quote begins with them.
    pub(crate) fn quote(&self, max: usize) -> String {
        let text = plain(self.text);
        let end = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
        let decided = self.pattern.find(text).map_or(0..0, |found| found.span());
        match text.get(decided.start..).filter(|_| decided.start > 0 && decided.end > end) {
            Some(rest) => format!("…{}", shorten(rest, max.saturating_sub(1))),
            None => shorten(text, max),
        }
    }

    /// `headline: what the log says; advice`.
    pub(crate) fn say(&self, headline: &str, advice: &str) -> String {
        let room = ROOM.saturating_sub(headline.chars().count() + advice.chars().count() + 4);
        let mut out =
            format!("{headline}: {}", self.quote(room).trim_end_matches(['.', ':', ';', ',', ' ']));
        if !advice.is_empty() {
            let _ = write!(out, "; {advice}");
        }
        out
    }

    /// One of three pieces of advice, by engine; the first where the engine has no own.
    pub(crate) fn advise(
        &self,
        vllm: &'static str,
        sglang: &'static str,
        trtllm: &'static str,
    ) -> &'static str {
        match self.engine {
            Some("sglang") => sglang,
            Some("trtllm") => trtllm,
            _ => vllm,
        }
    }
}

/// Characters a told sentence may fill: the line, process and stage are added to it.
const ROOM: usize = MAX_MESSAGE_CHARS - 70;

/// Without the dotted path of an exception's class: `torch.OutOfMemoryError: x` says no more than
/// `OutOfMemoryError: x`.
fn plain(text: &str) -> &str {
    let text = text.trim();
    let head = text.split(':').next().unwrap_or(text);
    let dotted = head.contains('.')
        && head.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
    if dotted && let Some(at) = head.rfind('.') { text.get(at + 1..).unwrap_or(text) } else { text }
}

/// At most `max` characters, cut at a word where one is near.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    let text = text.trim();
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let cut: String = text.chars().take(max.saturating_sub(1)).collect();
    let end = cut.rfind(' ').filter(|at| *at + 24 > cut.len()).unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut).trim_end_matches([',', ';', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_cut_at_words_and_never_grow() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("one two three four", 12), "one two…");
        assert_eq!(shorten("äöüäöüäöü", 4), "äöü…");
        for max in 1..40 {
            assert!(
                shorten("a sentence of several words, cut anywhere", max).chars().count() <= max
            );
        }
    }

    #[test]
    fn only_a_class_path_is_shortened() {
        assert_eq!(
            plain("torch.OutOfMemoryError: CUDA out of memory"),
            "OutOfMemoryError: CUDA out of memory"
        );
        assert_eq!(plain("/usr/bin/ld: cannot find -lcuda"), "/usr/bin/ld: cannot find -lcuda");
        assert_eq!(plain("ValueError: x.y"), "ValueError: x.y");
    }
}
