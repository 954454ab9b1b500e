//! `run.series.jsonl` of the Python tool: six numbers a sample, summed over replicas.
//!
//! They become a recording under the engine's own metric names, so that the engine's table of
//! witnesses says what an absent number means.

use super::bytes;
use crate::client::without_bare_constants;
use crate::engine::{Engine, Signal};
use crate::error::InputError;
use crate::evidence::{Recording, ns_of_seconds, ns_within};
use serde_json::Value;
use std::path::Path;

/// The recorded numbers, not yet under an engine's names.
#[derive(Debug)]
pub struct Series {
    /// The engine the header names.
    pub engine: Option<&'static Engine>,
    rows: Vec<Row>,
    /// Lines that are no sample.
    pub refused: usize,
}

#[derive(Debug)]
struct Row {
    wall: Option<i64>,
    mono: Option<i64>,
    values: Vec<(Signal, f64)>,
}

/// The file's keys. `preemptions` is what the engine calls so.
const KEYS: &[(&str, Signal)] = &[
    ("running", Signal::Running),
    ("waiting", Signal::Waiting),
    ("kv_usage", Signal::KvUsage),
    ("preemptions", Signal::Preemptions),
    ("paused", Signal::Paused),
    ("generation_tokens", Signal::GenerationTokens),
    ("prompt_tokens", Signal::PromptTokens),
];

impl Series {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or holds no samples of that form.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let text = bytes(path)?;
        let mut series = Self { engine: None, rows: Vec::new(), refused: 0 };
        let mut header = false;
        for line in text.split(|&b| b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            // Python writes a gauge that has no number as a bare NaN.
            let (line, _) = without_bare_constants(&String::from_utf8_lossy(line));
            let Ok(Value::Object(map)) = serde_json::from_str::<Value>(&line) else {
                series.refused += 1;
                continue;
            };
            if let Some(schema) = map.get("schema").and_then(Value::as_str) {
                header |= schema.starts_with("inferlint.series/");
                series.engine = map.get("engine").and_then(Value::as_str).and_then(Engine::named);
                continue;
            }
            let number = |key: &str| map.get(key).and_then(Value::as_f64);
            let wall = number("t_wall").map(ns_of_seconds);
            let mono = map.get("t_mono_ns").and_then(Value::as_i64).map(ns_within);
            if [wall, mono].contains(&Some(None)) {
                // No clock shows that time.
                series.refused += 1;
                continue;
            }
            series.rows.push(Row {
                wall: wall.flatten(),
                mono: mono.flatten(),
                values: KEYS.iter().filter_map(|(k, s)| Some((*s, number(k)?))).collect(),
            });
        }
        // Samples that were put together from several files need not be in order.
        let mono = series.has_mono();
        series.rows.sort_by_key(|row| if mono { row.mono } else { row.wall });
        // A recording that was cut before its first sample has no more than the header.
        let began = header || text.trim_ascii().is_empty();
        if !began || (!header && !series.rows.is_empty()) {
            return Err(InputError::unusable(
                path,
                "no samples of the form inferlint.series/1",
                "give the run.series.jsonl of a run folder",
            ));
        }
        Ok(series)
    }

    /// True without a sample.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// True when every sample has a monotonic time.
    pub fn has_mono(&self) -> bool {
        self.rows.iter().all(|row| row.mono.is_some())
    }

    /// The first sample's time on the monotonic or the wall clock, and its Unix time, in ns.
    pub fn first(&self, mono: bool) -> Option<(i64, Option<i64>)> {
        let row = self.rows.first()?;
        Some(((if mono { row.mono } else { row.wall })?, row.wall))
    }

    /// The samples: time in ns on the monotonic or the wall clock, and the numbers under `engine`'s
    /// metric names.
    pub fn rows(
        &self,
        engine: &'static Engine,
        mono: bool,
    ) -> impl Iterator<Item = (i64, Vec<(&'static str, f64)>)> + '_ {
        self.rows.iter().filter_map(move |row| {
            let named = row.values.iter().filter_map(|(signal, value)| {
                Some((*engine.metric(*signal)?.names.first()?, *value))
            });
            Some(((if mono { row.mono } else { row.wall })?, named.collect()))
        })
    }

    /// The numbers as a recording of `engine`'s metrics.
    pub fn recording(&self, engine: &'static Engine, mono: bool) -> Recording {
        let mut recording = Recording::default();
        for (t, values) in self.rows(engine, mono) {
            recording.push(t, 0, values.iter().map(|(name, value)| (name.as_bytes(), *value)));
        }
        recording
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<Series, InputError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        Series::open(file.path())
    }

    const HEAD: &str = "{\"schema\": \"inferlint.series/1\", \"engine\": \"vllm\"}\n";

    #[test]
    fn a_number_that_is_none_leaves_its_sample() {
        let row = "{\"t_wall\": 1.0, \"running\": 3.0, \"kv_usage\": NaN}\n";
        let series = open(&format!("{HEAD}{row}")).unwrap();
        let vllm = Engine::named("vllm").unwrap();
        let rows: Vec<_> = series.rows(vllm, false).collect();
        assert_eq!((rows.len(), series.refused), (1, 0));
        assert_eq!(rows[0].1, [("vllm:num_requests_running", 3.0)]);
    }

    #[test]
    fn a_time_that_no_clock_shows_is_no_sample() {
        let rows = "{\"t_wall\": 1e308, \"running\": 1.0}\n{\"t_wall\": 2.0, \"t_mono_ns\": 9223372036854775807}\n";
        let series = open(&format!("{HEAD}{rows}{{\"t_wall\": 3.0}}\n")).unwrap();
        assert_eq!((series.rows.len(), series.refused), (1, 2));
    }

    #[test]
    fn samples_are_read_in_the_order_of_their_times() {
        let row = |t: u32| format!("{{\"t_wall\": {t}.0, \"running\": {t}.0}}\n");
        let series = open(&format!("{HEAD}{}{}", row(2), row(1))).unwrap();
        let rows: Vec<i64> =
            series.rows(Engine::named("vllm").unwrap(), false).map(|(t, _)| t).collect();
        assert_eq!(rows, [1_000_000_000, 2_000_000_000]);
    }

    #[test]
    fn a_recording_cut_before_its_first_sample_is_empty() {
        assert!(open(HEAD).unwrap().is_empty());
        assert!(open("").unwrap().is_empty());
        assert!(open("{\"running\": 3.0}\n").is_err());
        assert!(open("no samples").is_err());
    }
}
