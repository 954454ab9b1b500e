//! Expositions: finding out where a server serves its metrics, and reading them.

use super::{Ask, Collector, Failure};
use crate::clock::Clock;
use crate::http::{self, Client};
use crate::identity::{self, Means, Sign, Watched};
use crate::plan::{Plan, Target};
use crate::sink::Worth;
use crate::status::Live;
use inferlint_schema::delta::{Encoder, ReadingHead};
use inferlint_schema::engine::{self, ENGINES, EngineIdentity};
use inferlint_schema::prom;
use inferlint_schema::record::{Record, Source};
use reqwest::Url;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Interval for a server that somebody else started.
pub(crate) const ATTACHED: Duration = Duration::from_secs(1);
/// Interval for a server of our own.
pub(crate) const OWN: Duration = Duration::from_millis(250);
/// A reading may take this part of the interval: what reading costs the server stays small.
const SHARE: u32 = 20;
/// Trial readings behind that rule.
const TRIALS: usize = 3;
/// How long one answer is waited for before the recording begins.
const LOOK: Duration = Duration::from_secs(5);
/// A trial reading that takes this long says enough.
const SLOW: Duration = Duration::from_secs(1);
/// How a 200 that is no exposition is called.
const NO_METRICS: &str = "the answer holds no metrics";
/// Bytes of a useless answer that are quoted.
const QUOTED: usize = 40;

/// One target as it was found.
#[derive(Debug)]
pub(crate) struct Found {
    target: Target,
    /// Where its metrics may be; the only one, once it is known.
    urls: Vec<Url>,
    engine: Option<&'static EngineIdentity>,
    engine_from: Option<&'static str>,
    /// Median time of the trial readings.
    median: Option<Duration>,
    /// Why nothing could be read, and what to do about it.
    pub(crate) trouble: Option<Trouble>,
}

/// Why a target gives no metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// What happened, and where.
    pub(crate) what: String,
    /// What to do.
    pub(crate) help: String,
    /// The server answers, but has no metrics to give: a setting of its own is missing.
    pub(crate) missing: bool,
    /// It may be there later: nobody answered, or somebody in front of it for whom it is not there.
    pub(crate) may_come: bool,
}

/// Looks at every target of the plan, all at once.
pub(crate) async fn discover(client: &Client, plan: &Plan) -> Vec<Found> {
    let named = plan.engine.as_deref().and_then(engine::by_name);
    let trials = if plan.interval.is_some() { 1 } else { TRIALS };
    let looks: Vec<_> = plan
        .targets
        .iter()
        .map(|target| {
            let (client, target) = (client.within(LOOK), target.clone());
            let from = plan.engine_from;
            tokio::spawn(async move { look(&client, target, named, from, trials).await })
        })
        .collect();
    let mut found = Vec::new();
    for look in looks {
        found.extend(look.await);
    }
    found
}

async fn look(
    client: &Client,
    target: Target,
    named: Option<&'static EngineIdentity>,
    from: &'static str,
    trials: usize,
) -> Found {
    let named = named.filter(|_| target.serves);
    let owner = match named {
        None if target.find_path => owner(client, &target.url).await,
        _ => None,
    };
    let likely = named.or(owner);
    let urls = candidates(&target, likely);
    let mut found = Found {
        target,
        urls,
        engine: named,
        engine_from: named.map(|_| from),
        median: None,
        trouble: None,
    };
    let mut body = Vec::new();
    let mut failures = Vec::new();
    for url in found.urls.clone() {
        match read_once(client, &url, &mut body).await {
            Ok(first) => {
                if found.engine.is_none() && found.target.serves {
                    let samples = prom::parse(&body);
                    let names =
                        samples.samples.iter().filter_map(|s| str::from_utf8(s.series).ok());
                    found.engine = engine::of_series(names);
                    found.engine_from = found.engine.map(|_| "metrics");
                }
                found.median = Some(median(client, &url, &mut body, first.1, trials).await);
                found.urls = vec![url];
                return found;
            }
            Err(failure) => failures.push((url, failure)),
        }
    }
    found.trouble = failures.into_iter().next().map(|(url, failure)| {
        let what = format!("{}: {}", crate::plan::address(&url), failure.why);
        let missing =
            matches!(failure.status, Some(404 | 501)) || failure.why.starts_with(NO_METRICS);
        let may_come = match failure.status {
            None => !failure.why.starts_with(http::NO_SUCH_HOST),
            Some(status) => (502..=504).contains(&status),
        };
        Trouble { what, help: help_for(&failure, likely, &found.target), missing, may_come }
    });
    found
}

