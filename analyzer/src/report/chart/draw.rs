//! A chart as plotters draws it.

use super::scale::{Axis, text_width};
use super::svg::{Body, ink};
use super::{Chart, reduce};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Text size that the stylesheet gives everything in a drawing, in pixels.
const FONT: f64 = 12.0;
/// Room left of the plot for value labels, at least, so that charts below each other share their axis.
const LEFT: u32 = 50;
/// Room below the plot for time labels and what they count.
const BELOW: u32 = 46;
/// Room above the plot for marks, and for the names of load windows.
const STRIP: u32 = 18;

/// How large a chart is drawn, in CSS pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Most ticks across.
    pub(super) ticks: usize,
}

/// For pages wide enough to show it whole.
pub(super) const WIDE: Size = Size { width: 1040, height: 264, ticks: 10 };
/// For telephones and narrow windows.
pub(super) const NARROW: Size = Size { width: 400, height: 240, ticks: 6 };

/// A drawing, and where in it the plot lies, so that a pointer's place can be read as a time.
#[derive(Debug)]
pub(super) struct Drawing {
    pub(super) body: Body,
    pub(super) plot: Plot,
}

/// Left and right, upper and lower end of a plot, in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plot {
    pub(super) x: (i32, i32),
    pub(super) y: (i32, i32),
}

type Failure = DrawingAreaErrorKind<std::io::Error>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Axes<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

impl Chart {
    /// Draws the chart at one size.
    pub(super) fn draw(&self, size: Size) -> Result<Drawing, Failure> {
        let mut drawn = String::new();
        let plot = {
            let canvas = (size.width, size.height);
            let root = SVGBackend::with_string(&mut drawn, canvas).into_drawing_area();
            let plot = self.draw_on(&root, size)?;
            root.present()?;
            plot
        };
        Ok(Drawing { body: Body::of(&drawn), plot })
    }

    fn draw_on(&self, root: &Area<'_>, size: Size) -> Result<Plot, Failure> {
        let time = Axis::time(self.span, size.ticks);
        let values = Axis::values(self.unit, self.top(), 5);
        let top = values.to;
        let widest = values.ticks.iter().map(|tick| text_width(&values.label(*tick), FONT));
        let left = (widest.fold(0.0, f64::max).ceil() as u32 + 10).max(LEFT);
        let named = self.windows.iter().any(|window| !window.name.is_empty());
        let strips = u32::from(!self.marks.is_empty()) + u32::from(named);
        let counted = format!("{} since {}", time.time_unit(), self.origin);
        let (down, across) = (values.ticks.len(), time.ticks.len());
        let mut axes = ChartBuilder::on(root)
            .margin_top(8 + STRIP * strips)
            .margin_right(14)
            .set_label_area_size(LabelAreaPosition::Left, left)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
            .build_cartesian_2d(time, values)?;
        self.draw_areas(&mut axes, top)?;
        axes.configure_mesh()
            .disable_x_mesh()
            .bold_line_style(ink("grid"))
            .light_line_style(TRANSPARENT)
            .axis_style(ink("axis"))
            .label_style(("sans-serif", FONT).with_color(ink("tick")))
            .x_labels(across.max(1))
            .y_labels(down.max(1))
            .draw()?;
        let (x, y) = axes.plotting_area().get_pixel_range();
        let plot = Plot { x: (x.start, x.end), y: (y.start, y.end) };
        self.draw_lines(&mut axes, top, (plot.x.1 - plot.x.0).max(1) as usize)?;
        let (from, to) = self.span;
        let pixel = |t: f64, v: f64| axes.backend_coord(&(t.clamp(from, to), v));
        self.name_levels(root, &pixel)?;
        self.name_windows(root, |t| pixel(t, top).0)?;
        self.draw_marks(root, plot.y.0 - 5, |t| pixel(t, top).0)?;
        let below = (i32::midpoint(plot.x.0, plot.x.1), plot.y.1 + BELOW as i32 - 6);
        root.draw(&Text::new(counted, below, text(HPos::Center, "tick")))?;
        Ok(plot)
    }

    /// What lies under everything: when load ran, and when nothing was recorded.
    fn draw_areas(&self, axes: &mut Axes<'_, '_>, top: f64) -> Result<(), Failure> {
        let loads = self.windows.iter().map(|window| (window.span, "window"));
        for ((a, b), class) in loads.chain(self.gaps.iter().map(|gap| (*gap, "gap"))) {
            axes.draw_series([Rectangle::new([(a, top), (b, 0.0)], ink(class).filled())])?;
        }
        Ok(())
    }

