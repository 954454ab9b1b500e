//! Which starts may be compared: those of one configuration that became ready.

use crate::boot::facts::BootFacts;
use crate::evidence::{Missing, Run};
use std::collections::BTreeMap;

/// One start, with what its log says.
pub(super) struct Start<'a> {
    pub(super) name: &'a str,
    pub(super) facts: &'a BootFacts,
}

/// The starts of one configuration.
pub(super) struct Starts<'a> {
    pub(super) alike: Vec<Start<'a>>,
    /// Names of the starts that are not compared, each with the reason.
    pub(super) left_out: Vec<String>,
}

impl Starts<'_> {
    /// For the end of a message: what was left out, and what is not known of the rest.
    pub(super) fn left_out_words(&self) -> String {
        let mut words = String::new();
        if self.alike.iter().all(|start| start.facts.arguments.is_none()) {
            words +=
                "; their logs show no arguments, so that they are of one configuration is assumed";
        }
        if !self.left_out.is_empty() {
            words += &format!("; left out: {}", self.left_out.join(", "));
        }
        words
    }
}

/// Values an engine draws or works out anew at each start, and where it listens: not configuration.
/// `max_tokens` and `max_gpu_total_bytes` of TensorRT-LLM's printed cache configuration are what it
/// measured, not what it was given (1.3.0rc29).
const DRAWN: [&str; 12] = [
    "random_seed",
    "seed",
    "host",
    "port",
    "nccl_port",
    "dist_init_addr",
    "master_port",
    "data_parallel_rpc_port",
    "max_tokens",
    "max_gpu_total_bytes",
    "gpu_id",
    "base_gpu_id",
];

/// The largest group of starts with the same configuration that `shows` what is compared.
///
/// # Errors
/// One start, or starts of different configurations: does not apply. Fewer than two that show it:
/// cannot tell.
pub(super) fn alike(runs: &[Run], shows: fn(&BootFacts) -> bool) -> Result<Starts<'_>, Missing> {
    if runs.len() < 2 {
        return Err(Missing::never("needs two starts"));
    }
    let mut left_out = Vec::new();
    let mut groups: BTreeMap<String, Vec<Start<'_>>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        let name = if run.name.is_empty() { "a start" } else { short(&run.name) };
        let facts = run.logs.iter().map(|log| &log.server.facts).find(|facts| shows(facts));
        let ready = run.logs.iter().any(|log| log.server.facts.ready_line.is_some());
        let reason = match facts.filter(|facts| facts.ready_line.is_some()) {
            Some(facts) => {
                groups.entry(configuration(facts)).or_default().push(Start { name, facts });
                continue;
            }
            None if run.logs.is_empty() => "no log",
            None if ready => "no figure",
            None => "never ready",
        };
        left_out.push(format!("{name} #{} ({reason})", number + 1));
    }
    if groups.values().map(Vec::len).sum::<usize>() < 2 {
        return Err(Missing::lack(format!(
            "fewer than two starts to compare; left out: {}",
            left_out.join(", ")
        )));
    }
    let difference = difference(&groups);
    let alike = groups.into_values().max_by_key(Vec::len).unwrap_or_default();
    if alike.len() < 2 {
        return Err(Missing::never(format!(
            "no two starts have the same configuration: they differ in {difference}"
        )));
    }
    Ok(Starts { alike, left_out })
}

/// The last parts of a path that tell starts apart.
fn short(name: &str) -> &str {
    let cut = name.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    name.get(cut..).unwrap_or(name)
}

fn options(facts: &BootFacts) -> BTreeMap<String, String> {
    let mut options = BTreeMap::new();
    if let Some(version) = &facts.version {
        options.insert("version".to_owned(), version.value.clone());
    }
    for (name, value) in facts.arguments.iter().flat_map(|arguments| &arguments.values) {
        // A nested configuration is compared without the values drawn in it.
        let inner = crate::boot::pyrepr::pairs(value);
        let value = if inner.iter().any(|(n, _)| DRAWN.contains(&n.as_str())) {
            let kept: Vec<String> = inner
                .iter()
                .filter(|(n, _)| !DRAWN.contains(&n.as_str()))
                .map(|(n, v)| format!("{n}={v}"))
                .collect();
            kept.join(", ")
        } else {
            value.clone()
        };
        if !DRAWN.contains(&name.as_str()) {
            options.insert(name.clone(), value);
        }
    }
    options
}

fn configuration(facts: &BootFacts) -> String {
    let listed: Vec<String> =
        options(facts).into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    listed.join("\n")
}

/// The first option in which configurations differ.
fn difference(groups: &BTreeMap<String, Vec<Start<'_>>>) -> String {
    let all: Vec<_> = groups
        .values()
        .filter_map(|starts| starts.first())
        .map(|start| options(start.facts))
        .collect();
    let names = all.iter().flat_map(BTreeMap::keys);
    let mut differ: Vec<&str> = names
        .filter(|name| {
            all.iter().any(|options| options.get(*name) != all.first().and_then(|o| o.get(*name)))
        })
        .map(String::as_str)
        .collect();
    differ.sort_unstable();
    differ.dedup();
    differ.truncate(4);
    differ.join(", ")
}
