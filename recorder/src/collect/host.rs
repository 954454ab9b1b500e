//! The machine and our cgroup while the load runs, as series of a `host` source once a second:
//!
//! | series | from |
//! |---|---|
//! | `host_cpu_seconds_total{mode}`, `host_context_switches_total`, `host_processes{state}` | `/proc/stat` |
//! | `host_memory_bytes{field}` | `/proc/meminfo` |
//! | `host_swap_pages_total{direction}`, `host_major_page_faults_total`, `host_oom_kills_total` | `/proc/vmstat` |
//! | `host_pressure_seconds_total{resource,kind}` | `/proc/pressure/*` |
//! | `cgroup_cpu_seconds_total`, `cgroup_throttled_seconds_total`, `cgroup_periods_total{throttled}` | `cpu.stat`, `cpuacct.usage` |
//! | `cgroup_memory_bytes`, `cgroup_memory_events_total{event}` | `memory.*` |
//! | `cgroup_pressure_seconds_total{resource,kind}` | `*.pressure` |
//! | `cgroup_pids` | `pids.current` |
//!
//! Both cgroup versions give the same names. What a kernel does not have is absent.

use super::process::ticks_per_second;
use super::{Ask, Collector, Failure};
use crate::clock::Clock;
use crate::procfs::Procfs;
use crate::sink::Worth;
use inferlint_schema::delta::Encoder;
use inferlint_schema::record::{Bounds, Limits, Record, Text};
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Modes of the `cpu` line of `/proc/stat` in order (proc(5)).
const MODES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
/// Fields of `/proc/meminfo` that say whether memory was short.
const MEMORY: [&str; 8] =
    ["MemTotal", "MemAvailable", "MemFree", "Cached", "Dirty", "Shmem", "SwapTotal", "SwapFree"];
/// Limits of a process that have stopped servers and load tools before.
const LIMITS: [(&str, Resource); 7] = [
    ("nofile", Resource::Nofile),
    ("nproc", Resource::Nproc),
    ("memlock", Resource::Memlock),
    ("core", Resource::Core),
    ("stack", Resource::Stack),
    ("as", Resource::As),
    ("cpu", Resource::Cpu),
];
/// Files that say what a cgroup may use, of both versions.
const CGROUP_LIMITS: [&str; 14] = [
    "cpu.max",
    "cpu.weight",
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "pids.max",
    "cpuset.cpus.effective",
    "cpuset.mems.effective",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.shares",
    "memory.limit_in_bytes",
    "cpuset.cpus",
    "cpuset.mems",
];

/// Folders of one process's cgroup: one in version 2, one a controller in version 1.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cgroup {
    folders: Vec<PathBuf>,
}

impl Cgroup {
    /// Ours.
    pub(crate) fn own(procs: &Procfs) -> Self {
        let read = |name: &str| {
            procs
                .read(name)
                .map(|text| String::from_utf8_lossy(&text).into_owned())
                .unwrap_or_default()
        };
        let cgroups = read("self/cgroup");
        let mut folders = Vec::new();
        for mount in read("self/mountinfo").lines() {
            let Some((head, tail)) = mount.split_once(" - ") else { continue };
            let fields: Vec<&str> = head.split(' ').collect();
            let tail: Vec<&str> = tail.split(' ').collect();
            let (Some(root), Some(point), Some(kind)) =
                (fields.get(3), fields.get(4), tail.first())
            else {
                continue;
            };
            let controllers: Vec<&str> = match *kind {
                "cgroup2" => vec![""],
                "cgroup" => tail.get(2).map_or(Vec::new(), |options| options.split(',').collect()),
                _ => continue,
            };
            let path = cgroups.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (names, path) = (parts.next()?, parts.next()?);
                names.split(',').any(|name| controllers.contains(&name)).then_some(path)
            });
            let Some(path) = path else { continue };
            let below = path.strip_prefix(root).unwrap_or(path).trim_start_matches('/');
            let folder = Path::new(point).join(below);
            // Inside a cgroup namespace the path may be that of the host.
            folders.push(if folder.is_dir() { folder } else { PathBuf::from(point) });
        }
        folders.sort();
        folders.dedup();
        Self { folders }
    }

    fn read(&self, name: &str) -> Option<String> {
        self.folders.iter().find_map(|folder| fs::read_to_string(folder.join(name)).ok())
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.read(name)?.trim().parse().ok()
    }

    /// `key value` lines of a file.
    fn table(&self, name: &str) -> BTreeMap<String, f64> {
        self.read(name).map(|text| table(&text)).unwrap_or_default()
    }
}

