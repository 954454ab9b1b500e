//! Kind `versions`.

use std::collections::BTreeMap;

record! {
    /// Versions around a source that can never be asked for later.
    "versions" Versions {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// `server`, `client` or `host`.
        of: String,
        /// Python distributions and versions, from `*.dist-info` names. Absent: not found.
        packages: Option<BTreeMap<String, String>>,
        /// Mapped CUDA, NCCL, cuBLAS… libraries and versions. Absent: not readable.
        libraries: Option<BTreeMap<String, String>>,
        /// Container image or its digest. Absent: not known.
        image: Option<String>,
        /// Time zone of the process's root file system, as `session.tz`; a `TZ` of its own is not read. Absent: could not be read.
        tz: Option<String>,
        /// Offset of that zone from UTC in seconds, at `t`. Absent: could not be read.
        tz_offset_s: Option<i64>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}
