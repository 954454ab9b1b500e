//! What is around every page: the head with its policy, the style, the script.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A whole page. It asks for nothing from anywhere: its policy allows this style and this script and
/// nothing else.
pub(super) fn page(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(concat!("inferlint-analyze ", env!("CARGO_PKG_VERSION")));
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
    .into_string()
}

/// The Content-Security-Policy.
fn policy() -> String {
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_end_only_where_they_end() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--") && !text.contains("http"));
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }

    /// Colours that text has, on the backgrounds it has them on.
    const PAIRS: &[(&str, &[&str])] = &[
        ("--ink", &["--paper", "--well", "--window", "--gap", "--warn-well"]),
        ("--soft", &["--paper", "--well", "--window"]),
        ("--link", &["--paper", "--well"]),
        ("--fail", &["--paper", "--well", "--fail-well"]),
        ("--warn", &["--paper", "--well", "--warn-well"]),
        ("--unknown", &["--paper", "--well", "--unknown-well"]),
        ("--pass", &["--paper", "--well", "--pass-well"]),
    ];

    fn colours(name: &str) -> [f64; 2] {
        let value = STYLE.split(&format!("{name}: light-dark(")).nth(1).unwrap();
        let value = value.split(')').next().unwrap();
        let luminance = |hex: &str| {
            let channel = |i: usize| {
                let c = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
                if c <= 0.03928 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        };
        let (light, dark) = value.split_once(", ").unwrap();
        [luminance(light), luminance(dark)]
    }

    fn contrast(a: f64, b: f64) -> f64 {
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_reaches_wcag_aa_in_both_themes() {
        for (text, grounds) in PAIRS {
            for ground in *grounds {
                for theme in 0..2 {
                    let found = contrast(colours(text)[theme], colours(ground)[theme]);
                    assert!(found >= 4.5, "{text} on {ground}, theme {theme}: {found:.2}");
                }
            }
        }
    }

    #[test]
    fn lines_reach_the_contrast_of_graphics_in_both_themes() {
        for i in 0..8 {
            for ground in ["--paper", "--window"] {
                for theme in 0..2 {
                    let line = colours(&format!("--line{i}"))[theme];
                    let found = contrast(line, colours(ground)[theme]);
                    assert!(found >= 3.0, "line {i} on {ground}, theme {theme}: {found:.2}");
                }
            }
        }
    }
}
