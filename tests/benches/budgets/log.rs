//! How fast a server's log is scanned.

use crate::{peer, process};
use inferlint_tests::binary;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

const WHOLE: usize = 1_000_000_000;
/// The peer reads this much: the whole would take minutes.
const PART: usize = 20_000_000;

/// A log of 1 GB as a vLLM server writes it under load, scanned for failures.
pub(crate) fn scan(scratch: &Path) {
    let whole = scratch.join("server.log");
    write(&whole, WHOLE);
    let analyzer = binary("inferlint-analyze").unwrap();
    let ours = rate(
        WHOLE,
        process::milliseconds(&analyzer, &["check-log".as_ref(), whole.as_os_str()], 3),
    );
    let peak = peak_mib(&analyzer, &whole);
    println!("check-log of a 1 GB server log: {ours:.0} MB/s (budget 300), {peak:.0} MiB at most");
    let grep = ["-c", "Traceback"].map(OsStr::new);
    let grep = [&grep[..], &[whole.as_os_str()]].concat();
    let grep = process::milliseconds(Path::new("grep"), &grep, 3);
    let grep = rate(WHOLE, grep);
    println!("  grep -c Traceback: {grep:.0} MB/s, {:.1} times as fast", grep / ours);
    std::fs::remove_file(&whole).unwrap();
    let Some(program) = peer("inferlint") else {
        println!("  not compared: no peer (INFERLINT_PEER)");
        return;
    };
    let part = scratch.join("part.log");
    write(&part, PART);
    let theirs = process::milliseconds(&program, &["check-log".as_ref(), part.as_os_str()], 1);
    let theirs = rate(PART, theirs);
    println!("  the peer's check-log: {theirs:.1} MB/s, {:.0} times slower", ours / theirs);
}

/// MB/s.
fn rate(bytes: usize, milliseconds: f64) -> f64 {
    bytes as f64 / 1e3 / milliseconds
}

/// Start-up, then access and stat lines, as vLLM 0.32 writes them.
fn write(path: &Path, bytes: usize) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let mut written = 0;
    let mut line = |text: String| {
        out.write_all(text.as_bytes()).unwrap();
        written += text.len();
        written
    };
    line("(APIServer pid=9608) INFO:     Started server process [9608]\n".to_owned());
    line("(APIServer pid=9608) INFO:     Application startup complete.\n".to_owned());
    for i in 0.. {
        let port = 30_000 + i % 20_000;
        let done = line(if i % 50 == 49 {
            format!(
                "(APIServer pid=9608) INFO 11-30 17:{:02}:{:02} [loggers.py:271] Engine 000: Avg prompt \
                 throughput: {}.4 tokens/s, Avg generation throughput: 2819.3 tokens/s, Running: 32 \
                 reqs, Waiting: 0 reqs, GPU KV cache usage: 61.0%, Prefix cache hit rate: 0.0%\n",
                i / 3_000 % 60,
                i / 50 % 60,
                i % 900
            )
        } else {
            format!(
                "(APIServer pid=9608) INFO:     127.0.0.1:{port} - \"POST /v1/completions HTTP/1.1\" 200 OK\n"
            )
        });
        if done >= bytes {
            break;
        }
    }
    out.flush().unwrap();
}

/// The largest resident memory of a scan, as `getrusage` gives it for ended children.
fn peak_mib(analyzer: &Path, log: &Path) -> f64 {
    let script = "import resource, subprocess, sys\n\
        subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(analyzer)
        .arg("check-log")
        .arg(log)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}
