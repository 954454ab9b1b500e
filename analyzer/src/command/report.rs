//! `report`: judge runs and write the page about them.

use super::check::Bench;
use crate::cli::Report;
use crate::error::InputError;
use crate::load::{self, Inputs};
use crate::output::{exit_status, text};
use crate::report;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

pub(super) fn run(arguments: Report) -> Result<u8, InputError> {
    let judging = arguments.judging;
    let bench = Bench::of(&judging)?;
    let runs = load::open(&Inputs::from(arguments.input))?;
    let judged = bench.judge(&runs);
    let page = report::page(&judged);
    let output = arguments.output.unwrap_or_else(|| beside(runs.first().map_or("", |r| &r.name)));
    if output.as_os_str() == "-" {
        super::print(&page)?;
    } else {
        write(&output, &page, arguments.force)?;
        let verdicts = text::report(&judged, text::Look::of_stdout());
        super::print(&format!("{verdicts}report: {}\n", output.display()))?;
    }
    Ok(exit_status(&judged, judging.strict))
}

/// `run.html` for `/somewhere/run.ilb`: a page of the input's name in the working directory.
fn beside(input: &str) -> PathBuf {
    let name = Path::new(input).file_stem().unwrap_or("report".as_ref());
    Path::new(name).with_extension("html")
}

/// Writes the page. What exists is left alone unless `force`, and then replaced whole: never cut,
/// and never through a link.
fn write(path: &Path, page: &str, force: bool) -> Result<(), InputError> {
    if !force {
        return create(path, page).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => InputError::unusable(
                path,
                "exists already",
                "name another file with -o, or give --force to replace it",
            ),
            _ => InputError::Io { path: path.to_owned(), error },
        });
    }
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let written = create(&part, page).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        InputError::Io { path: path.to_owned(), error }
    })
}

fn create(path: &Path, page: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_after_its_input() {
        for (input, page) in
            [("/a/run.ilb", "run.html"), ("runs/live/", "live.html"), ("", "report.html")]
        {
            assert_eq!(beside(input), Path::new(page));
        }
    }

    #[test]
    fn what_exists_is_replaced_only_when_asked_and_never_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (page, other) = (folder.path().join("a.html"), folder.path().join("other"));
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, &page).unwrap();
        let error = write(&page, "new", false).unwrap_err().to_string();
        assert!(error.contains("exists already") && error.contains("help:"), "{error}");
        write(&page, "new", true).unwrap();
        assert_eq!(fs::read_to_string(&page).unwrap(), "new");
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
