//! Network interfaces and InfiniBand ports, read once of `/sys/class/net` (kernel's
//! Documentation/ABI/testing/sysfs-class-net) and `/sys/class/infiniband`
//! (Documentation/ABI/stable/sysfs-class-infiniband).
//!
//! No address of either kind is read, and no GUID, no alias and no node description.

use crate::facts::{Facts, some};
use crate::root::Root;
use inferlint_schema::record::Nic;
use std::collections::BTreeMap;
use std::path::Path;

/// Interfaces and ports recorded of each kind; a Kubernetes node has hundreds of virtual ones.
const MOST: usize = 64;
const NET: &str = "/sys/class/net";
const INFINIBAND: &str = "/sys/class/infiniband";

/// What there is at `t`: interfaces with a device behind them first.
pub(crate) fn all(t: u64, root: &Root) -> Vec<Nic> {
    let mut names = root.names(NET).unwrap_or_default();
    // With bonding there is a file among the interfaces (`bonding_masters`).
    names.retain(|name| root.path(&format!("{NET}/{name}")).is_dir());
    names.sort_by_cached_key(|name| !root.has(&format!("{NET}/{name}/device")));
    let mut nics: Vec<Nic> = names.iter().take(MOST).map(|name| interface(t, root, name)).collect();
    // An interface without a name of its own is named by its address (systemd.net-naming-scheme).
    for (number, nic) in nics.iter_mut().enumerate() {
        if let Some(prefix) = before_address(&nic.name) {
            let name = format!("{prefix}<mac_address-{}>", number + 1);
            for why in nic.why.iter_mut().flat_map(BTreeMap::values_mut) {
                *why = why.replace(&nic.name, &name);
            }
            nic.name = name;
        }
    }
    let ports = root.names(INFINIBAND).unwrap_or_default().into_iter().flat_map(|card| {
        let ports = root.names(&format!("{INFINIBAND}/{card}/ports")).unwrap_or_default();
        ports.into_iter().map(move |port| (card.clone(), port))
    });
    nics.extend(ports.take(MOST).map(|(card, port)| infiniband(t, root, &card, &port)));
    nics
}

fn interface(t: u64, root: &Root, name: &str) -> Nic {
    let folder = format!("{NET}/{name}");
    let file = |name: &str| root.text(&format!("{folder}/{name}"));
    let mut facts = Facts::default();
    // ARPHRD numbers of the kernel's if_arp.h.
    let kind = match root.number(&format!("{folder}/type")) {
        Ok(1.0) => "ethernet",
        Ok(32.0) => "infiniband",
        Ok(772.0) => "loopback",
        _ => "other",
    };
    facts.number("mtu_bytes", root.number(&format!("{folder}/mtu")));
    facts.text("state", file("operstate"));
    facts.text("duplex", file("duplex").and_then(known));
    // In Mbit/s; -1 where the driver does not know, and an error while the link is down.
    let speed = root.number(&format!("{folder}/speed"));
    let speed = speed.and_then(|mbit| {
        if mbit > 0.0 { Ok(mbit * 1e6) } else { Err("not known to the driver".to_owned()) }
    });
    facts.number("speed_bits_per_s", speed);
    if root.has(&format!("{folder}/device")) {
        device(&mut facts, root, &folder);
    } else {
        facts.why.insert("driver".to_owned(), "no device is behind it".to_owned());
    }
    record(t, name.to_owned(), kind, facts)
}

fn infiniband(t: u64, root: &Root, card: &str, port: &str) -> Nic {
    let card_folder = format!("{INFINIBAND}/{card}");
    let folder = format!("{card_folder}/ports/{port}");
    let file = |name: &str| root.text(&format!("{folder}/{name}"));
    let mut facts = Facts::default();
    // `4: ACTIVE`, `5: LinkUp`.
    let word = |text: String| text.split_once(": ").map_or(text.clone(), |(_, w)| w.to_owned());
    facts.text("state", file("state").map(word));
    facts.text("physical_state", file("phys_state").map(word));
    facts.text("link_layer", file("link_layer"));
    let rate = file("rate");
    facts.number("speed_bits_per_s", rate.clone().and_then(|rate| gigabits(&rate)));
    facts.text("rate", rate);
    for (name, at) in [("firmware", "fw_ver"), ("board", "board_id"), ("model", "hca_type")] {
        facts.text(name, root.text(&format!("{card_folder}/{at}")));
    }
    device(&mut facts, root, &card_folder);
    record(t, format!("{card}/{port}"), "infiniband", facts)
}

