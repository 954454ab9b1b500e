//! Where the workspace's binaries and the recorded runs are, for tests and benchmarks.

use std::path::{Path, PathBuf};

/// The binary `name` of this workspace, built beside the running test.
///
/// # Errors
/// What to run when it is not there.
pub fn binary(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    own.ancestors()
        .skip(1)
        .take(3)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| format!("{name} is not built: run cargo build --workspace"))
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
