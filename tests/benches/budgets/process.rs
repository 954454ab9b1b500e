//! What whole processes cost.

use crate::exposition::Exposition;
use crate::{TEN_MINUTES, median, peer};
use inferlint_tests::binary;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Median wall time of `runs` runs of a program, in ms, after one that is not counted.
pub(crate) fn milliseconds(program: &Path, args: &[&OsStr], runs: usize) -> f64 {
    let once = || {
        let begin = Instant::now();
        Command::new(program)
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        begin.elapsed().as_micros()
    };
    once();
    let mut micros: Vec<u128> = (0..runs).map(|_| once()).collect();
    median(&mut micros) as f64 / 1e3
}

/// How long each recorder is watched, after `SETTLE`.
const WATCHED: Duration = Duration::from_mins(1);
const SETTLE: Duration = Duration::from_secs(3);

/// `watch` at 4 Hz against a server that serves the exposition.
pub(crate) fn watch(exposition: &Exposition, scratch: &Path) {
    let bodies: Vec<String> = (0..TEN_MINUTES).map(|i| exposition.at(i)).collect();
    let url = serve(bodies);
    let output = scratch.join("watch.ilb");
    let ours = Command::new(binary("inferlint-record").unwrap())
        .args(["watch", "--url", &url, "--interval", "250ms", "--quiet", "-o"])
        .arg(&output)
        .spawn()
        .unwrap();
    let (share, rss) = cost(ours);
    println!(
        "watch at 4 Hz: {:.2}% of one core (budget 0.2), {rss:.1} MiB (budget 12)",
        share * 1e2
    );
    let Some(program) = peer("inferlint") else {
        println!("  not compared: no peer (INFERLINT_PEER)");
        return;
    };
    let series = scratch.join("peer.series.jsonl");
    let theirs = Command::new(program)
        .args(["watch", &url, "--interval", "0.25", "--out"])
        .arg(&series)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (theirs, their_rss) = cost(theirs);
    println!(
        "  the peer's watch: {:.2}%, {:.0} times as much; {their_rss:.1} MiB",
        theirs * 1e2,
        theirs / share
    );
}

/// Share of one core over [`WATCHED`], and the largest resident memory in MiB. Ends the process.
fn cost(mut child: Child) -> (f64, f64) {
    std::thread::sleep(SETTLE);
    let (before, begin) = (cpu_ns(child.id()), Instant::now());
    std::thread::sleep(WATCHED);
    let share = (cpu_ns(child.id()) - before) as f64 / begin.elapsed().as_nanos() as f64;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    let kib: f64 = peak.trim().trim_end_matches(" kB").trim().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    (share, kib / 1024.0)
}

/// CPU time of all threads of a process, from the scheduler's own account.
fn cpu_ns(pid: u32) -> u64 {
    std::fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
        .filter_map(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

/// Serves `bodies` one after the other as `/metrics` on a free loopback port.
fn serve(bodies: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (bodies, next) = (Arc::new(bodies), Arc::new(AtomicU64::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (bodies, next) = (Arc::clone(&bodies), Arc::clone(&next));
            std::thread::spawn(move || answer(&stream, &bodies, &next));
        }
    });
    url
}

fn answer(stream: &TcpStream, bodies: &[String], next: &AtomicU64) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(request) = lines.next() {
        while lines.next().is_some_and(|header| !header.is_empty()) {}
        let found = request.starts_with("GET /metrics ");
        let body = if found {
            bodies[next.fetch_add(1, Ordering::Relaxed) as usize % bodies.len()].as_str()
        } else {
            ""
        };
        let status = if found { "200 OK" } else { "404 Not Found" };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        if (&*stream).write_all(&[head.as_bytes(), body.as_bytes()].concat()).is_err() {
            return;
        }
    }
}
