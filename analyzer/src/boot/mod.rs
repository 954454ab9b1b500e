//! What a server's log says: how it was started, what it decided, whether it became ready, and what
//! became of it.
//!
//! A log is read once, in order, by [`read`] (a file) or line by line through [`Scanner`] (a
//! bundle's log records). [`facts::BootFacts`] holds what was read, each fact with its line;
//! [`ServerLog::conclude`] names the failure, if there was one. One file an engine says what its
//! lines look like; adding an engine adds one file and one line in [`GRAMMARS`].

pub mod facts;
pub(crate) mod grammar;
pub(crate) mod head;
pub(crate) mod line;
pub(crate) mod pyrepr;
mod reader;

use std::io::Read;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use self::facts::{BootFacts, Fact};
pub use self::grammar::Stage;
use self::grammar::{Compiled, Grammar, Reading, seconds_between};
use self::head::Heads;
use self::line::Line;
use self::reader::{Vocabulary, Wanted};
use crate::failure::watch::{self, History, Watch};
use crate::failure::{Aside, Conclusion};
use inferlint_schema::engine;

/// Lists the engines whose logs are known once.
macro_rules! grammars {
    ($($module:ident $name:ident),* $(,)?) => {
        $( mod $module; )*

        /// Every engine whose log is known.
        pub(crate) static GRAMMARS: [&Grammar; [$( stringify!($module) ),*].len()] =
            [$( &$module::$name ),*];
    };
}

grammars! {
    vllm VLLM,
    sglang SGLANG,
    trtllm TRTLLM,
    llamacpp LLAMACPP,
    tgi TGI,
}

/// The grammar of an engine, by its name.
pub(crate) fn grammar_of(engine: &str) -> Option<&'static Grammar> {
    GRAMMARS.iter().copied().find(|g| g.engine == engine)
}

/// A log, read.
#[derive(Clone, Debug, Default)]
pub struct ServerLog {
    /// What it says of the start.
    pub facts: BootFacts,
    history: History,
}

impl ServerLog {
    /// What became of the server, with what stands beside its log.
    pub fn conclude(&self, aside: &Aside) -> Conclusion {
        let mut aside = aside.clone();
        if aside.asked_port.is_none() {
            aside.asked_port = self.facts.argument("port").map(str::to_owned);
        }
        self.history.conclude(&aside, self.facts.engine)
    }
}

/// Reads a whole log. `engine` names the engine when it is known from elsewhere.
pub fn read(input: impl Read, engine: Option<&str>) -> std::io::Result<ServerLog> {
    let Some(words) = WORDS.as_ref() else {
        return Err(std::io::Error::other("the log vocabulary does not compile"));
    };
    let mut scanner = Scanner::new(engine);
    let lines = reader::read(input, words, scanner.wanted, &mut |number, line| {
        scanner.take(number, line);
        scanner.wanted
    })?;
    scanner.lines = lines;
    Ok(scanner.finish())
}

/// Reads a log that comes line by line.
pub struct Scanner {
    named: Option<&'static Grammar>,
    /// How many marks of each grammar were seen: lines of one engine may quote another's name.
    marks: [u32; GRAMMARS.len()],
    facts: BootFacts,
    drafting: bool,
    watch: Watch,
    heads: Heads,
    wanted: Wanted,
    lines: u64,
    /// Lines read before the engine was known, and their processes: facts may stand on them.
    early: Vec<(u64, String, String)>,
    first_stamp: Option<Fact<String>>,
    last_stamp: Option<Fact<String>>,
}

impl Scanner {
    /// `engine` names the engine when it is known from elsewhere.
    pub fn new(engine: Option<&str>) -> Self {
        Self {
            named: engine.and_then(grammar_of),
            marks: [0; GRAMMARS.len()],
            facts: BootFacts::default(),
            drafting: false,
            watch: Watch::default(),
            heads: Heads::default(),
            wanted: Wanted::Watched,
            lines: 0,
            early: Vec::new(),
            first_stamp: None,
            last_stamp: None,
        }
    }

