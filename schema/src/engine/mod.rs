//! Inference engines by their identity: how each is recognised, where its metrics are, and what may
//! be asked of it without changing what it does. One file an engine.
//!
//! What the numbers and log lines of an engine mean is the analyzer's knowledge, not this module's.

mod command;

pub use command::Command;
use memchr::memmem;

/// How one engine is recognised and read.
#[derive(Debug, PartialEq, Eq)]
pub struct EngineIdentity {
    /// Short name, as in a `source` record's `engine`.
    pub name: &'static str,
    /// Name as its makers write it.
    pub title: &'static str,
    /// What its metric names begin with.
    pub prefixes: &'static [&'static str],
    /// Where its Prometheus exposition may be, in the order to try.
    pub metrics_paths: &'static [&'static str],
    /// Ports it listens on when none is given.
    pub default_ports: &'static [u16],
    /// Commands that start a server.
    pub serve_commands: &'static [Command],
    /// Commands of its child processes that keep an argv of their own.
    pub worker_commands: &'static [Command],
    /// What the titles of its processes begin with, where it sets titles. In `comm` they are cut to
    /// 15 bytes.
    pub process_titles: &'static [&'static str],
    /// Log lines, or parts of them, that say it serves requests.
    pub ready_lines: &'static [&'static str],
    /// True: its health path answers before it can serve, so that only the ready line counts.
    pub ready_line_required: bool,
    /// Paths whose status 200 means that it can serve, in the order to try.
    pub health_paths: &'static [&'static str],
    /// Everything that may be asked by GET: none of it generates tokens, empties a buffer, or
    /// returns prompts. The metrics paths are among them.
    pub get_paths: &'static [&'static str],
    /// What `/v1/models` says in `owned_by`; empty: nothing of the engine.
    pub owned_by: &'static str,
    /// What to change when the metrics are not there.
    pub missing_metrics_help: &'static str,
    /// Texts that stand in its logs and in no other engine's.
    pub log_marks: &'static [&'static str],
}

/// Lists the engines once: the module and its identity.
macro_rules! engines {
    ($($module:ident $name:ident),* $(,)?) => {
        $( mod $module; )*

        /// Every engine that is recognised.
        pub static ENGINES: &[&EngineIdentity] = &[$( &$module::$name ),*];
    };
}

engines! {
    vllm VLLM,
    sglang SGLANG,
    trtllm TRTLLM,
    llamacpp LLAMACPP,
    tgi TGI,
}

/// Bytes at the beginning of a log in which the engine is looked for.
const LOG_BYTES: usize = 1 << 20;

impl EngineIdentity {
    /// True when the log line says that the server is ready.
    pub fn is_ready_line(&self, line: &str) -> bool {
        self.ready_lines.iter().any(|ready| line.contains(ready))
    }

    /// True for a process title (or `comm`) of this engine.
    pub fn has_title(&self, title: &str) -> bool {
        self.process_titles.iter().any(|own| title.starts_with(own))
    }
}

/// The engine of this short name.
pub fn by_name(name: &str) -> Option<&'static EngineIdentity> {
    ENGINES.iter().find(|engine| engine.name == name).copied()
}

/// The engine that signs the models it lists with `owner`.
pub fn of_model_owner(owner: &str) -> Option<&'static EngineIdentity> {
    ENGINES.iter().find(|engine| !owner.is_empty() && engine.owned_by == owner).copied()
}

/// The engine whose server these arguments start, directly, through a shell, a container or another
/// launcher. Recognised by the structure of the command, never by a part of its text: a benchmark,
/// a `pkill` or an editor that names an engine is no server.
pub fn of_argv(argv: &[&str]) -> Option<&'static EngineIdentity> {
    ENGINES.iter().find(|engine| command::runs(argv, engine.serve_commands)).copied()
}

/// The launcher in these arguments behind which a server may run elsewhere than below this process:
/// `docker`, `srun`, `ssh`, `kubectl`… Directly, behind another launcher, as a script's name, or in
/// the script of a shell.
pub fn launcher_of(argv: &[&str]) -> Option<&'static str> {
    command::launcher(argv, command::DEPTH)
}

/// The engine that a running process belongs to: a server, or a worker that has an argv or a title
/// of its own, but not the shell or launcher that started it. `argv` as in `/proc/PID/cmdline`,
/// where a title stands in place of the arguments.
pub fn of_process(argv: &[&str]) -> Option<&'static EngineIdentity> {
    let belongs = |engine: &&&EngineIdentity| {
        argv.first().is_some_and(|title| engine.has_title(title))
            || command::is(argv, engine.serve_commands)
            || command::is(argv, engine.worker_commands)
    };
    ENGINES.iter().find(belongs).copied()
}

