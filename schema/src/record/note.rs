//! Kind `note`.

use super::Text;

record! {
    /// What a person says of the run: a claim, a question, a note.
    "note" Note {
        /// Ns since the recording began, monotonic clock.
        t: u64,
        /// `claim`, `question` or `note`.
        what: String,
        /// Name, e.g. `output_tps`. Absent: free text.
        key: Option<String>,
        /// The text, masked.
        value: Text,
        /// `user`, or the program that said it.
        by: String,
    }
}
