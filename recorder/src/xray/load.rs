//! The load command: started as without us, followed to its end, its results fetched.

use super::{beside, no_outlet, note, source};
use crate::aside::Brought;
use crate::child::{self, Child, Echo, Ending, Inherited, Route, Start, Unfit};
use crate::collect::files::{self, Item, Keep, Shelf};
use crate::collect::process::Tree;
use crate::errand::Errand;
use crate::error::{Error, exit};
use crate::follow::Follower;
use crate::load_tool::{Call, point_name, recognise};
use crate::phase::Edge;
use crate::plan::Plan;
use crate::results::{self, Expected, Place};
use crate::run::{self, Run};
use crate::signals::Stop;
use inferlint_schema::record::{Exit, Text};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The load command under way.
pub(super) struct Load {
    pub(super) child: Child,
    pub(super) echoes: Vec<Echo>,
    /// It is in the foreground of a terminal: Ctrl-C and a closed terminal reach it by themselves.
    pub(super) foreground: bool,
    phase: String,
    began_t: u64,
    argv: Vec<Text>,
    pub(super) expected: Vec<Expected>,
    /// How it ended, once it has.
    pub(super) ending: Option<Ending>,
}

impl Load {
    /// The record of its end.
    pub(super) fn exit(&self, ending: Ending, t: u64) -> Exit {
        let (id, argv) = (self.child.id, Some(self.argv.clone()));
        run::exit(t, "load", id, argv, Some(ending), Some(self.began_t))
    }

    /// Lets its output come to an end, and gives what fetches its results, as of `t`.
    pub(super) fn pick_up(&self, shelf: &Shelf, t: u64) -> impl FnOnce() -> Brought + Send + use<> {
        for echo in &self.echoes {
            echo.finish();
        }
        let (expected, shelf) = (self.expected.clone(), shelf.clone());
        move || {
            let mut brought = Brought::default();
            for expected in &expected {
                expected.pick_up(&shelf, t, None, &mut brought.records);
            }
            brought.warnings.extend(expected.iter().filter_map(Expected::unmet).map(left_none));
            brought
        }
    }
}

fn left_none(place: &Path) -> String {
    let help = "see how the load ended, and whether the path is right";
    format!("the load left no result in {}\n  help: {help}", place.display())
}

/// What fetches a load's results is for this.
pub(super) const RESULTS: &str = "the load's results";
/// How long is waited for a place of results before the load: it hangs there itself if that does.
const LOOK: Duration = Duration::from_secs(5);
/// How long is waited for the files that a load names: 2 GiB, the most that is hashed of a data set,
/// take 5 s from a fast disk.
const FILES: Duration = Duration::from_secs(30);

/// The load's arguments, with flags that save a result, and where results are expected.
pub(super) struct Results {
    argv: Vec<OsString>,
    expected: Vec<Expected>,
    /// The flags, and the result's file.
    added: Option<(Vec<OsString>, PathBuf)>,
}

/// Looks, before a server is started for it, whether the load could be run.
pub(super) fn check_load(errand: &Errand) -> Result<(), Error> {
    let Some(program) = errand.load.first() else {
        return Err(Error::could_not("no load command", "give it behind --"));
    };
    child::find(program).map(drop).map_err(|unfit| {
        let shown = program.display();
        match unfit {
            Unfit::NotFound => Error {
                status: exit::NOT_FOUND,
                what: format!("the load command {shown} is not found"),
                help: "check its name and PATH; nothing was started".to_owned(),
            },
            Unfit::NotExecutable => Error {
                status: exit::NOT_EXECUTABLE,
                what: format!("the load command {shown} cannot be executed"),
                help: "check its permissions (chmod +x); nothing was started".to_owned(),
            },
        }
    })
}

