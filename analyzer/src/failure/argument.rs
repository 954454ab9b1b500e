//! The command line itself was wrong: the program printed its usage and left with status 2.

use super::kind::Kind;

pub(super) const KINDS: &[Kind] = &[Kind::new(
    "invalid_cli_argument",
    "an argument parser (argparse, click, clap, llama.cpp's) refused the command line",
    &[
        r"^[\w./-]+(?: [\w-]+)?: error: (?<why>(?:unrecognized arguments?|argument |the following arguments|invalid |ambiguous option|one of the arguments|expected |too few).*)",
        r"^Error: (?<why>(?:No such option|Invalid value for|Missing (?:argument|option|parameter)|Got unexpected extra argument|No such command).*)",
        r"^error: (?<why>(?:unexpected argument|invalid value|the following required arguments|invalid argument|unrecognized subcommand|unknown argument|a value is required for|the argument ).*)",
        r"(?<why>error while handling argument .*)",
    ],
    |t| {
        let why = t.part("why").unwrap_or_default();
        let exit = if t.aside.exit == Some(2) { " (exit status 2)" } else { "" };
        format!(
            "the command line was refused{exit}: {}; check the flag against this version's --help",
            super::kind::shorten(why, 150)
        )
    },
)];
