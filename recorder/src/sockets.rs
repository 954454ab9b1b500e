//! Sockets that listen, and who holds them, from `/proc`.

use crate::procfs::Procfs;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::ffi::OsStrExt;

/// Bytes of a line of `/proc/net/tcp`; those of `tcp6` are longer.
const TCP_LINE: usize = 150;
/// Open files of one process that are looked at.
const FILES: usize = 65_536;

/// A TCP socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) ip: IpAddr,
    pub(crate) port: u16,
    /// Who made it.
    pub(crate) uid: u32,
    /// Its number, as in `/proc/PID/fd`; another socket has another.
    pub(crate) inode: u64,
}

/// The sockets that listen in the network namespace whose tables are in `/proc/FOLDER`: `net` is our
/// own, `PID/net` a process's.
pub(crate) fn listening(procs: &Procfs, folder: &str) -> Vec<Listening> {
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let Ok(file) = File::open(procs.path(format!("{folder}/{table}"))) else { continue };
        // The kernel fills a read as far as it is long, and walks all connections for it; those that
        // listen come first.
        let lines = BufReader::with_capacity(TCP_LINE, file).lines().skip(1);
        found.extend(lines.map_while(Result::ok).map_while(|line| listener(&line)));
    }
    found
}

/// A line of `/proc/net/tcp` whose socket listens (state `0A`; kernel's
/// Documentation/networking/proc_net_tcp.rst).
fn listener(line: &str) -> Option<Listening> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (ip, port) = fields.get(1)?.split_once(':')?;
    (*fields.get(3)? == "0A").then_some(())?;
    Some(Listening {
        ip: address(ip)?,
        port: u16::from_str_radix(port, 16).ok()?,
        uid: fields.get(7)?.parse().ok()?,
        inode: fields.get(9)?.parse().ok()?,
    })
}