pub(super) fn start_load(
    run: &mut Run<'_>,
    plan: &Plan,
    errand: &Errand,
    results: Results,
    inherited: &Arc<Inherited>,
) -> Result<Load, Error> {
    let call = recognise(&raw(errand));
    let Results { argv, expected, .. } = results;
    let (stdout, stderr) = routes(run, plan, errand)?;
    let is_terminal = |route: &Route| matches!(route, Route::Terminal);
    run.shares_terminal = is_terminal(&stdout) || stderr.as_ref().is_some_and(is_terminal);
    let mut env = Vec::new();
    if let Some(marks) = plan.marks.as_deref().and_then(|path| std::path::absolute(path).ok()) {
        env.push(("INFERLINT_MARKS", marks.into_os_string()));
    }
    let how = Start {
        argv: &argv,
        env: &env,
        own_session: false,
        stdout: &stdout,
        stderr: stderr.as_ref(),
    };
    let params = call.as_ref().map(Call::params).unwrap_or_default();
    let phase = point_name(&params);
    let from = if call.is_some() { "argv" } else { "user" };
    let edge = Edge { t: run.now(), from, error_ns: None };
    let params = params.into_iter().map(|(key, value)| (key, value.lossy().into_owned()));
    run.session.begin_after_reading(edge, &phase, params);
    let began_t = run.now();
    let child = child::start(inherited, &how).map_err(|error| {
        let what = format!("run the load command: {}", error.to_string().to_lowercase());
        Error { status: exit::NOT_EXECUTABLE, ..Error::could_not(what, "check its permissions") }
    })?;
    run.set_loading(true, began_t);
    let argv: Vec<Text> = argv.iter().map(|word| Text::from(word.as_bytes())).collect();
    if call.is_some() {
        run.add_point(child.id, began_t, argv.clone());
    }
    run.plant(child.id.pid, Tree::Client);
    let echoes = follow_load(run, stdout, stderr)?;
    let foreground = in_foreground();
    Ok(Load { child, echoes, foreground, phase, began_t, argv, expected, ending: None })
}

/// Our process group, which is the load's too, is the one that the terminal's keys go to.
fn in_foreground() -> bool {
    fs::File::open("/dev/tty").is_ok_and(|terminal| {
        rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
    })
}

/// Settles what the load's arguments are and where its results will be, and looks what is there. Where
/// that is not to be learnt in time the load runs as it was given.
pub(super) async fn settle_results(
    run: &mut Run<'_>,
    plan: &Plan,
    errand: &Errand,
) -> Result<Results, Stop> {
    let (load, named, output) = (errand.load.clone(), errand.results.clone(), plan.output.clone());
    let look = tokio::task::spawn_blocking(move || look_for_results(load, &named, &output));
    let results = run.until(timeout(LOOK, look)).await?;
    let Ok(Ok(results)) = results else {
        let why = format!("the places of results did not answer in {} s", LOOK.as_secs());
        run.session.sink.account(files::gap(run.now(), None, "unreadable", why));
        return Ok(Results { argv: errand.load.clone(), expected: Vec::new(), added: None });
    };
    if let Some((flags, file)) = &results.added {
        run.voice.say(&format!("the load is asked to save its result ({})", file.display()));
        note(run, "load_flags_added", &flags.join(" ".as_ref()).to_string_lossy());
    }
    Ok(results)
}

