//! Evidence: the only thing a check sees.
//!
//! A [`Run`] is one recording, however it was stored: its sources with their readings, its load
//! points, logs and results. Loaders build it, nothing changes it afterwards. A check gets a
//! [`Scope`], one load point and one group of replicas, and asks it for figures; what it cannot
//! have comes back as [`Missing`], never as zero.

mod account;
mod aside;
mod busy;
mod machine;
mod missed;
mod need;
mod recording;
mod restart;
mod scope;
mod time;

pub use account::Account;
pub use busy::{Busy, Seen};
pub use need::Need;
pub use recording::{Column, Recording};
pub use restart::{Lifetimes, Restart, Restarted};
pub use scope::{Count, Missing, Refused, Requested, Scope, Sum, Track, Windows};
pub(crate) use time::{ns, ns_of_seconds, ns_within};

use crate::boot::ServerLog;
use crate::client::ClientResult;
use crate::engine::Engine;
use inferlint_schema::record;
use std::collections::BTreeMap;

/// One recording.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Where it came from, as the user named it.
    pub name: String,
    /// The run's own id, equal on all hosts of one run.
    pub run_id: Option<String>,
    /// Unix time at the recording's beginning, in ns. `None`: not known.
    pub wall_ns: Option<u64>,
    /// How it was stored.
    pub form: Form,
    /// The engine, where every source that has one has the same.
    pub engine: Option<&'static Engine>,
    /// The engine's version, where something tells it.
    pub engine_version: Option<String>,
    /// What was read.
    pub sources: Vec<Source>,
    /// The load points, in order. Never empty: without phases the whole recording is one.
    pub points: Vec<Point>,
    /// Server logs.
    pub logs: Vec<Log>,
    /// How the server's process ended, if it did.
    pub server_exit: Option<Exit>,
    /// What the recorder asked the server itself.
    pub probes: Vec<record::Probe>,
    /// Looks at the GPUs before a start and after a stop.
    pub gates: Vec<record::Gate>,
    /// Processes as they were seen.
    pub processes: Vec<record::Process>,
    /// What a saved process table holds besides its processes.
    pub table: Option<Table>,
    /// The kernel's log.
    pub kernel_log: Option<Vec<u8>>,
    /// Most requests the server runs at once, as its log tells.
    pub running_limit: Option<RunningLimit>,
    /// Requests at once that the user says were asked for.
    pub requested: Option<f64>,
    /// What a bundle's file says of itself. `None`: the input is no bundle.
    pub account: Option<Account>,
    /// What a reader should know about the input itself.
    pub notes: Vec<String>,
}

/// Roles of sources that are inference servers.
pub const SERVER_ROLES: [&str; 4] = ["engine", "prefill", "decode", "encode"];

/// Most requests a server runs at once.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningLimit {
    /// Requests, over all replicas.
    pub requests: f64,
    /// What sets it, in words.
    pub why: String,
}

/// How a run was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// An evidence bundle.
    Bundle,
    /// A run folder of the Python tool.
    Folder,
    /// Files named one by one.
    #[default]
    Loose,
}

/// One thing that was read: a server's metrics.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Its name, unique in the run.
    pub name: String,
    /// `engine`, `prefill`, `decode`… Counts are summed inside one role only.
    pub role: String,
    /// `exposition`, `gpu`, `host`, `process`, `network`, `log` or `file`; empty for what is no bundle.
    pub kind: String,
    /// Replica group; sources of one group and role are replicas.
    pub group: Option<String>,
    /// The engine its metrics belong to.
    pub engine: Option<&'static Engine>,
    /// Whole expositions.
    pub full: Recording,
    /// A second recording that holds a few signals, each already summed over all replicas, under the
    /// engine's metric names.
    pub summed: Option<Recording>,
    /// Addresses that answered, with the reading from which on.
    pub peers: Vec<(usize, String)>,
    /// Lifetimes of the source that began or ended.
    pub epochs: Vec<record::Epoch>,
    /// False when the readings' times are not known, only their order.
    pub timed: bool,
    /// What was found of its restarts so far.
    pub lifetimes: Lifetimes,
}

