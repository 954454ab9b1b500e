//! Rule `webhook`: paths of webhooks, which are their password: Slack, Discord, Teams, Telegram.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "webhook",
    hint: r"(?i)slack\.com/|/webhooks/|webhook\.office\.com|telegram\.org/bot",
    pattern: LazyLock::new(|| {
        compile(
            r#"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks|[a-z0-9-]+\.webhook\.office\.com)/([^\s"'<>\\]+)|api\.telegram\.org/bot([^\s"'<>/\\]+)"#,
        )
    }),
    cases: Cases {
        masks: &[
            (
                "https://hooks.slack.com/services/T0/B0/abc",
                "https://hooks.slack.com/services/<webhook-1>",
            ),
            (
                "'https://hooks.slack.com/workflows/x'",
                "'https://hooks.slack.com/workflows/<webhook-1>'",
            ),
            (
                "https://discord.com/api/webhooks/12/ab-c d",
                "https://discord.com/api/webhooks/<webhook-1> d",
            ),
            (
                "https://x.webhook.office.com/webhookb2/ab@cd",
                "https://x.webhook.office.com/<webhook-1>",
            ),
            (
                "https://api.telegram.org/bot12:ab/sendMessage",
                "https://api.telegram.org/bot<webhook-1>/sendMessage",
            ),
        ],
        keeps: &[
            "https://slack.com/help",
            "hooks.slack.com",
            "https://discord.com/channels/1",
            "https://api.telegram.org/x",
            "webhook: none",
        ],
    },
};
