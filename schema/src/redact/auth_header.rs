//! Rule `auth_header`: values of headers that carry a credential, in header lines, `-H` arguments,
//! JSON and Python dicts. The scheme word (`Bearer`) stays.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use super::value::value;
use super::vocabulary::is_no_value;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// See the module.
pub(super) struct AuthHeader;

/// What stands before the name, the name, the quote behind it, and the sign.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)(?:^|([^a-z0-9_-]))((?:proxy-)?authorization|(?:x-)?api-key|x-[a-z-]*(?:token|key|secret)|ocp-apim-subscription-key|(?:set-)?cookie)(\\*["'])?[ \t]*[:=,][ \t]*"#,
    )
});

/// Schemes whose one credential follows.
static SCHEME: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"^(?i)(?:bearer|basic|token|apikey|negotiate|key|aws4[a-z0-9-]*)[ \t]+")
});

impl Rule for AuthHeader {
    fn name(&self) -> &'static str {
        "auth_header"
    }

    fn hint(&self) -> &'static str {
        r"(?i)authorization|api-key|cookie|subscription-key|x-[a-z-]*(?:token|key|secret)"
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        let end = line.trim_ascii_end().len();
        for head in HEAD.captures_iter(line) {
            let (Some(whole), Some(name)) = (head.get(0), head.get(2)) else { continue };
            let given = value(line, whole.end());
            let span = if given.quoted {
                given.span
            } else if head.get(3).is_some() {
                // `"cookie": 5` or `'cookie': None`: no header.
                continue;
            } else {
                let quote = head.get(1).map(|before| before.as_bytes());
                header_value(line, whole.end()..end, quote, name.as_bytes())
            };
            let value = line.get(span.clone()).unwrap_or_default();
            let scheme = SCHEME.find(value).map_or(0, |scheme| scheme.end());
            if !is_no_value(value.get(scheme..).unwrap_or_default()) {
                hits.mask(span.start + scheme..span.end);
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("Authorization: Bearer abc", "Authorization: Bearer <auth_header-1>"),
                (
                    "curl -H 'authorization: Basic dTpw' http://x",
                    "curl -H 'authorization: Basic <auth_header-1>' http://x",
                ),
                (
                    r#"{"Authorization": "Bearer a b", "n": 1}"#,
                    r#"{"Authorization": "Bearer <auth_header-1>", "n": 1}"#,
                ),
                ("{'X-Api-Key': 'k', 'a': 1}", "{'X-Api-Key': '<auth_header-1>', 'a': 1}"),
                ("(b'authorization', b'Token k')", "(b'authorization', b'Token <auth_header-1>')"),
                ("< Set-Cookie: a=b; Path=/", "< Set-Cookie: <auth_header-1>"),
                ("--header x-api-key=abc --n 5", "--header x-api-key=<auth_header-1> --n 5"),
                (
                    "Proxy-Authorization: Digest username=\"a\", x",
                    "Proxy-Authorization: <auth_header-1>",
                ),
                ("X-Auth-Token: abc next", "X-Auth-Token: <auth_header-1> next"),
            ],
            keeps: &[
                "Authorization: None",
                "the authorization failed",
                "Authorization: Bearer <auth_header-1>",
                "'cookie': None, 'x': 1",
                "x-request-id: 5",
                "cookies: 3",
                "authorization: ",
            ],
        }
    }
}

/// A header's value without quotes of its own: up to the quote that opened before the name; of a
/// cookie or a scheme with parameters the whole line, else one word.
fn header_value(
    line: &[u8],
    rest_of_line: Range<usize>,
    before: Option<&[u8]>,
    name: &[u8],
) -> Range<usize> {
    let at = rest_of_line.start;
    let rest = line.get(rest_of_line).unwrap_or_default();
    if let Some(quote) = before.filter(|b| *b == b"'" || *b == b"\"") {
        let len = rest.iter().position(|b| quote.contains(b)).unwrap_or(rest.len());
        return at..at + len;
    }
    let scheme = SCHEME.find(rest).map_or(0, |scheme| scheme.end());
    let whole_line = name.to_ascii_lowercase().ends_with(b"cookie")
        || (name.to_ascii_lowercase().ends_with(b"authorization") && scheme == 0);
    if whole_line {
        return at..at + rest.len();
    }
    at..value(line, at + scheme).span.end
}
