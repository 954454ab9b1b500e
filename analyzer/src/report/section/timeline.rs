//! The run over time: requests, and the KV cache.

use super::{View, heading};
use crate::engine::Signal;
use crate::evidence::{Group, Point, Restarted, Run, Scope, Track, ns};
use crate::number;
use crate::report::chart::{
    Chart, Event, LINES, Level, Line, Mark, Sample, Unit, Window, broken_at, holes,
};
use crate::report::shown::Shown;
use maud::{Markup, html};
use std::ops::Range;

/// Share of the load's length that is drawn before and after it.
const MARGIN: f64 = 0.04;

/// The charts of one load point. `room`: bytes that charts may still take in the page.
pub(in crate::report) fn section(view: &View<'_>, room: &mut usize) -> Markup {
    let (Some(run), Some(point)) = (view.run, view.point) else { return html! {} };
    part(run, &[point], &view.key, view.level, "Over time", room)
}

/// The charts of a run with several load points, all on one time axis.
pub(in crate::report) fn overview(run: &Run, key: &str, room: &mut usize) -> Markup {
    let points: Vec<&Point> = run.points.iter().collect();
    part(run, &points, key, 2, "The whole run over time", room)
}

fn part(
    run: &Run,
    points: &[&Point],
    key: &str,
    level: u8,
    title: &str,
    room: &mut usize,
) -> Markup {
    let id = format!("{key}-time");
    html! {
        section aria-labelledby=(id) {
            (heading(level, Some(&id), title))
            @for (g, group) in run.groups().iter().enumerate() {
                @match Strip::of(run, points, group) {
                    Ok(strip) => {
                        @for chart in strip.charts(&format!("{key}-g{g}")) { (fitting(&chart, level + 1, room)) }
                    }
                    Err(why) => p.hole { "No chart: " (Shown::new(&why)) "." },
                }
            }
        }
    }
}

/// The figure, if the page has room for it.
fn fitting(chart: &Chart, level: u8, room: &mut usize) -> Markup {
    let figure = chart.figure(level);
    let Some(left) = room.checked_sub(figure.0.len()) else {
        return html! {
            p.hole { "The chart “" (chart.title) "” is left out: the page would grow too large." }
        };
    };
    *room = left;
    figure
}

/// One group of replicas over a stretch of time.
struct Strip<'a> {
    run: &'a Run,
    points: &'a [&'a Point],
    group: &'a Group,
    /// Where each load point's load begins and ends, ns; `None` where that is not known.
    loads: Vec<Option<(i64, i64)>>,
    /// The instant that is 0 on the axis, ns.
    zero: i64,
    /// First and last instant drawn, ns.
    span: (i64, i64),
    /// The readings that the gauges of requests had.
    running: Track,
}

