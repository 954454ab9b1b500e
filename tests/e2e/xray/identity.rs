//! Who answers: each rung of the ladder, on servers that stay, are replaced, or are not ours.

use super::{
    Bench, Bundle, Standing, bench, copy, exists, is_open, port, serve, signal, text, wait_for,
    wait_for_of,
};
use inferlint_schema::record::{Epoch, Record};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

impl Bundle {
    fn epochs(&self) -> Vec<&Epoch> {
        // The log of a server of ours has a lifetime too.
        let metrics = self.of(|record| match record {
            Record::Source(source) if source.kind == "exposition" => Some(source.src),
            _ => None,
        });
        self.of(|record| match record {
            Record::Epoch(epoch) if metrics.contains(&epoch.src) => Some(epoch),
            _ => None,
        })
    }
}

/// Edge and rung of each epoch.
fn shown<'a>(epochs: &[&'a Epoch]) -> Vec<(&'a str, &'a str)> {
    epochs.iter().map(|epoch| (epoch.edge.as_str(), epoch.rung.as_str())).collect()
}

fn fact(epoch: &Epoch, key: &str) -> String {
    let identity = epoch.identity.as_ref();
    identity
        .and_then(|facts| facts.get(key))
        .map(|text| text.lossy().into_owned())
        .unwrap_or_default()
}

/// Waits until so many lifetimes' edges are in the bundle that is being written.
fn wait_for_epochs(folder: &Bench, count: usize) {
    let part = folder.path("run.ilb.part");
    // It is there before its first bytes are.
    let begun = || part.metadata().is_ok_and(|meta| meta.len() > 0);
    let written = || begun().then(|| Bundle::read(&part).epochs().len());
    wait_for(|| written().is_some_and(|epochs| epochs >= count).then_some(()));
}

/// Status and message of T13 on a bundle.
fn verdict(bundle: &Path) -> (String, String) {
    let analyzer = inferlint_tests::binary("inferlint-analyze").unwrap();
    let mut command = Command::new(analyzer);
    command.args(["check", "--only", "T13", "--format", "json"]).arg(bundle);
    let output = command.output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let finding = json.pointer("/runs/0/verdicts/0").unwrap_or(&serde_json::Value::Null);
    let part = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    (part("status"), part("message"))
}

/// A load that no recorder knows, so that the whole of it is one point.
fn unknown_load(folder: &Bench, port: u16, more: &str) -> String {
    let sim = folder.path("unknown-tool");
    copy(&inferlint_tests::binary("inferlint-sim").unwrap(), &sim);
    let one = bench(port, 4, "").replace("vllm bench serve", &format!("{} bench", sim.display()));
    folder.script("load.sh", &format!("{one}\n{more}"))
}

