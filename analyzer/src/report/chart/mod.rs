//! Charts over time: each is one function from data to a figure.
//!
//! A figure holds the chart drawn at two sizes, of which the stylesheet shows the one that fits, a
//! legend that is also the read-out under the pointer, and the same data as a folded table.

mod draw;
mod reduce;
mod scale;
mod svg;

pub(super) use reduce::{Sample, broken_at, holes};

use super::section::heading;
use super::shown::Shown;
use crate::number;
use draw::{Drawing, NARROW, Size, WIDE};
use maud::{Markup, html};

/// Most rows of a chart's data table.
const ROWS: usize = 40;
/// Lines that have a look of their own; further ones are left to the table.
pub(super) const LINES: &[&str] =
    &["line0", "line1", "line2", "line3", "line4", "line5", "line6", "line7"];

/// What the values of a chart are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// A number of requests.
    Requests,
    /// A share of 0..1, printed in percent.
    Share,
}

impl Unit {
    /// What stands above the value axis.
    fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Share => "% in use",
        }
    }

    /// A value as text.
    fn print(self, value: f64) -> String {
        match self {
            Self::Requests => number::count(value),
            Self::Share => number::percent(value),
        }
    }
}

/// A chart's data. Times are seconds since `origin`.
#[derive(Debug, Clone)]
pub(super) struct Chart {
    /// Id of the figure, unique in the page.
    pub(super) id: String,
    pub(super) title: &'static str,
    /// One or two sentences: what is drawn, and from which metric.
    pub(super) about: String,
    pub(super) unit: Unit,
    /// What 0 is, e.g. `the load began`.
    pub(super) origin: &'static str,
    /// First and last second drawn.
    pub(super) span: (f64, f64),
    /// At most as many as [`LINES`].
    pub(super) lines: Vec<Line>,
    pub(super) levels: Vec<Level>,
    /// When load ran.
    pub(super) windows: Vec<Window>,
    /// When nothing was read.
    pub(super) gaps: Vec<(f64, f64)>,
    pub(super) marks: Vec<Mark>,
    /// What one mark is, e.g. `preemption`.
    pub(super) mark: &'static str,
    pub(super) events: Vec<Event>,
}

/// A gauge over time, drawn in steps.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) name: Shown,
    pub(super) class: &'static str,
    pub(super) samples: Vec<Sample>,
}

/// A value that held for a stretch.
#[derive(Debug, Clone)]
pub(super) struct Level {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) value: f64,
    pub(super) span: (f64, f64),
}

/// A stretch during which load ran.
#[derive(Debug, Clone)]
pub(super) struct Window {
    /// The load point's name; empty for the only one.
    pub(super) name: Shown,
    pub(super) span: (f64, f64),
}

/// Something that happened, `count` times, at or shortly before `t`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mark {
    pub(super) t: f64,
    pub(super) count: f64,
}

/// Something that happened once and changes everything after it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Event {
    pub(super) t: f64,
    pub(super) name: &'static str,
}

impl Chart {
    /// The chart as a figure; `level` is that of its heading.
    pub(super) fn figure(&self, level: u8) -> Markup {
        html! {
            figure.chart id=(self.id) data-unit=(self.unit.name()) {
                figcaption {
                    (heading(level, None, self.title))
                    p.about { (self.about) }
                }
                (self.legend())
                (self.drawn(WIDE, "wide"))
                (self.drawn(NARROW, "narrow"))
                details.data {
                    summary { "Data table" }
                    div.scroll tabindex="0" role="region" aria-label=(format!("Data of {}", self.title)) {
                        (self.table())
                    }
                }
            }
        }
    }

