//! What an `xray` is to do besides recording: the server to start, the load to run, the files to
//! follow and to fetch.

use crate::cli::Xray;
use crate::error::Error;
use crate::plan::{Plan, Remark, check_name, parse_url};
use inferlint_schema::engine::{self, EngineIdentity};
use inferlint_schema::record::Text;
use reqwest::Url;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// Large models take a quarter of an hour to load and compile.
const READY: Duration = Duration::from_mins(30);

/// A run, settled.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    /// The server to start. `None`: one is attached to, or there is none.
    pub(crate) serve: Option<Serve>,
    /// The load command.
    pub(crate) load: Vec<OsString>,
    /// Logs to follow, by name.
    pub(crate) logs: Vec<(String, String)>,
    /// Where results will be.
    pub(crate) results: Vec<PathBuf>,
    /// Ask for a few tokens before the load.
    pub(crate) probe: bool,
    pub(crate) record_output: bool,
    pub(crate) keep_logs: bool,
    pub(crate) model_files: bool,
    pub(crate) analyze: bool,
    /// What a server of ours may take to end.
    pub(crate) grace: Duration,
}

/// A server to start.
#[derive(Debug, Clone)]
pub(crate) struct Serve {
    /// For `sh -c`.
    pub(crate) command: String,
    /// Told from the command. `None`: a script, or an engine unknown to us.
    pub(crate) engine: Option<&'static EngineIdentity>,
    /// Where it is expected to listen was told, not guessed.
    pub(crate) address_given: bool,
    pub(crate) ready_url: Option<Url>,
    pub(crate) ready_timeout: Duration,
    /// How to stop it, for `sh -c`.
    pub(crate) stop: Option<String>,
}

impl Errand {
    /// The plan and the errand of an `xray`.
    ///
    /// # Errors
    /// When an option contradicts another or cannot be meant.
    pub(crate) fn settle(args: Xray) -> Result<(Plan, Self), Error> {
        let mut sources = args.sources;
        let engine = args.serve.as_deref().and_then(engine_of);
        let address_given = !sources.url.is_empty();
        if let (Some(command), false) = (&args.serve, address_given) {
            sources.url.push(address_of(command, engine));
        }
        let mut plan = Plan::new("xray", sources, &args.output, &args.about)?;
        match (&plan.engine, engine) {
            (Some(named), Some(told)) if named != told.name => {
                return Err(Error::wrong_call(
                    format!("--engine {named} and the serve command, which starts {}", told.name),
                    "leave --engine out, or correct it",
                ));
            }
            (None, Some(told)) => {
                plan.engine = Some(told.name.to_owned());
                plan.engine_from = "argv";
            }
            _ => {}
        }
        plan.interval = args.pace.interval;
        plan.marks = Some(plan.output.with_extension("marks"));
        plan.commands = commands(args.serve.as_deref(), &args.load);
        plan.remarks.extend(args.requested.map(|requested| Remark {
            what: "note",
            key: Some("requested".to_owned()),
            value: requested.to_string(),
        }));
        for (given, option) in [
            (args.ready_timeout.is_some(), "--ready-timeout"),
            (args.ready_url.is_some(), "--ready-url"),
            (args.stop.is_some(), "--stop"),
        ] {
            if given && args.serve.is_none() {
                let what = format!("{option} without --serve: no server is started here");
                return Err(Error::wrong_call(what, "add --serve, or leave it out"));
            }
        }
        let ready_url = args.ready_url.as_deref().map(parse_url).transpose()?;
        let serve = args.serve.map(|command| Serve {
            command,
            engine: engine.or_else(|| plan.engine.as_deref().and_then(engine::by_name)),
            address_given,
            ready_url,
            ready_timeout: args.ready_timeout.unwrap_or(READY),
            stop: args.stop,
        });
        let errand = Self {
            probe: serve.is_some() || args.probe,
            serve,
            load: args.load,
            logs: logs(&args.logs)?,
            results: args.results,
            record_output: args.record_output,
            keep_logs: args.keep_logs,
            model_files: !args.no_model_files,
            analyze: !args.no_analyze,
            grace: args.grace,
        };
        Ok((plan, errand))
    }
}

/// The engine that a command for `sh -c` starts.
fn engine_of(command: &str) -> Option<&'static EngineIdentity> {
    engine::of_argv(&["sh", "-c", command])
}

/// Where the server of a command will listen: its `--port`, else its engine's, else 8000.
fn address_of(command: &str, engine: Option<&EngineIdentity>) -> String {
    let words = shlex::split(command).unwrap_or_default();
    let told = words.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--port", port)) => port.parse::<u16>().ok(),
        _ if word == "--port" => words.get(at + 1)?.parse().ok(),
        _ => None,
    });
    let default = engine.and_then(|engine| engine.default_ports.first()).copied().unwrap_or(8000);
    format!("http://127.0.0.1:{}", told.unwrap_or(default))
}

