//! What happened at one load point: a paragraph and its headline figures.

use super::{View, at_work, duration, heading};
use crate::engine::Signal;
use crate::evidence::{Group, Run, Scope, Track};
use crate::finding::{Finding, Status};
use crate::number::{count, grouped, percent, plural};
use crate::report::shown::Shown;
use maud::{Markup, html};
use serde_json::Value;

/// The paragraph and the tiles of one view.
pub(in crate::report) fn section(view: &View<'_>) -> Markup {
    let (Some(run), Some(point)) = (view.run, view.point) else { return html! {} };
    let id = format!("{}-happened", view.key);
    html! {
        section aria-labelledby=(id) {
            (heading(view.level, Some(&id), "What happened"))
            @for group in &run.groups() {
                @let figures = Figures::of(&Scope { run, point, group });
                (figures.story(run, group))
                (figures.tiles(view))
            }
        }
    }
}

/// The figures of one load point and group of replicas; what is not known is absent.
#[derive(Debug, Default)]
struct Figures {
    requested: Option<f64>,
    /// How long the server was at work, ns.
    length: Option<i64>,
    finished: Option<f64>,
    tokens: Option<f64>,
    peak_running: Option<f64>,
    mean_running: Option<f64>,
    peak_waiting: Option<f64>,
    peak_cache: Option<f64>,
    preemptions: Option<f64>,
    /// What the engine calls a preemption.
    preemption: &'static str,
    /// The gauges do not show the moment they are read at: only their highest values are said.
    lags: bool,
    rejections: Option<f64>,
    /// Output tokens a second while at least one request ran.
    busy_rate: Option<f64>,
    client_rate: Option<f64>,
    ttft_ms: (Option<f64>, Option<f64>),
}

impl Figures {
    fn of(scope: &Scope<'_>) -> Self {
        let engine = scope.engine().ok();
        let total = |signal| scope.counter(signal).ok().map(|counted| counted.total);
        let gauge = |signal| scope.track(signal).ok();
        let highest = |values: &[Option<f64>]| values.iter().flatten().copied().reduce(f64::max);
        let lags = engine.is_some_and(|engine| engine.gauges_lag.is_some());
        let running = gauge(Signal::Running);
        let totals = running.as_ref().map(Track::total).unwrap_or_default();
        // Of a load that the samples do not show whole, only the highest values are said.
        let busy = scope.busy().filter(|seen| seen.missed.is_empty()).map(|seen| seen.busy);
        let waiting = gauge(Signal::Waiting).filter(|_| !lags);
        let cache = gauge(Signal::KvUsage);
        let cache = cache.iter().flat_map(|track| &track.replicas).filter_map(|(_, v)| highest(v));
        let result = scope.point.result.as_ref();
        let latency = |key: &str| result.and_then(|r| r.latencies.get(key)).copied();
        let tokens = total(Signal::GenerationTokens);
        Self {
            requested: scope.requested().map(|asked| asked.at_once),
            length: at_work(scope)
                .filter(|_| busy.is_some())
                .map(|(begin, end)| end.saturating_sub(begin)),
            finished: total(Signal::Finished),
            tokens,
            peak_running: highest(&totals),
            mean_running: busy.map(|busy| busy.mean),
            peak_waiting: waiting.and_then(|track| highest(&track.total())),
            peak_cache: cache.reduce(f64::max),
            preemptions: total(Signal::Preemptions),
            preemption: engine.map_or("preemption", |engine| engine.preemption),
            lags,
            rejections: total(Signal::Rejections).filter(|count| *count > 0.0),
            busy_rate: tokens.zip(busy).map(|(tokens, busy)| tokens / busy.seconds),
            client_rate: result.and_then(|result| {
                Some(result.output_tokens? as f64 / result.duration_s.filter(|s| *s > 0.0)?)
            }),
            ttft_ms: (latency("median_ttft_ms"), latency("p99_ttft_ms")),
        }
    }

    /// What the load asked for, and how long the server had work.
    fn load(&self) -> Option<String> {
        let asked = self.requested.map(|asked| plural(asked, "request"));
        Some(match (asked, self.length.map(duration)) {
            (Some(asked), Some(length)) => {
                format!("The load asked for {asked} at once; the server was at work for {length}.")
            }
            (Some(asked), None) => format!("The load asked for {asked} at once."),
            (None, Some(length)) => format!("The server was at work for {length}."),
            (None, None) => return None,
        })
    }

    fn work(&self) -> Option<String> {
        let finished = self.finished.map(|finished| plural(finished, "request"));
        Some(match (finished, self.tokens.map(|tokens| plural(tokens, "token"))) {
            (Some(finished), Some(tokens)) => {
                format!("The server finished {finished} and generated {tokens}.")
            }
            (Some(finished), None) => format!("The server finished {finished}."),
            (None, Some(tokens)) => format!("The server generated {tokens}."),
            (None, None) => return None,
        })
    }

