//! `watch`: everything around a load that somebody else runs.

use crate::clock::Clock;
use crate::collect::metrics::{self, Found, Trouble};
use crate::error::Error;
use crate::http::Client;
use crate::marks::Follower;
use crate::plan::Plan;
use crate::session::Session;
use crate::signals::Signals;
use crate::sink::{Place, Sealed};
use crate::status::Voice;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Records until Ctrl-C, SIGTERM, SIGHUP or the end of `--duration`.
///
/// # Errors
/// When nothing was read or ever can be, the bundle cannot be made or closed.
pub(crate) async fn watch(plan: &Plan, voice: &Voice) -> Result<(), Error> {
    let place = Place::check(&plan.output, plan.force)?;
    if let Some(warning) = place.warning() {
        voice.warn(&warning);
    }
    let mut signals = Signals::listen()?;
    let client = client()?;
    let clock = Clock::start();
    let found = tokio::select! {
        found = metrics::discover(&client, plan) => found,
        _ = signals.next() => return Err(nothing_recorded()),
    };
    judge(plan, &found, true, voice)?;
    let intervals = metrics::intervals(&found, plan.interval, metrics::ATTACHED);
    let mut session = Session::open(plan, place, clock, settled(&found, &intervals))?;
    let mut marks = plan.marks.as_deref().map(follow).transpose()?;
    say_begun(plan, &intervals, voice);
    for (metrics, interval) in session.declare(found, &client, &None).into_iter().zip(intervals) {
        session.collect(metrics, interval);
    }
    let how = session.run(plan.duration, marks.as_mut(), &mut signals, voice).await;
    if let Some(marks) = marks {
        for lines in marks.finish().await {
            session.mark(lines, voice);
        }
    }
    let live = Arc::clone(&session.live);
    let sealed = session.seal(how, &mut signals).await?;
    if sealed.trouble.is_none() && live.scrapes().0 == 0 {
        let what = format!("nothing was read; {} says why", sealed.path.display());
        return Err(Error::could_not(what, "see the warnings above, and record again"));
    }
    finish(sealed, voice)
}

/// `snapshot`: one reading of every source.
///
/// # Errors
/// When nothing can be read, the bundle cannot be made or closed.
pub(crate) async fn snapshot(plan: &Plan, voice: &Voice) -> Result<(), Error> {
    let place = Place::check(&plan.output, plan.force)?;
    let mut signals = Signals::listen()?;
    let client = client()?;
    let clock = Clock::start();
    let found = tokio::select! {
        found = metrics::discover(&client, plan) => found,
        _ = signals.next() => return Err(nothing_recorded()),
    };
    judge(plan, &found, false, voice)?;
    let mut session = Session::open(plan, place, clock, BTreeMap::new())?;
    let sources = session.declare(found, &client, &None);
    let reading = async {
        for metrics in sources {
            session.read_once(metrics).await;
        }
    };
    let how = tokio::select! {
        () = reading => "finished",
        stop = signals.next() => stop.how(),
    };
    finish(session.seal(how, &mut signals).await?, voice)
}

fn client() -> Result<Client, Error> {
    Client::new().map_err(|error| {
        Error::could_not(format!("set up HTTP: {error}"), "check the limits of this session")
    })
}

/// Warns of what cannot be read. When that is everything, or metrics are required, it is an error;
/// with `waits` not while one of them may still come: a load may be watched before its server is up.
fn judge(plan: &Plan, found: &[Found], waits: bool, voice: &Voice) -> Result<(), Error> {
    let troubles = || found.iter().filter_map(|found| Some((found, found.trouble.as_ref()?)));
    let hopeless = troubles().count() == found.len()
        && !(waits && troubles().any(|(_, trouble)| trouble.may_come));
    let strict = |found: &Found| hopeless || (plan.require_metrics && found.serves());
    if let Some((_, trouble)) = troubles().find(|(found, _)| strict(found)) {
        return Err(Error::could_not(&trouble.what, &trouble.help));
    }
    for (found, trouble) in troubles() {
        let (name, Trouble { what, help, .. }) = (found.name(), trouble);
        let again = if waits { "; it is tried again at every reading" } else { "" };
        voice.warn(&format!("source {name}: {what}{again}\n  help: {help}"));
    }
    Ok(())
}

/// `session.intervals_ns`: one entry for the servers, one for each source that differs.
fn settled(found: &[Found], intervals: &[Duration]) -> BTreeMap<String, u64> {
    let pairs = || found.iter().zip(intervals);
    let ns = |interval: &Duration| interval.as_nanos() as u64;
    let common = pairs().find(|(found, _)| found.serves()).or_else(|| pairs().next());
    let Some((_, common)) = common else { return BTreeMap::new() };
    let differing = pairs()
        .filter(|(_, interval)| *interval != common)
        .map(|(found, interval)| (format!("metrics/{}", found.name()), ns(interval)));
    std::iter::once(("metrics".to_owned(), ns(common))).chain(differing).collect()
}

fn follow(path: &Path) -> Result<Follower, Error> {
    Follower::start(path).map_err(|error| {
        let what = format!("open the marks file {}: {error}", path.display());
        Error::could_not(what, "name another with --marks")
    })
}

fn say_begun(plan: &Plan, intervals: &[Duration], voice: &Voice) {
    let every = intervals.iter().min().map_or(0, Duration::as_millis);
    let until = match plan.duration {
        Some(duration) => format!("for {} s", duration.as_secs_f64()),
        None => "until Ctrl-C or SIGTERM".to_owned(),
    };
    voice.say(&format!("recording to {} every {every} ms {until}", plan.output.display()));
    if let Some(marks) = plan.marks.as_deref().map(std::path::absolute) {
        let marks = marks.unwrap_or_default();
        voice.say(&format!("phases are marked in {}", marks.display()));
    }
}

fn nothing_recorded() -> Error {
    Error::could_not("ended before the recording began", "start it again")
}

fn finish(sealed: Sealed, voice: &Voice) -> Result<(), Error> {
    let path = sealed.path.display();
    if let Some(trouble) = sealed.trouble {
        return Err(Error::could_not(
            format!("{path} is closed but not complete: {trouble}"),
            "free some space and record again; what is there can be read",
        ));
    }
    voice.say(&format!(
        "{path}: {} kB; judge it with inferlint-analyze check {path}",
        sealed.bytes.div_ceil(1_000)
    ));
    Ok(())
}
