//! Running the analyzer on a sealed bundle, where it is at hand.

use crate::child;
use crate::errand::Errand;
use crate::error::exit;
use crate::plan::Plan;
use crate::status::Voice;
use std::path::Path;

/// Runs the analyzer, if it is at hand, and gives its status.
pub(super) fn judge(plan: &Plan, errand: &Errand, bundle: &Path, bytes: u64, voice: &Voice) -> u8 {
    let shown = bundle.display();
    let size = bytes.div_ceil(1_000);
    let beside = std::env::current_exe().ok();
    let beside = beside.and_then(|own| Some(own.parent()?.join("inferlint-analyze")));
    let analyzer = beside
        .filter(|path| path.is_file())
        .or_else(|| child::find("inferlint-analyze".as_ref()).ok());
    let analyzer = match analyzer {
        Some(analyzer) if errand.analyze => analyzer,
        _ => {
            voice.say(&format!(
                "{shown}: {size} kB, whole. judge it with inferlint-analyze check {shown}"
            ));
            return exit::DONE;
        }
    };
    voice.say(&format!("{shown}: {size} kB, whole"));
    let check = std::process::Command::new(&analyzer)
        .arg("check")
        .arg(bundle)
        // Our standard output is the load's.
        .stdout(std::io::stderr())
        .stdin(std::process::Stdio::null())
        .status();
    let page = plan.output.with_extension("html");
    let written = std::process::Command::new(&analyzer)
        .arg("report")
        .arg(bundle)
        .arg("-o")
        .arg(&page)
        .arg("--force")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .stdin(std::process::Stdio::null())
        .status();
    if written.is_ok_and(|status| status.code().is_some_and(|code| code <= 2)) && page.is_file() {
        voice.say(&format!("page: {}", page.display()));
    }
    if let Some(code @ 0..=2) = check.ok().and_then(|status| status.code()) {
        return code as u8;
    }
    let shown_analyzer = analyzer.display();
    voice.warn(&format!("{shown_analyzer} could not judge {shown}\n  help: run it by hand"));
    exit::COULD_NOT
}
