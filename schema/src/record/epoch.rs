//! Kind `epoch`.

use super::Text;
use std::collections::BTreeMap;

record! {
    /// One lifetime of a source begins or ends: a server process starts, stops or is replaced.
    "epoch" Epoch {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// `begin` or `end`.
        edge: String,
        /// How sure the identity is: `tree` (pid and start time in a tree we started), `pid`, `cgroup`, `metric` (process start time or `*_created`), `info` (what the server says) or `none`.
        rung: String,
        /// What was read at that rung, e.g. `pid`, `start_ticks`, `cgroup`. Absent: nothing.
        identity: Option<BTreeMap<String, Text>>,
        /// Why the epoch is thought to begin or end. Absent: first sight.
        why: Option<String>,
    }
}
