//! `check`: judge runs.

use crate::cli::{Check, Format, Judging};
use crate::error::InputError;
use crate::evidence::Run;
use crate::finding::{Finding, Status};
use crate::load::{self, Inputs};
use crate::output::{Judged, exit_status, json, text};
use crate::tripwire::{self, TRIPWIRES, Tripwire};

/// A tripwire that the user waives, with the reason.
struct Accepted {
    code: &'static str,
    reason: String,
}

pub(super) fn run(arguments: Check) -> Result<u8, InputError> {
    let judging = arguments.judging;
    let bench = Bench::of(&judging)?;
    let runs = load::open(&Inputs::from(arguments.input))?;
    let judged = bench.judge(&runs);
    let output = match arguments.format {
        Format::Text => text::report(&judged, text::Look::of_stdout()),
        Format::Json => format!("{:#}\n", json::document(&judged)),
    };
    super::print(&output)?;
    Ok(exit_status(&judged, judging.strict))
}

/// The tripwires that judge, and what is waived.
pub(super) struct Bench {
    chosen: Vec<&'static Tripwire>,
    accepted: Vec<Accepted>,
}

impl Bench {
    /// As the command line has it.
    pub(super) fn of(judging: &Judging) -> Result<Self, InputError> {
        Ok(Self { chosen: chosen(&judging.only)?, accepted: accepted(&judging.accept)? })
    }

    /// Everything found about `runs`, each by itself and beside each other.
    pub(super) fn judge<'a>(&self, runs: &'a [Run]) -> Vec<Judged<'a>> {
        let mut judged: Vec<Judged<'a>> = runs
            .iter()
            .map(|run| Judged { run: Some(run), findings: tripwire::judge(run, &self.chosen) })
            .collect();
        let comparison = tripwire::compare(runs, &self.chosen);
        match (runs.len(), judged.first_mut()) {
            (1, Some(only)) => {
                only.findings.extend(comparison);
                only.findings.sort_by_key(|finding| tripwire::order(finding.tripwire));
            }
            _ if !comparison.is_empty() => {
                judged.push(Judged { run: None, findings: comparison });
            }
            _ => {}
        }
        for finding in judged.iter_mut().flat_map(|judged| &mut judged.findings) {
            waive(finding, &self.accepted);
        }
        judged
    }
}

fn chosen(only: &[String]) -> Result<Vec<&'static Tripwire>, InputError> {
    if only.is_empty() {
        return Ok(TRIPWIRES.to_vec());
    }
    let mut chosen = only.iter().map(|name| known(name)).collect::<Result<Vec<_>, _>>()?;
    chosen.sort_by_key(|tripwire| tripwire::order(tripwire.code));
    chosen.dedup_by_key(|tripwire| tripwire.code);
    Ok(chosen)
}

/// The tripwire of that code or name, or an error that says how to find one.
pub(super) fn known(name: &str) -> Result<&'static Tripwire, InputError> {
    tripwire::named(name.trim()).ok_or_else(|| InputError::Call {
        what: format!("no tripwire is called {name:?}"),
        help: "inferlint-analyze explain --all lists them".into(),
    })
}

fn accepted(arguments: &[String]) -> Result<Vec<Accepted>, InputError> {
    let parse = |argument: &String| {
        let (name, reason) = argument.split_once('=').unwrap_or((argument, ""));
        let reason = reason.trim();
        if reason.is_empty() {
            return Err(InputError::Call {
                what: format!("--accept {argument}: no reason"),
                help: "give one, as in --accept T1=\"small cache on purpose\"".into(),
            });
        }
        Ok(Accepted { code: known(name)?.code, reason: reason.to_owned() })
    };
    arguments.iter().map(parse).collect()
}

fn waive(finding: &mut Finding, accepted: &[Accepted]) {
    let Some(waiver) = accepted.iter().find(|waiver| waiver.code == finding.tripwire) else {
        return;
    };
    if matches!(finding.status, Status::Fail | Status::Warn) {
        finding.waive(&waiver.reason);
    }
}
