//! Rule `gcp_key`: Google API keys and OAuth tokens.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "gcp_key",
    hint: r"AIza|ya29\.|GOCSPX-",
    pattern: LazyLock::new(|| {
        compile(
            r"(?:^|[^A-Za-z0-9])(AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})",
        )
    }),
    cases: Cases {
        masks: &[
            ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "<gcp_key-1>"),
            ("x?k=AIzaSyA1234567890abcdefghijklmnopqrstuv&y", "x?k=<gcp_key-1>&y"),
            ("ya29.a0AfH6SMBabcdefghijkl", "<gcp_key-1>"),
            ("'ya29.abcdefghijklmnopqrstuvwxyz'", "'<gcp_key-1>'"),
            ("GOCSPX-abcdefghijklmnopqrst", "<gcp_key-1>"),
        ],
        keeps: &["AIza", "AIzaShort", "ya29.short", "ya29 abcdefghijklmnopqrstuvwxyz", "GOCSPX"],
    },
};
