//! Rule `user_name`: user names known beforehand, as words. Never part of a flag.

use super::rule::{Cases, Hits, Rule};
use super::seeds::Known;
use super::vocabulary::is_own_word;

/// See the module.
pub(super) struct UserName;

impl Rule for UserName {
    fn name(&self) -> &'static str {
        "user_name"
    }

    fn hint(&self) -> &'static str {
        ""
    }

    fn find(&self, line: &[u8], known: &Known, hits: &mut Hits) {
        known.users.find(line, |span, name| {
            if is_own_word(line, &span) {
                hits.rename(span, name, "user");
            }
        });
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("owner jdoe", "owner user-1"),
                ("/data/jdoe/m", "/data/user-1/m"),
                ("jdoe@login", "user-1@login"),
                ("adapter jdoe-lora", "adapter user-1-lora"),
                ("(jdoe) 'jdoe'", "(user-1) 'user-1'"),
            ],
            keeps: &["jdoes", "xjdoe", "--jdoe-mode 1", "jdoe_x", "JDOE"],
        }
    }
}
