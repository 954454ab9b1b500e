//! Examples of the kinds of `argument.rs`.

use super::{Example, boot};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "invalid_cli_argument",
        &["--max-modellen"],
        "usage: vllm [-h] [-v] {chat,complete,serve}\nvllm: error: unrecognized arguments: --max-modellen 4096\n",
    ),
    boot(
        "invalid_cli_argument",
        &["invalid choice"],
        "usage: launch_server.py [-h] --model-path MODEL_PATH\nlaunch_server.py: error: argument --attention-backend: invalid choice: 'flash' (choose from 'triton', 'fa3')\n",
    ),
    boot(
        "invalid_cli_argument",
        &["--tp"],
        "Usage: trtllm-serve serve [OPTIONS] MODEL\nTry 'trtllm-serve serve --help' for help.\n\nError: No such option: --tp\n",
    ),
    boot("invalid_cli_argument", &["--flash-atn"], "error: invalid argument: --flash-atn\n"),
];

/// One line each: further words that programs say it with.
pub(super) const LINES: &[(&str, &str)] =
    &[("invalid_cli_argument", "error while handling argument \"--ctx-size\": stoi")];
