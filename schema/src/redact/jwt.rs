//! Rule `jwt`: JSON web tokens.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "jwt",
    hint: "eyJ",
    pattern: LazyLock::new(|| {
        compile(r"(?:^|[^A-Za-z0-9])(eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{4,}){2,4})")
    }),
    cases: Cases {
        masks: &[
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij", "<jwt-1>"),
            ("t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcd_-ghij;", "t=<jwt-1>;"),
            ("'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcd'", "'<jwt-1>'"),
            ("eyJhbGciOiJkaXIi.aaaa.bbbb.cccc.dddd", "<jwt-1>"),
            ("x eyJhbGciOiJIUzI1NiJ9.aaaa.bbbb y", "x <jwt-1> y"),
        ],
        keeps: &[
            "eyJ",
            "eyJhbGciOiJIUzI1NiJ9",
            "eyJhbGci.x.y",
            "keyJhbGciOiJIUzI1NiJ9.aaaa.bbbb",
            "eyJhbGciOiJIUzI1NiJ9.aaaa",
        ],
    },
};
