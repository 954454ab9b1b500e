//! What ends a command early, and with which exit status.

use std::fmt;

/// Exit statuses of `inferlint-record`, one constant each.
pub(crate) mod exit {
    /// Done.
    pub(crate) const DONE: u8 = 0;
    /// The call was wrong: an option, an address, an output that exists.
    pub(crate) const WRONG_CALL: u8 = 3;
    /// The recorder could not do its part.
    pub(crate) const COULD_NOT: u8 = 125;
    /// The load command cannot be executed.
    pub(crate) const NOT_EXECUTABLE: u8 = 126;
    /// The load command is not found.
    pub(crate) const NOT_FOUND: u8 = 127;
    /// A second Ctrl-C ended it at once.
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// Why a command could not go on: what and where, and what to do about it.
#[derive(Debug)]
pub(crate) struct Error {
    /// The process's exit status.
    pub(crate) status: u8,
    /// What was wrong and where; lower case, one or two lines.
    pub(crate) what: String,
    /// What to do.
    pub(crate) help: String,
}

impl Error {
    /// The user asked for something that cannot be meant.
    pub(crate) fn wrong_call(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { status: exit::WRONG_CALL, what: what.into(), help: help.into() }
    }

    /// The world did not let the recorder do its part.
    pub(crate) fn could_not(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { status: exit::COULD_NOT, what: what.into(), help: help.into() }
    }

    /// A second Ctrl-C.
    pub(crate) fn interrupted(part: &std::path::Path) -> Self {
        Self {
            status: exit::INTERRUPTED,
            what: "interrupted a second time, the bundle is not closed".to_owned(),
            help: format!("what was recorded is in {}", part.display()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n  help: {}", self.what, self.help)
    }
}

impl std::error::Error for Error {}
