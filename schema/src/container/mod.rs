//! The file: a header frame, zstd frames of records, an end record, an index frame; once per segment.
//!
//! ```text
//! skippable frame 0x184D2A51   "INFERLNT" + map {format, minor, writer, created_ns, seal?}
//! zstd frame                   record record …           cut at 1 s or 256 KiB
//! …
//! zstd frame                   … end record
//! skippable frame 0x184D2A52   "INFERIDX" + map {frames, records, sha256, …}
//! ```
//!
//! Any zstd decoder that reads several frames gives the records; `docs/format.md` says the rest.

mod frame;
mod index;
mod reader;
mod writer;

pub use frame::Head;
pub use index::{FrameEntry, Index};
pub use reader::{Item, Loss, Salvage, Seal, Segment, peek, read};
pub use writer::{FRAME_BYTES, FRAME_NS, Writer};

/// The extension of a bundle's file name.
pub const EXTENSION: &str = "ilb";
/// The media type of a bundle.
pub const MEDIA_TYPE: &str = "application/vnd.inferlint.bundle+zstd";