    /// The log's next line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        self.lines += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = line.get(..line.len().min(reader::MAX_LINE_BYTES)).unwrap_or(line);
        if WORDS.as_ref().is_some_and(|words| words.wants(self.wanted, line)) {
            self.take(self.lines, line);
        }
    }

    /// The log has ended.
    pub fn finish(mut self) -> ServerLog {
        self.facts.engine = self.grammar().map(|g| g.engine);
        self.facts.lines = self.lines;
        self.facts.ready_line = self.watch.ready_line();
        if let (Some(from), Some(to)) = (&self.facts.started_at, &self.facts.ready_at) {
            self.facts.seconds_to_ready = seconds_between(&from.value, &to.value);
        }
        if let (Some(grammar), Some(version)) = (self.grammar(), &self.facts.version) {
            self.facts.untested_version =
                !grammar.tested.iter().any(|tested| version.value.starts_with(tested));
        }
        ServerLog { facts: self.facts, history: self.watch.finish() }
    }

    fn grammar(&self) -> Option<&'static Grammar> {
        if self.named.is_some() {
            return self.named;
        }
        let most = self.marks.iter().copied().max().filter(|n| *n > 0)?;
        self.marks.iter().position(|n| *n == most).and_then(|at| GRAMMARS.get(at).copied())
    }

    fn take(&mut self, number: u64, raw: &[u8]) {
        match line::unfold(raw, &mut self.heads) {
            Some(lines) => lines.iter().for_each(|line| self.take_line(number, line.as_bytes())),
            None => self.take_line(number, raw),
        }
    }

    fn take_line(&mut self, number: u64, raw: &[u8]) {
        let line = Line::strip_behind(number, raw, &mut self.heads);
        self.count_marks(line.own.as_ref().map_or(raw, |own| own.as_bytes()));
        let grammar = self.grammar();
        if let Some(stamp) = &line.stamp {
            let stamp = Fact { value: stamp.clone(), line: number };
            if self.first_stamp.is_none() {
                self.first_stamp = Some(stamp.clone());
            }
            self.last_stamp = Some(stamp);
        }
        let was_ready = self.watch.ready_line().is_some();
        self.watch.observe(&line, grammar);
        if was_ready {
            self.read_serving(&line);
        } else {
            self.read_facts(&line, grammar);
            if self.watch.ready_line().is_some() {
                self.facts.started_at.clone_from(&self.first_stamp);
                // Uvicorn's own lines carry no time: the last one before it stands.
                self.facts.ready_at.clone_from(&self.last_stamp);
            }
        }
        self.wanted = if self.watch.attentive() {
            Wanted::All
        } else if self.watch.calm() {
            Wanted::Serving
        } else {
            Wanted::Watched
        };
    }

    fn count_marks(&mut self, raw: &[u8]) {
        // Enough lines of one engine settle it.
        if self.named.is_some() || self.marks.iter().any(|n| *n > 32) {
            return;
        }
        let raw = String::from_utf8_lossy(raw);
        for (count, grammar) in self.marks.iter_mut().zip(GRAMMARS) {
            if grammar.marks().iter().any(|mark| raw.contains(mark)) {
                *count += 1;
            }
        }
    }

    fn read_facts(&mut self, line: &Line<'_>, grammar: Option<&'static Grammar>) {
        let Some(grammar) = grammar else {
            if self.early.len() < MAX_EARLY {
                self.early.push((
                    line.number,
                    line.text.clone().into_owned(),
                    line.process.clone(),
                ));
            }
            return;
        };
        for (number, text, process) in std::mem::take(&mut self.early) {
            self.apply(grammar, number, &text, &process);
        }
        self.apply(grammar, line.number, &line.text, &line.process);
    }

    fn apply(&mut self, grammar: &'static Grammar, line: u64, text: &str, process: &str) {
        let Some((_, rules)) = RULES.iter().find(|(engine, _)| *engine == grammar.engine) else {
            return;
        };
        for compiled in rules {
            let mut reading = Reading {
                facts: &mut self.facts,
                drafting: &mut self.drafting,
                line,
                process: short(process),
                speaker: process,
            };
            if compiled.apply(text, &mut reading) == Some(false)
                && self.facts.unparsed.len() < MAX_UNPARSED
            {
                self.facts.unparsed.push(Fact { value: text.chars().take(200).collect(), line });
            }
        }
    }

    /// An answer that held the engine's metrics.
    fn is_scrape(&self, text: &str) -> bool {
        let engine = self.grammar().and_then(|grammar| engine::by_name(grammar.engine));
        let paths = engine.map_or(&[][..], |engine| engine.metrics_paths);
        paths.iter().any(|path| text.contains(&format!("GET {path} HTTP/")))
    }

    fn read_serving(&mut self, line: &Line<'_>) {
        let text = line.text.as_ref();
        let scraped = text.contains(SCRAPE) && self.is_scrape(text);
        let serving = &mut self.facts.serving;
        serving.scrapes += u64::from(scraped);
        let found = if text.ends_with("-> pause") {
            serving.pauses += 1;
            true
        } else if let Some((_, after)) = text.split_once("#retracted_reqs: ") {
            let digits = after.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            serving.retracted += digits.parse::<u64>().unwrap_or(1);
            true
        } else if text.contains(" - rejecting request ")
            || text.contains("The request queue is full.")
        {
            serving.rejected += 1;
            true
        } else if text.contains(" is preempted by ") {
            serving.preempted += 1;
            true
        } else if text.contains("JIT compilation during inference") {
            serving.jit_compilations += 1;
            true
        } else {
            false
        };
        if found && serving.first_line.is_none() {
            serving.first_line = Some(line.number);
        }
    }
}