    fn drawn(&self, size: Size, class: &str) -> Markup {
        let Ok(Drawing { body, plot }) = self.draw(size) else {
            return html! { p.hole { "The chart could not be drawn; its data table is below." } };
        };
        let (title, desc) = (format!("{}-{class}-t", self.id), format!("{}-{class}-d", self.id));
        html! {
            svg class=(format!("plot {class}")) viewBox=(format!("0 0 {} {}", size.width, size.height))
                role="img" aria-labelledby=(format!("{title} {desc}"))
                data-x=(format!("{} {}", plot.x.0, plot.x.1)) data-t=(format!("{} {}", self.span.0, self.span.1)) {
                title id=(title) { (self.title) }
                desc id=(desc) { (self.description()) }
                (body)
                line.cursor x1="-9" x2="-9" y1=(plot.y.0) y2=(plot.y.1) {}
            }
        }
    }

    /// The values that a line has inside the span: of its samples one may lie on each side of it, so
    /// that the line reaches the edges.
    fn shown<'a>(&self, line: &'a Line) -> impl Iterator<Item = f64> + use<'a> {
        let (from, to) = self.span;
        let before = line.samples.iter().rposition(|sample| sample.0 <= from).unwrap_or(0);
        let inside = line.samples.iter().skip(before).take_while(move |sample| sample.0 <= to);
        inside.filter_map(|sample| sample.1)
    }

    /// In one sentence, what the drawing shows, for those who do not see it.
    fn description(&self) -> String {
        let lines = self.lines.iter().map(|line| {
            let (low, high) = range(self.shown(line));
            match (low, high) {
                (Some(low), Some(high)) => {
                    format!(
                        "{} from {} to {}",
                        line.name,
                        self.unit.print(low),
                        self.unit.print(high)
                    )
                }
                _ => format!("{}: no reading", line.name),
            }
        });
        let levels = self
            .levels
            .iter()
            .map(|level| format!("{} {}", level.name, self.unit.print(level.value)));
        let marks: f64 = self.marks.iter().map(|mark| mark.count).sum();
        let marks = (marks > 0.0).then(|| number::plural(marks, self.mark));
        let events = self
            .events
            .iter()
            .map(|event| format!("{} at {} s", event.name, number::grouped(event.t, 1)));
        let parts: Vec<String> = lines.chain(levels).chain(marks).chain(events).collect();
        format!("{}. {}.", self.about.trim_end_matches('.'), parts.join("; "))
    }

    /// What each line is; under the pointer, its value there.
    fn legend(&self) -> Markup {
        let columns = WIDE.width as usize;
        html! {
            ul.legend {
                @for line in &self.lines {
                    @let highest = range(self.shown(line)).1;
                    li data-points=(points(&reduce::reduced(&line.samples, self.span, columns))) {
                        (swatch(line.class)) (line.name) " "
                        output {
                            @match highest {
                                Some(value) => { "peak " (self.unit.print(value)) }
                                None => { "no reading" }
                            }
                        }
                    }
                }
                @for (i, level) in self.levels.iter().enumerate() {
                    @let first = self.levels.iter().position(|other| other.name == level.name);
                    @if first == Some(i) {
                        @let all = self.levels.iter().filter(|other| other.name == level.name);
                        @let values: Vec<String> = all.map(|level| self.unit.print(level.value)).collect();
                        li { (swatch(level.class)) (level.name) " " output { (values.join(", ")) } }
                    }
                }
                @if !self.marks.is_empty() {
                    li {
                        svg.swatch viewBox="0 0 22 10" aria-hidden="true" {
                            polygon.mark points="6,1 16,1 11,9" {}
                        }
                        (self.mark) " "
                        output { (number::count(self.marks.iter().map(|mark| mark.count).sum())) }
                    }
                }
                @if let Some(event) = self.events.first() {
                    li { (swatch("event")) (event.name) " " output { (self.events.len()) } }
                }
                @if !self.windows.is_empty() { li { (area("window")) "load" } }
                @if !self.gaps.is_empty() { li { (area("gap")) "not recorded" } }
                li.at { output {} }
            }
        }
    }

    /// The data in rows of equal length: the value, or lowest to highest.
    fn table(&self) -> Markup {
        let length = self.span.1 - self.span.0;
        // A row shorter than the sampling interval would be empty more often than not.
        let samples = self.lines.iter().map(|line| line.samples.len()).max().unwrap_or(0);
        let most = (samples / 2).clamp(1, ROWS);
        let step = scale::Axis::time(self.span, most).step();
        let first = (self.span.0 / step).floor();
        let rows = (((length / step).ceil() + 1.0) as usize).min(ROWS + 2);
        html! {
            table {
                caption { "Lowest to highest sample in each " (seconds(step)) "; — where there is none." }
                thead { tr {
                    th scope="col" { "from (s)" }
                    @for line in &self.lines { th scope="col" { (line.name) } }
                    @if !self.marks.is_empty() { th scope="col" { (self.mark) "s" } }
                } }
                tbody {
                    @for k in 0..rows {
                        @let from = (first + k as f64) * step;
                        @let inside = |t: f64| t >= from && t < from + step;
                        @if from <= self.span.1 {
                            tr {
                                th scope="row" { (number::grouped(from, decimals(step))) }
                                @for line in &self.lines {
                                    td { (self.cell(line.samples.iter().filter(|s| inside(s.0)))) }
                                }
                                @if !self.marks.is_empty() {
                                    td { (number::count(self.marks.iter().filter(|m| inside(m.t)).map(|m| m.count).sum())) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn cell<'a>(&self, samples: impl Iterator<Item = &'a Sample>) -> String {
        match range(samples.filter_map(|sample| sample.1)) {
            (Some(low), Some(high)) if low == high => self.unit.print(low),
            (Some(low), Some(high)) => {
                format!("{}–{}", self.unit.print(low), self.unit.print(high))
            }
            _ => "—".into(),
        }
    }
}

/// Lowest and highest.
fn range(values: impl Iterator<Item = f64>) -> (Option<f64>, Option<f64>) {
    values.fold((None, None), |(low, high), value| {
        (
            Some(low.map_or(value, |l: f64| l.min(value))),
            Some(high.map_or(value, |h: f64| h.max(value))),
        )
    })
}

/// Samples for the read-out: `t value` pairs, `-` for absence.
fn points(samples: &[Sample]) -> String {
    let mut out = String::new();
    for (t, value) in samples {
        let gap = if out.is_empty() { "" } else { " " };
        match value {
            Some(value) => out.push_str(&format!("{gap}{} {}", short(*t), short(*value))),
            None => out.push_str(&format!("{gap}{} -", short(*t))),
        }
    }
    out
}

/// A number with at most four decimals.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn seconds(step: f64) -> String {
    format!("{} s", number::grouped(step, decimals(step)))
}

fn decimals(step: f64) -> usize {
    match step {
        s if s >= 1.0 => 0,
        s if s >= 0.1 => 1,
        _ => 2,
    }
}

fn swatch(class: &str) -> Markup {
    html! {
        svg.swatch viewBox="0 0 22 10" aria-hidden="true" { line class=(class) x1="0" x2="22" y1="5" y2="5" {} }
    }
}

fn area(class: &str) -> Markup {
    html! {
        svg.swatch viewBox="0 0 22 10" aria-hidden="true" { rect class=(class) width="22" height="10" {} }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two lines, a hole, a level, two named loads, marks and an event.
    fn chart() -> Chart {
        let times: Vec<f64> =
            (0..120).map(f64::from).filter(|t| !(70.0..85.0).contains(t)).collect();
        let line = |name: &str, class, value: fn(f64) -> f64| {
            let samples: Vec<Sample> = times.iter().map(|&t| (t, Some(value(t)))).collect();
            Line { name: Shown::name(name), class, samples: broken_at(&samples, &holes(&times)) }
        };
        let window = |name: &str, from, to| Window { name: Shown::name(name), span: (from, to) };
        Chart {
            id: "v0-requests".into(),
            title: "Requests",
            about: "Requests at each reading.".into(),
            unit: Unit::Requests,
            origin: "the load began",
            span: (-2.0, 118.0),
            lines: vec![
                line("running", "line0", |t| (t / 10.0).floor()),
                line("waiting", "line1", |t| f64::from(u8::from(t == 33.0)) * 24.0),
            ],
            levels: vec![Level {
                name: "asked for",
                class: "level",
                value: 32.0,
                span: (0.0, 60.0),
            }],
            windows: vec![
                window("c=4 <b>", 0.0, 60.0),
                window("c=8, but with no room", 90.0, 99.0),
            ],
            gaps: holes(&times),
            marks: vec![Mark { t: 33.0, count: 2.0 }, Mark { t: 33.5, count: 1.0 }],
            mark: "preemption",
            events: vec![Event { t: 100.0, name: "server restarted" }],
        }
    }

    #[test]
    fn a_chart_is_drawn_as_it_was() {
        insta::assert_snapshot!("wide", pretty(chart().draw(WIDE).unwrap().body.as_str()));
        insta::assert_snapshot!("narrow", pretty(chart().draw(NARROW).unwrap().body.as_str()));
    }

    fn pretty(svg: &str) -> String {
        svg.replace("><", ">\n<")
    }

    #[test]
    fn what_lies_outside_the_span_is_no_peak() {
        let samples = [(-3.0, 9.0), (-1.0, 2.0), (5.0, 4.0), (9.0, 3.0), (12.0, 20.0)];
        let samples = samples.iter().map(|&(t, value)| (t, Some(value))).collect();
        let line = Line { name: Shown::name("waiting"), class: "line1", samples };
        let mut chart = Chart { lines: vec![line], levels: Vec::new(), ..chart() };
        chart.span = (0.0, 10.0);
        assert!(chart.legend().0.contains("<output>peak 4</output>"), "{}", chart.legend().0);
        assert!(chart.description().contains("waiting from 2 to 4"), "{}", chart.description());
        assert!(!chart.draw(WIDE).unwrap().body.as_str().contains(">20<"));
    }

    #[test]
    fn a_drawing_has_classes_and_no_colours() {
        let drawing = chart().draw(WIDE).unwrap();
        let svg = drawing.body.as_str();
        assert!(pretty(svg).lines().all(|element| element.contains("class=\"")), "{svg}");
        assert!(!svg.contains('#') && !svg.contains("style") && !svg.contains("font"), "{svg}");
        assert!(svg.contains("c=4 &lt;b&gt;") && !svg.contains("no room"), "{svg}");
        // Two stretches of each line, the hole between them.
        assert_eq!(svg.matches("class=\"line0\"").count(), 2);
        assert_eq!(svg.matches("class=\"mark\"").count(), 1);
    }

    #[test]
    fn the_spike_and_the_hole_stand_in_the_table() {
        let figure = chart().figure(3).into_string();
        assert!(figure.contains("<td>0–24</td>"), "{figure}");
        assert!(figure.contains("<td>—</td>"));
        assert!(
            figure.contains(
                "running from 0 to 11; waiting from 0 to 24; asked for 32; 3 preemptions"
            )
        );
    }

    #[test]
    fn the_read_out_has_each_change_and_each_hole() {
        let samples = [(0.0, Some(1.0)), (0.25, Some(0.125)), (1.0, None)];
        assert_eq!(points(&samples), "0 1 0.25 0.125 1 -");
    }

    #[test]
    fn an_hour_at_four_hertz_stays_small() {
        let mut chart = chart();
        chart.span = (0.0, 3600.0);
        let samples = (0..14_400).map(|i| (f64::from(i) * 0.25, Some(f64::from(i * 7919 % 211))));
        chart.lines =
            vec![Line { name: Shown::name("a"), class: "line0", samples: samples.collect() }];
        let figure = chart.figure(3).into_string();
        assert!(figure.len() < 120_000, "{}", figure.len());
        assert!(
            points(&reduce::reduced(&chart.lines[0].samples, chart.span, 1040))
                .matches(' ')
                .count()
                < 4_000
        );
    }
}
