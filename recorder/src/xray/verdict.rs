//! Running the analyzer on a sealed bundle, where it is at hand.

use crate::child::{self, Child};
use crate::errand::Errand;
use crate::error::exit;
use crate::plan::Plan;
use crate::procfs::Procfs;
use crate::signals::{Signals, Stop};
use crate::sink::Sealed;
use crate::status::Voice;
use crate::stop::forward;
use nix::sys::signal::Signal;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the analyzer, if it is at hand, and gives its status.
///
/// # Errors
/// The signal that came before its end; the analyzer has heard it too.
pub(super) async fn judge(
    plan: &Plan,
    errand: &Errand,
    sealed: &Sealed,
    voice: &Voice,
    signals: &mut Signals,
) -> Result<u8, Stop> {
    let bundle = &sealed.path;
    let shown = bundle.display();
    let size = sealed.bytes.div_ceil(1_000);
    let beside = std::env::current_exe().ok();
    let beside = beside.and_then(|own| Some(own.parent()?.join("inferlint-analyze")));
    let analyzer = beside
        .filter(|path| path.is_file())
        .or_else(|| child::find("inferlint-analyze".as_ref()).ok());
    let analyzer = match analyzer {
        Some(analyzer) if errand.analyze => analyzer,
        _ => {
            voice.say(&format!(
                "{shown}: {size} kB, whole; judge it with inferlint-analyze check {shown}"
            ));
            return Ok(exit::DONE);
        }
    };
    voice.say(&format!("{shown}: {size} kB, whole"));
    let mut check = Command::new(&analyzer);
    // Our standard output is the load's.
    check.arg("check").arg(bundle).stdout(std::io::stderr()).stdin(Stdio::null());
    let check = status_of(check, signals).await?;
    write_page(&analyzer, plan, bundle, voice, signals).await?;
    if let Some(code @ 0..=2) = check {
        return Ok(code as u8);
    }
    let shown_analyzer = analyzer.display();
    voice.warn(&format!("{shown_analyzer} could not judge {shown}\n  help: run it by hand"));
    Ok(exit::COULD_NOT)
}

/// Has the page written beside the bundle, where nothing stands in its place.
async fn write_page(
    analyzer: &Path,
    plan: &Plan,
    bundle: &Path,
    voice: &Voice,
    signals: &mut Signals,
) -> Result<(), Stop> {
    let page = plan.output.with_extension("html");
    let shown = page.display();
    if page.symlink_metadata().is_ok() && !plan.force {
        let bundle = bundle.display();
        let help = format!("inferlint-analyze report {bundle} -o {shown} --force replaces it");
        voice.warn(&format!("{shown} exists, and is left as it is\n  help: {help}"));
        return Ok(());
    }
    let mut report = Command::new(analyzer);
    report.arg("report").arg(bundle).arg("-o").arg(&page).arg("--force");
    report.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    let written = status_of(report, signals).await?;
    if written.is_some_and(|code| code <= 2) && page.is_file() {
        voice.say(&format!("page: {shown}"));
    }
    Ok(())
}

/// Runs a program to its end. `None`: it could not be run, or a signal ended it. What signals it has
/// to hear are passed on; after a second one it is killed.
async fn status_of(mut command: Command, signals: &mut Signals) -> Result<Option<i32>, Stop> {
    let Ok(mut child) = command.spawn() else { return Ok(None) };
    let procs = Procfs::default();
    let mut first = None;
    if let Ok(stat) = procs.stat(child.id()) {
        let running = Child::watch(stat.id);
        loop {
            tokio::select! {
                biased;
                () = running.ended() => break,
                stop = signals.next() => {
                    let signal = if first.is_some() { Signal::SIGKILL } else { stop.signal() };
                    forward(&procs, std::process::id(), stat.id, signal);
                    first = first.or(Some(stop));
                }
            }
        }
    }
    let status = child.wait();
    first.map_or_else(|| Ok(status.ok().and_then(|status| status.code())), Err)
}
