//! Rule `url_query`: values of parameters in a URL that speak of a secret: `key`, `token`, `code`, signatures.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "url_query",
    hint: r"(?i)[?&;][a-z0-9_.\-]*(?:key|token|sig|password|passwd|secret|credential|auth|session|code|state|x-)[a-z-]*=",
    pattern: LazyLock::new(|| {
        compile(
            r#"(?i)[?&;](?:[a-z0-9_.\-]*(?:key|token|signature|password|passwd|secret|credential|auth|session)|sig|code|state|x-(?:amz|goog|oss|cos)-[a-z-]+)=([^&;\s"'#<>\\)\]]+)"#,
        )
    }),
    cases: Cases {
        masks: &[
            ("GET /x?key=abc&n=5 HTTP/1.1", "GET /x?key=<url_query-1>&n=5 HTTP/1.1"),
            (
                "https://h/p?a=1&access_token=x.y-z#f",
                "https://h/p?a=1&access_token=<url_query-1>#f",
            ),
            (
                "'https://h?X-Amz-Signature=ab12&X-Amz-Credential=c%2Fd'",
                "'https://h?X-Amz-Signature=<url_query-1>&X-Amz-Credential=<url_query-2>'",
            ),
            ("/cb?code=123456&state=q", "/cb?code=<url_query-1>&state=<url_query-2>"),
            ("?X-Goog-Date=2026;api_key=k", "?X-Goog-Date=<url_query-1>;api_key=<url_query-2>"),
        ],
        keeps: &[
            "/v1/models?limit=5",
            "/metrics?name=token",
            "?max_tokens=128",
            "key=abc",
            "?format=text&n=1",
            "?tokenizer=auto",
        ],
    },
};