/// Lines held back until the engine is known: every start names itself within its first lines.
const MAX_EARLY: usize = 200;
/// Lines reported as unparsed: a few show the pattern, a thousand hide it.
const MAX_UNPARSED: usize = 20;

/// In the access line of a reading of metrics.
const SCRAPE: &str = "/metrics HTTP/";

/// Words of lines that matter only while the server serves.
const SERVING_WORDS: [&str; 7] = [
    SCRAPE,
    "-> pause",
    "#retracted_reqs: ",
    " - rejecting request ",
    "The request queue is full.",
    " is preempted by ",
    "JIT compilation during inference",
];

/// The process's name without its pid: pids differ from start to start.
fn short(process: &str) -> &str {
    process.split(" pid=").next().unwrap_or(process)
}

static RULES: LazyLock<Vec<(&'static str, Vec<Compiled>)>> = LazyLock::new(|| {
    GRAMMARS.iter().map(|grammar| (grammar.engine, Compiled::of(grammar.rules))).collect()
});

static WORDS: LazyLock<Option<Vocabulary>> = LazyLock::new(|| {
    let serving: Vec<&str> = watch::serving_words().chain(SERVING_WORDS).collect();
    let mut watched: Vec<&str> = watch::watched_words().chain(SERVING_WORDS).collect();
    for grammar in GRAMMARS {
        watched.extend(grammar.marks().iter().chain(grammar.ready()).chain(grammar.work_words));
        watched.extend(grammar.rules.iter().map(|rule| rule.anchor));
        watched.extend(grammar.stages.iter().map(|(words, _)| words));
    }
    let automaton = |words: Vec<&str>| {
        AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(words).ok()
    };
    Some(Vocabulary { watched: automaton(watched)?, serving: automaton(serving)? })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_and_word_compiles() {
        assert!(WORDS.is_some());
        for grammar in GRAMMARS {
            for rule in grammar.rules {
                assert!(!rule.anchor.is_empty() && !rule.forms.is_empty());
                for form in rule.forms {
                    assert!(
                        crate::patterns::Patterns::new([*form]).is_some(),
                        "{}: {form}",
                        grammar.engine
                    );
                }
            }
        }
    }
}
