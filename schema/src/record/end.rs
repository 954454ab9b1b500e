//! Kind `end`.

use std::collections::BTreeMap;

record! {
    /// The last record of a segment. It is there only if the recording was closed: its absence means that the file was cut short.
    "end" End {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// `finished`, `duration`, `interrupted`, `terminated`, `hangup`, `disk_full`, `failed` or `recovered`.
        how: String,
        /// Records per kind in this segment, this one left out.
        counts: BTreeMap<String, u64>,
        /// `gap` records among them.
        gaps: u64,
        /// Records dropped because the disk was slower than the recording.
        dropped: u64,
        /// Values masked per rule.
        redacted: BTreeMap<String, u64>,
        /// Wall clock, Unix ns.
        wall_ns: u64,
        /// CLOCK_MONOTONIC, ns.
        mono_ns: u64,
        /// CPU time the recorder used, user and system, in ns. Absent: not measured.
        cpu_ns: Option<u64>,
        /// The recorder's largest resident memory, in bytes. Absent: not measured.
        max_rss_bytes: Option<u64>,
        /// Metric readings that succeeded. Absent: not counted.
        scrapes: Option<u64>,
        /// Time all of them took together, in ns. Absent: not counted.
        scrape_dur_ns: Option<u64>,
        /// What ended the recording, if an error did. Absent: none.
        error: Option<String>,
    }
}
