//! The form of an engine's log: which words announce a fact, and in which forms its releases write
//! it. One file an engine says the rest.

use inferlint_schema::engine;

use crate::pattern::{Found, Pattern};

use super::facts::{Backend, BackendRole, BootFacts, Fact, MemoryPart, OfProcess};

/// Parts of a start, in the order engines go through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Arguments and the model's configuration are read.
    Configuration,
    /// Engine processes start.
    EngineStart,
    /// Ranks connect.
    Distributed,
    /// Weights are loaded.
    WeightLoading,
    /// Memory is profiled, kernels are compiled.
    Profiling,
    /// The KV cache is allocated.
    KvCache,
    /// CUDA graphs are captured.
    GraphCapture,
    /// First passes are run.
    WarmUp,
    /// The HTTP server starts.
    HttpStart,
}

impl Stage {
    /// For messages: "while …".
    pub fn doing(self) -> &'static str {
        match self {
            Self::Configuration => "reading the configuration",
            Self::EngineStart => "starting the engine",
            Self::Distributed => "connecting the ranks",
            Self::WeightLoading => "loading weights",
            Self::Profiling => "profiling memory",
            Self::KvCache => "allocating the KV cache",
            Self::GraphCapture => "capturing CUDA graphs",
            Self::WarmUp => "warming up",
            Self::HttpStart => "starting the HTTP server",
        }
    }
}

/// One fact's forms.
pub(crate) struct Rule {
    /// Words every form holds. A line with them that fits no form is reported as unparsed.
    pub anchor: &'static str,
    /// One regular expression a form, newest first.
    pub forms: &'static [&'static str],
    pub read: fn(&mut Reading<'_>, &Found<'_>),
}

/// One engine's log.
pub(crate) struct Grammar {
    /// Short name of its identity, which has the marks and the ready lines.
    pub engine: &'static str,
    pub rules: &'static [Rule],
    /// Words of ordinary progress lines, and the stage they begin.
    pub stages: &'static [(&'static str, Stage)],
    /// Words of lines the engine process itself writes while it works on requests.
    pub works: fn(&str) -> bool,
    /// Words that make a line worth a look for `works`.
    pub work_words: &'static [&'static str],
    /// An answered request proves a server ready whose ready line is not in the log.
    pub answering_is_ready: bool,
    /// The engine writes no line of its own while it works: two answers must do as proof.
    pub answers_prove_work: bool,
    /// First parts of the versions whose logs the forms were checked against.
    pub tested: &'static [&'static str],
}

impl Grammar {
    /// Text no other engine's log holds. Any of them names the engine.
    pub(crate) fn marks(&self) -> &'static [&'static str] {
        engine::by_name(self.engine).map_or(&[], |identity| identity.log_marks)
    }

    /// Words of the line that says the server serves.
    pub(crate) fn ready(&self) -> &'static [&'static str] {
        engine::by_name(self.engine).map_or(&[], |identity| identity.ready_lines)
    }
}

/// A rule's forms, compiled.
pub(crate) struct Compiled {
    pub rule: &'static Rule,
    forms: Vec<Pattern>,
}

impl Compiled {
    pub(crate) fn of(rules: &'static [Rule]) -> Vec<Self> {
        rules
            .iter()
            .map(|rule| Self {
                rule,
                forms: rule.forms.iter().copied().map(Pattern::new).collect(),
            })
            .collect()
    }

    /// Reads the fact out of `text`. `None`: the rule is not about this line. `Some(false)`: it
    /// is, in a form none of the releases read writes.
    pub(crate) fn apply(&self, text: &str, reading: &mut Reading<'_>) -> Option<bool> {
        if !text.contains(self.rule.anchor) {
            return None;
        }
        let Some(found) = self.forms.iter().find_map(|form| form.find(text)) else {
            return Some(false);
        };
        (self.rule.read)(reading, &found);
        Some(true)
    }
}

/// What a rule reads into, and where it stands.
pub(crate) struct Reading<'a> {
    pub facts: &'a mut BootFacts,
    /// Between the lines that begin and end the loading of a draft model.
    pub drafting: &'a mut bool,
    pub line: u64,
    /// The process, without its pid.
    pub process: &'a str,
    /// The process as its prefixes name it: ranks that share a name differ by their pids.
    pub speaker: &'a str,
}

