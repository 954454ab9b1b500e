//! Follows a log line by line and keeps what may be the cause of a failure.

use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::kind::{AfterReady, Kind, MAX_MESSAGE_CHARS, Needs, Told, shorten};
use super::life::{self, End, Mark};
use super::trace::{Exception, Part, Traces};
use super::{
    Aside, Conclusion, Failure, Outcome, Phase, argument, collective, config, cuda, device, driver,
    hang, host, jit, library, memory, model, noise, pool, port, scheduler,
};
use crate::boot::grammar::{Grammar, Stage};
use crate::boot::line::{Level, Line};
use crate::pattern::Pattern;
use crate::patterns::Patterns;

/// Every kind, the most specific first. A cause is the first of these that the log holds.
pub(crate) fn kinds() -> impl Iterator<Item = &'static Kind> {
    static KILLED: Kind = host::KILLED;
    static XID: Kind = cuda::XID;
    let specific: [&'static [Kind]; 16] = [
        argument::KINDS,
        host::KINDS,
        jit::KINDS,
        library::KINDS,
        driver::KINDS,
        device::KINDS,
        jit::LANGUAGES,
        pool::KINDS,
        memory::HELD,
        memory::OUT,
        port::KINDS,
        model::KINDS,
        config::KINDS,
        collective::KINDS,
        std::slice::from_ref(&XID),
        cuda::KINDS,
    ];
    let late: [&'static [Kind]; 6] = [
        hang::KINDS,
        scheduler::KINDS,
        host::CRASHED,
        scheduler::REASONS,
        std::slice::from_ref(&KILLED),
        hang::WAITS,
    ];
    specific
        .into_iter()
        .chain(late)
        .flatten()
        .chain(scheduler::loops())
        .chain(std::iter::once(&scheduler::UNCLASSIFIED))
}

/// All patterns of all kinds.
struct Catalogue {
    kinds: Vec<&'static Kind>,
    patterns: Patterns,
    /// For each pattern, the position of its kind.
    ranks: Vec<usize>,
}

static CATALOGUE: LazyLock<Option<Catalogue>> = LazyLock::new(|| {
    let kinds: Vec<_> = kinds().collect();
    let patterns = Patterns::new(kinds.iter().flat_map(|kind| kind.patterns.iter().copied()))?;
    let ranks = kinds.iter().enumerate().flat_map(|(k, kind)| kind.patterns.iter().map(move |_| k));
    let ranks = ranks.collect();
    Some(Catalogue { kinds, patterns, ranks })
});

/// A healthy start has hardly a line with one of these: the catalogue is then never compiled.
static ERROR_WORDS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(watched_words()).ok());

/// A line that may be the cause.
#[derive(Clone, Debug)]
struct Seen {
    /// Position in [`kinds`].
    rank: usize,
    kind: &'static Kind,
    pattern: Option<&'static Pattern>,
    line: u64,
    last_line: u64,
    text: String,
    tail: Vec<String>,
    exception: Option<Exception>,
    stage: Option<Stage>,
    process: String,
    writers: Vec<String>,
    serving: bool,
    count: u64,
    /// Its process went on with the start afterwards.
    superseded: bool,
    /// It only says that another rank is gone.
    peer_gone: bool,
}

impl Seen {
    fn in_thread(&self) -> bool {
        self.exception.as_ref().is_some_and(|e| e.in_thread)
    }

    fn is_unclassified(&self) -> bool {
        self.kind.patterns.is_empty()
    }

    fn is_kill(&self) -> bool {
        self.kind.name == host::KILLED.name
    }

    fn is_crash(&self) -> bool {
        host::CRASHED.iter().any(|kind| kind.name == self.kind.name)
    }

    fn is_wait(&self) -> bool {
        hang::WAITS.iter().any(|kind| kind.name == self.kind.name)
    }
}

/// Candidates kept: enough for every kind twice, few enough that a hostile log costs nothing.
const MAX_SEEN: usize = 256;
/// Candidates kept of one kind: the first say when and where it began.
const MAX_OF_A_KIND: usize = 4;
/// Lines after a candidate that may hold its numbers.
const MAX_TAIL: usize = 14;
/// Lines read after something was said that the next lines may explain.
const ATTENTION_LINES: u32 = 48;
/// Characters of a line kept.
const MAX_TEXT: usize = 2_000;
/// Earlier lives of a server that restarts into the same log.
const MAX_LIVES: usize = 16;

