//! What a check concludes.

use crate::evidence::Missing;
use serde_json::{Map, Value};

/// Longest message, in characters: it must fit a ticket's line and a CI annotation.
pub const MESSAGE_CHARS: usize = 300;

/// How a tripwire came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Looked at, and fine.
    Pass,
    /// A number may not mean what it seems.
    Warn,
    /// The check caught its problem.
    Fail,
    /// Evidence that was to be had is missing.
    Unknown,
    /// This source or host cannot have the evidence, or the engine no such behaviour.
    NotApplicable,
    /// Failed or warned, and waived by the user with a reason.
    Accepted,
}

impl Status {
    /// As JSON has it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
            Self::NotApplicable => "not_applicable",
            Self::Accepted => "accepted",
        }
    }

    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Warn => "WARNING",
            Self::Fail => "TRIPWIRE FAILED",
            Self::Unknown => "CAN'T TELL",
            Self::NotApplicable => "DOES NOT APPLY",
            Self::Accepted => "ACCEPTED",
        }
    }

    /// Position in a text report: the worst stands last, where it is seen.
    pub fn rank(self) -> u8 {
        match self {
            Self::NotApplicable => 0,
            Self::Pass => 1,
            Self::Accepted => 2,
            Self::Unknown => 3,
            Self::Warn => 4,
            Self::Fail => 5,
        }
    }
}

/// A check's conclusion about one scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// How it came out.
    pub status: Status,
    /// One or two sentences with the numbers.
    pub message: String,
    /// The numbers the verdict rests on.
    pub evidence: Map<String, Value>,
}

impl Verdict {
    fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), evidence: Map::new() }
    }

    /// Looked at, and fine.
    pub fn pass(message: impl Into<String>) -> Self {
        Self::new(Status::Pass, message)
    }

    /// A number may not mean what it seems.
    pub fn warn(message: impl Into<String>) -> Self {
        Self::new(Status::Warn, message)
    }

    /// The check caught its problem.
    pub fn fail(message: impl Into<String>) -> Self {
        Self::new(Status::Fail, message)
    }

    /// Evidence that was to be had is missing.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(Status::Unknown, message)
    }

    /// The scope cannot have the problem, or the evidence.
    pub fn not_applicable(message: impl Into<String>) -> Self {
        Self::new(Status::NotApplicable, message)
    }

    /// Adds a number, or other value, that the verdict rests on.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.evidence.insert(key.to_owned(), value.into());
        self
    }
}

impl From<Missing> for Verdict {
    fn from(missing: Missing) -> Self {
        if missing.inapplicable {
            Self::not_applicable(missing.what)
        } else {
            Self::unknown(missing.what)
        }
    }
}

/// What a finding speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindingScope {
    /// The load point. `None`: the run as a whole, or a run without points.
    pub point: Option<String>,
    /// The source or group of replicas. `None`: the only one.
    pub source: Option<String>,
}

/// A verdict of one tripwire about one scope.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The tripwire's code, e.g. `T8`.
    pub tripwire: &'static str,
    /// The tripwire's name, e.g. `concurrency-not-reached`.
    pub name: &'static str,
    /// What it speaks of.
    pub scope: FindingScope,
    /// How it came out.
    pub status: Status,
    /// One or two sentences, at most [`MESSAGE_CHARS`] characters.
    pub message: String,
    /// The numbers it rests on.
    pub evidence: Map<String, Value>,
    /// Code of the finding of the same scope that causes this one.
    pub explained_by: Option<&'static str>,
}

impl Finding {
    /// A verdict as a finding of `scope`.
    pub fn new(
        tripwire: &'static str,
        name: &'static str,
        scope: FindingScope,
        verdict: Verdict,
    ) -> Self {
        Self {
            tripwire,
            name,
            scope,
            status: verdict.status,
            message: clipped(verdict.message),
            evidence: verdict.evidence,
            explained_by: None,
        }
    }
}

impl Finding {
    /// Waives the finding, with the reason first in its message.
    pub fn waive(&mut self, reason: &str) {
        self.evidence.insert("accepted_status".into(), self.status.key().into());
        self.evidence.insert("accepted_because".into(), reason.into());
        self.status = Status::Accepted;
        self.message = clipped(format!("accepted: {reason} ({})", self.message));
    }
}

/// The text, cut at a character where it is too long.
fn clipped(text: String) -> String {
    match text.char_indices().nth(MESSAGE_CHARS) {
        None => text,
        Some(_) => text.chars().take(MESSAGE_CHARS - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_fits_and_is_cut_between_characters() {
        assert_eq!(clipped("é".repeat(300)).chars().count(), 300);
        let cut = clipped("é".repeat(301));
        assert_eq!(cut.chars().count(), 300);
        assert!(cut.ends_with('…'));
    }
}
