//! What a call means: options, environment and defaults resolved, before anything is opened.

use crate::cli::{About, Output, Privacy, Require, Sources, Watch};
use crate::error::Error;
use inferlint_schema::engine;
use inferlint_schema::record::Text;
use reqwest::Url;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Roles a `--url` may name.
const ROLES: [&str; 7] = ["engine", "prefill", "decode", "encode", "router", "gateway", "other"];
/// Paths that mean the server's API as a whole.
const API_ROOTS: [&str; 3] = ["", "/", "/v1"];

/// A recording, settled.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The subcommand.
    pub(crate) command: &'static str,
    /// The arguments, as they will be recorded before masking.
    pub(crate) argv: Vec<String>,
    /// What is read.
    pub(crate) targets: Vec<Target>,
    /// The engine, if it was named or the serve command tells.
    pub(crate) engine: Option<String>,
    /// How it is known, as in `source.engine_from`.
    pub(crate) engine_from: &'static str,
    /// Metrics of every engine must be there.
    pub(crate) require_metrics: bool,
    /// Sampling interval, if it was given.
    pub(crate) interval: Option<Duration>,
    /// When to stop by itself.
    pub(crate) duration: Option<Duration>,
    /// The marks file; `None` for commands without phases.
    pub(crate) marks: Option<PathBuf>,
    /// The bundle.
    pub(crate) output: PathBuf,
    /// Whether it may replace another.
    pub(crate) force: bool,
    /// Say only what is wrong.
    pub(crate) quiet: bool,
    /// Print the plan and stop.
    pub(crate) dry_run: bool,
    /// How much may be written down.
    pub(crate) privacy: Privacy,
    /// Name of the run.
    pub(crate) run_id: String,
    /// Claims, questions and notes.
    pub(crate) remarks: Vec<Remark>,
    /// Commands whose arguments may hold secrets: what follows an option that names one is masked
    /// everywhere.
    pub(crate) commands: Vec<Vec<Text>>,
}

/// One exposition to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// Unique in the bundle.
    pub(crate) name: String,
    /// As in `source.role`.
    pub(crate) role: String,
    /// Where it is.
    pub(crate) url: Url,
    /// Where the path of the metrics is for us to find.
    pub(crate) find_path: bool,
    /// Given by `--url`: it has a part in serving.
    pub(crate) serves: bool,
}

impl Target {
    /// The address without credentials, as it is recorded and shown.
    pub(crate) fn address(&self) -> String {
        address(&self.url)
    }
}

/// `url` without credentials.
pub(crate) fn address(url: &Url) -> String {
    let mut url = url.clone();
    // Both refuse only URLs without a host, which `parse_url` refused before.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// What a person says of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// `claim`, `question` or `note`.
    pub(crate) what: &'static str,
    /// Name; free text has none.
    pub(crate) key: Option<String>,
    /// The text.
    pub(crate) value: String,
}

impl Plan {
    /// The plan of a `watch`.
    ///
    /// # Errors
    /// When an option contradicts another or cannot be meant.
    pub(crate) fn watch(args: Watch) -> Result<Self, Error> {
        let mut plan = Self::new("watch", args.sources, &args.output, &args.about)?.reading()?;
        plan.interval = args.pace.interval;
        plan.duration = args.duration;
        plan.marks = Some(args.marks.unwrap_or_else(|| plan.output.with_extension("marks")));
        Ok(plan)
    }

    /// A plan that is of no use without something to read.
    ///
    /// # Errors
    /// When nothing is to be read.
    pub(crate) fn reading(self) -> Result<Self, Error> {
        if self.targets.is_empty() {
            let help = "add --url http://127.0.0.1:8000, the address of the server";
            return Err(Error::wrong_call("nothing to record", help));
        }
        Ok(self)
    }

