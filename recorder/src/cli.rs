//! The command line, as types. What it means is decided in `plan.rs`.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const SERVER: &str = "The server";
const RECORD: &str = "What to record";
const WRITE: &str = "Where to write";
const ABOUT: &str = "What the run is";
const PRIVACY: &str = "Privacy";

const TOP_EXAMPLES: &str = "\
Examples:
  start a server, run a benchmark against it, stop the server, judge:
    inferlint-record xray -o run.ilb --serve 'vllm serve Qwen/Qwen3-8B --port 8000' -- \\
        vllm bench serve --model Qwen/Qwen3-8B --max-concurrency 32 --num-prompts 320

  record a server while a benchmark that you start elsewhere runs, until Ctrl-C:
    inferlint-record watch --url http://127.0.0.1:8000 -o run.ilb

  one reading of a server, now:
    inferlint-record snapshot --url http://127.0.0.1:8000 -o now.ilb

Exit status: 0 done, 3 wrong call, 125 the recorder could not do its part. xray passes on the load's,
see xray --help.";

const SNAPSHOT_EXAMPLE: &str = "\
Example:
  inferlint-record snapshot --url http://127.0.0.1:8000 -o now.ilb

Exit status: 0 done, 3 wrong call, 125 the recorder could not do its part.";

const EXAMPLES: &str = "\
TIME is a number and its unit: 250ms, 1.5s, 10m, 1h.

Examples:
  record a server while a benchmark that you start elsewhere runs, until Ctrl-C:
    inferlint-record watch --url http://127.0.0.1:8000 -o run.ilb

  a prefill and a decode server and their router, for ten minutes:
    inferlint-record watch --url p0:prefill=http://127.0.0.1:8100 \\
        --url d0:decode=http://127.0.0.1:8200 --url front:router=http://127.0.0.1:8000 \\
        --duration 10m

  say in a load script where its points begin and end:
    echo \"begin c=32 concurrency=32\" >> run.marks
    ./load --concurrency 32
    echo \"end c=32\" >> run.marks

Exit status: 0 done, 3 wrong call, 125 the recorder could not do its part.";

/// Record what an inference server does while it is being benchmarked
///
/// Writes one evidence bundle, which inferlint-analyze judges later, anywhere. The recorder judges
/// nothing, listens on nothing, and talks only to the addresses it is given.
#[derive(Debug, Parser)]
#[command(name = "inferlint-record", version, after_help = TOP_EXAMPLES)]
#[command(propagate_version = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Xray(Box<Xray>),
    Watch(Watch),
    Snapshot(Snapshot),
}

const XRAY_EXAMPLES: &str = "\
TIME is a number and its unit: 250ms, 1.5s, 10m, 1h.

Examples:
  start a server, run a benchmark against it, stop the server, judge:
    inferlint-record xray -o run.ilb --serve 'vllm serve Qwen/Qwen3-8B --port 8000' -- \\
        vllm bench serve --model Qwen/Qwen3-8B --max-concurrency 32 --num-prompts 320

  around a benchmark of a server that runs already, with its log:
    inferlint-record xray -o run.ilb --url http://127.0.0.1:8000 --log server.log -- ./bench.sh

Exit status: the load's own when it is not 0; 125 a wrong call, or the recorder could not do its
part; 126 and 127 the load cannot be executed or found; 130 interrupted, 128 + n ended by signal n;
else that of inferlint-analyze check (0, 1 or 2), 0 where it was not run.";

