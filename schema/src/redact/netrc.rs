//! Rule `netrc`: passwords in the notation of `.netrc` files.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "netrc",
    hint: r"(?i)password[ \t]",
    pattern: LazyLock::new(|| {
        compile(r#"(?i)(?:^|\s)(?:machine[ \t]+\S+|default)[ \t].*?password[ \t]+([^\s"']+)"#)
    }),
    cases: Cases {
        masks: &[
            ("machine h.co login me password pw", "machine h.co login me password <netrc-1>"),
            ("default login me password pw x", "default login me password <netrc-1> x"),
            ("machine a password pw", "machine a password <netrc-1>"),
            (
                "  machine h login u account a password p1",
                "  machine h login u account a password <netrc-1>",
            ),
            ("Machine h login u PASSWORD p2", "Machine h login u PASSWORD <netrc-1>"),
        ],
        keeps: &[
            "no password given",
            "the machine has no password",
            "password",
            "default password: none",
            "machine learning",
        ],
    },
};
