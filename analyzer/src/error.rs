//! Why an input could not be read: one line of what and where, one of what to do.

use std::path::PathBuf;

/// An input or a call that is of no use. Exit status 3.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file could not be read or written.
    #[error("{path}: {error}\n  help: check the path, and what you may do there", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
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
