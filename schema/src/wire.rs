//! MessagePack as bytes: how long a value is, whether it keeps the limits, which kind a record has.
//!
//! Nothing is built and nothing is allocated here, so hostile input costs time linear in its length.

use crate::error::ReadError;
use crate::limits::Limits;
use rmp::Marker;

/// One step through a value: what stands at `offset` and where the next thing begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A number, boolean, null or timestamp: `len` bytes in all.
    Scalar,
    /// A string or binary of `len` bytes that begin at `at`.
    Str {
        /// Where the bytes begin.
        at: usize,
        /// How many there are.
        len: usize,
        /// True for a string, false for binary.
        text: bool,
    },
    /// An array of so many elements.
    Array(u64),
    /// A map of so many entries.
    Map(u64),
}

fn malformed(offset: usize, what: &str) -> ReadError {
    ReadError::Malformed { offset, what: what.to_owned() }
}

fn number(raw: &[u8], at: usize, len: usize) -> Result<u64, ReadError> {
    let bytes = raw.get(at..at + len).ok_or_else(|| malformed(at, "cut inside a length"))?;
    Ok(bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
}

/// The thing at `offset` and the offset behind its head (behind its bytes, for strings).
///
/// # Errors
/// `ReadError::Malformed` when the value is cut or its first byte is reserved.
pub fn step(raw: &[u8], offset: usize) -> Result<(Item, usize), ReadError> {
    let first = *raw.get(offset).ok_or_else(|| malformed(offset, "cut before a value"))?;
    let body = offset + 1;
    let scalar = |len: usize| Ok((Item::Scalar, body + len));
    let string = |head: usize, text: bool| {
        let len = if head == 0 { u64::from(first & 31) } else { number(raw, body, head)? };
        let at = body + head;
        let len = usize::try_from(len).map_err(|_| malformed(offset, "a length too large"))?;
        Ok((Item::Str { at, len, text }, at.saturating_add(len)))
    };
    let (item, next) = match Marker::from_u8(first) {
        Marker::FixPos(_) | Marker::FixNeg(_) | Marker::Null | Marker::True | Marker::False => {
            scalar(0)
        }
        Marker::U8 | Marker::I8 => scalar(1),
        Marker::U16 | Marker::I16 | Marker::FixExt1 => scalar(2),
        Marker::FixExt2 => scalar(3),
        Marker::U32 | Marker::I32 | Marker::F32 => scalar(4),
        Marker::FixExt4 => scalar(5),
        Marker::U64 | Marker::I64 | Marker::F64 => scalar(8),
        Marker::FixExt8 => scalar(9),
        Marker::FixExt16 => scalar(17),
        Marker::Ext8 => scalar(2 + number(raw, body, 1)? as usize),
        Marker::Ext16 => scalar(3 + number(raw, body, 2)? as usize),
        Marker::Ext32 => scalar(5 + number(raw, body, 4)? as usize),
        Marker::FixStr(_) => string(0, true),
        Marker::Str8 => string(1, true),
        Marker::Str16 => string(2, true),
        Marker::Str32 => string(4, true),
        Marker::Bin8 => string(1, false),
        Marker::Bin16 => string(2, false),
        Marker::Bin32 => string(4, false),
        Marker::FixArray(n) => Ok((Item::Array(u64::from(n)), body)),
        Marker::Array16 => Ok((Item::Array(number(raw, body, 2)?), body + 2)),
        Marker::Array32 => Ok((Item::Array(number(raw, body, 4)?), body + 4)),
        Marker::FixMap(n) => Ok((Item::Map(u64::from(n)), body)),
        Marker::Map16 => Ok((Item::Map(number(raw, body, 2)?), body + 2)),
        Marker::Map32 => Ok((Item::Map(number(raw, body, 4)?), body + 4)),
        Marker::Reserved => Err(malformed(offset, "a reserved MessagePack byte")),
    }?;
    if next > raw.len() { Err(malformed(offset, "cut inside a value")) } else { Ok((item, next)) }
}

/// Length in bytes of the value that begins at `offset`, all of it within `limits`.
///
/// # Errors
/// `ReadError::Malformed` when the value is cut or broken, `ReadError::Limit` when it is too deep,
/// too wide or too long.
pub fn measure(raw: &[u8], offset: usize, limits: &Limits) -> Result<usize, ReadError> {
    // Values still to come on each level; keys and values of a map count one by one.
    let mut open: Vec<u64> = Vec::with_capacity(8);
    let mut keys: Vec<bool> = Vec::with_capacity(8);
    let mut at = offset;
    loop {
        let (item, next) = step(raw, at)?;
        let is_key = keys.last() == Some(&true) && open.last().is_some_and(|left| left % 2 == 0);
        match item {
            Item::Scalar => {}
            Item::Str { len, .. } => {
                let (name, allowed) = if is_key {
                    ("key_bytes", limits.key_bytes)
                } else {
                    ("string_bytes", limits.string_bytes)
                };
                // Dictionary-like maps have long keys (metric families, package names): only the
                // outermost map's keys are the format's own.
                if !(is_key && open.len() > 1) || len as u64 > limits.string_bytes {
                    Limits::check(name, len as u64, allowed)?;
                }
            }
            Item::Array(n) => {
                Limits::check("array_elements", n, limits.array_elements)?;
                open.push(n + 1);
                keys.push(false);
            }
            Item::Map(n) => {
                Limits::check("map_entries", n, limits.map_entries)?;
                open.push(2 * n + 1);
                keys.push(true);
            }
        }
        Limits::check("depth", open.len() as u64, u64::from(limits.depth))?;
        at = next;
        Limits::check("record_bytes", (at - offset) as u64, limits.record_bytes)?;
        loop {
            let Some(left) = open.last_mut() else { return Ok(at - offset) };
            *left -= 1;
            if *left > 0 {
                break;
            }
            open.pop();
            keys.pop();
        }
        if open.is_empty() {
            return Ok(at - offset);
        }
    }
}

/// The kind of the record in `raw`: the value of its key `k`, which stands first.
///
/// # Errors
/// `ReadError::Malformed` when it is no map or has no such key.
pub fn kind(raw: &[u8]) -> Result<String, ReadError> {
    let (Item::Map(entries), mut at) = step(raw, 0)? else {
        return Err(malformed(0, "a record that is no map"));
    };
    for _ in 0..entries {
        let (key, next) = step(raw, at)?;
        if let Item::Str { at: from, len, .. } = key
            && raw.get(from..from + len) == Some(b"k")
        {
            let (Item::Str { at: from, len, text: true }, _) = step(raw, next)? else {
                return Err(malformed(next, "a kind that is no string"));
            };
            let name = raw.get(from..from + len).unwrap_or_default();
            return String::from_utf8(name.to_vec())
                .map_err(|_| malformed(from, "a kind that is not UTF-8"));
        }
        at = next + measure(raw, next, &Limits::trusting(u32::MAX))?;
    }
    Err(malformed(0, "a record without a kind"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(raw: &[u8]) -> Result<usize, String> {
        measure(raw, 0, &Limits::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn lengths_of_whole_values() {
        for (raw, len) in [
            (&b"\x01"[..], 1),
            (b"\x90", 1),
            (b"\x80\xff", 1),
            (b"\x92\x01\xa2ab", 5),
            (b"\x82\xa1a\x01\xa1b\x92\xc0\xcb\0\0\0\0\0\0\0\0", 17),
            (b"\xc7\x02\x05ab!", 5),
            (b"\xd6\xff\0\0\0\0", 6),
            (b"\xc4\x03abc", 5),
        ] {
            assert_eq!(measured(raw), Ok(len), "{raw:?}");
        }
    }

    #[test]
    fn cut_values_are_malformed_at_every_length() {
        let raw = b"\x83\xa1k\xa5clock\xa1t\xcd\x01\x02\xa1v\x92\xc4\x02ab\xcb\0\0\0\0\0\0\0\0";
        assert_eq!(measured(raw), Ok(raw.len()));
        for len in 0..raw.len() {
            assert!(measured(&raw[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn limits_are_named() {
        let deep = vec![0x91; 100_000];
        assert!(measured(&deep).unwrap_err().contains("limit depth"));
        assert!(measured(b"\xdd\xff\xff\xff\xff").unwrap_err().contains("limit array_elements"));
        assert!(measured(b"\xdf\xff\xff\xff\xff").unwrap_err().contains("limit map_entries"));
        assert!(measured(b"\xdb\xff\xff\xff\xff").unwrap_err().contains("cut"));
        assert!(measured(b"\xc1").unwrap_err().contains("reserved"));
        let mut key = vec![0x81, 0xd9, 200];
        key.extend([b'a'; 200]);
        key.push(1);
        assert!(measured(&key).unwrap_err().contains("limit key_bytes"));
    }

    #[test]
    fn the_kind_is_found_even_behind_other_keys() {
        assert_eq!(kind(b"\x82\xa1t\x01\xa1k\xa3gap").unwrap(), "gap");
        assert!(kind(b"\x81\xa1t\x01").is_err());
        assert!(kind(b"\x93\x01\x02\x03").is_err());
    }
}
