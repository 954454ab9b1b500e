//! Kind `shape`.

record! {
    /// The ordered list of the series in one reading. A series that appears or vanishes makes a new shape, so absent and unchanged never look alike.
    "shape" Shape {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// The shape's id, dense from 0 per source.
        id: u32,
        /// Series ids in order of exposition, gap-coded: the first as it is, then differences.
        ids: Vec<i64>,
    }
}
