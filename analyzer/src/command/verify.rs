//! `verify`: is the bundle what was written, and do its readings mean what was read?

use crate::cli::Verify;
use crate::error::InputError;
use crate::load::open_bundle;
use crate::number::plural;
use crate::visible::visible_lines;
use inferlint_schema::container::{Item, Salvage, Seal};
use inferlint_schema::delta::{self, Decoder};
use inferlint_schema::prom;
use inferlint_schema::record::{Decoded, Record, Text, TextBody};
use std::collections::BTreeMap;

/// Differences that are listed; further ones are counted.
const LISTED: usize = 10;

pub(super) fn run(arguments: &Verify) -> Result<u8, InputError> {
    let mut texts = Texts::default();
    let salvage = open_bundle(&arguments.bundle)?.read(&mut |item| texts.item(item))?;
    let mut out = String::new();
    for (number, segment) in salvage.segments.iter().enumerate() {
        out += &format!("segment {number}: {}\n", seal(segment.seal, segment.sha256.as_deref()));
    }
    out += &format!(
        "{} in {}, {} lost\n",
        plural(salvage.records as f64, "record"),
        plural(salvage.frames_ok as f64, "frame"),
        plural(salvage.bytes_lost() as f64, "byte")
    );
    let outcome = match (texts.compared, texts.differences) {
        (0, _) => "nothing to compare".into(),
        (_, 0) => "equal".into(),
        (_, differences) => plural(differences as f64, "difference"),
    };
    out += &format!(
        "{} compared with the decoded readings: {outcome}\n",
        plural(texts.compared as f64, "verbatim text")
    );
    for line in &texts.listed {
        out += &format!("  {line}\n");
    }
    let reason = reason(&salvage, &texts);
    out += &match &reason {
        None => "clean: sealed, whole, and every text decodes to its reading\n".to_owned(),
        Some(reason) => format!("not clean: {reason}\n"),
    };
    super::print(&visible_lines(&out))?;
    Ok(u8::from(reason.is_some()))
}

fn seal(seal: Seal, digest: Option<&str>) -> String {
    let digest = digest.unwrap_or("no digest");
    match seal {
        Seal::Sealed => format!("sealed, SHA-256 {digest} fits"),
        Seal::Broken => format!("the seal does not fit its bytes (SHA-256 {digest})"),
        Seal::Missing => "not sealed".into(),
    }
}

fn reason(salvage: &Salvage, texts: &Texts) -> Option<String> {
    salvage.reason().or_else(|| match (texts.differences, texts.skipped, texts.orphans) {
        (0, 0, 0) => None,
        (0, 0, orphans) => Some(format!("{} no reading", plural(orphans as f64, "text has"))),
        (0, skipped, _) => Some(format!("{} cannot be decoded", plural(skipped as f64, "reading"))),
        (differences, ..) => Some(format!(
            "{} between a text and its reading",
            plural(differences as f64, "difference")
        )),
    })
}

/// Compares each verbatim text with the reading that was decoded for the same moment.
#[derive(Default)]
struct Texts {
    decoder: Decoder,
    names: BTreeMap<u32, Vec<Text>>,
    /// Per source the last reading: its time, and value by position with the series' id.
    last: BTreeMap<u32, (u64, Vec<(u32, f64)>)>,
    parts: BTreeMap<(u32, u32), Vec<u8>>,
    compared: usize,
    differences: usize,
    listed: Vec<String>,
    /// Readings that build on what was lost.
    skipped: usize,
    /// Texts without a reading of their moment.
    orphans: usize,
}

impl Texts {
    fn item(&mut self, item: Item<'_>) {
        match item {
            Item::Segment(_) => {}
            Item::Loss(_) => self.decoder.lost(),
            Item::Record { decoded, .. } => {
                if let Decoded::Known(record) = decoded {
                    self.record(*record);
                }
            }
        }
    }

    fn record(&mut self, record: Record) {
        if let Record::Series(series) = &record {
            let names = self.names.entry(series.src).or_default();
            let known = names.len().saturating_sub(series.first as usize);
            names.extend(series.names.iter().skip(known).cloned());
        }
        match self.decoder.push(&record) {
            delta::Decoded::Nothing => {}
            delta::Decoded::Skipped(_) => self.skipped += 1,
            delta::Decoded::Reading(reading) => {
                let values = reading.ids.iter().copied().zip(reading.values.iter().copied());
                self.last.insert(reading.src, (reading.t, values.collect()));
            }
        }
        if let Record::TextBody(text) = record {
            self.text(&text);
        }
    }

