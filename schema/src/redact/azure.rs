//! Rule `azure`: keys in Azure connection strings and shared access signatures.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "azure",
    hint: "(?i)accountkey=|sharedaccesskey=|sharedsecretvalue=|[?&;]sig=",
    pattern: LazyLock::new(|| {
        compile(r#"(?i)(?:AccountKey|SharedAccessKey|SharedSecretValue|[?&;]sig)=([^;&\s"'<>]+)"#)
    }),
    cases: Cases {
        masks: &[
            ("AccountName=a;AccountKey=abc==;B=c", "AccountName=a;AccountKey=<azure-1>;B=c"),
            ("sharedaccesskey=xyz", "sharedaccesskey=<azure-1>"),
            ("https://a/b?sv=2020&sig=ab%2Bc&se=1", "https://a/b?sv=2020&sig=<azure-1>&se=1"),
            ("?sig=a", "?sig=<azure-1>"),
            ("SharedSecretValue=q;", "SharedSecretValue=<azure-1>;"),
        ],
        keeps: &["AccountName=a", "sig=a", "AccountKey=", "?sign=x", "SharedAccessKeyName=Root"],
    },
};
