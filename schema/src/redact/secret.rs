//! Rule `secret`: values known beforehand ([`super::Seeds`]), in all their forms.

use super::rule::{Cases, Hits, Rule};
use super::seeds::Known;

/// See the module.
pub(super) struct Secret;

impl Rule for Secret {
    fn name(&self) -> &'static str {
        "secret"
    }

    fn hint(&self) -> &'static str {
        ""
    }

    fn find(&self, line: &[u8], known: &Known, hits: &mut Hits) {
        known.secrets.find(line, |span, value| hits.form_of(span, value));
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("opened with sword&fish today", "opened with <secret-1> today"),
                ("GET /?k=sword%26fish", "GET /?k=<secret-1>"),
                ("xsword&fishx", "x<secret-1>x"),
                ("auth c3dvcmQmZmlzaA==", "auth <secret-1>A=="),
                ("echo sword\\&fish", "echo <secret-1>"),
                ("737764 73776f72642666697368", "737764 <secret-1>"),
            ],
            keeps: &["sword", "fish & sword", "SWORD&FISH", "sword & fish", ""],
        }
    }
}
