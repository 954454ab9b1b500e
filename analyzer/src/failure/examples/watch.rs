//! Failures that are told from what the log does not say.

use super::{Example, boot, serving};

pub(super) const EXAMPLES: &[Example] = &[
    boot(
        "root_cause_not_in_log",
        &["not in the log"],
        "[2026-01-01 10:00:00] server_args={'model_path': '/m'}\n[2026-01-01 10:00:10] Received sigquit from a child process. It usually means the child failed.\n",
    ),
    serving(
        "root_cause_not_in_log",
        &["not in the log"],
        "INFO:     Application startup complete.\nERROR 12-01 13:05:02 client.py:282] RuntimeError('Engine process (pid 76) died.')\nERROR 12-01 13:05:02 client.py:282] NoneType: None\nCRITICAL 12-01 13:05:02 launcher.py:99] MQLLMEngine is already dead, terminating server process\nINFO:     Shutting down\n",
    ),
];