/// One life of the server: from its first line to its end, or to the next start.
#[derive(Clone, Debug, Default)]
struct Life {
    seen: Vec<Seen>,
    ready: Option<u64>,
    stop: Option<u64>,
    death: Option<u64>,
    wrapper: Option<(u64, String)>,
    /// What started it says that it ended badly.
    left: Option<(u64, String)>,
    /// The container that its lines are from, after those around it.
    writers: Vec<String>,
    /// The containers that a server starts in, of several in one log.
    engines: Vec<Vec<String>>,
    /// Those of them that died before any was ready.
    dead: Vec<Vec<String>>,
    stage: Option<Stage>,
    stage_line: u64,
    /// Answers to generating requests since the server was ready.
    answered: u64,
    /// Answers since the newest candidate.
    answered_since: u64,
    passed_before_ready: u64,
    outlived: u64,
    refused: u64,
    /// The engine's own lines showed it at work since it was ready.
    worked: bool,
    /// Any line of a start or of a server at work was read.
    started: bool,
}

/// The lives a log shows, the last one last.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    earlier: Vec<Life>,
    last: Life,
}

/// Follows one log.
#[derive(Default)]
pub(crate) struct Watch {
    traces: Traces,
    lives: Vec<Life>,
    now: Life,
    last_process: String,
    /// Processes whose next traceback is announced as harmless.
    harmless: HashMap<String, bool>,
    /// Inside a block of tracebacks that a library prints about plugins it can do without.
    skipping: bool,
    building: bool,
    attention: u32,
    /// The process whose lines still belong to the newest candidates.
    tail_of: Option<String>,
}

impl Watch {
    /// Whether the next lines are needed whatever they hold.
    pub(crate) fn attentive(&self) -> bool {
        self.attention > 0 || self.traces.reading()
    }

    /// Whether the server is known to serve and nothing is open.
    pub(crate) fn calm(&self) -> bool {
        let life = &self.now;
        life.ready.is_some() && life.seen.is_empty() && (life.worked || life.answered > 0)
    }

    pub(crate) fn ready_line(&self) -> Option<u64> {
        self.now.ready
    }

    pub(crate) fn finish(self) -> History {
        History { earlier: self.lives, last: self.now }
    }

    /// Takes in one line. `grammar` is the engine's, once it is known.
    pub(crate) fn observe(&mut self, line: &Line<'_>, grammar: Option<&'static Grammar>) {
        self.attention = self.attention.saturating_sub(1);
        let text = line.text.as_ref();
        if self.skipping || text.starts_with("[start of ") {
            self.skipping = !text.starts_with("[end of ");
            return;
        }
        // A line that only its launcher tagged goes on with what that process last said.
        let goes_on = || {
            let rest = self.last_process.strip_prefix(line.process.as_str());
            line.process.is_empty() || rest.is_some_and(|rest| rest.starts_with(' '))
        };
        let process = if !line.is_record && goes_on() {
            self.last_process.clone()
        } else {
            line.process.clone()
        };
        self.last_process.clone_from(&process);
        if noise::quotes(text) {
            self.progress(line, &process, grammar);
            return;
        }
        if self.is_of_another(line) {
            return;
        }
        let part = self.traces.follow(&process, line);
        if part == Part::Inside && text.starts_with([' ', '\t']) {
            return;
        }
        self.life(line, grammar);
        if line.is_record {
            self.harmless.remove(&process);
        }
        if noise::is_harmless(text) {
            self.harmless.insert(process, true);
            return;
        }
        match part {
            Part::Inside => {
                // `Initialization failed. warmup error: Traceback (most recent call last):`
                let said = text.split("Traceback (most").next().unwrap_or_default().trim();
                if said.len() < text.len() && !said.is_empty() {
                    let announced = Line {
                        text: said.into(),
                        level: line.level,
                        is_record: line.is_record,
                        ..Line::empty(line.number)
                    };
                    self.error(&announced, process.clone(), None);
                }
                if self.tail_of.as_ref() == Some(&process) {
                    self.tail_of = None;
                }
                self.attention = ATTENTION_LINES;
            }
            Part::End(exception) => {
                let caught = self.harmless.contains_key(&process)
                    || exception
                        .frames
                        .iter()
                        .any(|f| noise::is_harmless(&f.function) || noise::is_harmless(&f.file));
                if !caught {
                    self.error(line, process, Some(exception));
                }
            }
            Part::Outside => {
                self.progress(line, &process, grammar);
                self.extend_tail(line, &process);
                self.error(line, process, None);
            }
        }
    }

