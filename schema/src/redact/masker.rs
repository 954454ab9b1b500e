//! Applies the rules: to texts, arguments, environments and whole records.

use super::rule::{self, Hits, Rule, UNREADABLE};
use super::seeds::{Known, Seeds};
use super::vocabulary::is_token_like;
use super::{RULES, msgpack, secret_assignment, secret_option};
use crate::record::Text;
use memchr::memchr;
use regex::bytes::{RegexSet, RegexSetBuilder};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

/// Passes over one line until nothing changes; a line that still changes then is unreadable.
const ROUNDS: usize = 8;
/// Distinct values numbered under one name; all further ones share a number.
const DISTINCT: usize = 65_536;

/// Rules whose finds in a command's arguments are secrets to be searched for later.
static LEARNT_FROM: &[&dyn Rule] =
    &[&secret_option::SecretOption, &secret_assignment::SecretAssignment];

/// The hints of all rules, one pattern each in the order of [`RULES`].
static HINTS: LazyLock<RegexSet> = LazyLock::new(|| {
    let hints = RULES.iter().map(|rule| match rule.hint() {
        "" => r"[^\x00-\xff]",
        hint => hint,
    });
    hint_set(hints)
});

#[expect(clippy::expect_used, reason = "the patterns are constants and every test compiles them")]
fn hint_set<'a>(hints: impl Iterator<Item = &'a str>) -> RegexSet {
    RegexSetBuilder::new(hints).unicode(false).build().expect("constant patterns that compile")
}

/// Masks what passes to the file, and counts it.
///
/// One per bundle: equal values get equal numbers only within one masker.
#[derive(Clone)]
pub struct Masker {
    seeds: Seeds,
    /// `None`: the seeds cannot be searched for, nothing passes.
    known: Option<Known>,
    numbers: Numbers,
    counts: BTreeMap<String, u64>,
    /// The logs in which something goes on, by source and stream.
    logs: HashMap<(u64, Vec<u8>), Lines>,
    on: bool,
}

/// The counts, never the values.
impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masker")
            .field("on", &self.on)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

impl Masker {
    /// A masker that knows these values beforehand.
    pub fn new(seeds: Seeds) -> Self {
        let known = Known::new(&seeds);
        Self {
            seeds,
            known,
            numbers: Numbers::new(),
            counts: BTreeMap::new(),
            logs: HashMap::new(),
            on: true,
        }
    }

    /// A masker that changes nothing, for a writer that passes on what is masked already.
    pub fn off() -> Self {
        Self { on: false, ..Self::new(Seeds::default()) }
    }

