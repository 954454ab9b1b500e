//! The index frame: what the frames before it hold, and the digest of all bytes before it.

use super::frame::{INDEX_MAGIC, INDEX_TAG, skippable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the index says of one zstd frame.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrameEntry {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes in the file.
    pub packed: u64,
    /// Bytes after decompression.
    pub raw: u64,
    /// Records.
    pub records: u64,
    /// Time of the first record, ns.
    pub first_t: u64,
    /// Time of the last record, ns.
    pub last_t: u64,
    /// Kinds present.
    pub kinds: Vec<String>,
}

/// The content of an index frame. It is advisory: a reader believes it only where it equals what
/// the scan of the file found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Index {
    /// zstd frames of the segment.
    pub frames: u64,
    /// Records of the segment.
    pub records: u64,
    /// Records per kind.
    pub counts: BTreeMap<String, u64>,
    /// SHA-256 of all bytes of the file before the index frame, hex. It shows damage and careless
    /// edits; it is no proof of origin.
    pub sha256: String,
    /// Kind names, which the bits of `kinds` number.
    pub names: Vec<String>,
    /// Offset of each frame, gap-coded.
    pub offset: Vec<u64>,
    /// Bytes of each frame in the file.
    pub packed: Vec<u64>,
    /// Bytes of each frame after decompression.
    pub raw: Vec<u64>,
    /// Records of each frame.
    pub count: Vec<u64>,
    /// Time of the first record of each frame, ns, gap-coded (may step back).
    pub first_t: Vec<i64>,
    /// Time of each frame's last record less that of its first, ns.
    pub span: Vec<i64>,
    /// Kinds in each frame, bit i for `names[i]`.
    pub kinds: Vec<u64>,
}

impl Index {
    pub(super) fn new(
        entries: &[FrameEntry],
        counts: BTreeMap<String, u64>,
        sha256: String,
    ) -> Self {
        let names: Vec<String> = counts.keys().cloned().collect();
        let mut index = Self {
            frames: entries.len() as u64,
            records: counts.values().sum(),
            sha256,
            names,
            counts,
            ..Self::default()
        };
        let (mut offset, mut first) = (0, 0_i64);
        for entry in entries {
            index.offset.push(entry.offset - offset);
            offset = entry.offset;
            index.packed.push(entry.packed);
            index.raw.push(entry.raw);
            index.count.push(entry.records);
            index.first_t.push((entry.first_t as i64).wrapping_sub(first));
            first = entry.first_t as i64;
            index.span.push((entry.last_t as i64).wrapping_sub(first));
            index.kinds.push(index.bits(&entry.kinds));
        }
        index
    }

    fn bits(&self, kinds: &[String]) -> u64 {
        let bit = |name: &String| self.names.iter().position(|n| n == name).filter(|i| *i < 64);
        kinds.iter().filter_map(bit).fold(0, |bits, i| bits | 1 << i)
    }

    /// The index frame as it stands in the file.
    pub(super) fn frame(&self) -> Result<Vec<u8>, rmp_serde::encode::Error> {
        Ok(skippable(INDEX_MAGIC, INDEX_TAG, &rmp_serde::to_vec_named(self)?))
    }

    /// Whether it says of the frames what the scan found.
    pub(super) fn describes(&self, entries: &[FrameEntry], counts: &BTreeMap<String, u64>) -> bool {
        *self == Self::new(entries, counts.clone(), self.sha256.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_describes_the_frames_it_was_made_of() {
        let entry = |offset, first_t, last_t| FrameEntry {
            offset,
            packed: 10,
            raw: 20,
            records: 2,
            first_t,
            last_t,
            kinds: vec!["scrape".into()],
        };
        // The second frame begins before the first ended, the third steps back.
        let entries = [entry(30, 5, 90), entry(40, 80, 70), entry(50, 7, 7)];
        let counts = BTreeMap::from([("scrape".to_owned(), 6)]);
        let index = Index::new(&entries, counts.clone(), "x".into());
        assert!(index.describes(&entries, &counts));
        let raw = index.frame().unwrap();
        let read: Index = rmp_serde::from_slice(&raw[16..]).unwrap();
        assert_eq!(read, index);
        let mut other = entries.clone();
        other[1].last_t += 1;
        assert!(!index.describes(&other, &counts));
    }
}
