//! A run at a terminal that is closed, and Ctrl-C at one.

use super::{Bench, Standing, bench, exists, is_open, port, serve, wait_for, with_argument};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Child;
use std::time::Instant;

/// A terminal; dropping it is closing its window.
struct Terminal {
    keys: fs::File,
    line: PathBuf,
}

impl Terminal {
    fn open() -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let keys: OwnedFd = openpt(flags).unwrap();
        grantpt(&keys).unwrap();
        unlockpt(&keys).unwrap();
        let line = ptsname(&keys, Vec::new()).unwrap();
        Self { keys: keys.into(), line: PathBuf::from(line.to_str().unwrap()) }
    }

    /// Runs a command on it, as the leader of its session.
    fn run(&self, folder: &Bench, words: &[&str]) -> Child {
        let mut open = fs::OpenOptions::new();
        open.read(true).write(true).custom_flags(OFlags::NOCTTY.bits().cast_signed());
        let line = || open.open(&self.line).unwrap();
        let mut command = folder.bare("setsid");
        command.arg("--ctty").args(words);
        command.stdin(line()).stdout(line()).stderr(line()).spawn().unwrap()
    }
}

/// The words of an `xray` of this load, from `before` to the load's own.
fn xray_words<'a>(before: &[&'a str], recorder: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let own = [recorder, "xray", "-o", "run.ilb", "--no-analyze", "--quiet", "--grace", "1s"];
    [before, &own, more].concat()
}

/// Leaves a word when the terminal is closed or Ctrl-C comes, and a status that is its own.
const HEEDS: &str = "trap 'sleep 0.2; echo hup >> got; exit 9' HUP
trap 'sleep 2; echo int >> got; exit 5' INT
touch loading; while :; do sleep 0.05; done";

#[test]
fn a_closed_terminal_ends_the_load_as_without_us_and_seals_the_bundle() {
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    let recorder = recorder.to_str().unwrap();
    // The recorder leads the session in one case, a shell that waits for it does in the other.
    for before in [&[][..], &["sh", "-c", "\"$0\" \"$@\"; exit $?"]] {
        let folder = Bench::new();
        let load = folder.script("load.sh", HEEDS);
        let terminal = Terminal::open();
        let mut bare = terminal.run(&folder, &[before, &[&*load]].concat());
        wait_for(|| exists(&folder, "loading").then_some(()));
        drop(terminal);
        let bare_status = bare.wait().unwrap();
        wait_for(|| with_argument(&load).is_empty().then_some(()));
        assert_eq!(fs::read_to_string(folder.path("got")).unwrap(), "hup\n");
        for name in ["got", "loading"] {
            fs::remove_file(folder.path(name)).unwrap();
        }
        let standing = Standing::start(&folder);
        let words = xray_words(before, recorder, &["--url", &standing.url, "--", &load]);
        let terminal = Terminal::open();
        let mut child = terminal.run(&folder, &words);
        wait_for(|| exists(&folder, "loading").then_some(()));
        drop(terminal);
        let closed = Instant::now();
        wait_for(|| exists(&folder, "run.ilb").then_some(()));
        println!("behind {before:?}: sealed after {:?}", closed.elapsed());
        let status = child.wait().unwrap();
        // A shell that leads the session dies of it with and without us.
        let expected = if before.is_empty() { Some(129) } else { bare_status.code() };
        assert_eq!(status.code(), expected, "{before:?}");
        wait_for(|| with_argument(&load).is_empty().then_some(()));
        assert_eq!(fs::read_to_string(folder.path("got")).unwrap(), "hup\n", "once, {before:?}");
        let bundle = folder.bundle();
        assert!(bundle.salvage.is_clean(), "{:?}", bundle.salvage);
        assert_eq!(bundle.salvage.segments[0].end.as_ref().unwrap().how, "hangup");
        assert_eq!(bundle.exits("load")[0].status, Some(9), "{before:?}");
        assert_eq!(folder.left(), ["run.ilb"]);
    }
}

#[test]
fn a_load_that_outlives_its_terminal_keeps_its_server_and_writes_its_result() {
    let folder = Bench::new();
    let port = port();
    // It loads the server only when the bundle is sealed.
    let load = folder.script(
        "load.sh",
        &format!(
            "touch loading; while [ ! -e go ]; do sleep 0.05; done\nexec {} > bench.out 2>&1",
            bench(port, 4, "--save-result --result-filename bench.json")
        ),
    );
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    let server = serve(port, "");
    let more = ["--serve", &server, "--", "nohup", &load];
    let terminal = Terminal::open();
    let mut child = terminal.run(&folder, &xray_words(&[], recorder.to_str().unwrap(), &more));
    wait_for(|| exists(&folder, "loading").then_some(()));
    drop(terminal);
    let closed = Instant::now();
    wait_for(|| exists(&folder, "run.ilb").then_some(()));
    println!("sealed after {:?}", closed.elapsed());
    assert!(is_open(port), "the load still needs its server");
    fs::write(folder.path("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(129));
    let result = fs::read_to_string(folder.path("bench.json")).unwrap();
    assert!(result.contains("\"completed\":24"), "{result}");
    assert!(!is_open(port), "the server is gone");
    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean(), "{:?}", bundle.salvage);
    assert_eq!(bundle.exits("load")[0].status, Some(0));
    assert_eq!(folder.left(), ["run.ilb"]);
}

#[test]
fn ctrl_c_at_a_terminal_reaches_the_load_once_and_leaves_it_its_time() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let load = folder.script("load.sh", HEEDS);
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    let words = ["--url", &standing.url, "--", &load];
    let mut terminal = Terminal::open();
    let mut child = terminal.run(&folder, &xray_words(&[], recorder.to_str().unwrap(), &words));
    wait_for(|| exists(&folder, "loading").then_some(()));
    terminal.keys.write_all(b"\x03").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_to_string(folder.path("got")).unwrap(), "int\n");
    let bundle = folder.bundle();
    assert!(bundle.salvage.is_clean());
    assert_eq!(bundle.exits("load")[0].status, Some(5));
    assert_eq!(folder.left(), ["run.ilb"]);
}
