//! Why an input could not be read: one line of what and where, one of what to do.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

/// An input or a call that is of no use. Exit status 3.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file could not be read or written.
    #[error("{path}: {}\n  help: {}", says(error), advice(error), path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: Error,
    },
    /// A file is not what it was given as.
    #[error("{path}: {what}\n  help: {help}", path = path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        what: String,
        /// What to do.
        help: String,
    },
    /// A file that is empty or ends inside what it holds: whoever wrote it was stopped.
    #[error("{path}: empty, or cut before its end\n  help: remove it, or save it anew", path = path.display())]
    Cut {
        /// The file.
        path: PathBuf,
    },
    /// The call itself makes no sense.
    #[error("{what}\n  help: {help}")]
    Call {
        /// What is wrong.
        what: String,
        /// What to do.
        help: String,
    },
}

/// What the system says, in our words where it uses a number or a constant's.
fn says(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file or folder".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "is a folder".into(),
        ErrorKind::NotADirectory => "what stands before the last / is no folder".into(),
        ErrorKind::StorageFull => "no space is left".into(),
        _ => {
            let text = error.to_string();
            text.split_once(" (os error").map_or(text.as_str(), |(what, _)| what).to_lowercase()
        }
    }
}

fn advice(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "check the path",
        ErrorKind::PermissionDenied => {
            "have its owner allow it, or name a place where you may read and write"
        }
        ErrorKind::IsADirectory => "name a file",
        ErrorKind::StorageFull => "make room, or name a place that has some",
        _ => "check the path, and what you may do there",
    }
}

impl InputError {
    /// A file that is not what it was given as.
    pub fn unusable(
        path: impl Into<PathBuf>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Unusable { path: path.into(), what: what.into(), help: help.into() }
    }

    /// A file whose writer was stopped before it was whole.
    pub fn cut(path: impl Into<PathBuf>) -> Self {
        Self::Cut { path: path.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_error_is_said_in_words_with_what_to_do() {
        for (error, says) in [
            (Error::from_raw_os_error(2), "a.ilb: there is no such file or folder\n  help: check"),
            (Error::from_raw_os_error(13), "a.ilb: permission denied\n  help: have its owner"),
            (Error::from_raw_os_error(21), "a.ilb: is a folder\n  help: name a file"),
            (Error::from_raw_os_error(28), "a.ilb: no space is left\n  help: make room"),
            (Error::from_raw_os_error(5), "a.ilb: input/output error\n  help: check the path"),
            (Error::other("odd"), "a.ilb: odd\n  help: check the path"),
        ] {
            let text = InputError::Io { path: "a.ilb".into(), error }.to_string();
            assert!(text.starts_with(says), "{text}");
        }
    }
}