fn table(text: &str) -> BTreeMap<String, f64> {
    let pair = |line: &str| {
        let (key, value) = line.split_once([' ', ':'])?;
        let number = value.split_ascii_whitespace().next()?;
        Some((key.to_owned(), number.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// What we and our cgroup may use, at `t`.
pub(crate) fn limits(t: u64, cgroup: &Cgroup) -> Limits {
    let rlimits = LIMITS.map(|(name, resource)| {
        let limit = getrlimit(resource);
        (name.to_owned(), Bounds { soft: limit.current, hard: limit.maximum })
    });
    let found: BTreeMap<String, Text> = CGROUP_LIMITS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), Text::from(cgroup.read(name)?.trim()))))
        .collect();
    let why = found
        .is_empty()
        .then(|| BTreeMap::from([("cgroup".to_owned(), "no limit file was found".to_owned())]));
    Limits {
        t,
        src: None,
        pid: None,
        rlimits: Some(rlimits.into()),
        cgroup: (!found.is_empty()).then_some(found),
        why,
    }
}

/// Reads the machine.
#[derive(Debug)]
pub(crate) struct Machine {
    src: u32,
    procs: Procfs,
    cgroup: Cgroup,
    encoder: Encoder,
    clock: Clock,
}

impl Machine {
    /// A collector for source `src`.
    pub(crate) fn new(src: u32, procs: Procfs, cgroup: Cgroup, clock: Clock) -> Self {
        Self { src, procs, cgroup, encoder: Encoder::new(src), clock }
    }

    fn values(&self) -> Vec<(String, f64)> {
        let mut values = Vec::with_capacity(64);
        let text = |name: &str| {
            self.procs.read(name).map(|text| String::from_utf8_lossy(&text).into_owned())
        };
        if let Ok(stat) = text("stat") {
            stat_values(&stat, &mut values);
        }
        if let Ok(memory) = text("meminfo") {
            let memory = table(&memory);
            let known = MEMORY.iter().filter_map(|field| Some((field, memory.get(*field)?)));
            values.extend(known.map(|(field, kib)| {
                (format!("host_memory_bytes{{field=\"{field}\"}}"), kib * 1024.0)
            }));
        }
        if let Ok(paging) = text("vmstat") {
            let paging = table(&paging);
            for (field, name) in [
                ("pswpin", "host_swap_pages_total{direction=\"in\"}"),
                ("pswpout", "host_swap_pages_total{direction=\"out\"}"),
                ("pgmajfault", "host_major_page_faults_total"),
                ("oom_kill", "host_oom_kills_total"),
            ] {
                values.extend(paging.get(field).map(|value| (name.to_owned(), *value)));
            }
        }
        for resource in ["cpu", "memory", "io"] {
            if let Ok(pressure) = text(&format!("pressure/{resource}")) {
                pressure_values("host", resource, &pressure, &mut values);
            }
        }
        self.cgroup_values(&mut values);
        values
    }

    fn cgroup_values(&self, values: &mut Vec<(String, f64)>) {
        let cpu = self.cgroup.table("cpu.stat");
        let seconds = |per: f64| move |value: f64| value / per;
        let usage = cpu.get("usage_usec").copied().map(seconds(1e6));
        let usage = usage.or_else(|| self.cgroup.number("cpuacct.usage").map(seconds(1e9)));
        let throttled = cpu.get("throttled_usec").copied().map(seconds(1e6));
        let throttled = throttled.or_else(|| cpu.get("throttled_time").copied().map(seconds(1e9)));
        let memory = self.cgroup.number("memory.current");
        let memory = memory.or_else(|| self.cgroup.number("memory.usage_in_bytes"));
        for (name, value) in [
            ("cgroup_cpu_seconds_total", usage),
            ("cgroup_throttled_seconds_total", throttled),
            ("cgroup_periods_total{throttled=\"any\"}", cpu.get("nr_periods").copied()),
            ("cgroup_periods_total{throttled=\"yes\"}", cpu.get("nr_throttled").copied()),
            ("cgroup_memory_bytes", memory),
            ("cgroup_memory_events_total{event=\"failcnt\"}", self.cgroup.number("memory.failcnt")),
            ("cgroup_pids", self.cgroup.number("pids.current")),
        ] {
            values.extend(value.map(|value| (name.to_owned(), value)));
        }
        for (event, count) in self.cgroup.table("memory.events") {
            values.push((format!("cgroup_memory_events_total{{event=\"{event}\"}}"), count));
        }
        for resource in ["cpu", "memory", "io"] {
            if let Some(pressure) = self.cgroup.read(&format!("{resource}.pressure")) {
                pressure_values("cgroup", resource, &pressure, values);
            }
        }
    }
}

fn stat_values(stat: &str, values: &mut Vec<(String, f64)>) {
    let per_second = ticks_per_second();
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let (name, first) = (words.next().unwrap_or_default(), words.clone().next());
        let number = first.and_then(|word| word.parse::<f64>().ok());
        let plain = match name {
            "cpu" => {
                for (mode, ticks) in MODES.iter().zip(words.filter_map(|w| w.parse::<f64>().ok())) {
                    let name = format!("host_cpu_seconds_total{{mode=\"{mode}\"}}");
                    values.push((name, ticks / per_second));
                }
                continue;
            }
            "ctxt" => "host_context_switches_total",
            "processes" => "host_forks_total",
            "procs_running" => "host_processes{state=\"running\"}",
            "procs_blocked" => "host_processes{state=\"blocked\"}",
            _ => continue,
        };
        values.extend(number.map(|number| (plain.to_owned(), number)));
    }
}

