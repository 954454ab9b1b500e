//! Readings become records, and records readings again.
//!
//! An [`Encoder`] knows one source's dictionary, shapes and last values; a [`Decoder`] rebuilds the
//! same from the records and knows when it cannot, because records before it were lost.

use crate::limits::{Limits, PART_BYTES};
use crate::prom::{self, Problem};
use crate::record::{Bytes, Family, Record, Scrape, Series, Shape, Text, TextBody, Values};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What is known of a reading besides its values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadingHead {
    /// When the request was sent, ns since the recording began.
    pub t: u64,
    /// How long the reading took, in ns.
    pub dur_ns: u64,
    /// HTTP status.
    pub status: Option<u16>,
    /// Bytes of the body as received.
    pub bytes: Option<u64>,
    /// Address that answered.
    pub peer: Option<String>,
    /// The answer's `Date`, Unix seconds.
    pub date_s: Option<u64>,
}

/// What the encoder found in an exposition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Sample lines.
    pub samples: usize,
    /// Values that differ from the reading before.
    pub changed: usize,
    /// Lines that were not understood.
    pub refused: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
}

/// Verbatim texts kept because of lines that were not understood, per recording.
pub const UNPARSED_TEXTS: u32 = 20;

/// Turns the readings of one source into records.
#[derive(Debug)]
pub struct Encoder {
    src: u32,
    names: Vec<Text>,
    ids: HashMap<Text, u32>,
    meta: BTreeMap<String, Family>,
    /// Shape id by the series ids it lists.
    shapes: HashMap<Vec<u32>, u32>,
    /// Shapes written since the last keyframe: a reader that began there knows no others.
    declared: HashSet<u32>,
    /// The last reading's shape.
    shape: Vec<u32>,
    shape_id: Option<u32>,
    values: Vec<f64>,
    peer: Option<String>,
    skeleton: Option<Skeleton>,
    texts: u32,
    unparsed: u32,
}

/// The last exposition: everything between two values must stand unchanged for the next one to be
/// read by its values alone.
#[derive(Debug)]
struct Skeleton {
    body: Vec<u8>,
    /// Where each value begins and ends in `body`.
    at: Vec<(u32, u32)>,
}

impl Encoder {
    /// An encoder for source `src` that has seen nothing.
    pub fn new(src: u32) -> Self {
        Self {
            src,
            names: Vec::new(),
            ids: HashMap::new(),
            meta: BTreeMap::new(),
            shapes: HashMap::new(),
            declared: HashSet::new(),
            shape: Vec::new(),
            shape_id: None,
            values: Vec::new(),
            peer: None,
            skeleton: None,
            texts: 0,
            unparsed: 0,
        }
    }

    /// Encodes one exposition.
    ///
    /// `keyframe` restates dictionary and shape and writes every value, so that a reader can begin
    /// here: begin a frame with it. `keep` adds the text itself, for the reason it names; the first
    /// [`UNPARSED_TEXTS`] expositions with lines that were not understood are kept unasked.
    pub fn exposition(
        &mut self,
        head: &ReadingHead,
        body: &[u8],
        keyframe: bool,
        keep: Option<&str>,
        out: &mut Vec<Record>,
    ) -> Outcome {
        let (outcome, scrape) = match self.same_skeleton(body) {
            Some(changes) => self.reread(head, changes, keyframe, out),
            None => self.parse(head, body, keyframe, out),
        };
        out.push(scrape.into());
        let unparsed = outcome.refused > 0 && keep.is_none() && self.unparsed < UNPARSED_TEXTS;
        if unparsed {
            self.unparsed += 1;
        }
        if let Some(why) = keep.or(unparsed.then_some("unparsed")) {
            self.text(head.t, why, body, out);
        }
        outcome
    }

    /// Encodes values that come from no exposition (GPU, process, host).
    pub fn values(
        &mut self,
        t: u64,
        dur_ns: u64,
        samples: &[(&str, f64)],
        keyframe: bool,
        out: &mut Vec<Record>,
    ) {
        self.skeleton = None;
        let head = ReadingHead { t, dur_ns, ..ReadingHead::default() };
        let (names, values): (Vec<Text>, Vec<f64>) =
            samples.iter().map(|(name, value)| (Text::from(*name), *value)).unzip();
        let scrape = self.reading(&head, names, values, BTreeMap::new(), keyframe, out);
        out.push(scrape.into());
    }

