//! Kind `epoch`.

use super::Text;
use std::collections::BTreeMap;

record! {
    /// One lifetime of a source begins or ends: a server process starts, stops or is replaced. At most 64 of one source are written.
    "epoch" Epoch {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// `begin` or `end`.
        edge: String,
        /// How sure the identity is: `tree` (pid and start time of the process that listens, in a tree we started), `pid` (the same, elsewhere on this host), `cgroup` (the container that the listening socket was made in), `metric` (process start time or `*_created`), `info` (what the server says) or `none`. Below `pid` when the process that listens only passes connections on.
        rung: String,
        /// What was read: `pid`, `start_ticks`, `title`, `container`, `process_start_time_seconds`, `_created` (the least of them), `version`, `model`; `forwarder` is the short name of a process that listens and passes connections on, `shared` says that several processes listen. Absent: nothing.
        identity: Option<BTreeMap<String, Text>>,
        /// Why the epoch is thought to begin or end. Absent: first sight.
        why: Option<String>,
    }
}