impl Source {
    /// A server's role as its own metrics tell it, where they tell one: SGLang labels the series of
    /// its scheduler with `engine_type`, `prefill` or `decode` for one half of a pair (0.4.10 on).
    pub fn own_role(&self) -> Option<&'static str> {
        let types = self.full.columns().iter().filter_map(|c| c.series.label("engine_type"));
        let types: std::collections::BTreeSet<&str> = types.collect();
        let role = ["prefill", "decode"].into_iter().find(|role| types.contains(role))?;
        (types.len() == 1).then_some(role)
    }
}

/// One load point: a leaf phase of kind `load`, or the whole recording.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// Its name, e.g. `c=32`. `None` when the recording has no phases.
    pub name: Option<String>,
    /// What was asked: `concurrency`, `num_prompts`, `output_len`…
    pub params: BTreeMap<String, String>,
    /// The load script's own mark says its concurrency, not a load tool's command.
    pub concurrency_marked: bool,
    /// From when to when the load command ran, in ns. `None` when nothing has times.
    pub command: Option<(i64, i64)>,
    /// Per source, the reading before it begins and the last one of the drain after it.
    pub edges: Vec<Edges>,
    /// What the load tool reported: its result file, else the table it printed.
    pub result: Option<ClientResult>,
    /// The table that the load tool printed; else why none of several is taken.
    pub printed: Option<Result<ClientResult, String>>,
    /// The load tool's arguments.
    pub argv: Option<Vec<String>>,
    /// The load tool's exit status.
    pub exit: Option<i64>,
    /// The load tool's own output.
    pub output: Option<String>,
}

/// The readings of one source that bound a point.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Edges {
    /// The last reading before the point begins.
    pub begin: Option<usize>,
    /// The last reading of the drain after it.
    pub end: Option<usize>,
}

/// A server's log, as it was read.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// Its name as the user knows it.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// What it says of the start and of what became of the server.
    pub server: ServerLog,
    /// From which line on lines came at a time, in ns on the run's clock; in order of lines.
    pub times: Vec<(u64, i64)>,
    /// It was followed from the moment the server was started.
    pub from_start: bool,
}

impl Log {
    /// When line `number`, counted from 1, came; `None` where that is not known.
    pub fn time_of(&self, number: u64) -> Option<i64> {
        let after = self.times.partition_point(|&(line, _)| line <= number);
        after.checked_sub(1).and_then(|i| self.times.get(i)).map(|&(_, t)| t)
    }
}

/// A process table that somebody saved; its processes are [`Run::processes`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// GPUs with their memory.
    pub cards: Vec<Card>,
    /// The processes that hold GPU memory were asked for.
    pub holders_seen: bool,
}

/// A GPU's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Card {
    /// Index as the driver counts.
    pub index: u32,
    /// MiB in use.
    pub used_mib: u64,
    /// MiB there are.
    pub total_mib: Option<u64>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// When, in ns on the run's clock.
    pub at: Option<i64>,
    /// Its exit status.
    pub status: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<u32>,
}

/// Replicas whose counts may be added: the sources of one role and group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name, where the run has more than one group.
    pub name: Option<String>,
    /// Indices into [`Run::sources`].
    pub sources: Vec<usize>,
}

impl Run {
    /// Why no load began: what broke the recording off before it. `None`: one did, or nobody knows.
    pub fn broken_off(&self) -> Option<&str> {
        let began = self.points.iter().any(|point| point.command.is_some());
        self.account.as_ref()?.broken_off().filter(|_| !began)
    }

    /// A label of an info metric, e.g. `num_gpu_blocks` of `vllm:cache_config_info`.
    pub fn info(&self, metric: &str, key: &str) -> Option<&str> {
        self.sources
            .iter()
            .find_map(|source| source.full.named(metric).find_map(|c| c.series.label(key)))
    }

