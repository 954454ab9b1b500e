//! Kind `phase`.

use super::Text;
use std::collections::BTreeMap;

record! {
    /// An edge of a named interval. Phases nest; a load point is a leaf phase of kind `load`.
    "phase" Phase {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The phase's id, dense from 0.
        id: u32,
        /// `begin` or `end`.
        edge: String,
        /// The enclosing phase. Absent: top level.
        parent: Option<u32>,
        /// Name, e.g. `c=32`. Absent: on an end edge, as at the begin.
        name: Option<String>,
        /// `start`, `probe`, `warmup`, `load`, `drain` or `idle`. Absent: on an end edge, as at the begin.
        kind: Option<String>,
        /// What was asked, as written: `concurrency`, `rate`, `num_prompts`, `input_len`, `output_len`, `seed`, `dataset`… Absent: nothing known.
        params: Option<BTreeMap<String, Text>>,
        /// How the edge is known: `argv`, `mark`, `result` or `user`.
        from: String,
        /// `t` may be off by this much either way, e.g. the time since the last look at the marks file. Absent: unknown.
        error_ns: Option<u64>,
    }
}