#[test]
fn a_server_that_was_there_is_known_by_its_process() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let output = folder.run(&["--url", &standing.url, "--", "sleep", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    let epochs = bundle.epochs();
    assert_eq!(shown(&epochs), [("begin", "pid")]);
    assert_eq!(fact(epochs[0], "pid"), standing.child.id().to_string());
    let (status, message) = verdict(&folder.path("run.ilb"));
    assert_eq!(status, "pass", "{message}");
}

#[test]
fn a_server_without_metrics_is_known_by_its_process_all_the_same() {
    let folder = Bench::new();
    let standing = Standing::of(&folder, "vllm", "serve --engine sglang");
    let output = folder.run(&["--url", &standing.url, "--engine", "sglang", "--", "sleep", "1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    assert!(text(&output.stderr).contains("enable-metrics"), "{}", text(&output.stderr));
    let epochs = bundle.epochs();
    assert_eq!(shown(&epochs), [("begin", "pid")]);
    assert_eq!(fact(epochs[0], "pid"), standing.child.id().to_string());
}

#[test]
fn a_server_of_ours_that_is_replaced_under_load_ends_a_lifetime_and_fails() {
    let folder = Bench::new();
    let port = port();
    let once = serve(port, "");
    let server = folder.script(
        "server.sh",
        &format!(
            "{once} & first=$!\ntrap 'kill $!; wait; exit 0' TERM\n\
             while [ ! -e again ]; do sleep 0.1; done\nkill $first; wait $first\n\
             {once} --ready-file back &\nwait"
        ),
    );
    let more = "touch again\nwhile [ ! -e seen ]; do sleep 0.1; done";
    let load = unknown_load(&folder, port, more);
    let address = format!("http://127.0.0.1:{port}");
    let run = folder.xray(&["--url", &address, "--serve", &server, "--", &load]).spawn().unwrap();
    let (run, ()) = wait_for_of(run, || exists(&folder, "back").then_some(()));
    wait_for_epochs(&folder, 3);
    fs::write(folder.path("seen"), "").unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    let epochs = bundle.epochs();
    assert_eq!(shown(&epochs), [("begin", "tree"), ("end", "tree"), ("begin", "tree")]);
    let (first, second) = (fact(epochs[0], "pid"), fact(epochs[2], "pid"));
    assert_ne!(first, second);
    assert_eq!(fact(epochs[1], "pid"), first);
    let (status, message) = verdict(&folder.path("run.ilb"));
    assert_eq!(status, "fail", "{message}");
    assert!(message.contains("changed during a load point"), "{message}");
    assert!(!is_open(port), "the server is gone");
}

#[test]
fn a_server_that_is_watched_and_started_anew_has_two_lifetimes() {
    let folder = Bench::new();
    let port = port();
    let start = |name: &str| {
        let ready = folder.path(name);
        let mut command = folder.bare("vllm");
        command.args(["serve", "--boot-s", "0.1", "--port", &port.to_string()]);
        command.arg("--ready-file").arg(&ready).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        wait_for(|| ready.exists().then_some(()));
        child
    };
    let first = start("first");
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    let mut command = folder.bare(recorder.to_str().unwrap());
    let address = format!("http://127.0.0.1:{port}");
    command.args(["watch", "-o", "run.ilb", "--url", &address, "--interval", "100ms"]);
    let mut watching = command.stderr(Stdio::null()).spawn().unwrap();
    let mut pids = vec![first.id().to_string()];
    wait_for_epochs(&folder, 1);
    end(first);
    wait_for_epochs(&folder, 2);
    let second = start("second");
    pids.push(second.id().to_string());
    wait_for_epochs(&folder, 3);
    signal(watching.id(), "TERM");
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    end(second);
    let bundle = folder.bundle();
    let epochs = bundle.epochs();
    assert_eq!(shown(&epochs), [("begin", "pid"), ("end", "pid"), ("begin", "pid")]);
    assert_eq!([fact(epochs[0], "pid"), fact(epochs[2], "pid")], *pids);
    let (status, message) = verdict(&folder.path("run.ilb"));
    assert_eq!(status, "fail", "{message}");
}

fn end(mut child: Child) {
    signal(child.id(), "TERM");
    wait_for(|| child.try_wait().unwrap());
}

#[test]
fn a_server_left_on_the_port_is_refused_before_ours_is_started() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let port = standing.url.rsplit(':').next().unwrap().parse().unwrap();
    let load = folder.script("load.sh", "touch loaded");
    let output = folder.run(&["--serve", &serve(port, ""), "--", &load]);
    assert_eq!(output.status.code(), Some(125));
    let said = text(&output.stderr);
    assert!(said.contains("something answers at") && said.contains("already"), "{said}");
    assert!(!folder.path("loaded").exists());
    assert!(folder.bundle().exits("server").is_empty(), "nothing was started");
}

#[test]
fn behind_a_launcher_only_a_server_that_was_there_before_is_known_to_be_another() {
    // A daemon starts servers for whoever asks; or a process that waited for it becomes one.
    let elsewhere = "docker starts the server elsewhere";
    launched("exec sleep 600", "{} & wait", "unknown", elsewhere);
    launched("exec sleep 600", "exec {}", "fail", "which was there before the server");
    // As `docker run -d`: it ends when its work is done, and the server is awaited all the same.
    launched("exit 0", "{} & wait", "unknown", elsewhere);
}

fn launched(then: &str, how: &str, status: &str, says: &str) {
    let folder = Bench::new();
    let port = port();
    let orders = folder.path("orders");
    assert!(Command::new("mkfifo").arg(&orders).status().unwrap().success());
    let trap = "trap 'kill $!; wait; exit 0' TERM";
    let order = how.replace("{}", &serve(port, ""));
    let daemon = folder.script("daemon.sh", &format!("{trap}\nread order < orders\n{order}"));
    let daemon = folder.bare(&daemon).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let launcher = folder.script("docker", &format!("echo run > orders\n{then}"));
    let address = format!("http://127.0.0.1:{port}");
    let serve = format!("{launcher} run vllm/vllm-openai:v0.32.0");
    let output = folder.run(&["--url", &address, "--serve", &serve, "--", "sleep", "1"]);
    let outlived = is_open(port);
    end(daemon);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(outlived, "what is not below the launcher is not ours to stop");
    assert!(text(&output.stderr).contains("docker started still answers at"), "nobody stops it");
    let bundle = folder.bundle();
    assert_eq!(shown(&bundle.epochs()), [("begin", "pid")]);
    let (found, message) = verdict(&folder.path("run.ilb"));
    assert_eq!(found, status, "{message}");
    assert!(message.contains(says), "{message}");
}

#[test]
fn a_launcher_that_ends_under_load_is_the_servers_end() {
    let folder = Bench::new();
    let port = port();
    let launcher = folder.script(
        "docker",
        &format!(
            "echo $$ > pid\n{} &\ntrap 'kill $!; wait; exit 0' TERM\n\
             while [ ! -e end ]; do sleep 0.1; done\nkill $!; wait; exit 0",
            serve(port, "")
        ),
    );
    let load = "touch end; while [ -e /proc/$(cat pid) ]; do sleep 0.1; done";
    let load = folder.script("load.sh", load);
    let serve = format!("exec {launcher} run vllm/vllm-openai");
    let address = format!("http://127.0.0.1:{port}");
    let output = folder.run(&["--url", &address, "--serve", &serve, "--", &load]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let bundle = folder.bundle();
    let ends: Vec<_> = bundle.exits("server").iter().map(|exit| exit.status).collect();
    assert_eq!(ends, [Some(0)], "{:?}", bundle.exits("child"));
}

/// What an ordinary user needs to record a server that root runs: programs and a folder that are
/// open to everybody. `None`, with the reason printed: this cannot be had here.
fn as_nobody(folder: &Bench) -> Option<Vec<String>> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        println!("skipped: only root can start a process as another user");
        return None;
    }
    let open = |path: &Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o1777)).unwrap();
    };
    open(folder.folder.path());
    copy(&inferlint_tests::binary("inferlint-record").unwrap(), folder.path("recorder"));
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut tried = Command::new("setpriv");
    tried.args(&nobody[1..]).arg(folder.path("recorder")).arg("--version");
    if !tried.output().is_ok_and(|output| output.status.success()) {
        println!("skipped: nobody cannot run a program in {}", folder.folder.path().display());
        return None;
    }
    let recorder = folder.path("recorder").to_str().unwrap().to_owned();
    Some(nobody.map(str::to_owned).into_iter().chain([recorder]).collect())
}