    /// The value of an option, by any of its names, on the command line of the server's own processes.
    pub fn server_option(&self, flags: &[&str]) -> Option<String> {
        let servers = self.processes.iter().filter(|process| process.tree == "server");
        servers.filter_map(|process| process.argv.as_ref()).find_map(|argv| {
            let argv: Vec<_> = argv.iter().map(record::Text::lossy).collect();
            argv.iter().enumerate().find_map(|(i, argument)| match argument.split_once('=') {
                Some((flag, value)) if flags.contains(&flag) => Some(value.to_owned()),
                None if flags.contains(&argument.as_ref()) => {
                    argv.get(i + 1).map(ToString::to_string)
                }
                _ => None,
            })
        })
    }

    /// The newest value of a gauge that has one for all replicas.
    pub fn latest(&self, metric: &str) -> Option<f64> {
        self.sources.iter().find_map(|source| {
            source
                .full
                .named(metric)
                .find_map(|column| column.changes.iter().rev().find_map(|&(_, value)| value))
        })
    }

    /// The groups of engine sources. A run without any has one empty group, so that every check
    /// can say what it lacks.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let key = |i: &usize| self.sources.get(*i).map(|s| (s.role.as_str(), s.group.as_deref()));
        for (i, source) in self.sources.iter().enumerate().filter(|(_, s)| s.engine.is_some()) {
            let same = |group: &&mut Vec<usize>| {
                source.group.is_some() && group.first().and_then(key) == key(&i)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(i),
                None => groups.push(vec![i]),
            }
        }
        let named = groups.len() > 1;
        let name = |sources: &[usize]| {
            let source = sources.first().and_then(|&i| self.sources.get(i))?;
            Some(match &source.group {
                Some(group) if sources.len() > 1 => format!("{}/{group}", source.role),
                _ => source.name.clone(),
            })
        };
        let mut out: Vec<Group> = groups
            .into_iter()
            .map(|sources| Group { name: name(&sources).filter(|_| named), sources })
            .collect();
        if out.is_empty() {
            out.push(Group { name: None, sources: Vec::new() });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, role: &str, group: Option<&str>) -> Source {
        Source {
            name: name.into(),
            role: role.into(),
            group: group.map(str::to_owned),
            engine: Engine::named("vllm"),
            ..Source::default()
        }
    }

    #[test]
    fn counts_are_added_inside_one_role_and_group_only() {
        let run = Run {
            sources: vec![
                source("p0", "prefill", Some("g")),
                source("d0", "decode", Some("g")),
                source("d1", "decode", Some("g")),
                source("alone", "engine", None),
                source("also alone", "engine", None),
                Source { engine: None, ..source("gpu", "host", None) },
            ],
            ..Run::default()
        };
        let groups: Vec<(Option<String>, Vec<usize>)> =
            run.groups().into_iter().map(|group| (group.name, group.sources)).collect();
        assert_eq!(
            groups,
            [
                (Some("p0".into()), vec![0]),
                (Some("decode/g".into()), vec![1, 2]),
                (Some("alone".into()), vec![3]),
                (Some("also alone".into()), vec![4]),
            ]
        );
    }

    #[test]
    fn an_option_is_read_from_the_servers_own_command_line() {
        let (_, table) = crate::load::process_table("");
        let (mut processes, _) = crate::load::process_table(
            "PID PPID ARGS\n1 0 vllm serve m --block-size 64\n2 0 vllm serve m --port=9\n",
        );
        assert_eq!((processes.len(), table), (2, Table::default()));
        let of = |processes: &[record::Process], flag: &str| {
            Run { processes: processes.to_vec(), ..Run::default() }.server_option(&[flag])
        };
        assert_eq!(of(&processes, "--block-size"), None, "not the server that was recorded");
        for process in &mut processes {
            process.tree = "server".into();
        }
        assert_eq!(of(&processes, "--block-size").as_deref(), Some("64"));
        assert_eq!(of(&processes, "--port").as_deref(), Some("9"));
        assert_eq!(of(&processes, "--page-size"), None);
    }

    #[test]
    fn prefill_servers_are_not_held_against_the_load() {
        let run = Run { sources: vec![source("p0", "prefill", None)], ..Run::default() };
        let (point, group) = (Point::default(), run.groups().remove(0));
        let scope = Scope { run: &run, point: &point, group: &group };
        assert!(scope.sees_whole_requests().is_err_and(|missing| missing.inapplicable));
    }
}
