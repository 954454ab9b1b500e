//! Every limit against hostile or broken files, one constant each with its reason.
//!
//! A passed limit is reported by name, never cut silently. [`Limits::trusting`] multiplies all of
//! them for a reader who knows where the file comes from.

use crate::error::ReadError;

/// The limits that a reader keeps. `Default` is the table of `docs/format.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole file: 1,000 times a usual bundle.
    pub file_bytes: u64,
    /// Frames: 1 s frames for 55 hours.
    pub frames: u64,
    /// zstd window as a power of two: 8 MiB, what the zstd specification asks every decoder for.
    pub window_log: u32,
    /// Decompressed bytes of one frame: the writer cuts at 256 KiB, one record may have 8 MiB.
    pub frame_bytes: u64,
    /// Decompressed bytes of all frames.
    pub total_bytes: u64,
    /// Decompressed bytes per compressed byte over the whole file, kept only above
    /// [`Limits::ratio_free_bytes`]: 1 GiB of zeros compresses 32,750 times.
    pub ratio: u64,
    /// Decompressed bytes below which the ratio is not looked at.
    pub ratio_free_bytes: u64,
    /// Bytes of one record.
    pub record_bytes: u64,
    /// Records: a million empty values fit in one MiB, cost is per value.
    pub records: u64,
    /// Nesting of maps and arrays: real records need 4.
    pub depth: u32,
    /// Bytes of one string or binary part.
    pub string_bytes: u64,
    /// Bytes of one map key.
    pub key_bytes: u64,
    /// Entries of one map.
    pub map_entries: u64,
    /// Elements of one array.
    pub array_elements: u64,
    /// Series of one source: the largest known exposition has 3,664.
    pub series: u64,
    /// Sources of one bundle.
    pub sources: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 2 << 30,
            frames: 200_000,
            window_log: 23,
            frame_bytes: 16 << 20,
            total_bytes: 4 << 30,
            ratio: 1_000,
            ratio_free_bytes: 64 << 20,
            record_bytes: 8 << 20,
            records: 50_000_000,
            depth: 32,
            string_bytes: 1 << 20,
            key_bytes: 64,
            map_entries: 4_096,
            array_elements: 1_000_000,
            series: 200_000,
            sources: 1_024,
        }
    }
}

impl Limits {
    /// All limits but depth and window times `factor`, for a file whose origin is known.
    #[must_use]
    pub fn trusting(factor: u32) -> Self {
        let f = u64::from(factor.max(1));
        let d = Self::default();
        Self {
            file_bytes: d.file_bytes.saturating_mul(f),
            frames: d.frames.saturating_mul(f),
            frame_bytes: d.frame_bytes.saturating_mul(f),
            total_bytes: d.total_bytes.saturating_mul(f),
            ratio: d.ratio.saturating_mul(f),
            ratio_free_bytes: d.ratio_free_bytes.saturating_mul(f),
            record_bytes: d.record_bytes.saturating_mul(f),
            records: d.records.saturating_mul(f),
            string_bytes: d.string_bytes.saturating_mul(f),
            key_bytes: d.key_bytes.saturating_mul(f),
            map_entries: d.map_entries.saturating_mul(f),
            array_elements: d.array_elements.saturating_mul(f),
            series: d.series.saturating_mul(f),
            sources: d.sources.saturating_mul(f),
            ..d
        }
    }

    /// `Ok` when `found` is within `allowed`, else the named error.
    pub(crate) fn check(name: &'static str, found: u64, allowed: u64) -> Result<(), ReadError> {
        if found <= allowed { Ok(()) } else { Err(ReadError::Limit { name, found, allowed }) }
    }
}

/// Bytes of one metric exposition the recorder keeps; a larger one is a gap "too large".
pub const EXPOSITION_BYTES: usize = 8 << 20;
/// Labels of one series.
pub const LABELS: usize = 64;
/// Bytes of a metric or label name.
pub const NAME_BYTES: usize = 256;
/// Bytes of a label value.
pub const LABEL_VALUE_BYTES: usize = 4 << 10;
/// Bytes of one part of a `file`, `log` or `text` body.
pub const PART_BYTES: usize = 1 << 20;
/// Bytes kept of a configuration or model file.
pub const FILE_BYTES: usize = 64 << 10;
/// Bytes kept of a client's result file.
pub const RESULT_BYTES: usize = 64 << 20;
