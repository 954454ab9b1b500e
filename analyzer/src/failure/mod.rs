//! Names the cause of a start that failed and of a server that died.
//!
//! A log of a failure holds many errors: re-raised ones, ones of ranks whose peer is gone, harmless
//! ones, and one that says why. [`watch`] follows the log once and keeps what may be the cause;
//! [`History::conclude`](watch::History::conclude) chooses the most specific. Kinds stand in one file a
//! family, in the order in which they are believed ([`watch::kinds`]).
//!
//! The order and most forms were distilled from 124 public threads on vLLM, SGLang, TensorRT-LLM,
//! llama.cpp and TGI.

mod argument;
mod aside;
mod collective;
mod config;
mod cuda;
mod device;
mod driver;
#[cfg(test)]
mod examples;
mod hang;
mod host;
mod jit;
pub(crate) mod kind;
mod library;
mod life;
mod memory;
mod model;
mod noise;
mod pool;
mod port;
mod scheduler;
pub(crate) mod trace;
pub(crate) mod watch;

use serde::Serialize;

pub use aside::{Aside, Holder, Kernel};

use crate::boot::grammar::Stage;

/// When the server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before it could serve.
    Boot,
    /// After it had been ready.
    Serving,
}

/// One failure, named.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// The kind's name, for `evidence.cause`.
    pub kind: &'static str,
    /// When.
    pub phase: Phase,
    /// At most [`kind::MAX_MESSAGE_CHARS`] characters.
    pub message: String,
    /// Line of the log the cause stands on, counted from 1.
    pub line: Option<u64>,
    /// What the start was doing.
    pub stage: Option<Stage>,
    /// The process that met it, as its log prefix names it.
    pub process: Option<String>,
    /// Class of the exception, where the cause is one.
    pub exception: Option<String>,
}

/// What became of the server, as far as its log and what stands beside it tell.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It became ready, and no failure followed.
    Ready,
    /// It failed, at its start or while serving.
    Failed(Failure),
    /// It was not ready where the log ends, and nothing says why.
    NotReady {
        /// The last stage its start was seen in.
        stage: Option<Stage>,
    },
    /// The log shows neither a start nor a server at work.
    Silent,
}

/// The outcome and what was passed over on the way to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conclusion {
    /// What became of it.
    pub outcome: Outcome,
    /// The line that said it serves, or the first answer.
    pub ready_line: Option<u64>,
    /// Errors before it was ready that did not stop it.
    pub passed_before_ready: u64,
    /// The engine's own lines show that it worked on requests.
    pub worked: bool,
    /// Errors while serving that it outlived.
    pub outlived: u64,
    /// Requests refused or given up by their client.
    pub refused: u64,
    /// Generating requests that the log shows answered.
    pub answered: u64,
    /// Where it was told to stop from outside.
    pub stopped_line: Option<u64>,
}

impl Conclusion {
    /// The failure of that phase, if it was one.
    pub fn failure(&self, phase: Phase) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) if failure.phase == phase => Some(failure),
            _ => None,
        }
    }
}