    /// The end of another container than the server's: of the client beside it.
    fn is_of_another(&mut self, line: &Line<'_>) -> bool {
        let text = line.text.as_ref();
        let (badly, another) = match life::end(text) {
            End::None => return false,
            End::Badly => (true, false),
            // A launcher says it where it stands itself, outside of its containers.
            End::Container { name, badly } => match self.now.writers.split_last() {
                Some((writer, around)) if around == line.writers => {
                    (badly && writer == name, writer != name)
                }
                _ => return false,
            },
        };
        if badly && self.now.stop.is_none() && self.now.left.is_none() {
            self.now.left = Some((line.number, shorten(text, 160)));
        }
        another
    }

    /// Marks of the server's life.
    fn life(&mut self, line: &Line<'_>, grammar: Option<&'static Grammar>) {
        let text = line.text.as_ref();
        let life = &mut self.now;
        let ready_words: &[&str] = grammar.map_or(&["Application startup complete"], |g| g.ready());
        if life.stop.is_none()
            && life.ready.is_none()
            && ready_words.iter().any(|words| text.contains(words))
        {
            Self::became_ready(life, line);
            life.writers.clone_from(&line.writers);
            return;
        }
        if grammar.is_some_and(|g| (g.works)(text)) {
            // Uvicorn's lines may be off, and a log may begin while the server serves. Only a start's
            // own warm-up makes such an engine work before it is ready.
            let serves = grammar.is_some_and(|g| g.answering_is_ready) || life.stage.is_none();
            if life.ready.is_none() && life.stop.is_none() && life.death.is_none() && serves {
                Self::became_ready(life, line);
            }
            life.started = true;
            life.left = None;
            life.worked |= life.ready.is_some();
            if life.ready.is_some() && life.death.is_none() {
                life.outlive(|_| true);
            }
            return;
        }
        match life::mark(text) {
            // Nobody reports the end of an engine as information.
            Mark::Death if line.level.is_some_and(|level| level < Level::Warning) => {}
            Mark::Death => {
                self.attention = ATTENTION_LINES;
                if life.stop.is_none() && life.death.is_none() {
                    life.death = Some(line.number);
                }
                if life.ready.is_none() && !line.writers.is_empty() {
                    note(&mut life.dead, &line.writers);
                }
            }
            Mark::Stop => {
                if life.stop.is_none() && life.death.is_none() {
                    life.stop = Some(line.number);
                }
            }
            // Uvicorn closes for either reason: it is told to, or the engine is dead.
            Mark::Closing => {
                if life.stop.is_none() && life.death.is_none() && life.ready.is_some() {
                    life.stop = Some(line.number);
                }
            }
            Mark::Answered => {
                if life.ready.is_none()
                    && grammar.is_none_or(|g| g.answering_is_ready)
                    && life.stop.is_none()
                {
                    Self::became_ready(life, line);
                }
                life.left = None;
                life.answered += 1;
                life.answered_since += 1;
                if life.ready.is_some() && life.death.is_none() {
                    let proves_work =
                        grammar.is_none_or(|g| g.answers_prove_work) && life.answered_since >= 2;
                    life.outlive(|seen| {
                        proves_work || seen.kind.after_ready == AfterReady::OnlyIfItDied
                    });
                }
            }
            Mark::ServerError => life.answered_since = 0,
            Mark::None => {}
        }
    }

    fn became_ready(life: &mut Life, line: &Line<'_>) {
        life.ready = Some(line.number);
        let before = life.seen.len();
        // Of two servers in one log, the one that is ready does not make up for the dead one.
        life.dead.retain(|dead| *dead != line.writers && life.engines.contains(dead));
        life.seen.retain(|seen| life.dead.contains(&seen.writers));
        life.passed_before_ready += (before - life.seen.len()) as u64;
        life.death = None;
        life.wrapper = None;
        life.started = true;
    }

