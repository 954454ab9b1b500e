//! What a bundle's file says of itself: who wrote it, when, and what is missing.

use inferlint_schema::container::{Item, Salvage};
use inferlint_schema::record::{Decoded, Gap, Host, Nic, Record, Session, Versions};
use std::collections::BTreeMap;

/// Gaps that are kept; further ones are counted.
const GAPS: usize = 1_000;
/// Interfaces that are kept: the recorder writes at most 128.
const NICS: usize = 128;

/// The account of one bundle.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// The record that began the recording. `None`: it was lost.
    pub session: Option<Session>,
    /// The machine when the recording began. `None`: not recorded.
    pub host: Option<Host>,
    /// What of it can change, as it was last. `None`: not recorded.
    pub host_at_end: Option<Host>,
    /// Its network.
    pub nics: Vec<Nic>,
    /// What the server ran on. `None`: not recorded.
    pub server: Option<Versions>,
    /// Per kind, how many records and how many bytes unpacked.
    pub kinds: BTreeMap<String, (u64, u64)>,
    /// What was not recorded.
    pub gaps: Vec<Gap>,
    /// Gaps beyond those listed.
    pub more_gaps: u64,
    /// What became of the file itself.
    pub file: Salvage,
}

impl Account {
    /// Counts an item of the file.
    pub fn item(&mut self, item: &Item<'_>) {
        let Item::Record { decoded, raw, .. } = item else { return };
        let (number, bytes) = self.kinds.entry(decoded.kind().to_owned()).or_default();
        *number += 1;
        *bytes += raw.len() as u64;
        let Decoded::Known(record) = decoded else { return };
        match &**record {
            Record::Session(session) if session.segment == 0 => {
                self.session = Some(session.clone());
            }
            Record::Host(host) if self.host.is_none() => self.host = Some(host.clone()),
            Record::Host(host) => self.host_at_end = Some(host.clone()),
            Record::Nic(nic) if self.nics.len() < NICS => self.nics.push(nic.clone()),
            Record::Versions(versions) if versions.of == "server" => {
                self.server = Some(versions.clone());
            }
            Record::Gap(gap) if self.gaps.len() < GAPS => self.gaps.push(gap.clone()),
            Record::Gap(_) => self.more_gaps += 1,
            _ => {}
        }
    }

    /// Why the recording ended before its time. `None`: it did not, or it was stopped by a signal.
    pub fn broken_off(&self) -> Option<&str> {
        let end = self.file.segments.first()?.end.as_ref().filter(|end| end.how == "failed")?;
        Some(end.error.as_deref().unwrap_or("its end does not say why"))
    }

    /// Values masked before they were written, per rule.
    pub fn masked(&self) -> BTreeMap<&str, u64> {
        let mut masked: BTreeMap<&str, u64> = BTreeMap::new();
        for end in self.file.segments.iter().filter_map(|segment| segment.end.as_ref()) {
            for (rule, count) in &end.redacted {
                *masked.entry(rule).or_default() += count;
            }
        }
        masked
    }
}
