//! What people and programs read: one file a form.

pub mod json;
#[cfg(test)]
mod schema;
pub mod text;

use crate::evidence::Run;
use crate::finding::{Finding, Status};

/// A run with what was found about it.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The run. `None`: the comparison of several starts.
    pub run: Option<&'a Run>,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// Exit status of what was found: 1 one failed (with `strict`, or warned), 2 one could not decide,
/// 0 neither.
pub fn exit_status(judged: &[Judged<'_>], strict: bool) -> u8 {
    let has = |wanted: Status| judged.iter().flat_map(|j| &j.findings).any(|f| f.status == wanted);
    if has(Status::Fail) || strict && has(Status::Warn) {
        1
    } else if has(Status::Unknown) {
        2
    } else {
        0
    }
}
