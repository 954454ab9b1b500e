//! Did a server end and another begin between two readings?

use super::recording::Column;
use super::{Edges, Recording, Source, ns};
use inferlint_schema::engine as identity;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// What the readings say about one server's lifetime.
#[derive(Debug, Clone, PartialEq)]
pub enum Restarted {
    /// Nothing speaks for a restart; with what would have shown it.
    No(&'static str),
    /// The server ended in between.
    Yes(Restart),
    /// Readings alternate between lifetimes: several servers behind one address.
    Several(String),
    /// The reading after the load is older than the one before it; with what shows it.
    Swapped(String),
    /// Nothing that would show a restart was read.
    Unknown,
}

/// A restart, as it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Restart {
    /// When the new lifetime was first seen, in ns. `None`: between two readings without times.
    pub at: Option<i64>,
    /// What shows it, e.g. `vllm:num_preemptions_created moved from … to …`.
    pub how: String,
    /// How many series show it.
    pub series: usize,
}

impl Restarted {
    /// Looks at the readings of `source` between `edges`.
    pub fn between(source: &Source, edges: Edges) -> Self {
        let (Some(begin), Some(end)) = (edges.begin, edges.end) else { return Self::Unknown };
        let known = source.lifetimes.0.borrow().get(&(begin, end)).cloned();
        known.unwrap_or_else(|| {
            let found = Self::look(source, begin, end);
            source.lifetimes.0.borrow_mut().insert((begin, end), found.clone());
            found
        })
    }

    fn look(source: &Source, begin: usize, end: usize) -> Self {
        if let Some(swapped) = swapped(source, begin, end) {
            return Self::Swapped(swapped);
        }
        if let Some(several) = several(source, begin, end) {
            return several;
        }
        let stamps = moved_stamps(source, begin, end);
        if let Some(found) = stamps {
            return found;
        }
        if let Some(found) = ended_epoch(source, begin, end) {
            return found;
        }
        let replica = source.engine.and_then(|engine| engine.replica_label);
        // Gauges of several processes carry the id of the one that wrote them, and all series the
        // name of the one model that a server serves.
        for (what, label) in
            [("replica", replica), ("process", Some("pid")), ("model", Some("model_name"))]
        {
            if let Some(found) = label.and_then(|label| vanished(source, begin, end, what, label)) {
                return found;
            }
        }
        if let Some(found) = fallen_counters(source, begin, end) {
            return found;
        }
        let full = &source.full;
        let own = |what: fn(&Recording, &str) -> bool| {
            full.columns()
                .iter()
                .any(|column| is_own(source, column) && what(full, &column.series.name))
        };
        if own(|_, name| is_stamp(name)) {
            Self::No("start times")
        } else if own(is_counter) {
            Self::No("counters")
        } else {
            Self::Unknown
        }
    }
}

/// What was found between the edges asked for so far. Every check that takes a difference asks, and
/// the answer takes a look at each change of each counter.
#[derive(Debug, Clone, Default)]
pub struct Lifetimes(RefCell<BTreeMap<(usize, usize), Restarted>>);

/// A gauge that holds when its writer began: the process, or a counter's `*_created`.
///
/// prometheus_client exports both with one process; in multiprocess mode neither.
fn is_stamp(name: &str) -> bool {
    name == "process_start_time_seconds" || name.ends_with("_created")
}

/// Whether a series is the server's: its engine's, its process's or its web framework's. One exposition
/// may hold those of others too (a node's exporter, a router), which live longer or shorter.
fn is_own(source: &Source, column: &Column) -> bool {
    let Some(engine) = source.engine.and_then(|engine| identity::by_name(engine.name)) else {
        return true;
    };
    let name = column.series.name.as_str();
    engine.prefixes.iter().any(|prefix| name.starts_with(prefix))
        || ["process_", "http_"].iter().any(|prefix| name.starts_with(prefix))
}