    /// How many values each rule replaced so far; rules that replaced none are absent.
    pub fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Masks a text line by line; the number of line feeds stays the same. Give whole lines: a
    /// secret that is cut in two is not recognised.
    pub fn text<'a>(&mut self, text: &'a [u8]) -> Cow<'a, [u8]> {
        self.lines(&mut Lines::default(), text)
    }

    /// Masks the next lines of a text that comes piece by piece; `lines` remembers what goes on from
    /// line to line, one for each text. The same as [`Masker::text`] over all of it.
    pub fn lines<'a>(&mut self, lines: &mut Lines, text: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.on || (lines.open.is_none() && !self.is_worth_a_look(text)) {
            return Cow::Borrowed(text);
        }
        let mut out: Vec<u8> = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let len = memchr(b'\n', rest).map_or(rest.len(), |feed| feed + 1);
            let line = rest.get(..len).unwrap_or(rest);
            if let Some(masked) = self.masked(lines, line) {
                out.extend_from_slice(text.get(copied..at).unwrap_or_default());
                out.extend_from_slice(&masked);
                copied = at + len;
            }
            at += len;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Masks the next bytes of a log, one of several that come in turns.
    pub(super) fn log<'a>(&mut self, src: u64, stream: &[u8], text: &'a [u8]) -> Cow<'a, [u8]> {
        let mut lines = self.logs.remove(&(src, stream.to_vec())).unwrap_or_default();
        let masked = self.lines(&mut lines, text);
        if lines.open.is_some() {
            self.logs.insert((src, stream.to_vec()), lines);
        }
        masked
    }

    /// False when no rule can find anything in `text`.
    fn is_worth_a_look(&self, text: &[u8]) -> bool {
        HINTS.is_match(text) || self.known.as_ref().is_none_or(|known| known.any_in(text))
    }

    /// The line masked, `None` when nothing in it is.
    fn masked(&mut self, lines: &mut Lines, line: &[u8]) -> Option<Vec<u8>> {
        let mut masked = match self.goes_on(lines, line) {
            Ok(masked) => masked,
            Err(OutOfLine) => return Some(self.unreadable(line)),
        };
        if lines.open.is_none() && masked.is_none() {
            let hinted = HINTS.matches(line);
            let opens = |(i, rule): &(usize, &&dyn Rule)| hinted.matched(*i) && rule.opens(line);
            let opened = RULES.iter().enumerate().find(opens);
            lines.open = opened.map(|(_, rule)| Open { rule: *rule, bytes: 0 });
        }
        for _ in 0..ROUNDS {
            let now = masked.as_deref().unwrap_or(line);
            match self.round(now) {
                Round::Unchanged => return masked,
                Round::Changed(next) => masked = Some(next),
                Round::Failed => break,
            }
        }
        Some(self.unreadable(line))
    }

    /// What a rule that an earlier line opened changes in this one.
    fn goes_on(&mut self, lines: &mut Lines, line: &[u8]) -> Result<Option<Vec<u8>>, OutOfLine> {
        let Some(Open { rule, bytes }) = lines.open.take() else { return Ok(None) };
        let mut hits = Hits::default();
        let bytes = bytes + line.len();
        if rule.inside(line, bytes, &mut hits) {
            lines.open = Some(Open { rule, bytes });
        }
        let Some((masked, replaced)) = replace(rule, line, hits, &mut self.numbers)? else {
            return Ok(None);
        };
        *self.counts.entry(rule.name().to_owned()).or_default() += replaced;
        Ok(Some(masked))
    }

    /// What stands in place of a line that could not be masked.
    fn unreadable(&mut self, line: &[u8]) -> Vec<u8> {
        *self.counts.entry("unreadable".to_owned()).or_default() += 1;
        let feed: &[u8] = if line.ends_with(b"\n") { b"\n" } else { b"" };
        [UNREADABLE.as_bytes(), feed].concat()
    }

    /// Every rule once.
    fn round(&mut self, line: &[u8]) -> Round {
        let Some(known) = &self.known else { return Round::Failed };
        let hinted = HINTS.matches(line);
        let mut now: Option<Vec<u8>> = None;
        for (i, rule) in RULES.iter().enumerate() {
            if !rule.hint().is_empty() && !hinted.matched(i) && now.is_none() {
                continue;
            }
            let current = now.as_deref().unwrap_or(line);
            match apply(*rule, current, known, &mut self.numbers) {
                Ok(None) => {}
                Ok(Some((next, replaced))) => {
                    *self.counts.entry(rule.name().to_owned()).or_default() += replaced;
                    now = Some(next);
                }
                Err(OutOfLine) => return Round::Failed,
            }
        }
        now.map_or(Round::Unchanged, Round::Changed)
    }

    /// Masks the value of a named entry: as a whole where the name speaks of a secret.
    pub(super) fn named<'a>(&mut self, name: &[u8], value: &'a [u8]) -> Cow<'a, [u8]> {
        let masked = self.text(value);
        if !self.on || !secret_assignment::is_secret(name, &masked) || rule::is_mask(&masked) {
            return masked;
        }
        Cow::Owned(self.mask_as("secret_assignment", &masked))
    }

    /// The replacement of a value found by a rule outside any line; counted.
    fn mask_as(&mut self, rule: &'static str, value: &[u8]) -> Vec<u8> {
        let n = number(&mut self.numbers, rule, value);
        *self.counts.entry(rule.to_owned()).or_default() += 1;
        format!("<{rule}-{n}>").into_bytes()
    }

    /// Masks one record, a MessagePack map as [`crate::record::Record::encode`] writes it: every
    /// string and binary value, and the keys of inner maps. Its own keys and its kind stay. An array
    /// under the key `argv` is masked as arguments. What goes on from one `log` record to the next of
    /// the same source and stream is followed, and `ends` moves with a body that changes. Bytes that
    /// are no whole record become a record of kind `unreadable`.
    pub fn record<'a>(&mut self, raw: &'a [u8]) -> Cow<'a, [u8]> {
        if self.on { msgpack::mask(self, raw) } else { Cow::Borrowed(raw) }
    }

    /// Masks a command's arguments: what follows an option that names a secret is masked whatever it
    /// looks like, and is searched for in everything that comes later.
    pub fn argv(&mut self, argv: &[Text]) -> Vec<Text> {
        if !self.on {
            return argv.to_vec();
        }
        let secret = secret_option::in_argv(argv);
        self.learn(argv, &secret);
        let mut masked: Vec<Text> = argv.to_vec();
        for (i, span) in secret {
            let Some(arg) = argv.get(i).map(Text::as_bytes) else { continue };
            let (option, value) = arg.split_at(span.start);
            if rule::is_mask(value) {
                continue;
            }
            // A value that became a seed goes by the seed's number, as it does everywhere else.
            let mut value = self.text(value).into_owned();
            if !rule::is_mask(&value) {
                value = self.mask_as("secret_option", &value);
            }
            if let Some(place) = masked.get_mut(i) {
                *place = Text::from([option, &value].concat());
            }
        }
        masked.iter().map(|arg| Text::from(self.text(arg.as_bytes()).into_owned())).collect()
    }

    /// Takes the secrets in a command's arguments as seeds.
    fn learn(&mut self, argv: &[Text], secret: &[(usize, Range<usize>)]) {
        let Some(known) = &self.known else { return };
        let before = self.seeds.clone();
        for (i, span) in secret {
            let value = argv.get(*i).and_then(|arg| arg.as_bytes().get(span.clone()));
            self.seeds.secret(value.unwrap_or_default());
        }
        for arg in argv.iter().map(Text::as_bytes) {
            for rule in LEARNT_FROM {
                let mut hits = Hits::default();
                rule.find(arg, known, &mut hits);
                for value in hits.values(arg).into_iter().filter(|value| is_token_like(value)) {
                    self.seeds.secret(value);
                }
            }
        }
        if self.seeds != before {
            self.known = Known::new(&self.seeds);
        }
    }

    /// The variables that may be recorded, masked, and how many are left out.
    pub fn env(
        &mut self,
        env: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> (BTreeMap<String, Text>, u64) {
        let mut allowed = BTreeMap::new();
        let mut left_out = 0;
        for (name, value) in env {
            match name.to_str().filter(|name| super::environment::is_allowed(name)) {
                Some(name) => {
                    let value = self.text(value.as_encoded_bytes()).into_owned();
                    allowed.insert(name.to_owned(), Text::from(value));
                }
                None => left_out += 1,
            }
        }
        (allowed, left_out)
    }
}