    /// Ordinary words of a start: which stage it is in, and that its process lives.
    fn progress(&mut self, line: &Line<'_>, process: &str, grammar: Option<&'static Grammar>) {
        let text = line.text.as_ref();
        if line.level == Some(Level::Error) || text.contains("rror") || text.contains("ailed") {
            return;
        }
        let Some((_, stage)) =
            grammar.and_then(|g| g.stages.iter().find(|(words, _)| text.contains(words)))
        else {
            return;
        };
        let now = &self.now;
        let over = now.death.is_some() || now.stop.is_some() || now.left.is_some();
        // A server that had not begun is another one, and not the dead one's next life.
        let again = now.engines.is_empty() || now.engines.contains(&line.writers);
        if *stage == Stage::Configuration && over && again {
            let ended = std::mem::take(&mut self.now);
            if self.lives.len() < MAX_LIVES {
                self.lives.push(ended);
            }
        }
        self.now.started = true;
        self.now.writers.clone_from(&line.writers);
        note(&mut self.now.engines, &line.writers);
        self.now.stage = Some(*stage);
        self.now.stage_line = line.number;
        for seen in &mut self.now.seen {
            if seen.process == process && !seen.serving && seen.line < line.number {
                seen.superseded = true;
            }
        }
    }

    /// Numbers and lists that belong to a candidate stand on the lines after it.
    fn extend_tail(&mut self, line: &Line<'_>, process: &str) {
        if self.tail_of.as_deref() != Some(process) {
            return;
        }
        if line.level.is_some_and(|level| level != Level::Error) {
            self.tail_of = None;
            return;
        }
        if line.text.trim().is_empty() {
            return;
        }
        for seen in self.now.seen.iter_mut().rev().take(MAX_OF_A_KIND) {
            if seen.process == process && seen.tail.len() < MAX_TAIL && seen.last_line < line.number
            {
                seen.tail.push(line.text.chars().take(400).collect());
            }
        }
    }

    /// Keeps the line when it may be the cause.
    fn error(&mut self, line: &Line<'_>, process: String, exception: Option<Exception>) {
        let text = line.text.as_ref();
        if exception.is_none() && ERROR_WORDS.as_ref().is_some_and(|words| !words.is_match(text)) {
            return;
        }
        if jit::BUILDS.iter().any(|words| text.contains(words)) {
            self.building = true;
            self.attention = ATTENTION_LINES;
        }
        let serving = self.now.ready.is_some();
        let is_request = serving && noise::is_request(text);
        let seen = Seen {
            rank: usize::MAX,
            kind: &scheduler::UNCLASSIFIED,
            pattern: None,
            line: line.number,
            last_line: line.number,
            text: text.chars().take(MAX_TEXT).collect(),
            tail: Vec::new(),
            exception,
            stage: self.now.stage,
            process,
            writers: line.writers.clone(),
            serving,
            count: 1,
            superseded: false,
            peer_gone: false,
        };
        let quiet = line.level.is_some_and(|level| level < Level::Error);
        let known = self.keep_known(text, &seen, quiet, is_request);
        if text.contains("ninja: build stopped") {
            self.building = false;
        }
        if is_request {
            self.now.refused += 1;
        } else if noise::is_wrapper(text) {
            if self.now.wrapper.is_none() && !quiet {
                self.now.wrapper = Some((line.number, shorten(text, 160)));
            }
        } else if !known && seen.exception.as_ref().is_some_and(|e| is_news(line.level, e)) {
            self.keep_unknown(Seen { peer_gone: noise::is_peer_gone(text), ..seen });
        }
    }

    /// Keeps the line as each kind that knows its words where it stands. False: none does.
    fn keep_known(&mut self, text: &str, seen: &Seen, quiet: bool, is_request: bool) -> bool {
        let Some(catalogue) = CATALOGUE.as_ref() else { return false };
        let mut known = false;
        for (at, pattern) in catalogue.patterns.matches(text) {
            let Some(rank) = catalogue.ranks.get(at) else { continue };
            let Some(kind) = catalogue.kinds.get(*rank) else { continue };
            let counts = match kind.needs {
                Needs::Nothing => true,
                Needs::Loud => !quiet,
                Needs::Build => self.building && !quiet,
            };
            if !counts || (is_request && kind.after_ready == AfterReady::OnlyIfItDied) {
                continue;
            }
            known = true;
            self.keep(Seen { rank: *rank, kind, pattern: Some(pattern), ..seen.clone() });
        }
        known
    }

