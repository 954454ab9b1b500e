//! Kind `text`.

use super::Bytes;

record! {
    /// An exposition verbatim, masked, in parts of at most 1 MiB.
    /// Its `t` equals that of the `scrape` it belongs to; `inferlint-analyze verify` compares the two.
    "text" TextBody {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// Id of this text, dense from 0 per source.
        id: u32,
        /// Part number from 0.
        part: u32,
        /// True on the last part.
        last: bool,
        /// Why it was kept: `start`, `end`, `minute`, `edge`, `unparsed` or `alone` (a snapshot).
        why: String,
        /// The bytes.
        body: Bytes,
    }
}