/// Where the metrics may be, in the order to try.
fn candidates(target: &Target, engine: Option<&EngineIdentity>) -> Vec<Url> {
    if !target.find_path {
        return vec![target.url.clone()];
    }
    let mut paths: Vec<&str> = match engine {
        Some(engine) => engine.metrics_paths.to_vec(),
        None => ENGINES.iter().flat_map(|engine| engine.metrics_paths).copied().collect(),
    };
    let mut seen = std::collections::BTreeSet::new();
    paths.retain(|path| seen.insert(*path));
    let with_path = |path: &&str| {
        let mut url = target.url.clone();
        url.set_path(path);
        url.set_query(None);
        url
    };
    paths.iter().map(with_path).collect()
}

/// Who the server says it is in `/v1/models`. Asked first, because TensorRT-LLM's `/metrics` is no
/// exposition but a list of iterations that reading empties.
async fn owner(client: &Client, url: &Url) -> Option<&'static EngineIdentity> {
    let mut url = url.clone();
    url.set_path("/v1/models");
    url.set_query(None);
    let mut body = Vec::new();
    client.get(&url, &mut body).await.ok()?;
    let text = String::from_utf8_lossy(&body);
    let (_, rest) = text.split_once("\"owned_by\"")?;
    let owner = rest.split('"').nth(1)?;
    engine::of_model_owner(owner)
}

type Reading = (http::Answer, Duration);

/// One GET whose body is an exposition.
async fn read_once(
    client: &Client,
    url: &Url,
    body: &mut Vec<u8>,
) -> Result<Reading, http::Failure> {
    let sent = Instant::now();
    let answer = client.get(url, body).await?;
    let took = sent.elapsed();
    match no_exposition(body) {
        Some(why) => Err(http::Failure { why, status: Some(answer.status), too_large: false }),
        None => Ok((answer, took)),
    }
}

/// Why `body` cannot be an exposition, in words; `None`: it may be one, also an empty one.
fn no_exposition(body: &[u8]) -> Option<String> {
    let first = body.iter().position(|b| !b.is_ascii_whitespace())?;
    let start = body.get(first..).unwrap_or_default();
    // Nearly every exposition begins with a comment, and nothing else that servers send does.
    let holds_samples = |parsed: prom::Exposition<'_>| !parsed.samples.is_empty();
    if start.starts_with(b"#") || holds_samples(prom::parse(body)) {
        return None;
    }
    let quoted: String = String::from_utf8_lossy(start)
        .chars()
        .take_while(|c| *c != '\n')
        .take(QUOTED)
        .filter(|c| !c.is_control())
        .collect();
    Some(format!("{NO_METRICS}, it begins with {quoted:?}"))
}

async fn median(
    client: &Client,
    url: &Url,
    body: &mut Vec<u8>,
    first: Duration,
    trials: usize,
) -> Duration {
    let mut times = vec![first];
    while times.len() < trials && times.last().is_some_and(|took| *took < SLOW) {
        match read_once(client, url, body).await {
            Ok((_, took)) => times.push(took),
            Err(_) => break,
        }
    }
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(first)
}

fn help_for(failure: &http::Failure, engine: Option<&EngineIdentity>, target: &Target) -> String {
    let port = target.url.port_or_known_default().unwrap_or(80);
    match failure.status {
        None if failure.why.starts_with(http::NO_SUCH_HOST) => {
            "check the host's name in the URL".to_owned()
        }
        None => format!("check that the server runs and listens on port {port}"),
        // 501 is llama.cpp's word for it.
        Some(404 | 501) if target.serves => {
            if let Some(engine) = engine {
                return engine.missing_metrics_help.to_owned();
            }
            let helps: Vec<&str> = ENGINES.iter().map(|e| e.missing_metrics_help).collect();
            format!("the server's metrics may be switched off: {}", helps.join("; "))
        }
        Some(401 | 403) => "put credentials into the URL (http://user:password@…), or name an \
                            address that needs none"
            .to_owned(),
        Some(_) => {
            format!("check that port {port} is the server's and that the path is right")
        }
    }
}

