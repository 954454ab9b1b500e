//! The client's own account of a run: which file it will be in, and fetching it.
//!
//! Tools that save a result only when asked are asked, by the flags of [`Saves`]. A flag that makes
//! one save prompts or generated text (`--save-detailed`, `--output-details`) is never added.

use crate::collect::files::{Item, Keep, Shelf};
use crate::load_tool::{Call, Saves};
use inferlint_schema::record::Record;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files looked at in a folder that a result may appear in.
const FOLDER_FILES: usize = 4_096;
/// With less than this left, a result is not put beside the bundle: a full disk must not make the
/// load fail over a file it was not asked for.
const DISK_LEFT: u64 = 64 << 20;

/// Where a result is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this file.
    File(PathBuf),
    /// In a new or grown file of this folder, its name the tool's invention.
    Folder(PathBuf),
}

/// What was at a place before the load: sizes, by path.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    place: Place,
    before: BTreeMap<PathBuf, (u64, i64)>,
    /// Ours to remove once it is in the bundle.
    ours: bool,
}

/// Flags to add to a load command so that it saves its result to `file`, and where that will be.
///
/// `None`: the tool saves it already, or in a way of its own.
pub(crate) fn flags_for(run: &Call, file: &Path) -> Option<Vec<OsString>> {
    let folder = file.parent()?.as_os_str();
    let name = file.file_name()?;
    let flags: Vec<OsString> = match run.tool.saves {
        Saves::OnRequest if !run.has("save-result") && !run.has("append-result") => vec![
            "--save-result".into(),
            "--result-dir".into(),
            folder.into(),
            "--result-filename".into(),
            name.into(),
        ],
        Saves::Always(flag) if !run.has(flag) => vec![format!("--{flag}").into(), file.into()],
        Saves::Report(flag) if !run.has(flag) => {
            vec![format!("--{}", flag.replace('-', "_")).into(), file.into()]
        }
        _ => return None,
    };
    Some(flags)
}

/// Where a tool that was given these arguments in `cwd` leaves its result. `None`: nowhere, or in a
/// way of its own.
pub(crate) fn place_of(run: &Call, cwd: &Path) -> Option<Place> {
    match run.tool.saves {
        Saves::OnRequest if run.has("save-result") || run.has("append-result") => {
            let folder = cwd.join(run.value("result-dir").unwrap_or("."));
            Some(match run.value("result-filename") {
                Some(name) => Place::File(folder.join(name)),
                None => Place::Folder(folder),
            })
        }
        Saves::Always(flag) => Some(match run.value(flag) {
            Some(name) => Place::File(cwd.join(name)),
            None => Place::Folder(cwd.to_owned()),
        }),
        Saves::Report(flag) => run.value(flag).map(|name| Place::File(cwd.join(name))),
        _ => None,
    }
}

/// A folder for a result nobody asked for: the bundle's, or where there is more room.
pub(crate) fn folder_with_room(beside: &Path) -> Option<PathBuf> {
    let room = |folder: &Path| {
        rustix::fs::statvfs(folder)
            .is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= DISK_LEFT)
    };
    [beside.to_owned(), std::env::temp_dir()].into_iter().find(|folder| room(folder))
}

impl Place {
    /// True for the place of this very file.
    pub(crate) fn is(&self, path: &Path) -> bool {
        matches!(self, Self::File(own) if own == path)
    }
}

impl Saves {
    /// Name for a result beside the bundle.
    pub(crate) fn file_name(self, bundle: &Path) -> OsString {
        let suffix = if self.by_itself() { "result.jsonl" } else { "result.json" };
        bundle.with_extension(suffix).file_name().unwrap_or_default().to_owned()
    }

    /// The tool saves a result unasked, so the user expects to find one.
    pub(crate) fn by_itself(self) -> bool {
        matches!(self, Self::Always(_))
    }
}

impl Expected {
    /// Notes what is there before the load.
    pub(crate) fn at(place: Place, ours: bool) -> Self {
        let before = match &place {
            Place::File(path) => size(path).map(|size| (path.clone(), size)).into_iter().collect(),
            Place::Folder(folder) => sizes(folder),
        };
        Self { place, before, ours }
    }

    /// The file, if its name is known.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Folder(_) => None,
        }
    }

    /// Records what the load wrote. A named file that is not there is a gap; one that did not
    /// change is recorded as it is, its size before says so.
    pub(crate) fn pick_up(&self, shelf: &Shelf, t: u64, src: Option<u32>, out: &mut Vec<Record>) {
        let paths: Vec<PathBuf> = match &self.place {
            Place::File(path) => vec![path.clone()],
            Place::Folder(folder) => sizes(folder)
                .into_iter()
                .filter(|(path, now)| self.before.get(path) != Some(now))
                .map(|(path, _)| path)
                .collect(),
        };
        for path in &paths {
            let size_before = self.before.get(path).map(|(size, _)| *size);
            shelf.put(t, src, Item { path, what: "result", keep: Keep::Whole, size_before }, out);
        }
    }

    /// The place that somebody named and that got nothing from the load.
    pub(crate) fn unmet(&self) -> Option<&Path> {
        let unchanged = |path: &Path| size(path).as_ref() == self.before.get(path);
        match &self.place {
            _ if self.ours => None,
            Place::File(path) => Some(path.as_path()).filter(|path| unchanged(path)),
            Place::Folder(folder) => {
                Some(folder.as_path()).filter(|_| sizes(folder) == self.before)
            }
        }
    }

    /// Removes a result that only we wanted.
    pub(crate) fn clean_up(&self) {
        if let (true, Place::File(path)) = (self.ours, &self.place) {
            let _ = fs::remove_file(path);
        }
    }
}

