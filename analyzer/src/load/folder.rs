//! A run folder of the Python tool.

use super::loose::{Loose, assemble};
use super::{bytes, io};
use crate::error::InputError;
use crate::evidence::{Form, Run};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The load command as `load.json` has it.
#[derive(Deserialize)]
struct Load {
    argv: Vec<String>,
    exit: Option<i32>,
    start_wall: Option<f64>,
    end_wall: Option<f64>,
    start_mono_ns: Option<i64>,
    end_mono_ns: Option<i64>,
}

/// Reads a run folder.
pub(super) fn open(folder: &Path) -> Result<Run, InputError> {
    let file = |names: &[&str]| -> Option<PathBuf> {
        names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
    };
    let loose = Loose {
        boot_logs: file(&["boot.log"]).into_iter().collect(),
        before: file(&["before.snapshot.json", "before.prom"]),
        after: file(&["after.snapshot.json", "after.prom"]),
        series: file(&["run.series.jsonl"]),
        result: file(&["bench.json", "bench.jsonl"]),
        load_log: file(&["load.log"]),
    };
    let parts = [&loose.before, &loose.after, &loose.series, &loose.result];
    if loose.boot_logs.is_empty() && parts.into_iter().all(Option::is_none) {
        return Err(without_evidence(folder)?);
    }
    let (mut run, mono) = assemble(&loose)?;
    run.name = folder.display().to_string();
    run.form = Form::Folder;
    if let Some(path) = file(&["load.json"]) {
        load(&path, &mut run, mono)?;
    }
    Ok(run)
}

/// Adds the load command: its window on the clock of the readings, its arguments, its exit.
fn load(path: &Path, run: &mut Run, mono: bool) -> Result<(), InputError> {
    let load: Load = serde_json::from_slice(&bytes(path)?).map_err(|error| {
        InputError::unusable(path, format!("no load command: {error}"), "remove the file")
    })?;
    let ns = |seconds: Option<f64>| seconds.map(|s| (s * 1e9) as i64);
    let window = if mono {
        load.start_mono_ns.zip(load.end_mono_ns)
    } else {
        ns(load.start_wall).zip(ns(load.end_wall))
    };
    for point in &mut run.points {
        point.command = window;
        point.exit = load.exit;
        point.params = crate::client::params(&load.argv);
        point.argv = Some(load.argv.clone());
    }
    Ok(())
}

/// Says what a folder without evidence holds instead.
fn without_evidence(folder: &Path) -> Result<InputError, InputError> {
    let mut inside: Vec<String> = fs::read_dir(folder)
        .map_err(|error| io(folder, error))?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    inside.sort();
    let help = match inside.first() {
        None => "a run folder holds boot.log, before.snapshot.json, after.snapshot.json, \
                 run.series.jsonl or bench.json"
            .into(),
        Some(first) => {
            format!("name one of the folders in it, e.g. {}", folder.join(first).display())
        }
    };
    Ok(InputError::unusable(folder, "a folder without evidence", help))
}
