//! Kind `gap`.

record! {
    /// Something was not recorded: a source could not be read, a log was cut, records were dropped.
    "gap" Gap {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// `scrape` (a failed reading), `missed` (the recorder was not running in time), `dropped` (the disk was slower than the recording), `rotated`, `truncated`, `silent`, `too_large`, `ended`, `unparsed`, `unreadable`.
        what: String,
        /// From, ns since the recording began.
        from_t: u64,
        /// To, ns since the recording began.
        to_t: u64,
        /// How many readings, lines or records.
        count: u64,
        /// The reason, in words.
        why: String,
    }
}
