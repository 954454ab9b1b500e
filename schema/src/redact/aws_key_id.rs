//! Rule `aws_key_id`: AWS access key ids.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "aws_key_id",
    hint: "AKIA|ASIA|ABIA|ACCA|A3T",
    pattern: LazyLock::new(|| {
        compile("(?:^|[^A-Za-z0-9])((?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16,})")
    }),
    cases: Cases {
        masks: &[
            ("AKIAIOSFODNN7EXAMPLE", "<aws_key_id-1>"),
            ("id=ASIAIOSFODNN7EXAMPLE,", "id=<aws_key_id-1>,"),
            ("'ABIAABCDEFGHIJKLMNOP'", "'<aws_key_id-1>'"),
            ("ACCAABCDEFGHIJKLMNOP", "<aws_key_id-1>"),
            ("A3TXABCDEFGHIJKLMNOP AKIAABCDEFGHIJKLMNOP", "<aws_key_id-1> <aws_key_id-2>"),
        ],
        keeps: &[
            "AKIA",
            "AKIAabcdefghijklmnop",
            "XAKIAIOSFODNN7EXAMPLE",
            "ASIA-PACIFIC",
            "A3T rex",
        ],
    },
};
