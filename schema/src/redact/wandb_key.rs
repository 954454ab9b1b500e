//! Rule `wandb_key`: keys of Weights & Biases: 40 hex digits or 80 and more letters behind its name, and
//! the form that begins with `wandb_v1_`.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "wandb_key",
    hint: "(?i)wandb|w&b",
    pattern: LazyLock::new(|| {
        compile(
            r#"(?i)(?:wandb|w&b)[A-Za-z0-9_.( -]*?[ \t=:"'/(]+([0-9a-f]{40}|[A-Za-z0-9_]{80,})|(wandb_v[0-9]_[A-Za-z0-9_]{20,})"#,
        )
    }),
    cases: Cases {
        masks: &[
            (
                "WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567",
                "WANDB_API_KEY=<wandb_key-1>",
            ),
            ("wandb login 0123456789abcdef0123456789abcdef01234567", "wandb login <wandb_key-1>"),
            (
                "wandb.login(key='0123456789abcdef0123456789abcdef01234567')",
                "wandb.login(key='<wandb_key-1>')",
            ),
            ("wandb: 0123456789abcdef0123456789abcdef01234567", "wandb: <wandb_key-1>"),
            ("x wandb_v1_abcdefghijklmnopqrstuvwxyz y", "x <wandb_key-1> y"),
        ],
        keeps: &[
            "commit 0123456789abcdef0123456789abcdef01234567",
            "wandb: run 12ab",
            "revision=0123456789abcdef0123456789abcdef01234567",
            "WANDB_PROJECT=bench",
            "wandb_version",
        ],
    },
};
