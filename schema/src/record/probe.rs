//! Kind `probe`.

use super::Text;

record! {
    /// What the recorder asked a server itself, outside any load, and what came back.
    "probe" Probe {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source, as declared by a `source` record.
        src: u32,
        /// `health`, `models`, `version`, `info`, `request`, `burst`.
        what: String,
        /// Path asked for. Absent: not HTTP.
        path: Option<String>,
        /// Requests sent.
        asked: u32,
        /// Requests answered as they should be.
        ok: u32,
        /// HTTP status of the last answer. Absent: none came.
        status: Option<u16>,
        /// How long it took, in ns.
        dur_ns: u64,
        /// The answer, by the fixed list of keys, masked, at most 64 KiB. Absent: not kept.
        body: Option<Text>,
        /// What went wrong. Absent: nothing.
        error: Option<String>,
    }
}
