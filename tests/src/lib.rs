//! Where the workspace's binaries and the recorded runs are, for tests and benchmarks.

use std::path::{Path, PathBuf};
use std::sync::Once;

use nix::sys::signal::{SigHandler, Signal, signal};

/// The binary `name` of this workspace, built beside the running test. What the test starts from
/// then on heeds signals.
///
/// # Errors
/// What to run when it is not there.
pub fn binary(name: &str) -> Result<PathBuf, String> {
    heed_signals();
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    own.ancestors()
        .skip(1)
        .take(3)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("{name} is not built: run cargo build --workspace"))
}

/// Lets this process and its children be interrupted: one started by `nohup`, or in a script's
/// background, hands on that it ignores a hang-up or Ctrl-C, and a shell then cannot trap them.
fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for ignored in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
            // SAFETY: the default action runs no code of this process. These three may be set.
            let _ = unsafe { signal(ignored, SigHandler::SigDfl) };
        }
    });
}

/// The root of this checkout.
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The folder of recorded runs: `INFERLINT_RECORDED`, else `../shared/recorded` beside this
/// checkout. `None` when there is none: the caller says that it skips.
pub fn recorded() -> Option<PathBuf> {
    let named = std::env::var_os("INFERLINT_RECORDED").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root().join("../shared/recorded"));
    folder.is_dir().then_some(folder)
}
