//! Kind `nic`.

use std::collections::BTreeMap;

record! {
    /// One network interface or InfiniBand port.
    "nic" Nic {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// Interface name.
        name: String,
        /// `ethernet`, `infiniband`, `loopback` or `other`.
        kind: String,
        /// `speed_bits_per_s`, `mtu_bytes`, `numa_node`… Absent: none read.
        numbers: Option<BTreeMap<String, f64>>,
        /// `driver`, `state`, `firmware`, `link_layer`… Absent: none read.
        texts: Option<BTreeMap<String, String>>,
        /// For each thing that could not be read, the reason. Absent: nothing was missing.
        why: Option<BTreeMap<String, String>>,
    }
}
