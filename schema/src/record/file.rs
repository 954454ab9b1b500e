//! Kind `file`.

use super::{Bytes, Text};

record! {
    /// A file, in parts of at most 1 MiB.
    "file" File {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// Id of the file, dense from 0.
        id: u32,
        /// Its path as named, masked.
        name: Text,
        /// Why it is here: `result`, `config`, `model`, `script`, `dataset`, `info`, `attached`…
        what: String,
        /// Media type. Absent: not known.
        media: Option<String>,
        /// Bytes of the original.
        size: u64,
        /// Bytes it had before the load began. Absent: was not looked at, or did not exist.
        size_before: Option<u64>,
        /// SHA-256 of the original, hex. Absent: not read whole.
        sha256: Option<String>,
        /// Modification time, Unix ns. Absent: not known.
        modified_ns: Option<u64>,
        /// `recorder` or `attach`.
        by: String,
        /// Part number from 0.
        part: u32,
        /// True on the last part.
        last: bool,
        /// True: the body is only the beginning. Absent: whole.
        cut: Option<bool>,
        /// The bytes, masked. Absent: only the facts above are recorded.
        body: Option<Bytes>,
    }
}
