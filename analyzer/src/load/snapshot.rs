//! One saved exposition: raw text, or the Python tool's `*.snapshot.json` around it.

use super::bytes;
use crate::error::InputError;
use crate::evidence::{ns_of_seconds, ns_within};
use inferlint_schema::prom;
use serde::Deserialize;
use std::path::Path;

/// An exposition with the clocks it was read at.
#[derive(Debug)]
pub struct Snapshot {
    /// Unix time in ns. `None`: raw text.
    pub wall: Option<i64>,
    /// Monotonic clock in ns. `None`: not captured.
    pub mono: Option<i64>,
    /// How long the reading took, in ns; 0 when it is not known.
    pub duration_ns: u64,
    /// The exposition.
    pub text: Vec<u8>,
}

#[derive(Deserialize)]
struct Saved {
    t_wall: Option<f64>,
    t_mono_ns: Option<i64>,
    latency_s: Option<f64>,
    text: String,
}

impl Snapshot {
    /// Reads one saved exposition.
    ///
    /// # Errors
    /// When it cannot be read or holds no metric sample.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let bytes = bytes(path)?;
        let help = "give the text of the server's metrics endpoint, or a *.snapshot.json";
        let snapshot = if bytes.trim_ascii_start().starts_with(b"{") {
            Self::parse(&bytes).map_err(|error| {
                if error.is_eof() {
                    return InputError::cut(path);
                }
                InputError::unusable(path, format!("no snapshot: {error}"), help)
            })?
        } else {
            Self { wall: None, mono: None, duration_ns: 0, text: bytes }
        };
        if snapshot.text.trim_ascii().is_empty() {
            return Err(InputError::cut(path));
        }
        if prom::parse(&snapshot.text).samples.is_empty() {
            return Err(InputError::unusable(path, "holds no metric sample", help));
        }
        Ok(snapshot)
    }

    /// Reads the JSON object around an exposition.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let saved: Saved = serde_json::from_slice(json)?;
        let latency = saved.latency_s.and_then(ns_of_seconds);
        let mut text = saved.text.into_bytes();
        // The JSON string is whole, so its last line is.
        if text.last() != Some(&b'\n') {
            text.push(b'\n');
        }
        Ok(Self {
            wall: saved.t_wall.and_then(ns_of_seconds),
            mono: saved.t_mono_ns.and_then(ns_within),
            duration_ns: latency.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0),
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_no_clock_shows_are_left_out() {
        let of = |times: &str| {
            let json = format!("{{\"text\": \"up 1\", {times}}}");
            let read = Snapshot::parse(json.as_bytes()).unwrap();
            (read.wall, read.mono, read.duration_ns)
        };
        assert_eq!(
            of("\"t_wall\": 2.5, \"t_mono_ns\": 7, \"latency_s\": 0.5"),
            (Some(2_500_000_000), Some(7), 500_000_000)
        );
        assert_eq!(
            of("\"t_wall\": 1e300, \"t_mono_ns\": 9223372036854775807, \"latency_s\": 1e300"),
            (None, None, 0)
        );
        assert_eq!(of("\"latency_s\": -1"), (None, None, 0));
    }
}