    /// The values that changed, by position, when nothing but values differs from the last
    /// exposition; it becomes the new last one.
    fn same_skeleton(&mut self, body: &[u8]) -> Option<Vec<(u32, f64)>> {
        let last = self.skeleton.as_mut()?;
        let mut changes = Vec::with_capacity(64);
        let mut moved = Vec::with_capacity(last.at.len());
        let (mut here, mut there) = (0, 0);
        for (position, &(from, to)) in last.at.iter().enumerate() {
            let between = last.body.get(there..from as usize)?;
            let start = here + between.len();
            if body.get(here..start)? != between {
                return None;
            }
            let rest = body.get(start..)?;
            let end = start + rest.iter().position(|b| *b <= b' ')?;
            let token = body.get(start..end)?;
            if token != last.body.get(from as usize..to as usize)? {
                changes.push((position as u32, prom::number(token)?));
            }
            moved.push((start as u32, end as u32));
            (here, there) = (end, to as usize);
        }
        if body.get(here..)? != last.body.get(there..)? {
            return None;
        }
        last.body.clear();
        last.body.extend_from_slice(body);
        last.at = moved;
        Some(changes)
    }

    fn reread(
        &mut self,
        head: &ReadingHead,
        mut changes: Vec<(u32, f64)>,
        keyframe: bool,
        out: &mut Vec<Record>,
    ) -> (Outcome, Scrape) {
        changes.retain(|&(position, value)| {
            let Some(old) = self.values.get_mut(position as usize) else { return false };
            let differs = old.to_bits() != value.to_bits();
            *old = value;
            differs
        });
        let outcome =
            Outcome { samples: self.values.len(), changed: changes.len(), ..Outcome::default() };
        if keyframe {
            self.restate(head.t, out);
        }
        let scrape = if keyframe { self.full(head) } else { self.delta(head, &changes) };
        (outcome, scrape)
    }

    fn parse(
        &mut self,
        head: &ReadingHead,
        body: &[u8],
        keyframe: bool,
        out: &mut Vec<Record>,
    ) -> (Outcome, Scrape) {
        let exposition = prom::parse(body);
        let names = exposition.samples.iter().map(|s| Text::from(s.series)).collect();
        let values = exposition.samples.iter().map(|s| s.number).collect();
        let samples = exposition.samples.len();
        let mut scrape = self.reading(head, names, values, exposition.families, keyframe, out);
        let stamped: Vec<(u32, i64)> = exposition
            .samples
            .iter()
            .enumerate()
            .filter_map(|(position, s)| Some((position as u32, s.stamp_ms?)))
            .collect();
        // The quick path reads values only: not for lines that carry more, or are not understood.
        let plain = stamped.is_empty() && exposition.refused == 0;
        self.skeleton = plain.then(|| Skeleton::of(body, &exposition.samples)).flatten();
        if !stamped.is_empty() {
            scrape.stamp_at = Some(gaps(stamped.iter().map(|s| s.0)));
            scrape.stamp_ms = Some(stamped.iter().map(|s| s.1).collect());
        }
        let changed = scrape.v.0.len();
        let problems = exposition.problems;
        (Outcome { samples, changed, refused: exposition.refused, problems }, scrape)
    }

