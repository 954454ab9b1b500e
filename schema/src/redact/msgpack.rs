//! Masks a record as it stands in MessagePack, without decoding it: strings are rewritten in place,
//! everything else is copied.

use super::Masker;
use crate::record::Text;
use crate::wire::{Item, step};
use rmp::encode;
use std::borrow::Cow;

/// Deepest nesting that is walked; the reader accepts less.
const DEPTH: u32 = 64;

/// What becomes of bytes that are no whole record: the map `{k: "unreadable"}`.
const UNREADABLE: &[u8] = b"\x81\xa1k\xaaunreadable";

/// The record with every string and binary value masked.
pub(super) fn mask<'a>(masker: &mut Masker, raw: &'a [u8]) -> Cow<'a, [u8]> {
    let mut walk = Walk { masker, raw, out: Vec::new(), copied: 0 };
    match walk.record() {
        Some(_) if walk.copied == 0 => Cow::Borrowed(raw),
        Some(_) => {
            walk.out.extend_from_slice(raw.get(walk.copied..).unwrap_or_default());
            Cow::Owned(walk.out)
        }
        None => Cow::Borrowed(UNREADABLE),
    }
}

/// A walk over `raw`. `None` from its functions: the bytes are cut or broken.
struct Walk<'m, 'a> {
    masker: &'m mut Masker,
    raw: &'a [u8],
    /// The masked record up to `copied`, once something has changed.
    out: Vec<u8>,
    copied: usize,
}

impl Walk<'_, '_> {
    /// The outermost map: its keys are the format's own, and so is the value of `k`.
    fn record(&mut self) -> Option<usize> {
        let (Item::Map(entries), mut at) = step(self.raw, 0).ok()? else { return None };
        for _ in 0..entries {
            let (key, value_at) = step(self.raw, at).ok()?;
            let Item::Str { at: from, len, .. } = key else { return None };
            at = match self.raw.get(from..from + len)? {
                b"k" => step(self.raw, value_at).ok()?.1,
                b"argv" => self.argv(value_at)?,
                _ => self.value(value_at, DEPTH)?,
            };
        }
        Some(at)
    }

    /// Masks the value at `at` and gives the offset behind it.
    fn value(&mut self, at: usize, depth: u32) -> Option<usize> {
        if depth == 0 {
            return None;
        }
        let (item, next) = step(self.raw, at).ok()?;
        match item {
            Item::Scalar => Some(next),
            Item::Str { at: from, len, text } => {
                let masked = self.masker.text(self.raw.get(from..from + len)?);
                if let Cow::Owned(masked) = masked {
                    self.put(at, next, &masked, text);
                }
                Some(next)
            }
            Item::Array(n) => self.values(n, next, depth - 1),
            Item::Map(n) => self.values(n.checked_mul(2)?, next, depth - 1),
        }
    }

    /// Masks `n` values that follow each other from `at` on. Numbers, the bulk of most records, are
    /// stepped over without looking.
    fn values(&mut self, mut n: u64, mut at: usize, depth: u32) -> Option<usize> {
        while n > 0 {
            match number_len(*self.raw.get(at)?) {
                0 => at = self.value(at, depth)?,
                len => at += len,
            }
            n -= 1;
        }
        (at <= self.raw.len()).then_some(at)
    }

    /// Masks an array of strings as a command's arguments; anything else as a value.
    fn argv(&mut self, at: usize) -> Option<usize> {
        let (Item::Array(n), mut next) = step(self.raw, at).ok()? else {
            return self.value(at, DEPTH);
        };
        let mut args = Vec::new();
        let mut places = Vec::new();
        for _ in 0..n {
            let (item, behind) = step(self.raw, next).ok()?;
            let Item::Str { at: from, len, text } = item else { return self.value(at, DEPTH) };
            args.push(Text::from(self.raw.get(from..from + len)?));
            places.push((next, behind, text));
            next = behind;
        }
        let masked = self.masker.argv(&args);
        for ((arg, masked), (from, to, text)) in args.iter().zip(&masked).zip(places) {
            if arg != masked {
                self.put(from, to, masked.as_bytes(), text);
            }
        }
        Some(next)
    }

