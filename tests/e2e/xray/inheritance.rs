//! What server and load are given is what a bare run gives them.

use super::{Bench, Standing, text};

/// Prints all that a process inherits and cannot be told from outside.
const INHERITED: &str = r"
grep -E '^(Uid|Gid|Groups|Umask|Sig(Blk|Ign|Cgt)|Cap|NoNewPrivs|Seccomp:|Cpus_allowed:)' \
  /proc/self/status
for name in limits cgroup oom_score_adj coredump_filter personality timerslack_ns; do
  cat /proc/self/$name; done
# Priority, nice value, real-time priority and scheduling policy.
cut -d' ' -f18,19,40,41 /proc/self/stat
env | grep -v '^_=' | sort
pwd; readlink /proc/$$/fd/0
exec ls /proc/self/fd";

/// Odd on purpose, and all that an ordinary user may change: umask, limits, open files, ignored and
/// blocked signals, scheduling, memory, environment.
const ODD: &str = r#"
umask 027; ulimit -S -n 512; ulimit -S -c 0; ulimit -S -v 90000000; ulimit -H -v 95000000; ulimit -S -s 4096
exec 7</dev/null 9>>odd.log
trap '' HUP PIPE QUIT USR1; export ODD='a  b'
echo 77 > /proc/$$/oom_score_adj; echo 0x21 > /proc/$$/coredump_filter
cpu=$(grep Cpus_allowed_list /proc/self/status | grep -o '[0-9]*' | head -n 1)
exec taskset -c $cpu chrt --batch 0 nice -n 3 env --block-signal=USR2 --block-signal=WINCH "$@""#;

/// The lines that only one of two runs printed.
fn differences(recorded: &[u8], bare: &[u8]) -> Vec<String> {
    let (recorded, bare) = (text(recorded), text(bare));
    let only = |one: &str, other: &str, whose: &str| -> Vec<String> {
        let lines = one.lines().filter(|line| !other.lines().any(|found| found == *line));
        lines.map(|line| format!("{whose}: {line}")).collect()
    };
    [only(&recorded, &bare, "recorded"), only(&bare, &recorded, "bare")].concat()
}

#[test]
fn the_load_gets_what_a_bare_run_gets() {
    let folder = Bench::new();
    let standing = Standing::start(&folder);
    let probe = folder.script("inherited.sh", INHERITED);
    let odd = folder.script("odd.sh", ODD);
    let bare = folder.bare(&odd).args(["bash", &probe]).output().unwrap();
    let recorder = inferlint_tests::binary("inferlint-record").unwrap();
    let mut recorded = folder.bare(&odd);
    recorded.arg(recorder).args(["xray", "-o", "run.ilb", "--no-analyze", "--quiet", "--url"]);
    // Some shells unblock signals, but not this one.
    let recorded = recorded.args([&standing.url, "--", "bash", &probe]).output().unwrap();
    assert_eq!(recorded.status.code(), Some(0), "{}", text(&recorded.stderr));
    let marks = format!("recorded: INFERLINT_MARKS={}", folder.path("run.marks").display());
    assert_eq!(differences(&recorded.stdout, &bare.stdout), [marks]);
    assert_eq!(text(&recorded.stderr), text(&bare.stderr));
    for odd in ["ODD=a  b", "SigBlk:\t0000000008000800", "\n77\n", "\n7\n", "\n9\n", "00000021"] {
        assert!(text(&bare.stdout).contains(odd), "{odd:?} in {}", text(&bare.stdout));
    }
}

#[test]
fn the_server_gets_what_a_bare_run_gets() {
    for unbuffered in [None, Some("0")] {
        let folder = Bench::new();
        let probe = folder.script("inherited.sh", INHERITED);
        let odd = folder.script("odd.sh", ODD);
        let mut bare = folder.bare(&odd);
        let mut recorded = folder.bare(&odd);
        for command in [&mut bare, &mut recorded] {
            command.env_remove("PYTHONUNBUFFERED");
            command.envs(unbuffered.map(|value| ("PYTHONUNBUFFERED", value)));
        }
        let bare = bare.args(["sh", "-c", &probe]).output().unwrap();
        let recorder = inferlint_tests::binary("inferlint-record").unwrap();
        recorded.arg(recorder).args(["xray", "-o", "run.ilb", "--no-analyze", "--keep-logs"]);
        // It ends before it is ready, which is enough here: its log is recorded all the same.
        let recorded = recorded.args(["--serve", &probe, "--", "true"]).output().unwrap();
        assert_eq!(recorded.status.code(), Some(125), "{}", text(&recorded.stderr));
        // The bundle's own copy is masked: some names of variables sound secret.
        let kept = |stream: &str| std::fs::read(folder.path(&format!("run.server.{stream}")));
        let ours = kept("out").unwrap();
        let added = ["recorded: PYTHONUNBUFFERED=1"];
        let expected = if unbuffered.is_none() { &added[..] } else { &[] };
        assert_eq!(differences(&ours, &bare.stdout), expected);
        assert_eq!(text(&kept("err").unwrap()), text(&bare.stderr));
        assert!(text(&ours).contains("ODD=a  b"));
    }
}

#[test]
fn the_server_leads_a_session_without_a_terminal_and_writes_to_files() {
    let folder = Bench::new();
    let probe = folder.script(
        "session.sh",
        "cut -d' ' -f5,6,7 /proc/$$/stat; cat /proc/$PPID/stat | cut -d' ' -f6\n\
         for fd in 1 2; do echo word >&$fd\n\
         echo $(stat -L -c %F /proc/$$/fd/$fd) $(grep flags /proc/$$/fdinfo/$fd); done",
    );
    // Two commands, so that the shell which leads the session is the script's parent.
    let output = folder.run(&["--serve", &format!("{probe}; exit 1"), "--", "true"]);
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    let log = folder.bundle().log("server", "stdout");
    let lines: Vec<&str> = log.lines().filter(|line| *line != "word").collect();
    let [group_session_terminal, session, out, err] = lines.as_slice() else { panic!("{log}") };
    assert_eq!(*group_session_terminal, format!("{session} {session} 0"), "{log}");
    for stream in [out, err] {
        let flags = stream.strip_prefix("regular file flags: ").unwrap();
        // O_WRONLY and O_APPEND (`asm-generic/fcntl.h`).
        assert_eq!(u32::from_str_radix(flags, 8).unwrap() & 0o2003, 0o2001, "{log}");
    }
}