    /// Keeps an exception that no kind knows, under the loop that it ended.
    fn keep_unknown(&mut self, mut seen: Seen) {
        let (Some(catalogue), Some(exception)) = (CATALOGUE.as_ref(), &seen.exception) else {
            return;
        };
        seen.kind = scheduler::loop_of(&exception.header).unwrap_or(&scheduler::UNCLASSIFIED);
        let rank = catalogue.kinds.iter().position(|kind| std::ptr::eq(*kind, seen.kind));
        seen.rank = rank.unwrap_or(catalogue.kinds.len());
        // Of a chain without a known cause, the last exception says most.
        self.now.seen.retain(|old| {
            !(old.is_unclassified()
                && old.exception.as_ref().is_some_and(|e| e.chain == exception.chain))
        });
        self.keep(seen);
    }

    fn keep(&mut self, seen: Seen) {
        self.attention = ATTENTION_LINES;
        self.tail_of = Some(seen.process.clone());
        let life = &mut self.now;
        life.started = true;
        life.answered_since = 0;
        let mut same = life
            .seen
            .iter_mut()
            .filter(|old| std::ptr::eq(old.kind, seen.kind) && old.serving == seen.serving);
        if let Some(first) = same.next() {
            let others = same.count();
            // The same line seen by two patterns of one kind is one sighting.
            if first.last_line == seen.line {
                return;
            }
            first.count += 1;
            first.last_line = seen.line;
            if first.is_wait() {
                // The last says how long it has been.
                first.text = seen.text;
                return;
            }
            if others + 1 >= MAX_OF_A_KIND {
                return;
            }
        }
        if life.seen.len() < MAX_SEEN {
            life.seen.push(seen);
        }
    }
}

/// Adds a container to a short list.
fn note(list: &mut Vec<Vec<String>>, writers: &[String]) {
    if list.len() < MAX_LIVES && !list.iter().any(|known| known == writers) {
        list.push(writers.to_vec());
    }
}

/// Whether an exception in a line of this level may be a cause. A warning that only names one says
/// what was done without, and nobody reports the end of a server as information.
fn is_news(level: Option<Level>, exception: &Exception) -> bool {
    match level {
        Some(Level::Debug | Level::Info) => false,
        Some(Level::Warning) => !exception.frames.is_empty(),
        Some(Level::Error) | None => true,
    }
}

impl History {
    /// What became of the server.
    pub(crate) fn conclude(&self, aside: &Aside, engine: Option<&'static str>) -> Conclusion {
        let nothing = Aside::default();
        // What stands beside the log is about its last life.
        let earlier = || self.earlier.iter().map(|life| (life, life.failure(&nothing, engine)));
        let lives = || self.earlier.iter().chain(std::iter::once(&self.last));
        let of_last = self.last.failure(aside, engine);
        // A crash while serving stays one, whatever was started afterwards.
        let crashed =
            earlier().find_map(|(_, failure)| failure.filter(|f| f.phase == Phase::Serving));
        let outcome = match (crashed.or(of_last), self.last.ready) {
            (Some(failure), _) => Outcome::Failed(failure),
            (None, Some(_)) => Outcome::Ready,
            // A restart that the log does not follow to its end: the failure before it stands.
            (None, None) => match earlier().filter_map(|(_, failure)| failure).next_back() {
                Some(failure) => Outcome::Failed(failure),
                None if lives().any(|life| life.started || life.stop.is_some()) => {
                    Outcome::NotReady { stage: self.last.stage }
                }
                None => Outcome::Silent,
            },
        };
        Conclusion {
            outcome,
            ready_line: lives().find_map(|life| life.ready),
            passed_before_ready: lives().map(|life| life.passed_before_ready).sum(),
            outlived: lives().map(|life| life.outlived).sum(),
            refused: lives().map(|life| life.refused).sum(),
            worked: lives().any(|life| life.worked),
            answered: lives().map(|life| life.answered).sum(),
            stopped_line: self.last.stop,
        }
    }
}

impl Life {
    /// Work after an error: the errors `of` allows were outlived.
    fn outlive(&mut self, of: impl Fn(&Seen) -> bool) {
        let before = self.seen.len();
        self.seen.retain(|seen| !(seen.serving && of(seen)));
        self.outlived += (before - self.seen.len()) as u64;
    }

