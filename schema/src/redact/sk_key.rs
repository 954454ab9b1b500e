//! Rule `sk_key`: keys that begin with `sk-`: OpenAI, Anthropic, OpenRouter, LiteLLM and others.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "sk_key",
    hint: "sk-",
    pattern: LazyLock::new(|| compile("(?:^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{16,})")),
    cases: Cases {
        masks: &[
            ("key sk-abcdefghijklmnop.", "key <sk_key-1>."),
            ("sk-proj-Ab1_-Ab1Ab1Ab1Ab1", "<sk_key-1>"),
            ("'sk-ant-api03-aaaaaaaaaaaa'", "'<sk_key-1>'"),
            ("sk-or-v1-0123456789abcdef", "<sk_key-1>"),
            ("a:sk-1234567890abcdef,b", "a:<sk_key-1>,b"),
        ],
        keeps: &[
            "task-0123456789abcdef01",
            "disk-usage-of-the-whole-run",
            "sk-short",
            "mask-0123456789abcdef",
            "risk-assessment-report",
        ],
    },
};
