//! Text from an input, made safe to show: nothing in it may hide, reorder or control what stands
//! around it, on a page or in a terminal.

/// `text` in one line: each character that shows as nothing, or changes how others show, as an
/// escape.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push(&mut out, c));
    out
}

/// As [`visible`], line by line.
pub fn visible_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(visible).collect();
    lines.join("\n")
}

/// Appends `c`, or its escape.
pub fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if hidden(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        c => out.push(c),
    }
}

/// Controls, direction marks and overrides, joiners, separators, variation selectors, tags, private
/// use, byte order marks.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_reorders_is_shown_as_an_escape() {
        let table = [
            ("plain – ünï 千 🙂", "plain – ünï 千 🙂"),
            ("a\0b\x1b[31m", "a\\u{0}b\\u{1b}[31m"),
            ("two\nlines\r\n\ttab", "two\\nlines\\r\\n\\ttab"),
            ("\u{202e}gnp.exe\u{2066}", "\\u{202e}gnp.exe\\u{2066}"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("bad \u{fffd} utf-8", "bad \u{fffd} utf-8"),
        ];
        for (text, shown) in table {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(visible_lines("two\nlines\r\n"), "two\nlines\\r\n");
    }
}