/// A series (name, with or without labels) as its engine names it, where a re-exporter wrote an
/// underscore for the colon behind the engine's prefix: `vllm_num_requests_running`. `None`: it has
/// its own name already, or is of no engine.
///
/// SGLang's gRPC gateway writes `sglang_…` (smg-project/smg, change 813); exporters that hold names
/// to `[a-zA-Z_][a-zA-Z0-9_]*` write all colons so. Ray's metrics agent puts `ray_` before what an
/// engine under Ray Serve counts: `ray_vllm:…`, and `ray_vllm_…` since
/// `vllm/v1/metrics/ray_wrappers.py` replaces the colon. `vllm_router_…` is a router's.
pub fn own_name(series: &str) -> Option<String> {
    let of_ray = series.strip_prefix("ray_");
    if let Some(series) = of_ray {
        let mut prefixes = ENGINES.iter().flat_map(|engine| engine.prefixes);
        let own = prefixes.any(|prefix| prefix.ends_with(':') && series.starts_with(prefix));
        return own_name(series).or_else(|| own.then(|| series.to_owned()));
    }
    let prefixes = ENGINES.iter().flat_map(|engine| engine.prefixes);
    prefixes.filter_map(|prefix| Some((prefix, prefix.strip_suffix(':')?))).find_map(
        |(prefix, word)| {
            let rest = series.strip_prefix(word)?.strip_prefix('_')?;
            (!rest.starts_with("router_")).then(|| format!("{prefix}{rest}"))
        },
    )
}

/// The engine most of these series belong to (names, with or without labels). `None`: no series of
/// any engine, as in a router's exposition.
pub fn of_series<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'static EngineIdentity> {
    let mut counts = vec![0_usize; ENGINES.len()];
    for name in names {
        let own = own_name(name);
        let name = own.as_deref().unwrap_or(name);
        for (count, engine) in counts.iter_mut().zip(ENGINES) {
            *count += usize::from(engine.prefixes.iter().any(|prefix| name.starts_with(prefix)));
        }
    }
    most(&counts)
}

/// The engine whose marks stand most often in the first MiB of a log.
pub fn of_log(text: &[u8]) -> Option<&'static EngineIdentity> {
    let head = text.get(..LOG_BYTES).unwrap_or(text);
    let count = |engine: &&EngineIdentity| {
        let marks = engine.log_marks.iter();
        marks.map(|mark| memmem::find_iter(head, mark).count()).sum::<usize>()
    };
    most(&ENGINES.iter().map(count).collect::<Vec<_>>())
}