    /// What all recordings share.
    ///
    /// # Errors
    /// When an option contradicts another or cannot be meant.
    pub(crate) fn new(
        command: &'static str,
        sources: Sources,
        output: &Output,
        about: &About,
    ) -> Result<Self, Error> {
        let engine = sources.engine.filter(|engine| !engine.is_empty());
        Ok(Self {
            command,
            argv: argv(output.privacy),
            targets: targets(&sources.url, &sources.scrape)?,
            engine: engine.map(|engine| known_engine(&engine)).transpose()?,
            engine_from: "option",
            require_metrics: sources.require.contains(&Require::Metrics),
            interval: None,
            duration: None,
            marks: None,
            output: expand(&output.file),
            force: output.force,
            quiet: output.quiet,
            dry_run: output.dry_run,
            privacy: output.privacy,
            run_id: run_id(about.run_id.clone())?,
            remarks: remarks(about)?,
            commands: Vec::new(),
        })
    }
}

/// What would be done, for `--dry-run`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} would", self.command)?;
        for target in &self.targets {
            let Target { name, role, find_path, .. } = target;
            let path = if *find_path { ", the metrics path to be found" } else { "" };
            writeln!(f, "  read     {} (source {name}, role {role}{path})", target.address())?;
        }
        match self.interval {
            Some(interval) => writeln!(f, "  every    {} ms", interval.as_millis())?,
            None if self.command == "snapshot" => writeln!(f, "  once")?,
            None if self.command == "xray" => {
                let default = "250 ms for a server of ours, else 1 s";
                writeln!(f, "  every    {default}, or 20 times what a reading takes")?;
            }
            None => writeln!(f, "  every    1 s, or 20 times what a reading takes")?,
        }
        match self.duration {
            Some(duration) => writeln!(f, "  for      {} s", duration.as_secs_f64())?,
            None if self.command == "snapshot" => {}
            None if self.command == "xray" => writeln!(f, "  until    the load ends")?,
            None => writeln!(f, "  until    Ctrl-C or SIGTERM")?,
        }
        let part = crate::sink::part_of(&self.output);
        writeln!(f, "  write    {}, named {} when closed", part.display(), self.output.display())?;
        if let Some(marks) = &self.marks {
            writeln!(f, "  follow   {}", marks.display())?;
        }
        writeln!(f, "  run id   {}", self.run_id)?;
        write!(f, "  privacy  {}", self.privacy.name())
    }
}

