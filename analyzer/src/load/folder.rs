//! A run folder of the Python tool.

use super::loose::{Loose, assemble};
use super::{bytes, io, unless_cut};
use crate::error::InputError;
use crate::evidence::{Form, Run, ns_of_seconds, ns_within};
use inferlint_schema::container::EXTENSION;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a run folder, as far as they are there.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// The server's log.
    pub boot_log: Option<PathBuf>,
    /// Metrics before the load.
    pub before: Option<PathBuf>,
    /// Metrics after the load.
    pub after: Option<PathBuf>,
    /// Six summed numbers a sample.
    pub series: Option<PathBuf>,
    /// The load tool's result.
    pub result: Option<PathBuf>,
    /// The load tool's output.
    pub load_log: Option<PathBuf>,
    /// The load command.
    pub load: Option<PathBuf>,
    /// Whole scrapes.
    pub scrapes: Option<PathBuf>,
    /// Processes over time.
    pub processes: Option<PathBuf>,
}

/// The load command as `load.json` has it.
#[derive(Debug, Deserialize)]
pub struct Load {
    /// Its arguments.
    pub argv: Vec<String>,
    /// Its exit status.
    pub exit: Option<i64>,
    start_wall: Option<f64>,
    end_wall: Option<f64>,
    start_mono_ns: Option<i64>,
    end_mono_ns: Option<i64>,
    /// Clock ticks a second of the host.
    pub clk_tck: Option<u64>,
    /// Bytes a memory page of the host.
    pub page_size: Option<u64>,
}

impl Load {
    /// From when to when it ran, in ns on the monotonic or the wall clock.
    pub fn window(&self, mono: bool) -> Option<(i64, i64)> {
        let wall = |seconds: Option<f64>| seconds.and_then(ns_of_seconds);
        let on = |ns: Option<i64>| ns.and_then(ns_within);
        if mono {
            on(self.start_mono_ns).zip(on(self.end_mono_ns))
        } else {
            wall(self.start_wall).zip(wall(self.end_wall))
        }
    }
}

impl Folder {
    /// Looks at what a folder holds.
    ///
    /// # Errors
    /// When it holds no evidence.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        if path.is_file() {
            let help = "name a folder that holds boot.log, before.snapshot.json and the like";
            return Err(InputError::unusable(path, "a file, not a run folder", help));
        }
        let file = |names: &[&str]| -> Option<PathBuf> {
            let either = |name: &&str| [path.join(name), path.join(format!("{name}.gz"))];
            names.iter().flat_map(either).find(|path| path.is_file())
        };
        let folder = Self {
            path: path.to_owned(),
            boot_log: file(&["boot.log"]),
            before: file(&["before.snapshot.json", "before.prom", "metrics-before.prom"]),
            after: file(&["after.snapshot.json", "after.prom", "metrics-after.prom"]),
            series: file(&["run.series.jsonl"]),
            result: file(&["bench.json", "bench.jsonl"]),
            load_log: file(&["load.log"]),
            load: file(&["load.json"]),
            scrapes: file(&["scrapes.jsonl.gz"]),
            processes: file(&["procs.jsonl.gz"]),
        };
        let parts =
            [&folder.boot_log, &folder.before, &folder.after, &folder.series, &folder.result];
        if parts.into_iter().all(Option::is_none) {
            return Err(without_evidence(path)?);
        }
        Ok(folder)
    }

    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let metrics = [&self.before, &self.after, &self.series, &self.scrapes];
        let rest = [&self.boot_log, &self.result, &self.load_log, &self.load, &self.processes];
        metrics.into_iter().chain(rest).flatten()
    }

    /// The load command.
    ///
    /// # Errors
    /// When its file cannot be read or is none.
    pub fn load(&self) -> Result<Option<Load>, InputError> {
        let Some(path) = &self.load else { return Ok(None) };
        let load = serde_json::from_slice(&bytes(path)?).map_err(|error| {
            if error.is_eof() {
                return InputError::cut(path);
            }
            InputError::unusable(path, format!("no load command: {error}"), "remove the file")
        })?;
        Ok(Some(load))
    }
}