/// Driver and NUMA node of the device behind `folder`.
fn device(facts: &mut Facts, root: &Root, folder: &str) {
    let driver = root.link(&format!("{folder}/device/driver"));
    let name = |link: &Path| Some(link.file_name()?.to_string_lossy().into_owned());
    let driver = driver.and_then(|link| name(&link).ok_or_else(|| "a nameless link".to_owned()));
    facts.text("driver", driver);
    let node = root.number(&format!("{folder}/device/numa_node"));
    let node = node.and_then(|node| {
        if node >= 0.0 { Ok(node) } else { Err("the kernel knows no node of it".to_owned()) }
    });
    facts.number("numa_node", node);
}

fn record(t: u64, name: String, kind: &str, facts: Facts) -> Nic {
    let Facts { numbers, texts, why } = facts;
    let (numbers, texts, why) = (some(numbers), some(texts), some(why));
    Nic { t, src: None, name, kind: kind.to_owned(), numbers, texts, why }
}

fn known(text: String) -> Result<String, String> {
    if text == "unknown" { Err("not known to the driver".to_owned()) } else { Ok(text) }
}

/// `400 Gb/sec (4X NDR)` in bits per second.
fn gigabits(rate: &str) -> Result<f64, String> {
    let number = rate.split_once(" Gb/sec").and_then(|(number, _)| number.parse::<f64>().ok());
    number.map(|gigabits| gigabits * 1e9).ok_or_else(|| format!("{rate:?} is no rate"))
}

