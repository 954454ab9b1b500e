//! Rule `home_dir`: the user's name in the path of a home folder; the rest stays, because model
//! paths are evidence.

use super::rule::{Cases, Hits, Rule, compile};
use super::seeds::Known;
use super::vocabulary::is_protected;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// See the module.
pub(super) struct HomeDir;

/// Folders whose children are named after users: `/home`, `/Users` (also on other drives and on
/// clusters, `/gpfs/site/users`), `C:\Users` with its backslashes escaped or not, and URL-encoded.
static HOME: LazyLock<Regex> = LazyLock::new(|| {
    compile(
        r#"(?i)(?:/(?:home|users|u|scratch|people)/+|(?:[a-z]:|\\)\\+users\\+|%2fhome%2f)([^/\\\s"'`:;,<>|()\[\]{}=&?#%*$]+)"#,
    )
});

/// Folders found beside the users' own.
const SHARED: [&str; 14] = [
    "shared",
    "share",
    "public",
    "common",
    "tmp",
    "hf",
    "hub",
    "datasets",
    "dataset",
    "checkpoints",
    "ckpt",
    "projects",
    "project",
    "lost+found",
];

impl Rule for HomeDir {
    fn name(&self) -> &'static str {
        "home_dir"
    }

    fn hint(&self) -> &'static str {
        r"(?i)/home/|/users/|/u/|/scratch/|/people/|\\users\\|%2fhome%2f"
    }

    fn find(&self, line: &[u8], known: &Known, hits: &mut Hits) {
        for name in HOME.captures_iter(line).filter_map(|found| found.get(1)) {
            let shared = SHARED.iter().any(|own| name.as_bytes() == own.as_bytes());
            if !shared && !is_protected(name.as_bytes()) {
                hits.rename(name.range(), name.as_bytes(), "user");
            }
        }
        known.homes.find(line, |span, home| {
            let ends = line.get(span.end).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_');
            let name = home.rsplit(|b| *b == b'/').next().unwrap_or_default();
            if ends {
                hits.rename(span.end - name.len()..span.end, name, "user");
            }
        });
    }

    fn cases(&self) -> Cases {
        Cases {
            masks: &[
                ("/home/jdoe/models/Qwen3-8B", "/home/user-1/models/Qwen3-8B"),
                ("'/Users/ann.b/x' /home/bob", "'/Users/user-1/x' /home/user-2"),
                (r"C:\Users\Ann\hf", r"C:\Users\user-1\hf"),
                (r#""C:\\Users\\Ann\\hf""#, r#""C:\\Users\\user-1\\hf""#),
                ("/gpfs/site/users/ann/m", "/gpfs/site/users/user-1/m"),
                (
                    "/srv/people/jdoe/m and /srv/people/jdoe",
                    "/srv/people/user-1/m and /srv/people/user-1",
                ),
                ("path=%2Fhome%2Fann%2Fm", "path=%2Fhome%2Fuser-1%2Fm"),
            ],
            keeps: &[
                "/home/user-1/models",
                "/home/ubuntu/models",
                "/root/models/Qwen3-8B",
                "/scratch/models/Qwen3-8B",
                "/v1/chat/completions",
                "/srv/people/",
            ],
        }
    }
}
