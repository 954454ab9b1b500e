//! A tolerant reader: it yields every record that can be had and an account of what cannot.
//!
//! Memory is bounded by one frame. The index is never followed, only compared.

use super::frame::{
    self, HEAD_BYTES, HEAD_MAGIC, HEAD_TAG, Head, INDEX_MAGIC, INDEX_TAG, SKIPPABLE_HEAD,
    ZSTD_MAGIC, skippable_len, tagged, zstd_len,
};
use super::index::{FrameEntry, Index};
use super::writer::hex;
use crate::error::ReadError;
use crate::limits::Limits;
use crate::record::{Decoded, End, Record};
use crate::{version, wire};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// What [`read`] yields, in file order.
#[derive(Debug)]
pub enum Item<'a> {
    /// A segment begins.
    Segment(&'a Head),
    /// A record.
    Record {
        /// The record, or the kind this version does not know.
        decoded: Decoded,
        /// Its bytes.
        raw: &'a [u8],
        /// False: from a frame whose end is missing, so that no checksum vouches for it.
        verified: bool,
    },
    /// Bytes that could not be used; changes of values cannot be applied across them.
    Loss(&'a Loss),
}

/// Bytes that could not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Where they begin in the file.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Why, in words.
    pub reason: String,
}

/// Whether a segment was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// Its index frame is there and agrees with the bytes and records before it.
    Sealed,
    /// Its index frame is there and does not agree: something was changed or damaged.
    Broken,
    /// It has no index frame: the writer was stopped.
    Missing,
}

/// What a segment turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Its header.
    pub head: Head,
    /// Its end record.
    pub end: Option<End>,
    /// Its seal.
    pub seal: Seal,
    /// The digest its index gives, hex.
    pub sha256: Option<String>,
    /// Its intact frames.
    pub frames: Vec<FrameEntry>,
    /// Records per kind in intact frames.
    pub counts: BTreeMap<String, u64>,
}

/// The account of a whole file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Salvage {
    /// The segments.
    pub segments: Vec<Segment>,
    /// Bytes of the file.
    pub bytes: u64,
    /// Frames that decoded whole.
    pub frames_ok: u64,
    /// Frames that did not.
    pub frames_bad: u64,
    /// Records yielded, unverified and unknown ones included.
    pub records: u64,
    /// Records of a frame that is cut.
    pub unverified: u64,
    /// Records that could not be decoded, with the first reason.
    pub malformed: u64,
    /// Why the first malformed record was left out.
    pub malformed_why: Option<String>,
    /// Records of kinds this version does not know.
    pub unknown: BTreeMap<String, u64>,
    /// Time of the latest record, ns since the recording began.
    pub last_t: Option<u64>,
    /// What was lost.
    pub losses: Vec<Loss>,
    /// Losses beyond those listed.
    pub more_losses: u64,
}

/// Losses that are listed; further ones are counted.
const LOSSES: usize = 100;

impl Salvage {
    /// True: every segment is closed, sealed and undamaged.
    pub fn is_clean(&self) -> bool {
        let closed = |s: &Segment| s.end.is_some() && s.seal == Seal::Sealed;
        !self.segments.is_empty()
            && self.segments.iter().all(closed)
            && self.losses.is_empty()
            && self.malformed == 0
    }

    /// Bytes that could not be used.
    pub fn bytes_lost(&self) -> u64 {
        self.losses.iter().map(|loss| loss.bytes).sum()
    }

    /// Why the file is not clean, in words; `None` when it is.
    pub fn reason(&self) -> Option<String> {
        if let Some(loss) = self.losses.first() {
            return Some(format!(
                "{} of {} bytes could not be read, first at byte {}: {}",
                self.bytes_lost(),
                self.bytes,
                loss.offset,
                loss.reason
            ));
        }
        if let Some(why) = &self.malformed_why {
            return Some(format!("{} records could not be decoded: {why}", self.malformed));
        }
        self.segments.iter().enumerate().find_map(|(number, segment)| {
            let what = match (&segment.end, segment.seal) {
                (Some(_), Seal::Sealed) => return None,
                (_, Seal::Broken) => "its seal does not fit its bytes: it was changed or damaged",
                (None, _) => "it has no end record: the recorder was stopped before it could close",
                (Some(_), Seal::Missing) => "it has an end record but no seal",
            };
            Some(if number == 0 { what.to_owned() } else { format!("segment {number}: {what}") })
        })
    }
}

