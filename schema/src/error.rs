//! What can go wrong when a bundle is read or written.

use std::io;

/// Why a bundle, or a part of it, could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be read at all.
    #[error("read the file: {0}")]
    Io(#[from] io::Error),
    /// The first bytes are not a bundle's header frame.
    #[error("this is not an inferlint bundle: it begins with {found}")]
    NotABundle {
        /// What stands at the beginning instead, in words.
        found: String,
    },
    /// A bundle of a newer major format.
    #[error(
        "the bundle has format {found}, written by {writer}; this version reads format {} and older",
        crate::version::FORMAT
    )]
    NewerFormat {
        /// The bundle's major format version.
        found: u32,
        /// The program that wrote it.
        writer: String,
    },
    /// A limit of `limits.rs` was passed.
    #[error("limit {name} exceeded: found {found}, allowed {allowed}")]
    Limit {
        /// The limit's name in `limits.rs`.
        name: &'static str,
        /// What was found.
        found: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// Bytes that are not what the format says, with their offset in the decompressed frame.
    #[error("malformed record at byte {offset} of its frame: {what}")]
    Malformed {
        /// Offset from the start of the decompressed frame.
        offset: usize,
        /// What is wrong.
        what: String,
    },
}

/// Why a bundle could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The operating system refused the write.
    #[error("write the bundle: {0}")]
    Io(#[from] io::Error),
    /// A record could not be encoded.
    #[error("encode a record of kind {kind}: {what}")]
    Encode {
        /// The record's kind.
        kind: String,
        /// What is wrong.
        what: String,
    },
    /// A record is larger than a reader accepts.
    #[error("a record of kind {kind} has {size} bytes, more than the {allowed} a reader accepts")]
    TooLarge {
        /// The record's kind.
        kind: String,
        /// Its encoded size in bytes.
        size: usize,
        /// The limit in bytes.
        allowed: usize,
    },
    /// The writer has failed before; the file ends with the last whole frame.
    #[error("the bundle was closed by an earlier write error")]
    Failed,
}
