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