/// The sampling intervals of `found`, by name of the source.
///
/// One interval serves all that have a part in serving: the longest that one of them needs. Other
/// expositions are read no more often, and less often when they are slow.
pub(crate) fn intervals(
    found: &[Found],
    asked: Option<Duration>,
    default: Duration,
) -> Vec<Duration> {
    let needs = |found: &Found| asked.unwrap_or_else(|| by_rule(default, found.median));
    let serving = found.iter().filter(|found| found.target.serves).map(needs).max();
    found
        .iter()
        .map(|found| match serving {
            Some(serving) if found.target.serves => serving,
            Some(serving) => serving.max(needs(found)),
            None => needs(found),
        })
        .collect()
}

/// The larger of the default and 20 times what a reading takes.
pub(crate) fn by_rule(default: Duration, median: Option<Duration>) -> Duration {
    let cost = median.unwrap_or_default() * SHARE;
    // Whole milliseconds: it is a setting that people read.
    default.max(Duration::from_millis(cost.as_millis() as u64))
}

impl Found {
    /// The source as it is declared in the bundle.
    pub(crate) fn source(&self, t: u64, src: u32, group: Option<String>) -> Source {
        let url = self.urls.first().filter(|_| self.trouble.is_none());
        let address = url.map_or_else(|| self.target.address(), crate::plan::address);
        let why = self
            .trouble
            .as_ref()
            .map(|trouble| BTreeMap::from([("metrics".to_owned(), trouble.what.clone())]));
        Source {
            t,
            src,
            name: self.target.name.clone(),
            role: self.target.role.clone(),
            kind: "exposition".to_owned(),
            group,
            address: Some(address),
            engine: self.engine.map(|engine| engine.name.to_owned()),
            engine_from: self.engine_from.map(str::to_owned),
            provider: Some("prometheus".to_owned()),
            why,
        }
    }

    /// The source's name.
    pub(crate) fn name(&self) -> &str {
        &self.target.name
    }

    /// The source's role.
    pub(crate) fn role(&self) -> &str {
        &self.target.role
    }

    /// Given by `--url`.
    pub(crate) fn serves(&self) -> bool {
        self.target.serves
    }

    /// Its collector.
    pub(crate) fn collector(
        self,
        src: u32,
        client: Client,
        clock: Clock,
        live: Arc<Live>,
        signs: Option<mpsc::Sender<Sign>>,
    ) -> Metrics {
        let encoder = Encoder::new(src);
        let (target, urls, body) = (self.target, self.urls, Vec::new());
        Metrics { src, client, target, urls, encoder, clock, live, signs, body }
    }

    /// Has it watched who answers, at an address that has a part in serving.
    pub(crate) fn watch(&self, src: u32, means: Means) -> Option<Watched> {
        let base = self.target.url.clone();
        self.target.serves.then(|| identity::watch(src, base, self.engine, means))
    }
}

/// Reads one exposition.
#[derive(Debug)]
pub(crate) struct Metrics {
    src: u32,
    client: Client,
    target: Target,
    /// One, or all that may be right while the server has never answered.
    urls: Vec<Url>,
    encoder: Encoder,
    clock: Clock,
    live: Arc<Live>,
    /// Where it is watched who answers, at an address that has a part in serving.
    signs: Option<mpsc::Sender<Sign>>,
    body: Vec<u8>,
}

impl Collector for Metrics {
    fn src(&self) -> u32 {
        self.src
    }

    fn worth(&self) -> Worth {
        Worth::Reading
    }

    async fn read(&mut self, ask: Ask, out: &mut Vec<Record>) -> Result<(), Failure> {
        if self.urls.len() > 1
            && let Some(owner) = owner(&self.client.within(LOOK), &self.target.url).await
        {
            self.urls = candidates(&self.target, Some(owner));
        }
        let mut failure = None;
        for index in 0..self.urls.len() {
            let Some(url) = self.urls.get(index) else { break };
            let t = self.clock.now();
            match read_once(&self.client, url, &mut self.body).await {
                Ok((answer, took)) => {
                    self.urls.swap(0, index);
                    self.urls.truncate(1);
                    self.keep(t, &answer, took, ask, out);
                    self.tell(|body| Sign::answered(answer.peer, body, ask.keyframe));
                    return Ok(());
                }
                Err(other) => failure = failure.or(Some(other)),
            }
        }
        let answers = failure.as_ref().is_some_and(|failure| failure.status.is_some());
        self.tell(|_| Sign::Failed { answers });
        let failure = failure.map_or_else(
            || Failure { what: "scrape", why: "no address to read".to_owned() },
            |failure| Failure {
                what: if failure.too_large { "too_large" } else { "scrape" },
                why: failure.why,
            },
        );
        Err(failure)
    }
}

