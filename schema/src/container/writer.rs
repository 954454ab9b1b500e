//! Append-only: every frame is complete in itself and reaches the output by one write.

use super::frame::{HEAD_MAGIC, HEAD_TAG, Head, skippable};
use super::index::{FrameEntry, Index};
use crate::error::WriteError;
use crate::limits::Limits;
use crate::record::{End, Record};
use crate::redact::Masker;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use zstd::zstd_safe::CParameter;

/// A frame is cut when its records span this much time: what a kill can cost.
pub const FRAME_NS: u64 = 1_000_000_000;
/// A frame is cut when its records fill this many bytes.
pub const FRAME_BYTES: usize = 256 << 10;
/// zstd level: 19 would save 10 to 16% for 20 times the CPU on the host that is being measured.
const LEVEL: i32 = 3;
/// Logarithms of the sizes of zstd's two tables. Its own for a frame of this size, 16 and 15 or 16,
/// take 260 to 400 KiB more memory and save 0.8% of the bytes at best, most often under 0.1% (zstd 1.5.7,
/// metrics and logs of 12 to 250 kB).
const TABLES: [CParameter; 2] = [CParameter::HashLog(14), CParameter::ChainLog(14)];

/// Writes one segment.
///
/// Every record passes the masker on its way; [`Writer::push_raw`] alone does not, for copies of
/// what was masked before.
pub struct Writer<W> {
    out: W,
    masker: Masker,
    compressor: zstd::bulk::Compressor<'static>,
    /// Records of the frame being filled.
    raw: Vec<u8>,
    packed: Vec<u8>,
    entry: FrameEntry,
    entries: Vec<FrameEntry>,
    counts: BTreeMap<String, u64>,
    hash: Sha256,
    offset: u64,
    failed: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a bundle: writes the header frame.
    ///
    /// # Errors
    /// `WriteError::Io` when the output refuses.
    pub fn create(out: W, head: &Head, masker: Masker) -> Result<Self, WriteError> {
        Self::begin(out, head, masker, Sha256::new(), 0)
    }

    /// Begins a later segment behind a sealed bundle, whose bytes `sealed` gives from the start.
    /// `head.seal` is the digest of the seal before.
    ///
    /// # Errors
    /// `WriteError::Io` when `sealed` cannot be read or the output refuses.
    pub fn append(
        out: W,
        head: &Head,
        masker: Masker,
        mut sealed: impl Read,
    ) -> Result<Self, WriteError> {
        let mut hash = Sha256::new();
        let mut offset = 0;
        let mut chunk = vec![0; 64 << 10];
        loop {
            let n = sealed.read(&mut chunk)?;
            if n == 0 {
                return Self::begin(out, head, masker, hash, offset);
            }
            hash.update(chunk.get(..n).unwrap_or_default());
            offset += n as u64;
        }
    }

    fn begin(
        out: W,
        head: &Head,
        masker: Masker,
        hash: Sha256,
        offset: u64,
    ) -> Result<Self, WriteError> {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
        for table in TABLES {
            compressor.set_parameter(table)?;
        }
        compressor.include_checksum(true)?;
        compressor.include_contentsize(true)?;
        let map = rmp_serde::to_vec_named(head).map_err(|e| encode("header", &e))?;
        let mut writer = Self {
            out,
            masker,
            compressor,
            raw: Vec::new(),
            packed: Vec::new(),
            entry: FrameEntry::default(),
            entries: Vec::new(),
            counts: BTreeMap::new(),
            hash,
            offset,
            failed: false,
        };
        writer.put(&skippable(HEAD_MAGIC, HEAD_TAG, &map))?;
        Ok(writer)
    }