    fn draw_lines(&self, axes: &mut Axes<'_, '_>, top: f64, columns: usize) -> Result<(), Failure> {
        let (from, to) = self.span;
        let edges = self.windows.iter().flat_map(|w| [w.span.0, w.span.1].map(|t| (t, "edge")));
        let events = self.events.iter().map(|event| (event.t, "event"));
        for (t, class) in edges.chain(events).filter(|(t, _)| (from..=to).contains(t)) {
            axes.draw_series([PathElement::new(vec![(t, 0.0), (t, top)], ink(class))])?;
        }
        for level in &self.levels {
            let ends = vec![(level.span.0, level.value), (level.span.1, level.value)];
            axes.draw_series([PathElement::new(ends, ink(level.class))])?;
        }
        for line in self.lines.iter().rev() {
            for corners in reduce::steps(&reduce::reduced(&line.samples, self.span, columns)) {
                axes.draw_series(LineSeries::new(seen(corners, self.span), ink(line.class)))?;
            }
        }
        Ok(())
    }

    /// What the value axis must reach: the largest value or level, with room for a level's name; a request, or
    /// the whole of a share, at least.
    fn top(&self) -> f64 {
        let highest = self.lines.iter().flat_map(|line| self.shown(line)).fold(0.0, f64::max);
        let levels = self.levels.iter().map(|level| level.value * 1.12);
        levels.fold(highest, f64::max).max(1.0)
    }

    /// Names each level above its line, at its right end; a name that would not fit, or would touch
    /// another, is left to the legend.
    fn name_levels(
        &self,
        root: &Area<'_>,
        pixel: &impl Fn(f64, f64) -> (i32, i32),
    ) -> Result<(), Failure> {
        let mut taken: Vec<((i32, i32), i32)> = Vec::new();
        for level in &self.levels {
            let name = format!("{} {}", level.name, self.unit.print(level.value));
            let (left, y) = pixel(level.span.0, level.value);
            let (right, _) = pixel(level.span.1, level.value);
            let start = right - 8 - text_width(&name, FONT) as i32;
            let free = |&((a, b), other): &((i32, i32), i32)| {
                right < a || start > b || (other - y).abs() > FONT as i32 + 3
            };
            if start > left && taken.iter().all(free) {
                root.draw(&Text::new(name, (right - 4, y - 5), text(HPos::Right, "level-name")))?;
                taken.push(((start, right), y));
            }
        }
        Ok(())
    }

    /// Names each load window that is wide enough for its name, centred above it.
    fn name_windows(&self, root: &Area<'_>, x: impl Fn(f64) -> i32) -> Result<(), Failure> {
        for window in self.windows.iter().filter(|window| !window.name.is_empty()) {
            let (a, b) = (x(window.span.0), x(window.span.1));
            if text_width(window.name.as_str(), FONT) < f64::from(b - a) {
                let at = (i32::midpoint(a, b), STRIP as i32);
                root.draw(&Text::new(window.name.to_string(), at, text(HPos::Center, "tick")))?;
            }
        }
        Ok(())
    }

    /// A small triangle above the plot for each mark; one that would cover another is left out, as the
    /// data table has them all.
    fn draw_marks(&self, root: &Area<'_>, y: i32, x: impl Fn(f64) -> i32) -> Result<(), Failure> {
        let mut last = i32::MIN;
        for mark in self.marks.iter().filter(|m| m.t >= self.span.0 && m.t <= self.span.1) {
            let at = x(mark.t);
            if at < last.saturating_add(6) {
                continue;
            }
            last = at;
            let corners = vec![(at - 5, y - 8), (at + 5, y - 8), (at, y)];
            root.draw(&Polygon::new(corners, ink("mark")))?;
        }
        Ok(())
    }
}

fn text(side: HPos, class: &str) -> TextStyle<'static> {
    let style = FONT.with_color(ink(class)).into_text_style(&(0, 0));
    style.pos(Pos::new(side, VPos::Bottom))
}

/// The corners within `span`; a step line enters and leaves it at the value it has there.
fn seen(corners: Vec<(f64, f64)>, span: (f64, f64)) -> Vec<(f64, f64)> {
    let before = corners.iter().rev().find(|(t, _)| *t < span.0).copied();
    let after = corners.iter().find(|(t, _)| *t > span.1).copied();
    let inside: Vec<(f64, f64)> =
        corners.into_iter().filter(|(t, _)| *t >= span.0 && *t <= span.1).collect();
    let crosses = !inside.is_empty() || after.is_some();
    let entered = before.map(|(_, value)| (span.0, value)).filter(|_| crosses);
    let left = inside.last().or(entered.as_ref()).map(|(_, value)| (span.1, *value));
    let left = left.filter(|_| after.is_some());
    entered.into_iter().chain(inside.iter().copied()).chain(left).collect()
}
