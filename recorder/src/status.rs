//! What the recorder says on standard error, and the one line it keeps current on a terminal.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Says things on standard error. A closed one is no reason to stop.
#[derive(Debug)]
pub(crate) struct Voice {
    quiet: bool,
    terminal: bool,
    /// The status line stands on the terminal and must be wiped before anything else is said.
    drawn: AtomicBool,
}

impl Voice {
    /// With `quiet` only warnings and errors are said.
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal =
            io::stderr().is_terminal() && can_redraw(std::env::var_os("TERM").as_deref());
        Self { quiet, terminal, drawn: AtomicBool::new(false) }
    }

    /// Whether there is a terminal to keep a status line on.
    pub(crate) fn has_status_line(&self) -> bool {
        self.terminal && !self.quiet
    }

    /// Something to know.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.write(text);
        }
    }

    /// Something that takes away from the recording.
    pub(crate) fn warn(&self, text: &str) {
        self.write(&format!("warning: {text}"));
    }

    /// Why the command ends.
    pub(crate) fn error(&self, error: &crate::error::Error) {
        self.write(&error.to_string());
    }

    /// Puts `line` in place of the status line before it.
    pub(crate) fn status(&self, line: &str) {
        let size = rustix::termios::tcgetwinsize(io::stderr());
        let width = size.map_or(0, |size| usize::from(size.ws_col));
        let width = if width == 0 { 80 } else { width };
        let fitting: String = line.chars().take(width - 1).collect();
        self.drawn.store(true, Ordering::Relaxed);
        let _ = write!(io::stderr(), "\r{fitting}\x1b[K");
    }

    fn write(&self, text: &str) {
        let wipe = if self.drawn.swap(false, Ordering::Relaxed) { "\r\x1b[K" } else { "" };
        let safe: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
        let _ = writeln!(io::stderr(), "{wipe}{safe}");
    }
}

/// Whether a terminal of that name wipes a line when it is told to.
fn can_redraw(term: Option<&OsStr>) -> bool {
    term.is_none_or(|name| name != "dumb")
}

/// Metric names behind a figure, one an engine; the first that is exposed counts.
const RUNNING: &[&str] =
    &["vllm:num_requests_running", "sglang:num_running_reqs", "trtllm_num_requests_running"];
const WAITING: &[&str] =
    &["vllm:num_requests_waiting", "sglang:num_queue_reqs", "trtllm_num_requests_waiting"];
const KV_USE: &[&str] = &[
    "vllm:kv_cache_usage_perc",
    "vllm:gpu_cache_usage_perc",
    "sglang:token_usage",
    "trtllm_kv_cache_utilization",
];
const PREEMPTIONS: &[&str] = &["vllm:num_preemptions_total", "sglang:num_retracted_requests_total"];
/// Counters that move with every piece of work; equal twice means that the server is idle.
const WORK: &[&str] = &[
    "vllm:generation_tokens_total",
    "vllm:request_success_total",
    "sglang:generation_tokens_total",
    "sglang:num_requests_total",
    "trtllm_generation_tokens_total",
    "trtllm_request_success_total",
];

/// What one exposition says of the server's state.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Figures {
    /// Requests running.
    pub(crate) running: Option<f64>,
    /// Requests waiting.
    pub(crate) waiting: Option<f64>,
    /// Fullest KV cache, 0 to 1.
    pub(crate) kv_use: Option<f64>,
    /// Preemptions since the server started.
    pub(crate) preemptions: Option<f64>,
    /// Sum of the work counters.
    pub(crate) work: Option<f64>,
}

impl Figures {
    /// Reads them from an exposition, looking only at the lines that matter.
    pub(crate) fn of(body: &[u8]) -> Self {
        let sum = |names: &[&str]| first(body, names, |a, b| a + b);
        Self {
            running: sum(RUNNING),
            waiting: sum(WAITING),
            kv_use: first(body, KV_USE, f64::max),
            preemptions: sum(PREEMPTIONS),
            work: WORK
                .iter()
                .filter_map(|name| folded(body, name, |a, b| a + b))
                .reduce(|a, b| a + b),
        }
    }

    /// Those of several servers together.
    fn add(self, other: Self) -> Self {
        let both = |a: Option<f64>, b: Option<f64>, f: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(f(a, b)),
            (one, other) => one.or(other),
        };
        let sum = |a: f64, b: f64| a + b;
        Self {
            running: both(self.running, other.running, sum),
            waiting: both(self.waiting, other.waiting, sum),
            kv_use: both(self.kv_use, other.kv_use, f64::max),
            preemptions: both(self.preemptions, other.preemptions, sum),
            work: both(self.work, other.work, sum),
        }
    }
}

fn first(body: &[u8], names: &[&str], fold: fn(f64, f64) -> f64) -> Option<f64> {
    names.iter().find_map(|name| folded(body, name, fold))
}

/// All series of metric `name` folded into one value; `None` when it has none.
pub(crate) fn folded(body: &[u8], name: &str, fold: fn(f64, f64) -> f64) -> Option<f64> {
    let mut rest = body;
    let mut result: Option<f64> = None;
    while let Some(at) = memchr::memmem::find(rest, name.as_bytes()) {
        let starts_line = at == 0 || rest.get(at - 1) == Some(&b'\n');
        let line_end = memchr::memchr(b'\n', rest.get(at..)?).map_or(rest.len(), |len| at + len);
        let line = rest.get(at..line_end)?;
        rest = rest.get(line_end..)?;
        if starts_line && matches!(line.get(name.len()), Some(b'{' | b' ')) {
            let value = value_of(line)?;
            result = Some(result.map_or(value, |so_far| fold(so_far, value)));
        }
    }
    result
}

