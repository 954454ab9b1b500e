//! Kind `stop`.

use super::Text;

record! {
    /// A process the recorder stopped, or left alone, and why.
    "stop" Stop {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// The source it concerns. Absent: the recording as a whole.
        src: Option<u32>,
        /// Process id.
        pid: u32,
        /// Start time, clock ticks after boot.
        start_ticks: u64,
        /// Short name. Absent: gone before it could be read.
        title: Option<Text>,
        /// True: selected for stopping. False: refused.
        chosen: bool,
        /// Why it was selected or refused.
        why: String,
        /// Signal sent. Absent: none.
        signal: Option<u32>,
        /// `pidfd` or `kill` (older kernels, weaker). Absent: none sent.
        by: Option<String>,
        /// True: ended afterwards. Absent: not waited for.
        gone: Option<bool>,
        /// From the signal to its end, in ns. Absent: did not end, or not waited for.
        took_ns: Option<u64>,
    }
}
