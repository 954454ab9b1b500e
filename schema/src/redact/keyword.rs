//! Rule `keyword`: the words of the user's own list, case aside, also inside words and paths.

use super::rule::{Cases, Hits, Rule};
use super::seeds::Known;

/// See the module.
pub(super) struct Keyword;

impl Rule for Keyword {
    fn name(&self) -> &'static str {
        "keyword"
    }

    fn hint(&self) -> &'static str {
        ""
    }

    fn find(&self, line: &[u8], known: &Known, hits: &mut Hits) {
        known.words.find(line, |span, word| hits.form_of(span, word));
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("project Zanzibar", "project <keyword-1>"),
                ("/models/zanzibar-7b", "/models/<keyword-1>-7b"),
                ("ZANZIBAR zanzibar", "<keyword-1> <keyword-1>"),
                ("xzanzibarx", "x<keyword-1>x"),
                ("{name=\"Zanzibar\"}", "{name=\"<keyword-1>\"}"),
            ],
            keeps: &["Zanzi bar", "zanziba", "bar", "<keyword-1>", ""],
        }
    }
}