/// A series that only grows while its server lives. A gauge may end in `_count` too (SGLang's
/// `routing_key_running_req_count`); a histogram's count has its sum beside it.
fn is_counter(readings: &Recording, name: &str) -> bool {
    let of_histogram = |base: &str| readings.knows(&format!("{base}_sum"));
    name.ends_with("_total")
        || ["_count", "_bucket"].iter().any(|end| name.strip_suffix(end).is_some_and(of_histogram))
}

/// Readings in the wrong order: by their times, or because a counter fell whose own start time
/// stayed.
fn swapped(source: &Source, begin: usize, end: usize) -> Option<String> {
    if source.timed && source.full.time(end)? < source.full.time(begin)? {
        return Some("by its time the reading after the load is the older one".into());
    }
    let (column, ..) = falls(source, &source.full, begin, end).find(|(column, ..)| {
        let base = column.series.name.trim_end_matches("_total").trim_end_matches("_count");
        source.full.named(&format!("{base}_created")).any(|created| {
            let stayed = created.at(begin).is_some() && created.at(begin) == created.at(end);
            stayed && created.series.labels == column.series.labels
        })
    })?;
    Some(format!("{} fell although it has the same start time", column.series.name))
}

/// Start times that return to an earlier value, or addresses that alternate.
fn several(source: &Source, begin: usize, end: usize) -> Option<Restarted> {
    for column in stamps(source) {
        let values: Vec<f64> = values(column, begin, end).map(|(_, value)| value).collect();
        if returns(&values) {
            return Some(Restarted::Several(format!(
                "{} alternates between values",
                column.series.name
            )));
        }
    }
    if let Some(column) = own_counters(source, &source.full).find(|c| swings(c, begin, end)) {
        return Some(Restarted::Several(format!(
            "{} falls and comes back again and again",
            column.series.name
        )));
    }
    let peers: Vec<&str> = source
        .peers
        .iter()
        .filter(|(from, _)| *from <= end)
        .map(|(_, peer)| peer.as_str())
        .collect();
    returns(&peers).then(|| Restarted::Several("answers come from alternating addresses".into()))
}

/// Whether a counter falls, rises again by as much from one reading to the next, and falls once more:
/// it is of one server, then of another. A server that was started anew counts up again.
fn swings(column: &Column, begin: usize, end: usize) -> bool {
    let values: Vec<f64> = values(column, begin, end).map(|(_, value)| value).collect();
    let mut steps = values.windows(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)));
    let Some((high, low)) = steps.find(|(old, new)| fell(*old, *new)) else { return false };
    steps.any(|(old, new)| new - old >= high - low) && steps.any(|(old, new)| fell(old, new))
}

/// Whether a counter fell. Sums over several writers' files may differ in their last bit: that is no
/// fall.
fn fell(old: f64, new: f64) -> bool {
    new < old - old.abs() * SUM_NOISE
}

/// A counter's or start time's values between two readings. What is no number, or below 0, is neither.
fn values(column: &Column, begin: usize, end: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
    column.between(begin, end).filter(|(_, value)| value.is_finite() && *value >= 0.0)
}

/// True when a value comes back after another one.
fn returns<T: PartialEq>(values: &[T]) -> bool {
    values.iter().enumerate().any(|(i, value)| {
        let earlier = values.get(..i.saturating_sub(1)).unwrap_or_default();
        earlier.contains(value) && values.get(i.wrapping_sub(1)) != Some(value)
    })
}

/// The series of start times of the server's own.
fn stamps(source: &Source) -> impl Iterator<Item = &Column> {
    source.full.columns().iter().filter(|c| is_stamp(&c.series.name) && is_own(source, c))
}

fn moved_stamps(source: &Source, begin: usize, end: usize) -> Option<Restarted> {
    let mut first: Option<(usize, String)> = None;
    let mut series = 0;
    for column in stamps(source) {
        let mut values = values(column, begin, end);
        let Some((_, old)) = values.next() else { continue };
        if let Some((reading, new)) = values.find(|(_, value)| *value != old) {
            series += 1;
            let how = format!("{} moved from {old:.0} to {new:.0}", column.series.name);
            if first.as_ref().is_none_or(|(at, _)| reading < *at) {
                first = Some((reading, how));
            }
        }
    }
    let (reading, how) = first?;
    Some(Restarted::Yes(Restart { at: when(source, reading), how, series }))
}

