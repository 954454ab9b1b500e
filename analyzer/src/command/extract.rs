//! `extract`: lists what a bundle holds as files, or writes it out.

use crate::cli::Extract;
use crate::error::InputError;
use crate::load::open_bundle;
use crate::number::count;
use crate::visible::visible_lines;
use inferlint_schema::container::Item;
use inferlint_schema::record::{Decoded, Record};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

pub(super) fn run(arguments: &Extract) -> Result<u8, InputError> {
    let mut parts = Parts::default();
    open_bundle(&arguments.bundle)?.read(&mut |item| {
        if let Item::Record { decoded: Decoded::Known(record), .. } = item {
            parts.record(*record);
        }
    })?;
    let wanted = |name: &String| {
        arguments.names.is_empty() || arguments.names.iter().any(|wanted| name.contains(wanted))
    };
    let chosen: BTreeMap<String, Vec<u8>> =
        parts.files().into_iter().filter(|(name, _)| wanted(name)).collect();
    if chosen.is_empty() && !arguments.names.is_empty() {
        return Err(InputError::unusable(
            &arguments.bundle,
            format!("holds nothing named {}", arguments.names.join(" or ")),
            "leave the names out to list everything",
        ));
    }
    let mut out = String::new();
    for (name, body) in &chosen {
        out += &format!("{:>12}  {name}\n", count(body.len() as f64));
        if let Some(folder) = &arguments.output {
            write(&folder.join(name), body)?;
        }
    }
    super::print(&visible_lines(&out))?;
    Ok(0)
}

/// Writes a new file; names were made safe before.
fn write(path: &Path, body: &[u8]) -> Result<(), InputError> {
    let failed = |error| InputError::Io { path: path.to_owned(), error };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    if path.exists() {
        return Err(InputError::unusable(path, "exists already", "name an empty folder"));
    }
    fs::write(path, body).map_err(failed)
}

/// What is put together from records.
#[derive(Default)]
struct Parts {
    sources: BTreeMap<u32, String>,
    /// Expositions by source and id, with their time.
    texts: BTreeMap<(u32, u32), (u64, Vec<u8>)>,
    logs: BTreeMap<(u32, String), Vec<u8>>,
    files: BTreeMap<u32, (String, Vec<u8>)>,
}

impl Parts {
    fn record(&mut self, record: Record) {
        match record {
            Record::Source(source) => {
                self.sources.insert(source.src, source.name);
            }
            Record::TextBody(text) => {
                let entry = self.texts.entry((text.src, text.id)).or_insert((text.t, Vec::new()));
                entry.1.extend_from_slice(&text.body);
            }
            Record::Log(log) => {
                self.logs.entry((log.src, log.stream)).or_default().extend_from_slice(&log.body);
            }
            Record::File(file) => {
                let name = file.name.lossy().into_owned();
                let entry = self.files.entry(file.id).or_insert((name, Vec::new()));
                entry.1.extend_from_slice(&file.body.unwrap_or_default());
            }
            _ => {}
        }
    }

    /// Name, below a folder of its kind, and bytes of everything.
    fn files(self) -> BTreeMap<String, Vec<u8>> {
        let source = |src: u32| {
            let name = self.sources.get(&src).map_or_else(|| format!("source {src}"), Clone::clone);
            format!("{src}-{}", safe(&name))
        };
        let mut out = BTreeMap::new();
        for ((src, id), (t, body)) in &self.texts {
            let seconds = *t as f64 / 1e9;
            out.insert(format!("metrics/{}.{id}.{seconds:.3}s.prom", source(*src)), body.clone());
        }
        for ((src, stream), body) in &self.logs {
            out.insert(format!("logs/{}.{}.log", source(*src), safe(stream)), body.clone());
        }
        for (id, (name, body)) in &self.files {
            let name = name.rsplit('/').next().unwrap_or(name);
            out.insert(format!("files/{id}-{}", safe(name)), body.clone());
        }
        out
    }
}

/// A name from a bundle as a part of a file name: no separator, no leading dot, no control
/// character, not long.
fn safe(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "._=-".contains(c) { c } else { '_' };
    let name: String = name.chars().take(80).map(keep).collect();
    match name.trim_start_matches('.') {
        "" => "unnamed".into(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_a_bundle_cannot_leave_its_folder() {
        for (name, safe_name) in [
            ("../../etc/passwd", "_.._etc_passwd"),
            ("..", "unnamed"),
            ("a b\n\u{202e}c", "a_b__c"),
            ("bench.json", "bench.json"),
        ] {
            assert_eq!(safe(name), safe_name);
        }
    }
}