fn size(path: &Path) -> Option<(u64, i64)> {
    let meta = path.metadata().ok().filter(fs::Metadata::is_file)?;
    Some((meta.len(), meta.mtime() * 1_000_000_000 + meta.mtime_nsec()))
}

/// Result files of a folder: what ends in `.json`, `.jsonl` or `.csv`.
fn sizes(folder: &Path) -> BTreeMap<PathBuf, (u64, i64)> {
    let is_result = |path: &PathBuf| {
        path.extension().is_some_and(|suffix| ["json", "jsonl", "csv"].iter().any(|s| suffix == *s))
    };
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .take(FOLDER_FILES)
        .map(|entry| entry.path())
        .filter(is_result)
        .filter_map(|path| size(&path).map(|size| (path, size)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_tool::recognise;

    fn run(line: &str) -> Call {
        recognise(&line.split(' ').collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn flags_are_added_where_no_result_would_be_left() {
        let file = Path::new("/out/run.result.json");
        for (line, flags) in [
            (
                "vllm bench serve --model m",
                Some("--save-result --result-dir /out --result-filename run.result.json"),
            ),
            ("vllm bench serve --save-result", None),
            ("vllm bench serve --append-result --result-filename x", None),
            (
                "python -m tensorrt_llm.serve.scripts.benchmark_serving",
                Some("--save-result --result-dir /out --result-filename run.result.json"),
            ),
            ("python -m sglang.bench_serving", Some("--output-file /out/run.result.json")),
            ("python -m sglang.bench_serving --output-file x", None),
            ("trtllm-bench -m x throughput", Some("--report_json /out/run.result.json")),
            ("aiperf profile", None),
        ] {
            let added = flags_for(&run(line), file).map(|flags| flags.join(" ".as_ref()));
            assert_eq!(added.as_ref().and_then(|f| f.to_str()), flags, "{line}");
            assert!(flags.is_none_or(|flags| !flags.contains("detail")));
        }
    }

    #[test]
    fn the_place_follows_from_the_flags() {
        let cwd = Path::new("/w");
        let file = |path: &str| Some(Place::File(path.into()));
        let folder = |path: &str| Some(Place::Folder(path.into()));
        for (line, place) in [
            ("vllm bench serve", None),
            ("vllm bench serve --save-result", folder("/w/.")),
            ("vllm bench serve --save-result --result-dir r", folder("/w/r")),
            (
                "vllm bench serve --save-result --result-dir r --result-filename b.json",
                file("/w/r/b.json"),
            ),
            ("python -m sglang.bench_serving", folder("/w")),
            ("python -m sglang.bench_serving --output-file /x/o.jsonl", file("/x/o.jsonl")),
            ("trtllm-bench throughput --report_json r.json", file("/w/r.json")),
            ("aiperf profile", None),
        ] {
            assert_eq!(place_of(&run(line), cwd), place, "{line}");
        }
    }

    #[test]
    fn new_and_grown_files_are_results_and_old_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("old.json"), "old").unwrap();
        fs::write(path("grown.jsonl"), "one\n").unwrap();
        let expected = Expected::at(Place::Folder(folder.path().to_owned()), false);
        let named = |name: &str| Expected::at(Place::File(path(name)), false);
        let (old, new) = (named("old.json"), named("new.json"));
        assert!([&expected, &old, &new].iter().all(|expected| expected.unmet().is_some()));
        fs::write(path("grown.jsonl"), "one\ntwo\n").unwrap();
        fs::write(path("new.json"), "{}").unwrap();
        fs::write(path("new.txt"), "no").unwrap();
        assert!(expected.unmet().is_none() && new.unmet().is_none());
        assert_eq!(old.unmet(), Some(path("old.json").as_path()));
        let mut out = Vec::new();
        expected.pick_up(&Shelf::default(), 0, None, &mut out);
        let found: Vec<_> = out
            .iter()
            .map(|record| match record {
                Record::File(file) => (file.name.lossy().into_owned(), file.size_before),
                other => panic!("{other:?}"),
            })
            .collect();
        let name = |name: &str| path(name).to_str().unwrap().to_owned();
        assert_eq!(found, [(name("grown.jsonl"), Some(4)), (name("new.json"), None)]);
    }

    #[test]
    fn a_result_that_never_came_is_a_gap_and_only_ours_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.result.json");
        let ours = Expected::at(Place::File(path.clone()), true);
        let mut out = Vec::new();
        ours.pick_up(&Shelf::default(), 0, None, &mut out);
        assert!(matches!(out.as_slice(), [Record::Gap(gap)] if gap.what == "unreadable"));
        assert_eq!(ours.unmet(), None, "nobody named it");
        fs::write(&path, "{}").unwrap();
        Expected::at(Place::File(path.clone()), false).clean_up();
        assert!(path.exists());
        ours.clean_up();
        assert!(!path.exists());
    }
}
