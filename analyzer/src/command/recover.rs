//! `recover`: a damaged or unsealed bundle becomes a sealed one that holds what can be had.

use super::destination::Destination;
use crate::cli::Recover;
use crate::error::InputError;
use crate::load::open_bundle;
use crate::number::plural;
use crate::visible::visible_lines;
use inferlint_schema::container::{Head, Item, Salvage, Writer};
use inferlint_schema::delta::{self, Decoder};
use inferlint_schema::error::WriteError;
use inferlint_schema::record::{Decoded, End, Gap, Record, Session};
use inferlint_schema::redact::Masker;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn run(arguments: &Recover) -> Result<u8, InputError> {
    let output = &arguments.output;
    // Opened before the output: the input may be no bundle at all.
    let input = open_bundle(&arguments.bundle)?;
    let read = std::slice::from_ref(&arguments.bundle);
    let place = Destination::new(output, arguments.force, read)?;
    let mut copy = Copy::new(place.create()?).map_err(|error| place.not_written(&error))?;
    let salvage = input.read(&mut |item| copy.item(item))?;
    let (kept, left_out) = (copy.kept, copy.left_out);
    copy.finish(&salvage).map_err(|error| place.not_written(&error))?;
    place.finish()?;
    let mut text = format!("{}: {} kept", output.display(), plural(kept as f64, "record"));
    if left_out > 0 {
        text += &format!(
            ", {} left out because they build on what was lost",
            plural(left_out as f64, "reading")
        );
    }
    text += &match salvage.reason() {
        Some(reason) => format!("\nthe original is not whole: {reason}\n"),
        None => "\nthe original is whole\n".into(),
    };
    super::print(&visible_lines(&text))?;
    Ok(0)
}

/// A new bundle that takes records byte for byte.
struct Copy {
    writer: Writer<BufWriter<File>>,
    decoder: Decoder,
    session: Option<Session>,
    last: u64,
    kept: u64,
    left_out: u64,
    error: Option<WriteError>,
}

impl Copy {
    fn new(file: File) -> Result<Self, WriteError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let writer = format!("inferlint-analyze {}", env!("CARGO_PKG_VERSION"));
        let head = Head::new(&writer, now.map_or(0, |since| since.as_nanos() as u64));
        let writer = Writer::create(BufWriter::new(file), &head, Masker::off())?;
        Ok(Self {
            writer,
            decoder: Decoder::default(),
            session: None,
            last: 0,
            kept: 0,
            left_out: 0,
            error: None,
        })
    }

    fn item(&mut self, item: Item<'_>) {
        match item {
            Item::Segment(_) => {}
            Item::Loss(loss) => {
                self.decoder.lost();
                let why = format!(
                    "{} of the file lost: {}",
                    plural(loss.bytes as f64, "byte"),
                    loss.reason
                );
                self.push(&gap(self.last, why).into());
            }
            Item::Record { decoded, raw, .. } => self.copy(&decoded, raw),
        }
    }

    fn copy(&mut self, decoded: &Decoded, raw: &[u8]) {
        let t = match decoded {
            // An older end does not describe the new bundle, which gets one of its own.
            Decoded::Known(record) if matches!(**record, Record::End(_)) => return,
            Decoded::Known(record) => {
                if let Record::Session(session) = &**record {
                    self.session.get_or_insert_with(|| session.clone());
                }
                if matches!(self.decoder.push(record), delta::Decoded::Skipped(_)) {
                    self.left_out += 1;
                    return;
                }
                record.t()
            }
            Decoded::Unknown { .. } => self.last,
        };
        // A keyframe stays the beginning of a frame, where a reader can resume.
        if begins_keyframe(decoded) {
            let done = self.writer.flush();
            self.error = self.error.take().or(done.err());
        }
        self.last = self.last.max(t);
        self.kept += 1;
        let done = self.writer.push_raw(decoded.kind(), t, raw);
        self.error = self.error.take().or(done.err());
    }

    fn push(&mut self, record: &Record) {
        let done = self.writer.push(record);
        self.error = self.error.take().or(done.err());
    }

    fn finish(mut self, salvage: &Salvage) -> Result<(), WriteError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let (wall, mono) = self.session.as_ref().map_or((0, 0), |s| (s.wall_ns, s.mono_ns));
        let mut redacted: BTreeMap<String, u64> = BTreeMap::new();
        for end in salvage.segments.iter().filter_map(|segment| segment.end.as_ref()) {
            for (rule, count) in &end.redacted {
                *redacted.entry(rule.clone()).or_default() += count;
            }
        }
        let end = End {
            t: self.last,
            how: "recovered".into(),
            counts: BTreeMap::new(),
            gaps: 0,
            dropped: 0,
            redacted,
            wall_ns: wall.saturating_add(self.last),
            mono_ns: mono.saturating_add(self.last),
            cpu_ns: None,
            max_rss_bytes: None,
            scrapes: None,
            scrape_dur_ns: None,
            error: salvage.reason(),
        };
        self.writer.finish(end)?.flush()?;
        Ok(())
    }
}

/// True for the first record of a keyframe: it restates the dictionary from its beginning.
fn begins_keyframe(decoded: &Decoded) -> bool {
    let Decoded::Known(record) = decoded else { return false };
    matches!(&**record, Record::Series(series) if series.first == 0)
}

fn gap(t: u64, why: String) -> Gap {
    Gap { t, src: None, what: "unreadable".into(), from_t: t, to_t: t, count: 1, why }
}

#[cfg(test)]
mod tests {
    use super::super::verify::tests::{bundle, status};
    use super::*;
    use std::fs;

    /// Records in the recovered copy of `bytes`, which must verify clean.
    fn recovered(bytes: &[u8]) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in.ilb"), folder.path().join("out.ilb"));
        fs::write(&input, bytes).unwrap();
        let arguments = Recover { bundle: input, output: output.clone(), force: false };
        run(&arguments).unwrap();
        let copy = fs::read(&output).unwrap();
        assert_eq!(status(&copy), 0);
        let mut records = 0;
        open_bundle(&output)
            .unwrap()
            .read(&mut |item| records += u64::from(matches!(item, Item::Record { .. })))
            .unwrap();
        assert!(run(&arguments).is_err(), "an output that exists is not replaced unasked");
        records
    }

    #[test]
    fn a_bundle_cut_anywhere_is_recovered_to_a_clean_one() {
        let whole = bundle(6, |_| {});
        let all = recovered(&whole);
        let mut before = 0;
        for cut in (80..whole.len()).step_by(41) {
            let records = recovered(&whole[..cut]);
            assert!(records <= all + 1, "{records} of {all} at {cut}");
            assert!(records + 1 >= before, "fewer records from more bytes at {cut}");
            before = records;
        }
    }

    #[test]
    fn readings_that_build_on_lost_ones_are_left_out() {
        let whole = bundle(30, |_| {});
        let mut damaged = whole.clone();
        let middle = damaged.len() / 3;
        damaged[middle] ^= 1;
        assert!(recovered(&damaged) < recovered(&whole));
    }
}
