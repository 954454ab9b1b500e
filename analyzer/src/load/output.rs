//! What load tools printed: which load point it is of, and the table of results in it.
//!
//! The output of a ladder is one stream in which each point's table ends what its tool printed. A
//! Python tool that writes to a file writes as it exits, and the recorder looks ten times a second,
//! so a table's time is that of its point's end or a little later, when the next tool may run
//! already. Time, order and the concurrency in the table must fit one point; else it is no point's.

use crate::client::{self, ClientResult, printed_params};
use crate::evidence::{Point, Run};
use std::collections::BTreeMap;

/// Longest time from a line's writing to the look that finds it: a look every 100 ms, late by
/// seconds where the recorder got no CPU.
const LATE_NS: i64 = 10_000_000_000;

/// One stream of a load tool's output.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// What people know it by, e.g. `load stdout`.
    pub(super) name: String,
    text: String,
    /// From which byte on it came when, in ns on the run's clock.
    times: Vec<(usize, Option<i64>)>,
}

impl Output {
    pub(super) fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Adds what came at a time. `None`: not known.
    pub(super) fn add(&mut self, t: Option<i64>, body: &[u8]) {
        self.times.push((self.text.len(), t));
        self.text.push_str(&String::from_utf8_lossy(body));
    }

    fn time_at(&self, offset: usize) -> Option<i64> {
        let after = self.times.partition_point(|(from, _)| *from <= offset);
        self.times.get(after.checked_sub(1)?)?.1
    }

    fn tables(&self) -> impl Iterator<Item = Table<'_>> {
        client::tables(&self.text).into_iter().map(|table| Table {
            place: format!("{}, line {}", self.name, table.line),
            t: self.time_at(table.section.end.saturating_sub(1)),
            section: self.text.get(table.section).unwrap_or_default(),
            result: table.result,
        })
    }
}

/// A table, with what its tool printed before it.
struct Table<'a> {
    place: String,
    t: Option<i64>,
    section: &'a str,
    result: Result<ClientResult, &'static str>,
}

impl Table<'_> {
    /// Whether it can be the one of `point`.
    fn fits(&self, point: &Point) -> bool {
        let in_time = match (self.t, point.command) {
            (Some(t), Some((begin, end))) => begin <= t && t <= end.saturating_add(LATE_NS),
            _ => true,
        };
        let asked = point.params.get("concurrency").and_then(|n| n.parse::<f64>().ok());
        let told = self.result.as_ref().ok().and_then(|result| result.max_concurrency);
        in_time && asked.zip(told).is_none_or(|(asked, told)| asked == told)
    }
}

/// Gives each point what its load tool printed. A result file outranks a table.
pub(super) fn give(outputs: &[Output], run: &mut Run) {
    if let [only] = run.points.as_mut_slice()
        && !outputs.is_empty()
    {
        only.output = Some(outputs.iter().map(|output| output.text.as_str()).collect());
    }
    let mut tables: Vec<Table<'_>> = outputs.iter().flat_map(Output::tables).collect();
    tables.sort_by_key(|table| table.t);
    tables.retain(|table| {
        // A title in the text of an error is no table; neither is what a killed tool began.
        let Err(why) = &table.result else { return true };
        run.notes.push(format!("the table printed at {} is not read: {why}", table.place));
        false
    });
    let mut of_points: BTreeMap<usize, Vec<Table<'_>>> = BTreeMap::new();
    let owners = owners(&tables, &run.points);
    for (table, owner) in tables.into_iter().zip(owners) {
        match owner {
            Some(point) => of_points.entry(point).or_default().push(table),
            None => run.notes.push(format!(
                "the table printed at {} is not used: it fits no one load point",
                table.place
            )),
        }
    }
    for (point, tables) in of_points {
        if let Some(point) = run.points.get_mut(point) {
            run.notes.extend(take(point, tables));
        }
    }
}

/// Per table the one point it is of: the points in order where each table fits its own, else the
/// only one that it fits.
fn owners(tables: &[Table<'_>], points: &[Point]) -> Vec<Option<usize>> {
    if tables.len() == points.len() && tables.iter().zip(points).all(|(t, p)| t.fits(p)) {
        return (0..points.len()).map(Some).collect();
    }
    let only = |table: &Table<'_>| {
        let mut fitting = points.iter().enumerate().filter(|(_, point)| table.fits(point));
        let (first, _) = fitting.next()?;
        fitting.next().is_none().then_some(first)
    };
    tables.iter().map(only).collect()
}

