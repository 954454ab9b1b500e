//! The Prometheus text format 0.0.4, and as much of OpenMetrics as servers send unasked.
//!
//! Nothing is copied and nothing panics: a line that is not understood is counted and named, the
//! others are kept. Series are kept as exposed; [`SeriesName`] takes one apart.

use crate::limits;
use crate::record::Family;
use std::collections::BTreeMap;

/// One sample line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// Name and labels as exposed, e.g. `vllm:num_requests_running{engine="0"}`.
    pub series: &'a [u8],
    /// The value as written.
    pub value: &'a [u8],
    /// The value.
    pub number: f64,
    /// The line's own timestamp in Unix ms, where it has one.
    pub stamp_ms: Option<i64>,
}

/// Why a line was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// A metric name with an illegal character, or none.
    Name,
    /// Labels that do not end, or are not `name="value"`.
    Labels,
    /// The same label twice.
    DuplicateLabel,
    /// No value, or one that is no decimal number.
    Value,
    /// A timestamp that is no number.
    Timestamp,
    /// Something behind the timestamp.
    Trailing,
    /// A name, a label or their number over the limits.
    TooLong,
    /// The last line has no line feed: the body was cut, its value may be too.
    Cut,
}

/// A refused line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// Line number from 1.
    pub line: usize,
    /// Why.
    pub refusal: Refusal,
}

/// Refused lines that are named; further ones are counted only.
pub const PROBLEMS: usize = 20;

/// A parsed exposition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exposition<'a> {
    /// The samples in order.
    pub samples: Vec<Sample<'a>>,
    /// TYPE, HELP and UNIT of the metric families.
    pub families: BTreeMap<String, Family>,
    /// The first [`PROBLEMS`] refused lines.
    pub problems: Vec<Problem>,
    /// All refused lines.
    pub refused: u64,
}

impl<'a> Exposition<'a> {
    /// The value of the series written exactly as `series`.
    pub fn value(&self, series: &str) -> Option<f64> {
        self.samples.iter().find(|s| s.series == series.as_bytes()).map(|s| s.number)
    }

    fn refuse(&mut self, line: usize, refusal: Refusal) {
        self.refused += 1;
        if self.problems.len() < PROBLEMS {
            self.problems.push(Problem { line, refusal });
        }
    }

    fn line(&mut self, number: usize, line: &'a [u8]) {
        let line = trim(line);
        match line.first() {
            None => {}
            Some(b'#') => self.comment(line),
            Some(_) => match sample(line) {
                Ok(sample) => self.samples.push(sample),
                Err(refusal) => self.refuse(number, refusal),
            },
        }
    }

    /// `# TYPE name type`, `# HELP name text`, `# UNIT name unit`; any other comment is nothing.
    fn comment(&mut self, line: &[u8]) {
        let rest = trim(line.get(1..).unwrap_or_default());
        let (keyword, rest) = word(rest);
        if !matches!(keyword, b"TYPE" | b"HELP" | b"UNIT") {
            return;
        }
        let (name, text) = word(rest);
        if name.is_empty() || name.len() > limits::NAME_BYTES {
            return;
        }
        let family = self.families.entry(String::from_utf8_lossy(name).into_owned()).or_default();
        match keyword {
            b"TYPE" => family.ty = Some(String::from_utf8_lossy(text).into_owned()),
            b"UNIT" => family.unit = Some(String::from_utf8_lossy(text).into_owned()),
            _ => family.help = Some(text.into()),
        }
    }
}

/// Parses the body of a `/metrics` answer.
///
/// A last line without a line feed is refused as [`Refusal::Cut`] unless it is a comment: nothing
/// tells `12` from the beginning of `123`.
pub fn parse(body: &[u8]) -> Exposition<'_> {
    let mut exposition = Exposition::default();
    let mut at = 0;
    let mut number = 0;
    while let Some(rest) = body.get(at..)
        && !rest.is_empty()
    {
        number += 1;
        if let Some(end) = memchr::memchr(b'\n', rest) {
            exposition.line(number, rest.get(..end).unwrap_or_default());
            at += end + 1;
        } else {
            let rest = trim(rest);
            if rest.first() == Some(&b'#') {
                exposition.comment(rest);
            } else if !rest.is_empty() {
                exposition.refuse(number, Refusal::Cut);
            }
            break;
        }
    }
    exposition
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn trim(mut line: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = line
        && is_blank(*first)
    {
        line = rest;
    }
    while let [rest @ .., last] = line
        && is_blank(*last)
    {
        line = rest;
    }
    line
}

/// The first word and what follows it, without the blanks between.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(|b| is_blank(*b)).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    (word, trim(rest))
}

/// The number a value token stands for: decimal, `NaN` or infinity in any case.
pub(crate) fn number(token: &[u8]) -> Option<f64> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