/// The least value of all series whose metric's name ends with `end`.
pub(crate) fn least_ending(body: &[u8], end: &str) -> Option<f64> {
    let value = |at: usize| {
        let begin = memchr::memrchr(b'\n', body.get(..at)?).map_or(0, |before| before + 1);
        let name = body.get(begin..at + end.len())?;
        let after = body.get(at + end.len())?;
        let is_name = name.iter().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b':'));
        (is_name && matches!(after, b'{' | b' ')).then_some(())?;
        let rest = body.get(begin..)?;
        value_of(rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?)
    };
    memchr::memmem::find_iter(body, end.as_bytes()).filter_map(value).reduce(f64::min)
}

/// The value of a sample line; a label value may hold anything, so it is looked for from the end.
fn value_of(line: &[u8]) -> Option<f64> {
    let labels_end = line.iter().rposition(|b| *b == b'}').map_or(0, |at| at + 1);
    let text = std::str::from_utf8(line.get(labels_end..)?).ok()?;
    let mut words = text.split_ascii_whitespace();
    if labels_end == 0 {
        words.next();
    }
    words.next()?.parse().ok()
}

/// What the collectors let others see while they work.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Readings of expositions that succeeded.
    scrapes: AtomicU64,
    /// Time they took together, in ns.
    scrape_dur_ns: AtomicU64,
    /// Somebody looks at the figures: only then are they read.
    watched: AtomicBool,
    /// The last reading of each source that has a part in serving.
    figures: Mutex<BTreeMap<u32, Figures>>,
}

impl Live {
    /// Has the figures read from now on.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// A reading succeeded.
    pub(crate) fn scraped(&self, took: Duration) {
        self.scrapes.fetch_add(1, Ordering::Relaxed);
        self.scrape_dur_ns.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    /// A server, source `src`, exposes `body`.
    pub(crate) fn exposed(&self, src: u32, body: &[u8]) {
        if self.watched.load(Ordering::Relaxed) {
            let figures = Figures::of(body);
            self.figures.lock().unwrap_or_else(PoisonError::into_inner).insert(src, figures);
        }
    }

    /// Readings that succeeded and the time they took, in ns.
    pub(crate) fn scrapes(&self) -> (u64, u64) {
        (self.scrapes.load(Ordering::Relaxed), self.scrape_dur_ns.load(Ordering::Relaxed))
    }

    /// The last figures, all servers together.
    pub(crate) fn figures(&self) -> Figures {
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.values().copied().fold(Figures::default(), Figures::add)
    }

    /// The status line.
    pub(crate) fn line(&self, phase: Option<&str>, elapsed: Duration, bytes: u64) -> String {
        let figures = self.figures();
        let count =
            |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.0}"));
        let percent = figures.kv_use.map_or("?".to_owned(), |use_| format!("{:.0}%", use_ * 100.0));
        let (scrapes, dur_ns) = self.scrapes();
        let each_ms = dur_ns as f64 / 1e6 / scrapes.max(1) as f64;
        let seconds = elapsed.as_secs();
        format!(
            "{} {}:{:02}  running {}  waiting {}  KV {}  preempted {}  scrape {each_ms:.1} ms  {} kB",
            phase.unwrap_or("recording"),
            seconds / 60,
            seconds % 60,
            count(figures.running),
            count(figures.waiting),
            percent,
            count(figures.preemptions),
            bytes / 1_000,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"# HELP vllm:num_requests_running Number\n\
        vllm:num_requests_running{engine=\"0\"} 3.0\n\
        vllm:num_requests_running{engine=\"1\"} 4.0\n\
        vllm:num_requests_waiting{engine=\"0\"} 1.0\n\
        vllm:num_requests_waiting_by_reason{reason=\"vllm:num_requests_waiting\"} 99.0\n\
        vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n\
        vllm:kv_cache_usage_perc{engine=\"1\"} 0.5\n\
        vllm:generation_tokens_total 10\n\
        vllm:request_success_total{finished_reason=\"stop\"} 2\n";

    #[test]
    fn a_dumb_terminal_gets_no_status_line() {
        let can = |name: &str| can_redraw(Some(name.as_ref()));
        assert!(can("xterm-256color") && can("") && can_redraw(None) && !can("dumb"));
    }

    #[test]
    fn figures_are_summed_over_series_and_the_fullest_cache_counts() {
        let figures = Figures::of(BODY);
        assert_eq!(figures.running, Some(7.0));
        assert_eq!(figures.waiting, Some(1.0));
        assert_eq!(figures.kv_use, Some(0.5));
        assert_eq!(figures.work, Some(12.0));
        assert_eq!(figures.preemptions, None, "absent is not zero");
    }

    #[test]
    fn the_status_line_shows_what_is_not_known_as_such() {
        let live = Live::default();
        let line = live.line(None, Duration::from_secs(61), 2_000);
        assert!(line.starts_with("recording 1:01  running ?  waiting ?"), "{line}");
        live.exposed(0, BODY);
        assert_eq!(live.figures(), Figures::default(), "nobody looks");
        live.watch();
        for (src, ms) in [(0, 4), (1, 6)] {
            live.scraped(Duration::from_millis(ms));
            live.exposed(src, BODY);
        }
        let line = live.line(Some("c=32"), Duration::from_secs(5), 2_000);
        assert_eq!(
            line,
            "c=32 0:05  running 14  waiting 2  KV 50%  preempted ?  scrape 5.0 ms  2 kB"
        );
    }
}