    /// Writes `bytes` in place of the string that stands at `from..to`.
    fn put(&mut self, from: usize, to: usize, bytes: &[u8], text: bool) {
        self.out.extend_from_slice(self.raw.get(self.copied..from).unwrap_or_default());
        let len = bytes.len() as u32;
        // Writing to a Vec cannot fail.
        let _ = if text && std::str::from_utf8(bytes).is_ok() {
            encode::write_str_len(&mut self.out, len).map(|_| ())
        } else {
            encode::write_bin_len(&mut self.out, len).map(|_| ())
        };
        self.out.extend_from_slice(bytes);
        self.copied = to;
    }
}

/// Length of a number, boolean or null that begins with this byte; 0 for everything else.
fn number_len(first: u8) -> usize {
    match first {
        0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 1,
        0xcc | 0xd0 => 2,
        0xcd | 0xd1 => 3,
        0xca | 0xce | 0xd2 => 5,
        0xcb | 0xcf | 0xd3 => 9,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::record::{Decoded, Record};
    use crate::redact::Seeds;
    use crate::wire;

    fn masker() -> Masker {
        let mut seeds = Seeds::default();
        seeds.secret(b"swordfish");
        Masker::new(seeds)
    }

    fn encoded(record: impl Into<Record>) -> Vec<u8> {
        let mut raw = Vec::new();
        record.into().encode(&mut raw).unwrap();
        raw
    }

    fn decoded(raw: &[u8]) -> Record {
        assert_eq!(wire::measure(raw, 0, &Limits::default()).unwrap(), raw.len());
        let Decoded::Known(record) = Record::decode(raw).unwrap() else { panic!("unknown kind") };
        *record
    }

    #[test]
    fn strings_binaries_arguments_and_inner_keys_are_masked() {
        let exit = crate::record::Exit {
            t: 1,
            src: None,
            what: "load".into(),
            pid: 70_000,
            start_ticks: Some(9),
            argv: Some(["x", "--token", "short", "swordfish"].map(Text::from).to_vec()),
            status: Some(-1),
            signal: None,
            began_t: None,
            phase: None,
        };
        let Record::Exit(masked) = decoded(&masker().record(&encoded(exit.clone()))) else {
            panic!("another kind");
        };
        let argv = ["x", "--token", "<secret_option-1>", "<secret-1>"].map(Text::from).to_vec();
        assert_eq!(masked, crate::record::Exit { argv: Some(argv), ..exit });

        let note = |key: &str, value: &[u8]| crate::record::Note {
            t: 1,
            what: "note".into(),
            key: Some(key.into()),
            value: Text::from(value),
            by: "user".into(),
        };
        let long = [&[b'x'; 300][..], b" swordfish \xff"].concat();
        let Record::Note(masked) = decoded(&masker().record(&encoded(note("swordfish", &long))))
        else {
            panic!("another kind");
        };
        let long = [&[b'x'; 300][..], b" <secret-1> \xff"].concat();
        assert_eq!(masked, note("<secret-1>", &long));

        let map = b"\x82\xa1k\xa3new\xa1m\x81\xa9swordfish\x93\xc0\x01\xa9swordfish";
        let expected = b"\x82\xa1k\xa3new\xa1m\x81\xaa<secret-1>\x93\xc0\x01\xaa<secret-1>";
        assert_eq!(masker().record(map), &expected[..]);
    }

    #[test]
    fn a_record_without_secrets_is_passed_on_untouched() {
        let scrape = crate::record::Scrape {
            t: 1,
            src: 0,
            dur_ns: 1_000_000,
            shape: 0,
            full: None,
            at: Some((0..300).collect()),
            v: crate::record::Values((0..300).map(|i| f64::from(i) * 0.37).collect()),
            status: Some(200),
            bytes: Some(80_000),
            peer: None,
            date_s: Some(1_790_000_000),
            stamp_at: None,
            stamp_ms: None,
        };
        let raw = encoded(scrape);
        assert!(matches!(masker().record(&raw), Cow::Borrowed(same) if same == raw));
    }

    #[test]
    fn cut_records_are_not_passed_on() {
        let raw = b"\x82\xa1k\xa4note\xa1m\x81\xa9swordfish\x93\xc0\x01\xa9swordfish";
        assert_ne!(masker().record(raw), &raw[..]);
        for len in 0..raw.len() {
            assert_eq!(masker().record(&raw[..len]), UNREADABLE, "{len}");
        }
        assert_eq!(masker().record(b"\x93\x01\x02\x03"), UNREADABLE);
        let deep = [&b"\x82\xa1k\xa1x\xa1m"[..], &[0x91; 1_000], b"\x01"].concat();
        assert_eq!(masker().record(&deep), UNREADABLE);
    }
}
