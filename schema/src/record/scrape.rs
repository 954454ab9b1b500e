//! Kind `scrape`.

use super::Values;

record! {
    /// One reading of a source's series: the whole of it (`full`) or what changed since the reading before.
    /// `t` is when the request was sent; the values' time is `t` + `dur_ns` / 2.
    "scrape" Scrape {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// From sending the request, or beginning to read, to the last byte, in ns.
        dur_ns: u64,
        /// The shape whose positions `at` and `v` use.
        shape: u32,
        /// True: a keyframe, `v` has every position. Absent: false.
        full: Option<bool>,
        /// Changed positions in the shape, gap-coded: the first as it is, then differences. Absent: on a keyframe all of them, else none.
        at: Option<Vec<u32>>,
        /// The values at those positions. Whole numbers under 2^53 are integers, all others float64.
        v: Values,
        /// HTTP status. Absent: no HTTP.
        status: Option<u16>,
        /// Bytes of the body as received. Absent: no HTTP.
        bytes: Option<u64>,
        /// Address that answered. Absent: as in the reading before of this source; never absent on the first.
        peer: Option<String>,
        /// The answer's `Date`, Unix seconds. Absent: the server sent none.
        date_s: Option<u64>,
        /// Positions whose line carried a timestamp of its own, gap-coded. Absent: none did.
        stamp_at: Option<Vec<u32>>,
        /// Those timestamps, Unix ms. Absent: none.
        stamp_ms: Option<Vec<i64>>,
    }
}