/// Records a server as nobody and gives the epochs, and what T13 says.
fn recorded_by_nobody(
    folder: &Bench,
    url: &str,
    output: &str,
) -> Option<(Bundle, (String, String))> {
    let command = as_nobody(folder)?;
    let mut recorder = folder.bare(&command[0]);
    recorder.args(&command[1..]).args(["watch", "-o", output, "--url", url, "--duration", "2s"]);
    let done = recorder.output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let bundle = folder.path(output);
    Some((Bundle::read(&bundle), verdict(&bundle)))
}

#[test]
fn another_users_server_is_known_by_its_start_time_and_else_by_what_it_says() {
    for (arguments, rung, key, status) in [
        ("serve", "metric", "process_start_time_seconds", "pass"),
        ("serve --engine sglang --enable-metrics", "info", "model", "unknown"),
    ] {
        let folder = Bench::new();
        let standing = Standing::of(&folder, "vllm", arguments);
        let Some((bundle, found)) = recorded_by_nobody(&folder, &standing.url, "run.ilb") else {
            return;
        };
        let epochs = bundle.epochs();
        assert_eq!(shown(&epochs), [("begin", rung)], "{arguments}");
        assert!(!fact(epochs[0], key).is_empty(), "{epochs:?}");
        assert_eq!(found.0, status, "{arguments}: {}", found.1);
    }
}

/// A cgroup that is named as a container's. Removed when dropped.
struct Container(PathBuf);

impl Container {
    fn make(id: &str) -> Option<Self> {
        ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].iter().find_map(|root| {
            // A folder of version 2, which alone has this file at its root.
            let root = Path::new(root);
            root.join("cgroup.procs").exists().then_some(())?;
            let folder = root.join(format!("docker-{id}.scope"));
            fs::create_dir(&folder).ok()?;
            let made = Self(folder);
            made.0.join("cgroup.type").exists().then_some(made)
        })
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        wait_for(|| (fs::remove_dir(&self.0).is_ok() || !self.0.exists()).then_some(()));
    }
}

#[test]
fn another_users_server_in_a_container_on_the_hosts_network_is_known_by_the_container() {
    let id = format!("{:064x}", u128::from(std::process::id()) << 32 | 0xc0ffee);
    let Some(container) = Container::make(&id) else {
        println!("skipped: no cgroup of version 2 can be made here");
        return;
    };
    let folder = Bench::new();
    let inside = format!("echo $$ > {}/cgroup.procs && exec vllm \"$@\"", container.0.display());
    let program = folder.script("bin/contained", &inside);
    let standing = Standing::of(&folder, &program, "serve");
    if let Some((bundle, (status, message))) = recorded_by_nobody(&folder, &standing.url, "run.ilb")
    {
        let epochs = bundle.epochs();
        if shown(&epochs) == [("begin", "metric")] {
            println!("skipped: this kernel tells no cgroup of a socket");
        } else {
            assert_eq!(shown(&epochs), [("begin", "cgroup")]);
            assert_eq!(fact(epochs[0], "container"), id);
            assert_eq!(status, "pass", "{message}");
        }
    }
    drop(standing);
    drop(container);
}
