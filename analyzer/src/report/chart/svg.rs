//! From plotters' SVG to one that a stylesheet can colour.
//!
//! plotters writes fixed colours as attributes. The charts draw with stand-ins, one a class, and a
//! single pass puts the class in place of every presentation attribute, so that one drawing serves
//! light, dark and print.

use maud::{Markup, PreEscaped, Render};
use plotters::style::RGBColor;

/// Classes that a drawn thing may have; the stylesheet gives each its look.
const CLASSES: &[&str] = &[
    "grid",
    "axis",
    "tick",
    "window",
    "edge",
    "gap",
    "level",
    "limit",
    "level-name",
    "mark",
    "event",
    "line0",
    "line1",
    "line2",
    "line3",
    "line4",
    "line5",
    "line6",
    "line7",
];

/// Attributes that a class replaces.
const LOOKS: &[&str] =
    &["fill", "stroke", "stroke-width", "opacity", "font-family", "font-size", "font-weight"];

/// The colour that stands for a class. An unknown class gets one that no rule matches.
pub(super) fn ink(class: &str) -> RGBColor {
    let place = CLASSES.iter().position(|known| *known == class).unwrap_or(0xff);
    RGBColor(0, 0, place as u8)
}

/// The inner part of an SVG element, drawn by us from numbers and escaped text.
#[derive(Debug)]
pub(super) struct Body(String);

impl Body {
    /// Takes what plotters drew, without its outermost element.
    pub(super) fn of(drawn: &str) -> Self {
        let inner = drawn.split_once('>').map_or("", |(_, rest)| rest);
        let inner = inner.rsplit_once("</svg>").map_or(inner, |(inner, _)| inner);
        let mut out = String::with_capacity(inner.len());
        for (i, piece) in inner.split('<').enumerate() {
            let (tag, text) = piece.split_once('>').unwrap_or(("", piece));
            if i > 0 {
                restyle(tag, &mut out);
            }
            out.push_str(text.trim_matches('\n'));
        }
        Self(out)
    }

    /// As text, for snapshots.
    #[cfg(test)]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Render for Body {
    fn render(&self) -> Markup {
        PreEscaped(self.0.clone())
    }
}

/// Writes a tag with its class in place of its looks.
fn restyle(tag: &str, out: &mut String) {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    out.push('<');
    out.push_str(name);
    while let Some((key, after)) = rest.trim_start().split_once("=\"") {
        let Some((value, after)) = after.split_once('"') else { break };
        rest = after;
        if let Some(class) = class_of(value) {
            out.push_str(&format!(" class=\"{class}\""));
        } else if !LOOKS.contains(&key) {
            out.push_str(&format!(" {key}=\"{}\"", value.trim()));
        }
    }
    out.push_str(if rest.ends_with('/') { "/>" } else { ">" });
}

fn class_of(value: &str) -> Option<&'static str> {
    let place = value.strip_prefix("#0000")?;
    CLASSES.get(usize::from_str_radix(place, 16).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_stands_in_place_of_every_look() {
        let RGBColor(_, _, line) = ink("line0");
        let drawn = format!(
            "<svg width=\"9\" xmlns=\"http://www.w3.org/2000/svg\">\n<polyline fill=\"none\" \
             opacity=\"1\" stroke=\"#0000{line:02X}\" stroke-width=\"1\" points=\"1,2 3,4 \"/>\n\
             <text x=\"1\" font-family=\"sans-serif\" fill=\"#000002\">\na &lt; b\n</text>\n</svg>\n"
        );
        assert_eq!(
            Body::of(&drawn).as_str(),
            "<polyline class=\"line0\" points=\"1,2 3,4\"/>\
             <text x=\"1\" class=\"tick\">a &lt; b</text>"
        );
    }

    #[test]
    fn every_class_has_its_own_colour() {
        for class in CLASSES {
            let RGBColor(_, _, place) = ink(class);
            assert_eq!(class_of(&format!("#0000{place:02X}")), Some(*class));
        }
        assert_eq!(class_of("#0000FF"), None);
    }
}