    /// The failure of this life, if it failed.
    fn failure(&self, aside: &Aside, engine: Option<&'static str>) -> Option<Failure> {
        let exit = aside.exit.filter(|_| self.stop.is_none() && !aside.asked_to_stop());
        let ended_badly = exit.is_some_and(|code| code != 0);
        let died = self.death.is_some() || self.left.is_some() || ended_badly;
        let mut open: Vec<&Seen> =
            self.seen.iter().filter(|seen| self.stop.is_none_or(|stop| seen.line < stop)).collect();
        if self.ready.is_some() {
            open.retain(|seen| {
                let beside = !seen.serving && self.dead.contains(&seen.writers);
                died || beside
                    || seen.kind.after_ready == AfterReady::Fatal
                    || self.never_listened(seen)
            });
        }
        let cause = self.choose(&open, aside);
        let phase = match (self.ready, cause) {
            (None, _) => Phase::Boot,
            (Some(_), Some(cause)) if !cause.serving || self.never_listened(cause) => Phase::Boot,
            (Some(_), _) => Phase::Serving,
        };
        if let Some(cause) = cause {
            let next = self.seen.iter().find(|s| {
                s.line > cause.line && s.process == cause.process && s.exception.is_some()
            });
            return Some(tell(cause, next, phase, aside, engine));
        }
        self.untold(phase, aside, exit)
    }

    /// A bind that fails after the framework called itself ready, before anybody was answered.
    fn never_listened(&self, seen: &Seen) -> bool {
        seen.serving
            && self.answered == 0
            && port::KINDS.iter().any(|kind| kind.name == seen.kind.name)
    }