/// Record a whole benchmark run: start a server or attach to one, run the load, stop, judge
///
/// The load command gets the terminal, signals and environment it would have without us, and its
/// exit status is passed on. What was started is stopped at the end, whatever happens.
#[derive(Debug, Args)]
#[command(after_help = XRAY_EXAMPLES)]
pub(crate) struct Xray {
    /// Server to start, as a shell would (`sh -c`), and to stop at the end
    #[arg(long, value_name = "CMD", help_heading = SERVER)]
    pub(crate) serve: Option<String>,
    /// How long the server may take to become ready [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = SERVER)]
    pub(crate) ready_timeout: Option<Duration>,
    /// Address that answers 200 when the server is ready [default: the engine's own]
    #[arg(long, value_name = "URL", help_heading = SERVER)]
    pub(crate) ready_url: Option<String>,
    /// How to stop a server that its command put elsewhere, such as in a container
    #[arg(long, value_name = "CMD", help_heading = SERVER)]
    pub(crate) stop: Option<String>,
    /// How long the server may take to end after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration, help_heading = SERVER)]
    pub(crate) grace: Duration,
    /// Send a server that we did not start a few requests too, before the load
    #[arg(long, help_heading = SERVER)]
    pub(crate) probe: bool,
    /// Leave the files with the output of server and load beside the bundle
    #[arg(long, help_heading = WRITE)]
    pub(crate) keep_logs: bool,
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) pace: OwnPace,
    /// Log to follow: a file, a FIFO, or - for standard input (repeatable)
    #[arg(long = "log", visible_alias = "boot-log", value_name = "[NAME=]FILE", help_heading = RECORD)]
    pub(crate) logs: Vec<String>,
    /// Result file of the load, or the folder it appears in (repeatable)
    #[arg(long = "result", value_name = "PATH", help_heading = RECORD)]
    pub(crate) results: Vec<PathBuf>,
    /// Requests at once that the load asks for, where its command does not tell
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = RECORD)]
    pub(crate) requested: Option<u32>,
    /// Record the load's output even when it goes to a terminal
    #[arg(long, help_heading = RECORD)]
    pub(crate) record_output: bool,
    /// Do not record the model's configuration files
    #[arg(long, help_heading = PRIVACY)]
    pub(crate) no_model_files: bool,
    /// Do not run inferlint-analyze at the end
    #[arg(long, help_heading = WRITE)]
    pub(crate) no_analyze: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) about: About,
    /// The load command and its arguments
    #[arg(last = true, required = true, value_name = "LOAD")]
    pub(crate) load: Vec<OsString>,
}

/// How often, where the server may be our own.
#[derive(Debug, Args)]
pub(crate) struct OwnPace {
    /// Time between two readings of the metrics [default: 250ms with --serve, else 1s]
    ///
    /// More by default for a slow server: 20 times what a reading takes, so that reading costs it
    /// at most a twentieth of its time. A time given here is obeyed.
    #[arg(long, value_name = "TIME", value_parser = interval, help_heading = RECORD)]
    pub(crate) interval: Option<Duration>,
}

/// Record everything around a load that somebody else runs
///
/// Reads the metrics at a steady interval until Ctrl-C, SIGTERM or --duration. A server that goes
/// away, or is not up yet, is a gap in the recording, not its end.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) pace: Pace,
    /// Stop after this long, e.g. 90s or 10m [default: until Ctrl-C or SIGTERM]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = RECORD)]
    pub(crate) duration: Option<Duration>,
    /// File in which the load script marks its phases [default: beside the bundle, NAME.marks]
    ///
    /// One line a mark, `begin NAME key=value…` or `end NAME`, quoted as in a shell. It is looked
    /// at when it is written, and once a second. Created when it is not there; an older file is read
    /// from its end on.
    #[arg(long, value_name = "FILE", env = "INFERLINT_MARKS", hide_env_values = true, help_heading = RECORD)]
    pub(crate) marks: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) about: About,
}

/// Record one reading of every source
#[derive(Debug, Args)]
#[command(after_help = SNAPSHOT_EXAMPLE)]
pub(crate) struct Snapshot {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) about: About,
}

/// Which servers are read.
#[derive(Debug, Args)]
pub(crate) struct Sources {
    /// Inference server to read, with a name and a role if you like (repeatable)
    ///
    /// ROLE is engine, prefill, decode, encode, router, gateway or other. Servers of one role are
    /// replicas of each other. Where URL has no path, the metrics path of the engine is found.
    #[arg(long, value_name = "[NAME[:ROLE]=]URL", help_heading = RECORD)]
    pub(crate) url: Vec<String>,
    /// Any other Prometheus exposition to keep: DCGM, a node exporter, a cache (repeatable)
    #[arg(long, value_name = "NAME=URL", help_heading = RECORD)]
    pub(crate) scrape: Vec<String>,
    /// The engine, when it should not be told: vllm, sglang, trtllm, llamacpp or tgi
    #[arg(long, value_name = "NAME", env = "INFERLINT_ENGINE", hide_env_values = true, help_heading = RECORD)]
    pub(crate) engine: Option<String>,
    /// Refuse to start when this is missing, instead of warning (repeatable)
    #[arg(long, value_name = "WHAT", help_heading = RECORD)]
    pub(crate) require: Vec<Require>,
}