/// What stands before the address in a name like `enx001b21abcdef`.
fn before_address(name: &str) -> Option<&str> {
    let (prefix, address) = name.split_at_checked(name.len().checked_sub(12)?)?;
    let is_address = address.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_address && prefix.ends_with('x')).then_some(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (name, text) in files {
            let path = root.path(&format!("/sys/class/{name}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn interfaces_are_told_in_base_units_and_without_addresses() {
        let (_folder, root) = tree(&[
            ("net/a-bridge/type", "1\n"),
            ("net/a-bridge/speed", "10000\n"),
            ("net/eth0/type", "1\n"),
            ("net/eth0/speed", "100000\n"),
            ("net/eth0/duplex", "full\n"),
            ("net/eth0/mtu", "9000\n"),
            ("net/eth0/operstate", "up\n"),
            ("net/eth0/address", "00:1b:21:ab:cd:ef\n"),
            ("net/eth0/ifalias", "to rack 7\n"),
            ("net/eth0/device/numa_node", "1\n"),
            ("net/enx001b21abcdef/type", "1\n"),
            ("net/enx001b21abcdef/speed", "-1\n"),
            ("net/enx001b21abcdef/duplex", "unknown\n"),
            ("net/enx001b21abcdef/device/numa_node", "-1\n"),
            ("net/lo/type", "772\n"),
            ("net/ib0/type", "32\n"),
            ("net/wg0/type", "65534\n"),
        ]);
        symlink("../../../drivers/mlx5_core", root.path("/sys/class/net/eth0/device/driver"))
            .unwrap();
        let nics = all(4, &root);
        let kinds: Vec<(&str, &str)> = nics.iter().map(|n| (&*n.name, &*n.kind)).collect();
        assert_eq!(
            kinds,
            [
                ("enx<mac_address-1>", "ethernet"),
                ("eth0", "ethernet"),
                ("a-bridge", "ethernet"),
                ("ib0", "infiniband"),
                ("lo", "loopback"),
                ("wg0", "other"),
            ],
            "with a device behind them first"
        );
        let numbers = nics[1].numbers.as_ref().unwrap();
        for (name, value) in [("speed_bits_per_s", 1e11), ("mtu_bytes", 9e3), ("numa_node", 1.0)] {
            assert_eq!(numbers[name], value);
        }
        let texts = nics[1].texts.as_ref().unwrap();
        for (name, value) in [("driver", "mlx5_core"), ("state", "up"), ("duplex", "full")] {
            assert_eq!(texts[name], value);
        }
        assert_eq!(nics[1].why, None);
        let why = nics[0].why.as_ref().unwrap();
        for (name, reason) in [
            ("speed_bits_per_s", "not known to the driver"),
            ("duplex", "not known to the driver"),
            ("numa_node", "the kernel knows no node of it"),
        ] {
            assert_eq!(why[name], reason);
        }
        assert!(why["driver"].contains("No such file") && why["mtu_bytes"].contains("No such"));
        assert_eq!(nics[2].why.as_ref().unwrap()["driver"], "no device is behind it");
        let everything = format!("{nics:?}").to_lowercase();
        assert!(!everything.contains("ab:cd") && !everything.contains("rack 7"));
        assert!(!everything.contains("001b21"), "{everything}");
    }

    #[test]
    fn every_infiniband_port_is_told() {
        let (_folder, root) = tree(&[
            ("infiniband/mlx5_0/fw_ver", "28.39.1002\n"),
            ("infiniband/mlx5_0/board_id", "MT_0000000838\n"),
            ("infiniband/mlx5_0/hca_type", "MT4129\n"),
            ("infiniband/mlx5_0/node_guid", "0002:c903:0011:2233\n"),
            ("infiniband/mlx5_0/device/numa_node", "0\n"),
            ("infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
            ("infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n"),
            ("infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n"),
            ("infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n"),
            ("infiniband/mlx5_0/ports/2/state", "1: DOWN\n"),
            ("infiniband/mlx5_0/ports/2/rate", "fast\n"),
        ]);
        let nics = all(4, &root);
        assert_eq!(nics.len(), 2);
        let (one, two) = (&nics[0], &nics[1]);
        assert_eq!((&*one.name, &*one.kind), ("mlx5_0/1", "infiniband"));
        assert_eq!(one.numbers.as_ref().unwrap()["speed_bits_per_s"], 4e11);
        for (name, value) in [
            ("state", "ACTIVE"),
            ("physical_state", "LinkUp"),
            ("link_layer", "InfiniBand"),
            ("rate", "400 Gb/sec (4X NDR)"),
            ("firmware", "28.39.1002"),
            ("board", "MT_0000000838"),
            ("model", "MT4129"),
        ] {
            assert_eq!(one.texts.as_ref().unwrap()[name], value, "{name}");
        }
        assert_eq!(two.texts.as_ref().unwrap()["state"], "DOWN");
        let why = two.why.as_ref().unwrap();
        assert_eq!(why["speed_bits_per_s"], "\"fast\" is no rate");
        assert!(why["link_layer"].contains("No such file"));
        assert!(!format!("{nics:?}").contains("c903"));
    }

    #[test]
    fn a_machine_without_interfaces_has_none_and_one_with_many_tells_those_with_a_device() {
        let (_folder, root) = tree(&[]);
        assert_eq!(all(0, &root), []);
        for n in 0..200 {
            fs::create_dir_all(root.path(&format!("{NET}/veth{n:03}"))).unwrap();
        }
        fs::create_dir_all(root.path(&format!("{NET}/zz0/device"))).unwrap();
        fs::write(root.path(&format!("{NET}/bonding_masters")), "bond0\n").unwrap();
        let nics = all(0, &root);
        assert_eq!((nics.len(), &*nics[0].name), (MOST, "zz0"));
        assert!(nics.iter().all(|nic| nic.name != "bonding_masters"), "no interface");
    }

    #[test]
    fn only_a_name_made_of_an_address_loses_it() {
        for (name, prefix) in [
            ("enx001b21abcdef", Some("enx")),
            ("wlx001B21ABCDEF", Some("wlx")),
            ("br-001b21abcdef", None),
            ("enp3s0", None),
            ("enx001b21abcdeg", None),
            ("äöüx0011223344ä", None),
            ("", None),
        ] {
            assert_eq!(before_address(name), prefix, "{name}");
        }
    }
}