/// `some avg10=0.00 … total=12345`: microseconds stalled (Documentation/accounting/psi.rst).
fn pressure_values(of: &str, resource: &str, text: &str, values: &mut Vec<(String, f64)>) {
    for line in text.lines() {
        let kind = line.split(' ').next().unwrap_or_default();
        let total = line.rsplit_once("total=").and_then(|(_, us)| us.trim().parse::<f64>().ok());
        if let Some(us) = total {
            let labels = format!("resource=\"{resource}\",kind=\"{kind}\"");
            values.push((format!("{of}_pressure_seconds_total{{{labels}}}"), us / 1e6));
        }
    }
}

impl Collector for Machine {
    fn src(&self) -> u32 {
        self.src
    }

    fn worth(&self) -> Worth {
        Worth::Reading
    }

    async fn read(&mut self, ask: Ask, out: &mut Vec<Record>) -> Result<(), Failure> {
        let t = self.clock.now();
        let values = self.values();
        if values.is_empty() {
            let why = "nothing of /proc could be read".to_owned();
            return Err(Failure { what: "unreadable", why });
        }
        let samples: Vec<(&str, f64)> = values.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let took = self.clock.now() - t;
        self.encoder.values(t, took, &samples, ask.keyframe, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> BTreeMap<String, f64> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text.replace("ROOT", root.path().to_str().unwrap())).unwrap();
        }
        let procs = Procfs::at(root.path());
        let cgroup = Cgroup::own(&procs);
        Machine::new(0, procs, cgroup, Clock::start()).values().into_iter().collect()
    }

    #[test]
    fn both_cgroup_versions_give_the_same_names() {
        let two = machine(&[
            ("self/cgroup", "0::/pod/a\n"),
            ("self/mountinfo", "1 2 0:1 / ROOT/two rw - cgroup2 cgroup rw\n"),
            (
                "two/pod/a/cpu.stat",
                "usage_usec 2500000\nnr_periods 40\nnr_throttled 3\nthrottled_usec 700000\n",
            ),
            ("two/pod/a/memory.current", "4096\n"),
        ]);
        let one = machine(&[
            ("self/cgroup", "4:memory:/a\n2:cpu,cpuacct:/docker/x\n"),
            (
                "self/mountinfo",
                "1 2 0:1 /docker/x ROOT/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                 1 2 0:2 / ROOT/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("cpu/cpu.stat", "nr_periods 40\nnr_throttled 3\nthrottled_time 700000000\n"),
            ("cpu/cpuacct.usage", "2500000000\n"),
            ("memory/a/memory.usage_in_bytes", "4096\n"),
        ]);
        assert_eq!(one, two);
        assert_eq!(one["cgroup_throttled_seconds_total"], 0.7);
        assert_eq!(one["cgroup_cpu_seconds_total"], 2.5);
        assert_eq!(one["cgroup_memory_bytes"], 4096.0);
    }

    #[test]
    fn the_machine_is_read_in_base_units_and_what_is_not_there_is_absent() {
        let values = machine(&[
            ("stat", "cpu  100 0 50 1000 0 0 0 7 0 0\ncpu0 1 1 1 1\nctxt 42\nprocs_running 3\n"),
            ("meminfo", "MemTotal:       1000 kB\nHugePages_Total:       0\n"),
            ("vmstat", "pgmajfault 9\n"),
            ("pressure/memory", "some avg10=0.00 total=1500000\nfull avg10=0.00 total=500000\n"),
        ]);
        for (name, value) in [
            ("host_cpu_seconds_total{mode=\"user\"}", 100.0 / ticks_per_second()),
            ("host_cpu_seconds_total{mode=\"steal\"}", 7.0 / ticks_per_second()),
            ("host_context_switches_total", 42.0),
            ("host_processes{state=\"running\"}", 3.0),
            ("host_memory_bytes{field=\"MemTotal\"}", 1_024_000.0),
            ("host_major_page_faults_total", 9.0),
            ("host_pressure_seconds_total{resource=\"memory\",kind=\"full\"}", 0.5),
        ] {
            assert_eq!(values.get(name), Some(&value), "{name}");
        }
        assert!(!values.keys().any(|name| name.contains("swap") || name.contains("cgroup")));
    }

    #[test]
    fn our_own_limits_are_read() {
        let found = limits(5, &Cgroup::own(&Procfs::default()));
        assert!(found.rlimits.unwrap()["nofile"].soft.unwrap() > 0);
        assert!(found.cgroup.is_some() || found.why.is_some());
    }
}
