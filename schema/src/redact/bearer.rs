//! Rule `bearer`: the word behind `Bearer`, `Token` or `Basic`.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use super::vocabulary::is_token_like;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// See the module.
pub(super) struct Bearer;

static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?i)(?:^|[^a-z0-9_-])(bearer|token|basic)(?:[ \t]+|%20|\+)([A-Za-z0-9._~+/=-]{6,})")
});

impl Rule for Bearer {
    fn name(&self) -> &'static str {
        "bearer"
    }

    fn hint(&self) -> &'static str {
        r"(?i)bearer|token[ \t%+]|basic[ \t%+]"
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for found in WORDS.captures_iter(line) {
            let (Some(scheme), Some(word)) = (found.get(1), found.get(2)) else { continue };
            let prose = ["authentication", "authorization", "scheme", "tokens", "header"];
            let bearer = scheme.as_bytes().eq_ignore_ascii_case(b"bearer")
                && !prose
                    .iter()
                    .any(|prose| word.as_bytes().eq_ignore_ascii_case(prose.as_bytes()));
            if bearer || is_token_like(word.as_bytes()) {
                hits.mask(word.range());
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("sent Bearer swordfish.", "sent Bearer <bearer-1>"),
                ("bearer abc-123_x y", "bearer <bearer-1> y"),
                ("Basic dXNlcjpwYXNz1=", "Basic <bearer-1>"),
                ("Token abc123def ok", "Token <bearer-1> ok"),
                ("auth=Bearer%20abcdefgh", "auth=Bearer%20<bearer-1>"),
            ],
            keeps: &[
                "token ids: [1, 2]",
                "Token throughput 512.25",
                "basic attention",
                "Bearer authentication is off",
                "Bearer <bearer-1>",
                "time per output token 0.0213",
            ],
        }
    }
}
