//! Rule `email`: mail addresses, with the name before them in git's notation.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// See the module.
pub(super) struct Email;

/// A name behind git's words, or nothing; then the address, in angle brackets or not.
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r"(?:(?:Author|Committer|[A-Z][a-z]+(?:-[a-z]+)?-by):[ \t]*([^<>\n]{1,80}<))?(?:^|[^A-Za-z0-9._%+-])?([A-Za-z0-9._%+-]+)@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.([A-Za-z]{2,})(>)?",
    )
});

impl Rule for Email {
    fn name(&self) -> &'static str {
        "email"
    }

    fn hint(&self) -> &'static str {
        r"[A-Za-z0-9._%+-]@[A-Za-z0-9-]"
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for found in ADDRESS.captures_iter(line) {
            let (Some(local), Some(domain)) = (found.get(2), found.get(3)) else { continue };
            if local.as_bytes() == b"git" {
                continue;
            }
            match (found.get(1), found.get(4)) {
                (Some(name), Some(close)) => hits.mask(name.start()..close.end()),
                _ => hits.mask(local.start()..domain.end()),
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("mail jane.doe+x@mail.example.org now", "mail <email-1> now"),
                ("Author: Jane Doe <jane@x.org>", "Author: <email-1>"),
                ("Signed-off-by: J. D. <j@x.co.uk>", "Signed-off-by: <email-1>"),
                ("<j@x.org>, <k@x.org>", "<<email-1>>, <<email-2>>"),
                ("'contact': 'a_b@c-d.io'", "'contact': '<email-1>'"),
            ],
            keeps: &[
                "git@github.com:a/b.git",
                "image@sha256:0123abcd",
                "@app.get('/x')",
                "package@1.2.3",
                "user@localhost",
                "a @ b.org",
            ],
        }
    }
}
