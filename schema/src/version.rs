//! Which format this crate writes and which it can read.

use crate::error::ReadError;

/// Major format version. Raised only when an older reader would misread a file.
pub const FORMAT: u32 = 1;
/// Minor format version. Raised with every added key or record kind.
pub const MINOR: u32 = 0;

/// Says whether a bundle of format `format` can be read.
///
/// # Errors
/// `ReadError::NewerFormat` when the major version is above [`FORMAT`], `ReadError::NotABundle`
/// when it is 0, which no released writer used.
pub fn check_readable(format: u32, writer: &str) -> Result<(), ReadError> {
    match format {
        0 => Err(ReadError::NotABundle { found: "a header with format 0".to_owned() }),
        1..=FORMAT => Ok(()),
        newer => Err(ReadError::NewerFormat { found: newer, writer: writer.to_owned() }),
    }
}
