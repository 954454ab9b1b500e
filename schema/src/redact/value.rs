//! The value behind a name: where it ends, in shells, headers, JSON and Python reprs.

use std::ops::Range;

/// A value in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// Its bytes, without quotes.
    pub(super) span: Range<usize>,
    /// True when it stands in quotes.
    pub(super) quoted: bool,
    /// Where the text behind it begins.
    pub(super) end: usize,
}

/// The values that begin at `at`: one, or those of a list, tuple or map. And where they end.
pub(super) fn values(line: &[u8], at: usize) -> (Vec<Value>, usize) {
    let open = match line.get(at) {
        None => return (Vec::new(), at),
        Some(b'[' | b'(' | b'{') => Some(at),
        Some(_) => call(line, at),
    };
    if let Some(open) = open {
        return listed(line, open);
    }
    let one = value(line, at);
    let end = one.end;
    (vec![one], end)
}

/// Where the bracket of a call such as `SecretStr('…')` opens.
fn call(line: &[u8], at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    let name = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_.".contains(b)).count();
    (name > 0 && rest.get(name) == Some(&b'(')).then_some(at + name)
}

/// The one value that begins at `at`, quoted or bare.
pub(super) fn value(line: &[u8], at: usize) -> Value {
    quoted(line, at).unwrap_or_else(|| bare(line, at))
}

/// A quoted value; the quote may be escaped (`\"…\"`), as JSON inside a string is.
fn quoted(line: &[u8], at: usize) -> Option<Value> {
    let rest = line.get(at..)?;
    let prefix = usize::from(matches!(rest, [b'b' | b'u' | b'r', b'\'' | b'"', ..]));
    let slashes = rest.iter().skip(prefix).take_while(|b| **b == b'\\').count();
    let mark = *rest.get(prefix + slashes)?;
    if mark != b'"' && mark != b'\'' {
        return None;
    }
    let start = at + prefix + slashes + 1;
    let mut run = 0;
    for (i, &byte) in line.iter().enumerate().skip(start) {
        if byte == b'\\' {
            run += 1;
        } else {
            // The closing quote has as many backslashes as the opening one: more belong to the value.
            if byte == mark && (run == slashes || (slashes == 0 && run % 2 == 0)) {
                let inner = if slashes == 0 { i } else { i - slashes };
                return Some(Value { span: start..inner, quoted: true, end: i + 1 });
            }
            run = 0;
        }
    }
    let end = line.len() - usize::from(line.ends_with(b"\n"));
    Some(Value { span: start..end.max(start), quoted: true, end: end.max(start) })
}

/// A bare value: up to white space, a quote, a bracket or a separator. A comma ends it only before
/// white space or the next `name=`, because passwords have commas.
fn bare(line: &[u8], at: usize) -> Value {
    let rest = line.get(at..).unwrap_or_default();
    let len = rest
        .iter()
        .enumerate()
        .position(|(i, b)| match b {
            b',' => comma_ends(rest.get(i + 1..).unwrap_or_default()),
            b'"' | b'\'' | b')' | b']' | b'}' | b';' | b'&' | b'|' | b'`' => true,
            _ => b.is_ascii_whitespace(),
        })
        .unwrap_or(rest.len());
    Value { span: at..at + len, quoted: false, end: at + len }
}

fn comma_ends(rest: &[u8]) -> bool {
    let name =
        rest.iter().take_while(|b| b.is_ascii_alphanumeric() || b"_-.\"' ".contains(b)).count();
    rest.first().is_none_or(u8::is_ascii_whitespace)
        || (name > 0 && matches!(rest.get(name), Some(b'=' | b':')))
}

/// Every value inside the brackets that open at `at`; names before a colon are left.
fn listed(line: &[u8], at: usize) -> (Vec<Value>, usize) {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut i = at;
    while let Some(byte) = line.get(i) {
        match byte {
            b'[' | b'(' | b'{' => depth += 1,
            b']' | b')' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'`' => {}
            _ => {
                let one = value(line, i);
                let behind = line.get(one.end..).unwrap_or_default().trim_ascii_start();
                i = one.end.max(i + 1);
                if !behind.starts_with(b":") {
                    found.push(one);
                }
                continue;
            }
        }
        i += 1;
    }
    (found, i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_their_notation_ends() {
        for (line, found) in [
            ("abc def", vec!["abc"]),
            ("'a b', x=1", vec!["a b"]),
            (r#""a\"b", x"#, vec![r#"a\"b"#]),
            (r#"\"ab\", x"#, vec!["ab"]),
            ("b'ab')", vec!["ab"]),
            ("a,b, c", vec!["a,b"]),
            ("a,port=80", vec!["a"]),
            ("SecretStr('a b'), c", vec!["a b"]),
            ("['a', \"b\"], c", vec!["a", "b"]),
            ("{'x': 'a', 'y': ['b']}", vec!["a", "b"]),
            ("'never closed\n", vec!["never closed"]),
            ("[a, b", vec!["a", "b"]),
            ("", vec![]),
        ] {
            let texts: Vec<_> = values(line.as_bytes(), 0)
                .0
                .into_iter()
                .map(|value| line[value.span].to_owned())
                .collect();
            assert_eq!(texts, found, "{line}");
        }
    }
}
