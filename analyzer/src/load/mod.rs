//! From files to [`Evidence`](crate::evidence): one file a form.

mod bundle;
mod file;
mod folder;
mod loose;
mod series;
mod snapshot;

pub use file::{Bundle, open_bundle};
pub use folder::{Folder, Load};
pub use loose::Loose;
pub use series::Series;
pub use snapshot::Snapshot;

use crate::client::ClientResult;
use crate::engine::Engine;
use crate::error::InputError;
use crate::evidence::{Log, Run};
use std::fs;
use std::path::{Path, PathBuf};

/// Provider of a source whose few signals are already summed over all replicas; it belongs to the
/// server source before it.
pub const SUMMED: &str = "summed";

/// What the user asked to have judged.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Bundles and run folders.
    pub paths: Vec<PathBuf>,
    /// Files named one by one.
    pub loose: Loose,
    /// Requests at once that were asked for.
    pub requested: Option<f64>,
    /// The engine the user expects.
    pub engine: Option<&'static Engine>,
}

/// Reads everything that was named, one run each.
///
/// # Errors
/// When something cannot be read, is not what it was given as, or is of another engine than named.
pub fn open(inputs: &Inputs) -> Result<Vec<Run>, InputError> {
    let mut runs = Vec::new();
    for path in &inputs.paths {
        if fs::metadata(path).map_err(|error| io(path, error))?.is_dir() {
            runs.push(folder::open(path)?);
        } else {
            runs.push(bundle::open(path)?);
        }
    }
    runs.extend(loose::open(&inputs.loose)?);
    if runs.is_empty() {
        return Err(InputError::Call {
            what: "nothing to read was named".into(),
            help: "name a bundle or a run folder, or files by --boot-log, --before, --after…"
                .into(),
        });
    }
    for run in &mut runs {
        run.requested = inputs.requested.or(run.requested);
        finish(run, inputs.engine)?;
    }
    Ok(runs)
}

/// What every form has in common once its parts are read: the engine, and what follows from it.
fn finish(run: &mut Run, wanted: Option<&'static Engine>) -> Result<(), InputError> {
    let mut found = run.sources.iter().find_map(|source| source.engine);
    if found.is_none() {
        found = run.logs.iter().find_map(Engine::of_log);
    }
    if let (Some(wanted), Some(found)) = (wanted, found)
        && wanted.name != found.name
    {
        return Err(InputError::unusable(
            &run.name,
            format!("this is evidence of {}, not of {}", found.title(), wanted.title()),
            format!("leave --engine out, or name it as {}", found.name),
        ));
    }
    run.engine = found.or(wanted);
    if let Some(engine) = run.engine {
        run.running_limit = run.logs.iter().find_map(|log| (engine.running_limit)(log));
        run.notes.extend(old_names(run));
    }
    Ok(())
}

/// Metrics that were read under an older name.
fn old_names(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    for source in &run.sources {
        for metric in source.engine.map_or(&[][..], |engine| engine.metrics) {
            let known = metric.names.iter().find(|name| source.full.knows(name));
            if let (Some(old), Some(new)) = (known, metric.names.first())
                && old != new
            {
                notes.push(format!("{old} is read, the older name of {new}"));
            }
        }
    }
    notes.dedup();
    notes
}

fn io(path: &Path, error: std::io::Error) -> InputError {
    InputError::Io { path: path.to_owned(), error }
}

fn bytes(path: &Path) -> Result<Vec<u8>, InputError> {
    fs::read(path).map_err(|error| io(path, error))
}

fn log(path: &Path) -> Result<Log, InputError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Log { name, text: bytes(path)?, ..Log::default() })
}

fn result(path: &Path) -> Result<ClientResult, InputError> {
    let text = String::from_utf8_lossy(&bytes(path)?).into_owned();
    ClientResult::parse(&text).map_err(|what| {
        InputError::unusable(path, what, "give the JSON file that the load tool saves")
    })
}
