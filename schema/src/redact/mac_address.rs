//! Rule `mac_address`: hardware addresses of network cards.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "mac_address",
    hint: "(?i)[0-9a-f]{2}[:-][0-9a-f]{2}[:-][0-9a-f]{2}[:-]",
    pattern: LazyLock::new(|| {
        compile(
            "(?i)(?:^|[^0-9a-f:.-])([0-9a-f]{2}(?:(?::[0-9a-f]{2}){5}|(?:-[0-9a-f]{2}){5}))(?:[^0-9a-f:-]|$)",
        )
    }),
    cases: Cases {
        masks: &[
            ("eth0 00:1b:21:ab:cd:ef up", "eth0 <mac_address-1> up"),
            ("AA-BB-CC-11-22-33", "<mac_address-1>"),
            ("link/ether 02:42:ac:11:00:02 brd", "link/ether <mac_address-1> brd"),
            ("'mac': '9c:6b:00:12:34:56'", "'mac': '<mac_address-1>'"),
            ("(3c:ec:ef:01:02:03)", "(<mac_address-1>)"),
        ],
        keeps: &[
            "12:34:56",
            "00000000:65:00.0",
            "2026-11-01-10-00-00-01",
            "00:11:22:33:44",
            "fe80:0000:0000:0000:aabb:ccff:fedd:eeff",
            "a1:b2:c3:d4:e5:f6:a7:b8",
        ],
    },
};