    /// One reading from its names and values, whatever they came from.
    fn reading(
        &mut self,
        head: &ReadingHead,
        names: Vec<Text>,
        values: Vec<f64>,
        families: BTreeMap<String, Family>,
        keyframe: bool,
        out: &mut Vec<Record>,
    ) -> Scrape {
        let known = self.names.len();
        let shape: Vec<u32> = names.into_iter().map(|name| self.id(name)).collect();
        let news: BTreeMap<String, Family> = families
            .into_iter()
            .filter(|(name, family)| self.meta.get(name) != Some(family))
            .collect();
        self.meta.extend(news.clone());
        if !keyframe && (self.names.len() > known || !news.is_empty()) {
            let fresh = self.names.get(known..).unwrap_or_default().to_vec();
            out.push(self.series(head.t, known as u32, fresh, news));
        }
        let same_shape = self.shape_id.is_some() && shape == self.shape;
        if !same_shape {
            let next = self.shapes.len() as u32;
            let id = *self.shapes.entry(shape.clone()).or_insert(next);
            self.shape_id = Some(id);
            self.shape = shape;
            if !keyframe && self.declared.insert(id) {
                out.push(self.shape_record(head.t));
            }
        }
        let changes: Vec<(u32, f64)> = if same_shape {
            let pairs = self.values.iter().zip(&values).enumerate();
            pairs
                .filter(|(_, (old, new))| old.to_bits() != new.to_bits())
                .map(|(position, (_, new))| (position as u32, *new))
                .collect()
        } else {
            Vec::new()
        };
        self.values = values;
        if keyframe {
            self.restate(head.t, out);
        }
        if keyframe || !same_shape { self.full(head) } else { self.delta(head, &changes) }
    }

    fn id(&mut self, name: Text) -> u32 {
        let next = self.names.len() as u32;
        if let Some(id) = self.ids.get(&name) {
            return *id;
        }
        self.names.push(name.clone());
        self.ids.insert(name, next);
        next
    }

    fn series(
        &self,
        t: u64,
        first: u32,
        names: Vec<Text>,
        meta: BTreeMap<String, Family>,
    ) -> Record {
        let meta = (!meta.is_empty()).then_some(meta);
        Series { t, src: self.src, first, names, meta }.into()
    }

    fn shape_record(&self, t: u64) -> Record {
        let mut last = 0;
        let ids = self
            .shape
            .iter()
            .map(|id| {
                let gap = i64::from(*id) - last;
                last = i64::from(*id);
                gap
            })
            .collect();
        Shape { t, src: self.src, id: self.shape_id.unwrap_or(0), ids }.into()
    }

    /// The dictionary and the shape in force, for a reader that begins here.
    fn restate(&mut self, t: u64, out: &mut Vec<Record>) {
        out.push(self.series(t, 0, self.names.clone(), self.meta.clone()));
        out.push(self.shape_record(t));
        self.declared.clear();
        self.declared.extend(self.shape_id);
    }

    fn full(&mut self, head: &ReadingHead) -> Scrape {
        // A reader may begin at any full reading: it gets the peer again.
        self.peer = None;
        let mut scrape = self.delta(head, &[]);
        scrape.full = Some(true);
        scrape.v = Values(self.values.clone());
        scrape.at = None;
        scrape
    }

    fn delta(&mut self, head: &ReadingHead, changes: &[(u32, f64)]) -> Scrape {
        let peer = if head.peer == self.peer { None } else { head.peer.clone() };
        self.peer.clone_from(&head.peer);
        Scrape {
            t: head.t,
            src: self.src,
            dur_ns: head.dur_ns,
            shape: self.shape_id.unwrap_or(0),
            full: None,
            at: (!changes.is_empty()).then(|| gaps(changes.iter().map(|c| c.0))),
            v: Values(changes.iter().map(|c| c.1).collect()),
            status: head.status,
            bytes: head.bytes,
            peer,
            date_s: head.date_s,
            stamp_at: None,
            stamp_ms: None,
        }
    }

    fn text(&mut self, t: u64, why: &str, body: &[u8], out: &mut Vec<Record>) {
        let parts = body.chunks(PART_BYTES).count().max(1);
        for part in 0..parts {
            let from = part * PART_BYTES;
            let to = body.len().min(from + PART_BYTES);
            out.push(
                TextBody {
                    t,
                    src: self.src,
                    id: self.texts,
                    part: part as u32,
                    last: part + 1 == parts,
                    why: why.to_owned(),
                    body: Bytes::from(body.get(from..to).unwrap_or_default().to_vec()),
                }
                .into(),
            );
        }
        self.texts += 1;
    }
}

