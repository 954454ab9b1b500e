//! Kind `source`.

use std::collections::BTreeMap;

record! {
    /// One thing observed. Ids are dense from 0 and go on across segments.
    "source" Source {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source's id.
        src: u32,
        /// Its name, unique in the bundle.
        name: String,
        /// `engine`, `prefill`, `decode`, `encode`, `router`, `gateway`, `client`, `host` or `other`. Counts are summed inside one role only.
        role: String,
        /// `exposition`, `gpu`, `host`, `process`, `network`, `log` or `file`.
        kind: String,
        /// Replica group: sources of one group and role are replicas. Absent: stands alone.
        group: Option<String>,
        /// URL or path it is read at, masked. Absent: has none.
        address: Option<String>,
        /// `vllm`, `sglang`, `trtllm`… Absent: not known.
        engine: Option<String>,
        /// How the engine is known: `option`, `argv`, `metrics`, `log`. Absent: engine not known.
        engine_from: Option<String>,
        /// What gives the values: `prometheus`, `nvml`, `procfs`… Absent: not known.
        provider: Option<String>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}
