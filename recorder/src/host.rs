//! What is read once of the machine and of our own environment.

use inferlint_schema::record::{Host, Text};
use inferlint_schema::redact::Masker;
use std::collections::BTreeMap;
use std::fs;

/// The machine as it is at `t`.
pub(crate) fn facts(t: u64, masker: &mut Masker) -> Host {
    let mut host = Facts::default();
    let uname = rustix::system::uname();
    host.text("kernel", Ok::<_, String>(uname.release().to_string_lossy()));
    host.text("arch", Ok::<_, String>(uname.machine().to_string_lossy()));
    host.text("os", field("/etc/os-release", "PRETTY_NAME=").map(|name| name.replace('"', "")));
    host.text("cpu_model", field("/proc/cpuinfo", "model name\t: "));
    host.number("cpus", read("/sys/devices/system/cpu/online").map(|list| count(&list)));
    let usable = std::thread::available_parallelism().map_err(|error| error.to_string());
    host.number("cpus_usable", usable.map(|n| n.get() as f64));
    let kib = |name| field("/proc/meminfo", name).and_then(|text| kib(&text));
    host.number("memory_bytes", kib("MemTotal:"));
    host.number("memory_available_bytes", kib("MemAvailable:"));
    let (env, left_out) = masker.env(std::env::vars_os());
    let Facts { numbers, texts, why } = host;
    Host {
        t,
        numbers: Some(numbers),
        texts: Some(texts),
        env: Some(env),
        env_left_out: Some(left_out),
        why: (!why.is_empty()).then_some(why),
    }
}

/// Identity of the kernel's boot.
pub(crate) fn boot_id() -> Result<String, String> {
    read("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}

/// The host's time zone: `TZ`, else what `/etc/localtime` points at.
pub(crate) fn time_zone() -> Option<String> {
    let set = std::env::var("TZ").ok().filter(|tz| !tz.is_empty());
    set.or_else(|| {
        let target = fs::read_link("/etc/localtime").ok()?;
        Some(target.to_str()?.split_once("zoneinfo/")?.1.to_owned())
    })
}

#[derive(Default)]
struct Facts {
    numbers: BTreeMap<String, f64>,
    texts: BTreeMap<String, Text>,
    why: BTreeMap<String, String>,
}

impl Facts {
    fn number(&mut self, name: &str, value: Result<f64, String>) {
        match value {
            Ok(value) => drop(self.numbers.insert(name.to_owned(), value)),
            Err(why) => drop(self.why.insert(name.to_owned(), why)),
        }
    }

    fn text(&mut self, name: &str, value: Result<impl AsRef<str>, String>) {
        match value {
            Ok(value) => drop(self.texts.insert(name.to_owned(), Text::from(value.as_ref()))),
            Err(why) => drop(self.why.insert(name.to_owned(), why)),
        }
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// What follows `start` on the first line that begins with it.
fn field(path: &str, start: &str) -> Result<String, String> {
    let text = read(path)?;
    let found = text.lines().find_map(|line| line.strip_prefix(start));
    found.map(|rest| rest.trim().to_owned()).ok_or_else(|| format!("{path}: no {start}"))
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

    #[test]
    fn lists_of_cpus_are_counted() {
        for (list, n) in [("0", 1.0), ("0-3\n", 4.0), ("0-3,8-11", 8.0), ("", 0.0), ("3-1", 0.0)] {
            assert_eq!(count(list), n, "{list}");
        }
    }

    #[test]
    fn this_machine_has_a_kernel_cpus_and_memory() {
        let host = facts(3, &mut Masker::new(Seeds::default()));
        assert!(host.texts.unwrap().contains_key("kernel"));
        let numbers = host.numbers.unwrap();
        assert!(numbers["cpus"] >= 1.0 && numbers["memory_bytes"] > 1e6);
        assert_eq!(host.t, 3);
    }
}