/// The engine's name as the schema knows it.
fn known_engine(name: &str) -> Result<String, Error> {
    if engine::by_name(name).is_some() {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = engine::ENGINES.iter().map(|engine| engine.name).collect();
    let help = format!("name one of {}, or leave it to be told", names.join(", "));
    Err(Error::wrong_call(format!("there is no engine {name:?}"), help))
}

fn targets(urls: &[String], scrapes: &[String]) -> Result<Vec<Target>, Error> {
    let mut targets = Vec::new();
    for (index, given) in urls.iter().enumerate() {
        let (name, url) = split_name(given);
        let number = if urls.len() == 1 { String::new() } else { format!("-{}", index + 1) };
        let (name, role) = match name {
            None => (format!("engine{number}"), "engine"),
            Some(name) => name
                .split_once(':')
                .map_or((name.to_owned(), "engine"), |(name, role)| (name.to_owned(), role)),
        };
        if !ROLES.contains(&role) {
            let help = format!("name one of {}", ROLES.join(", "));
            return Err(Error::wrong_call(format!("{given:?} names the role {role:?}"), help));
        }
        let url = parse_url(url)?;
        let find_path = API_ROOTS.contains(&url.path().trim_end_matches('/'));
        targets.push(Target { name, role: role.to_owned(), url, find_path, serves: true });
    }
    for given in scrapes {
        let (Some(name), url) = split_name(given) else {
            let help = "write NAME=URL, for example dcgm=http://127.0.0.1:9400/metrics";
            return Err(Error::wrong_call(format!("--scrape {given} has no name"), help));
        };
        let mut url = parse_url(url)?;
        if API_ROOTS.contains(&url.path()) {
            url.set_path("/metrics");
        }
        let (name, role) = (name.to_owned(), "other".to_owned());
        targets.push(Target { name, role, url, find_path: false, serves: false });
    }
    for (index, target) in targets.iter().enumerate() {
        check_name("source", &target.name)?;
        if targets.iter().take(index).any(|other| other.name == target.name) {
            let help = "give each --url and --scrape a name of its own";
            let what = format!("two sources are called {}", target.name);
            return Err(Error::wrong_call(what, help));
        }
    }
    Ok(targets)
}

/// `NAME=URL` taken apart; an `=` inside the URL is no name.
pub(crate) fn split_name(given: &str) -> (Option<&str>, &str) {
    match given.split_once('=') {
        Some((name, url)) if !name.contains('/') => (Some(name), url),
        _ => (None, given),
    }
}

pub(crate) fn parse_url(url: &str) -> Result<Url, Error> {
    // Credentials stay out of messages.
    let given = match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        _ => url.to_owned(),
    };
    let help = || {
        let guess = given.rsplit("//").next().unwrap_or(&given);
        format!("write it like http://{}", if guess.is_empty() { "127.0.0.1:8000" } else { guess })
    };
    if !given.contains("://") {
        return Err(Error::wrong_call(format!("{given:?} is no URL: it has no scheme"), help()));
    }
    let url = Url::parse(url).map_err(|error| {
        // With its port, an address that is no URL would be advised again.
        let help = "write it like http://127.0.0.1:8000, with a port up to 65535";
        Error::wrong_call(format!("{given:?} is no URL: {error}"), help)
    })?;
    match url.scheme() {
        "http" if url.has_host() => Ok(url),
        "https" => Err(Error::wrong_call(
            format!("{given:?} is https, which this build does not speak"),
            "name the server's own plain port, or a local forwarder to it",
        )),
        scheme => Err(Error::wrong_call(format!("{given:?} has the scheme {scheme}"), help())),
    }
}

/// Names go into file names, commands and reports: `[A-Za-z0-9._-]{1,64}`.
pub(crate) fn check_name(of: &str, name: &str) -> Result<(), Error> {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
    if (1..=64).contains(&name.len()) && name.bytes().all(plain) {
        return Ok(());
    }
    let what = format!("{name:?} is no name for a {of}");
    Err(Error::wrong_call(what, "use 1 to 64 letters, digits, dots, dashes and underscores"))
}

/// The run's name: the one given, the Slurm job and step, the pod, else a random one.
fn run_id(given: Option<String>) -> Result<String, Error> {
    if let Some(given) = given {
        check_name("run", &given)?;
        return Ok(given);
    }
    let usable = |name: String| check_name("run", &name).is_ok().then_some(name);
    let slurm = env("SLURM_JOB_ID").map(|job| match env("SLURM_STEP_ID") {
        Some(step) => format!("{job}.{step}"),
        None => job,
    });
    let pod = || std::fs::read_to_string("/proc/self/mountinfo").ok().and_then(|m| pod_uid(&m));
    let found = slurm.and_then(usable).or_else(|| pod().and_then(usable));
    found.map_or_else(|| random_hex(8), Ok)
}

/// The pod's uid in `/proc/self/mountinfo`: the kubelet mounts `etc-hosts` and others from
/// `/var/lib/kubelet/pods/UID/`, also where the cgroup path is hidden by a namespace.
fn pod_uid(mountinfo: &str) -> Option<String> {
    let (_, rest) = mountinfo.split_once("/pods/")?;
    let uid = rest.split('/').next()?;
    let plausible = uid.len() >= 32 && uid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    plausible.then(|| uid.to_owned())
}

