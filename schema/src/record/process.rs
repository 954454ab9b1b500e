//! Kind `process`.

use super::Text;
use std::collections::BTreeMap;

record! {
    /// Identity of one process, when it is first seen, when it changes, and its end. Its CPU and memory are series of a `process` source, labelled with pid and start ticks.
    "process" Process {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// `begin`, `change` or `end`.
        edge: String,
        /// Process id in the recorder's namespace.
        pid: u32,
        /// Start time, clock ticks after boot. Together with `pid` the process's identity.
        start_ticks: u64,
        /// Parent. Absent: not readable.
        ppid: Option<u32>,
        /// Short name (`comm`). Absent: not readable.
        title: Option<Text>,
        /// Arguments, masked. Absent: another user's process, or not readable.
        argv: Option<Vec<Text>>,
        /// True: runs as the recorder's user.
        own: bool,
        /// Pseudonym of another owner. Absent: own.
        user: Option<String>,
        /// `server`, `client`, `recorder` or `other`.
        tree: String,
        /// Its cgroup path, masked. Absent: not readable.
        cgroup: Option<Text>,
        /// Container id found in the cgroup path. Absent: none seen.
        container: Option<String>,
        /// Thread names with their count. Absent: not read.
        threads: Option<BTreeMap<String, u32>>,
        /// TCP ports it listens on. Absent: not looked at.
        ports: Option<Vec<u16>>,
        /// GPU memory in use per GPU uuid, in bytes. Absent: none seen.
        gpu_bytes: Option<BTreeMap<String, u64>>,
    }
}
