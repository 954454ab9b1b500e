//! Kind `elided`.

record! {
    /// Lines of a log class given up for size, counted.
    "elided" Elided {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// `access`, `debug`, `progress`…
        class: String,
        /// From, ns since the recording began.
        from_t: u64,
        /// To, ns since the recording began.
        to_t: u64,
        /// Lines given up in each second from `from_t` on.
        per_second: Vec<u32>,
    }
}
