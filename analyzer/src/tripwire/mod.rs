//! The tripwires: one file each, listed once below.
//!
//! A file declares its tripwire with `tripwire!`, whose doc comment is the published page, and
//! gives a pure function from evidence to verdict. Its tests are data: cases in the text form of
//! `example`, and one mutation that flips a verdict; the tests of this module run them.

#[cfg(test)]
pub(crate) mod example;
mod starts;

use crate::evidence::{Missing, Point, Run, Scope};
use crate::finding::{Finding, FindingScope, Status, Verdict};

/// A tripwire as data.
#[derive(Debug)]
pub struct Tripwire {
    /// Its permanent code, e.g. `T8`.
    pub code: &'static str,
    /// Its name, which says the fault.
    pub slug: &'static str,
    /// The first version that has it.
    pub since: &'static str,
    /// One line, lower case.
    pub summary: &'static str,
    /// The published page, in Markdown.
    pub doc: &'static str,
    /// Record kinds of a bundle it reads.
    pub needs: &'static [&'static str],
    /// Tripwires whose finding, of the same scope, causes this one's.
    pub explained_by: &'static [&'static str],
    /// Its thresholds.
    pub thresholds: &'static [Threshold],
    /// How it judges.
    pub check: Check,
    /// What is particular to an engine, by its short name.
    pub notes: &'static [(&'static str, &'static str)],
}

/// A threshold with where it comes from.
#[derive(Debug)]
pub struct Threshold {
    /// The constant's name.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Meaning and source.
    pub doc: &'static str,
}