fn sample(line: &[u8]) -> Result<Sample<'_>, Refusal> {
    let end = series_end(line)?;
    let (series, rest) = line.split_at(end);
    let (value, rest) = word(trim(rest));
    let number = number(value).ok_or(Refusal::Value)?;
    let (stamp, rest): (&[u8], _) =
        if rest.first() == Some(&b'#') { (&[], rest) } else { word(rest) };
    let stamp_ms = if stamp.is_empty() { None } else { Some(timestamp(stamp)?) };
    // OpenMetrics appends exemplars behind `#`.
    if !rest.is_empty() && rest.first() != Some(&b'#') {
        return Err(Refusal::Trailing);
    }
    Ok(Sample { series, value, number, stamp_ms })
}

/// Whole numbers are milliseconds (0.0.4), decimal ones seconds (OpenMetrics).
fn timestamp(token: &[u8]) -> Result<i64, Refusal> {
    let text = std::str::from_utf8(token).map_err(|_| Refusal::Timestamp)?;
    if let Ok(ms) = text.parse() {
        return Ok(ms);
    }
    let seconds: f64 = text.parse().map_err(|_| Refusal::Timestamp)?;
    let ms = seconds * 1e3;
    if ms.is_finite() && ms.abs() < 9e15 { Ok(ms.round() as i64) } else { Err(Refusal::Timestamp) }
}

/// Where name and labels end.
fn series_end(line: &[u8]) -> Result<usize, Refusal> {
    let mut pairs = Pairs::begin(line)?;
    let mut seen: Vec<&[u8]> = Vec::new();
    while let Some((name, value)) = pairs.next()? {
        if name.len() > limits::NAME_BYTES
            || value.len() > limits::LABEL_VALUE_BYTES
            || seen.len() >= limits::LABELS
        {
            return Err(Refusal::TooLong);
        }
        if seen.contains(&name) {
            return Err(Refusal::DuplicateLabel);
        }
        seen.push(name);
    }
    if pairs.metric.is_empty() {
        return Err(Refusal::Name);
    }
    if pairs.metric.len() > limits::NAME_BYTES {
        return Err(Refusal::TooLong);
    }
    Ok(pairs.at)
}

/// A label's name and its value, escapes as they are.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// Walks a series: the metric's name, then one label after the other.
struct Pairs<'a> {
    line: &'a [u8],
    at: usize,
    metric: &'a [u8],
    braces: bool,
    /// A comma, or nothing yet, stands before the next label.
    separated: bool,
}

impl<'a> Pairs<'a> {
    fn begin(line: &'a [u8]) -> Result<Self, Refusal> {
        let name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':');
        let len = line.iter().position(|b| !name(b)).unwrap_or(line.len());
        if line.first().is_some_and(u8::is_ascii_digit) {
            return Err(Refusal::Name);
        }
        let mut pairs = Self {
            line,
            at: len,
            metric: line.get(..len).unwrap_or_default(),
            braces: false,
            separated: true,
        };
        pairs.skip_blanks();
        if pairs.peek() == Some(b'{') {
            pairs.at += 1;
            pairs.braces = true;
        } else {
            pairs.at = len;
            if len == 0 || !line.get(len).is_none_or(|b| is_blank(*b)) {
                return Err(Refusal::Name);
            }
        }
        Ok(pairs)
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Result<Option<Pair<'a>>, Refusal> {
        loop {
            if !self.braces {
                return Ok(None);
            }
            self.skip_blanks();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    self.braces = false;
                    return Ok(None);
                }
                Some(b',') if !self.separated => {
                    self.at += 1;
                    self.separated = true;
                    continue;
                }
                _ if !self.separated => return Err(Refusal::Labels),
                _ => {}
            }
            let quoted = self.peek() == Some(b'"');
            let name = if quoted { self.quoted()? } else { self.label_name() };
            self.skip_blanks();
            self.separated = false;
            if self.peek() == Some(b'=') {
                self.at += 1;
                self.skip_blanks();
                if name.is_empty() || self.peek() != Some(b'"') {
                    return Err(Refusal::Labels);
                }
                return Ok(Some((name, self.quoted()?)));
            }
            // A quoted word alone is a UTF-8 metric name.
            if !quoted || !self.metric.is_empty() {
                return Err(Refusal::Labels);
            }
            self.metric = name;
        }
    }

    fn label_name(&mut self) -> &'a [u8] {
        let from = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
        self.line.get(from..self.at).unwrap_or_default()
    }

    /// What stands between the quotes, escapes as they are.
    fn quoted(&mut self) -> Result<&'a [u8], Refusal> {
        self.at += 1;
        let from = self.at;
        loop {
            let rest = self.line.get(self.at..).unwrap_or_default();
            let step = memchr::memchr2(b'"', b'\\', rest).ok_or(Refusal::Labels)?;
            self.at += step;
            if self.peek() == Some(b'"') {
                let text = self.line.get(from..self.at).unwrap_or_default();
                self.at += 1;
                return Ok(text);
            }
            self.at += 2;
        }
    }
}