fn ended_epoch(source: &Source, begin: usize, end: usize) -> Option<Restarted> {
    let (from, to) = (source.full.time(begin)?, source.full.time(end)?);
    let inside = |t: i64| t > from && t <= to;
    let mut ends = source.epochs.iter().filter(|epoch| epoch.edge == "end");
    let end = ends.find(|epoch| inside(ns(epoch.t)))?;
    let how = end.why.clone().unwrap_or_else(|| "its process ended".into());
    Some(Restarted::Yes(Restart { at: Some(ns(end.t)), how, series: 0 }))
}

/// A label value that was there at the beginning and that no series has at the end.
fn vanished(
    source: &Source,
    begin: usize,
    end: usize,
    what: &str,
    label: &str,
) -> Option<Restarted> {
    let replicas = |i: usize| -> BTreeSet<&str> {
        let own = source.full.columns().iter().filter(|column| is_own(source, column));
        let there = own.filter(|column| column.at(i).is_some());
        there.filter_map(|column| column.series.label(label)).collect()
    };
    let gone = replicas(begin).difference(&replicas(end)).next().map(ToString::to_string)?;
    let how = format!("{what} {label}={gone} vanished");
    Some(Restarted::Yes(Restart { at: when(source, end), how, series: 0 }))
}

/// The series of the server's own that only grow.
fn own_counters<'a>(
    source: &'a Source,
    readings: &'a Recording,
) -> impl Iterator<Item = &'a Column> {
    let own = readings.columns().iter().filter(|column| is_own(source, column));
    own.filter(|column| is_counter(readings, &column.series.name))
}

/// Counters that fell, each with the first reading that shows it, the value before and then.
fn falls<'a>(
    source: &'a Source,
    readings: &'a Recording,
    begin: usize,
    end: usize,
) -> impl Iterator<Item = (&'a Column, usize, f64, f64)> {
    own_counters(source, readings).filter_map(move |column| {
        let values: Vec<(usize, f64)> = values(column, begin, end).collect();
        values.windows(2).find_map(|pair| match *pair {
            [(_, old), (reading, new)] if fell(old, new) => Some((column, reading, old, new)),
            _ => None,
        })
    })
}

/// Part by which a sum of float64 counters may seem to fall when it is added up in another order.
const SUM_NOISE: f64 = 1e-9;

fn fallen_counters(source: &Source, begin: usize, end: usize) -> Option<Restarted> {
    let full = &source.full;
    let fallen: Vec<_> = falls(source, full, begin, end).collect();
    let first = fallen.iter().min_by_key(|(_, reading, ..)| *reading);
    if let Some((column, reading, old, new)) = first {
        let how = format!("{} fell from {old:.0} to {new:.0}", column.series.name);
        let at = when(source, *reading);
        return Some(Restarted::Yes(Restart { at, how, series: fallen.len() }));
    }
    let summed = source.summed.as_ref()?;
    let (column, reading, old, new) =
        falls(source, summed, 0, summed.len().checked_sub(1)?).next()?;
    let how = format!("{} fell from {old:.0} to {new:.0}", column.series.name);
    Some(Restarted::Yes(Restart { at: summed.time(reading), how, series: 1 }))
}

