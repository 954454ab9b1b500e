//! A recorder that is killed, stopped, or loses its disk changes nothing for the load.

use super::{Bench, Bundle, Standing, exists, signal, text, wait_for, wait_for_of, with_argument};
use inferlint_schema::record::Record;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A load that writes to both streams for about a second, then a result, and exits with 3. With a
/// second argument it waits in the middle for that file, and makes one beside it meanwhile.
const WORDY: &str = r#"
n=0
while [ $n -lt 40 ]; do
  while [ $n = 20 ] && [ -n "$2" ] && [ ! -e "$2" ]; do
    touch "$2.waits"; sleep 0.02
  done
  echo "out $n 0123456789"; echo "err $n" >&2; sleep 0.02; n=$((n+1))
done
echo '{"done": 40}' > "$1.part" && mv "$1.part" "$1"
echo last words
exit 3"#;

#[test]
fn a_killed_recorder_changes_nothing_for_the_load() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let load = folder.script("wordy.sh", WORDY);
    let bare = folder.bare(&load).arg(folder.path("bare.json")).output().unwrap();
    assert_eq!(bare.status.code(), Some(3));
    // Moments spread over the run, the same ones every time.
    let rounds: Vec<u64> = (0..20).map(|n| 40 + n * 67 % 1_300).collect();
    thread::scope(|scope| {
        for lane in rounds.chunks(7) {
            let (standing, load, bare) = (&standing, &load, &bare);
            scope.spawn(move || {
                for after_ms in lane {
                    killed_after(*after_ms, &standing.url, load, bare);
                }
            });
        }
    });
}

/// One round: both streams of the recorder go to files, which outlive it.
fn killed_after(after_ms: u64, url: &str, load: &str, bare: &Output) {
    let folder = Bench::new();
    let (out, err) = (folder.path("out"), folder.path("err"));
    let result = folder.path("result.json");
    let mut command = folder.xray(&["--quiet", "--interval", "50ms", "--url", url, "--", load]);
    command.arg(&result).stdout(fs::File::create(&out).unwrap());
    let mut recorder = command.stderr(fs::File::create(&err).unwrap()).spawn().unwrap();
    thread::sleep(Duration::from_millis(after_ms));
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    let word = result.to_str().unwrap();
    wait_for(|| with_argument(word).is_empty().then_some(()));
    // A recorder that was killed before the load began has none to disturb.
    let begun = fs::read(&out).unwrap();
    if begun.is_empty() {
        return;
    }
    assert_eq!(text(&begun), text(&bare.stdout), "killed after {after_ms} ms");
    assert_eq!(text(&fs::read(&err).unwrap()), text(&bare.stderr));
    assert_eq!(fs::read_to_string(&result).unwrap(), "{\"done\": 40}\n");
    if folder.path("run.ilb.part").exists() {
        let part = Bundle::read(&folder.path("run.ilb.part"));
        // Between the seal and its name a bundle is whole.
        let whole = part.salvage.is_clean() && part.exits("load").len() == 1;
        assert!(part.salvage.records > 0 && (whole || !part.salvage.is_clean()));
    }
}

#[test]
fn a_stopped_recorder_holds_nobody_up_and_passes_everything_on_later() {
    stopped_for(Duration::from_millis(500));
}

#[test]
#[ignore = "takes half a minute"]
fn a_recorder_that_is_stopped_for_30_s_passes_everything_on_later() {
    stopped_for(Duration::from_secs(30));
}

fn stopped_for(time: Duration) {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let load = folder.script("wordy.sh", WORDY);
    let bare = folder.bare(&load).arg(folder.path("bare.json")).output().unwrap();
    let (result, go) = (folder.path("result.json"), folder.path("go"));
    let mut command = folder.xray(&["--quiet", "--url", &standing.url, "--", &load]);
    let child = command.arg(&result).arg(&go).spawn().unwrap();
    let (child, ()) = wait_for_of(child, || exists(&folder, "go.waits").then_some(()));
    signal(child.id(), "STOP");
    let stopped = Instant::now();
    fs::write(go, "").unwrap();
    // Both pipes of ours stay unread; the load ends all the same.
    wait_for(|| result.is_file().then_some(()));
    thread::sleep(time.saturating_sub(stopped.elapsed()).max(Duration::from_millis(500)));
    signal(child.id(), "CONT");
    let output = child.wait_with_output().unwrap();
    assert_undisturbed(&folder, &output, &bare);
    assert_eq!(text(&output.stderr), text(&bare.stderr));
    assert!(folder.bundle().salvage.is_clean());
}

/// Status, both outputs and the result are those of a bare run. On standard error the recorder may
/// have said something too.
fn assert_undisturbed(folder: &Bench, output: &Output, bare: &Output) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(output.stdout, bare.stdout, "{said}");
    let loads: String = said.split_inclusive('\n').filter(|l| l.starts_with("err ")).collect();
    assert_eq!(loads, text(&bare.stderr), "{said}");
    let result = fs::read(folder.path("result.json")).unwrap();
    assert_eq!(result, fs::read(folder.path("bare.json")).unwrap());
}

