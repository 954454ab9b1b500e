//! Kind `limits`.

use super::{Blank, Text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

record! {
    /// Resource limits of the recorder or of a process, and of its cgroup.
    "limits" Limits {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// The process. Absent: the recorder itself.
        pid: Option<u32>,
        /// `nofile`, `memlock`, `core`… Absent: not read.
        rlimits: Option<BTreeMap<String, Bounds>>,
        /// Files of the cgroup as they stand: `cpu.max`, `memory.max`, `cpuset.cpus.effective`… Absent: not read.
        cgroup: Option<BTreeMap<String, Text>>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}

/// A soft and a hard limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bounds {
    /// The limit in force. Absent: unlimited.
    #[serde(skip_serializing_if = "Blank::is_blank")]
    pub soft: Option<u64>,
    /// What it may be raised to. Absent: unlimited.
    #[serde(skip_serializing_if = "Blank::is_blank")]
    pub hard: Option<u64>,
}
