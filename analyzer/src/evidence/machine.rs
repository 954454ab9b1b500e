//! The machine that a run was recorded on, in words.

use super::Account;
use crate::number::{bytes, grouped, plural};
use inferlint_schema::record::{Host, Nic};

/// Interfaces that are told of one machine.
const NICS: usize = 16;

impl Account {
    /// What was noted of the machine, by subject; a subject of which nothing was noted is left out.
    pub fn machine(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        if let Some(host) = &self.host {
            let end = self.host_at_end.as_ref();
            out.extend([
                ("system", system(host)),
                ("processors", processors(host, end)),
                ("memory", memory(host, end)),
                ("/dev/shm", shm(host, end)),
                ("clock", clock(host)),
            ]);
        }
        let session = self.session.as_ref();
        let ours = session.and_then(|s| Some(zone(s.tz.as_deref()?, s.tz_offset_s)));
        let server = self.server.as_ref();
        let theirs = server.and_then(|s| Some(zone(s.tz.as_deref()?, s.tz_offset_s)));
        let theirs = theirs.filter(|theirs| Some(theirs) != ours.as_ref());
        let theirs = theirs.map(|theirs| format!("the server's {theirs}"));
        out.push(("time zone", listed([ours, theirs])));
        let image = server.and_then(|server| server.image.clone());
        out.push(("image", image.unwrap_or_default()));
        let nics = self.nics.iter().filter(|nic| shown(nic)).take(NICS).map(nic);
        out.push(("network", nics.collect::<Vec<_>>().join("; ")));
        out.retain(|(_, words)| !words.is_empty());
        out
    }
}

fn text(host: &Host, name: &str) -> Option<String> {
    let text = host.texts.as_ref()?.get(name)?.lossy().into_owned();
    (!text.is_empty()).then_some(text)
}

fn number(host: &Host, name: &str) -> Option<f64> {
    host.numbers.as_ref()?.get(name).copied()
}

fn size(host: &Host, name: &str) -> Option<String> {
    number(host, name).map(|size| bytes(size as u64))
}

/// What there is of `parts`, one after the other.
fn listed<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What became of a fact that was there from the beginning, where it changed.
fn at_end(host: &Host, end: Option<&Host>, of: impl Fn(&Host) -> Option<String>) -> Option<String> {
    let (before, after) = (of(host)?, of(end?)?);
    (before != after).then(|| format!("{after} at the end"))
}

fn system(host: &Host) -> String {
    listed([
        text(host, "os"),
        text(host, "kernel").map(|kernel| format!("Linux {kernel}")),
        text(host, "arch"),
        text(host, "libc"),
        text(host, "machine"),
        text(host, "hypervisor").filter(|guest| guest == "yes").map(|_| "a virtual machine".into()),
        text(host, "wsl").filter(|version| version != "no").map(|version| format!("WSL {version}")),
        text(host, "container").map(|runtime| format!("in a container ({runtime})")),
    ])
}

fn processors(host: &Host, end: Option<&Host>) -> String {
    let cpus = number(host, "cpus");
    let usable = number(host, "cpus_usable").filter(|usable| Some(*usable) != cpus);
    let ghz = |name: &str| number(host, name).map(|hz| grouped(hz / 1e9, 1));
    let governor = |host: &Host| text(host, "governor");
    listed([
        cpus.map(|cpus| plural(cpus, "CPU")),
        usable.map(|usable| format!("{} of them usable", grouped(usable, 0))),
        text(host, "cpu_model"),
        number(host, "numa_nodes").map(|nodes| plural(nodes, "NUMA node")),
        text(host, "smt").filter(|smt| smt != "notsupported").map(|smt| format!("SMT {smt}")),
        governor(host).map(|governor| format!("governor {governor}")),
        at_end(host, end, governor),
        ghz("cpu_min_hz")
            .zip(ghz("cpu_max_hz"))
            .map(|(least, most)| format!("{least} to {most} GHz")),
        text(host, "boost").map(|boost| format!("boost {boost}")),
    ])
}