/// Where a text that comes line by line stands: inside a private key, for example.
#[derive(Default, Clone)]
pub struct Lines {
    open: Option<Open>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = self.open.as_ref().map(|open| open.rule.name());
        f.debug_struct("Lines").field("open", &rule).finish()
    }
}

/// A rule that goes on, and the bytes of its lines so far.
#[derive(Clone)]
struct Open {
    rule: &'static dyn Rule,
    bytes: usize,
}

/// What one round over a line did.
enum Round {
    Unchanged,
    Changed(Vec<u8>),
    Failed,
}

/// A rule reported a span that is not in the line.
#[derive(Debug)]
struct OutOfLine;

/// Numbers of the distinct values under each name.
type Numbers = HashMap<&'static str, HashMap<Box<[u8]>, usize>>;

/// The line as one rule changes it and how many values it replaced; `None` when it finds none.
fn apply(
    rule: &dyn Rule,
    line: &[u8],
    known: &Known,
    numbers: &mut Numbers,
) -> Result<Option<(Vec<u8>, u64)>, OutOfLine> {
    let mut hits = Hits::default();
    rule.find(line, known, &mut hits);
    replace(rule, line, hits, numbers)
}

/// The line with the hits replaced and how many there were; `None` when there are none.
fn replace(
    rule: &dyn Rule,
    line: &[u8],
    mut hits: Hits,
    numbers: &mut Numbers,
) -> Result<Option<(Vec<u8>, u64)>, OutOfLine> {
    let hits = hits.settle(line).ok_or(OutOfLine)?;
    if hits.is_empty() {
        return Ok(None);
    }
    let mut masked = Vec::with_capacity(line.len());
    let mut copied = 0;
    for hit in &hits {
        masked.extend_from_slice(line.get(copied..hit.span.start).unwrap_or_default());
        let numbered = hit.numbered(line, rule.name());
        let n = numbered.map_or(0, |(name, value)| number(numbers, name, value));
        masked.extend_from_slice(hit.replacement(rule.name(), n).as_bytes());
        copied = hit.span.end;
    }
    masked.extend_from_slice(line.get(copied..).unwrap_or_default());
    Ok(Some((masked, hits.len() as u64)))
}

