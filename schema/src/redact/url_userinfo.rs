//! Rule `url_userinfo`: what stands between `://` and `@` before the host.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// See the module.
pub(super) struct UrlUserinfo;

static USERINFO: LazyLock<Regex> = LazyLock::new(|| compile(r#"://([^/?#\s"'<>\\]+)@"#));

impl Rule for UrlUserinfo {
    fn name(&self) -> &'static str {
        "url_userinfo"
    }

    fn hint(&self) -> &'static str {
        "://"
    }

    fn find(&self, line: &[u8], _: &Known, hits: &mut Hits) {
        for found in USERINFO.captures_iter(line).filter_map(|found| found.get(1)) {
            if found.as_bytes() != b"git" {
                hits.mask(found.range());
            }
        }
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("http://bob:pw@host/x", "http://<url_userinfo-1>@host/x"),
                ("postgres://u:p@ss@db:5432", "postgres://<url_userinfo-1>@db:5432"),
                ("https://ghtoken@github.com/a/b", "https://<url_userinfo-1>@github.com/a/b"),
                ("'redis://:pw@cache'", "'redis://<url_userinfo-1>@cache'"),
                ("a://x:1@h b://x:1@i", "a://<url_userinfo-1>@h b://<url_userinfo-1>@i"),
            ],
            keeps: &[
                "http://0.0.0.0:8000/metrics",
                "ssh://git@github.com/a/b",
                "git@github.com:a/b",
                "http://host/path@sha256:abc",
                "http://host?mail=a@b",
            ],
        }
    }
}