fn memory(host: &Host, end: Option<&Host>) -> String {
    let available = |host: &Host| size(host, "memory_available_bytes");
    let swap = match number(host, "swap_bytes") {
        Some(0.0) => Some("no swap".to_owned()),
        Some(swap) => Some(format!("{} of swap", bytes(swap as u64))),
        None => None,
    };
    listed([
        size(host, "memory_bytes"),
        available(host).map(|size| format!("{size} available")),
        at_end(host, end, available),
        swap,
        text(host, "transparent_hugepages").map(|how| format!("transparent huge pages {how}")),
    ])
}

fn shm(host: &Host, end: Option<&Host>) -> String {
    let used = |host: &Host| {
        let used = number(host, "shm_bytes")? - number(host, "shm_free_bytes")?;
        Some(bytes(used as u64))
    };
    listed([
        size(host, "shm_bytes"),
        used(host).map(|size| format!("{size} used")),
        at_end(host, end, used),
    ])
}

fn clock(host: &Host) -> String {
    let state = text(host, "clock_state");
    let error = number(host, "clock_max_error_us")
        .filter(|_| state.as_ref().is_some_and(|state| state.starts_with("synchronized")));
    listed([
        state,
        error.map(|us| format!("wrong by {} ms at most", grouped(us / 1e3, 1))),
        text(host, "clocksource").map(|source| format!("from {source}")),
    ])
}

/// `Europe/Berlin (+02:00)`.
fn zone(name: &str, offset_s: Option<i64>) -> String {
    let Some(offset_s) = offset_s else { return name.to_owned() };
    let (sign, minutes) = (if offset_s < 0 { '-' } else { '+' }, offset_s.unsigned_abs() / 60);
    let offset = format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    if name == offset { offset } else { format!("{name} ({offset})") }
}

/// True for what may carry a run's traffic: it has a device, or is up. Loopback always is.
fn shown(nic: &Nic) -> bool {
    let text = |name: &str| nic.texts.as_ref().and_then(|texts| texts.get(name));
    let up = text("state").is_some_and(|state| state == "up");
    nic.kind != "loopback" && (up || text("driver").is_some())
}

