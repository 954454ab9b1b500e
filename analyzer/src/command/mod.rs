//! The commands: one file each, from parsed arguments to an exit status.

mod boot_facts;
mod check;
mod check_log;
mod destination;
pub mod explain;
mod extract;
mod import;
mod inspect;
mod recover;
mod report;
mod verify;

use crate::cli::{Cli, Command};
use crate::error::InputError;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Exit status of an input that could not be read and of a wrong call.
pub const UNUSABLE: u8 = 3;

/// Does what the command line says; returns the exit status.
///
/// # Errors
/// When an input is of no use or the call makes no sense; the exit status is then [`UNUSABLE`].
pub fn run(cli: Cli) -> Result<u8, InputError> {
    match cli.command {
        Command::Check(arguments) => check::run(*arguments),
        Command::Report(arguments) => report::run(*arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Recover(arguments) => recover::run(&arguments),
        Command::Extract(arguments) => extract::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::CheckLog(arguments) => check_log::run(arguments),
        Command::BootFacts(arguments) => boot_facts::run(&arguments),
    }
}

/// The file to read for a log named on the command line; `-` is standard input.
fn log_path(named: &Path) -> PathBuf {
    if named == Path::new("-") { PathBuf::from("/dev/stdin") } else { named.to_owned() }
}

/// What the user calls that log.
fn log_name(named: &Path) -> String {
    if named == Path::new("-") { "standard input".into() } else { named.display().to_string() }
}

/// Writes results to stdout. A reader that went away is no error.
fn print(text: &str) -> Result<(), InputError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(InputError::Io { path: "standard output".into(), error })
        }
        _ => Ok(()),
    }
}
