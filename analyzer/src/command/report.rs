//! `report`: judge runs and write the page about them.

use super::check::Bench;
use super::destination::Destination;
use crate::cli::Report;
use crate::error::InputError;
use crate::load::{self, Inputs};
use crate::output::{exit_status, text};
use crate::report;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(super) fn run(arguments: Report) -> Result<u8, InputError> {
    let judging = arguments.judging;
    let bench = Bench::of(&judging)?;
    let inputs = Inputs::from(arguments.input);
    let runs = load::open(&inputs)?;
    let read = inputs.files();
    let output = arguments.output.unwrap_or_else(|| beside(&inputs));
    let judged = bench.judge(&runs);
    let page = report::page(&judged);
    if output.as_os_str() == "-" {
        super::print(&page)?;
    } else {
        let place = Destination::new(&output, arguments.force, &read)?;
        place.create()?.write_all(page.as_bytes()).map_err(|error| place.failed(error))?;
        place.finish()?;
        let verdicts = text::report(&judged, text::Look::of_stdout());
        super::print(&format!("{verdicts}report: {}\n", output.display()))?;
    }
    Ok(exit_status(&judged, judging.strict))
}

/// `run.html` for `/somewhere/run.ilb`: a page of the input's name in the working directory.
fn beside(inputs: &Inputs) -> PathBuf {
    let named = inputs.paths.first().or(inputs.loose.files().next());
    let name = named.and_then(|path| path.file_stem()).unwrap_or("report".as_ref());
    Path::new(name).with_extension("html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_after_its_input() {
        use std::os::unix::ffi::OsStrExt;
        let not_text = Path::new(std::ffi::OsStr::from_bytes(b"b\xff.ilb"));
        let of =
            |path: &Path| beside(&Inputs { paths: vec![path.to_owned()], ..Inputs::default() });
        assert_eq!(of("/a/run.ilb".as_ref()), Path::new("run.html"));
        assert_eq!(of("runs/live/".as_ref()), Path::new("live.html"));
        assert_eq!(of(not_text).as_os_str().as_bytes(), b"b\xff.html");
        assert_eq!(beside(&Inputs::default()), Path::new("report.html"));
    }
}
