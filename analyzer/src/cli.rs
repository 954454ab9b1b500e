//! The command line.

use crate::engine::Engine;
use crate::load::{Inputs, Loose};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Judges a recorded benchmark run: one verdict for each way its numbers could mislead.
#[derive(Debug, Parser)]
#[command(name = "inferlint-analyze", version, max_term_width = 100, after_help = EXIT)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXIT: &str = "Exit status of check and report: 0 no tripwire failed, 1 one failed (with \
--strict, or warned), 2 none failed and one could not decide. Of each command: 3 the input could not \
be read or the call was wrong.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Judge runs and print one verdict per tripwire and load point
    Check(Box<Check>),
    /// Write one page that shows the verdicts, what they rest on, and the run over time
    Report(Box<Report>),
    /// Print what a tripwire checks, why it matters and what to do
    Explain(Explain),
    /// Say what bundles and run folders hold, what is missing and how large it is
    Inspect(Inspect),
    /// Check a bundle's seals, digests and decoding; exit with 1 on anything but clean
    Verify(Verify),
    /// Write what can be had of a damaged or unsealed bundle into a new, sealed one
    Recover(Recover),
    /// List the logs, files and metric texts in a bundle, or write them out
    Extract(Extract),
    /// Make a bundle of a run folder
    Import(Import),
    /// Say whether a server log shows a failure, and name its cause
    CheckLog(CheckLog),
    /// Print what server logs say of their start: version, options, backends, memory, KV cache
    BootFacts(BootFacts),
}

/// Arguments of `check-log`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_LOG_EXAMPLES)]
pub struct CheckLog {
    /// The server's log, of any size, also gzipped; - reads standard input
    #[arg(value_name = "FILE")]
    pub log: PathBuf,
    /// The server's exit status, as a shell tells it: 137 after SIGKILL
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub server_exit: Option<i64>,
    /// The kernel's log (dmesg, journalctl -k)
    #[arg(long, value_name = "FILE")]
    pub kernel_log: Option<PathBuf>,
    /// The engine that wrote it, where the log does not tell: vllm, sglang, trtllm, llamacpp or tgi
    #[arg(long, env = "INFERLINT_ENGINE", hide_env_values = true, value_name = "NAME", value_parser = engine)]
    pub engine: Option<&'static Engine>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

const CHECK_LOG_EXAMPLES: &str = "Examples:
  inferlint-analyze check-log server.log
  docker logs server 2>&1 | inferlint-analyze check-log - --server-exit 137

Exit status: 0 it shows no failure, 1 it shows one, 2 it does not tell, 3 it could not be read or the
call was wrong.";

/// Arguments of `boot-facts`.
#[derive(Debug, Args)]
#[command(after_help = BOOT_FACTS_EXAMPLES)]
pub struct BootFacts {
    /// Server logs, also gzipped; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub logs: Vec<PathBuf>,
    /// The engine that wrote them, where a log does not tell: vllm, sglang, trtllm, llamacpp or tgi
    #[arg(long, env = "INFERLINT_ENGINE", hide_env_values = true, value_name = "NAME", value_parser = engine)]
    pub engine: Option<&'static Engine>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

const BOOT_FACTS_EXAMPLES: &str = "Examples:
  inferlint-analyze boot-facts server.log
  inferlint-analyze boot-facts monday.log friday.log --format json

Exit status: 0 the logs were read, whatever they say; 3 one could not be read or the call was wrong.";

/// Arguments of `inspect`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  inferlint-analyze inspect run.ilb")]
pub struct Inspect {
    /// Bundles (.ilb, also inside .gz or .zip) and run folders
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLE)]
pub struct Verify {
    /// The bundle (.ilb, also inside .gz or .zip)
    pub bundle: PathBuf,
}

const VERIFY_EXAMPLE: &str = "Example:
  inferlint-analyze verify run.ilb

Exit status: 0 clean, 1 not clean, 3 it could not be read or is no bundle.";

/// Arguments of `recover`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  inferlint-analyze recover run.ilb.part run.ilb")]
pub struct Recover {
    /// The damaged bundle; it is only read
    #[arg(value_name = "IN")]
    pub bundle: PathBuf,
    /// The bundle to write
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Replace OUT if it exists
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `extract`.
#[derive(Debug, Args)]
#[command(after_help = EXTRACT_EXAMPLES)]
pub struct Extract {
    /// The bundle (.ilb, also inside .gz or .zip)
    pub bundle: PathBuf,
    /// Only what has one of these texts in its name
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Write into this folder; without it everything is only listed
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

const EXTRACT_EXAMPLES: &str = "Examples:
  inferlint-analyze extract run.ilb
  inferlint-analyze extract run.ilb logs/ result.json -o FOLDER";

/// Arguments of `import`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  inferlint-analyze import run-folder -o run.ilb")]
pub struct Import {
    /// The run folder: boot.log, before.snapshot.json, after.snapshot.json, run.series.jsonl,
    /// bench.json, load.log, load.json, scrapes.jsonl.gz, procs.jsonl.gz
    pub folder: PathBuf,
    /// The bundle to write
    #[arg(short, long, value_name = "OUT.ilb")]
    pub output: PathBuf,
    /// Replace the bundle if it exists
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_help = CHECK_EXAMPLES)]
pub struct Check {
    /// What is read
    #[command(flatten)]
    pub input: Input,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub format: Format,
    /// How to judge
    #[command(flatten)]
    pub judging: Judging,
}

const CHECK_EXAMPLES: &str = "Examples:
  inferlint-analyze check run.ilb
  inferlint-analyze check run-folder --requested 32 --format json
  inferlint-analyze check --before before.prom --after after.prom --result bench.json
  inferlint-analyze check run.ilb --accept T9=\"short outputs on purpose\"

Exit status: 0 no tripwire failed, 1 one failed (with --strict, or warned), 2 none failed and one
could not decide, 3 the input could not be read or the call was wrong.";

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  inferlint-analyze explain T8 --engine sglang")]
pub struct Explain {
    /// A tripwire's code or name, e.g. T8 or concurrency-not-reached
    #[arg(required_unless_present = "all")]
    pub tripwire: Option<String>,
    /// Explain every tripwire
    #[arg(long)]
    pub all: bool,
    /// Leave out what speaks of other engines only: vllm, sglang, trtllm, llamacpp or tgi
    #[arg(long, value_name = "NAME", value_parser = engine)]
    pub engine: Option<&'static Engine>,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub struct Report {
    /// What is read
    #[command(flatten)]
    pub input: Input,
    /// The page to write, or - for standard output [default: the input's name with .html, here]
    #[arg(short, long, value_name = "FILE.html", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Replace the page if it exists
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// How to judge
    #[command(flatten)]
    pub judging: Judging,
}

const REPORT_EXAMPLES: &str = "Examples:
  inferlint-analyze report run.ilb -o run.html
  inferlint-analyze report run-folder --requested 32
  inferlint-analyze report prefill.ilb decode.ilb -o run.html

Exit status: as check has it.";

/// Which tripwires judge, and how strictly.
#[derive(Debug, Args)]
#[command(next_help_heading = "Judging")]
pub struct Judging {
    /// Judge these tripwires only, by code or name
    #[arg(long, value_name = "T1,T8", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Exit with 1 on a warning too
    #[arg(long)]
    pub strict: bool,
    /// Waive a tripwire that fails or warns, with a reason that is shown
    #[arg(long, value_name = "T1=REASON")]
    pub accept: Vec<String>,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For machines: one JSON document, whose form its key schema names
    Json,
}

/// What is read.
#[derive(Debug, Args)]
pub struct Input {
    /// Bundles (.ilb, also inside .gz or .zip) and run folders
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Server log; each further one is another start
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    boot_log: Vec<PathBuf>,
    /// Metrics before the load: exposition text or *.snapshot.json
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    before: Option<PathBuf>,
    /// Metrics after the load
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    after: Option<PathBuf>,
    /// Samples during the load: *.series.jsonl
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    series: Option<PathBuf>,
    /// The load tool's result file
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    result: Option<PathBuf>,
    /// The load tool's output
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    load_log: Option<PathBuf>,
    /// A saved process table: ps -eo pid,ppid,stat,args, and nvidia-smi and ss below it
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    process_table: Option<PathBuf>,
    /// The kernel's log (dmesg) around the server's end
    #[arg(long, value_name = "FILE", help_heading = "Loose files")]
    kernel_log: Option<PathBuf>,
    /// The server's exit status, as a shell tells it: 137 after SIGKILL
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = "Loose files")]
    server_exit: Option<i64>,
    /// Requests at once that the load asked for, where nothing recorded tells
    #[arg(long, value_name = "N", help_heading = "Judging", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..))]
    requested: Option<u32>,
    /// The engine this is evidence of: vllm, sglang, trtllm, llamacpp or tgi; other evidence is
    /// refused
    #[arg(long, env = "INFERLINT_ENGINE", hide_env_values = true, value_name = "NAME",
        help_heading = "Judging", value_parser = engine)]
    engine: Option<&'static Engine>,
}