    /// Masks, encodes and adds a record; cuts the frame first when it is old or full enough.
    ///
    /// # Errors
    /// `WriteError::Io` when the output refuses, then `Failed` for ever; `TooLarge` and `Encode`
    /// leave the record out and the writer usable.
    pub fn push(&mut self, record: &Record) -> Result<(), WriteError> {
        let mut plain = Vec::with_capacity(256);
        record.encode(&mut plain)?;
        let masked = self.masker.record(&plain);
        self.add(record.kind(), record.t(), &masked)
    }

    /// Adds a record byte for byte, unmasked: it comes from another bundle.
    ///
    /// # Errors
    /// As [`Writer::push`].
    pub fn push_raw(&mut self, kind: &str, t: u64, raw: &[u8]) -> Result<(), WriteError> {
        self.add(kind, t, raw)
    }

    fn add(&mut self, kind: &str, t: u64, raw: &[u8]) -> Result<(), WriteError> {
        let allowed = Limits::default().record_bytes as usize;
        if raw.len() > allowed {
            return Err(WriteError::TooLarge { kind: kind.to_owned(), size: raw.len(), allowed });
        }
        let old = self.entry.records > 0 && t.saturating_sub(self.entry.first_t) >= FRAME_NS;
        if old || self.raw.len() + raw.len() > FRAME_BYTES {
            self.flush()?;
        }
        if self.failed {
            return Err(WriteError::Failed);
        }
        self.raw.extend_from_slice(raw);
        if self.entry.records == 0 {
            self.entry.first_t = t;
        }
        self.entry.last_t = t;
        self.entry.records += 1;
        if !self.entry.kinds.iter().any(|k| k == kind) {
            self.entry.kinds.push(kind.to_owned());
        }
        match self.counts.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                self.counts.insert(kind.to_owned(), 1);
            }
        }
        Ok(())
    }

    /// Cuts the frame: what was pushed before reaches the output now.
    ///
    /// # Errors
    /// `WriteError::Io` when the output refuses.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        if self.failed {
            return Err(WriteError::Failed);
        }
        if self.entry.records == 0 {
            return Ok(());
        }
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(self.raw.len()));
        self.compressor.compress_to_buffer(&self.raw, &mut self.packed)?;
        let mut entry = std::mem::take(&mut self.entry);
        entry.offset = self.offset;
        entry.packed = self.packed.len() as u64;
        entry.raw = self.raw.len() as u64;
        self.raw.clear();
        self.entries.push(entry);
        let packed = std::mem::take(&mut self.packed);
        let result = self.put(&packed);
        self.packed = packed;
        result
    }

    fn put(&mut self, frame: &[u8]) -> Result<(), WriteError> {
        if let Err(error) = self.out.write_all(frame) {
            self.failed = true;
            return Err(error.into());
        }
        self.hash.update(frame);
        self.offset += frame.len() as u64;
        Ok(())
    }

    /// Bytes written so far: the length of the file if all writes went well.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Records pushed so far.
    pub fn records(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The masker, for collectors that must mask before they cut (log lines).
    pub fn masker(&mut self) -> &mut Masker {
        &mut self.masker
    }

    /// The output.
    pub fn output(&mut self) -> &mut W {
        &mut self.out
    }

    /// Seals the segment: `end` with its counts filled in, then the index frame.
    ///
    /// # Errors
    /// `WriteError::Io` when the output refuses; the file is then a readable, unsealed bundle.
    pub fn finish(mut self, mut end: End) -> Result<W, WriteError> {
        end.counts = self.counts.clone();
        end.gaps = self.counts.get("gap").copied().unwrap_or(0);
        end.redacted = self.masker.counts().clone();
        self.push(&end.into())?;
        self.flush()?;
        let sha256 = hex(&self.hash.clone().finalize());
        let index = Index::new(&self.entries, std::mem::take(&mut self.counts), sha256);
        let frame = index.frame().map_err(|e| encode("index", &e))?;
        self.put(&frame)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn encode(kind: &str, error: &rmp_serde::encode::Error) -> WriteError {
    WriteError::Encode { kind: kind.to_owned(), what: error.to_string() }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
