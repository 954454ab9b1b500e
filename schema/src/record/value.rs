//! The few value types that records share.

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// Binary data: MessagePack `bin`.
pub type Bytes = serde_bytes::ByteBuf;

/// Whether a field stays out of the map. Only `None` does: zero, false and empty are values.
pub trait Blank {
    /// True for `None`.
    fn is_blank(&self) -> bool {
        false
    }
}

impl<T> Blank for Option<T> {
    fn is_blank(&self) -> bool {
        self.is_none()
    }
}
impl<T> Blank for Vec<T> {}
impl<K, V> Blank for BTreeMap<K, V> {}
macro_rules! never_blank { ($($ty:ty)*) => { $( impl Blank for $ty {} )* } }
never_blank!(u16 u32 u64 i64 f64 bool String Text Bytes Values);

/// Text as it was found: MessagePack `str` when it is UTF-8, `bin` when it is not, never lossy.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// For showing to people: bytes that are not UTF-8 become U+FFFD.
    pub fn lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.lossy())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}
impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}
impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}
impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.serialize_bytes(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or binary")
            }
            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text::from(text))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text::from(bytes))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// Sample values. A whole number below 2^53 is written as an integer, every other one as a float64
/// with its exact bits (NaN payloads and -0.0 included).
#[derive(Debug, Clone, Default)]
pub struct Values(pub Vec<f64>);

/// Equal bits: NaN equals itself, 0.0 does not equal -0.0.
impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(a, b)| a.to_bits() == b.to_bits())
    }
}

/// 2^53: every whole number below it is exact in a float64.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.len()))?;
        for &value in &self.0 {
            let whole = value.abs() < EXACT && value.fract() == 0.0;
            if whole && !(value == 0.0 && value.is_sign_negative()) {
                seq.serialize_element(&(value as i64))?;
            } else {
                seq.serialize_element(&value)?;
            }
        }
        seq.end()
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValuesVisitor;
        impl<'de> Visitor<'de> for ValuesVisitor {
            type Value = Values;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Values, A::Error> {
                let mut values = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(4096));
                while let Some(Number(value)) = seq.next_element()? {
                    values.push(value);
                }
                Ok(Values(values))
            }
        }
        deserializer.deserialize_seq(ValuesVisitor)
    }
}

/// One number: integer or float in the file.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Number, E> {
                exact(value as f64, value < EXACT as u64)
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Number, E> {
                exact(value as f64, value.unsigned_abs() < EXACT as u64)
            }
            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }
        }
        fn exact<E: serde::de::Error>(value: f64, ok: bool) -> Result<Number, E> {
            if ok { Ok(Number(value)) } else { Err(E::custom("an integer of 2^53 or more")) }
        }
        deserializer.deserialize_any(NumberVisitor).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[f64]) -> Values {
        let raw = rmp_serde::to_vec_named(&Values(values.to_vec())).unwrap();
        rmp_serde::from_slice(&raw).unwrap()
    }

    #[test]
    fn values_keep_their_bits() {
        let nan = f64::from_bits(0x7ff0_dead_beef_0001);
        let values =
            [0.0, -0.0, 1.0, -3.0, 0.1, f64::INFINITY, nan, EXACT - 1.0, EXACT, -EXACT, 1e300];
        assert_eq!(round_trip(&values), Values(values.to_vec()));
    }

    #[test]
    fn whole_values_are_integers() {
        assert_eq!(rmp_serde::to_vec_named(&Values(vec![5.0])).unwrap(), [0x91, 0x05]);
    }

    #[test]
    fn text_that_is_not_utf8_is_kept() {
        for bytes in [&b"plain"[..], b"\xff\xfe", b""] {
            let raw = rmp_serde::to_vec_named(&Text::from(bytes)).unwrap();
            assert_eq!(rmp_serde::from_slice::<Text>(&raw).unwrap(), Text::from(bytes));
        }
    }
}