impl<'a> Strip<'a> {
    /// Err: why there is nothing to draw.
    fn of(run: &'a Run, points: &'a [&'a Point], group: &'a Group) -> Result<Self, String> {
        let mut sources = group.sources.iter().filter_map(|&i| run.sources.get(i));
        if sources.any(|source| !source.timed && source.summed.is_none()) {
            return Err("the readings carry no times".into());
        }
        let running = whole(run, group, points, Signal::Running)?;
        let (Some(&first), Some(&last)) = (running.times.first(), running.times.last()) else {
            return Err("no reading has a time".into());
        };
        // A server that died is not read to the end, but the recorder goes on to say so.
        let said = run.account.iter().flat_map(|account| &account.gaps);
        let last = said.map(|gap| ns(gap.to_t)).fold(last, i64::max);
        let load = |point: &&Point| {
            let scope = Scope { run, point, group };
            let (begin, end) = point.command.or_else(|| super::at_work(&scope))?;
            // A load whose end was not recorded goes on to the last reading.
            Some((begin, end.min(last)))
        };
        let loads: Vec<Option<(i64, i64)>> = points.iter().map(load).collect();
        let begin = loads.iter().flatten().map(|load| load.0).min().unwrap_or(first);
        let end = loads.iter().flatten().map(|load| load.1).max().unwrap_or(last);
        let seen = |load: &(i64, i64)| running.times.iter().any(|t| (load.0..=load.1).contains(t));
        // Readings before and after would be drawn as if nothing had run in between.
        if loads.iter().flatten().next().is_some() && !loads.iter().flatten().any(seen) {
            return Err("no reading lies inside the load".into());
        }
        let margin = (end.saturating_sub(begin) as f64 * MARGIN) as i64;
        let span = (begin.saturating_sub(margin).max(first), end.saturating_add(margin).min(last));
        if span.0 >= span.1 {
            return Err("no reading lies inside the load".into());
        }
        Ok(Self { run, points, group, loads, zero: begin, span, running })
    }

    fn seconds(&self, t: i64) -> f64 {
        t.saturating_sub(self.zero) as f64 / 1e9
    }

    fn stretch(&self, ns: (i64, i64)) -> (f64, f64) {
        (self.seconds(ns.0), self.seconds(ns.1))
    }

    fn charts(&self, key: &str) -> Vec<Chart> {
        let requests = self.requests(format!("{key}-requests"));
        std::iter::once(requests).chain(self.cache(format!("{key}-cache"))).collect()
    }

    fn requests(&self, id: String) -> Chart {
        let mut lines = vec![self.line("running", 0, &self.running, &self.running.total())];
        let waiting = whole(self.run, self.group, self.points, Signal::Waiting).ok();
        if let Some(waiting) = &waiting {
            lines.push(self.line("waiting", 1, waiting, &waiting.total()));
        }
        let queued = waiting.map_or(String::new(), |waiting| format!(" and {}", waiting.metric));
        let about = format!(
            "Requests the server worked on and requests in its queue: {}{queued} at each of {}{}.{}",
            self.running.metric,
            number::plural(self.drawn(&self.running).len() as f64, "reading"),
            self.interval(),
            self.caution(),
        );
        Chart { levels: self.levels(), ..self.frame(id, "Requests", about, Unit::Requests, lines) }
    }

    /// The KV cache in use, a line a replica. `None`: no gauge of it.
    fn cache(&self, id: String) -> Option<Chart> {
        let usage = whole(self.run, self.group, self.points, Signal::KvUsage).ok()?;
        let lines = match usage.replicas.as_slice() {
            [(_, only)] => vec![self.line("in use", 0, &usage, only)],
            several if several.len() <= LINES.len() => several
                .iter()
                .enumerate()
                .map(|(i, (name, values))| self.line(name, i, &usage, values))
                .collect(),
            _ => vec![
                self.line("fullest replica", 0, &usage, &across(&usage, f64::max)),
                self.line("emptiest replica", 1, &usage, &across(&usage, f64::min)),
            ],
        };
        let about = format!(
            "Share of the KV cache that requests hold: {}.{}",
            usage.metric,
            self.caution()
        );
        Some(self.frame(id, "KV cache", about, Unit::Share, lines))
    }

    /// What all charts of the strip have in common.
    fn frame(
        &self,
        id: String,
        title: &'static str,
        about: String,
        unit: Unit,
        lines: Vec<Line>,
    ) -> Chart {
        let named = self.points.len() > 1;
        let windows = self.points.iter().zip(&self.loads).filter_map(|(point, load)| {
            let name = point.name.as_deref().filter(|_| named).map(Shown::name);
            Some(Window { name: name.unwrap_or_default(), span: self.stretch((*load)?) })
        });
        Chart {
            id,
            title,
            about,
            unit,
            origin: match self.loads.iter().flatten().count() {
                0 => "the first reading",
                1 => "the load began",
                _ => "the first load began",
            },
            span: self.stretch(self.span),
            lines,
            levels: Vec::new(),
            windows: windows.collect(),
            gaps: self.gaps(),
            marks: self.preemptions(),
            mark: self.run.engine.map_or("preemption", |engine| engine.preemption),
            events: self.restarts(),
        }
    }

    /// When nothing was read: as the recorder says, and as the readings show.
    fn gaps(&self) -> Vec<(f64, f64)> {
        let of_group = |src: u32| self.group.sources.contains(&(src as usize));
        let said = self.run.account.iter().flat_map(|account| &account.gaps);
        said.filter(|gap| gap.to_t > gap.from_t && gap.src.is_none_or(of_group))
            .map(|gap| (self.seconds(ns(gap.from_t)), self.seconds(ns(gap.to_t))))
            .chain(holes(&self.times(&self.running)))
            .filter(|&(from, to)| {
                to > self.seconds(self.span.0) && from < self.seconds(self.span.1)
            })
            .collect()
    }

    /// The readings that are drawn: those inside, and one on each side.
    fn drawn(&self, track: &Track) -> Range<usize> {
        let from = track.times.partition_point(|&t| t < self.span.0).saturating_sub(1);
        let to = track.times.partition_point(|&t| t <= self.span.1) + 1;
        from..to.min(track.times.len()).max(from)
    }

    fn times(&self, track: &Track) -> Vec<f64> {
        track.times.iter().map(|&t| self.seconds(t)).collect()
    }

    fn line(&self, name: &str, look: usize, track: &Track, values: &[Option<f64>]) -> Line {
        let drawn = self.drawn(track);
        let times: Vec<f64> = self.times(track).drain(drawn.clone()).collect();
        let values = values.get(drawn).unwrap_or_default();
        let samples: Vec<Sample> = times.iter().copied().zip(values.iter().copied()).collect();
        Line {
            name: Shown::name(name),
            class: LINES.get(look).copied().unwrap_or_default(),
            samples: broken_at(&samples, &holes(&times)),
        }
    }

    /// How many requests each load asked for, and the server's own limit.
    fn levels(&self) -> Vec<Level> {
        let asked = self.points.iter().zip(&self.loads).filter_map(|(point, load)| {
            let asked = Scope { run: self.run, point, group: self.group }.requested()?;
            let span = self.stretch(load.unwrap_or(self.span));
            Some(Level { name: "asked for", class: "level", value: asked.at_once, span })
        });
        let mut levels: Vec<Level> = asked.collect();
        let highest = levels.iter().map(|level| level.value).fold(0.0, f64::max);
        let limit = self.run.running_limit.as_ref().map(|limit| limit.requests);
        // A limit far above everything else would flatten the chart, and limits nothing; one at what
        // was asked for would hide it.
        let asked = levels.iter().any(|level| Some(level.value) == limit);
        if let Some(value) = limit.filter(|limit| *limit <= 1.5 * highest && !asked) {
            let span = self.stretch(self.span);
            levels.push(Level { name: "server's limit", class: "limit", value, span });
        }
        levels
    }

    /// Where the counter of preemptions moved, and by how many.
    fn preemptions(&self) -> Vec<Mark> {
        let Ok(track) = whole(self.run, self.group, self.points, Signal::Preemptions) else {
            return Vec::new();
        };
        let totals = track.total();
        let pairs = totals.iter().zip(totals.iter().skip(1)).zip(track.times.iter().skip(1));
        pairs
            .filter(|(_, t)| (self.span.0..=self.span.1).contains(*t))
            .filter_map(|((before, after), &t)| {
                let count = (*after)? - (*before)?;
                (count > 0.0).then(|| Mark { t: self.seconds(t), count })
            })
            .collect()
    }

    fn restarts(&self) -> Vec<Event> {
        let scopes =
            self.points.iter().map(|point| Scope { run: self.run, point, group: self.group });
        let restarts = scopes.flat_map(|scope| scope.restarts());
        restarts
            .filter_map(|(_, restarted)| match restarted {
                Restarted::Yes(restart) => restart.at,
                _ => None,
            })
            .map(|t| Event { t: self.seconds(t), name: "server restarted" })
            .collect()
    }

    /// Why the lines do not show the moment they stand at, for engines where they do not.
    fn caution(&self) -> String {
        let lag = self.run.engine.and_then(|engine| engine.gauges_lag);
        lag.map_or(String::new(), |reason| format!(" Read with care: {reason}."))
    }

    /// `, one each 0.25 s`, where readings are regular enough to say so.
    fn interval(&self) -> String {
        let sources = self.group.sources.iter().filter_map(|&i| self.run.sources.get(i));
        let mut intervals =
            sources.filter_map(|source| source.summed.as_ref().unwrap_or(&source.full).interval());
        intervals.next().map_or(String::new(), |interval| {
            format!(
                ", one each {}",
                number::seconds(interval, if interval < 1_000_000_000 { 2 } else { 1 })
            )
        })
    }
}

/// A signal over the whole recording, not only inside the load.
fn whole(run: &Run, group: &Group, points: &[&Point], signal: Signal) -> Result<Track, String> {
    let edges = points.first().map(|point| point.edges.clone()).unwrap_or_default();
    let point = Point { edges, ..Point::default() };
    Scope { run, point: &point, group }.track(signal).map_err(|missing| missing.what)
}

/// One value a sample over all replicas; absent where one of them is.
fn across(track: &Track, pick: fn(f64, f64) -> f64) -> Vec<Option<f64>> {
    let value = |i: usize, r: usize| track.at(r, i);
    (0..track.times.len())
        .map(|i| {
            let mut values = (0..track.replicas.len()).map(|r| value(i, r));
            values.next()?.and_then(|first| values.try_fold(first, |a, b| Some(pick(a, b?))))
        })
        .collect()
}
