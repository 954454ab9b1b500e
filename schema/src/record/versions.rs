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
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}
