//! What is read of the machine and of our own environment at the start, and of what can change
//! meanwhile again at the end.
//!
//! | facts | from |
//! |---|---|
//! | `kernel`, `wsl` | `/proc/sys/kernel/osrelease` |
//! | `os` | `/etc/os-release` |
//! | `libc` | our own C library |
//! | `cpu_model`, `hypervisor` | `/proc/cpuinfo` |
//! | `machine` | `/sys/class/dmi/id/{sys_vendor,product_name}`; no serial number, no UUID |
//! | `cpus`, `cpus_usable`, `smt`, `clocksource` | `/sys/devices/system`, our affinity and cgroup |
//! | `governor`, `cpu_min_hz`, `cpu_max_hz`, `cpu_driver`, `boost` | `/sys/devices/system/cpu/cpufreq` |
//! | `numa_nodes`, `node0_cpus`, `node0_memory_bytes`, `node0_memory_free_bytes`… | `/sys/devices/system/node` |
//! | `memory_bytes`, `memory_available_bytes`, `swap_bytes`, `swap_free_bytes` | `/proc/meminfo` |
//! | `shm_bytes`, `shm_free_bytes` | statvfs of `/dev/shm` |
//! | `swappiness`, `numa_balancing`, `transparent_hugepages` | `/proc/sys`, `/sys/kernel/mm` |
//! | `container`, `cgroup` | marks that runtimes leave, `/proc/self/cgroup` |
//! | `clock_state`, `clock_max_error_us`, `clock_estimated_error_us` | adjtimex |

use crate::clock::Kept;
use crate::facts::{Facts, some};
use crate::root::Root;
use inferlint_schema::record::{Host, Text};
use inferlint_schema::redact::Masker;
use std::collections::{BTreeMap, BTreeSet};

/// NUMA nodes that are described: a rack of GPUs with memory of their own has 36.
const NODES: usize = 64;
/// Frequency domains that are looked at: one a CPU on most servers.
const POLICIES: usize = 1_024;
/// Frequency domains whose limits and drivers are looked at.
const SAMPLED: usize = 16;
/// Marks of a container, and who leaves them: docker, podman, apptainer and systemd's interface.
const MARKS: [(&str, &str); 4] = [
    ("docker", "/.dockerenv"),
    ("podman", "/run/.containerenv"),
    ("apptainer", "/.singularity.d"),
    ("systemd", "/run/systemd/container"),
];

/// The machine as it is at `t`, and our environment.
pub(crate) fn facts(t: u64, root: &Root, masker: &mut Masker) -> Host {
    let mut facts = Facts::default();
    system(&mut facts, root);
    processors(&mut facts, root);
    memory(&mut facts, root);
    container(&mut facts, root, std::env::var_os("KUBERNETES_SERVICE_HOST").is_some());
    changing(&mut facts, root);
    let (env, left_out) = masker.env(std::env::vars_os());
    Host { env: Some(env), env_left_out: Some(left_out), ..record(t, facts) }
}

/// What of it can have changed by `t`.
pub(crate) fn changes(t: u64, root: &Root) -> Host {
    let mut facts = Facts::default();
    changing(&mut facts, root);
    record(t, facts)
}

/// Identity of the kernel's boot.
pub(crate) fn boot_id() -> Result<String, String> {
    Root::default().text("/proc/sys/kernel/random/boot_id")
}

fn record(t: u64, facts: Facts) -> Host {
    let Facts { numbers, texts, why } = facts;
    let texts = texts.into_iter().map(|(name, text)| (name, Text::from(text))).collect();
    Host {
        t,
        numbers: some(numbers),
        texts: some(texts),
        env: None,
        env_left_out: None,
        why: some(why),
    }
}

fn system(facts: &mut Facts, root: &Root) {
    let kernel = root.text("/proc/sys/kernel/osrelease");
    facts.text("wsl", kernel.as_ref().map(|kernel| wsl(kernel)).map_err(Clone::clone));
    facts.text("kernel", kernel);
    let machine = rustix::system::uname().machine().to_string_lossy().into_owned();
    facts.text("arch", Ok(machine));
    let os = root.field("/etc/os-release", "PRETTY_NAME=");
    facts.text("os", os.map(|name| name.replace('"', "")));
    facts.text("libc", libc());
    let dmi = |name: &str| root.text(&format!("/sys/class/dmi/id/{name}"));
    let machine = dmi("sys_vendor").and_then(|v| Ok(format!("{v} {}", dmi("product_name")?)));
    facts.text("machine", machine);
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    facts.text("clocksource", root.text(source));
}