/// Reads the header frame of a bundle: is it one, and can this version read it?
///
/// # Errors
/// `ReadError::NotABundle` saying what stands there instead, `NewerFormat`, or `Io`.
pub fn peek(input: impl Read) -> Result<Head, ReadError> {
    let mut window = Window::new(input, Limits::default());
    window.head()
}

/// Reads a bundle from its first byte to its last.
///
/// Damage is no error: what can be had is yielded, the rest is in the account.
///
/// # Errors
/// `ReadError::NotABundle`, `NewerFormat`, `Io`, and `Limit` when the file as a whole is larger than
/// allowed in bytes, frames, records or decompressed bytes.
pub fn read(
    input: impl Read,
    limits: &Limits,
    visit: &mut dyn FnMut(Item<'_>),
) -> Result<Salvage, ReadError> {
    let mut scan = Scan {
        window: Window::new(input, *limits),
        limits: *limits,
        decompressor: zstd::bulk::Decompressor::new()?,
        content: Vec::new(),
        total: 0,
        lost_from: None,
        salvage: Salvage::default(),
        visit,
    };
    let head = scan.window.head()?;
    scan.begin_segment(head);
    while scan.step()? {}
    scan.close_loss();
    scan.salvage.bytes = scan.window.offset;
    Ok(scan.salvage)
}

/// A sliding view of the input, with the digest of everything it has passed.
struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end_of_input: bool,
    /// Offset in the file of `buffer[start]`.
    offset: u64,
    hash: Sha256,
    limits: Limits,
}

impl<R: Read> Window<R> {
    fn new(input: R, limits: Limits) -> Self {
        let (buffer, hash) = (Vec::new(), Sha256::new());
        Self { input, buffer, start: 0, end_of_input: false, offset: 0, hash, limits }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Reads until `want` bytes are in view, or the input ends.
    fn fill(&mut self, want: usize) -> Result<(), ReadError> {
        if self.rest().len() >= want || self.end_of_input {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        while self.buffer.len() < want && !self.end_of_input {
            let have = self.buffer.len();
            let more = (want - have).max(64 << 10) as u64;
            let n = match (&mut self.input).take(more).read_to_end(&mut self.buffer) {
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.end_of_input = (n as u64) < more;
        }
        let seen = self.offset + self.buffer.len() as u64;
        Limits::check("file_bytes", seen, self.limits.file_bytes)
    }

    /// Moves past `n` bytes in view.
    fn pass(&mut self, n: usize) {
        let n = n.min(self.rest().len());
        let end = self.start + n;
        self.hash.update(self.buffer.get(self.start..end).unwrap_or_default());
        self.start = end;
        self.offset += n as u64;
    }

    /// Moves past `n` bytes, in view or not; true when they were all there.
    fn skip(&mut self, mut n: u64) -> Result<bool, ReadError> {
        while n > 0 {
            self.fill(usize::try_from(n).unwrap_or(usize::MAX).min(1 << 20))?;
            let step = self.rest().len().min(usize::try_from(n).unwrap_or(usize::MAX));
            if step == 0 {
                return Ok(false);
            }
            self.pass(step);
            n -= step as u64;
        }
        Ok(true)
    }

    /// The whole skippable frame here, if it ends within `most` bytes.
    fn skippable(&mut self, most: usize) -> Result<Option<&[u8]>, ReadError> {
        self.fill(SKIPPABLE_HEAD)?;
        let Some(len) = skippable_len(self.rest()) else { return Ok(None) };
        let Some(len) = usize::try_from(len).ok().filter(|len| *len <= most) else {
            return Ok(None);
        };
        self.fill(len)?;
        Ok(self.rest().get(..len))
    }

    fn head(&mut self) -> Result<Head, ReadError> {
        let found = self.skippable(HEAD_BYTES)?.map(<[u8]>::to_vec);
        let map = found.as_deref().and_then(|frame| tagged(frame, HEAD_MAGIC, HEAD_TAG));
        let head = map.and_then(|map| rmp_serde::from_slice::<Head>(map).ok());
        let Some(head) = head else {
            return Err(ReadError::NotABundle { found: describe(self.rest()) });
        };
        version::check_readable(head.format, &head.writer)?;
        self.pass(found.map_or(0, |frame| frame.len()));
        Ok(head)
    }

    /// Length of the zstd frame here, reading on until its end is in view.
    fn zstd_len(&mut self) -> Result<Option<usize>, ReadError> {
        let largest = frame::largest_frame(&self.limits);
        let mut want = 512 << 10;
        loop {
            self.fill(want)?;
            let view = self.rest();
            if let Some(len) = zstd_len(view.get(..view.len().min(largest)).unwrap_or_default()) {
                return Ok(Some(len));
            }
            if self.end_of_input || want >= largest {
                return Ok(None);
            }
            want = (want * 4).min(largest);
        }
    }
}

/// What stands at the beginning of a file that is no bundle, in words.
fn describe(bytes: &[u8]) -> String {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"\x1f\x8b", "a gzip file"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x7fELF", "an ELF program"),
        (b"%PDF", "a PDF document"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ", "an xz file"),
        (b"SQLite format 3", "a SQLite database"),
        (&ZSTD_MAGIC, "a zstd frame without a bundle's header"),
        (b"<", "markup (HTML or XML)"),
        (b"{", "JSON or other text"),
    ];
    if bytes.is_empty() {
        return "nothing: the file is empty".to_owned();
    }
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (*what).to_owned();
    }
    if bytes.starts_with(&HEAD_MAGIC) || skippable_len(bytes).is_some() {
        return "a skippable zstd frame that is not a bundle's header, or a damaged one".to_owned();
    }
    let start = bytes.get(..bytes.len().min(16)).unwrap_or_default();
    if start.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) {
        return format!("text ({:?})", String::from_utf8_lossy(start));
    }
    format!("bytes {}", hex(bytes.get(..bytes.len().min(8)).unwrap_or_default()))
}

struct Scan<'v, R> {
    window: Window<R>,
    limits: Limits,
    decompressor: zstd::bulk::Decompressor<'static>,
    /// The frame in hand, decompressed.
    content: Vec<u8>,
    /// Decompressed bytes so far, of frames that were refused too.
    total: u64,
    /// Where bytes that cannot be used began, and why.
    lost_from: Option<(u64, String)>,
    salvage: Salvage,
    visit: &'v mut dyn FnMut(Item<'_>),
}

