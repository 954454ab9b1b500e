//! Kind `log`.

use super::Bytes;

record! {
    /// Bytes of a log, one record per read.
    "log" Log {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// `stdout`, `stderr` or `file`.
        stream: String,
        /// Offset of the first byte in the followed file or stream, before masking.
        off: u64,
        /// Bytes read there, before masking.
        len: u64,
        /// The bytes, masked.
        body: Bytes,
        /// Where lines end in `body` (one past the line feed), gap-coded. What follows the last end is the beginning of an unfinished line.
        ends: Vec<u32>,
        /// Time of each ended line relative to `t`, in ns, gap-coded. Absent: all at `t`, or unknown where `how` is `none`.
        dts: Option<Vec<i64>>,
        /// How the lines' times are known: `written` (a file our child writes, followed), `tail`, `stdin`, `stamped` (a time in the line) or `none` (there before we came).
        how: String,
    }
}