/// An address as the kernel prints it: each 32 bits in network order, read as a number of this
/// machine's.
fn address(hex: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(hex.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    if hex.len() == 8 {
        return word(0).map(|bytes| Ipv4Addr::from(bytes).into());
    }
    let mut bytes = [0; 16];
    for (part, at) in bytes.chunks_exact_mut(4).zip([0, 8, 16, 24]) {
        part.copy_from_slice(&word(at)?);
    }
    Some(Ipv6Addr::from(bytes).into())
}

/// Numbers of the sockets a process has open. `None`: its open files cannot be read.
pub(crate) fn held(procs: &Procfs, pid: u32) -> Option<BTreeSet<u64>> {
    let files = std::fs::read_dir(procs.path(format!("{pid}/fd"))).ok()?.flatten().take(FILES);
    let socket = |target: &[u8]| {
        let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
        std::str::from_utf8(number).ok()?.parse().ok()
    };
    let targets = files.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    Some(targets.filter_map(|target| socket(target.as_os_str().as_bytes())).collect())
}

/// TCP ports a process listens on, by its open sockets. `None`: its open files cannot be read.
pub(crate) fn ports(procs: &Procfs, pid: u32) -> Option<Vec<u16>> {
    let held = held(procs, pid)?;
    let mut ports: Vec<u16> = listening(procs, &format!("{pid}/net"))
        .iter()
        .filter(|socket| held.contains(&socket.inode))
        .map(|socket| socket.port)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    Some(ports)
}

/// The sockets that take connections to `at`: those bound to that very address, else to all of its
/// family, else to all of IPv6, which by default takes IPv4 too (ipv6(7), `IPV6_V6ONLY`).
pub(crate) fn taking(listening: &[Listening], at: SocketAddr) -> Vec<Listening> {
    let any = IpAddr::from(Ipv6Addr::UNSPECIFIED);
    let ways = match at.ip() {
        IpAddr::V4(ip) => {
            [ip.into(), ip.to_ipv6_mapped().into(), Ipv4Addr::UNSPECIFIED.into(), any]
        }
        IpAddr::V6(ip) => [ip.into(), any, any, any],
    };
    let bound = |ip: IpAddr| {
        let here = listening.iter().filter(|socket| (socket.ip, socket.port) == (ip, at.port()));
        here.copied().collect::<Vec<_>>()
    };
    ways.into_iter().map(bound).find(|sockets| !sockets.is_empty()).unwrap_or_default()
}

/// True for an address of this host's own, in our network namespace.
pub(crate) fn is_here(procs: &Procfs, ip: IpAddr) -> bool {
    let table = |name| String::from_utf8_lossy(&procs.read(name).unwrap_or_default()).into_owned();
    ip.is_loopback()
        || match ip {
            // `|-- ADDRESS`, and below it what it is.
            IpAddr::V4(ip) => {
                let trie = table("net/fib_trie");
                let lines = trie.lines().zip(trie.lines().skip(1));
                let own = format!("|-- {ip}");
                lines.into_iter().any(|(line, below)| {
                    line.trim_start() == own && below.trim_start().starts_with("/32 host LOCAL")
                })
            }
            IpAddr::V6(ip) => {
                let own = format!("{:032x}", ip.to_bits());
                table("net/if_inet6").lines().any(|line| line.starts_with(&own))
            }
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn our_own_socket_is_found_with_its_address_and_holder() {
        let procs = Procfs::default();
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                println!("skipped: no {address} here");
                continue;
            };
            let bound = listener.local_addr().unwrap();
            let all = listening(&procs, "net");
            let found = all.iter().find(|s| (s.ip, s.port) == (bound.ip(), bound.port())).unwrap();
            assert_eq!(found.uid, rustix::process::getuid().as_raw());
            let me = std::process::id();
            assert!(held(&procs, me).unwrap().contains(&found.inode));
            assert!(ports(&procs, me).unwrap().contains(&bound.port()));
        }
    }

    #[test]
    fn the_socket_bound_most_narrowly_takes_the_connection() {
        let socket = |(inode, ip): (u64, &str)| Listening {
            ip: ip.parse().unwrap(),
            port: 8000,
            uid: 0,
            inode,
        };
        for (bound, at, takes) in [
            (&["127.0.0.1", "0.0.0.0", "::"][..], "127.0.0.1:8000", &[0][..]),
            (&["10.0.0.7", "0.0.0.0", "::"], "127.0.0.1:8000", &[1]),
            (&["::ffff:127.0.0.1", "0.0.0.0"], "127.0.0.1:8000", &[0]),
            (&["::"], "127.0.0.1:8000", &[0]),
            (&["0.0.0.0", "::"], "[::1]:8000", &[1]),
            (&["0.0.0.0", "0.0.0.0"], "127.0.0.1:8000", &[0, 1]),
            (&["0.0.0.0"], "127.0.0.1:8001", &[]),
            (&["127.0.0.1"], "[::1]:8000", &[]),
        ] {
            let sockets: Vec<Listening> = (0..).zip(bound.iter().copied()).map(socket).collect();
            let found = taking(&sockets, at.parse().unwrap());
            let found: Vec<u64> = found.iter().map(|socket| socket.inode).collect();
            assert_eq!(found, takes, "{bound:?} {at}");
        }
    }

    #[test]
    fn this_hosts_addresses_are_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("net")).unwrap();
        let trie = "Main:\n  +-- 10.0.0.0/24 2 0 2\n     |-- 10.0.0.0\n        /24 link UNICAST\n\
            \x20    |-- 10.0.0.7\n        /32 host LOCAL\n     |-- 10.0.0.255\n\
            \x20       /32 link BROADCAST\n";
        std::fs::write(folder.path().join("net/fib_trie"), trie).unwrap();
        let inet6 = "fd000000000000000000000000000002 04 40 00 82     eth0\n";
        std::fs::write(folder.path().join("net/if_inet6"), inet6).unwrap();
        let procs = Procfs::at(folder.path());
        for (ip, here) in [
            ("127.0.0.1", true),
            ("127.3.4.5", true),
            ("::1", true),
            ("10.0.0.7", true),
            ("10.0.0.0", false),
            ("10.0.0.255", false),
            ("10.0.0.70", false),
            ("fd00::2", true),
            ("fd00::3", false),
        ] {
            assert_eq!(is_here(&procs, ip.parse().unwrap()), here, "{ip}");
        }
    }

    #[test]
    fn lines_of_sockets_that_do_not_listen_and_foreign_text_are_none() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4026 1 0";
        let found = listener(line).unwrap();
        assert_eq!((found.ip, found.port), ("127.0.0.1".parse().unwrap(), 8080));
        assert_eq!((found.uid, found.inode), (1000, 4026));
        for text in [&line.replace(" 0A ", " 01 "), &line[..60], "", "a b c d", "0: zz:1 x 0A"] {
            assert_eq!(listener(text), None, "{text}");
        }
    }
}
