//! Rule `provider_prefix`: keys that providers mark by a prefix, one line each.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// Prefix and what follows at the least.
const PREFIXES: &[&str] = &[
    r"gsk_[A-Za-z0-9]{20,}",                       // Groq
    r"xai-[A-Za-z0-9_-]{20,}",                     // xAI
    r"pplx-[A-Za-z0-9]{20,}",                      // Perplexity
    r"r8_[A-Za-z0-9]{20,}",                        // Replicate
    r"dapi[0-9a-f]{32}(?:-[0-9]+)?",               // Databricks
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",             // Slack
    r"rpa_[A-Za-z0-9]{20,}",                       // RunPod
    r"esecret_[A-Za-z0-9]{20,}",                   // Anyscale
    r"hvs\.[A-Za-z0-9_-]{20,}",                    // Vault
    r"npm_[A-Za-z0-9]{30,}",                       // npm
    r"pypi-[A-Za-z0-9_-]{40,}",                    // PyPI
    r"fw_[A-Za-z0-9]{20,}",                        // Fireworks
    r"tgp_v1_[A-Za-z0-9_-]{20,}",                  // Together
    r"dckr_pat_[A-Za-z0-9_-]{20,}",                // Docker
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", // SendGrid
    r"lsv2_[a-z]{2}_[A-Za-z0-9_]{20,}",            // LangSmith
    r"lin_api_[A-Za-z0-9]{20,}",                   // Linear
    r"dop_v1_[0-9a-f]{40,}",                       // DigitalOcean
];

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "provider_prefix",
    hint: r"gsk_|xai-|pplx-|r8_|dapi[0-9a-f]|xox[abeoprs]-|rpa_|esecret_|hvs\.|npm_|pypi-|fw_|tgp_v1_|dckr_pat_|SG\.|lsv2_|lin_api_|dop_v1_",
    pattern: LazyLock::new(|| compile(&format!("(?:^|[^A-Za-z0-9])({})", PREFIXES.join("|")))),
    cases: Cases {
        masks: &[
            ("gsk_abcdefghijklmnopqrst", "<provider_prefix-1>"),
            ("'xai-abcdefghijklmnopqrst_-'", "'<provider_prefix-1>'"),
            (
                "pplx-abcdefghijklmnopqrst r8_abcdefghijklmnopqrst",
                "<provider_prefix-1> <provider_prefix-2>",
            ),
            ("dapi0123456789abcdef0123456789abcdef-2", "<provider_prefix-1>"),
            ("xoxb-1234567890-abc", "<provider_prefix-1>"),
            ("x=rpa_abcdefghijklmnopqrst;", "x=<provider_prefix-1>;"),
            (
                "esecret_abcdefghijklmnopqrst hvs.abcdefghijklmnopqrst",
                "<provider_prefix-1> <provider_prefix-2>",
            ),
            ("npm_abcdefghijklmnopqrstuvwxyz0123", "<provider_prefix-1>"),
            ("pypi-abcdefghijklmnopqrstuvwxyz0123456789abcd", "<provider_prefix-1>"),
            (
                "fw_abcdefghijklmnopqrst tgp_v1_abcdefghijklmnopqrst",
                "<provider_prefix-1> <provider_prefix-2>",
            ),
            ("dckr_pat_abcdefghijklmnopqrst", "<provider_prefix-1>"),
            ("SG.abcdefghijklmnop.abcdefghijklmnop", "<provider_prefix-1>"),
            (
                "lsv2_pt_abcdefghijklmnopqrst lin_api_abcdefghijklmnopqrst",
                "<provider_prefix-1> <provider_prefix-2>",
            ),
            ("dop_v1_0123456789abcdef0123456789abcdef01234567", "<provider_prefix-1>"),
        ],
        keeps: &[
            "gsk_short",
            "npm_config_cache",
            "fw_bw_time",
            "dapi",
            "hvs.txt",
            "pypi-mirror",
            "xgsk_abcdefghijklmnopqrst",
            "SG.LangServer",
            "r8_",
        ],
    },
};
