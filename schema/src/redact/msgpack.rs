//! Masks a record as it stands in MessagePack, without decoding it: strings are rewritten in place,
//! everything else is copied.

use super::Masker;
use crate::record::Text;
use crate::wire::{Item, step};
use memchr::memchr_iter;
use rmp::decode::read_int;
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

/// What a string was and what it became.
struct Change<'a> {
    before: &'a [u8],
    after: Vec<u8>,
}

impl<'a> Walk<'_, 'a> {
    /// The outermost map: its keys are the format's own, and so is the value of `k`.
    fn record(&mut self) -> Option<usize> {
        let (Item::Map(entries), mut at) = step(self.raw, 0).ok()? else { return None };
        let mut is_log = false;
        let mut src = 0;
        let mut stream: &[u8] = b"";
        let mut body = None;
        for _ in 0..entries {
            let (key, value_at) = step(self.raw, at).ok()?;
            let Item::Str { at: from, len, .. } = key else { return None };
            at = match self.raw.get(from..from + len)? {
                b"k" => {
                    let end = step(self.raw, value_at).ok()?.1;
                    is_log = self.raw.get(value_at..end)? == b"\xa3log";
                    end
                }
                b"argv" => self.argv(value_at)?,
                b"packages" | b"libraries" => self.versions(value_at)?,
                b"src" if is_log => {
                    src = read_int(&mut self.raw.get(value_at..)?).ok()?;
                    step(self.raw, value_at).ok()?.1
                }
                b"stream" if is_log => {
                    let (stream_item, end) = step(self.raw, value_at).ok()?;
                    if let Item::Str { at, len, .. } = stream_item {
                        stream = self.raw.get(at..at + len)?;
                    }
                    self.value(value_at, DEPTH)?;
                    end
                }
                b"body" if is_log => {
                    let (end, changed) = self.log(value_at, src, stream)?;
                    body = changed;
                    end
                }
                b"ends" if body.is_some() => self.ends(value_at, &body.take()?)?,
                _ => self.value(value_at, DEPTH)?,
            };
        }
        Some(at)
    }

    /// Masks the value at `at` and gives the offset behind it.
    fn value(&mut self, at: usize, depth: u32) -> Option<usize> {
        let depth = depth.checked_sub(1)?;
        match step(self.raw, at).ok()? {
            (Item::Scalar, next) => Some(next),
            (Item::Str { at: from, len, text }, next) => {
                let masked = self.masker.text(self.raw.get(from..from + len)?);
                if let Cow::Owned(masked) = masked {
                    self.put(at, next, &masked, text);
                }
                Some(next)
            }
            (Item::Array(n), next) => self.array(n, next, depth),
            (Item::Map(n), next) => self.map(n, next, depth),
        }
    }

    /// Masks the body of a log; gives the offset behind it, and what it was and is if it changed.
    fn log(&mut self, at: usize, src: u64, stream: &[u8]) -> Option<(usize, Option<Change<'a>>)> {
        let (Item::Str { at: from, len, text }, next) = step(self.raw, at).ok()? else {
            return Some((self.value(at, DEPTH)?, None));
        };
        let before = self.raw.get(from..from + len)?;
        let Cow::Owned(after) = self.masker.log(src, stream, before) else {
            return Some((next, None));
        };
        self.put(at, next, &after, text);
        Some((next, Some(Change { before, after })))
    }

    /// Masks `n` values that follow each other from `at` on. Numbers, the bulk of most records, are
    /// stepped over without looking.
    fn array(&mut self, n: u64, mut at: usize, depth: u32) -> Option<usize> {
        for _ in 0..n {
            match number_len(*self.raw.get(at)?) {
                0 => at = self.value(at, depth)?,
                len => at += len,
            }
        }
        (at <= self.raw.len()).then_some(at)
    }

    /// Masks an inner map: keys, values, and as a whole the value of a key that speaks of a secret.
    fn map(&mut self, n: u64, mut at: usize, depth: u32) -> Option<usize> {
        for _ in 0..n {
            let (key, value_at) = step(self.raw, at).ok()?;
            let (value, end) = step(self.raw, value_at).ok()?;
            self.value(at, depth)?;
            at = match (key, value) {
                (Item::Str { at: k, len: key_len, .. }, Item::Str { at: v, len, text }) => {
                    let key = self.raw.get(k..k + key_len)?;
                    let value = self.raw.get(v..v + len)?;
                    if let Cow::Owned(masked) = self.masker.named(key, value) {
                        self.put(value_at, end, &masked, text);
                    }
                    end
                }
                _ => self.value(value_at, depth)?,
            };
        }
        Some(at)
    }

    /// Package and library versions: `12.4.5.8` is no address here. What does not look like a
    /// version is masked as anywhere else.
    fn versions(&mut self, at: usize) -> Option<usize> {
        let (Item::Map(n), mut next) = step(self.raw, at).ok()? else {
            return self.value(at, DEPTH);
        };
        for _ in 0..n {
            let value_at = self.value(next, DEPTH)?;
            let (value, end) = step(self.raw, value_at).ok()?;
            let version = match value {
                Item::Str { at, len, .. } => is_version(self.raw.get(at..at + len)?),
                _ => false,
            };
            next = if version { end } else { self.value(value_at, DEPTH)? };
        }
        Some(next)
    }

    /// Moves the ends of a log's lines with its masked body: masking keeps the line feeds, so each
    /// end stands behind the same one.
    fn ends(&mut self, at: usize, body: &Change<'_>) -> Option<usize> {
        let (Item::Array(n), start) = step(self.raw, at).ok()? else {
            return self.value(at, DEPTH);
        };
        let before: Vec<usize> = memchr_iter(b'\n', body.before).collect();
        let after: Vec<usize> = memchr_iter(b'\n', &body.after).collect();
        let mut rest = self.raw.get(start..)?;
        let mut moved = Vec::new();
        let (mut end, mut last) = (0_usize, 0);
        for _ in 0..n {
            end = end.checked_add(read_int::<u32, _>(&mut rest).ok()? as usize)?;
            let feeds = before.partition_point(|feed| *feed < end);
            let now = feeds.checked_sub(1).and_then(|i| after.get(i)).map_or(0, |feed| feed + 1);
            moved.push((now - last) as u64);
            last = now;
        }
        let next = self.raw.len() - rest.len();
        self.copy_until(at);
        // Writing to a Vec cannot fail.
        let _ = encode::write_array_len(&mut self.out, n as u32);
        for gap in moved {
            let _ = encode::write_uint(&mut self.out, gap);
        }
        self.copied = next;
        Some(next)
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
        self.copy_until(from);
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

    /// Copies what stands unchanged before `at`.
    fn copy_until(&mut self, at: usize) {
        self.out.extend_from_slice(self.raw.get(self.copied..at).unwrap_or_default());
    }
}