fn processors(facts: &mut Facts, root: &Root) {
    facts.text("cpu_model", root.field("/proc/cpuinfo", "model name\t: "));
    // Every CPU of a guest has the flag, on x86 (CPUID leaf 1, ECX bit 31); others have no flags.
    let flags = root.field("/proc/cpuinfo", "flags\t\t: ");
    let guest = |flags: &str| flags.split(' ').any(|flag| flag == "hypervisor");
    facts.text("hypervisor", flags.map(|flags| if guest(&flags) { "yes" } else { "no" }));
    facts.number("cpus", root.text("/sys/devices/system/cpu/online").map(|list| count(&list)));
    let usable = std::thread::available_parallelism().map_err(|error| error.to_string());
    facts.number("cpus_usable", usable.map(|n| n.get() as f64));
    facts.text("smt", root.text("/sys/devices/system/cpu/smt/control"));
}

fn memory(facts: &mut Facts, root: &Root) {
    facts.number("memory_bytes", meminfo(root, "MemTotal:"));
    facts.number("swappiness", root.number("/proc/sys/vm/swappiness"));
    facts.number("numa_balancing", root.number("/proc/sys/kernel/numa_balancing"));
    let pages = "/sys/kernel/mm/transparent_hugepage/enabled";
    facts.text("transparent_hugepages", root.text(pages).and_then(|text| chosen(pages, &text)));
    let nodes = nodes(root);
    facts.number("numa_nodes", nodes.as_ref().map(|n| n.len() as f64).map_err(Clone::clone));
    for node in nodes.iter().flatten().take(NODES) {
        let folder = format!("/sys/devices/system/node/{node}");
        facts.text(format!("{node}_cpus"), root.text(&format!("{folder}/cpulist")));
        facts.number(format!("{node}_memory_bytes"), node_memory(root, node, "MemTotal:"));
    }
}

/// The nodes' names.
fn nodes(root: &Root) -> Result<Vec<String>, String> {
    let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let is_node = |name: &String| name.strip_prefix("node").is_some_and(digits);
    let names = root.names("/sys/devices/system/node")?;
    Ok(names.into_iter().filter(is_node).collect())
}

fn container(facts: &mut Facts, root: &Root, kubernetes: bool) {
    let mut found: BTreeSet<&str> =
        MARKS.iter().filter(|(_, mark)| root.has(mark)).map(|(name, _)| *name).collect();
    let cgroup = root.text("/proc/self/cgroup");
    let below_kubernetes = cgroup.as_ref().is_ok_and(|path| path.contains("kubepods"));
    found.extend((kubernetes || below_kubernetes).then_some("kubernetes"));
    let names = found.into_iter().collect::<Vec<_>>().join(", ");
    let none = || "no mark of a container runtime is here".to_owned();
    facts.text("container", (!names.is_empty()).then_some(names).ok_or_else(none));
    facts.text("cgroup", cgroup);
}

/// What a run, or somebody beside it, can change.
fn changing(facts: &mut Facts, root: &Root) {
    facts.number("memory_available_bytes", meminfo(root, "MemAvailable:"));
    facts.number("swap_bytes", meminfo(root, "SwapTotal:"));
    facts.number("swap_free_bytes", meminfo(root, "SwapFree:"));
    for node in nodes(root).iter().flatten().take(NODES) {
        let free = node_memory(root, node, "MemFree:");
        facts.number(format!("{node}_memory_free_bytes"), free);
    }
    let shm = rustix::fs::statvfs(root.path("/dev/shm"));
    let shm = shm.as_ref().map_err(|error| format!("/dev/shm: {error}"));
    let bytes = |blocks: u64, size: u64| blocks as f64 * size as f64;
    facts.number("shm_bytes", shm.clone().map(|shm| bytes(shm.f_blocks, shm.f_frsize)));
    facts.number("shm_free_bytes", shm.map(|shm| bytes(shm.f_bfree, shm.f_frsize)));
    frequencies(facts, root);
    let kept = Kept::now();
    facts.text("clock_state", kept.clone().map(|kept| kept.state));
    let number = |of: fn(Kept) -> u64| kept.clone().map(|kept| of(kept) as f64);
    let (max, estimated) = (number(|k| k.max_error_us), number(|k| k.estimated_error_us));
    facts.number("clock_max_error_us", max);
    facts.number("clock_estimated_error_us", estimated);
}

