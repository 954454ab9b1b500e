//! A server's exposition that goes on for ten minutes, made from a real recording of some seconds.

use inferlint_schema::container::{Item, read};
use inferlint_schema::delta::{self, Decoder};
use inferlint_schema::limits::Limits;
use inferlint_schema::prom::{self, SeriesName};
use inferlint_schema::record::{Decoded, End, Record};
use std::collections::HashMap;
use std::path::Path;

/// The text between values, and each value's course.
pub(crate) struct Exposition {
    between: Vec<String>,
    values: Vec<Motion>,
    records: Vec<Record>,
    /// Readings of one load.
    readings: usize,
    /// The recording's end record.
    pub(crate) end: End,
}

enum Motion {
    Still(String),
    /// A counter: its recorded values, and how much one load adds.
    Counter(Vec<f64>, f64),
    /// A gauge: its recorded values.
    Gauge(Vec<f64>),
}

impl Exposition {
    /// Reads the recording of a vLLM server in `bundle`.
    pub(crate) fn of(bundle: &Path) -> Self {
        let mut decoder = Decoder::default();
        let mut readings: Vec<HashMap<String, f64>> = Vec::new();
        let (mut texts, mut records, mut end) = (Vec::new(), Vec::new(), None);
        let file = std::fs::File::open(bundle).unwrap();
        let visit = &mut |item: Item<'_>| {
            let Item::Record { decoded: Decoded::Known(record), .. } = item else { return };
            match decoder.push(&record) {
                delta::Decoded::Reading(reading) => {
                    let (src, ids) = (reading.src, reading.ids.to_vec());
                    let values = reading.values.to_vec();
                    let names = decoder.names(src);
                    let named = ids.iter().zip(values);
                    readings.push(
                        named
                            .map(|(id, v)| (names[*id as usize].lossy().into_owned(), v))
                            .collect(),
                    );
                }
                _ => match *record {
                    Record::TextBody(text) => texts.push(text.body.into_vec()),
                    Record::End(body) => end = Some(body),
                    Record::Session(_) | Record::Host(_) | Record::Source(_) => {
                        records.push(*record);
                    }
                    _ => {}
                },
            }
        };
        read(file, &Limits::default(), visit).unwrap();
        let families = decoder.families(0).unwrap().clone();
        let gauge = |series: &str| {
            let name = SeriesName::parse(series.as_bytes()).unwrap().name;
            families.get(&name).and_then(|f| f.ty.as_deref()) == Some("gauge")
        };
        // From the last idle reading before the load to its last busy one.
        let first = readings.iter().position(is_busy).unwrap() - 1;
        let last = readings.iter().rposition(is_busy).unwrap();
        let load = &readings[first..=last];
        let text = String::from_utf8(texts.pop().unwrap()).unwrap();
        let parsed = prom::parse(text.as_bytes());
        let (mut between, mut values, mut at) = (Vec::new(), Vec::new(), 0);
        for sample in &parsed.samples {
            let from = sample.value.as_ptr() as usize - text.as_ptr() as usize;
            between.push(text[at..from].to_owned());
            at = from + sample.value.len();
            let series = std::str::from_utf8(sample.series).unwrap();
            let seen: Vec<f64> =
                load.iter().map(|r| r.get(series).copied().unwrap_or(0.0)).collect();
            values.push(if seen.iter().all(|v| v.to_bits() == seen[0].to_bits()) {
                Motion::Still(String::from_utf8(sample.value.to_vec()).unwrap())
            } else if gauge(series) {
                Motion::Gauge(seen)
            } else {
                let added = seen[seen.len() - 1] - seen[0];
                Motion::Counter(seen, added)
            });
        }
        between.push(text[at..].to_owned());
        let readings = load.len();
        Self { between, values, records, readings, end: end.unwrap() }
    }

    /// Series.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// Series that move.
    pub(crate) fn changing(&self) -> usize {
        self.values.iter().filter(|v| !matches!(v, Motion::Still(_))).count()
    }

    /// The recording's session, host and source records.
    pub(crate) fn declarations(&self) -> Vec<Record> {
        self.records.clone()
    }

    /// The text of reading `i`: the recorded load again and again, its counters going on.
    pub(crate) fn at(&self, i: u64) -> String {
        let (loads, now) = (i as usize / self.readings, i as usize % self.readings);
        let mut text = String::with_capacity(64 << 10);
        for (between, value) in self.between.iter().zip(&self.values) {
            text += between;
            match value {
                Motion::Still(token) => text += token,
                Motion::Counter(seen, added) => {
                    text += &format!("{:?}", seen[now] + added * loads as f64);
                }
                Motion::Gauge(seen) => text += &format!("{:?}", seen[now]),
            }
        }
        text + self.between.last().unwrap()
    }
}

/// Requests are running.
fn is_busy(reading: &HashMap<String, f64>) -> bool {
    let running = |(name, value): (&String, &f64)| {
        name.starts_with("vllm:num_requests_running") && *value > 0.0
    };
    reading.iter().any(running)
}