    fn at_once(&self) -> Option<String> {
        let peak = count(self.peak_running?);
        Some(match self.mean_running {
            _ if self.lags => format!("As many as {peak} were seen admitted at once."),
            Some(mean) => format!(
                "At most {peak} ran at once, {} on average while it was busy.",
                grouped(mean, 1)
            ),
            None => format!("At most {peak} ran at once."),
        })
    }

    fn waiting(&self) -> Option<String> {
        Some(match self.peak_waiting? {
            0.0 => "None was ever seen waiting.".into(),
            waiting => format!("Up to {} waited.", count(waiting)),
        })
    }

    /// Each sentence stands only where its figures are known.
    fn sentences(&self) -> Vec<String> {
        let refused = |refused| format!("It refused {}.", plural(refused, "request"));
        let full =
            |cache| format!("At its fullest, {} of the KV cache was in use.", percent(cache));
        let preempted = self.preemptions.filter(|count| *count > 0.0).map(|preemptions| {
            format!(
                "{} took running requests out of the cache; what they had computed was computed again.",
                plural(preemptions, self.preemption)
            )
        });
        let work = [self.load(), self.work(), self.rejections.map(refused)];
        let state = [self.at_once(), self.waiting(), self.peak_cache.map(full), preempted];
        work.into_iter().chain(state).flatten().collect()
    }

    /// One paragraph.
    fn story(&self, run: &Run, group: &Group) -> Markup {
        let text = self.sentences();
        html! {
            @if text.is_empty() && run.broken_off().is_some() {
                p.story { "No load began: the recording broke off before." }
            } @else if text.is_empty() {
                p.story { "The input does not say what the server did: no metrics were read around the load." }
            } @else {
                p.story {
                    @if let Some(name) = &group.name { strong { (Shown::name(name)) ": " } }
                    (text.join(" "))
                }
            }
        }
    }

    /// The server's rate, and what the load tool says of it.
    fn rate(&self) -> Markup {
        let (value, note) = match (self.busy_rate, self.client_rate) {
            (Some(busy), Some(client)) => {
                (Some(busy), format!("while busy; the load tool says {}", grouped(client, 1)))
            }
            (Some(busy), None) => (Some(busy), "while busy; no figure of the load tool".into()),
            (None, client) => (client, "as the load tool has it".into()),
        };
        tile("Output tokens/s", value.map(|rate| grouped(rate, 1)), None, &note)
    }

    fn tiles(&self, view: &View<'_>) -> Markup {
        let known =
            [self.peak_running, self.preemptions, self.busy_rate, self.ttft_ms.0, self.peak_cache];
        if known.iter().all(Option::is_none) {
            return html! {};
        }
        let number = |f: &&Finding, key: &str| f.evidence.get(key).and_then(Value::as_f64);
        // The gauge counts in blocks out of one less only where the check of that passed.
        let mut passed = view.findings.iter().filter(|finding| finding.status == Status::Pass);
        let blocks = passed.find_map(|finding| number(finding, "num_gpu_blocks"));
        // Where no counter has them, the log may.
        let logged = || view.findings.iter().find_map(|finding| number(finding, "preemptions"));
        let preemptions = self.preemptions.or_else(logged);
        html! {
            dl.tiles {
                (tile(
                    if self.lags { "Admitted at once" } else { "Ran at once" },
                    self.peak_running.map(count),
                    self.requested.map(|asked| format!("of {}", count(asked))),
                    match self.requested { Some(_) => "most seen, of those asked for", None => "most seen" },
                ))
                (tile(&capital(self.preemption), preemptions.map(count), None, "requests computed again"))
                (self.rate())
                (tile("Time to first token", self.ttft_ms.0.map(milliseconds), None, &match self.ttft_ms.1 {
                    Some(p99) => format!("median, as the load tool has it; p99 {}", milliseconds(p99)),
                    None => "median, as the load tool has it".into(),
                }))
                (tile("KV cache in use", self.peak_cache.map(percent), None, &match blocks {
                    Some(blocks) => format!("most seen, of {} usable blocks", count(blocks - 1.0)),
                    None => "most seen".into(),
                }))
            }
        }
    }
}

fn tile(name: &str, value: Option<String>, of: Option<String>, note: &str) -> Markup {
    html! {
        div {
            dt { (name) }
            @match value {
                Some(value) => {
                    dd.figure { (value) @if let Some(of) = of { " " small { (of) } } }
                    dd.note { (note) }
                }
                None => {
                    dd.figure { "—" }
                    dd.note { "not recorded" }
                }
            }
        }
    }
}

/// `preemption` as `Preemptions`.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['s']).collect()
}

/// Milliseconds as `850 ms`, `28.4 s`.
fn milliseconds(ms: f64) -> String {
    if ms < 1000.0 {
        format!("{} ms", grouped(ms, 0))
    } else {
        format!("{} s", grouped(ms / 1000.0, 1))
    }
}