impl<R: Read> Scan<'_, R> {
    fn begin_segment(&mut self, head: Head) {
        (self.visit)(Item::Segment(&head));
        self.salvage.segments.push(Segment {
            head,
            end: None,
            seal: Seal::Missing,
            sha256: None,
            frames: Vec::new(),
            counts: BTreeMap::new(),
        });
    }

    /// One frame, or one byte of what is none. False at the end of the input.
    fn step(&mut self) -> Result<bool, ReadError> {
        self.window.fill(SKIPPABLE_HEAD + 8)?;
        let here = self.window.rest();
        if here.is_empty() {
            return Ok(false);
        }
        if here.starts_with(&ZSTD_MAGIC) {
            return self.data();
        }
        if skippable_len(here).is_some() {
            return self.skippable();
        }
        self.lose("bytes that begin no frame");
        self.search()
    }

    fn data(&mut self) -> Result<bool, ReadError> {
        let Some(len) = self.window.zstd_len()? else {
            self.salvage.frames_bad += 1;
            self.lose("a frame without its end");
            self.torn();
            return self.search();
        };
        let frame = self.window.rest().get(..len).unwrap_or_default();
        if let Err(reason) =
            decompress(frame, &self.limits, &mut self.decompressor, &mut self.content)
        {
            self.count_content(len)?;
            self.salvage.frames_bad += 1;
            self.lose(&reason);
            return self.search();
        }
        self.count_content(len)?;
        self.close_loss();
        self.salvage.frames_ok += 1;
        Limits::check("frames", self.salvage.frames_ok, self.limits.frames)?;
        let entry = FrameEntry {
            offset: self.window.offset,
            packed: len as u64,
            raw: self.content.len() as u64,
            ..FrameEntry::default()
        };
        self.window.pass(len);
        let content = std::mem::take(&mut self.content);
        let result = self.records(&content, true, entry);
        self.content = content;
        result.map(|()| true)
    }

    /// Counts decompressed bytes against the limits of the whole file.
    fn count_content(&mut self, packed: usize) -> Result<(), ReadError> {
        self.total += self.content.len() as u64;
        Limits::check("total_bytes", self.total, self.limits.total_bytes)?;
        if self.total > self.limits.ratio_free_bytes {
            let read = (self.window.offset + packed as u64).max(1);
            Limits::check("ratio", self.total / read, self.limits.ratio)?;
        }
        Ok(())
    }

    /// Yields the records of one frame.
    fn records(
        &mut self,
        content: &[u8],
        verified: bool,
        mut entry: FrameEntry,
    ) -> Result<(), ReadError> {
        let mut at = 0;
        while at < content.len() {
            let len = match wire::measure(content, at, &self.limits) {
                Ok(len) => len,
                Err(error) => {
                    // Where the next record begins is unknown: the rest of the frame is lost. In a
                    // cut frame that is the cut itself.
                    if verified {
                        self.malformed(&error, (content.len() - at) as u64);
                    }
                    break;
                }
            };
            let raw = content.get(at..at + len).unwrap_or_default();
            at += len;
            if !verified && at == content.len() {
                // The last record of a cut frame may be cut at a value's end.
                break;
            }
            match Record::decode(raw) {
                Ok(decoded) => self.record(decoded, raw, verified, &mut entry)?,
                Err(error) => {
                    self.malformed(&error, len as u64);
                    if wire::kind(raw).is_err() {
                        // No record at all: a million such values fit in a MiB, so stop here.
                        break;
                    }
                }
            }
        }
        if verified && let Some(segment) = self.salvage.segments.last_mut() {
            segment.frames.push(entry);
        }
        Ok(())
    }

    fn record(
        &mut self,
        decoded: Decoded,
        raw: &[u8],
        verified: bool,
        entry: &mut FrameEntry,
    ) -> Result<(), ReadError> {
        self.salvage.records += 1;
        Limits::check("records", self.salvage.records, self.limits.records)?;
        let kind = decoded.kind().to_owned();
        match &decoded {
            Decoded::Unknown { kind } => {
                *self.salvage.unknown.entry(kind.clone()).or_default() += 1;
                note_time(entry, wire_t(raw).unwrap_or(entry.last_t));
            }
            Decoded::Known(record) => {
                note_time(entry, record.t());
                self.salvage.last_t = self.salvage.last_t.max(Some(record.t()));
            }
        }
        entry.records += 1;
        if !entry.kinds.contains(&kind) {
            entry.kinds.push(kind.clone());
        }
        if verified {
            if let Some(segment) = self.salvage.segments.last_mut() {
                if let Decoded::Known(record) = &decoded
                    && let Record::End(end) = record.as_ref()
                {
                    segment.end = Some(end.clone());
                }
                *segment.counts.entry(kind).or_default() += 1;
            }
        } else {
            self.salvage.unverified += 1;
        }
        (self.visit)(Item::Record { decoded, raw, verified });
        Ok(())
    }

    /// Bytes of a frame that are no record this version can decode.
    fn malformed(&mut self, error: &ReadError, bytes: u64) {
        let reason = error.to_string();
        (self.visit)(Item::Loss(&Loss {
            offset: self.window.offset,
            bytes,
            reason: reason.clone(),
        }));
        self.salvage.malformed += 1;
        self.salvage.malformed_why.get_or_insert(reason);
    }

    /// A frame whose end is not in the file: what its blocks give is yielded unverified.
    fn torn(&mut self) {
        let mut content = Vec::new();
        if let Ok(decoder) = zstd::stream::read::Decoder::new(self.window.rest()) {
            let mut decoder = decoder.single_frame();
            if decoder.window_log_max(self.limits.window_log).is_ok() {
                // Ends in an error by nature; what came before it counts.
                let _ = decoder.take(self.limits.frame_bytes).read_to_end(&mut content);
            }
        }
        let _ = self.records(&content, false, FrameEntry::default());
    }

    fn skippable(&mut self) -> Result<bool, ReadError> {
        // An index has about 20 bytes a frame; what is larger than a data frame may be is not ours.
        let most = frame::largest_frame(&self.limits);
        let frame = self.window.skippable(most)?.map(<[u8]>::to_vec);
        if let Some(map) = frame.as_deref().and_then(|f| tagged(f, HEAD_MAGIC, HEAD_TAG)) {
            let len = map.len() + HEAD_TAG.len() + SKIPPABLE_HEAD;
            if let Ok(head) = rmp_serde::from_slice::<Head>(map) {
                version::check_readable(head.format, &head.writer)?;
                self.close_loss();
                self.window.pass(len);
                self.begin_segment(head);
                return Ok(true);
            }
        }
        if let Some(map) = frame.as_deref().and_then(|f| tagged(f, INDEX_MAGIC, INDEX_TAG)) {
            let len = map.len() + INDEX_TAG.len() + SKIPPABLE_HEAD;
            self.close_loss();
            self.seal(rmp_serde::from_slice(map).ok());
            self.window.pass(len);
            return Ok(true);
        }
        let len = skippable_len(self.window.rest()).unwrap_or(1);
        self.window.fill(usize::try_from(len).unwrap_or(usize::MAX).min(most))?;
        if (self.window.rest().len() as u64) < len {
            self.lose("a skippable frame without its end");
            return self.search();
        }
        self.lose("a skippable frame that no bundle has");
        let whole = self.window.skip(len)?;
        self.close_loss();
        Ok(whole)
    }

    fn seal(&mut self, index: Option<Index>) {
        let digest = hex(&self.window.hash.clone().finalize());
        if let Some(segment) = self.salvage.segments.last_mut() {
            let fits = index.as_ref().is_some_and(|index| {
                index.sha256 == digest && index.describes(&segment.frames, &segment.counts)
            });
            segment.seal = if fits { Seal::Sealed } else { Seal::Broken };
            segment.sha256 = index.map(|index| index.sha256);
        }
    }

    fn lose(&mut self, reason: &str) {
        self.lost_from.get_or_insert_with(|| (self.window.offset, reason.to_owned()));
    }

    /// Moves to the next place where a frame may begin.
    fn search(&mut self) -> Result<bool, ReadError> {
        self.window.pass(1);
        loop {
            self.window.fill(1 << 20)?;
            let view = self.window.rest();
            let begins = |w: &[u8]| w == ZSTD_MAGIC || w == HEAD_MAGIC || w == INDEX_MAGIC;
            if let Some(at) = view.windows(4).position(begins) {
                self.window.pass(at);
                return Ok(true);
            }
            if self.window.end_of_input {
                let len = view.len();
                self.window.pass(len);
                return Ok(false);
            }
            // A magic number may lie across the edge.
            let len = view.len().saturating_sub(3);
            self.window.pass(len);
        }
    }

    fn close_loss(&mut self) {
        let Some((offset, reason)) = self.lost_from.take() else { return };
        let loss = Loss { offset, bytes: self.window.offset - offset, reason };
        (self.visit)(Item::Loss(&loss));
        if self.salvage.losses.len() < LOSSES {
            self.salvage.losses.push(loss);
        } else {
            self.salvage.more_losses += 1;
        }
    }
}