impl Metrics {
    fn tell(&self, sign: impl FnOnce(&[u8]) -> Sign) {
        if let Some(signs) = &self.signs {
            // A full queue is somebody who looks already.
            let _ = signs.try_send(sign(&self.body));
        }
    }

    fn keep(
        &mut self,
        t: u64,
        answer: &http::Answer,
        took: Duration,
        ask: Ask,
        out: &mut Vec<Record>,
    ) {
        let head = ReadingHead {
            t,
            dur_ns: took.as_nanos() as u64,
            status: Some(answer.status),
            bytes: Some(self.body.len() as u64),
            peer: answer.peer.map(|peer| peer.to_string()),
            date_s: answer.date_s,
        };
        self.encoder.exposition(&head, &self.body, ask.keyframe, ask.keep, out);
        self.live.scraped(took);
        if self.signs.is_some() {
            self.live.exposed(self.src, &self.body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn the_interval_follows_what_a_reading_takes() {
        let ms = Duration::from_millis;
        let cases = [
            (None, ATTACHED, ms(1_000)),
            (Some(ms(4)), ATTACHED, ms(1_000)),
            (Some(ms(80)), ATTACHED, ms(1_600)),
            (Some(ms(4)), ms(250), ms(250)),
            (Some(Duration::from_micros(15_500)), ms(250), ms(310)),
        ];
        for (median, default, expected) in cases {
            assert_eq!(by_rule(default, median), expected, "{median:?}");
        }
    }

    /// TensorRT-LLM as it answers; the receiver has each path that was asked for.
    async fn trtllm() -> (Url, mpsc::Receiver<String>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let (asked, paths) = mpsc::channel(64);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let n = stream.read(&mut request).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&request[..n]).into_owned();
                let path = text.split(' ').nth(1).unwrap_or_default();
                let body = match path {
                    "/v1/models" => r#"{"data":[{"owned_by":"tensorrt_llm"}]}"#,
                    "/prometheus/metrics" => "trtllm_request_success_total 1\n",
                    _ => "[]",
                };
                asked.send(path.to_owned()).await.unwrap();
                let length = body.len();
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n");
                let reply = format!("{head}Connection: close\r\n\r\n{body}");
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        (url, paths)
    }

    #[tokio::test]
    async fn a_server_that_comes_later_is_asked_who_it_is_before_its_metrics() {
        let (url, mut asked) = trtllm().await;
        let (name, role) = ("engine".to_owned(), "engine".to_owned());
        let target = Target { name, role, url, find_path: true, serves: true };
        let urls = candidates(&target, None);
        assert!(urls.len() > 1, "not known yet");
        let found =
            Found { target, urls, engine: None, engine_from: None, median: None, trouble: None };
        let live = Arc::new(Live::default());
        let client = Client::new().unwrap();
        let mut metrics = found.collector(0, client, Clock::start(), live, None);
        for _ in 0..2 {
            metrics.read(Ask::default(), &mut Vec::new()).await.unwrap();
        }
        let mut paths = Vec::new();
        while let Ok(path) = asked.try_recv() {
            paths.push(path);
        }
        assert_eq!(paths, ["/v1/models", "/prometheus/metrics", "/prometheus/metrics"]);
    }

    #[test]
    fn html_and_json_are_no_expositions_and_an_empty_one_is() {
        let good: [&[u8]; 6] = [
            b"",
            b"\n",
            b"# HELP a b\n",
            b"a 1\n",
            b"{\"utf8.name\", job=\"x\"} 1\n",
            b"good 1\nthis line is broken\n",
        ];
        for body in good {
            assert_eq!(no_exposition(body), None, "{}", String::from_utf8_lossy(body));
        }
        let bad: [&[u8]; 5] = [
            b"<!DOCTYPE html><html></html>",
            b"\n  <html>",
            b"[{\"iter\":1}]",
            b"{\"detail\":\"Not Found\"}",
            b"Not Found",
        ];
        for body in bad {
            let why = no_exposition(body).unwrap();
            assert!(why.starts_with("the answer holds no metrics, it begins with"), "{why}");
        }
    }
}
