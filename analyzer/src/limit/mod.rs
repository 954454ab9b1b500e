//! What limited a run: arithmetic on numbers that the report shows, one file a card.
//!
//! A card says nothing without its numbers, and names where each of them comes from. Adding one
//! adds a file and a line in [`CARDS`].

mod cache;
mod concurrency;
mod queue;
mod server;

use crate::evidence::{Run, Scope};
use crate::finding::FindingScope;

/// One statement about what held a run back, or did not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Short name of its kind, e.g. `cache`.
    pub key: &'static str,
    /// What it says, in a few words.
    pub title: &'static str,
    /// The numbers, and where they come from.
    pub text: String,
    /// How much it matters.
    pub tone: Tone,
}

/// How much a statement matters; the most decisive first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// This held the run back.
    Limit,
    /// A figure to know when the run's numbers are read.
    Note,
    /// This did not hold the run back.
    Ok,
}

impl Tone {
    /// As JSON has it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Note => "note",
            Self::Ok => "ok",
        }
    }
}

/// Most statements about one load point: a fourth explains nothing that three did not.
const MOST: usize = 3;

/// Share of the KV cache in use from which it limits how many requests run: a step of the pool below
/// full, as for T8 and T9.
const SATURATED: f64 = 0.9;

/// The cards, causes before what they lead to. `None`: a card's numbers are missing.
static CARDS: &[fn(&Scope<'_>) -> Option<Limit>] =
    &[server::card, cache::card, queue::card, concurrency::card];

/// What limited one load point of one group of replicas: the most decisive first.
pub fn of(scope: &Scope<'_>) -> Vec<Limit> {
    let mut limits: Vec<Limit> = CARDS.iter().filter_map(|card| card(scope)).collect();
    limits.sort_by_key(|limit| limit.tone);
    limits.truncate(MOST);
    limits
}

/// What limited each load point and group of replicas of a run.
pub fn of_run(run: &Run) -> Vec<(FindingScope, Limit)> {
    let mut limits = Vec::new();
    for point in &run.points {
        for group in &run.groups() {
            let scope = FindingScope { point: point.name.clone(), source: group.name.clone() };
            let found = of(&Scope { run, point, group });
            limits.extend(found.into_iter().map(|limit| (scope.clone(), limit)));
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{self, Inputs};
    use crate::tripwire::example;
    use std::path::PathBuf;

    /// Evidence, and what one card says of it.
    pub(super) struct Case {
        pub(super) name: &'static str,
        pub(super) evidence: &'static str,
        /// `None`: the card says nothing.
        pub(super) tone: Option<Tone>,
        pub(super) says: &'static [&'static str],
    }

    type Card = fn(&Scope<'_>) -> Option<Limit>;

    const CASES: &[(Card, &[Case])] = &[
        (server::card, server::tests::CASES),
        (cache::card, cache::tests::CASES),
        (queue::card, queue::tests::CASES),
        (concurrency::card, concurrency::tests::CASES),
    ];

    fn on<T>(run: &Run, ask: impl Fn(&Scope<'_>) -> T) -> T {
        let group = &run.groups()[0];
        ask(&Scope { run, point: &run.points[0], group })
    }

    #[test]
    fn every_card_says_what_its_numbers_are() {
        let mut wrong = Vec::new();
        for (card, case) in
            CASES.iter().flat_map(|(card, cases)| cases.iter().map(move |c| (card, c)))
        {
            let found = on(&example::run(case.evidence), card);
            if found.as_ref().map(|limit| limit.tone) != case.tone {
                wrong.push(format!("{}: not {:?}: {found:#?}", case.name, case.tone));
            }
            let text = found.map_or(String::new(), |limit| limit.text);
            for word in case.says.iter().filter(|word| !text.contains(**word)) {
                wrong.push(format!("{}: {word:?} is not said: {text}", case.name));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_card_has_a_case_with_and_without_its_numbers() {
        assert_eq!(CASES.len(), CARDS.len());
        for (_, cases) in CASES {
            assert!(cases.iter().any(|case| case.tone.is_none()));
            assert!(cases.iter().any(|case| matches!(case.tone, Some(Tone::Limit | Tone::Note))));
        }
    }

    #[test]
    fn the_most_decisive_come_first_and_there_are_at_most_three() {
        for case in CASES.iter().flat_map(|(_, cases)| *cases) {
            let limits = on(&example::run(case.evidence), of);
            assert!(limits.len() <= MOST);
            assert!(limits.is_sorted_by_key(|limit| limit.tone), "{}", case.name);
        }
    }

    #[test]
    fn nothing_recorded_limits_nothing() {
        assert!(on(&example::run(""), of).is_empty());
    }

    /// The recorded runs beside the checkout, where there are any.
    fn recorded(run: &str) -> Option<Run> {
        let root = std::env::var_os("INFERLINT_RECORDED").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/recorded")),
            PathBuf::from,
        );
        let path = root.join(run);
        if !path.is_dir() {
            eprintln!("skipped: no recorded run {run}");
            return None;
        }
        let inputs = Inputs { paths: vec![path], ..Inputs::default() };
        load::open(&inputs).unwrap().pop()
    }

    #[test]
    fn recorded_runs_were_limited_by_what_is_known_of_them() {
        type Said = (&'static str, Tone, &'static [&'static str]);
        let table: &[(&str, &[Said])] = &[
            (
                "vllm-0.30/qwen3-8b-start1",
                &[
                    ("cache", Tone::Limit, &["34,816 tokens", "32,336", "29 fit"]),
                    ("queue", Tone::Ok, &["562 ms", "630 ms"]),
                    ("concurrency", Tone::Ok, &["29.6 requests", "1,274.0"]),
                ],
            ),
            (
                "vllm-0.28/live",
                &[
                    ("cache", Tone::Limit, &["784 tokens forced"]),
                    ("queue", Tone::Limit, &["queue 54%"]),
                    ("concurrency", Tone::Note, &["8.0 requests"]),
                ],
            ),
            (
                "sglang-0.5/capped",
                &[
                    ("server", Tone::Limit, &["at most 1 request", "5 state slots"]),
                    ("queue", Tone::Limit, &["queue 94%"]),
                    ("concurrency", Tone::Note, &["1.0 requests"]),
                ],
            ),
            (
                "trtllm-1.3/pauses",
                &[
                    ("cache", Tone::Limit, &["20,960", "19 fit"]),
                    ("queue", Tone::Note, &["337 ms"]),
                    ("concurrency", Tone::Note, &["13,069", "2,816"]),
                ],
            ),
        ];
        for (name, expected) in table {
            let Some(run) = recorded(name) else { continue };
            let limits = on(&run, of);
            assert_eq!(limits.len(), expected.len(), "{name}: {limits:#?}");
            for (limit, (key, tone, says)) in limits.iter().zip(*expected) {
                // The page cuts longer texts.
                assert!(limit.text.chars().count() <= 600, "{name}: {}", limit.text);
                assert_eq!((limit.key, limit.tone), (*key, *tone), "{name}: {limit:#?}");
                for word in *says {
                    assert!(limit.text.contains(word), "{name}: {word:?}: {}", limit.text);
                }
            }
        }
    }
}
