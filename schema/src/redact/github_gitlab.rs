//! Rule `github_gitlab`: tokens of GitHub and GitLab.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "github_gitlab",
    hint: "gh[pousr]_|github_pat_|gl(?:pat|dt|rt|ptt|soat)-",
    pattern: LazyLock::new(|| {
        compile(
            "(?:^|[^A-Za-z0-9])(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}|gl(?:pat|dt|rt|ptt|soat)-[A-Za-z0-9_-]{16,})",
        )
    }),
    cases: Cases {
        masks: &[
            ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "<github_gitlab-1>"),
            ("gho_abcdefghijklmnopqrstuvwxyz0123", "<github_gitlab-1>"),
            ("github_pat_11ABCDEFG0abcdefghij_k", "<github_gitlab-1>"),
            ("'glpat-abcdefghij0123456789'", "'<github_gitlab-1>'"),
            ("x ghs_abcdefghijklmnopqrstuvwxyz0123 y", "x <github_gitlab-1> y"),
        ],
        keeps: &[
            "ghp_short",
            "github_path",
            "glpat",
            "ghx_abcdefghijklmnopqrstuvwxyz0123456789",
            "high_resolution",
        ],
    },
};