/// What can be required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Require {
    /// Metrics of every --url
    Metrics,
}

/// How often.
#[derive(Debug, Args)]
pub(crate) struct Pace {
    /// Time between two readings of the metrics, e.g. 250ms [default: 1s, more for a slow server]
    ///
    /// By default 1 s, or 20 times what a reading takes if that is longer, so that reading costs
    /// the server at most a twentieth of its time. A time given here is obeyed.
    #[arg(long, value_name = "TIME", value_parser = interval, help_heading = RECORD)]
    pub(crate) interval: Option<Duration>,
}

/// Where the bundle goes.
#[derive(Debug, Args)]
pub(crate) struct Output {
    /// The bundle; %h is the host's name, %j the Slurm job, %p the process id
    #[arg(short = 'o', long = "output", value_name = "FILE", default_value = "run.ilb", help_heading = WRITE)]
    pub(crate) file: PathBuf,
    /// Replace a bundle of that name
    #[arg(long, help_heading = WRITE)]
    pub(crate) force: bool,
    /// Print nothing of how it goes: only warnings and errors, and after xray the verdicts
    #[arg(short, long, help_heading = WRITE)]
    pub(crate) quiet: bool,
    /// Say what would be read and written, and stop
    #[arg(long, help_heading = WRITE)]
    pub(crate) dry_run: bool,
    /// How much may be written down
    #[arg(long, value_name = "MODE", default_value = "standard", help_heading = PRIVACY)]
    pub(crate) privacy: Privacy,
}

/// Privacy modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Privacy {
    /// Secrets and identities are masked
    Standard,
    /// Besides, arguments keep only numbers and option names
    Strict,
}

impl Privacy {
    /// As `session.privacy` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}

/// What a person says of the run.
#[derive(Debug, Args)]
pub(crate) struct About {
    /// Name of the run, the same on every host [default: the Slurm job, the pod, else random]
    #[arg(long, value_name = "NAME", help_heading = ABOUT)]
    pub(crate) run_id: Option<String>,
    /// Something to remember with the run (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = ABOUT)]
    pub(crate) note: Vec<String>,
    /// A figure somebody claims, e.g. output_tps=1274 (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = ABOUT)]
    pub(crate) claim: Vec<String>,
    /// What the person who reads the report wants to know (repeatable)
    #[arg(long, value_name = "TEXT", help_heading = ABOUT)]
    pub(crate) question: Vec<String>,
}

/// A time with its unit: `250ms`, `1.5s`, `10m`, `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time; write a number and ms, s, m or h, such as 250ms");
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = number.parse().ok().filter(|_| plain).ok_or_else(wrong)?;
    let time = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
    let most = Duration::from_hours(366 * 24);
    if time.is_zero() || time > most {
        return Err(format!("{text} is outside 0 to {}h", most.as_secs() / 3600));
    }
    Ok(time)
}

fn interval(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    let (least, most) = (Duration::from_millis(10), Duration::from_hours(1));
    if time < least || time > most {
        return Err(format!("{text} is outside 10ms to 1h"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn times_carry_their_unit() {
        let good =
            [("250ms", 250), ("1s", 1_000), ("1.5s", 1_500), ("2m", 120_000), ("1h", 3_600_000)];
        for (text, ms) in good {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "5", "s", "-1s", "1 s", "0s", "infs", "NaNs", "1e3s", "1d", "9999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert!(interval("5ms").is_err() && interval("2h").is_err() && interval("10ms").is_ok());
    }

    #[test]
    fn every_option_and_command_has_help() {
        Cli::command().debug_assert();
        for command in Cli::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
        }
    }
}
