//! Where an axis puts its ticks, and how it prints them.
//!
//! Only additions and multiplications: a logarithm may differ in its last bit between machines, and
//! the page must not.

use super::Unit;
use crate::number;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// Tick steps within a power of ten.
const DECIMAL: &[f64] = &[1.0, 2.0, 5.0, 10.0];
/// Tick steps of an axis in minutes.
const MINUTES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0];
/// Tick steps of an axis in hours.
const HOURS: &[f64] = &[1.0, 2.0, 3.0, 6.0, 12.0, 24.0];

/// An axis that is ready to draw.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    /// Lower and upper end, in the values' own unit.
    pub(super) from: f64,
    pub(super) to: f64,
    /// Tick positions, ascending.
    pub(super) ticks: Vec<f64>,
    /// One printed unit, in the values' own unit: 60 for an axis of seconds printed in minutes.
    scale: f64,
    suffix: &'static str,
    places: usize,
}

impl Axis {
    /// An axis of seconds that covers exactly `span`, printed in seconds, minutes or hours.
    pub(super) fn time(span: (f64, f64), most: usize) -> Self {
        let length = span.1 - span.0;
        let (scale, steps, least) = match length {
            l if l <= 240.0 => (1.0, DECIMAL, 0.01),
            l if l <= 3.0 * 3600.0 => (60.0, MINUTES, 1.0),
            _ => (3600.0, HOURS, 1.0),
        };
        let step = step(length / scale, most, steps, least);
        let ticks = multiples(span.0 / scale, span.1 / scale, step);
        let ticks = ticks.into_iter().map(|tick| tick * scale).collect();
        Self { from: span.0, to: span.1, ticks, scale, suffix: "", places: places(step) }
    }

    /// The word for one printed unit of a time axis.
    pub(super) fn time_unit(&self) -> &'static str {
        match self.scale {
            s if s < 60.0 => "seconds",
            s if s < 3600.0 => "minutes",
            _ => "hours",
        }
    }

    /// An axis from zero to a tick at or above `highest`.
    pub(super) fn values(unit: Unit, highest: f64, most: usize) -> Self {
        let (scale, suffix, least) = match unit {
            Unit::Requests => (1.0, "", 1.0),
            Unit::Share => (0.01, "%", 1.0),
        };
        let highest = if highest > 0.0 { highest / scale } else { 1.0 };
        let step = step(highest, most, DECIMAL, least);
        let mut to = step;
        while to < highest {
            to += step;
        }
        let ticks = multiples(0.0, to, step).into_iter().map(|tick| tick * scale).collect();
        Self { from: 0.0, to: to * scale, ticks, scale, suffix, places: places(step) }
    }

    /// A position as printed beside its tick.
    pub(super) fn label(&self, value: f64) -> String {
        number::grouped(value / self.scale, self.places) + self.suffix
    }

    /// Distance of two ticks; the whole axis where there are fewer.
    pub(super) fn step(&self) -> f64 {
        match self.ticks.as_slice() {
            [first, second, ..] => second - first,
            _ => self.to - self.from,
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        let share = (value - self.from) / (self.to - self.from);
        pixels.0 + (share.clamp(0.0, 1.0) * f64::from(pixels.1 - pixels.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.label(*value)
    }
}

/// The smallest round step, not under `least`, that needs at most `most` ticks for `length`.
fn step(length: f64, most: usize, steps: &[f64], least: f64) -> f64 {
    let most = most.max(1) as f64;
    let mut power = least;
    // The largest finite length is reached long before.
    for _ in 0..320 {
        for step in steps {
            if length <= step * power * most {
                return step * power;
            }
        }
        power *= steps.last().copied().unwrap_or(10.0);
    }
    length
}

/// Whole multiples of `step` within `from..=to`; a hair is forgiven at both ends.
fn multiples(from: f64, to: f64, step: f64) -> Vec<f64> {
    let hair = step * 1e-6;
    let first = ((from - hair) / step).ceil();
    let mut ticks = Vec::new();
    let mut k = first;
    while k * step <= to + hair && ticks.len() < 100 {
        ticks.push(k * step + 0.0);
        k += 1.0;
    }
    ticks
}

/// Decimals that tell two ticks apart.
fn places(step: f64) -> usize {
    match step {
        s if s >= 1.0 => 0,
        s if s >= 0.1 => 1,
        _ => 2,
    }
}

/// Width of a text in pixels, at least. Readers' fonts differ, so widths are those of DejaVu Sans, the
/// widest common one: what fits by this measure fits.
pub(super) fn text_width(text: &str, font_px: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | ' ' | '!' => 0.34,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.99,
        'A'..='Z' => 0.74,
        c if c.is_ascii() => 0.64,
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * font_px
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_printed_in_the_unit_that_suits_its_length() {
        let table = [
            ((0.0, 4.7), 5, "seconds: 0 1 2 3 4"),
            ((-2.0, 108.0), 6, "seconds: 0 20 40 60 80 100"),
            ((-1.0, 601.0), 6, "minutes: 0 2 4 6 8 10"),
            ((0.0, 3600.0), 4, "minutes: 0 15 30 45 60"),
            ((0.0, 36_000.0), 5, "hours: 0 2 4 6 8 10"),
        ];
        for (span, most, printed) in table {
            let axis = Axis::time(span, most);
            let labels: Vec<String> = axis.ticks.iter().map(|tick| axis.label(*tick)).collect();
            assert_eq!(format!("{}: {}", axis.time_unit(), labels.join(" ")), printed);
        }
    }

    #[test]
    fn values_end_at_a_tick_at_or_above_the_highest() {
        let table: [(Unit, f64, &[&str]); 5] = [
            (Unit::Requests, 0.0, &["0", "1"]),
            (Unit::Requests, 33.0, &["0", "10", "20", "30", "40"]),
            (Unit::Requests, 1_700.0, &["0", "500", "1,000", "1,500", "2,000"]),
            (Unit::Share, 1.0, &["0%", "20%", "40%", "60%", "80%", "100%"]),
            (Unit::Share, 0.021, &["0%", "1%", "2%", "3%"]),
        ];
        for (unit, highest, labels) in table {
            let axis = Axis::values(unit, highest, 5);
            let printed: Vec<String> = axis.ticks.iter().map(|t| axis.label(*t)).collect();
            assert_eq!(printed, labels, "{highest}");
            assert!(axis.to >= highest);
        }
    }

    #[test]
    fn absurd_values_end_too() {
        for highest in [f64::MAX, 1e-300] {
            assert!(Axis::values(Unit::Requests, highest, 5).ticks.len() <= 100);
            assert!(Axis::time((0.0, highest), 5).ticks.len() <= 100);
        }
    }

    #[test]
    fn a_wider_text_measures_wider() {
        assert!(text_width("asked for 32", 12.0) > text_width("asked 32", 12.0));
        assert!(text_width("千", 12.0) >= 12.0);
    }
}
