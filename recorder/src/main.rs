//! `inferlint-record`: collects evidence around a serving benchmark, and judges nothing.
//!
//! `cli` says what can be asked, `plan` what it means, `session` how a recording goes.

mod child;
mod cli;
mod clock;
mod collect;
mod error;
mod follow;
mod gate;
mod host;
mod http;
mod load_tool;
mod marks;
mod phase;
mod plan;
mod procfs;
mod results;
mod session;
mod signals;
mod sink;
mod status;
mod stop;
mod watch;

use clap::Parser;
use cli::{Cli, Command};
use error::{Error, exit};
use plan::Plan;
use status::Voice;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // A collector that panics is written down as a gap; its message is no use to a user.
    std::panic::set_hook(Box::new(|_| {}));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed output is no reason for another status.
            let _ = error.print();
            return if error.use_stderr() { exit::WRONG_CALL } else { exit::DONE }.into();
        }
    };
    match run(cli.command) {
        Ok(()) => exit::DONE.into(),
        Err(error) => {
            Voice::new(true).error(&error);
            error.status.into()
        }
    }
}

fn run(command: Command) -> Result<(), Error> {
    let plan = match command {
        Command::Watch(args) => Plan::watch(args)?,
        Command::Snapshot(args) => Plan::new("snapshot", args.sources, &args.output, &args.about)?,
    };
    if plan.dry_run {
        // A reader that has gone away has seen enough.
        let _ = writeln!(std::io::stdout(), "{plan}");
        return Ok(());
    }
    let voice = Voice::new(plan.quiet);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Error::could_not(format!("start: {error}"), "check the limits of this session (ulimit -a)")
    })?;
    let done = match plan.command {
        "snapshot" => runtime.block_on(watch::snapshot(&plan, &voice)),
        _ => runtime.block_on(watch::watch(&plan, &voice)),
    };
    // Look-ups of names may still hang in a thread; nothing waits for them.
    runtime.shutdown_background();
    done
}