/// Governors of all frequency domains; limits and drivers of some, spread over them, to read one file
/// a CPU and not four (Documentation/admin-guide/pm/cpufreq.rst). The frequency itself is not read:
/// that wakes every CPU.
fn frequencies(facts: &mut Facts, root: &Root) {
    let folder = "/sys/devices/system/cpu/cpufreq";
    let policies: Result<Vec<String>, String> = root.names(folder).and_then(|names| {
        let policies = names.into_iter().filter(|name| name.starts_with("policy"));
        let policies: Vec<String> = policies.take(POLICIES).collect();
        let none = || format!("{folder}: no policy, the kernel sets no frequencies here");
        (!policies.is_empty()).then_some(policies).ok_or_else(none)
    });
    let each = |name: &str, most: usize| -> Result<Vec<String>, String> {
        let policies = policies.as_ref().map_err(Clone::clone)?;
        let some = policies.iter().step_by(policies.len().div_ceil(most));
        some.map(|policy| root.text(&format!("{folder}/{policy}/{name}"))).collect()
    };
    let hz = |name: &str, choose: fn(f64, f64) -> f64| {
        let khz = each(name, SAMPLED)?.iter().filter_map(|khz| khz.parse().ok()).reduce(choose);
        khz.map(|khz: f64| khz * 1e3).ok_or_else(|| format!("{folder}: {name} is no number"))
    };
    facts.text("governor", each("scaling_governor", POLICIES).map(tally));
    facts.text("cpu_driver", each("scaling_driver", SAMPLED).map(tally));
    facts.number("cpu_min_hz", hz("scaling_min_freq", f64::min));
    facts.number("cpu_max_hz", hz("scaling_max_freq", f64::max));
    let on = |one: f64| if one > 0.0 { "on" } else { "off" };
    let off = |one: f64| if one > 0.0 { "off" } else { "on" };
    let boost = root.number(&format!("{folder}/boost")).map(on).or_else(|why| {
        let intel = root.number("/sys/devices/system/cpu/intel_pstate/no_turbo");
        intel.map(off).map_err(|_| why)
    });
    facts.text("boost", boost);
}

/// `performance`, or `performance 62, powersave 2`.
fn tally(words: Vec<String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let one = counts.len() == 1;
    let each = counts.into_iter().map(|(word, n)| if one { word } else { format!("{word} {n}") });
    each.collect::<Vec<_>>().join(", ")
}

/// What a kernel of Microsoft's calls itself: `5.15.90.1-microsoft-standard-WSL2` in version 2,
/// `4.4.0-19041-Microsoft` in version 1.
fn wsl(kernel: &str) -> &'static str {
    let kernel = kernel.to_lowercase();
    match (kernel.contains("microsoft"), kernel.contains("wsl2")) {
        (true, true) => "2",
        (true, false) => "1",
        (false, _) => "no",
    }
}

/// Our C library. A server in a container has its own: see `versions`.
#[cfg(target_env = "gnu")]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is no answer")]
fn libc() -> Result<String, String> {
    // SAFETY: the C library gives a string of its own that lives as long as the process.
    let version = unsafe { std::ffi::CStr::from_ptr(nix::libc::gnu_get_libc_version()) };
    Ok(format!("glibc {}", version.to_string_lossy()))
}

/// A program that brings its C library along cannot tell of the machine's.
#[cfg(not(target_env = "gnu"))]
fn libc() -> Result<String, String> {
    Err("this program is not linked to the machine's C library".to_owned())
}

/// A size of `/proc/meminfo`.
fn meminfo(root: &Root, name: &str) -> Result<f64, String> {
    root.field("/proc/meminfo", name).and_then(|text| kib(&text))
}

/// A size of a NUMA node.
fn node_memory(root: &Root, node: &str, name: &str) -> Result<f64, String> {
    let number = node.trim_start_matches("node");
    let file = format!("/sys/devices/system/node/{node}/meminfo");
    root.field(&file, &format!("Node {number} {name}")).and_then(|text| kib(&text))
}

/// The choice in brackets: `always [madvise] never`.
fn chosen(file: &str, text: &str) -> Result<String, String> {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map(|(word, _)| word.to_owned()).ok_or_else(|| format!("{file}: nothing is chosen"))
}

/// `123 kB` of `/proc/meminfo` in bytes.
fn kib(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix(" kB").and_then(|number| number.parse::<f64>().ok());
    number.map(|kib| kib * 1024.0).ok_or_else(|| format!("{text:?} is no size"))
}

