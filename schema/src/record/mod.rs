//! The records of a bundle: one file a kind, and the envelope they share.
//!
//! A record is one MessagePack map. Its first key is `k`, the kind. Every kind has `t`, nanoseconds
//! on the monotonic clock since the recording began, and `src` where it speaks of one source. A kind
//! is declared with the `record!` macro, which keeps the key's documentation as data: the tables of
//! `docs/format.md` are printed from it.

mod value;

pub use value::{Blank, Bytes, Text, Values};

use crate::error::{ReadError, WriteError};
use serde::Serialize;

/// A key of a record kind, as `docs/format.md` prints it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key in the map.
    pub name: &'static str,
    /// Its Rust type.
    pub ty: &'static str,
    /// Meaning, unit and, after "Absent:", what its absence means.
    pub doc: &'static str,
}

/// A record kind, as `docs/format.md` prints it.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The value of `k`.
    pub name: &'static str,
    /// What the kind holds.
    pub doc: &'static str,
    /// Its keys, in the order they are written.
    pub keys: &'static [Key],
}

/// Declares one record kind: a struct whose fields are the map's keys, and their documentation.
///
/// Optional keys are `Option`: absent in the file, `None` here. No key is ever written as null.
macro_rules! record {
    ($(#[doc = $doc:literal])* $kind:literal $name:ident {
        $( $(#[doc = $fdoc:literal])* $field:ident : $ty:ty ),* $(,)?
    }) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $( $(#[doc = $fdoc])*
               #[serde(skip_serializing_if = "crate::record::Blank::is_blank")]
               pub $field: $ty, )*
        }
        impl $name {
            /// The kind's entry in `docs/format.md`.
            pub const KIND: crate::record::Kind = crate::record::Kind {
                name: $kind,
                doc: concat!($($doc, "\n"),*),
                keys: &[ $( crate::record::Key {
                    name: stringify!($field),
                    ty: stringify!($ty),
                    doc: concat!($($fdoc, "\n"),*),
                } ),* ],
            };
        }
    };
}

/// Lists the kinds once: module, type and name in the file. Everything else follows from it.
macro_rules! kinds {
    ($($module:ident $name:ident $kind:literal),* $(,)?) => {
        $( mod $module; pub use $module::$name; )*

        /// One record, ready to be written.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "k")]
        pub enum Record {
            $( #[doc = concat!("Kind `", $kind, "`.")] #[serde(rename = $kind)] $name($name), )*
        }

        $( impl From<$name> for Record { fn from(body: $name) -> Self { Self::$name(body) } } )*

        /// Every kind, in the order `docs/format.md` lists them.
        pub const KINDS: &[Kind] = &[ $( $name::KIND ),* ];

        impl Record {
            /// The record's kind as it stands in the file.
            pub fn kind(&self) -> &'static str {
                match self { $( Self::$name(_) => $kind, )* }
            }

            /// When the record was made, in ns since the recording began.
            pub fn t(&self) -> u64 {
                match self { $( Self::$name(body) => body.t, )* }
            }

            /// Decodes the map in `raw`, whose kind has been read already. `None`: a kind that this
            /// version does not know.
            fn decode_kind(kind: &str, raw: &[u8]) -> Option<Result<Self, rmp_serde::decode::Error>> {
                match kind {
                    $( $kind => Some(decode_body::<$name>(raw).map(Self::$name)), )*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    session Session "session",
    source Source "source",
    epoch Epoch "epoch",
    phase Phase "phase",
    exit Exit "exit",
    series Series "series",
    shape Shape "shape",
    scrape Scrape "scrape",
    text TextBody "text",
    process Process "process",
    gpu_info GpuInfo "gpu_info",
    host Host "host",
    nic Nic "nic",
    limits Limits "limits",
    log Log "log",
    file File "file",
    versions Versions "versions",
    probe Probe "probe",
    gate Gate "gate",
    stop Stop "stop",
    clock Clock "clock",
    gap Gap "gap",
    elided Elided "elided",
    note Note "note",
    end End "end",
}

pub use self::{gate::GpuReading, limits::Bounds, series::Family};

/// A record as a reader finds it.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// A kind this version knows.
    Known(Box<Record>),
    /// A kind of a newer writer; kept and counted, never guessed at.
    Unknown {
        /// The kind's name.
        kind: String,
    },
}

impl Decoded {
    /// The record's kind as it stands in the file.
    pub fn kind(&self) -> &str {
        match self {
            Self::Known(record) => record.kind(),
            Self::Unknown { kind } => kind,
        }
    }
}

impl Record {
    /// Appends the record's MessagePack map to `out`.
    ///
    /// # Errors
    /// `WriteError::Encode` when a value cannot be represented; nothing is appended then.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let before = out.len();
        let mut serializer = rmp_serde::Serializer::new(&mut *out).with_struct_map();
        self.serialize(&mut serializer).map_err(|error| {
            out.truncate(before);
            WriteError::Encode { kind: self.kind().to_owned(), what: error.to_string() }
        })
    }

    /// Decodes one map that [`crate::wire::measure`] found to be whole and within the limits.
    ///
    /// # Errors
    /// `ReadError::Malformed` when it is no map, has no kind, or lacks a required key.
    pub fn decode(raw: &[u8]) -> Result<Decoded, ReadError> {
        let kind = crate::wire::kind(raw)?;
        match Self::decode_kind(&kind, raw) {
            None => Ok(Decoded::Unknown { kind }),
            Some(Ok(record)) => Ok(Decoded::Known(Box::new(record))),
            Some(Err(error)) => {
                Err(ReadError::Malformed { offset: 0, what: format!("kind {kind}: {error}") })
            }
        }
    }
}

fn decode_body<'a, T: serde::Deserialize<'a>>(
    raw: &'a [u8],
) -> Result<T, rmp_serde::decode::Error> {
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(raw);
    deserializer.set_max_depth(crate::limits::Limits::default().depth as usize + 2);
    T::deserialize(&mut deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_clock_and_documented_keys() {
        for kind in KINDS {
            assert!(!kind.doc.trim().is_empty(), "{} has no documentation", kind.name);
            assert_eq!(kind.keys[0].name, "t", "{}: the first key is t", kind.name);
            for key in kind.keys {
                assert!(!key.doc.trim().is_empty(), "{}.{} is undocumented", kind.name, key.name);
                let optional = key.ty.starts_with("Option");
                assert_eq!(
                    key.doc.contains("Absent:"),
                    optional,
                    "{}.{}: an optional key, and only such, says what its absence means",
                    kind.name,
                    key.name
                );
            }
        }
    }

    #[test]
    fn a_record_round_trips_with_its_kind_first() {
        let record = Record::from(Clock { t: 5, wall_ns: 7, mono_ns: 9, error_ns: None });
        let mut raw = Vec::new();
        record.encode(&mut raw).unwrap();
        assert_eq!(&raw[..8], b"\x84\xa1k\xa5cloc");
        assert_eq!(Record::decode(&raw).unwrap(), Decoded::Known(Box::new(record)));
    }

    #[test]
    fn an_unknown_kind_is_named_and_unknown_keys_are_ignored() {
        let raw = b"\x82\xa1k\xa6future\xa1x\x01";
        assert_eq!(Record::decode(raw).unwrap(), Decoded::Unknown { kind: "future".into() });
        let raw = b"\x85\xa1k\xa5clock\xa1t\x01\xa7wall_ns\x02\xa7mono_ns\x03\xa3new\x92\x01\x02";
        assert!(matches!(Record::decode(raw).unwrap(), Decoded::Known(_)));
    }

    #[test]
    fn a_missing_required_key_is_an_error_not_a_zero() {
        let raw = b"\x83\xa1k\xa5clock\xa1t\x01\xa7wall_ns\x02";
        let error = Record::decode(raw).unwrap_err().to_string();
        assert!(error.contains("mono_ns"), "{error}");
    }
}
