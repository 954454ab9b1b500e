//! `inferlint-record`: collects evidence around a serving benchmark, and judges nothing.
//!
//! `cli` says what can be asked, `plan` what it means, `session` how a recording goes.

mod alarm;
mod appendix;
mod aside;
mod child;
mod cli;
mod clock;
mod collect;
mod errand;
mod error;
mod facts;
mod follow;
mod gate;
mod host;
mod http;
mod identity;
mod load_tool;
mod marks;
mod nic;
mod phase;
mod plan;
mod probe;
mod procfs;
mod results;
mod root;
mod run;
mod session;
mod signals;
mod sink;
mod sock_diag;
mod sockets;
mod status;
mod stop;
mod watch;
mod xray;
mod zone;

use child::Inherited;
use clap::Parser;
use cli::{Cli, Command};
use errand::Errand;
use error::{Error, exit};
use plan::Plan;
use status::Voice;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    // Before anything is opened: what children are given is what we were given.
    let inherited = Arc::new(Inherited::take());
    // A collector that panics is written down as a gap; its message is no use to a user.
    std::panic::set_hook(Box::new(|_| {}));
    // A wrapper's own statuses must not be taken for the load's.
    let wraps = std::env::args_os().nth(1).is_some_and(|command| command == "xray");
    let wrong_call = if wraps { exit::COULD_NOT } else { exit::WRONG_CALL };
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed output is no reason for another status.
            let _ = error.print();
            return if error.use_stderr() { wrong_call } else { exit::DONE }.into();
        }
    };
    match run(cli.command, &inherited) {
        Ok(status) => status.into(),
        Err(error) => {
            Voice::new(true).error(&error);
            if error.status == exit::WRONG_CALL { wrong_call } else { error.status }.into()
        }
    }
}

fn run(command: Command, inherited: &Arc<Inherited>) -> Result<u8, Error> {
    let (plan, errand) = match command {
        Command::Xray(args) => {
            let (plan, errand) = Errand::settle(*args)?;
            (plan, Some(errand))
        }
        Command::Watch(args) => (Plan::watch(args)?, None),
        Command::Snapshot(args) => {
            let plan = Plan::new("snapshot", args.sources, &args.output, &args.about)?;
            (plan.reading()?, None)
        }
    };
    if plan.dry_run {
        // A reader that has gone away has seen enough.
        let _ = writeln!(std::io::stdout(), "{plan}");
        if let Some(errand) = errand {
            let _ = write!(std::io::stdout(), "{errand}");
        }
        return Ok(exit::DONE);
    }
    let voice = Voice::new(plan.quiet);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Error::could_not(format!("start: {error}"), "check the limits of this session (ulimit -a)")
    })?;
    let done = match (&errand, plan.command) {
        (Some(errand), _) => runtime.block_on(xray::xray(&plan, errand, inherited, &voice)),
        (None, "snapshot") => runtime.block_on(watch::snapshot(&plan, &voice)).map(|()| exit::DONE),
        (None, _) => runtime.block_on(watch::watch(&plan, &voice)).map(|()| exit::DONE),
    };
    // Look-ups of names may still hang in a thread; nothing waits for them.
    runtime.shutdown_background();
    done
}