impl Skeleton {
    fn of(body: &[u8], samples: &[prom::Sample<'_>]) -> Option<Self> {
        let base = body.as_ptr() as usize;
        let at = samples
            .iter()
            .map(|s| {
                let from = s.value.as_ptr() as usize - base;
                Some((u32::try_from(from).ok()?, u32::try_from(from + s.value.len()).ok()?))
            })
            .collect::<Option<Vec<_>>>()?;
        Some(Self { body: body.to_vec(), at })
    }
}

/// The first number as it is, then differences.
fn gaps(positions: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut last = 0;
    positions
        .map(|position| {
            let gap = position - last;
            last = position;
            gap
        })
        .collect()
}

/// The positions behind gap-coded numbers, each below `bound`.
fn positions(gaps: &[u32], bound: usize) -> Option<Vec<usize>> {
    let mut at = 0_usize;
    gaps.iter()
        .map(|gap| {
            at = at.checked_add(*gap as usize)?;
            (at < bound).then_some(at)
        })
        .collect()
}

/// One decoded reading. Position `i` of `values` is series `ids[i]` of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading<'a> {
    /// The source.
    pub src: u32,
    /// When the request was sent, ns since the recording began.
    pub t: u64,
    /// How long it took, in ns; the values' time is `t + dur_ns / 2`.
    pub dur_ns: u64,
    /// Id of the shape.
    pub shape: u32,
    /// The series, in order of exposition.
    pub ids: &'a [u32],
    /// Their values.
    pub values: &'a [f64],
    /// Positions whose value was written in this record; `None`: all of them.
    pub changed: Option<Vec<usize>>,
    /// HTTP status.
    pub status: Option<u16>,
    /// Bytes of the body as received.
    pub bytes: Option<u64>,
    /// Address that answered.
    pub peer: Option<&'a str>,
    /// The answer's `Date`, Unix seconds.
    pub date_s: Option<u64>,
}

/// Why a record of samples was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Skipped {
    /// It builds on a reading that was lost.
    #[error("it builds on readings that were lost")]
    Lost,
    /// It names a series, shape or position that was never declared.
    #[error("it names a series or shape that was never declared")]
    Dangling,
    /// More series or sources than a reader accepts.
    #[error("it declares more series or sources than allowed")]
    Limit,
}

/// What one record meant to the decoder.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded<'a> {
    /// A reading.
    Reading(Reading<'a>),
    /// A declaration, or a record that is no sample.
    Nothing,
    /// A record that could not be used.
    Skipped(Skipped),
}

/// Rebuilds readings from the records of all sources.
#[derive(Debug, Default)]
pub struct Decoder {
    sources: BTreeMap<u32, State>,
    limits: Limits,
}

#[derive(Debug, Default)]
struct State {
    names: Vec<Text>,
    meta: BTreeMap<String, Family>,
    shapes: BTreeMap<u32, Vec<u32>>,
    shape: u32,
    values: Vec<f64>,
    peer: Option<String>,
    /// The values are those of the reading before.
    valid: bool,
}

impl Decoder {
    /// A decoder that keeps `limits`.
    pub fn new(limits: Limits) -> Self {
        Self { sources: BTreeMap::new(), limits }
    }

    /// Takes the next record, in file order.
    pub fn push(&mut self, record: &Record) -> Decoded<'_> {
        match record {
            Record::Series(series) => {
                self.declare(series.src, |state, limits| state.series(series, limits))
            }
            Record::Shape(shape) => self.declare(shape.src, |state, _| state.declare_shape(shape)),
            Record::Scrape(scrape) => match self.sources.get_mut(&scrape.src) {
                Some(state) => state.reading(scrape),
                None => Decoded::Skipped(Skipped::Dangling),
            },
            _ => Decoded::Nothing,
        }
    }

    fn declare(
        &mut self,
        src: u32,
        act: impl FnOnce(&mut State, &Limits) -> Result<(), Skipped>,
    ) -> Decoded<'_> {
        if self.sources.len() as u64 >= self.limits.sources && !self.sources.contains_key(&src) {
            return Decoded::Skipped(Skipped::Limit);
        }
        match act(self.sources.entry(src).or_default(), &self.limits) {
            Ok(()) => Decoded::Nothing,
            Err(skipped) => Decoded::Skipped(skipped),
        }
    }

    /// Records were lost: no change can be applied before the next full reading.
    pub fn lost(&mut self) {
        for state in self.sources.values_mut() {
            state.valid = false;
        }
    }

    /// The series of `src` in order of their ids.
    pub fn names(&self, src: u32) -> &[Text] {
        self.sources.get(&src).map_or(&[], |state| &state.names)
    }

    /// Type, help and unit of the metric families of `src`.
    pub fn families(&self, src: u32) -> Option<&BTreeMap<String, Family>> {
        self.sources.get(&src).map(|state| &state.meta)
    }
}

