//! `inferlint-analyze`: judges a recorded benchmark run.

use clap::Parser;
use inferlint_analyzer::cli::Cli;
use inferlint_analyzer::command;
use inferlint_analyzer::visible::visible_lines;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no error; clap prints them to stdout.
            let wrong = error.use_stderr();
            let _ = error.print();
            return ExitCode::from(if wrong { command::UNUSABLE } else { 0 });
        }
    };
    match command::run(cli) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            // What it quotes comes from the input.
            let error = visible_lines(&error.to_string());
            let _ = writeln!(std::io::stderr(), "inferlint-analyze: {error}");
            ExitCode::from(command::UNUSABLE)
        }
    }
}