    fn choose<'s>(&self, open: &[&'s Seen], aside: &Aside) -> Option<&'s Seen> {
        let xid = aside.kernel.as_ref().is_some_and(|kernel| kernel.xid.is_some());
        let oom = aside.kernel.as_ref().is_some_and(|kernel| kernel.oom.is_some());
        let class = |seen: &Seen| -> u8 {
            let said_before = |max: u8| {
                open.iter().any(|other| {
                    other.line < seen.line
                        && !other.is_kill()
                        && !other.is_crash()
                        && !other.superseded
                        && !other.is_wait()
                        && !other.peer_gone
                        && !other.in_thread()
                        && (max > 0 || !other.is_unclassified())
                })
            };
            if seen.is_wait() {
                return 9;
            }
            if seen.peer_gone {
                return 7;
            }
            if seen.is_kill() {
                // Launchers kill what is left after any other cause.
                return if said_before(u8::from(!oom)) { 8 } else { 0 };
            }
            if seen.is_crash() && said_before(1) {
                return 6;
            }
            match (seen.is_unclassified(), seen.in_thread()) {
                (false, false) => 0,
                (false, true) => 2,
                (true, false) => 3,
                (true, true) => 4,
            }
        };
        let waited = |seen: &Seen| {
            seen.count >= if seen.kind.name == "placement_group_wait" { 2 } else { 3 }
                && seen.last_line > self.stage_line
        };
        open.iter()
            .copied()
            .filter(|seen| !seen.is_wait() || (self.ready.is_none() && waited(seen)))
            .min_by_key(|seen| {
                let xid_first = xid && seen.kind.name == cuda::XID.name;
                (!xid_first, seen.superseded, class(seen), seen.rank, seen.line)
            })
    }

    /// A life that ended although no line says why.
    fn untold(&self, phase: Phase, aside: &Aside, exit: Option<i32>) -> Option<Failure> {
        let doing = match (phase, self.stage) {
            (Phase::Boot, Some(stage)) => format!(" while {}", stage.doing()),
            (Phase::Boot, None) => " before it was ready".to_owned(),
            (Phase::Serving, _) => " while serving".to_owned(),
        };
        let Guess { kind, message, line } = self
            .killed(aside, &doing)
            .or_else(|| self.died(phase, &doing))
            .or_else(|| by_signal(exit?, &doing))
            .or_else(|| self.ended(exit, &doing))?;
        Some(Failure {
            kind,
            phase,
            message: shorten(&message, MAX_MESSAGE_CHARS),
            line,
            stage: self.stage.filter(|_| phase == Phase::Boot),
            process: None,
            exception: None,
        })
    }

    /// Killed before it could say anything.
    fn killed(&self, aside: &Aside, doing: &str) -> Option<Guess> {
        if !aside.killed() || self.stop.is_some() || self.death.is_some() {
            return None;
        }
        let oom = aside.kernel.as_ref().and_then(|kernel| kernel.oom.as_ref());
        Some(match oom {
            Some(oom) => Guess::new(
                host::KILLED.name,
                format!(
                    "the server was killed{doing} (SIGKILL, exit status 137) by the kernel's OOM killer: {}; the host ran out of memory",
                    shorten(oom, 110)
                ),
                None,
            ),
            None => Guess::new(
                "killed",
                format!(
                    "the server was killed{doing} (SIGKILL, exit status 137): by the host's OOM killer or by somebody outside; dmesg and the orchestrator's events tell which"
                ),
                None,
            ),
        })
    }

    /// Somebody says that it died, and not why.
    fn died(&self, phase: Phase, doing: &str) -> Option<Guess> {
        let unknown = |said: String, line| {
            let message = format!("{said}; look at the stderr of every rank, and at dmesg");
            Some(Guess::new("root_cause_not_in_log", message, Some(line)))
        };
        let before_stop = |(line, _): &&(u64, String)| self.stop.is_none_or(|stop| *line < stop);
        if let Some((line, wrapper)) = self.wrapper.as_ref().filter(before_stop) {
            let who = match phase {
                Phase::Boot => "a server process died during start-up",
                Phase::Serving => "the engine died while serving",
            };
            let only = shorten(wrapper, 120);
            let said =
                format!("{who}, but the root cause is not in the log: it holds only '{only}'");
            return unknown(said, *line);
        }
        if let Some(line) = self.death {
            let message = format!(
                "the engine died{doing}, but the root cause is not in the log: look at the stderr of every rank, and at dmesg"
            );
            return Some(Guess::new("root_cause_not_in_log", message, Some(line)));
        }
        let (line, end) = self.left.as_ref().filter(before_stop)?;
        let only = shorten(end, 120);
        let said = format!(
            "the server process ended{doing}, but the root cause is not in the log: it holds only '{only}'"
        );
        unknown(said, *line)
    }

    /// It ended, and nothing tells more than that.
    fn ended(&self, exit: Option<i32>, doing: &str) -> Option<Guess> {
        match (exit, self.ready, self.stop) {
            (Some(code), ..) if code != 0 => Some(Guess::new(
                "exited",
                format!(
                    "the server exited with status {code}{doing}, and the root cause is not in the log"
                ),
                None,
            )),
            (Some(_), None, _) => Some(Guess::new(
                "exited",
                "the server exited with status 0 before it was ready, and the root cause is not in the log"
                    .to_owned(),
                None,
            )),
            (_, None, Some(line)) => Some(Guess::new(
                "stopped_before_ready",
                format!(
                    "the server was stopped from outside{doing}, before it was ready: a start-up limit shorter than the start?"
                ),
                Some(line),
            )),
            _ => None,
        }
    }
}

/// What an end that no line explains is taken for.
struct Guess {
    kind: &'static str,
    message: String,
    /// The line that shows the end.
    line: Option<u64>,
}

impl Guess {
    fn new(kind: &'static str, message: String, line: Option<u64>) -> Self {
        Self { kind, message, line }
    }
}

/// A signal that a process ends by of itself, as its exit status tells it.
fn by_signal(exit: i32, doing: &str) -> Option<Guess> {
    let (kind, what) = match exit {
        139 | -11 => ("segmentation_fault", "crashed in native code (SIGSEGV"),
        135 | -7 => ("bus_error_shm", "met a bus error, as a rule a full /dev/shm (SIGBUS"),
        134 | -6 => ("native_abort", "gave up in native code (SIGABRT"),
        136 | -8 => ("native_abort", "divided by zero in native code (SIGFPE"),
        132 | -4 => ("illegal_instruction", "met an instruction this CPU lacks (SIGILL"),
        _ => return None,
    };
    let message =
        format!("the server {what}, exit status {exit}){doing}; the log says nothing about it");
    Some(Guess::new(kind, message, None))
}

