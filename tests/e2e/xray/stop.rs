//! What is stopped with a server, and what is left alone: real processes of every awkward kind.

use super::{Bench, bench, copy, is_open, port, serve, signal, text, wait_for, with_argument};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Options of `unshare` for a pid namespace that an ordinary user may make, where users may.
const NAMESPACE: &str = "unshare --user --map-root-user --pid --fork --mount-proc";
const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";

/// True if a command behind this one runs here; else the reason is printed.
fn can(launcher: &str) -> bool {
    let tried = Command::new("sh").args(["-c", &format!("{launcher} true")]).output().unwrap();
    if !tried.status.success() {
        println!("left out: {launcher}: {}", text(&tried.stderr).trim());
    }
    tried.status.success()
}

#[test]
fn the_whole_tree_goes_and_other_peoples_processes_stay() {
    let folder = Bench::new();
    let port = port();
    // How long each sleeps is its name, which no other test's process has.
    let name = |number: u32| format!("{number}.{port}");
    copy("/bin/sleep".as_ref(), folder.path("a) R (b"));
    let mut lines = vec![
        // A daemon: forked twice, in a session of its own.
        format!("(setsid sh -c 'sleep {} & exec sleep {}' &)", name(4201), name(4202)),
        format!("bash -c 'exec -a VLLM::EngineCore sleep {}' &", name(4203)),
        format!("sh -c 'trap \"\" TERM; exec sleep {}' &", name(4204)),
        format!("'{}' {} &", folder.path("a) R (b").display(), name(4205)),
        format!("bash -c 'trap : TERM; kill -STOP $$; sleep 1' {} &", name(4206)),
    ];
    let mut others = Vec::new();
    if can(NAMESPACE) {
        lines.push(format!("{NAMESPACE} sleep {} &", name(4211)));
        others.push((name(4211), "another pid namespace"));
    }
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if root && can(NOBODY) {
        lines.push(format!("{NOBODY} sleep {} &", name(4212)));
        others.push((name(4212), "another user's"));
    }
    lines.push(format!("exec {}", serve(port, "")));
    let server = folder.script("server.sh", &lines.join("\n"));
    // Not of the tree: one with a server's words, and one that the load starts and leaves.
    let mut bystander = Command::new("sleep");
    let mut bystander = bystander.arg0("vllm serve model").arg(name(4213)).spawn().unwrap();
    let left = format!("sleep {} > /dev/null 2>&1 &", name(4214));
    let load = folder.script("load.sh", &format!("{left}\n{}", bench(port, 2, "")));
    let address = format!("http://127.0.0.1:{port}");
    let command = ["--url", &address, "--grace", "8s", "--serve", &server, "--", &load];
    let output = folder.run(&command);

    let seen = |word: &str| with_argument(word);
    let mut living: Vec<(String, Vec<u32>)> =
        [4213, 4214].iter().map(|n| (name(*n), seen(&name(*n)))).collect();
    living.extend(others.iter().map(|(word, _)| (word.clone(), seen(word))));
    let gone: Vec<u32> = (4201..=4206).flat_map(|number| seen(&name(number))).collect();
    for pid in living.iter().flat_map(|(_, pids)| pids) {
        signal(*pid, "KILL");
    }
    bystander.wait().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(gone.is_empty(), "these of the tree live: {gone:?}");
    assert!(!is_open(port));
    for (word, pids) in &living {
        assert_eq!(pids.len(), 1, "{word} does not live");
        wait_for(|| with_argument(word).is_empty().then_some(()));
    }

    let bundle = folder.bundle();
    let stops = bundle.stops();
    let refused: Vec<_> = stops.iter().filter(|stop| !stop.chosen).collect();
    assert_eq!(refused.len(), others.len(), "{refused:#?}");
    for (word, why) in &others {
        let (_, pids) = living.iter().find(|(other, _)| other == word).unwrap();
        let stop = refused.iter().find(|stop| pids.contains(&stop.pid)).unwrap();
        assert!(stop.why.contains(why) && stop.signal.is_none(), "{stop:?}");
    }
    let chosen = || stops.iter().filter(|stop| stop.chosen);
    assert!(chosen().all(|stop| stop.gone == Some(true)), "{stops:#?}");
    let titled = |title: &str| {
        let is = |stop: &&&inferlint_schema::record::Stop| {
            stop.title.as_ref().is_some_and(|text| text.lossy() == title)
        };
        chosen().find(is).unwrap_or_else(|| panic!("{title}: {stops:#?}"))
    };
    assert_eq!(titled("a) R (b").signal, Some(15));
    assert_eq!(titled("bash").signal, Some(9), "stopped, with a handler: KILL alone helps");
    let strangers = [living[0].1[0], living[1].1[0]];
    assert!(stops.iter().all(|stop| !strangers.contains(&stop.pid)), "{stops:#?}");
}