fn note_time(entry: &mut FrameEntry, t: u64) {
    if entry.records == 0 {
        entry.first_t = t;
    }
    entry.last_t = t;
}

/// The value of `t` in a record of unknown kind.
fn wire_t(raw: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Clock {
        t: u64,
    }
    rmp_serde::from_slice::<Clock>(raw).ok().map(|clock| clock.t)
}

fn decompress(
    frame: &[u8],
    limits: &Limits,
    decompressor: &mut zstd::bulk::Decompressor<'_>,
    content: &mut Vec<u8>,
) -> Result<(), String> {
    content.clear();
    let size = frame::declared_size(frame, limits).map_err(|e| e.to_string())?;
    content.reserve(size);
    let found = decompressor
        .decompress_to_buffer(frame, content)
        .map_err(|error| format!("a frame that does not decode: {error}"))?;
    if found == size { Ok(()) } else { Err("a frame that lies about its size".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::super::Writer;
    use super::*;
    use crate::record::{Clock, Note};
    use crate::redact::Masker;
    use std::collections::BTreeSet;

    const SECOND: u64 = 1_000_000_000;

    fn clock(t: u64) -> Record {
        Clock { t, wall_ns: t + 7, mono_ns: t, error_ns: None }.into()
    }

    fn end(t: u64) -> End {
        End {
            t,
            how: "finished".into(),
            counts: BTreeMap::new(),
            gaps: 0,
            dropped: 0,
            redacted: BTreeMap::new(),
            wall_ns: 0,
            mono_ns: 0,
            cpu_ns: None,
            max_rss_bytes: None,
            scrapes: None,
            scrape_dur_ns: None,
            error: None,
        }
    }

    /// A sealed bundle of `seconds` frames with 4 records each, and the end record's frame.
    fn bundle(seconds: u64) -> Vec<u8> {
        let head = Head::new("test 1", 5);
        let mut writer = Writer::create(Vec::new(), &head, Masker::off()).unwrap();
        for i in 0..seconds * 4 {
            writer.push(&clock(i * SECOND / 4)).unwrap();
        }
        writer.finish(end(seconds * SECOND)).unwrap()
    }

    fn scan(bytes: &[u8]) -> (Vec<u64>, Salvage) {
        let mut times = Vec::new();
        let salvage = read(bytes, &Limits::default(), &mut |item| {
            if let Item::Record { decoded: Decoded::Known(record), .. } = item {
                times.push(record.t());
            }
        });
        (times, salvage.unwrap())
    }

    /// Offsets where an intact frame ends, with the records up to there.
    fn frame_ends(bytes: &[u8]) -> Vec<(usize, usize)> {
        let (_, salvage) = scan(bytes);
        let mut records = 0;
        let frames = salvage.segments.iter().flat_map(|s| &s.frames);
        frames
            .map(|f| {
                records += f.records as usize;
                ((f.offset + f.packed) as usize, records)
            })
            .collect()
    }

    #[test]
    fn a_closed_bundle_is_clean() {
        let bytes = bundle(3);
        let (times, salvage) = scan(&bytes);
        assert!(salvage.is_clean(), "{:?}", salvage.reason());
        assert_eq!((times.len(), salvage.records, salvage.frames_ok), (13, 13, 4));
        let segment = &salvage.segments[0];
        assert_eq!(segment.end.as_ref().unwrap().counts["clock"], 12);
        assert_eq!(segment.head.created_ns, 5);
        assert_eq!(salvage.bytes, bytes.len() as u64);
        assert_eq!(peek(&bytes[..]).unwrap(), segment.head);
    }

    #[test]
    fn a_plain_zstd_decoder_gives_the_same_records() {
        let bytes = bundle(2);
        let content = zstd::stream::decode_all(&bytes[..]).unwrap();
        let (mut at, mut kinds) = (0, Vec::new());
        while at < content.len() {
            let len = wire::measure(&content, at, &Limits::default()).unwrap();
            kinds.push(wire::kind(&content[at..at + len]).unwrap());
            at += len;
        }
        assert_eq!((kinds.len(), kinds[0].as_str(), kinds[8].as_str()), (9, "clock", "end"));
    }

    #[test]
    fn cut_at_every_byte_no_whole_frame_is_lost() {
        let bytes = bundle(6);
        let ends = frame_ends(&bytes);
        let first = ends[0].0;
        let mut before = 0;
        for len in 0..bytes.len() {
            let Ok(salvage) = read(&bytes[..len], &Limits::default(), &mut |_| ()) else {
                assert!(len < first, "{len}");
                continue;
            };
            let whole = ends.iter().rev().find(|e| e.0 <= len).map_or(0, |e| e.1);
            assert!(salvage.records as usize >= whole, "{len}: {} of {whole}", salvage.records);
            assert!(salvage.records >= before, "{len}: fewer records than one byte earlier");
            assert!(!salvage.is_clean() && salvage.reason().is_some(), "{len}");
            before = salvage.records - salvage.unverified;
        }
    }

    /// Pseudo-random numbers that are the same in every run.
    fn xorshift(seed: &mut u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }

    #[test]
    fn flipped_bits_never_cost_the_frames_before_them_nor_go_unnoticed() {
        let bytes = bundle(20);
        let (whole, _) = scan(&bytes);
        let ends = frame_ends(&bytes);
        let mut seed = 42;
        for _ in 0..3_000 {
            let bit = xorshift(&mut seed) as usize % (bytes.len() * 8);
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let mut times = Vec::new();
            let result = read(&damaged[..], &Limits::default(), &mut |item| {
                if let Item::Record { decoded: Decoded::Known(record), .. } = item {
                    times.push(record.t());
                }
            });
            match result {
                Ok(salvage) => {
                    let before = ends.iter().rev().find(|e| e.0 <= bit / 8).map_or(0, |e| e.1);
                    assert!(times.len() >= before, "bit {bit}: {} of {before}", times.len());
                    assert!(!salvage.is_clean(), "bit {bit} went unnoticed");
                    assert!(
                        salvage.frames_bad <= 2,
                        "bit {bit} cost {} frames",
                        salvage.frames_bad
                    );
                    let known: BTreeSet<_> = whole.iter().collect();
                    assert!(times.iter().all(|t| known.contains(t)), "bit {bit} made a record up");
                }
                Err(_) => assert!(bit / 8 < ends[0].0, "bit {bit}"),
            }
        }
    }

    #[test]
    fn damage_in_the_middle_is_stepped_over_and_accounted_for() {
        let mut bytes = bundle(10);
        let ends = frame_ends(&bytes);
        let (from, to) = (ends[3].0 + 10, ends[5].0 - 3);
        bytes[from..to].fill(0);
        let mut losses = 0;
        let salvage = read(&bytes[..], &Limits::default(), &mut |item| {
            losses += usize::from(matches!(item, Item::Loss(_)));
        });
        let salvage = salvage.unwrap();
        assert_eq!((losses, salvage.losses.len()), (1, 1));
        assert_eq!(salvage.records, 41 - 8);
        assert_eq!(salvage.losses[0].offset, ends[3].0 as u64);
        assert_eq!(salvage.bytes_lost(), (ends[5].0 - ends[3].0) as u64);
        assert!(salvage.segments[0].end.is_some());
    }

    #[test]
    fn zeros_garbage_or_another_file_behind_are_accounted_for() {
        let bytes = bundle(2);
        for tail in [vec![0; 4096], b"garbage (\xb5\x2f\xfd".to_vec(), b"\x28\xb5\x2f\xfd".to_vec()]
        {
            let (times, salvage) = scan(&[bytes.clone(), tail.clone()].concat());
            assert_eq!(times.len(), 9);
            assert!(!salvage.is_clean());
            assert_eq!(salvage.bytes_lost(), tail.len() as u64);
        }
        let (times, salvage) = scan(&[bytes.clone(), bundle(3)].concat());
        assert_eq!((times.len(), salvage.segments.len()), (9 + 13, 2));
        assert_eq!(salvage.segments[1].seal, Seal::Broken, "the digest covers all bytes before it");
    }

    #[test]
    fn a_later_segment_carries_on_behind_the_seal() {
        let first = bundle(2);
        let (_, salvage) = scan(&first);
        let mut head = Head::new("test 2", 9);
        head.seal.clone_from(&salvage.segments[0].sha256);
        let out = Vec::new();
        let mut writer = Writer::append(out, &head, Masker::off(), &first[..]).unwrap();
        writer.push(&clock(9 * SECOND)).unwrap();
        let second = writer.finish(end(10 * SECOND)).unwrap();
        let (times, salvage) = scan(&[first.clone(), second.clone()].concat());
        assert!(salvage.is_clean(), "{:?}", salvage.reason());
        assert_eq!((times.len(), salvage.segments.len()), (11, 2));
        let torn = &second[..second.len() - 30];
        let (times, salvage) = scan(&[&first[..], torn].concat());
        assert_eq!((times.len(), salvage.segments[0].seal), (11, Seal::Sealed));
        assert!(!salvage.is_clean());
    }

    #[test]
    fn a_cut_large_frame_yields_its_beginning_unverified() {
        let head = Head::new("test", 0);
        let mut writer = Writer::create(Vec::new(), &head, Masker::off()).unwrap();
        let mut seed = 1;
        for t in 0..3_000_u64 {
            let value = format!("{:x}{:x}", xorshift(&mut seed), xorshift(&mut seed));
            let note = Note {
                t,
                what: "note".into(),
                key: None,
                value: value.as_str().into(),
                by: "user".into(),
            };
            writer.push(&note.into()).unwrap();
        }
        let bytes = writer.finish(end(9)).unwrap();
        let first = frame_ends(&bytes)[0];
        let (times, salvage) = scan(&bytes[..first.0 - 100]);
        assert!(salvage.unverified > 500 && (salvage.unverified as usize) < first.1);
        assert_eq!(times.len() as u64, salvage.unverified);
    }

    #[test]
    fn what_is_no_bundle_is_named() {
        for (bytes, word) in [
            (&b""[..], "empty"),
            (b"\x89PNG\r\n\x1a\n", "PNG"),
            (b"PK\x03\x04", "ZIP"),
            (b"<!DOCTYPE html>", "markup"),
            (b"INFO 11-30 vLLM", "text"),
            (b"\x28\xb5\x2f\xfd\x04", "zstd frame without"),
            (b"\x51\x2a\x4d\x18\x02\0\0\0ab", "skippable"),
            (b"\0\x01\x02\x03", "00010203"),
        ] {
            let error = peek(bytes).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
            assert!(read(bytes, &Limits::default(), &mut |_| ()).is_err());
        }
    }

    #[test]
    fn a_newer_major_version_is_refused_and_a_newer_minor_read() {
        let mut head = Head::new("inferlint-record 9.0.0", 0);
        head.format = 2;
        let writer = Writer::create(Vec::new(), &head, Masker::off()).unwrap();
        let bytes = writer.finish(end(0)).unwrap();
        let error = peek(&bytes[..]).unwrap_err().to_string();
        assert!(error.contains("format 2") && error.contains("inferlint-record 9.0.0"), "{error}");
        (head.format, head.minor) = (1, 99);
        let writer = Writer::create(Vec::new(), &head, Masker::off()).unwrap();
        assert!(scan(&writer.finish(end(0)).unwrap()).1.is_clean());
    }

    #[test]
    fn records_of_unknown_kinds_are_kept_and_counted() {
        let head = Head::new("test", 0);
        let mut writer = Writer::create(Vec::new(), &head, Masker::off()).unwrap();
        let raw = b"\x83\xa1k\xa6future\xa1t\x05\xa1x\x01";
        writer.push_raw("future", 5, raw).unwrap();
        let bytes = writer.finish(end(9)).unwrap();
        let mut seen = Vec::new();
        let salvage = read(&bytes[..], &Limits::default(), &mut |item| {
            if let Item::Record { decoded: Decoded::Unknown { .. }, raw, .. } = item {
                seen.push(raw.to_vec());
            }
        });
        let salvage = salvage.unwrap();
        assert!(salvage.is_clean(), "{:?}", salvage.reason());
        assert_eq!((seen.len(), seen[0].as_slice()), (1, &raw[..]));
        assert_eq!(salvage.unknown["future"], 1);
    }

    /// A frame of any content with a valid header and checksum.
    fn framed(content: &[u8]) -> Vec<u8> {
        let head = rmp_serde::to_vec_named(&Head::new("hostile", 0)).unwrap();
        let mut bytes = frame::skippable(HEAD_MAGIC, HEAD_TAG, &head);
        let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
        compressor.include_checksum(true).unwrap();
        bytes.extend(compressor.compress(content).unwrap());
        bytes
    }

    #[test]
    fn a_frame_that_unpacks_too_large_is_refused_before_it_is_unpacked() {
        let bytes = framed(&vec![0; 17 << 20]);
        let (_, salvage) = scan(&bytes);
        assert_eq!((salvage.frames_bad, salvage.records), (1, 0));
        assert!(salvage.reason().unwrap().contains("limit frame_bytes"));
    }

    #[test]
    fn a_file_that_unpacks_too_large_is_refused_by_name() {
        let one = framed(&vec![0xc0; 16 << 20]);
        let mut bytes = one.clone();
        let frame = one[scan_head(&one)..].to_vec();
        for _ in 0..8 {
            bytes.extend(&frame);
        }
        let error = read(&bytes[..], &Limits::default(), &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains("limit ratio"), "{error}");
    }

    fn scan_head(bytes: &[u8]) -> usize {
        skippable_len(bytes).unwrap() as usize
    }

    #[test]
    fn broken_records_are_counted_and_the_next_frame_read() {
        let mut good = Vec::new();
        clock(5).encode(&mut good).unwrap();
        for bad in
            [&b"\xc1"[..], b"\x01", b"\x81\xa1k\xa5clock", &[0x91; 200], b"\xdb\xff\xff\xff\xff"]
        {
            let mut bytes = framed(&[&good[..], bad].concat());
            let again = framed(&good);
            bytes.extend(&again[scan_head(&again)..]);
            let (times, salvage) = scan(&bytes);
            assert_eq!((times, salvage.malformed), (vec![5, 5], 1), "{bad:?}");
        }
    }

    #[test]
    fn frames_without_checksum_or_size_or_with_a_huge_window_are_refused() {
        for (checksum, size) in [(false, true), (true, false)] {
            let mut bytes = framed(b"");
            bytes.truncate(scan_head(&bytes));
            let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
            compressor.include_checksum(checksum).unwrap();
            compressor.include_contentsize(size).unwrap();
            let mut good = Vec::new();
            clock(5).encode(&mut good).unwrap();
            bytes.extend(compressor.compress(&good).unwrap());
            assert_eq!(scan(&bytes).1.frames_bad, 1, "checksum {checksum}, size {size}");
        }
        let wide = [&ZSTD_MAGIC[..], &[0b1000_0100, 17 << 3], &[0; 12]].concat();
        let error = frame::declared_size(&wide, &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("limit window_log exceeded: found 27, allowed 23"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_edit_of_a_bundle_makes_it_panic_or_invent(
            edits in proptest::collection::vec((0..2_000_usize, proptest::num::u8::ANY), 1..20),
            cut in 0..3_000_usize,
        ) {
            let mut bytes = bundle(5);
            for (at, byte) in edits {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            bytes.truncate(cut.max(200));
            let mut times = Vec::new();
            let _ = read(&bytes[..], &Limits::default(), &mut |item| {
                if let Item::Record { decoded: Decoded::Known(record), verified: true, .. } = item {
                    times.push(record.t());
                }
            });
            proptest::prop_assert!(times.iter().all(|t| t % (SECOND / 4) == 0));
        }
    }
}