fn tell(
    seen: &Seen,
    next: Option<&Seen>,
    phase: Phase,
    aside: &Aside,
    engine: Option<&'static str>,
) -> Failure {
    static ANY: Pattern = Pattern::new("^");
    let xid = aside.kernel.as_ref().and_then(|kernel| kernel.xid.as_deref());
    let hardware = xid.filter(|_| cuda::KINDS.iter().any(|kind| kind.name == seen.kind.name));
    let (kind, text, pattern) = match hardware {
        Some(line) => (XID_KIND, line, &cuda::XID_LINE),
        None => (seen.kind, seen.text.as_str(), seen.pattern.unwrap_or(&ANY)),
    };
    let told = Told {
        text,
        tail: &seen.tail,
        exception: seen.exception.as_ref(),
        next: next.and_then(|seen| seen.exception.as_ref()),
        engine,
        stage: seen.stage,
        serving: seen.serving,
        count: seen.count,
        pattern,
        aside,
    };
    let process = seen
        .process
        .rsplit_once(" pid=")
        .map_or(seen.process.as_str(), |(name, _)| name.rsplit(' ').next().unwrap_or(name))
        .trim();
    let mut place = vec![format!("line {}", seen.line)];
    if !process.is_empty()
        && process.len() < 32
        && !matches!(process, "APIServer" | "EngineCore" | "MainProcess")
    {
        place.push(process.to_owned());
    }
    match (phase, seen.stage) {
        (Phase::Serving, _) => place.push("while serving".to_owned()),
        (Phase::Boot, Some(stage)) => place.push(format!("while {}", stage.doing())),
        (Phase::Boot, None) => {}
    }
    let place = format!(" [{}]", place.join(", "));
    let body =
        shorten(&(kind.tell)(&told), MAX_MESSAGE_CHARS.saturating_sub(place.chars().count()));
    Failure {
        kind: kind.refine.map_or(kind.name, |refine| refine(&told)),
        phase,
        message: format!("{body}{place}"),
        line: Some(seen.line),
        stage: seen.stage,
        process: (!seen.process.is_empty()).then(|| seen.process.clone()),
        exception: seen.exception.as_ref().map(|e| e.class.clone()),
    }
}

const XID_KIND: &Kind = &cuda::XID;

/// Words worth reading a line for while a server starts or is in doubt: whatever an error is told
/// with. [`serving_words`] is the part that matters once it serves.
pub(crate) fn watched_words() -> impl Iterator<Item = &'static str> {
    const WORDS: &[&str] = &[
        "POST /",
        "Waiting",
        "waiting",
        "Free memory",
        "not found",
        "No module",
        "loading traceback]",
        "Exit code",
        "exit code",
        "does not",
        "must be",
        "must have",
        "not supported",
        "unsupported",
        "Unsupported",
        "not divisible",
        "cannot",
        "Cannot",
        "could not",
        "Could not",
        "couldn't",
        "Unable to",
        "unable to",
        "unknown",
        "in use",
        "capability",
        "is required",
        "greater than",
        "larger than",
        "Invalid",
        "invalid",
        "  File \"",
        "slots",
        "llocate",
        "trust_remote_code",
        "FAILED",
        "undefined reference",
        "VersionConflict",
        "not enough",
        "an attempt to run",
        "must not be",
        "available block",
        "broadcast block",
        "are already filled",
    ];
    serving_words().chain(WORDS.iter().copied())
}

/// Words that matter whatever the server is doing.
pub(crate) fn serving_words() -> impl Iterator<Item = &'static str> {
    const WORDS: &[&str] = &[
        "rror",
        "xception",
        "Traceback",
        "Killed",
        "killed",
        "atal",
        "FATAL",
        "out of memory",
        "OOM",
        "oom",
        "atchdog",
        "imed out",
        "Timeout",
        "ailed",
        "died",
        "SIG",
        "ignal",
        "panicked",
        "what():",
        "Assertion",
        "GGML_ASSERT",
        "Illegal instruction",
        "oating point exception",
        "NCCL WARN",
        "Segmentation",
        "core dumped",
        "Bus error",
        "Hang detected",
        "Xid",
        "fallen off the bus",
        "PRTE",
        "No space left",
        "ermission denied",
        "undefined symbol",
        "GLIBC",
        "kill_process_tree",
        "illegal",
        "xited with",
        "; not expected)",
        "process exited",
        "Exit Code",
        "HangDetector",
        "ERROR",
        "ompatible",
        "access fault",
        "deadlock",
        "bind",
    ];
    WORDS.iter().copied().chain(life::end_words())
}
