//! Kind `gate`.

use super::Blank;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

record! {
    /// A look at the GPUs before a start or after a stop: are they free?
    "gate" Gate {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// `before` or `after`.
        when: String,
        /// True: no server process and at most the allowed memory on each.
        clear: bool,
        /// What was read, one entry a GPU and reading.
        gpus: Vec<GpuReading>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}

/// One reading of one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuReading {
    /// Index as the driver counts.
    pub index: u32,
    /// Ns since the recording began.
    pub t: u64,
    /// Device memory in use, in bytes. Absent: could not be read.
    #[serde(skip_serializing_if = "Blank::is_blank")]
    pub used_bytes: Option<u64>,
    /// Processes on it that are ours to see. Absent: could not be read.
    #[serde(skip_serializing_if = "Blank::is_blank")]
    pub pids: Option<Vec<u32>>,
    /// Processes on it that are not in our view of `/proc`. Absent: could not be read.
    #[serde(skip_serializing_if = "Blank::is_blank")]
    pub foreign_pids: Option<Vec<u32>>,
}