fn nic(nic: &Nic) -> String {
    let text = |name: &str| nic.texts.as_ref()?.get(name).cloned();
    let number = |name: &str| nic.numbers.as_ref()?.get(name).copied();
    let gigabits = |bits: f64| format!("{} Gbit/s", grouped(bits / 1e9, usize::from(bits < 1e10)));
    let facts = listed([
        text("driver"),
        text("state").map(|state| state.to_lowercase()),
        text("link_layer"),
        number("speed_bits_per_s").map(gigabits),
        number("mtu_bytes").map(|mtu| format!("MTU {}", grouped(mtu, 0))),
    ]);
    if facts.is_empty() { nic.name.clone() } else { format!("{}: {facts}", nic.name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferlint_schema::record::Versions;

    fn host(numbers: &[(&str, f64)], texts: &[(&str, &str)]) -> Host {
        Host {
            t: 0,
            numbers: Some(numbers.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect()),
            texts: Some(texts.iter().map(|(k, v)| ((*k).to_owned(), (*v).into())).collect()),
            env: None,
            env_left_out: None,
            why: None,
        }
    }

    fn interface(name: &str, kind: &str, bits: Option<f64>, texts: &[(&str, &str)]) -> Nic {
        Nic {
            t: 0,
            src: None,
            name: name.into(),
            kind: kind.into(),
            numbers: bits.map(|bits| [("speed_bits_per_s".to_owned(), bits)].into()),
            texts: Some(texts.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()),
            why: None,
        }
    }

    #[test]
    fn a_machine_is_told_by_subject_with_what_changed() {
        let begin = host(
            &[
                ("cpus", 128.0),
                ("cpus_usable", 16.0),
                ("numa_nodes", 2.0),
                ("cpu_min_hz", 0.4e9),
                ("cpu_max_hz", 3.75e9),
                ("memory_bytes", 2e12),
                ("memory_available_bytes", 1.9e12),
                ("swap_bytes", 0.0),
                ("shm_bytes", 64e6),
                ("shm_free_bytes", 64e6),
                ("clock_max_error_us", 1_500.0),
            ],
            &[
                ("os", "Ubuntu 24.04.1 LTS"),
                ("kernel", "6.8.0"),
                ("hypervisor", "no"),
                ("wsl", "no"),
                ("container", "docker"),
                ("cpu_model", "EPYC 9554"),
                ("smt", "on"),
                ("governor", "performance"),
                ("clock_state", "synchronized"),
                ("clocksource", "tsc"),
                ("transparent_hugepages", "madvise"),
            ],
        );
        let end = host(
            &[("memory_available_bytes", 1e12), ("shm_bytes", 64e6), ("shm_free_bytes", 4e6)],
            &[("governor", "powersave")],
        );
        let server = Versions {
            t: 0,
            src: None,
            of: "server".into(),
            packages: None,
            libraries: None,
            image: Some("docker.io/vllm/vllm-openai:v0.32.0".into()),
            tz: Some("Europe/Berlin".into()),
            tz_offset_s: Some(7200),
            why: None,
        };
        let nics = vec![
            interface("eth0", "ethernet", Some(1e11), &[("driver", "mlx5_core"), ("state", "up")]),
            interface("ifb0", "ethernet", None, &[("state", "down")]),
            interface("lo", "loopback", None, &[("state", "up")]),
            interface(
                "mlx5_0/1",
                "infiniband",
                Some(4e11),
                &[("driver", "mlx5_core"), ("state", "ACTIVE"), ("link_layer", "InfiniBand")],
            ),
        ];
        let account = Account {
            host: Some(begin),
            host_at_end: Some(end),
            nics,
            server: Some(server),
            ..Account::default()
        };
        let expected = [
            ("system", "Ubuntu 24.04.1 LTS, Linux 6.8.0, in a container (docker)"),
            (
                "processors",
                "128 CPUs, 16 of them usable, EPYC 9554, 2 NUMA nodes, SMT on, governor performance, powersave at the end, 0.4 to 3.8 GHz",
            ),
            (
                "memory",
                "2,000.0 GB, 1,900.0 GB available, 1,000.0 GB at the end, no swap, transparent huge pages madvise",
            ),
            ("/dev/shm", "64.0 MB, 0 bytes used, 60.0 MB at the end"),
            ("clock", "synchronized, wrong by 1.5 ms at most, from tsc"),
            ("time zone", "the server's Europe/Berlin (+02:00)"),
            ("image", "docker.io/vllm/vllm-openai:v0.32.0"),
            (
                "network",
                "eth0: mlx5_core, up, 100 Gbit/s; mlx5_0/1: mlx5_core, active, InfiniBand, 400 Gbit/s",
            ),
        ];
        let told = account.machine();
        let told: Vec<(&str, &str)> = told.iter().map(|(k, v)| (*k, v.as_str())).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn a_machine_of_which_nothing_was_noted_has_no_subject() {
        assert_eq!(Account::default().machine(), []);
        let account = Account { host: Some(host(&[], &[])), ..Account::default() };
        assert_eq!(account.machine(), []);
    }

    #[test]
    fn the_bound_of_a_clock_that_nobody_sets_right_is_not_told() {
        let host = host(&[("clock_max_error_us", 16e6)], &[("clock_state", "not synchronized")]);
        assert_eq!(clock(&host), "not synchronized");
    }

    #[test]
    fn a_zone_is_told_with_its_offset() {
        for (name, offset_s, words) in [
            ("Etc/UTC", Some(0), "Etc/UTC (+00:00)"),
            ("America/St_Johns", Some(-12_600), "America/St_Johns (-03:30)"),
            ("+02:00", Some(7200), "+02:00"),
            ("Europe/Berlin", None, "Europe/Berlin"),
            ("x", Some(i64::MIN), "x (-2562047788015215:30)"),
        ] {
            assert_eq!(zone(name, offset_s), words);
        }
    }
}
