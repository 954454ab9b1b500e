//! Readings of one source as columns: per series the list of its changes.

use inferlint_schema::engine;
use inferlint_schema::prom::SeriesName;
use std::collections::{BTreeMap, HashMap};

/// All readings of a source, by series. A series that was not exposed is absent, which is neither
/// zero nor unchanged.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// When each reading's values stood, in ns on the run's clock.
    times: Vec<i64>,
    /// How long each reading took, in ns. 0 where it is not known.
    durations: Vec<u64>,
    columns: Vec<Column>,
    index: HashMap<Vec<u8>, usize>,
    by_name: BTreeMap<String, Vec<usize>>,
    /// Some names were a re-exporter's.
    pub renamed: bool,
}

/// One series over the readings.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name and labels.
    pub series: SeriesName,
    /// Reading from which a value stands; `None` is absence. In order of reading.
    pub changes: Vec<(u32, Option<f64>)>,
    /// The last reading that had the series.
    seen: u32,
}

impl Column {
    /// The value in reading `i`; `None` when the series was absent.
    pub fn at(&self, i: usize) -> Option<f64> {
        let after = self.changes.partition_point(|&(from, _)| from as usize <= i);
        after.checked_sub(1).and_then(|k| self.changes.get(k)).and_then(|&(_, value)| value)
    }

    /// Values between two readings, both included, each with the reading it stands from.
    pub fn between(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let first = self.at(from).map(|value| (from, value));
        let later = self.changes.iter().filter_map(move |&(i, value)| {
            let i = i as usize;
            value.filter(|_| i > from && i <= to).map(|value| (i, value))
        });
        first.into_iter().chain(later)
    }

    fn set(&mut self, reading: u32, value: Option<f64>) {
        let same = match self.changes.last() {
            Some(&(_, last)) => last.map(f64::to_bits) == value.map(f64::to_bits),
            None => value.is_none(),
        };
        if !same {
            self.changes.push((reading, value));
        }
    }
}

impl Recording {
    /// Appends a reading with all its series.
    pub fn push<'a>(
        &mut self,
        t: i64,
        duration_ns: u64,
        samples: impl IntoIterator<Item = (&'a [u8], f64)>,
    ) {
        let reading = self.begin(t, duration_ns);
        for (series, value) in samples {
            if let Some(column) = self.column(series) {
                self.set(column, reading, value);
            }
        }
        self.forget_unseen(reading);
    }

    /// Begins a reading whose values follow by [`Recording::set`]; returns its number.
    pub fn begin(&mut self, t: i64, duration_ns: u64) -> u32 {
        self.times.push(t);
        self.durations.push(duration_ns);
        (self.times.len() - 1) as u32
    }

    /// The column of a series as exposed, made at first sight; `None` when it is no series. Names of
    /// a re-exporter are read as the engine's own.
    pub fn column(&mut self, series: &[u8]) -> Option<usize> {
        if let Some(&column) = self.index.get(series) {
            return Some(column);
        }
        let own = std::str::from_utf8(series).ok().and_then(engine::own_name);
        if let Some(own) = own {
            self.renamed = true;
            let column = self.column(own.as_bytes())?;
            self.index.insert(series.to_vec(), column);
            return Some(column);
        }
        let name = SeriesName::parse(series)?;
        let column = self.columns.len();
        self.by_name.entry(name.name.clone()).or_default().push(column);
        self.columns.push(Column { series: name, changes: Vec::new(), seen: 0 });
        self.index.insert(series.to_vec(), column);
        Some(column)
    }

    /// Sets a value in `reading`.
    pub fn set(&mut self, column: usize, reading: u32, value: f64) {
        if let Some(column) = self.columns.get_mut(column) {
            column.seen = reading;
            column.set(reading, Some(value));
        }
    }

    /// Marks absent what `reading` did not have.
    pub fn forget_unseen(&mut self, reading: u32) {
        for column in &mut self.columns {
            if column.seen != reading {
                column.set(reading, None);
            }
        }
    }

    /// Number of readings.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// True without a reading.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// When the values of reading `i` stood.
    pub fn time(&self, i: usize) -> Option<i64> {
        self.times.get(i).copied()
    }

    /// All reading times, ascending.
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// How long each reading took.
    pub fn durations(&self) -> &[u64] {
        &self.durations
    }

    /// All columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The columns of one metric name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Column> + '_ {
        self.by_name.get(name).into_iter().flatten().filter_map(|&column| self.columns.get(column))
    }

    /// True when a metric of that name was ever exposed.
    pub fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The metric names.
    pub fn names(&self) -> impl Iterator<Item = &str> + '_ {
        self.by_name.keys().map(String::as_str)
    }

    /// The last reading at or before `t`.
    pub fn last_at(&self, t: i64) -> Option<usize> {
        self.times.partition_point(|&time| time <= t).checked_sub(1)
    }

    /// Median distance of the readings in ns; `None` with fewer than two.
    pub fn interval(&self) -> Option<i64> {
        let mut steps: Vec<i64> =
            self.times.windows(2).filter_map(|w| Some(w.get(1)? - w.first()?)).collect();
        steps.sort_unstable();
        steps.get(steps.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_and_unchanged_never_look_alike() {
        let mut recording = Recording::default();
        recording.push(0, 0, [(&b"a"[..], 1.0), (&b"b{x=\"1\"}"[..], 2.0)]);
        recording.push(10, 0, [(&b"a"[..], 1.0)]);
        recording.push(20, 0, [(&b"a"[..], 1.0), (&b"b{x=\"1\"}"[..], 2.0)]);
        let [a, b] = recording.columns() else { panic!("two columns") };
        assert_eq!(a.changes, [(0, Some(1.0))]);
        assert_eq!(b.changes, [(0, Some(2.0)), (1, None), (2, Some(2.0))]);
        assert_eq!((b.at(0), b.at(1), b.at(2)), (Some(2.0), None, Some(2.0)));
        assert_eq!(b.between(0, 2).collect::<Vec<_>>(), [(0, 2.0), (2, 2.0)]);
    }

    #[test]
    fn names_of_a_re_exporter_are_the_engines_own() {
        let mut recording = Recording::default();
        // Both at once are one series, not two to be added.
        recording.push(0, 0, [(&b"vllm_a{x=\"1\"}"[..], 1.0), (&b"vllm:a{x=\"1\"}"[..], 1.0)]);
        recording.push(10, 0, [(&b"vllm_a{x=\"1\"}"[..], 2.0)]);
        assert!(recording.renamed && recording.knows("vllm:a"));
        assert_eq!(recording.columns().len(), 1);
        assert_eq!(recording.columns()[0].at(1), Some(2.0));
    }

    #[test]
    fn a_series_that_begins_later_was_absent_before() {
        let mut recording = Recording::default();
        recording.push(0, 0, []);
        recording.push(5, 0, [(&b"a"[..], f64::NAN)]);
        assert_eq!(recording.columns()[0].at(0), None);
        assert!(recording.columns()[0].at(1).unwrap().is_nan());
        assert_eq!(recording.last_at(4), Some(0));
        assert_eq!(recording.last_at(-1), None);
    }
}
