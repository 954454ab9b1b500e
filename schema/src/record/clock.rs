//! Kind `clock`.

record! {
    /// An anchor between the clocks: both were read at `t`.
    "clock" Clock {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// Unix time in ns.
        wall_ns: u64,
        /// CLOCK_MONOTONIC in ns.
        mono_ns: u64,
        /// Error bound of the wall clock as the kernel gives it, in ns. Absent: not known.
        error_ns: Option<u64>,
    }
}