#[test]
fn streams_that_are_one_stay_in_order() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let load = folder.script("wordy.sh", WORDY);
    let shell = |prefix: &str, result: &str| format!("{prefix} {load} {result} 2>&1");
    let bare = folder.bare("sh").args(["-c", &shell("", "bare.json")]).output().unwrap();
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    let prefix = format!(
        "{} xray -o run.ilb --no-analyze --quiet --url {} --",
        recorder.display(),
        standing.url
    );
    let recorded = folder.bare("sh").args(["-c", &shell(&prefix, "r.json")]).output().unwrap();
    assert_eq!(recorded.status.code(), Some(3));
    assert_eq!(text(&recorded.stdout), text(&bare.stdout));

    // In a file, where the load writes by itself, each line is recorded once.
    let script = shell(&prefix.replace("xray", "xray --force"), "f.json > both.txt");
    assert_eq!(folder.bare("sh").args(["-c", &script]).status().unwrap().code(), Some(3));
    assert_eq!(fs::read_to_string(folder.path("both.txt")).unwrap(), text(&bare.stdout));
    let bundle = folder.bundle();
    assert_eq!(bundle.log("load", "stdout"), text(&bare.stdout));
    assert_eq!(bundle.log("load", "stderr"), "");
}

#[test]
fn a_file_that_is_both_streams_is_read_once() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let load = folder.script("load.sh", "echo one; echo two >&2");
    let both = fs::File::create(folder.path("both.log")).unwrap();
    let mut command = folder.xray(&["--quiet", "--url", &standing.url, "--", &load]);
    command.stdout(both.try_clone().unwrap()).stderr(both);
    assert!(command.status().unwrap().success());
    assert_eq!(fs::read_to_string(folder.path("both.log")).unwrap(), "one\ntwo\n");
    let bundle = folder.bundle();
    assert_eq!(bundle.log("load", "stdout"), "one\ntwo\n");
    assert_eq!(bundle.log("load", "stderr"), "");
}

#[test]
fn a_folder_that_is_removed_changes_nothing_for_the_load() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let load = folder.script("wordy.sh", WORDY);
    let bare = folder.bare(&load).arg(folder.path("bare.json")).output().unwrap();
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    fs::create_dir(folder.path("gone")).unwrap();
    let mut command = folder.bare(recorder.to_str().unwrap());
    command.args(["xray", "--quiet", "--no-analyze", "-o", "gone/run.ilb", "--url"]);
    command.args([&standing.url, "--", &load]);
    command.arg(folder.path("result.json")).arg(folder.path("go"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (child, ()) = wait_for_of(child, || exists(&folder, "go.waits").then_some(()));
    fs::remove_dir_all(folder.path("gone")).unwrap();
    fs::write(folder.path("go"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_undisturbed(&folder, &output, &bare);
    assert!(text(&output.stderr).contains("removed"), "{}", text(&output.stderr));
}

#[test]
fn a_disk_that_fills_up_changes_nothing_for_the_load() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let load = folder.script("wordy.sh", WORDY);
    let bare = folder.bare(&load).arg(folder.path("bare.json")).output().unwrap();
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    fs::create_dir(folder.path("small")).unwrap();
    // A disk of 1 MiB that is filled up under the recorder, while the load is at work.
    let xray = format!(
        "mount -t tmpfs -o size=1m none small && \
         {} xray --quiet --no-analyze -o small/run.ilb --url {} -- {load} result.json go",
        recorder.display(),
        standing.url
    );
    let fill = format!(
        "({xray}; echo $? > status) & \
         until [ -e go.waits ] || [ -e status ]; do sleep 0.02; done; \
         cat /dev/zero > small/fill 2> /dev/null; touch go; wait; \
         cp small/run.ilb .; exit $(cat status)"
    );
    let mut command = folder.bare("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &fill]);
    let output = command.output().unwrap();
    let said = text(&output.stderr);
    if said.contains("unshare:") || said.contains("mount:") {
        println!("skipped: no small disk can be mounted here: {said}");
        return;
    }
    assert_undisturbed(&folder, &output, &bare);
    let bundle = folder.bundle();
    assert!(bundle.salvage.losses.is_empty(), "{:?}", bundle.salvage.losses);
    let how = bundle.salvage.segments[0].end.as_ref().unwrap().how.clone();
    println!("the bundle ends with {how:?}");
    assert!(["finished", "disk_full"].contains(&how.as_str()));
}

#[test]
fn a_result_whose_disk_does_not_answer_holds_up_neither_readings_nor_a_signal() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    // A pipe that nobody writes into: to open it takes for ever.
    let result = folder.path("result.json");
    assert!(Command::new("mkfifo").arg(&result).status().unwrap().success());
    let result = result.to_str().unwrap();
    let args = ["--url", &standing.url, "--interval", "50ms", "--result", result];
    let load = ["--", "sh", "-c", "touch ended"];
    let recorder = folder.xray(&[&args[..], &load].concat()).spawn().unwrap();
    let (recorder, ()) = wait_for_of(recorder, || exists(&folder, "ended").then_some(()));
    thread::sleep(Duration::from_secs(5));
    let told = Instant::now();
    signal(recorder.id(), "INT");
    let output = recorder.wait_with_output().unwrap();
    let took = told.elapsed();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(took < Duration::from_secs(4), "{took:?}");
    let bundle = folder.bundle();
    let missing = bundle.gaps().into_iter().filter(|gap| gap.what == "unreadable");
    let missing: Vec<&str> = missing.map(|gap| gap.why.as_str()).collect();
    let why = "the load's results could not be read: no answer of its file system before the \
               recording ended";
    assert_eq!(missing, [why]);
    let ended = bundle.exits("load")[0].t;
    let times = bundle.of(|record| match record {
        Record::Scrape(scrape) if scrape.status.is_some() && scrape.t > ended => Some(scrape.t),
        _ => None,
    });
    let apart = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(times.len() >= 60, "{} readings in 5 s", times.len());
    assert!(apart < 1_000_000_000, "{apart} ns without a reading");
}
