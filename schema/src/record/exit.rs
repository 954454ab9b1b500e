//! Kind `exit`.

use super::Text;

record! {
    /// A process that mattered has ended: the load command, the server, a recognised child.
    "exit" Exit {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// `load`, `server` or `child`.
        what: String,
        /// Process id.
        pid: u32,
        /// Start time, clock ticks after boot (field 22 of `/proc/PID/stat`). Absent: not read.
        start_ticks: Option<u64>,
        /// Its arguments, masked. Absent: not readable.
        argv: Option<Vec<Text>>,
        /// Exit status. Absent: ended by a signal, or not known.
        status: Option<i64>,
        /// Signal that ended it. Absent: exited by itself, or not known.
        signal: Option<u32>,
        /// When it started, ns since the recording began. Absent: before the recording, or not known.
        began_t: Option<u64>,
        /// The phase it was. Absent: none.
        phase: Option<u32>,
    }
}
