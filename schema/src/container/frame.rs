//! Frames as bytes: skippable ones with our tags, and zstd ones.

use crate::error::ReadError;
use crate::limits::Limits;
use serde::{Deserialize, Serialize};
use zstd::zstd_safe;

/// Magic number of the header frame: a zstd skippable frame.
pub(super) const HEAD_MAGIC: [u8; 4] = 0x184D_2A51_u32.to_le_bytes();
/// Magic number of the index frame.
pub(super) const INDEX_MAGIC: [u8; 4] = 0x184D_2A52_u32.to_le_bytes();
/// The first bytes inside a header frame. The magic alone proves nothing: all sixteen are free for
/// anybody.
pub(super) const HEAD_TAG: [u8; 8] = *b"INFERLNT";
/// The first bytes inside an index frame.
pub(super) const INDEX_TAG: [u8; 8] = *b"INFERIDX";
/// Magic number of a zstd frame.
pub(super) const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// Bytes of a skippable frame before its content.
pub(super) const SKIPPABLE_HEAD: usize = 8;
/// Bytes that a header frame may have: it is a small map.
pub(super) const HEAD_BYTES: usize = 64 << 10;

/// What the header frame of a segment says. It carries no evidence: a plain zstd reader never sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Head {
    /// Major format version.
    pub format: u32,
    /// Minor format version.
    pub minor: u32,
    /// Program and version that wrote the segment.
    pub writer: String,
    /// When the segment was begun, Unix ns.
    pub created_ns: u64,
    /// In a later segment: the SHA-256 of the seal before it, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
}

impl Head {
    /// A header of this crate's format version.
    pub fn new(writer: &str, created_ns: u64) -> Self {
        Self {
            format: crate::version::FORMAT,
            minor: crate::version::MINOR,
            writer: writer.to_owned(),
            created_ns,
            seal: None,
        }
    }
}

/// A skippable frame around `tag` and `map`.
pub(super) fn skippable(magic: [u8; 4], tag: [u8; 8], map: &[u8]) -> Vec<u8> {
    let len = u32::try_from(tag.len() + map.len()).unwrap_or(u32::MAX);
    let mut frame = Vec::with_capacity(SKIPPABLE_HEAD + tag.len() + map.len());
    frame.extend(magic);
    frame.extend(len.to_le_bytes());
    frame.extend(tag);
    frame.extend(map);
    frame
}

/// Length of the skippable frame that begins at `bytes`, its head included. `None`: not one, or cut
/// inside its head.
pub(super) fn skippable_len(bytes: &[u8]) -> Option<u64> {
    let magic = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    if magic & 0xFFFF_FFF0 != 0x184D_2A50 {
        return None;
    }
    let len = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
    Some(u64::from(len) + SKIPPABLE_HEAD as u64)
}

/// The map inside a skippable frame with this magic and tag. `None`: another frame.
pub(super) fn tagged(frame: &[u8], magic: [u8; 4], tag: [u8; 8]) -> Option<&[u8]> {
    let rest = frame.strip_prefix(&magic)?;
    rest.get(4..)?.strip_prefix(&tag)
}

/// The smallest and largest a compressed frame within `limits` can be.
pub(super) fn largest_frame(limits: &Limits) -> usize {
    zstd_safe::compress_bound(usize::try_from(limits.frame_bytes).unwrap_or(usize::MAX / 4)) + 32
}

/// Length of the zstd frame that begins at `bytes`. `None`: it does not end there, or is broken.
pub(super) fn zstd_len(bytes: &[u8]) -> Option<usize> {
    zstd_safe::find_frame_compressed_size(bytes).ok()
}

/// The content size that a zstd frame declares, after a look at what its header asks for.
///
/// # Errors
/// A reason in words, or a limit: no checksum, no size, too large a window or size.
pub(super) fn declared_size(frame: &[u8], limits: &Limits) -> Result<usize, ReadError> {
    let broken = |what: &str| ReadError::Malformed { offset: 0, what: what.to_owned() };
    let descriptor = *frame.get(4).ok_or_else(|| broken("a frame without a header"))?;
    if descriptor & 0b100 == 0 {
        return Err(broken("a frame without a checksum"));
    }
    let single_segment = descriptor & 0b10_0000 != 0;
    if !single_segment {
        let window = frame.get(5).copied().unwrap_or(u8::MAX);
        let log = u64::from(window >> 3) + 10;
        Limits::check("window_log", log, u64::from(limits.window_log))?;
    }
    let size = zstd_safe::get_frame_content_size(frame)
        .ok()
        .flatten()
        .ok_or_else(|| broken("a frame without its content size"))?;
    Limits::check("frame_bytes", size, limits.frame_bytes)?;
    usize::try_from(size).map_err(|_| broken("a frame too large for this machine"))
}