/// Reads a run folder.
pub(super) fn open(path: &Path) -> Result<Run, InputError> {
    let folder = Folder::open(path)?;
    let mut notes = Vec::new();
    let load = unless_cut(folder.load().transpose(), &mut notes)?;
    let whole_scrapes = folder.scrapes.is_some();
    let (mut run, mono) = assemble(&Loose {
        boot_logs: folder.boot_log.into_iter().collect(),
        before: folder.before,
        after: folder.after,
        series: folder.series,
        result: folder.result,
        load_log: folder.load_log,
        ..Loose::default()
    })?;
    run.name = path.display().to_string();
    run.form = Form::Folder;
    run.notes.extend(notes);
    if whole_scrapes {
        run.notes.push(
            "scrapes.jsonl.gz holds whole scrapes; import the folder to have them judged".into(),
        );
    }
    if let Some(load) = load {
        for point in &mut run.points {
            point.command = load.window(mono);
            point.exit = load.exit;
            point.params = crate::client::params(&load.argv);
            point.argv = Some(load.argv.clone());
        }
    }
    Ok(run)
}

/// Says what a folder without evidence holds instead.
fn without_evidence(folder: &Path) -> Result<InputError, InputError> {
    let entries = fs::read_dir(folder).map_err(|error| io(folder, error))?;
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    let is_bundle = |path: &&PathBuf| path.extension().is_some_and(|e| e == EXTENSION);
    let bundle = inside.iter().find(is_bundle).map(|path| ("bundles", path));
    let below = || inside.iter().find(|path| path.is_dir()).map(|path| ("folders", path));
    let help = match bundle.or_else(below) {
        None => "a run folder holds boot.log, before.snapshot.json, after.snapshot.json, \
                 run.series.jsonl or bench.json"
            .into(),
        Some((kind, first)) => format!("name one of the {kind} in it, e.g. {}", first.display()),
    };
    Ok(InputError::unusable(folder, "a folder without evidence of its own", help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_they_are_when_gzipped() {
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("boot.log.gz")).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        let log =
            b"(APIServer pid=1) INFO 11-01 10:00:00 [utils.py:1] vLLM API server version 0.30.0\n";
        packed.write_all(log).unwrap();
        packed.finish().unwrap();
        let run = open(folder.path()).unwrap();
        let version = run.logs[0].server.facts.version.as_ref();
        assert_eq!(version.map(|fact| fact.value.as_str()), Some("0.30.0"));
    }

    #[test]
    fn a_file_whose_writer_was_stopped_is_left_out_and_noted() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        put("before.snapshot.json", "{\"t_wall\": 1.0, \"text\": \"vllm:num_requests_running 0\"}");
        put("after.snapshot.json", "");
        put("bench.json", "{\"backend\": \"vllm\", \"comple");
        put("load.json", "{\"argv\": [\"vllm\"");
        let run = open(folder.path()).unwrap();
        let of = |name: &str| run.notes.iter().filter(|note| note.starts_with(name)).count();
        assert_eq!(["after.snapshot.json", "bench.json", "load.json"].map(of), [1, 1, 1]);
        assert_eq!(run.points[0].edges[0].end, None);
        assert!(run.points[0].result.is_none());
        put("bench.json", "<html>");
        assert!(open(folder.path()).is_err());
    }

    #[test]
    fn a_result_that_is_missing_is_missed_with_how_its_load_ended() {
        let folder = tempfile::tempdir().unwrap();
        let why = |exit: &str| {
            fs::write(folder.path().join("before.prom"), "vllm:num_requests_running 0\n").unwrap();
            let load = format!("{{\"argv\": [\"vllm\"], \"exit\": {exit}}}");
            fs::write(folder.path().join("load.json"), load).unwrap();
            let run = open(folder.path()).unwrap();
            let group = &run.groups()[0];
            let scope = crate::evidence::Scope { run: &run, point: &run.points[0], group };
            scope.result().unwrap_err().what
        };
        assert!(why("1").ends_with("; the load command ended with status 1"));
        assert!(why("-9").ends_with("; the load command was ended by signal 9"));
        assert!(why("0").ends_with("(bench.json)"));
        assert_eq!(why("0"), why("null"));
    }
}
