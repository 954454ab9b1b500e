//! Kind `host`.

use super::Text;
use std::collections::BTreeMap;

record! {
    /// The machine, read once at the start and, for what can change, again at the end.
    "host" Host {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// Numbers with their unit in the name: `cpus`, `memory_bytes`, `shm_bytes`, `clock_max_error_us`… Absent: none read.
        numbers: Option<BTreeMap<String, f64>>,
        /// Other facts: `kernel`, `os`, `cpu_model`, `governor`, `container`, `wsl`, `clock_state`, `libc`… Absent: none read.
        texts: Option<BTreeMap<String, Text>>,
        /// Allow-listed environment of the recorder itself. Absent: not recorded.
        env: Option<BTreeMap<String, Text>>,
        /// Environment variables that are not on the allow-list. Absent: environment not recorded.
        env_left_out: Option<u64>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}