fn when(source: &Source, reading: usize) -> Option<i64> {
    source.full.time(reading).filter(|_| source.timed && source.full.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(readings: &[&[(&str, f64)]]) -> Source {
        let mut source = Source { timed: true, ..Source::default() };
        for (i, reading) in readings.iter().enumerate() {
            let samples = reading.iter().map(|(series, value)| (series.as_bytes(), *value));
            source.full.push(i as i64 * 1_000_000_000, 0, samples);
        }
        source
    }

    fn judge(readings: &[&[(&str, f64)]]) -> Restarted {
        let edges = Edges { begin: Some(0), end: Some(readings.len() - 1) };
        Restarted::between(&source(readings), edges)
    }

    #[test]
    fn a_moved_start_time_is_a_restart_even_where_counters_grew() {
        let found = judge(&[
            &[("a_created", 100.0), ("a_total", 5.0)],
            &[("a_created", 100.0), ("a_total", 5.0)],
            &[("a_created", 900.0), ("a_total", 50.0)],
        ]);
        let Restarted::Yes(restart) = found else { panic!("{found:?}") };
        assert_eq!(restart.at, Some(2_000_000_000));
        assert_eq!(restart.how, "a_created moved from 100 to 900");
    }

    #[test]
    fn a_fallen_counter_is_a_restart_where_nothing_else_tells() {
        assert!(matches!(judge(&[&[("a_total", 5.0)], &[("a_total", 3.0)]]), Restarted::Yes(_)));
        assert_eq!(judge(&[&[("a_total", 5.0)], &[("a_total", 9.0)]]), Restarted::No("counters"));
        assert_eq!(judge(&[&[("a", 5.0)], &[("a", 3.0)]]), Restarted::Unknown);
    }

    #[test]
    fn another_process_behind_the_gauges_is_a_restart() {
        let (old, new) = ("a{pid=\"7\"}", "a{pid=\"9\"}");
        let found = judge(&[&[(old, 1.0), ("b_total", 5.0)], &[(new, 1.0), ("b_total", 9.0)]]);
        let Restarted::Yes(restart) = found else { panic!("{found:?}") };
        assert_eq!(restart.how, "process pid=7 vanished");
        let same = judge(&[&[(old, 1.0), ("b_total", 5.0)], &[(old, 2.0), ("b_total", 9.0)]]);
        assert_eq!(same, Restarted::No("counters"));
    }

    #[test]
    fn a_gauge_that_is_called_a_count_may_fall() {
        let gauge = "sglang:routing_key_running_req_count";
        assert_eq!(
            judge(&[&[(gauge, 29.0), ("a_total", 1.0)], &[(gauge, 0.0), ("a_total", 1.0)]]),
            Restarted::No("counters")
        );
        let (count, sum) = ("b_seconds_count", "b_seconds_sum");
        let found = judge(&[&[(count, 9.0), (sum, 1.0)], &[(count, 2.0), (sum, 1.0)]]);
        assert!(matches!(found, Restarted::Yes(_)), "{found:?}");
    }

    #[test]
    fn a_sum_added_up_in_another_order_did_not_fall() {
        let found = judge(&[&[("a_total", 0.1 + 0.2)], &[("a_total", 0.3)]]);
        assert_eq!(found, Restarted::No("counters"));
    }

    #[test]
    fn what_is_no_number_neither_falls_nor_moves() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5.0] {
            let found = judge(&[&[("a_total", 5.0)], &[("a_total", odd)], &[("a_total", 9.0)]]);
            assert_eq!(found, Restarted::No("counters"), "{odd}");
            let found = judge(&[&[("a_created", 5.0)], &[("a_created", odd)]]);
            assert_eq!(found, Restarted::No("start times"), "{odd}");
        }
    }

    #[test]
    fn readings_in_the_wrong_order_are_no_restart() {
        let (early, late) =
            ([("a_created", 7.0), ("a_total", 1.0)], [("a_created", 7.0), ("a_total", 5.0)]);
        assert!(matches!(judge(&[&late, &early]), Restarted::Swapped(_)));
        let source = source(&[&early, &late]);
        let edges = Edges { begin: Some(1), end: Some(0) };
        assert!(matches!(Restarted::between(&source, edges), Restarted::Swapped(_)));
    }

    #[test]
    fn alternating_start_times_are_several_servers() {
        let found = judge(&[&[("a_created", 1.0)], &[("a_created", 2.0)], &[("a_created", 1.0)]]);
        assert!(matches!(found, Restarted::Several(_)), "{found:?}");
    }

    #[test]
    fn counters_that_swing_are_several_servers() {
        let counted = |values: &[f64]| {
            let series = "vllm:generation_tokens_total";
            let readings: Vec<Vec<(&str, f64)>> =
                values.iter().map(|value| vec![(series, *value)]).collect();
            let readings: Vec<&[(&str, f64)]> = readings.iter().map(Vec::as_slice).collect();
            vllm(&readings)
        };
        assert!(matches!(counted(&[50.0, 300.0, 55.0, 310.0, 60.0]), Restarted::Several(_)));
        // A sum over writers, added up in another order each time.
        let noisy = counted(&[50.0, 300.3, 300.3 - 6e-14, 310.0, 310.0 - 6e-14, 320.0]);
        assert_eq!(noisy, Restarted::No("counters"));
        // Two ends of one server.
        let twice = counted(&[50.0, 300.0, 0.0, 100.0, 200.0, 310.0, 5.0]);
        assert!(matches!(twice, Restarted::Yes(_)), "{twice:?}");
        assert!(matches!(counted(&[50.0, 300.0, 0.0, 310.0, 320.0]), Restarted::Yes(_)));
    }

    #[test]
    fn a_replica_that_vanishes_is_a_restart() {
        let (both, one) = (
            [("vllm:a{engine=\"0\"}", 1.0), ("vllm:a{engine=\"1\"}", 1.0)],
            [("vllm:a{engine=\"0\"}", 1.0)],
        );
        let mut source = source(&[&both, &one]);
        source.engine = crate::engine::Engine::named("vllm");
        let edges = Edges { begin: Some(0), end: Some(1) };
        let Restarted::Yes(found) = Restarted::between(&source, edges) else { panic!("restart") };
        assert_eq!(found.how, "replica engine=1 vanished");
    }

    fn vllm(readings: &[&[(&str, f64)]]) -> Restarted {
        let mut source = source(readings);
        source.engine = crate::engine::Engine::named("vllm");
        Restarted::between(&source, Edges { begin: Some(0), end: Some(readings.len() - 1) })
    }

    #[test]
    fn what_others_export_beside_it_tells_nothing_of_the_server() {
        let own = ("vllm:generation_tokens_total", 5.0);
        for (early, late) in [
            (("node_network_receive_bytes_total", 9.0), ("node_network_receive_bytes_total", 1.0)),
            (("kube_pod_created", 100.0), ("kube_pod_created", 900.0)),
            (("DCGM_FI_DEV_GPU_UTIL{pid=\"7\"}", 1.0), ("DCGM_FI_DEV_GPU_UTIL{pid=\"9\"}", 1.0)),
        ] {
            let found = vllm(&[&[own, early], &[own, late]]);
            assert_eq!(found, Restarted::No("counters"), "{late:?}");
        }
        for (early, late) in [
            (("http_requests_total", 9.0), ("http_requests_total", 1.0)),
            (("process_start_time_seconds", 7.0), ("process_start_time_seconds", 8.0)),
        ] {
            let found = vllm(&[&[own, early], &[own, late]]);
            assert!(matches!(found, Restarted::Yes(_)), "{late:?}: {found:?}");
        }
    }

    #[test]
    fn another_model_is_another_server() {
        let (old, new) = (
            "vllm:prompt_tokens_created{model_name=\"a\"}",
            "vllm:prompt_tokens_created{model_name=\"b\"}",
        );
        let Restarted::Yes(found) = vllm(&[&[(old, 100.0)], &[(new, 900.0)]]) else {
            panic!("restart")
        };
        assert_eq!(found.how, "model model_name=a vanished");
    }

    #[test]
    fn a_label_set_that_appears_is_no_restart() {
        let found = judge(&[&[("a_created", 1.0)], &[("a_created", 1.0), ("b_created", 7.0)]]);
        assert_eq!(found, Restarted::No("start times"));
    }
}