/// How many a list like `0-3,8-11` names.
fn count(list: &str) -> f64 {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    });
    f64::from(ranges.sum::<u32>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferlint_schema::redact::Seeds;
    use std::fs;

    fn read(files: &[(&str, &str)]) -> Facts {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (name, text) in files {
            let path = root.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut facts = Facts::default();
        system(&mut facts, &root);
        processors(&mut facts, &root);
        memory(&mut facts, &root);
        container(&mut facts, &root, false);
        changing(&mut facts, &root);
        facts
    }

    fn text(facts: &Facts, name: &str) -> String {
        facts.texts.get(name).cloned().unwrap_or_default()
    }

    #[test]
    fn lists_of_cpus_are_counted() {
        for (list, n) in [("0", 1.0), ("0-3\n", 4.0), ("0-3,8-11", 8.0), ("", 0.0), ("3-1", 0.0)] {
            assert_eq!(count(list), n, "{list}");
        }
    }

    #[test]
    fn a_server_with_two_nodes_is_told_in_base_units() {
        let cpu = "/sys/devices/system/cpu";
        let policy = |n: u8, name: &str| format!("{cpu}/cpufreq/policy{n}/{name}");
        let files = [
            ("/proc/sys/kernel/osrelease".to_owned(), "6.8.0-50-generic\n"),
            ("/etc/os-release".into(), "NAME=Ubuntu\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\n"),
            ("/sys/class/dmi/id/sys_vendor".into(), "Supermicro\n"),
            ("/sys/class/dmi/id/product_name".into(), "AS-8125GS\n"),
            ("/sys/class/dmi/id/product_serial".into(), "S123456\n"),
            (
                "/proc/cpuinfo".into(),
                "processor\t: 0\nmodel name\t: EPYC 9554\nflags\t\t: fpu vme\n",
            ),
            (format!("{cpu}/online"), "0-3\n"),
            (format!("{cpu}/smt/control"), "on\n"),
            (policy(0, "scaling_governor"), "performance\n"),
            (policy(1, "scaling_governor"), "powersave\n"),
            (policy(2, "scaling_governor"), "performance\n"),
            (policy(0, "scaling_driver"), "amd-pstate-epp\n"),
            (policy(1, "scaling_driver"), "amd-pstate-epp\n"),
            (policy(2, "scaling_driver"), "amd-pstate-epp\n"),
            (policy(0, "scaling_min_freq"), "1500000\n"),
            (policy(1, "scaling_min_freq"), "400000\n"),
            (policy(2, "scaling_min_freq"), "1500000\n"),
            (policy(0, "scaling_max_freq"), "3100000\n"),
            (policy(1, "scaling_max_freq"), "3750000\n"),
            (policy(2, "scaling_max_freq"), "3100000\n"),
            (format!("{cpu}/cpufreq/boost"), "1\n"),
            ("/sys/devices/system/node/online".into(), "0-1\n"),
            ("/sys/devices/system/node/node0/cpulist".into(), "0-1\n"),
            (
                "/sys/devices/system/node/node0/meminfo".into(),
                "Node 0 MemTotal:        2000 kB\nNode 0 MemFree:   500 kB\n",
            ),
            ("/sys/devices/system/node/node1/cpulist".into(), "\n"),
            (
                "/sys/devices/system/node/node1/meminfo".into(),
                "Node 1 MemTotal:        1000 kB\nNode 1 MemFree:   900 kB\n",
            ),
            (
                "/proc/meminfo".into(),
                "MemTotal: 3000 kB\nMemAvailable: 9 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
            ),
            ("/proc/sys/vm/swappiness".into(), "60\n"),
            ("/proc/sys/kernel/numa_balancing".into(), "1\n"),
            ("/sys/kernel/mm/transparent_hugepage/enabled".into(), "always [madvise] never\n"),
            ("/dev/shm/psm_1".into(), "x"),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, *text)).collect();
        let facts = read(&files);
        for (name, value) in [
            ("kernel", "6.8.0-50-generic"),
            ("wsl", "no"),
            ("os", "Ubuntu 24.04.1 LTS"),
            ("machine", "Supermicro AS-8125GS"),
            ("cpu_model", "EPYC 9554"),
            ("hypervisor", "no"),
            ("smt", "on"),
            ("governor", "performance 2, powersave 1"),
            ("cpu_driver", "amd-pstate-epp"),
            ("boost", "on"),
            ("node0_cpus", "0-1"),
            ("node1_cpus", ""),
            ("transparent_hugepages", "madvise"),
        ] {
            assert_eq!(text(&facts, name), value, "{name}");
            assert!(facts.texts.contains_key(name), "{name}");
        }
        for (name, value) in [
            ("cpus", 4.0),
            ("cpu_min_hz", 0.4e9),
            ("cpu_max_hz", 3.75e9),
            ("numa_nodes", 2.0),
            ("node0_memory_bytes", 2_048_000.0),
            ("node1_memory_free_bytes", 921_600.0),
            ("memory_bytes", 3_072_000.0),
            ("swap_bytes", 0.0),
            ("swappiness", 60.0),
            ("numa_balancing", 1.0),
        ] {
            assert_eq!(facts.numbers.get(name), Some(&value), "{name}");
        }
        assert!(facts.numbers["shm_bytes"] >= facts.numbers["shm_free_bytes"]);
        let why: Vec<&String> = facts.why.keys().collect();
        assert!(!why.iter().any(|name| facts.numbers.contains_key(*name)), "{why:?}");
        let known = ["cgroup", "clocksource", "container"];
        // Not of the tree: whether the clock may be asked, and what we are linked to.
        let ours = |name: &&String| name.starts_with("clock_") || *name == "libc";
        let unread = why.into_iter().filter(|name| !ours(name));
        assert_eq!(unread.collect::<Vec<_>>(), known);
        assert!(!format!("{:?}", facts.texts).contains("S123456"), "no serial number");
    }

    #[test]
    fn one_cpu_of_many_with_another_governor_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for n in 0..200 {
            let policy = root.path(&format!("/sys/devices/system/cpu/cpufreq/policy{n}"));
            fs::create_dir_all(&policy).unwrap();
            let governor = if n == 137 { "powersave" } else { "performance" };
            for (name, text) in [
                ("scaling_governor", governor),
                ("scaling_driver", "intel_pstate"),
                ("scaling_min_freq", "800000"),
                ("scaling_max_freq", "3500000"),
            ] {
                fs::write(policy.join(name), text).unwrap();
            }
        }
        let mut facts = Facts::default();
        frequencies(&mut facts, &root);
        assert_eq!(text(&facts, "governor"), "performance 199, powersave 1");
        assert_eq!(text(&facts, "cpu_driver"), "intel_pstate");
        assert_eq!((facts.numbers["cpu_min_hz"], facts.numbers["cpu_max_hz"]), (0.8e9, 3.5e9));
    }

    #[test]
    fn what_is_not_there_is_absent_with_its_reason() {
        let facts = read(&[("/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n")]);
        for name in [
            "kernel",
            "wsl",
            "os",
            "machine",
            "hypervisor",
            "governor",
            "boost",
            "container",
            "cpus",
            "cpu_min_hz",
            "numa_nodes",
            "memory_bytes",
            "swap_bytes",
            "shm_bytes",
            "swappiness",
        ] {
            assert!(!facts.numbers.contains_key(name) && !facts.texts.contains_key(name), "{name}");
            assert!(facts.why.contains_key(name), "{name} has no reason");
        }
        assert!(facts.why["shm_bytes"].starts_with("/dev/shm: "));
        assert_eq!(facts.why["hypervisor"], "/proc/cpuinfo: no flags\t\t: ");
    }

    #[test]
    fn guests_and_containers_are_known_by_their_marks() {
        let release = "/proc/sys/kernel/osrelease";
        for (files, name, value) in [
            (&[(release, "5.15.90.1-microsoft-standard-WSL2\n")][..], "wsl", "2"),
            (&[(release, "4.4.0-19041-Microsoft\n")], "wsl", "1"),
            (&[("/proc/cpuinfo", "flags\t\t: fpu hypervisor lahf\n")], "hypervisor", "yes"),
            (&[("/.dockerenv", "")], "container", "docker"),
            (&[("/run/.containerenv", "")], "container", "podman"),
            (&[("/.singularity.d/labels.json", "{}")], "container", "apptainer"),
            (
                &[("/.dockerenv", ""), ("/proc/self/cgroup", "0::/kubepods/pod1\n")],
                "container",
                "docker, kubernetes",
            ),
            (&[("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")], "boost", "off"),
        ] {
            assert_eq!(text(&read(files), name), value, "{files:?}");
        }
        let mut facts = Facts::default();
        container(&mut facts, &Root::at("/nowhere"), true);
        assert_eq!(text(&facts, "container"), "kubernetes");
    }

    #[test]
    fn this_machine_has_a_kernel_cpus_and_memory() {
        let root = Root::default();
        let host = facts(3, &root, &mut Masker::new(Seeds::default()));
        assert!(host.texts.unwrap().contains_key("kernel"));
        let numbers = host.numbers.unwrap();
        assert!(numbers["cpus"] >= 1.0 && numbers["memory_bytes"] > 1e6);
        assert_eq!(host.t, 3);
        let end = changes(9, &root);
        assert_eq!((end.t, end.env), (9, None));
        let names = end.numbers.unwrap();
        assert!(names.keys().all(|name| numbers.contains_key(name)), "{names:?}");
        assert!(names.contains_key("memory_available_bytes") && !names.contains_key("cpus"));
    }
}