impl State {
    fn series(&mut self, series: &Series, limits: &Limits) -> Result<(), Skipped> {
        let first = series.first as usize;
        if first > self.names.len() {
            return Err(Skipped::Lost);
        }
        if (first + series.names.len()) as u64 > limits.series {
            return Err(Skipped::Limit);
        }
        let known = self.names.len() - first;
        self.names.extend(series.names.iter().skip(known).cloned());
        if let Some(meta) = &series.meta {
            self.meta.extend(meta.clone());
        }
        Ok(())
    }

    fn declare_shape(&mut self, shape: &Shape) -> Result<(), Skipped> {
        let mut at = 0_i64;
        let ids: Option<Vec<u32>> = shape
            .ids
            .iter()
            .map(|gap| {
                at = at.checked_add(*gap)?;
                u32::try_from(at).ok().filter(|id| (*id as usize) < self.names.len())
            })
            .collect();
        self.shapes.insert(shape.id, ids.ok_or(Skipped::Dangling)?);
        Ok(())
    }

    fn reading(&mut self, scrape: &Scrape) -> Decoded<'_> {
        match self.apply(scrape) {
            Err(skipped) => {
                self.valid = false;
                Decoded::Skipped(skipped)
            }
            Ok(changed) => Decoded::Reading(Reading {
                src: scrape.src,
                t: scrape.t,
                dur_ns: scrape.dur_ns,
                shape: self.shape,
                ids: self.shapes.get(&self.shape).map_or(&[], Vec::as_slice),
                values: &self.values,
                changed,
                status: scrape.status,
                bytes: scrape.bytes,
                peer: self.peer.as_deref(),
                date_s: scrape.date_s,
            }),
        }
    }

    fn apply(&mut self, scrape: &Scrape) -> Result<Option<Vec<usize>>, Skipped> {
        let shape = self.shapes.get(&scrape.shape).ok_or(Skipped::Dangling)?;
        let changed = if scrape.full == Some(true) {
            if scrape.v.0.len() != shape.len() {
                return Err(Skipped::Dangling);
            }
            self.values.clone_from(&scrape.v.0);
            self.shape = scrape.shape;
            self.valid = true;
            self.peer = None;
            None
        } else {
            if !self.valid {
                return Err(Skipped::Lost);
            }
            let at = scrape.at.as_deref().unwrap_or_default();
            let at = positions(at, self.values.len()).ok_or(Skipped::Dangling)?;
            if scrape.shape != self.shape || at.len() != scrape.v.0.len() {
                return Err(Skipped::Dangling);
            }
            for (position, value) in at.iter().zip(&scrape.v.0) {
                if let Some(slot) = self.values.get_mut(*position) {
                    *slot = *value;
                }
            }
            Some(at)
        };
        if scrape.peer.is_some() {
            self.peer.clone_from(&scrape.peer);
        }
        Ok(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head(t: u64) -> ReadingHead {
        ReadingHead {
            t,
            dur_ns: 10,
            status: Some(200),
            peer: Some("127.0.0.1:1".into()),
            ..ReadingHead::default()
        }
    }

    /// The reading an exposition decodes to: series and bits, in order.
    fn decoded(decoder: &mut Decoder, records: &[Record]) -> Option<Vec<(String, u64)>> {
        let mut last = None;
        for record in records {
            if let Decoded::Reading(reading) = decoder.push(record) {
                let pairs = reading.ids.iter().copied().zip(reading.values.to_vec());
                last = Some((reading.src, pairs.collect::<Vec<_>>()));
            }
        }
        let (src, pairs) = last?;
        let names = decoder.names(src);
        let named =
            pairs.into_iter().map(|(id, v)| (names[id as usize].lossy().into_owned(), v.to_bits()));
        Some(named.collect())
    }

    fn parsed(body: &str) -> Vec<(String, u64)> {
        prom::parse(body.as_bytes())
            .samples
            .iter()
            .map(|s| (String::from_utf8_lossy(s.series).into_owned(), s.number.to_bits()))
            .collect()
    }

    #[test]
    fn a_run_of_expositions_decodes_to_itself() {
        let bodies = [
            "# TYPE a counter\na 1\nb{c=\"d\"} NaN\n",
            "# TYPE a counter\na 2\nb{c=\"d\"} NaN\n",
            "# TYPE a counter\na 2.0\nb{c=\"d\"} -0\n",
            "# TYPE a counter\na 2\nnew 0.5\nb{c=\"d\"} 7\n",
            "# TYPE a counter\na 3\nb{c=\"d\"} 7\n",
            "b{c=\"d\"} 7\na 3\n",
            "a 3\na 4\n",
            "",
            "# TYPE a counter\na 1\nb{c=\"d\"} NaN\n",
        ];
        let (mut encoder, mut decoder) = (Encoder::new(3), Decoder::default());
        for (i, body) in bodies.iter().enumerate() {
            let mut out = Vec::new();
            encoder.exposition(&head(i as u64), body.as_bytes(), i % 4 == 0, None, &mut out);
            assert_eq!(decoded(&mut decoder, &out).unwrap(), parsed(body), "{body}");
        }
        assert_eq!(decoder.families(3).unwrap()["a"].ty.as_deref(), Some("counter"));
    }

    #[test]
    fn unchanged_values_are_not_written() {
        let mut encoder = Encoder::new(0);
        let mut out = Vec::new();
        encoder.exposition(&head(0), b"a 1\nb NaN\n", true, None, &mut out);
        out.clear();
        let outcome = encoder.exposition(&head(1), b"a 1\nb NaN\n", false, None, &mut out);
        assert_eq!((outcome.samples, outcome.changed, out.len()), (2, 0, 1));
        let Record::Scrape(scrape) = &out[0] else { panic!() };
        assert_eq!((scrape.v.0.len(), &scrape.at, &scrape.peer), (0, &None, &None));
    }

    #[test]
    fn nothing_is_believed_after_a_loss_until_the_next_full_reading() {
        let mut encoder = Encoder::new(0);
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        encoder.exposition(&head(0), b"a 1\nb 1\n", true, None, &mut out);
        decoded(&mut decoder, &out).unwrap();
        let mut lost = Vec::new();
        encoder.exposition(&head(1), b"a 2\nb 1\n", false, None, &mut lost);
        decoder.lost();
        let mut out = Vec::new();
        encoder.exposition(&head(2), b"a 2\nb 2\n", false, None, &mut out);
        assert!(matches!(decoder.push(&out[0]), Decoded::Skipped(Skipped::Lost)));
        let mut out = Vec::new();
        encoder.exposition(&head(3), b"a 2\nb 2\n", true, None, &mut out);
        assert_eq!(decoded(&mut decoder, &out).unwrap(), parsed("a 2\nb 2\n"));
    }

    #[test]
    fn a_reader_may_begin_at_a_keyframe() {
        let mut encoder = Encoder::new(0);
        let mut out = Vec::new();
        encoder.exposition(&head(0), b"a 1\n", true, None, &mut out);
        encoder.exposition(&head(1), b"a 1\nb 2\n", false, None, &mut out);
        out.clear();
        encoder.exposition(&head(2), b"a 5\nb 2\n", true, None, &mut out);
        let mut decoder = Decoder::default();
        assert_eq!(decoded(&mut decoder, &out).unwrap(), parsed("a 5\nb 2\n"));
        out.clear();
        encoder.exposition(&head(3), b"a 6\n", false, None, &mut out);
        let back = decoded(&mut decoder, &out);
        assert_eq!(
            back.unwrap(),
            parsed("a 6\n"),
            "a shape from before the keyframe is told again"
        );
    }

    #[test]
    fn dangling_references_are_skipped() {
        let scrape = |shape, at: &[u32], v: &[f64], full| {
            Record::from(Scrape {
                t: 0,
                src: 0,
                dur_ns: 0,
                shape,
                full,
                at: Some(at.to_vec()),
                v: Values(v.to_vec()),
                status: None,
                bytes: None,
                peer: None,
                date_s: None,
                stamp_at: None,
                stamp_ms: None,
            })
        };
        let mut decoder = Decoder::default();
        let dangling = Decoded::Skipped(Skipped::Dangling);
        assert_eq!(decoder.push(&scrape(0, &[], &[], None)), dangling);
        let names = vec![Text::from("a")];
        decoder.push(&Series { t: 0, src: 0, first: 0, names, meta: None }.into());
        let shape = |id, ids: &[i64]| Record::from(Shape { t: 0, src: 0, id, ids: ids.to_vec() });
        assert_eq!(decoder.push(&shape(1, &[4])), dangling);
        assert_eq!(decoder.push(&shape(1, &[-1])), dangling);
        assert_eq!(decoder.push(&shape(1, &[i64::MAX, i64::MAX])), dangling);
        assert_eq!(decoder.push(&shape(0, &[0])), Decoded::Nothing);
        assert_eq!(decoder.push(&scrape(0, &[], &[1.0, 2.0], Some(true))), dangling);
        assert!(matches!(decoder.push(&scrape(0, &[], &[1.0], Some(true))), Decoded::Reading(_)));
        assert_eq!(decoder.push(&scrape(0, &[1], &[1.0], None)), dangling);
    }

    #[test]
    fn a_line_that_is_not_understood_keeps_the_text() {
        let mut encoder = Encoder::new(0);
        for i in 0..25 {
            let mut out = Vec::new();
            let outcome = encoder.exposition(&head(i), b"a 1\n%%\n", false, None, &mut out);
            assert_eq!(outcome.refused, 1);
            let texts = out.iter().filter(|r| matches!(r, Record::TextBody(_))).count();
            assert_eq!(texts, usize::from(i < u64::from(UNPARSED_TEXTS)));
        }
    }

    #[test]
    fn timestamps_of_lines_are_kept() {
        let mut encoder = Encoder::new(0);
        let mut out = Vec::new();
        encoder.exposition(&head(0), b"a 1\nb 2 77\n", true, None, &mut out);
        let Some(Record::Scrape(scrape)) = out.last() else { panic!() };
        assert_eq!((&scrape.stamp_at, &scrape.stamp_ms), (&Some(vec![1]), &Some(vec![77])));
    }

    #[test]
    fn plain_values_are_series_too() {
        let (mut encoder, mut decoder) = (Encoder::new(1), Decoder::default());
        let mut out = Vec::new();
        encoder.values(0, 0, &[("x", 1.0), ("y", 2.0)], true, &mut out);
        encoder.values(1, 0, &[("x", 1.0), ("y", 3.5)], false, &mut out);
        let Some(Record::Scrape(last)) = out.last() else { panic!() };
        assert_eq!(last.v.0, [3.5]);
        let expected = [("x".to_owned(), 1_f64.to_bits()), ("y".to_owned(), 3.5_f64.to_bits())];
        assert_eq!(decoded(&mut decoder, &out).unwrap(), expected);
    }

    proptest! {
        /// Any sequence of small expositions, with series that vanish, return, change order and
        /// repeat, decodes to what an independent parse of each says.
        #[test]
        fn encode_then_decode_is_identity(
            bodies in prop::collection::vec(
                prop::collection::vec(("[abc]", prop_oneof![
                    Just("NaN"), Just("0"), Just("-0"), Just("1"), Just("1.0"), Just("0.1"),
                    Just("+Inf"), Just("9007199254740993"), Just("bad"), Just("1 5"),
                ]), 0..6),
                1..12,
            ),
            keyframes: u16,
        ) {
            let (mut encoder, mut decoder) = (Encoder::new(0), Decoder::default());
            for (i, lines) in bodies.iter().enumerate() {
                let body = lines.iter().fold(String::new(), |b, (n, v)| b + n + " " + v + "\n");
                let mut out = Vec::new();
                let keyframe = keyframes >> i & 1 == 1;
                encoder.exposition(&head(i as u64), body.as_bytes(), keyframe, None, &mut out);
                let mut wire = Vec::new();
                for record in &out {
                    record.encode(&mut wire).unwrap();
                }
                prop_assert_eq!(decoded(&mut decoder, &out).unwrap(), parsed(&body));
            }
        }
    }
}