/// True for a version as package tools write it.
fn is_version(text: &[u8]) -> bool {
    text.len() <= 64
        && text.first().is_some_and(u8::is_ascii_digit)
        && text.iter().all(|b| b.is_ascii_alphanumeric() || b".+!_-".contains(b))
}

/// Length of a number, boolean or null that begins with this byte; 0 for everything else. A match, no
/// table: the branch predictor guesses the next length, a look-up would have to be waited for.
fn number_len(first: u8) -> usize {
    match first {
        0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => 1,
        0xcb | 0xcf | 0xd3 => 9,
        0xcc | 0xd0 => 2,
        0xcd | 0xd1 => 3,
        0xca | 0xce | 0xd2 => 5,
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
    fn the_ends_of_lines_move_with_the_body() {
        let log = |body: &[u8], ends: &[u32]| crate::record::Log {
            t: 1,
            src: 0,
            stream: "stdout".into(),
            off: 0,
            len: 40,
            body: serde_bytes::ByteBuf::from(body.to_vec()),
            ends: ends.to_vec(),
            dts: Some(vec![0, 5]),
            how: "written".into(),
        };
        let raw = encoded(log(b"a swordfish\n\nb swordfish\nrest", &[12, 1, 12]));
        let expected = log(b"a <secret-1>\n\nb <secret-1>\nrest", &[13, 1, 13]);
        assert_eq!(decoded(&masker().record(&raw)), Record::Log(expected));
        let text = log(&[&b"swordfish\n"[..], &b"x ".repeat(150), b"\n"].concat(), &[10, 301]);
        let Record::Log(masked) = decoded(&masker().record(&encoded(text))) else { panic!() };
        assert_eq!(masked.ends, [11, 301]);
    }

    #[test]
    fn a_key_goes_on_in_the_next_record_of_the_same_log() {
        let mut masker = masker();
        let mut body = |src: u32, stream: &str, body: &str| {
            let raw = encoded(crate::record::Log {
                t: 1,
                src,
                stream: stream.into(),
                off: 0,
                len: 1,
                body: serde_bytes::ByteBuf::from(body),
                ends: vec![],
                dts: None,
                how: "tail".into(),
            });
            let Record::Log(log) = decoded(&masker.record(&raw)) else { panic!("another kind") };
            String::from_utf8(log.body.into_vec()).unwrap()
        };
        body(0, "stderr", "-----BEGIN PRIVATE KEY-----\n");
        assert_eq!(body(0, "stdout", "MIIE\n"), "MIIE\n");
        assert_eq!(body(1, "stderr", "MIIE\n"), "MIIE\n");
        assert_eq!(body(0, "stderr", "MIIE\nabc\n"), "<private_key-1>\n<private_key-2>\n");
        assert_eq!(
            body(0, "stderr", "d\n-----END PRIVATE KEY-----\nx\n").split('\n').nth(2),
            Some("x")
        );
        assert_eq!(body(0, "stderr", "MIIE\n"), "MIIE\n");
    }

    #[test]
    fn versions_are_no_addresses_and_secret_keys_mask_their_value() {
        let raw =
            b"\x83\xa1k\xa8versions\xa8packages\x82\xa4cu12\xa812.4.5.8\xa1x\xa910.1.2.3 \xa1m\
                    \x82\xa7api_key\xa3abc\xa5token\xa4None";
        let raw = raw.to_vec();
        let masked = masker().record(&raw).into_owned();
        let text = String::from_utf8_lossy(&masked).into_owned();
        assert!(text.contains("12.4.5.8") && text.contains("None"), "{text}");
        assert!(text.contains("ip4-private-1 ") && !text.contains("abc"), "{text}");
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