/// Makes a point's one table its result where it has no file's. The note says what is odd.
fn take(point: &mut Point, tables: Vec<Table<'_>>) -> Option<String> {
    let name = point.name.as_deref().unwrap_or("the load").to_owned();
    let places: Vec<String> = tables.iter().map(|table| table.place.clone()).collect();
    let mut tables = tables.into_iter();
    let (Some(table), None) = (tables.next(), tables.next()) else {
        let why = format!("{} tables were printed during it and none is taken", places.len());
        let note = format!("{name}: {why} ({})", places.join("; "));
        point.printed = Some(Err(why));
        return Some(note);
    };
    if point.output.is_none() {
        point.output = Some(table.section.to_owned());
    }
    for (key, value) in printed_params(table.section) {
        point.params.entry(key).or_insert(value);
    }
    let printed = completed(table.result.ok()?, point, table.place);
    let unlike = point.result.as_ref().map(|saved| saved.unlike(&printed)).unwrap_or_default();
    let note = (!unlike.is_empty()).then(|| {
        let place = places.join("; ");
        format!("{name}: its result file and the table at {place} differ: {}", unlike.join("; "))
    });
    point.result.get_or_insert_with(|| printed.clone());
    point.printed = Some(Ok(printed));
    note
}

/// A table's result with what its point tells. Tables without failures (vLLM before 0.12, SGLang)
/// leave out what is missing of the prompts.
fn completed(result: ClientResult, point: &Point, place: String) -> ClientResult {
    let asked = point.params.get("num_prompts").and_then(|n| n.parse::<u64>().ok());
    let num_prompts = result.num_prompts.or(asked);
    let missing = num_prompts.map(|n| n.saturating_sub(result.completed));
    let failed = result.failed.or(missing);
    ClientResult { printed: Some(place), num_prompts, failed, ..result }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    /// What a tool prints in a run of `concurrency`.
    fn printed(concurrency: u64, completed: u64) -> String {
        format!(
            "Namespace(num_prompts={}, max_concurrency={concurrency})\nInitial test run completed.\n\
             ============ Serving Benchmark Result ============\n\
             Successful requests:                     {completed}\n\
             Maximum request concurrency:             {concurrency}\n\
             ==================================================\n",
            concurrency * 6
        )
    }

    /// Points of 20 s, one after another, each asked for so many requests at once.
    fn ladder(steps: &[u64]) -> Run {
        let point = |(i, concurrency): (usize, &u64)| Point {
            name: Some(format!("p{i}")),
            params: BTreeMap::from([("concurrency".to_owned(), concurrency.to_string())]),
            command: Some((i as i64 * 20 * S, (i as i64 + 1) * 20 * S)),
            ..Point::default()
        };
        Run { points: steps.iter().enumerate().map(point).collect(), ..Run::default() }
    }

    /// The requests completed by each point's result, after `parts` were printed.
    fn given(run: &mut Run, parts: &[(Option<i64>, String)]) -> Vec<Option<u64>> {
        let mut output = Output::new("load stdout".into());
        for (t, text) in parts {
            output.add(t.map(|s| s * S), text.as_bytes());
        }
        give(&[output], run);
        run.points.iter().map(|point| point.result.as_ref().map(|r| r.completed)).collect()
    }

    #[test]
    fn each_table_is_of_the_point_in_whose_time_it_came() {
        let mut run = ladder(&[4, 4, 4]);
        let parts =
            [(Some(20), printed(4, 1)), (Some(39), printed(4, 2)), (Some(61), printed(4, 3))];
        assert_eq!(given(&mut run, &parts), [Some(1), Some(2), Some(3)]);
        assert!(run.notes.is_empty(), "{:?}", run.notes);
        let second = &run.points[1];
        assert_eq!(second.params["num_prompts"], "24", "its own arguments");
        assert_eq!(second.output.as_deref(), Some(printed(4, 2).as_str()), "its own output");
        let result = second.result.as_ref().unwrap();
        assert_eq!(result.printed.as_deref(), Some("load stdout, line 9"));
        assert_eq!(result.failed, Some(22), "what is missing of its prompts");
    }

    #[test]
    fn a_late_table_goes_to_the_point_that_has_none() {
        // Each came when the next tool ran already, as the recorder looks.
        let mut run = ladder(&[4, 4, 4]);
        let parts =
            [(Some(21), printed(4, 1)), (Some(42), printed(4, 2)), (Some(61), printed(4, 3))];
        assert_eq!(given(&mut run, &parts), [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn what_is_not_told_is_not_guessed() {
        let lost = "fits no one load point";
        for (what, steps, parts, results, says) in [
            (
                "the first was killed, the second says when it is",
                &[4, 4][..],
                vec![(Some(39), printed(4, 2))],
                vec![None, Some(2)],
                "",
            ),
            (
                "one table between two points",
                &[4, 4],
                vec![(Some(25), printed(4, 2))],
                vec![None, None],
                lost,
            ),
            (
                "the concurrency tells",
                &[4, 8],
                vec![(Some(25), printed(8, 2))],
                vec![None, Some(2)],
                "",
            ),
            (
                "no times, but as many as points",
                &[4, 8],
                vec![(None, printed(4, 1) + &printed(8, 2))],
                vec![Some(1), Some(2)],
                "",
            ),
            (
                "no times, and not in order",
                &[4, 4, 4],
                vec![(None, printed(4, 1) + &printed(4, 2))],
                vec![None, None, None],
                lost,
            ),
            (
                "two in one point",
                &[4],
                vec![(Some(9), printed(4, 1)), (Some(18), printed(4, 2))],
                vec![None],
                "2 tables were printed during it and none is taken (load stdout, line 3; load stdout, line 9)",
            ),
            ("another load", &[4], vec![(Some(9), printed(8, 1))], vec![None], lost),
            ("after all", &[4], vec![(Some(90), printed(4, 1))], vec![None], lost),
            (
                "cut",
                &[4],
                vec![(Some(9), printed(4, 1)[..180].to_owned())],
                vec![None],
                "load stdout, line 3 is not read: it is cut short",
            ),
        ] {
            let mut run = ladder(steps);
            assert_eq!(given(&mut run, &parts), results, "{what}");
            let notes = run.notes.join("\n");
            assert!(notes.contains(says) && notes.is_empty() == says.is_empty(), "{what}: {notes}");
        }
    }

    #[test]
    fn a_file_outranks_the_table_and_a_difference_is_said() {
        let file = |completed: u64| {
            ClientResult::parse(&format!(
                r#"{{"backend":"vllm","num_prompts":24,"completed":{completed}}}"#
            ))
        };
        for (saved, note) in [
            (24, None),
            (
                23,
                Some(
                    "p0: its result file and the table at load stdout, line 3 differ: completed 23, printed 24; failed 1, printed 0",
                ),
            ),
        ] {
            let mut run = ladder(&[4]);
            run.points[0].result = file(saved).ok();
            assert_eq!(given(&mut run, &[(Some(20), printed(4, 24))]), [Some(saved)]);
            assert_eq!(run.notes.first().map(String::as_str), note);
            assert!(run.points[0].result.as_ref().unwrap().printed.is_none());
        }
    }

    #[test]
    fn both_streams_are_the_output_and_a_table_is_in_one() {
        let mut run = ladder(&[4]);
        let mut streams = [Output::new("load stderr".into()), Output::new("load stdout".into())];
        let table = printed(4, 24);
        let (begin, end) = table.split_at(170);
        for (stream, text) in [(1, begin), (0, "100%|##|\r"), (1, end)] {
            streams[stream].add(Some(9 * S), text.as_bytes());
        }
        give(&streams, &mut run);
        assert_eq!(run.points[0].result.as_ref().unwrap().completed, 24);
        assert!(run.points[0].output.as_ref().unwrap().starts_with("100%|##|\rNamespace("));
    }

    #[test]
    fn text_that_is_none_is_read_all_the_same() {
        let mut run = ladder(&[4]);
        let mut output = Output::new("load stdout".into());
        output.add(Some(9 * S), b"\xff\xfe=====\xf0\x9f");
        output.add(None, &[0; 4096]);
        give(&[output, Output::default()], &mut run);
        assert!(run.points[0].result.is_none() && run.notes.is_empty());
    }
}