/// A series taken apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesName {
    /// The metric's name.
    pub name: String,
    /// Labels in order of exposition, values unescaped.
    pub labels: Vec<(String, String)>,
}

impl SeriesName {
    /// Takes apart a series as [`Sample::series`] has it. `None`: it is none.
    pub fn parse(series: &[u8]) -> Option<Self> {
        let mut pairs = Pairs::begin(series).ok()?;
        let mut labels = Vec::new();
        while let Some((name, value)) = pairs.next().ok()? {
            labels.push((String::from_utf8_lossy(name).into_owned(), unescape(value)));
        }
        if pairs.at != series.len() || pairs.metric.is_empty() {
            return None;
        }
        Some(Self { name: String::from_utf8_lossy(pairs.metric).into_owned(), labels })
    }

    /// The value of label `key`.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// `\\`, `\"` and `\n`; a backslash before anything else stays, as servers in the wild expect.
fn unescape(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    if !text.contains('\\') {
        return text.into_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some(next @ ('\\' | '"'))) => out.push(next),
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line alone: the series, the value and the timestamp, or why it is refused.
    #[test]
    fn edge_cases_of_one_line() {
        type Expected = Result<(&'static str, f64, Option<i64>), Refusal>;
        let long_value = format!("a{{b=\"{}\"}} 1", "x".repeat(1 << 20));
        let many: Vec<String> = (0..65).map(|i| format!("l{i}=\"\"")).collect();
        let many = format!("a{{{}}} 1", many.join(","));
        let cases: &[(&[u8], Expected)] = &[
            (b"a 1", Ok(("a", 1.0, None))),
            (b"a{b=\"c\",} 1", Ok(("a{b=\"c\",}", 1.0, None))),
            (b"a { b = \"c\" , d = \"e\" } 1", Ok(("a { b = \"c\" , d = \"e\" }", 1.0, None))),
            (b"\ta\t{b=\"c\"}\t2 \t", Ok(("a\t{b=\"c\"}", 2.0, None))),
            (br#"a{b="c\"d\\e\nf"} 1"#, Ok((r#"a{b="c\"d\\e\nf"}"#, 1.0, None))),
            (br#"a{b="C:\dir\x"} 1"#, Ok((r#"a{b="C:\dir\x"}"#, 1.0, None))),
            (br##"a{b="# { } x"} 1"##, Ok((r##"a{b="# { } x"}"##, 1.0, None))),
            (br#"a{b=""} 1"#, Ok((r#"a{b=""}"#, 1.0, None))),
            (b"a{} 1", Ok(("a{}", 1.0, None))),
            (b"a +Inf", Ok(("a", f64::INFINITY, None))),
            (b"a -inf", Ok(("a", f64::NEG_INFINITY, None))),
            (b"a Infinity", Ok(("a", f64::INFINITY, None))),
            (b"a 1.5e-3", Ok(("a", 0.0015, None))),
            (b"a 0x10", Err(Refusal::Value)),
            (b"a 1_000", Err(Refusal::Value)),
            (b"a true", Err(Refusal::Value)),
            (b"a", Err(Refusal::Value)),
            (b"a{b=\"c\"}", Err(Refusal::Value)),
            (b"a 1 1395066363000", Ok(("a", 1.0, Some(1_395_066_363_000)))),
            (b"a 1 -5", Ok(("a", 1.0, Some(-5)))),
            (b"a 1 1395066363.123", Ok(("a", 1.0, Some(1_395_066_363_123)))),
            (b"a 1 never", Err(Refusal::Timestamp)),
            (b"a 1 2 3", Err(Refusal::Trailing)),
            (b"a_bucket{le=\"1\"} 4 # {trace=\"x\"} 0.6", Ok(("a_bucket{le=\"1\"}", 4.0, None))),
            (b"vllm:x:y_total 1", Ok(("vllm:x:y_total", 1.0, None))),
            (b"{\"my.metric\", a=\"b\"} 1", Ok(("{\"my.metric\", a=\"b\"}", 1.0, None))),
            (b"{a=\"b\"} 1", Err(Refusal::Name)),
            (b"a{\"l.a\"=\"b\"} 1", Ok(("a{\"l.a\"=\"b\"}", 1.0, None))),
            (b"a{b=\"c\",b=\"d\"} 1", Err(Refusal::DuplicateLabel)),
            (b"a{b=\"c\" 1", Err(Refusal::Labels)),
            (b"a{b=\"c} 1", Err(Refusal::Labels)),
            (b"a{b=c} 1", Err(Refusal::Labels)),
            (b"a{b=\"c\" d=\"e\"} 1", Err(Refusal::Labels)),
            (b"a{,b=\"c\"} 1", Err(Refusal::Labels)),
            (b"a{b=\"c\\", Err(Refusal::Labels)),
            (b"9a 1", Err(Refusal::Name)),
            (b"a-b 1", Err(Refusal::Name)),
            (b"<html> 1", Err(Refusal::Name)),
            (b"a\0b 1", Err(Refusal::Name)),
            (b"a{b=\"\0\"} 1", Ok(("a{b=\"\0\"}", 1.0, None))),
            (long_value.as_bytes(), Err(Refusal::TooLong)),
            (many.as_bytes(), Err(Refusal::TooLong)),
            (b"a \xff", Err(Refusal::Value)),
        ];
        for (line, expected) in cases {
            let body = [line, &b"\n"[..]].concat();
            let parsed = parse(&body);
            let found = match (parsed.samples.first(), parsed.problems.first()) {
                (Some(s), None) => {
                    Ok((std::str::from_utf8(s.series).unwrap(), s.number, s.stamp_ms))
                }
                (None, Some(p)) => Err(p.refusal),
                other => panic!("{line:?}: {other:?}"),
            };
            assert_eq!(found, *expected, "{:?}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn nan_is_a_value() {
        for token in ["NaN", "nan", "NAN"] {
            assert!(parse(format!("a {token}\n").as_bytes()).samples[0].number.is_nan());
        }
    }

    #[test]
    fn invalid_utf8_in_a_label_value_is_kept() {
        let parsed = parse(b"a{b=\"\xff\"} 1\n");
        assert_eq!(parsed.samples[0].series, b"a{b=\"\xff\"}");
    }

    #[test]
    fn types_help_and_other_comments() {
        let parsed = parse(
            b"a 1\r\n# TYPE a counter\r\n# HELP a first\n# HELP a   said\\\\ twice \n# TYPE a gauge\n\
              # HELPER a no\n#TYPE b untyped\n# plain\n# UNIT a seconds\n# EOF",
        );
        let a = &parsed.families["a"];
        assert_eq!(a.ty.as_deref(), Some("gauge"), "the last TYPE holds");
        assert_eq!(a.help, Some("said\\\\ twice".into()));
        assert_eq!(a.unit.as_deref(), Some("seconds"));
        assert_eq!(parsed.families["b"].ty.as_deref(), Some("untyped"));
        assert_eq!((parsed.samples.len(), parsed.refused), (1, 0));
    }

    #[test]
    fn a_cut_last_line_is_dropped_and_counted() {
        let parsed = parse(b"a 1\nb 12");
        assert_eq!(parsed.samples.len(), 1);
        assert_eq!(parsed.problems, [Problem { line: 2, refusal: Refusal::Cut }]);
        assert_eq!(parse(b"a 1\n  ").refused, 0);
        assert_eq!(parse(b""), Exposition::default());
    }

    #[test]
    fn an_html_page_is_all_refused() {
        let parsed = parse(b"<!DOCTYPE html>\n<html>\n<body>404</body>\n</html>\n");
        assert_eq!((parsed.samples.len(), parsed.refused), (0, 4));
    }

    #[test]
    fn problems_are_named_up_to_a_number_and_counted_beyond() {
        let body = "%\n".repeat(100);
        let parsed = parse(body.as_bytes());
        assert_eq!((parsed.problems.len(), parsed.refused), (PROBLEMS, 100));
    }

    #[test]
    fn duplicate_series_are_both_kept() {
        assert_eq!(parse(b"a 1\na 2\n").samples.len(), 2);
    }

    #[test]
    fn a_series_name_is_taken_apart() {
        let name = SeriesName::parse(br#"a:b { c = "d\"e\\f\ng\h" , i="" }"#).unwrap();
        assert_eq!(name.name, "a:b");
        assert_eq!(name.label("c"), Some("d\"e\\f\ng\\h"));
        assert_eq!(name.label("i"), Some(""));
        assert_eq!(name.label("x"), None);
        assert_eq!(SeriesName::parse(b"{\"my.metric\",a=\"b\"}").unwrap().name, "my.metric");
        for bad in [&b""[..], b"a b", b"a{", b"{a=\"b\"}"] {
            assert_eq!(SeriesName::parse(bad), None, "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(body: Vec<u8>) {
            let parsed = parse(&body);
            for sample in &parsed.samples {
                proptest::prop_assert!(SeriesName::parse(sample.series).is_some());
            }
        }

        #[test]
        fn near_misses_never_panic(body in "[a{}=\",\\\\ 1\n#]{0,60}") {
            let parsed = parse(body.as_bytes());
            for sample in &parsed.samples {
                proptest::prop_assert!(SeriesName::parse(sample.series).is_some(), "{:?}", sample);
            }
        }
    }
}