fn engine(name: &str) -> Result<&'static Engine, String> {
    Engine::named(name).ok_or_else(|| {
        let known: Vec<&str> = crate::engine::ENGINES.iter().map(|engine| engine.name).collect();
        format!("known engines: {}", known.join(", "))
    })
}

impl From<Input> for Inputs {
    fn from(input: Input) -> Self {
        Self {
            paths: input.paths,
            loose: Loose {
                boot_logs: input.boot_log,
                before: input.before,
                after: input.after,
                series: input.series,
                result: input.result,
                load_log: input.load_log,
                process_table: input.process_table,
                kernel_log: input.kernel_log,
                server_exit: input.server_exit,
            },
            requested: input.requested.map(f64::from),
            engine: input.engine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent_and_every_option_has_help() {
        let mut command = Cli::command();
        command.clone().debug_assert();
        command.build();
        for sub in command.get_subcommands() {
            for argument in sub.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty(), "{} {}", sub.get_name(), argument.get_id());
            }
        }
    }

    #[test]
    fn the_help_names_every_engine_and_the_examples_parse() {
        let mut command = Cli::command();
        command.build();
        for sub in command.get_subcommands_mut() {
            let help = sub.render_long_help().to_string();
            if let Some(option) = sub.get_arguments().find(|a| a.get_id() == "engine") {
                let said = option.get_help().map(ToString::to_string).unwrap_or_default();
                for engine in crate::engine::ENGINES {
                    assert!(said.contains(engine.name), "{}: {said}", engine.name);
                }
            }
            let examples = help.lines().filter_map(|line| line.split_once("  inferlint-analyze "));
            for (_, example) in examples {
                let example = example.replace('"', "");
                let call = std::iter::once("inferlint-analyze").chain(example.split_whitespace());
                Cli::try_parse_from(call).unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }

    #[test]
    fn how_many_requests_were_asked_for_is_a_whole_number_above_0() {
        let parse = |n: &str| {
            Cli::try_parse_from(["inferlint-analyze", "check", "run.ilb", "--requested", n])
        };
        assert!(parse("32").is_ok());
        for n in ["0", "-3", "nan", "inf", "1.5", "x"] {
            let error = parse(n).unwrap_err().to_string();
            assert!(error.contains("invalid value"), "{n}: {error}");
        }
    }
}