impl Reading<'_> {
    pub(crate) fn fact<T>(&self, value: T) -> Fact<T> {
        Fact { value, line: self.line }
    }

    pub(crate) fn pool(&mut self, tokens: u64) {
        let line = self.line;
        replace(
            &mut self.facts.pools,
            OfProcess { process: self.process.to_owned(), value: tokens, line },
        );
    }

    pub(crate) fn kv_memory(&mut self, gib: f64) {
        let line = self.line;
        replace(
            &mut self.facts.kv_memory_gib,
            OfProcess { process: self.process.to_owned(), value: gib, line },
        );
    }

    /// Memory of a further pool of this process.
    pub(crate) fn more_kv_memory(&mut self, gib: f64) {
        let so_far = self.facts.kv_memory_gib.iter().find(|memory| memory.process == self.process);
        self.kv_memory(hundredths(gib + so_far.map_or(0.0, |memory| memory.value)));
    }

    /// One more stretch of compiling. A process compiles one after the other, ranks side by side.
    pub(crate) fn compiled(&mut self, seconds: f64) {
        let speaker = self.speaker;
        let before = self.facts.compiled.iter().find(|own| own.process == speaker);
        let value = seconds + before.map_or(0.0, |own| own.value);
        let own = OfProcess { process: speaker.to_owned(), value, line: self.line };
        replace(&mut self.facts.compiled, own);
        if self.facts.compile_seconds.as_ref().is_none_or(|longest| longest.value < value) {
            self.facts.compile_seconds = Some(self.fact(value));
        }
    }

    pub(crate) fn memory(&mut self, part: &str, gib: f64) {
        if self.facts.memory.len() < MAX_LISTED {
            self.facts.memory.push(MemoryPart { part: part.to_owned(), gib, line: self.line });
        }
    }

    pub(crate) fn backend(&mut self, name: &str, role: BackendRole) {
        if self.facts.backends.len() < MAX_LISTED {
            let backend = self.fact(Backend { name: name.to_owned(), role });
            self.facts.backends.push(backend);
        }
    }
}

/// No start prints more of one kind than this; a hostile log shall not fill memory.
const MAX_LISTED: usize = 256;

/// Sums of figures of two decimals carry binary dust.
pub(crate) fn hundredths(gib: f64) -> f64 {
    (gib * 100.0).round() / 100.0
}

fn replace<T>(list: &mut Vec<OfProcess<T>>, new: OfProcess<T>) {
    if let Some(old) = list.iter_mut().find(|old| old.process == new.process) {
        *old = new;
    } else if list.len() < MAX_LISTED {
        list.push(new);
    }
}

/// A captured whole number, thousands separators removed.
pub(crate) fn whole(found: &Found<'_>, name: &str) -> Option<u64> {
    found.part(name)?.replace(',', "").parse().ok()
}

/// A captured number.
pub(crate) fn real(found: &Found<'_>, name: &str) -> Option<f64> {
    found.part(name)?.parse().ok()
}

/// Captured text.
pub(crate) fn text<'h>(found: &Found<'h>, name: &str) -> Option<&'h str> {
    found.part(name)
}

/// Keeps the first value a start gives.
pub(crate) fn first<T>(slot: &mut Option<Fact<T>>, value: Option<T>, line: u64) {
    if let (None, Some(value)) = (&slot, value) {
        *slot = Some(Fact { value, line });
    }
}

/// Keeps the last value a start gives.
pub(crate) fn last<T>(slot: &mut Option<Fact<T>>, value: Option<T>, line: u64) {
    if let Some(value) = value {
        *slot = Some(Fact { value, line });
    }
}

/// Seconds between two of the log's times, when they are of one form. Years may be missing: the
/// difference is then within one year. Time zones never change inside one start's log.
pub(crate) fn seconds_between(from: &str, to: &str) -> Option<f64> {
    static TIME: Pattern = Pattern::new(
        r"^(?:(?:(?<y>\d{4})-)?(?<m>\d\d)-(?<d>\d\d) |(?<m2>\d\d)/(?<d2>\d\d)/(?<y2>\d{4})-)(?<h>\d\d?):(?<min>\d\d):(?<s>\d\d(?:[.,]\d+)?)$",
    );
    let seconds = |time: &str| -> Option<f64> {
        let t = TIME.find(time)?;
        let number =
            |name: &str| t.part(name).and_then(|m| m.replace(',', ".").parse::<f64>().ok());
        let (month, day) = (number("m").or(number("m2"))?, number("d").or(number("d2"))?);
        let year = number("y").or(number("y2")).unwrap_or(2001.0);
        // Days of the proleptic Gregorian calendar, with March first so that leap days end a year.
        let (y, m) = if month > 2.0 { (year, month - 3.0) } else { (year - 1.0, month + 9.0) };
        let days = 365.0 * y + (y / 4.0).floor() - (y / 100.0).floor()
            + (y / 400.0).floor()
            + ((153.0 * m + 2.0) / 5.0).floor()
            + day;
        Some(days * 86_400.0 + number("h")? * 3_600.0 + number("min")? * 60.0 + number("s")?)
    };
    let gap = seconds(to)? - seconds(from)?;
    // New Year's Eve: a log without years went from December to January.
    let gap = if gap < 0.0
        && from.len() == to.len()
        && !from.contains('/')
        && from.find('-') == Some(2)
    {
        gap + 365.0 * 86_400.0
    } else {
        gap
    };
    (0.0..30.0 * 86_400.0).contains(&gap).then_some(gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_one_form_are_subtracted() {
        assert_eq!(seconds_between("10-01 01:24:26", "10-01 01:25:42"), Some(76.0));
        assert_eq!(seconds_between("2026-10-01 23:59:59", "2026-10-02 00:00:01"), Some(2.0));
        assert_eq!(seconds_between("02-28 23:59:59", "03-01 00:00:00"), Some(1.0));
        assert_eq!(seconds_between("10/01/2026-01:54:18", "10/01/2026-01:55:10"), Some(52.0));
        assert_eq!(seconds_between("12-31 23:59:59", "01-01 00:00:01"), Some(2.0));
        assert_eq!(seconds_between("10-01 01:24:26", "later"), None);
        assert_eq!(seconds_between("10-02 01:24:26", "10-01 01:24:26"), None);
    }
}