/// The number of `value` among the distinct values of this name, from 1.
fn number(numbers: &mut Numbers, name: &'static str, value: &[u8]) -> usize {
    let values = numbers.entry(name).or_default();
    if let Some(n) = values.get(value) {
        return *n;
    }
    let n = values.len() + 1;
    if n <= DISTINCT {
        values.insert(value.into(), n);
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Cases;

    /// The seeds that the rules' examples are written for.
    fn test_seeds() -> Seeds {
        let mut seeds = Seeds::default();
        seeds.secret(b"sword&fish");
        seeds.user(b"jdoe");
        seeds.home(b"/srv/people/jdoe");
        seeds.host(b"gpu-17.corp.example");
        seeds.word(b"Zanzibar");
        seeds
    }

    fn alone(rule: &dyn Rule, line: &str) -> String {
        let known = Known::new(&test_seeds()).unwrap();
        let mut numbers = Numbers::new();
        let mut line = line.as_bytes().to_vec();
        for _ in 0..ROUNDS {
            match apply(rule, &line, &known, &mut numbers).unwrap() {
                Some((masked, _)) => line = masked,
                None => return String::from_utf8(line).unwrap(),
            }
        }
        panic!("{}: never settles on {:?}", rule.name(), String::from_utf8_lossy(&line));
    }

    #[test]
    fn every_rule_masks_and_keeps_its_examples() {
        let mut wrong = Vec::new();
        for (i, rule) in RULES.iter().enumerate() {
            let Cases { masks, keeps } = rule.cases();
            assert!(masks.len() >= 5 && keeps.len() >= 5, "{}: five of each", rule.name());
            for (line, masked) in masks {
                let found = alone(*rule, line);
                if found != *masked {
                    wrong.push(format!(
                        "{}: {line}\n   gives {found}\n  wanted {masked}",
                        rule.name()
                    ));
                }
                if !rule.hint().is_empty() && !HINTS.matches(line.as_bytes()).matched(i) {
                    wrong.push(format!("{}: the hint misses {line}", rule.name()));
                }
            }
            for line in keeps {
                let found = alone(*rule, line);
                if found != *line {
                    wrong.push(format!("{}: {line}\n  became {found}", rule.name()));
                }
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    #[test]
    fn masking_twice_changes_nothing() {
        for (line, _) in RULES.iter().flat_map(|rule| rule.cases().masks) {
            let mut masker = Masker::new(test_seeds());
            let once = masker.text(line.as_bytes()).into_owned();
            assert_ne!(once, line.as_bytes());
            assert_eq!(masker.text(&once), once, "{}", String::from_utf8_lossy(&once));
            assert_eq!(Masker::new(Seeds::default()).text(&once), once);
        }
    }

    #[test]
    fn equal_values_get_equal_numbers_and_are_counted() {
        let mut masker = Masker::new(Seeds::default());
        let text = b"/home/ann/x
no change
/home/bob/y /home/ann/z";
        let masked = masker.text(text).into_owned();
        assert_eq!(masked, b"/home/user-1/x\nno change\n/home/user-2/y /home/user-1/z");
        assert_eq!(masker.counts().get("home_dir"), Some(&3));
        assert_eq!(masker.text(b"plain"), &b"plain"[..]);
        assert!(matches!(Masker::off().text(text), Cow::Borrowed(_)));
    }

    fn masked(masker: &mut Masker, argv: &[&str]) -> Vec<String> {
        let argv: Vec<Text> = argv.iter().map(|arg| Text::from(*arg)).collect();
        masker.argv(&argv).iter().map(|arg| arg.lossy().into_owned()).collect()
    }

    #[test]
    fn secret_arguments_are_masked_here_and_in_all_that_follows() {
        let mut masker = Masker::new(Seeds::default());
        let argv = ["vllm", "serve", "m", "--api-key", "swordfish", "x1", "--max-tokens", "5"];
        let expected = [
            "vllm",
            "serve",
            "m",
            "--api-key",
            "<secret-1>",
            "<secret_option-1>",
            "--max-tokens",
            "5",
        ];
        assert_eq!(masked(&mut masker, &argv), expected);
        assert_eq!(masker.text(b"got swordfish"), &b"got <secret-1>"[..]);
        assert_eq!(masked(&mut masker, &expected), expected);
        let argv = ["curl", "-H", "X-Token: a1b2c3d4", "--data={\"api_key\": \"k4k5k6k7\"}"];
        let masks = masked(&mut masker, &argv);
        assert!(!masks.join(" ").contains("a1b2c3d4") && !masks.join(" ").contains("k4k5k6k7"));
        assert_eq!(masker.text(b"k4k5k6k7"), &b"<secret-3>"[..]);
    }

    #[test]
    fn nothing_private_is_shown_for_debugging() {
        let mut masker = Masker::new(test_seeds());
        masker.text(b"sword&fish /home/ann jdoe");
        let shown = format!("{masker:?} {:?} {:?}", test_seeds(), masker.known);
        for private in ["sword", "ann", "jdoe", "gpu-17"] {
            assert!(!shown.contains(private), "{shown}");
        }
    }

    #[test]
    fn the_environment_is_recorded_by_family() {
        let mut masker = Masker::new(Seeds::default());
        let env = [
            ("VLLM_API_KEY", "x"),
            ("VLLM_CACHE_ROOT", "/home/ann/cache"),
            ("CUDA_VISIBLE_DEVICES", "0,1"),
            ("MY_THING", "x"),
        ];
        let (env, left_out) = masker.env(env.map(|(name, value)| (name.into(), value.into())));
        assert_eq!(left_out, 2);
        assert_eq!(env["VLLM_CACHE_ROOT"], Text::from("/home/user-1/cache"));
        assert_eq!(env["CUDA_VISIBLE_DEVICES"], Text::from("0,1"));
    }
}