/// So many random bytes in hex.
pub(crate) fn random_hex(bytes: usize) -> Result<String, Error> {
    let mut random = vec![0; bytes];
    let read =
        std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
    read.map_err(|error| {
        Error::could_not(format!("read /dev/urandom: {error}"), "name the run with --run-id")
    })?;
    let hex = |text: String, byte: &u8| format!("{text}{byte:02x}");
    Ok(random.iter().fold(String::new(), hex))
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// `%h`, `%j` and `%p` replaced, `%%` for a percent sign; others stay as they are.
fn expand(output: &Path) -> PathBuf {
    let Some(text) = output.to_str() else { return output.to_owned() };
    let mut parts = text.split('%');
    let mut name = parts.next().unwrap_or_default().to_owned();
    while let Some(part) = parts.next() {
        match part.chars().next() {
            Some('h') => name += &host_name(),
            Some('j') => name += &env("SLURM_JOB_ID").unwrap_or_else(|| "nojob".to_owned()),
            Some('p') => name += &std::process::id().to_string(),
            None => {
                name.push('%');
                name += parts.next().unwrap_or_default();
                continue;
            }
            Some(_) => {
                name.push('%');
                name += part;
                continue;
            }
        }
        name += part.get(1..).unwrap_or_default();
    }
    PathBuf::from(name)
}

/// The short host name.
pub(crate) fn host_name() -> String {
    let full = nix::unistd::gethostname().unwrap_or_default();
    full.to_string_lossy().split('.').next().unwrap_or("host").to_owned()
}

fn remarks(about: &About) -> Result<Vec<Remark>, Error> {
    let pair = |what: &'static str, given: &String| {
        let (key, value) =
            given.split_once('=').filter(|(key, _)| !key.is_empty()).ok_or_else(|| {
                let help = format!("write it like --{what} output_tps=1274");
                Error::wrong_call(format!("--{what} {given:?} is not KEY=VALUE"), help)
            })?;
        Ok(Remark { what, key: Some(key.to_owned()), value: value.to_owned() })
    };
    let claims = about.claim.iter().map(|given| pair("claim", given));
    let notes = about.note.iter().map(|given| pair("note", given));
    let questions = about
        .question
        .iter()
        .map(|given| Ok(Remark { what: "question", key: None, value: given.clone() }));
    claims.chain(questions).chain(notes).collect()
}