fn look_for_results(mut argv: Vec<OsString>, named: &[PathBuf], output: &Path) -> Results {
    let words: Vec<Vec<u8>> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
    let place = |path: &PathBuf| {
        if path.is_dir() { Place::Folder(path.clone()) } else { Place::File(path.clone()) }
    };
    let mut expected: Vec<Expected> =
        named.iter().map(|path| Expected::at(place(path), false)).collect();
    let Some(call) = recognise(&words) else { return Results { argv, expected, added: None } };
    let cwd = std::env::current_dir().unwrap_or_default();
    if let Some(place) = results::place_of(&call, &cwd) {
        let named = |known: &Expected| known.path().is_some_and(|path| place.is(path));
        if !expected.iter().any(named) {
            expected.push(Expected::at(place, false));
        }
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = std::path::absolute(folder.unwrap_or(Path::new("."))).unwrap_or_default();
    let name = call.tool.saves.file_name(output);
    let mut added = None;
    if let Some(folder) = results::folder_with_room(&folder)
        && let Some(flags) = results::flags_for(&call, &folder.join(&name))
    {
        let file = folder.join(name);
        argv.extend(flags.iter().cloned());
        let ours = !call.tool.saves.by_itself();
        expected.push(Expected::at(Place::File(file.clone()), ours));
        added = Some((flags, file));
    }
    Results { argv, expected, added }
}

fn raw(errand: &Errand) -> Vec<Vec<u8>> {
    errand.load.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// The data set's digest, the configuration and scripts that the load command names.
pub(super) async fn note_client_files(run: &mut Run<'_>, errand: &Errand) -> Result<(), Stop> {
    let (t, argv, shelf) = (run.now(), raw(errand), run.shelf.clone());
    run.aside.begin("what the load command names", move || {
        let cwd = std::env::current_dir().unwrap_or_default();
        let mut out = Vec::new();
        for path in files::named_in(&argv, &cwd) {
            let is_script = path.extension().is_some_and(|suffix| suffix == "sh");
            let what = if is_script { "script" } else { "config" };
            let item = Item { path: &path, what, keep: Keep::Beginning, size_before: None };
            shelf.put(t, None, item, &mut out);
        }
        if let Some(path) = recognise(&argv).and_then(|call| files::dataset(&call, &cwd)) {
            let item = Item { path: &path, what: "dataset", keep: Keep::Digest, size_before: None };
            shelf.put(t, None, item, &mut out);
        }
        out
    });
    run.errands(FILES).await
}

/// Where the load's output goes. One route for both streams that are one outside too.
fn routes(run: &Run<'_>, plan: &Plan, errand: &Errand) -> Result<(Route, Option<Route>), Error> {
    let route = |fd: u8, name: &str| {
        let path = beside(plan, name);
        if plan.force {
            let _ = fs::remove_file(&path);
        }
        Route::of_ours(fd, &path, errand.record_output).map_err(|error| no_outlet(&error, &path))
    };
    let stdout = route(1, "load.out")?;
    let one = child::outputs_are_one() && matches!(stdout, Route::Kept(_));
    let stderr = if one { None } else { Some(route(2, "load.err")?) };
    if matches!(stdout, Route::Terminal) {
        note(run, "load_output", "not recorded: it goes to the terminal");
    }
    Ok((stdout, stderr))
}

fn follow_load(
    run: &mut Run<'_>,
    stdout: Route,
    stderr: Option<Route>,
) -> Result<Vec<Echo>, Error> {
    let clock = run.session.clock;
    let mut echoes = Vec::new();
    let mut src = None;
    for (fd, stream, route) in [(1, "stdout", Some(stdout)), (2, "stderr", stderr)] {
        let (reader, from) = match route {
            None | Some(Route::Terminal) => continue,
            // One file for both streams is followed once; the load writes it as it would without us.
            Some(Route::Along { .. }) if stream == "stderr" && child::outputs_are_one() => continue,
            Some(Route::Along { reader, from }) => (reader, from),
            Some(Route::Kept(outlet)) => {
                let open = || outlet.reader().map_err(|e| no_outlet(&e, Path::new("the output")));
                let reader = open()?;
                echoes.push(Echo::begin(open()?, fd));
                run.outlets.push(outlet);
                (reader, 0)
            }
        };
        let src = *src.get_or_insert_with(|| {
            run.session.source(|src| source(src, clock, "load", "client", "log"))
        });
        run.followers.push(Follower::written(src, stream, reader, from, run.now()));
    }
    Ok(echoes)
}

pub(super) async fn wait_for_load(run: &mut Run<'_>, load: &mut Load) -> Result<Ending, Stop> {
    run.until(load.child.ended()).await?;
    let ending = end_load(run, load);
    let taken = run.session.read_all();
    run.begin_drain(run.now());
    run.taken(taken).await?;
    Ok(ending)
}

/// Writes down that the load has ended, and has its results fetched.
pub(super) fn end_load(run: &mut Run<'_>, load: &mut Load) -> Ending {
    let t = run.now();
    run.reaper.reap();
    run.look();
    run.end_points(t);
    let id = load.child.id;
    // It has ended and nobody else reaps, so its status is known.
    let unknown = Ending::Status(i32::from(exit::COULD_NOT));
    let ending = run.reaper.ending(id.pid).unwrap_or(unknown);
    let edge = Edge { t, from: "user", error_ns: None };
    run.session.end_alone(edge, &load.phase);
    run.session.sink.account(load.exit(ending, t));
    let fetch = load.pick_up(&run.shelf, t);
    run.aside.begin(RESULTS, fetch);
    load.ending = Some(ending);
    run.set_loading(false, t);
    ending
}
