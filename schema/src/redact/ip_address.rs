//! Rule `ip_address`: IPv4 and IPv6 addresses, parsed; loopback, unspecified, broadcast and
//! multicast ones stay. Versions with four parts are told apart by what stands around them.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use regex::bytes::Regex;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

/// See the module.
pub(super) struct IpAddress;

static FOUR: LazyLock<Regex> =
    LazyLock::new(|| compile(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}"));
static SIX: LazyLock<Regex> =
    LazyLock::new(|| compile(r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}"));

/// Words behind which four numbers are a version.
static VERSION_WORD: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)(?:(?:version|ver|v|release|build|revision|driver|cuda|cudnn|cublas|cublaslt|nccl|cutlass|toolkit|runtime|package|firmware|chrome|[a-z0-9_-]*-cu[0-9]+)["']?[ \t]*[:=]?[ \t]*["'(]?|[=~<>!]=[ \t]*|[._+-])$"#,
    )
});

impl Rule for IpAddress {
    fn name(&self) -> &'static str {
        "ip_address"
    }

    fn hint(&self) -> &'static str {
        r"[0-9]\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]|[0-9A-Fa-f]{4}:[0-9A-Fa-f]{0,4}:"
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for found in FOUR.find_iter(line) {
            let address = std::str::from_utf8(found.as_bytes()).ok().and_then(|a| a.parse().ok());
            if let Some(address) = address
                && !is_version(line, &found.range())
                && let Some(name) = name_of_four(address)
            {
                hits.rename(found.range(), found.as_bytes(), name);
            }
        }
        for found in SIX.find_iter(line) {
            let address = std::str::from_utf8(found.as_bytes()).ok().and_then(|a| a.parse().ok());
            if let Some(address) = address
                && stands_alone(line, &found.range())
                && let Some(name) = name_of_six(address, found.as_bytes())
            {
                hits.rename(found.range(), address.to_string().as_bytes(), name);
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("10.0.0.5:8000 and 8.8.8.8", "ip4-private-1:8000 and ip4-global-1"),
                ("http://192.168.1.20/x", "http://ip4-private-1/x"),
                ("ip=172.20.3.4)", "ip=ip4-private-1)"),
                ("addr 2001:db8:0:0::5 and fe80::1", "addr ip6-global-1 and ip6-private-1"),
                ("[fd00:1:2::3]:80, FD00:1:2:0::3", "[ip6-private-1]:80, ip6-private-1"),
                ("INFO: 100.64.1.2:55000 - \"GET /\"", "INFO: ip4-private-1:55000 - \"GET /\""),
                ("10.0.0.0/8", "ip4-private-1/8"),
            ],
            keeps: &[
                "127.0.0.1:8000, 0.0.0.0:80, 224.0.0.1, 255.255.255.255, ::1, ff02::1, [::]:80",
                "nvidia-cublas-cu12==12.4.5.8",
                "nvidia-cublas-cu12 12.4.5.8",
                "libcudnn.so.9.1.0.70",
                "driver version: 12.4.131.2",
                "cudnn 9.1.0.70",
                "v1.2.3.4, 1.2.3.4.dev5, 1.2.3.4+cu128, 1.2.3.4-rc1",
                "999.1.1.1, 1.2.3.04, 1.2.3",
                "12:34:56 std::vector c10::Error a::b",
                "00000000:65:00.0",
            ],
        }
    }
}

/// True when the four numbers belong to something longer or stand where a version stands.
fn is_version(line: &[u8], span: &Range<usize>) -> bool {
    let before = line.get(..span.start).unwrap_or_default();
    let before = before.get(before.len().saturating_sub(40)..).unwrap_or_default();
    let after = line.get(span.end..).unwrap_or_default();
    before.last().is_some_and(u8::is_ascii_alphanumeric)
        || VERSION_WORD.is_match(before)
        || match after {
            [b'.' | b'-', next, ..] => {
                next.is_ascii_alphanumeric() && !b"0123456789".contains(next)
                    || (after.first() == Some(&b'.') && next.is_ascii_digit())
            }
            [b'+' | b'_', ..] => true,
            [next, ..] => next.is_ascii_alphanumeric(),
            [] => false,
        }
}

/// True when nothing that could be part of an address stands around the span.
fn stands_alone(line: &[u8], span: &Range<usize>) -> bool {
    let part = |b: &u8| b.is_ascii_alphanumeric() || b":._".contains(b);
    !span.start.checked_sub(1).and_then(|i| line.get(i)).is_some_and(part)
        && !line.get(span.end).is_some_and(|b| part(b) && *b != b'.')
}

/// `None`: an address that says nothing about anyone.
fn name_of_four(address: Ipv4Addr) -> Option<&'static str> {
    let [first, second, ..] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    if address.is_loopback() || first == 0 || address.is_multicast() || address.is_broadcast() {
        None
    } else if address.is_private() || address.is_link_local() || shared {
        Some("ip4-private")
    } else {
        Some("ip4-global")
    }
}

/// `None`: as above, and short groups that are rather a name in C++.
fn name_of_six(address: Ipv6Addr, text: &[u8]) -> Option<&'static str> {
    let [first, ..] = address.segments();
    let groups = text.split(|b| *b == b':').filter(|group| !group.is_empty());
    let (count, long) =
        groups.fold((0, false), |(n, long), group| (n + 1, long || group.len() == 4));
    let looks_like_one = count >= 4 || (long && text.iter().any(u8::is_ascii_digit));
    let silent = address.is_loopback() || address.is_unspecified() || address.is_multicast();
    if silent || !looks_like_one {
        None
    } else if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfe80 {
        Some("ip6-private")
    } else {
        Some("ip6-global")
    }
}