    fn text(&mut self, text: &TextBody) {
        let body = self.parts.entry((text.src, text.id)).or_default();
        body.extend_from_slice(&text.body);
        if !text.last {
            return;
        }
        let body = self.parts.remove(&(text.src, text.id)).unwrap_or_default();
        let Some((_, values)) = self.last.get(&text.src).filter(|(t, _)| *t == text.t) else {
            // A snapshot is kept as text alone.
            self.orphans += usize::from(text.why != "alone");
            return;
        };
        self.compared += 1;
        let names = self.names.get(&text.src).map_or(&[][..], Vec::as_slice);
        let parsed = prom::parse(&body);
        let at = format!("source {}, {:.3} s", text.src, text.t as f64 / 1e9);
        if parsed.samples.len() != values.len() {
            let counts = format!("{} samples, {} decoded", parsed.samples.len(), values.len());
            return self.differ(format!("{at}: the text has {counts}"));
        }
        let differences: Vec<String> = parsed
            .samples
            .iter()
            .zip(values)
            .filter_map(|(sample, (id, value))| {
                let name = names.get(*id as usize).map_or(&b""[..], Text::as_bytes);
                let same = name == sample.series && value.to_bits() == sample.number.to_bits();
                let series = String::from_utf8_lossy(sample.series);
                (!same)
                    .then(|| format!("{at}: {series} is {} and decodes to {value}", sample.number))
            })
            .collect();
        for difference in differences {
            self.differ(difference);
        }
    }

    fn differ(&mut self, what: String) {
        self.differences += 1;
        if self.listed.len() < LISTED {
            self.listed.push(what);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use inferlint_schema::container::{Head, Writer};
    use inferlint_schema::delta::{Encoder, ReadingHead};
    use inferlint_schema::record::{End, Session, Source};
    use inferlint_schema::redact::{Masker, Seeds};

    /// A small bundle of `readings` expositions; `spoil` may change its records.
    pub(in crate::command) fn bundle(readings: u64, spoil: impl Fn(&mut Record)) -> Vec<u8> {
        let head = Head::new("test 1", 7);
        let mut writer = Writer::create(Vec::new(), &head, Masker::new(Seeds::default())).unwrap();
        let mut records: Vec<Record> = vec![session().into(), source().into()];
        let mut encoder = Encoder::new(0);
        for i in 0..readings {
            let body = format!("vllm:a_total {i}\nvllm:b{{engine=\"0\"}} {}\n", i / 2);
            let head = ReadingHead { t: i * 400_000_000, dur_ns: 1_000, ..ReadingHead::default() };
            let edge = i == 0 || i + 1 == readings;
            let keep = edge.then_some("start");
            encoder.exposition(&head, body.as_bytes(), edge, keep, &mut records);
        }
        for mut record in records {
            spoil(&mut record);
            writer.push(&record).unwrap();
        }
        writer.finish(end()).unwrap()
    }

    fn session() -> Session {
        Session {
            t: 0,
            format: 1,
            minor: 0,
            writer: "test 1".into(),
            build: None,
            bundle_id: "0".repeat(32),
            run_id: "run".into(),
            segment: 0,
            command: "watch".into(),
            argv: Vec::new(),
            wall_ns: 9,
            mono_ns: 8,
            boot_id: None,
            tz: None,
            tz_offset_s: None,
            intervals_ns: None,
            privacy: None,
            abilities: None,
            why: None,
        }
    }

    fn source() -> Source {
        Source {
            t: 0,
            src: 0,
            name: "server".into(),
            role: "engine".into(),
            kind: "exposition".into(),
            group: None,
            address: None,
            engine: Some("vllm".into()),
            engine_from: None,
            provider: None,
            why: None,
        }
    }

    fn end() -> End {
        End {
            t: 0,
            how: "finished".into(),
            counts: BTreeMap::new(),
            gaps: 0,
            dropped: 0,
            redacted: BTreeMap::new(),
            wall_ns: 0,
            mono_ns: 0,
            cpu_ns: None,
            max_rss_bytes: None,
            scrapes: None,
            scrape_dur_ns: None,
            error: None,
        }
    }

    /// Status of `verify` on these bytes.
    pub(in crate::command) fn status(bytes: &[u8]) -> u8 {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("a.ilb");
        std::fs::write(&bundle, bytes).unwrap();
        run(&Verify { bundle }).unwrap()
    }

    #[test]
    fn a_whole_bundle_is_clean_and_every_flipped_bit_is_seen() {
        let whole = bundle(6, |_| {});
        assert_eq!(status(&whole), 0);
        for at in (64..whole.len()).step_by(97) {
            let mut flipped = whole.clone();
            flipped[at] ^= 4;
            assert_eq!(status(&flipped), 1, "byte {at}");
        }
        assert_eq!(status(&whole[..whole.len() - 3]), 1);
    }

    #[test]
    fn a_text_that_does_not_decode_to_its_reading_is_seen() {
        let wrong = bundle(6, |record| {
            if let Record::TextBody(text) = record {
                text.body[13] = b'9';
            }
        });
        assert_eq!(status(&wrong), 1);
    }
}
