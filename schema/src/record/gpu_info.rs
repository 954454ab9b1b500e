//! Kind `gpu_info`.

use std::collections::BTreeMap;

record! {
    /// What a GPU says of itself once.
    "gpu_info" GpuInfo {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// Index as the driver counts.
        index: u32,
        /// Pseudonym of the card's uuid, equal within the bundle. Absent: not read.
        uuid: Option<String>,
        /// Product name. Absent: not read.
        name: Option<String>,
        /// Numbers with their unit in the name, e.g. `memory_total_bytes`, `power_limit_mw`, `sm_clock_max_mhz`, `pcie_gen_max`. Absent: none read.
        numbers: Option<BTreeMap<String, f64>>,
        /// Other facts, e.g. `driver`, `cuda`, `compute_capability`, `mig`, `ecc`, `library_path`. Absent: none read.
        texts: Option<BTreeMap<String, String>>,
        /// To each other GPU, by index: how it is connected. Absent: not read.
        links: Option<BTreeMap<String, String>>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}