/// What a check looks at.
#[derive(Debug)]
pub enum Check {
    /// One load point and one group of replicas.
    Point(fn(&Scope<'_>) -> Result<Verdict, Missing>),
    /// One run as a whole: its start, its host.
    Run(fn(&Run) -> Result<Verdict, Missing>),
    /// Several starts beside each other.
    Starts(fn(&[Run]) -> Result<Verdict, Missing>),
}

/// Declares a tripwire. The doc comment is its page; thresholds are constants with their source.
macro_rules! tripwire {
    (
        $(#[doc = $doc:literal])*
        $name:ident {
            code: $code:literal,
            slug: $slug:literal,
            since: $since:literal,
            summary: $summary:literal,
            needs: [$($kind:literal),* $(,)?],
            explained_by: [$($cause:literal),* $(,)?],
            check: $check:expr,
            $( notes: { $($engine:literal: $note:literal),* $(,)? }, )?
        }
        $( thresholds { $( $(#[doc = $tdoc:literal])+ $tname:ident = $value:expr; )* } )?
    ) => {
        $( $( $(#[doc = $tdoc])+ const $tname: f64 = $value; )* )?

        $(#[doc = $doc])*
        pub(super) static $name: $crate::tripwire::Tripwire = $crate::tripwire::Tripwire {
            code: $code,
            slug: $slug,
            since: $since,
            summary: $summary,
            doc: concat!($($doc, "\n"),*),
            needs: &[$($kind),*],
            explained_by: &[$($cause),*],
            thresholds: &[$($( $crate::tripwire::Threshold {
                name: stringify!($tname),
                value: $tname,
                doc: concat!($($tdoc, "\n"),+),
            } ),*)?],
            check: $check,
            notes: &[$( $(($engine, $note)),* )?],
        };
    };
}

/// Lists the tripwires once, in the order of their codes.
macro_rules! tripwires {
    ($($module:ident $name:ident),* $(,)?) => {
        $( mod $module; )*

        /// Every tripwire, in the order of their codes.
        pub static TRIPWIRES: &[&Tripwire] = &[$( &$module::$name ),*];

        /// Each tripwire's cases and mutation.
        #[cfg(test)]
        static CASES: &[(&Tripwire, &[example::Case], &example::Mutation)] =
            &[$( (&$module::$name, $module::tests::CASES, &$module::tests::MUTATION) ),*];
    };
}

tripwires! {
    t01_silent_preemption T01_SILENT_PREEMPTION,
    t02_orphaned_engine T02_ORPHANED_ENGINE,
    t04_pool_size_jump T04_POOL_SIZE_JUMP,
    t05_large_kv_blocks T05_LARGE_KV_BLOCKS,
    t06_backend_ignored T06_BACKEND_IGNORED,
    t07_crash_after_ready T07_CRASH_AFTER_READY,
    t08_concurrency_not_reached T08_CONCURRENCY_NOT_REACHED,
    t09_falling_ceiling T09_FALLING_CEILING,
    t10_integer_second_timer T10_INTEGER_SECOND_TIMER,
    t11_kv_memory_drift T11_KV_MEMORY_DRIFT,
    t12_unexplained_failure T12_UNEXPLAINED_FAILURE,
    t13_stale_waiter T13_STALE_WAITER,
    t14_null_block T14_NULL_BLOCK,
    t15_client_server_mismatch T15_CLIENT_SERVER_MISMATCH,
    t16_server_restarted T16_SERVER_RESTARTED,
    t22_prefix_cache_warm T22_PREFIX_CACHE_WARM,
    t23_output_cut_short T23_OUTPUT_CUT_SHORT,
    t24_failures_uncounted T24_FAILURES_UNCOUNTED,
    t27_replica_imbalance T27_REPLICA_IMBALANCE,
    t39_client_figures_impossible T39_CLIENT_FIGURES_IMPOSSIBLE,
}

/// The tripwire with that code or name.
pub fn named(name: &str) -> Option<&'static Tripwire> {
    TRIPWIRES
        .iter()
        .copied()
        .find(|t| t.code.eq_ignore_ascii_case(name) || t.slug.eq_ignore_ascii_case(name))
}

/// Position of a code in the order of reports.
pub fn order(code: &str) -> usize {
    TRIPWIRES.iter().position(|t| t.code == code).unwrap_or(TRIPWIRES.len())
}

/// The findings about one run, in the order of the tripwires and of its points.
pub fn judge(run: &Run, chosen: &[&'static Tripwire]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let groups = run.groups();
    for tripwire in chosen {
        match tripwire.check {
            Check::Point(check) => {
                for point in &run.points {
                    for group in &groups {
                        let mut verdict = check(&Scope { run, point, group });
                        if let Some(place) = printed_at(tripwire, point) {
                            verdict = verdict.map(|verdict| {
                                let how = format!("printed by the load tool ({place})");
                                verdict.with("client_result", how)
                            });
                        }
                        let scope =
                            FindingScope { point: point.name.clone(), source: group.name.clone() };
                        findings.push(finding(tripwire, scope, verdict));
                    }
                }
            }
            Check::Run(check) => {
                findings.push(finding(tripwire, FindingScope::default(), check(run)));
            }
            Check::Starts(_) => {}
        }
    }
    explain(&mut findings);
    findings
}

/// Where the load tool printed what a tripwire that reads its result went by.
fn printed_at<'a>(tripwire: &Tripwire, point: &'a Point) -> Option<&'a str> {
    let reads = tripwire.needs.contains(&"file");
    point.result.as_ref()?.printed.as_deref().filter(|_| reads)
}

/// The findings that need several starts.
pub fn compare(runs: &[Run], chosen: &[&'static Tripwire]) -> Vec<Finding> {
    let verdict = |tripwire: &&'static Tripwire| match tripwire.check {
        Check::Starts(check) => Some(finding(tripwire, FindingScope::default(), check(runs))),
        _ => None,
    };
    chosen.iter().filter_map(verdict).collect()
}

fn finding(
    tripwire: &'static Tripwire,
    scope: FindingScope,
    verdict: Result<Verdict, Missing>,
) -> Finding {
    let verdict = verdict.unwrap_or_else(Verdict::from);
    Finding::new(tripwire.code, tripwire.slug, scope, verdict)
}

/// Names, for each finding that caught something, the one of the same scope that causes it.
fn explain(findings: &mut [Finding]) {
    let caught: Vec<(&'static str, FindingScope)> = findings
        .iter()
        .filter(|f| matches!(f.status, Status::Fail | Status::Warn))
        .map(|f| (f.tripwire, f.scope.clone()))
        .collect();
    for finding in findings.iter_mut() {
        if !matches!(finding.status, Status::Fail | Status::Warn) {
            continue;
        }
        let causes = named(finding.tripwire).map_or(&[][..], |t| t.explained_by);
        finding.explained_by = causes
            .iter()
            .copied()
            .find(|code| caught.iter().any(|(c, scope)| c == code && *scope == finding.scope));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferlint_schema::record::KINDS;

    const HEADINGS: [&str; 6] = [
        "# What it checks",
        "# Why it matters",
        "# How it decides",
        "# What to do",
        "# When it cannot tell",
        "# References",
    ];

    #[test]
    fn codes_ascend_and_names_say_the_fault() {
        let number = |t: &Tripwire| t.code[1..].parse::<u32>().unwrap();
        for pair in TRIPWIRES.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{} after {}", pair[1].code, pair[0].code);
        }
        for t in TRIPWIRES {
            assert!(t.slug.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", t.slug);
            for prefix in ["no-", "check-", "avoid-"] {
                assert!(!t.slug.starts_with(prefix), "{}: a name says the fault", t.slug);
            }
            let first = t.summary.chars().next().unwrap();
            assert!(first.is_lowercase() || t.summary.starts_with("KV"), "{}", t.summary);
            assert!(!t.summary.ends_with('.'), "{}", t.summary);
        }
    }

    #[test]
    fn every_page_has_its_headings_in_order() {
        for t in TRIPWIRES {
            let found: Vec<&str> =
                t.doc.lines().map(str::trim).filter(|line| line.starts_with("# ")).collect();
            assert_eq!(found, HEADINGS, "{}", t.code);
        }
    }

    #[test]
    fn needs_are_record_kinds_and_causes_are_not_itself() {
        for t in TRIPWIRES {
            for need in t.needs {
                assert!(KINDS.iter().any(|kind| kind.name == *need), "{}: {need}", t.code);
            }
            assert!(!t.explained_by.contains(&t.code));
        }
    }

    #[test]
    fn thresholds_have_a_source() {
        for t in TRIPWIRES {
            for threshold in t.thresholds {
                assert!(threshold.doc.trim().len() > 20, "{}.{}", t.code, threshold.name);
            }
        }
    }

    #[test]
    fn notes_are_of_engines() {
        for t in TRIPWIRES {
            for (engine, note) in t.notes {
                assert!(crate::engine::Engine::named(engine).is_some(), "{}: {engine}", t.code);
                assert!(note.ends_with('.'), "{}: {note}", t.code);
            }
        }
    }

    #[test]
    fn every_case_comes_out_as_it_says() {
        let mut wrong = Vec::new();
        for (tripwire, cases, _) in CASES {
            for case in *cases {
                let found = example::Case::judge(tripwire, case.evidence);
                let at = format!("{} {}: {}", tripwire.code, case.name, found.message);
                if found.status != case.status {
                    wrong.push(format!("{:?}, not {:?}: {at}", found.status, case.status));
                }
                for word in case.says.iter().filter(|word| !found.message.contains(**word)) {
                    wrong.push(format!("{word:?} is not said: {at}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_tripwire_trips_clears_and_cannot_tell() {
        for (tripwire, cases, _) in CASES {
            let has = |wanted: &[Status]| cases.iter().any(|case| wanted.contains(&case.status));
            assert!(has(&[Status::Fail, Status::Warn]), "{} never trips", tripwire.code);
            assert!(has(&[Status::Pass]), "{} never passes", tripwire.code);
            assert!(has(&[Status::Unknown]), "{} can always tell", tripwire.code);
        }
    }

    #[test]
    fn a_mutation_of_the_evidence_flips_the_verdict() {
        for (tripwire, cases, mutation) in CASES {
            let case = cases.iter().find(|case| case.name == mutation.case).unwrap();
            let evidence = case.evidence.replace(mutation.find, mutation.replace);
            assert_ne!(evidence, case.evidence, "{}: nothing was changed", tripwire.code);
            assert_ne!(mutation.becomes, case.status, "{}: nothing flips", tripwire.code);
            let found = example::Case::judge(tripwire, &evidence);
            assert_eq!(found.status, mutation.becomes, "{}: {}", tripwire.code, found.message);
        }
    }

    #[test]
    fn a_verdict_on_a_printed_result_says_where_it_was_printed() {
        let cases = t15_client_server_mismatch::tests::CASES;
        for (name, place) in [
            ("printed, not saved", Some("printed by the load tool (load.log, line 2)")),
            ("agree", None),
        ] {
            let case = cases.iter().find(|case| case.name == name).unwrap();
            let findings = judge(&example::run(case.evidence), TRIPWIRES);
            let said = |code: &str| {
                let finding = findings.iter().find(|finding| finding.tripwire == code).unwrap();
                finding.evidence.get("client_result").and_then(|value| value.as_str())
            };
            assert_eq!((said("T15"), said("T39"), said("T14")), (place, place, None));
        }
    }

    #[test]
    fn a_cause_of_the_same_scope_is_named() {
        let run = example::run(t01_silent_preemption::tests::CASES[0].evidence);
        let findings = judge(&run, TRIPWIRES);
        let t1 = findings.iter().find(|f| f.tripwire == "T1").unwrap();
        assert_eq!(t1.explained_by, Some("T9"), "{findings:#?}");
    }
}
