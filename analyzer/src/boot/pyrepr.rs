//! Reads the argument lists that Python servers print: a dictionary, a call, or bare pairs.
//!
//! Values may be any `repr` (enums, dataclasses), so nothing is evaluated: the text is only cut at
//! its top level, and a quoted value loses its quotes.

/// `name`, `value` in the order printed. Text that is none of the three forms yields nothing.
///
/// vLLM prints `{'a': 1}` (0.9 on) or `Namespace(a=1)` (0.8), SGLang `{'a': 1}` (0.5.20 on) or
/// `ServerArgs(a=1)`, TensorRT-LLM `a=1 b=Config(c=2)`.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let text = text.trim();
    let (inner, separator, equals) = if let Some(rest) = text.strip_prefix('{') {
        (rest.get(..closing(rest)).unwrap_or(rest), ',', ':')
    } else if let Some((_, rest)) =
        text.split_once('(').filter(|(name, _)| !name.contains(['=', ' ']))
    {
        (rest.get(..closing(rest)).unwrap_or(rest), ',', '=')
    } else {
        (text, ' ', '=')
    };
    cut(inner, separator)
        .filter_map(|entry| {
            let (name, value) = entry.split_at_checked(entry.find(equals)?)?;
            let name = unquoted(name.trim());
            (!name.is_empty()).then(|| {
                (name.to_owned(), unquoted(value.get(1..).unwrap_or("").trim()).to_owned())
            })
        })
        .collect()
}

/// The value of `name` in a printed list, wherever the list stands at top level.
pub(crate) fn value(text: &str, name: &str) -> Option<String> {
    pairs(text).into_iter().find(|(n, _)| n == name).map(|(_, v)| v)
}

fn unquoted(text: &str) -> &str {
    ['\'', '"']
        .iter()
        .find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q).filter(|inner| !inner.contains(*q)))
        .unwrap_or(text)
}

/// Where the bracket that `text` is inside of closes: its end if it does not (a cut line).
fn closing(text: &str) -> usize {
    let mut depth = Depth::default();
    for (at, c) in text.char_indices() {
        if depth.at_top() && matches!(c, '}' | ')') {
            return at;
        }
        depth.see(c);
    }
    text.len()
}

fn cut(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = Depth::default();
    text.split(move |c| {
        let here = depth.at_top() && c == separator;
        depth.see(c);
        here
    })
}

/// How deep inside brackets and quotes a reader is.
#[derive(Default)]
struct Depth {
    brackets: u32,
    quote: Option<char>,
    escaped: bool,
}

impl Depth {
    fn at_top(&self) -> bool {
        self.brackets == 0 && self.quote.is_none()
    }

    fn see(&mut self, c: char) {
        if let Some(quote) = self.quote {
            let closes = c == quote && !self.escaped;
            self.escaped = c == '\\' && !self.escaped;
            if closes {
                self.quote = None;
            }
            return;
        }
        match c {
            '\'' | '"' => self.quote = Some(c),
            '(' | '[' | '{' | '<' => self.brackets += 1,
            ')' | ']' | '}' | '>' => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_printed_form_yields_its_pairs() {
        let want = [("a", "1"), ("b", "{'c': 2, 'd': [3, 4]}"), ("e", "x, y"), ("f", "None")];
        for text in [
            "{'a': 1, 'b': {'c': 2, 'd': [3, 4]}, 'e': 'x, y', 'f': None}",
            "Namespace(a=1, b={'c': 2, 'd': [3, 4]}, e='x, y', f=None)",
            "a=1 b={'c': 2, 'd': [3, 4]} e='x, y' f=None",
        ] {
            let got = pairs(text);
            let got: Vec<_> = got.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            assert_eq!(got, want, "from {text}");
        }
    }

    #[test]
    fn enums_and_nested_objects_stay_whole() {
        let text = "kv=Config(reuse=True, dtype='auto') policy=<Policy.MAX: 'MAX'> n=3";
        assert_eq!(value(text, "kv").as_deref(), Some("Config(reuse=True, dtype='auto')"));
        assert_eq!(value(text, "policy").as_deref(), Some("<Policy.MAX: 'MAX'>"));
        assert_eq!(value(text, "n").as_deref(), Some("3"));
        assert_eq!(value("Config(reuse=True, dtype='auto')", "dtype").as_deref(), Some("auto"));
    }

    #[test]
    fn a_list_cut_short_yields_what_is_there() {
        assert_eq!(pairs("{'a': 1, 'b': 'unfin").len(), 2);
        assert!(pairs("no list here").is_empty());
        assert!(pairs("").is_empty());
    }
}