fn commands(serve: Option<&str>, load: &[OsString]) -> Vec<Vec<Text>> {
    let words = serve.and_then(shlex::split).unwrap_or_default();
    let serve = words.into_iter().map(Text::from).collect();
    vec![serve, load.iter().map(|word| Text::from(word.as_bytes())).collect()]
}

/// `[NAME=]FILE`; without a name `log`, `log-2`…
fn logs(given: &[String]) -> Result<Vec<(String, String)>, Error> {
    let mut logs: Vec<(String, String)> = Vec::new();
    for given in given {
        let (name, file) = match given.split_once('=') {
            Some((name, file)) if !name.contains('/') => (name.to_owned(), file),
            _ if logs.is_empty() => ("log".to_owned(), given.as_str()),
            _ => (format!("log-{}", logs.len() + 1), given.as_str()),
        };
        check_name("log", &name)?;
        if logs.iter().any(|(other, _)| *other == name) {
            let what = format!("two logs are called {name}");
            return Err(Error::wrong_call(what, "give each --log a name of its own"));
        }
        logs.push((name, file.to_owned()));
    }
    Ok(logs)
}

/// What would be done, for `--dry-run`; the plan says the rest.
impl fmt::Display for Errand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(serve) = &self.serve {
            writeln!(f, "  start    {}", serve.command)?;
            let engine = serve.engine.map_or("not told by the command", |engine| engine.title);
            writeln!(f, "  engine   {engine}")?;
            let how = serve.stop.as_deref().unwrap_or("SIGTERM, then SIGKILL, to what it started");
            writeln!(f, "  stop by  {how}")?;
        }
        for (name, file) in &self.logs {
            writeln!(f, "  follow   {file} (log {name})")?;
        }
        if self.probe {
            writeln!(f, "  ask      for a few tokens: 1 request, then 8 at once")?;
        }
        let words = self.load.iter().map(|word| word.to_string_lossy().into_owned());
        let words: Vec<String> = words.collect();
        let line = shlex::try_join(words.iter().map(String::as_str));
        writeln!(f, "  run      {}", line.unwrap_or_else(|_| words.join(" ")))?;
        for result in &self.results {
            writeln!(f, "  fetch    {}", result.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    fn settle(line: &[&str]) -> Result<(Plan, Errand), Error> {
        let words = ["inferlint-record", "xray"].iter().chain(line);
        let Command::Xray(args) = Cli::try_parse_from(words).unwrap().command else { panic!() };
        Errand::settle(*args)
    }

    #[test]
    fn the_serve_command_tells_engine_and_address() {
        for (command, engine, address) in [
            ("vllm serve m", "vllm", "http://127.0.0.1:8000/"),
            ("vllm serve m --port=8123", "vllm", "http://127.0.0.1:8123/"),
            ("A=1 exec vllm serve m --port 8124", "vllm", "http://127.0.0.1:8124/"),
            ("python -m sglang.launch_server --model m", "sglang", "http://127.0.0.1:30000/"),
            ("./start.sh", "", "http://127.0.0.1:8000/"),
        ] {
            let (plan, errand) = settle(&["--serve", command, "--", "true"]).unwrap();
            assert_eq!(plan.engine.as_deref().unwrap_or(""), engine, "{command}");
            assert_eq!(plan.targets[0].address(), address, "{command}");
            assert!(errand.probe && !errand.serve.unwrap().address_given);
        }
    }

    #[test]
    fn a_load_without_a_server_is_no_wrong_call() {
        let (plan, errand) = settle(&["--", "trtllm-bench", "throughput"]).unwrap();
        assert!(plan.targets.is_empty() && errand.serve.is_none() && !errand.probe);
    }

    #[test]
    fn contradictions_are_wrong_calls() {
        for line in [
            &["--serve", "vllm serve m", "--engine", "sglang", "--", "true"][..],
            &["--stop", "docker stop x", "--", "true"],
            &["--ready-timeout", "5m", "--url", "http://h:1", "--", "true"],
            &["--log", "a=x", "--log", "a=y", "--", "true"],
            &["--log", "a b=x", "--", "true"],
        ] {
            assert!(settle(line).is_err(), "{line:?}");
        }
    }

    #[test]
    fn logs_have_names() {
        let (_, errand) = settle(&[
            "--log",
            "/var/x=1.log",
            "--boot-log",
            "p0=b.log",
            "--log",
            "-",
            "--",
            "true",
        ])
        .unwrap();
        let names: Vec<_> = errand.logs.iter().map(|(n, f)| (n.as_str(), f.as_str())).collect();
        assert_eq!(names, [("log", "/var/x=1.log"), ("p0", "b.log"), ("log-3", "-")]);
    }

    #[test]
    fn what_was_requested_is_a_note() {
        let (plan, _) = settle(&["--requested", "32", "--", "true"]).unwrap();
        assert_eq!(plan.remarks[0].key.as_deref(), Some("requested"));
        assert_eq!(plan.remarks[0].value, "32");
    }
}