/// The engine with the highest count above 0, the first of equals.
fn most(counts: &[usize]) -> Option<&'static EngineIdentity> {
    let best = counts.iter().max().copied().filter(|best| *best > 0)?;
    let at = counts.iter().position(|count| *count == best)?;
    ENGINES.get(at).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    fn name(engine: Option<&EngineIdentity>) -> &str {
        engine.map_or("", |engine| engine.name)
    }

    #[test]
    fn engines_are_complete_and_ask_for_nothing_that_generates() {
        for (i, engine) in ENGINES.iter().enumerate() {
            assert_eq!(by_name(engine.name), Some(*engine));
            assert!(ENGINES.iter().skip(i + 1).all(|other| other.name != engine.name));
            assert!(!engine.ready_lines.is_empty() && !engine.serve_commands.is_empty());
            for path in engine.metrics_paths.iter().chain(engine.health_paths) {
                assert!(engine.get_paths.contains(path), "{}: {path}", engine.name);
            }
            for path in engine.get_paths {
                let generates = ["generate", "flush", "perf_metrics", "events", "slots", "sleep"];
                assert!(path.starts_with('/'), "{path}");
                assert!(!generates.iter().any(|part| path.contains(part)), "{path}");
            }
        }
        assert!(!sglang::SGLANG.get_paths.contains(&"/health"), "it runs a request when idle");
        assert!(!trtllm::TRTLLM.get_paths.contains(&"/metrics"), "it empties the queue of records");
        assert!(
            !tgi::TGI.get_paths.contains(&"/health"),
            "it runs the model before the first request"
        );
    }

    #[test]
    fn series_name_the_engine_and_a_router_is_none() {
        for (series, engine) in [
            (&["http_requests_total", "vllm:num_requests_running{engine=\"0\"}"][..], "vllm"),
            (&["sglang:num_running_reqs", "python_info"], "sglang"),
            (&["trtllm_request_success_total"], "trtllm"),
            (&["llamacpp:requests_processing"], "llamacpp"),
            (&["tgi_queue_size"], "tgi"),
            (&["sglang_num_running_reqs{dp_rank=\"0\"}", "go_goroutines"], "sglang"),
            (&["vllm_num_requests_running"], "vllm"),
            (&["sgl_router_requests_total", "smg_worker_pool_size"], ""),
            (&["vllm_router_requests_total"], ""),
            (&["xvllm:x", "process_cpu_seconds_total"], ""),
            (&[], ""),
        ] {
            assert_eq!(name(of_series(series.iter().copied())), engine, "{series:?}");
        }
    }

    #[test]
    fn names_of_a_re_exporter_become_the_engines_own() {
        for (series, own) in [
            (
                "vllm_kv_cache_usage_perc{engine=\"0\"}",
                Some("vllm:kv_cache_usage_perc{engine=\"0\"}"),
            ),
            ("sglang_token_usage", Some("sglang:token_usage")),
            ("vllm:kv_cache_usage_perc", None),
            ("trtllm_num_requests_running", None),
            ("vllm_router_requests_total", None),
            ("vllmx_a", None),
            ("ray_vllm_num_requests_running", Some("vllm:num_requests_running")),
            ("ray_vllm:num_requests_running", Some("vllm:num_requests_running")),
            ("ray_vllm_router_requests_total", None),
            ("ray_node_cpu_utilization", None),
        ] {
            assert_eq!(own_name(series).as_deref(), own, "{series}");
        }
    }

    #[test]
    fn a_server_signs_its_models() {
        for (owner, engine) in [("vllm", "vllm"), ("tensorrt_llm", "trtllm"), ("me", ""), ("", "")]
        {
            assert_eq!(name(of_model_owner(owner)), engine, "{owner:?}");
        }
    }

    #[test]
    fn processes_are_recognised_by_argv_and_title() {
        for (argv, engine) in [
            (&["VLLM::EngineCore"][..], "vllm"),
            (&["VLLM::EngineCor"], "vllm"),
            (&["sglang::scheduler_TP0"], "sglang"),
            (&["/usr/bin/python3", "-m", "mpi4py.futures.server"], "trtllm"),
            (
                &["/opt/venv/bin/python3", "/opt/venv/bin/text-generation-server", "serve", "m"],
                "tgi",
            ),
            (&["/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "m"], "vllm"),
            (&["llama-server", "-m", "m"], "llamacpp"),
            (&["vim", "VLLM::EngineCore"], ""),
            (&["sh", "-c", "vllm serve m"], ""),
            (&["timeout", "60", "vllm", "serve", "m"], ""),
            (&["docker", "run", "vllm/vllm-openai", "--model", "m"], ""),
            (&["vllm", "bench", "serve"], ""),
            (&["python3", "-c", "import vllm"], ""),
            (&[], ""),
        ] {
            assert_eq!(name(of_process(argv)), engine, "{argv:?}");
        }
    }

    #[test]
    fn launchers_that_run_a_server_elsewhere_are_known() {
        for (argv, launcher) in [
            (&["docker", "run", "vllm/vllm-openai"][..], "docker"),
            (&["/usr/bin/srun", "-N1", "vllm", "serve", "m"], "srun"),
            (&["sudo", "-E", "docker", "run", "x"], "docker"),
            (&["sh", "-c", "cd /x && exec docker run x"], "docker"),
            (&["bash", "-lc", "A=1 timeout 60 srun vllm serve m"], "srun"),
            (&["/bin/sh", "/opt/wrappers/docker", "run", "x"], "docker"),
            (&["python3", "-u", "/usr/bin/kubectl"], "kubectl"),
            (&["ssh", "gpu1", "vllm serve m"], "ssh"),
            (&["vllm", "serve", "ssh"], ""),
            (&["sh", "-c", "vllm serve m --name docker"], ""),
            (&["bash", "start.sh"], ""),
            (&[], ""),
        ] {
            assert_eq!(launcher_of(argv).unwrap_or(""), launcher, "{argv:?}");
        }
    }

    /// Recorded runs beside the workspace, or where `INFERLINT_RECORDED` says.
    fn recorded() -> PathBuf {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/recorded");
        std::env::var_os("INFERLINT_RECORDED").map_or(beside, PathBuf::from)
    }

    #[test]
    fn logs_name_their_engine() {
        for (log, engine) in [
            ("(APIServer pid=1) INFO 11-01 10:00:00 [utils.py:233] non-default args: {}", "vllm"),
            ("[2026-10-01 10:00:00] server_args={'model_path': '/m'}", "sglang"),
            ("[TensorRT-LLM] TensorRT LLM version: 1.3.0rc29", "trtllm"),
            (
                "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
                "llamacpp",
            ),
            ("INFO text_generation_router::server: router/src/server.rs:2479: Connected", "tgi"),
            ("INFO:     Application startup complete.", ""),
        ] {
            assert_eq!(name(of_log(log.as_bytes())), engine, "{log}");
        }
        let mut seen = 0;
        for (folder, engine) in [("vllm-", "vllm"), ("sglang-", "sglang"), ("trtllm-", "trtllm")] {
            for log in logs_below(&recorded()) {
                let inside = log
                    .components()
                    .any(|part| part.as_os_str().to_string_lossy().starts_with(folder));
                let client = log.file_name().is_some_and(|name| name == "load.log");
                if inside && !client {
                    let text = std::fs::read(&log).unwrap();
                    assert_eq!(name(of_log(&text)), engine, "{}", log.display());
                    seen += 1;
                }
            }
        }
        if seen == 0 {
            println!("skipped: no recorded logs at {}", recorded().display());
        }
    }

    fn logs_below(folder: &Path) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut found = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                found.extend(logs_below(&path));
            } else if path.extension().is_some_and(|ext| ext == "log") {
                found.push(path);
            }
        }
        found
    }
}
