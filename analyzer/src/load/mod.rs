//! From files to [`Evidence`](crate::evidence): one file a form.

mod bundle;
mod file;
mod folder;
mod loose;
mod output;
mod process_table;
mod series;
mod snapshot;

pub use file::{Bundle, open_bundle};
pub use folder::{Folder, Load};
pub use loose::Loose;
#[cfg(test)]
pub(crate) use process_table::parse as process_table;
pub use series::Series;
pub use snapshot::Snapshot;

use crate::boot;
use crate::client::ClientResult;
use crate::engine::Engine;
use crate::error::InputError;
use crate::evidence::{Log, Run, RunningLimit};
use flate2::read::MultiGzDecoder;
use inferlint_schema::container;
use inferlint_schema::error::ReadError;
use inferlint_schema::limits::Limits;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
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

impl Inputs {
    /// The files that are read: those that were named, and those of the folders that were.
    pub fn files(&self) -> Vec<PathBuf> {
        let of = |path: &PathBuf| match Folder::open(path) {
            Ok(folder) => folder.files().cloned().collect(),
            Err(_) => vec![path.clone()],
        };
        self.paths.iter().flat_map(of).chain(self.loose.files().cloned()).collect()
    }
}

/// Reads everything that was named, one run each.
///
/// # Errors
/// When something cannot be read, is not what it was given as, or is of another engine than named.
pub fn open(inputs: &Inputs) -> Result<Vec<Run>, InputError> {
    let mut runs = Vec::new();
    for path in &inputs.paths {
        if path == Path::new("-") && !path.exists() {
            return Err(InputError::Call {
                what: "- is standard input, which bundles are not read from".into(),
                help: "save it to a file and name that".into(),
            });
        }
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
        let named = run.logs.iter().find_map(|log| log.server.facts.engine);
        found = named.and_then(Engine::named);
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
    for source in run.sources.iter_mut().filter(|source| source.role == "engine") {
        if let Some(role) = source.own_role() {
            role.clone_into(&mut source.role);
        }
    }
    for point in &mut run.points {
        for (name, value) in crate::client::printed_params(point.output.as_deref().unwrap_or("")) {
            point.params.entry(name).or_insert(value);
        }
    }
    run.engine = found.or(wanted);
    run.running_limit = run.logs.iter().find_map(running_limit);
    let version = run.logs.iter().find_map(|log| log.server.facts.version.as_ref());
    run.engine_version = run.engine_version.take().or_else(|| version.map(|v| v.value.clone()));
    run.notes.extend(old_names(run));
    Ok(())
}

/// The limit of one replica that the log states, over all its replicas.
fn running_limit(log: &Log) -> Option<RunningLimit> {
    let facts = &log.server.facts;
    let limit = facts.running_limit.as_ref()?.value;
    let replicas = facts.data_parallel.as_ref().map_or(1, |replicas| replicas.value);
    let asked = facts.running_limit_asked.as_ref().is_some_and(|asked| asked.value == limit);
    let option = facts.engine.and_then(Engine::named).map(|engine| engine.running_limit_option);
    let why = match (&facts.running_limit_reason, option) {
        (Some(reason), _) => format!("its running limit, capped {}", reason.value),
        (None, Some(option)) if asked && !option.is_empty() => {
            format!("its running limit, {option}")
        }
        (None, _) => "its running limit".into(),
    };
    Some(RunningLimit { requests: (limit * replicas) as f64, why })
}

/// Metrics that were read under another name than the newest.
fn old_names(run: &Run) -> Vec<String> {
    let mut notes = Vec::new();
    for source in &run.sources {
        if source.full.renamed {
            notes.push(format!(
                "{}: a re-exporter's metric names are read as the engine's own",
                source.name
            ));
        }
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

/// Gives a run what its load tool printed, for examples.
#[cfg(test)]
pub(crate) fn output(text: &str, run: &mut Run) {
    let mut output = output::Output::new("load.log".into());
    output.add(None, text.as_bytes());
    output::give(&[output], run);
}

fn io(path: &Path, error: std::io::Error) -> InputError {
    InputError::Io { path: path.to_owned(), error }
}

/// A file's bytes, gzipped or not.
fn bytes(path: &Path) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    let most = Limits::default().file_bytes;
    opened(path)?.take(most).read_to_end(&mut bytes).map_err(|error| io(path, error))?;
    Ok(bytes)
}

/// A file to read, unpacked where it was gzipped.
fn opened(path: &Path) -> Result<Box<dyn Read>, InputError> {
    let failed = |error| io(path, error);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let packed = file.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    Ok(if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

pub(crate) fn log(path: &Path, engine: Option<&'static Engine>) -> Result<Log, InputError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let failed = |error| io(path, error);
    let bytes = fs::metadata(path).map_err(failed)?.len();
    let mut input = BufReader::new(opened(path)?);
    let begins = input.fill_buf().map_err(failed)?;
    if matches!(container::peek(begins), Ok(_) | Err(ReadError::NewerFormat { .. })) {
        let shown = path.display();
        let help = format!(
            "inferlint-analyze check {shown} judges it, extract {shown} log -o FOLDER has its logs"
        );
        return Err(InputError::unusable(path, "a bundle, not a log", help));
    }
    let server = boot::read(input, engine.map(|engine| engine.name)).map_err(failed)?;
    Ok(Log { name, bytes, server, ..Log::default() })
}

fn result(path: &Path) -> Result<ClientResult, InputError> {
    let text = String::from_utf8_lossy(&bytes(path)?).into_owned();
    ClientResult::parse(&text).map_err(|what| {
        if crate::client::is_cut(&text) {
            return InputError::cut(path);
        }
        InputError::unusable(path, what, "give the JSON file that the load tool saves")
    })
}

/// What was read of a file. One whose writer was stopped is as good as none, and noted: the others
/// beside it still tell of the run.
fn unless_cut<T>(
    read: Option<Result<T, InputError>>,
    notes: &mut Vec<String>,
) -> Result<Option<T>, InputError> {
    match read.transpose() {
        Err(InputError::Cut { path }) => {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            notes.push(format!("{name} is empty or cut before its end, and left out"));
            Ok(None)
        }
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_asked_for_is_named_by_its_option() {
        let why = |text: &str| {
            let server = boot::read(text.as_bytes(), None).unwrap();
            let log = Log { name: "boot.log".into(), server, ..Log::default() };
            running_limit(&log).map(|limit| (limit.requests, limit.why))
        };
        let vllm = "(APIServer pid=1) INFO 08-19 11:58:01 [utils.py:233] non-default args: {'model': '/m', 'max_num_seqs': 16}\n";
        assert_eq!(why(vllm), Some((16.0, "its running limit, --max-num-seqs".into())));
        assert_eq!(
            why(
                "(APIServer pid=1) INFO 08-19 11:58:01 [utils.py:233] non-default args: {'model': '/m'}\n"
            ),
            None
        );
    }
}