/// Our own arguments. In strict mode words that are neither options nor numbers are withheld.
fn argv(privacy: Privacy) -> Vec<String> {
    let given = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let withheld = |word: String| {
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (format!("{option}="), value),
            _ if word.starts_with('-') => return word,
            _ => (String::new(), word.as_str()),
        };
        let plain = value.parse::<f64>().is_ok() || crate::cli::duration(value).is_ok();
        if plain { word } else { format!("{option}<withheld>") }
    };
    match privacy {
        Privacy::Standard => given.collect(),
        Privacy::Strict => given.map(withheld).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(given: &[&str]) -> Result<Vec<Target>, Error> {
        let given: Vec<String> = given.iter().map(|url| (*url).to_owned()).collect();
        targets(&given, &[])
    }

    #[test]
    fn a_url_may_carry_a_name_and_a_role() {
        let cases = [
            ("http://127.0.0.1:8000", "engine", "engine", true),
            ("http://127.0.0.1:8000/v1/", "engine", "engine", true),
            ("http://127.0.0.1:8000/?a=b", "engine", "engine", true),
            ("a=http://127.0.0.1:8000/metrics", "a", "engine", false),
            ("a:decode=http://127.0.0.1:8000", "a", "decode", true),
        ];
        for (given, name, role, find_path) in cases {
            let target = urls(&[given]).unwrap().remove(0);
            let found = (target.name.as_str(), target.role.as_str(), target.find_path);
            assert_eq!(found, (name, role, find_path), "{given}");
        }
        let names: Vec<_> = urls(&["http://h:1", "b=http://h:2", "http://h:3"]).unwrap();
        let names: Vec<_> = names.iter().map(|target| target.name.as_str()).collect();
        assert_eq!(names, ["engine-1", "b", "engine-3"]);
    }

    #[test]
    fn what_cannot_be_a_source_is_a_wrong_call_with_help() {
        let cases: [(&[&str], &str); 8] = [
            (&["localhost:8000"], "no scheme"),
            (&["http://"], "is no URL"),
            (&["ftp://127.0.0.1/"], "scheme ftp"),
            (&["https://127.0.0.1/"], "does not speak"),
            (&["a:boss=http://h:1"], "role \"boss\""),
            (&["a b=http://h:1"], "no name for a source"),
            (&["a=http://h:1", "a=http://h:2"], "two sources"),
            (&["http://h:99999"], "is no URL"),
        ];
        for (given, what) in cases {
            let error = urls(given).unwrap_err();
            assert_eq!(error.status, crate::error::exit::WRONG_CALL);
            assert!(error.what.contains(what) && !error.help.is_empty(), "{error}");
        }
        assert!(targets(&[], &["http://h:1/metrics".to_owned()]).is_err());
        let other = targets(&[], &["dcgm=http://h:9400".to_owned()]).unwrap().remove(0);
        assert_eq!((other.role.as_str(), other.url.path()), ("other", "/metrics"));
    }

    #[test]
    fn credentials_of_an_address_are_not_shown() {
        let target = urls(&["http://me:secret@h:1/metrics"]).unwrap().remove(0);
        assert_eq!(target.address(), "http://h:1/metrics");
    }

    #[test]
    fn placeholders_of_the_output_are_replaced() {
        let pid = std::process::id();
        let cases = [
            ("run.ilb", "run.ilb".to_owned()),
            ("r-%p.ilb", format!("r-{pid}.ilb")),
            ("%%p-%x-%", "%p-%x-%".to_owned()),
            ("%h/%p", format!("{}/{pid}", host_name())),
        ];
        for (given, expected) in cases {
            assert_eq!(expand(Path::new(given)), PathBuf::from(expected), "{given}");
        }
    }

    #[test]
    fn a_pod_is_known_by_its_mounts() {
        let line = "689 677 253:0 /var/lib/kubelet/pods/0c4a6f0e-6a9f-4b57-9d43-1f2c3a7b9e11/etc-hosts /etc/hosts rw";
        assert_eq!(pod_uid(line).as_deref(), Some("0c4a6f0e-6a9f-4b57-9d43-1f2c3a7b9e11"));
        assert_eq!(pod_uid("22 1 0:20 /pods/x / rw"), None);
        assert_eq!(pod_uid(""), None);
    }

    #[test]
    fn a_run_id_is_checked_or_made() {
        assert_eq!(run_id(Some("r.1_a-B".into())).unwrap(), "r.1_a-B");
        for bad in ["", "a b", "a/b", &"x".repeat(65)] {
            assert!(run_id(Some(bad.to_owned())).is_err(), "{bad}");
        }
        assert_ne!(random_hex(8).unwrap(), random_hex(8).unwrap());
        assert_eq!(random_hex(8).unwrap().len(), 16);
    }

    #[test]
    fn remarks_are_pairs_but_questions_are_free() {
        let about = |claim: &str| About {
            run_id: None,
            note: vec!["rack=7".into()],
            claim: vec![claim.into()],
            question: vec!["why so slow?".into()],
        };
        let found = remarks(&about("output_tps=1274")).unwrap();
        let found: Vec<_> =
            found.iter().map(|r| (r.what, r.key.as_deref(), r.value.as_str())).collect();
        assert_eq!(
            found,
            [
                ("claim", Some("output_tps"), "1274"),
                ("question", None, "why so slow?"),
                ("note", Some("rack"), "7")
            ]
        );
        assert!(remarks(&about("fast")).is_err());
        assert!(remarks(&about("=1")).is_err());
    }
}
