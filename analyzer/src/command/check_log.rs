//! `check-log`: whether one server log shows a failure, and its cause.

use crate::cli::{CheckLog, Format};
use crate::error::InputError;
use crate::finding::Status;
use crate::load::{self, Inputs, Loose};
use crate::output::{Judged, exit_status, json, text};
use crate::tripwire;

pub(super) fn run(arguments: CheckLog) -> Result<u8, InputError> {
    let inputs = Inputs {
        loose: Loose {
            boot_logs: vec![super::log_path(&arguments.log)],
            kernel_log: arguments.kernel_log,
            server_exit: arguments.server_exit,
            ..Loose::default()
        },
        engine: arguments.engine,
        ..Inputs::default()
    };
    let chosen = [super::check::known("T7")?, super::check::known("T12")?];
    let mut runs = load::open(&inputs)?;
    for run in &mut runs {
        run.name = super::log_name(&arguments.log);
    }
    let judged: Vec<Judged<'_>> = runs
        .iter()
        .map(|run| {
            let mut findings = tripwire::judge(run, &chosen);
            // A log of a start has no requests; that is not what was asked.
            findings.retain(|found| found.tripwire != "T7" || found.status != Status::Unknown);
            Judged { run: Some(run), findings }
        })
        .collect();
    let output = match arguments.format {
        Format::Text => text::report(&judged, text::Look::of_stdout()),
        Format::Json => format!("{:#}\n", json::document(&judged)),
    };
    super::print(&output)?;
    Ok(exit_status(&judged, false))
}
