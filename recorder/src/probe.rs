//! Asking a server ourselves, before any load: is it ready, does it survive its first requests?

use crate::clock::Clock;
use crate::http::{Client, Failure};
use inferlint_schema::engine::EngineIdentity;
use inferlint_schema::record::Probe;
use reqwest::Url;
use serde_json::json;
use std::time::Duration;

/// How long one look at readiness may take.
const LOOK: Duration = Duration::from_secs(2);
/// How long a request of a few tokens may take: the first one may compile kernels.
const REQUEST: Duration = Duration::from_mins(2);
/// Tokens asked for.
const TOKENS: u32 = 4;
/// Requests at once, after the first one alone: a server has been seen to crash on its first batch.
const BURST: u32 = 8;

fn at(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(path);
    url.set_query(None);
    url
}

/// Whether the server can serve, as far as its HTTP tells: its health path says 200 and its list of
/// models answers.
pub(crate) async fn answers(client: &Client, base: &Url, engine: Option<&EngineIdentity>) -> bool {
    let client = client.within(LOOK);
    is_healthy(&client, base, engine).await.is_ok()
        && exists(&client, &at(base, "/v1/models")).await
}

/// Whether this address says 200.
pub(crate) async fn says_ok(client: &Client, url: &Url) -> bool {
    client.within(LOOK).get(url, &mut Vec::new()).await.is_ok_and(|answer| answer.status == 200)
}

/// Whether anything at all answers there.
pub(crate) async fn says_anything(client: &Client, base: &Url) -> bool {
    let answer = client.within(LOOK).get(&at(base, "/health"), &mut Vec::new()).await;
    answer.map_or_else(|failure| failure.status.is_some(), |_| true)
}

/// The first health path that this release has.
async fn is_healthy(
    client: &Client,
    base: &Url,
    engine: Option<&EngineIdentity>,
) -> Result<(&'static str, u16), (&'static str, Failure)> {
    let paths = engine.map_or(&["/health"][..], |engine| engine.health_paths);
    let mut last = None;
    for path in paths {
        match client.get(&at(base, path), &mut Vec::new()).await {
            Ok(answer) => return Ok((path, answer.status)),
            Err(failure) if failure.status == Some(404) => last = Some((*path, failure)),
            Err(failure) => return Err((path, failure)),
        }
    }
    Err(last.unwrap_or(("/", Failure::new("no health path is known"))))
}

/// True for any answer but a server error: one that asks for a key is there too.
async fn exists(client: &Client, url: &Url) -> bool {
    match client.get(url, &mut Vec::new()).await {
        Ok(_) => true,
        Err(failure) => failure.status.is_some_and(|status| status < 500),
    }
}

/// One request, then eight at once, then health. The probes' requests are the server's first, and
/// end before the first reading of the recording.
pub(crate) async fn first_requests(
    client: &Client,
    base: &Url,
    engine: Option<&EngineIdentity>,
    model: &str,
    src: u32,
    clock: Clock,
) -> Vec<Probe> {
    let client = client.within(REQUEST);
    let mut path = "/v1/completions";
    let mut one = burst(&client, base, path, model, 1, src, clock).await;
    if one.status == Some(404) {
        path = "/v1/chat/completions";
        one = burst(&client, base, path, model, 1, src, clock).await;
    }
    let mut probes = vec![one];
    if probes.iter().all(|probe| probe.ok == probe.asked) {
        probes.push(burst(&client, base, path, model, BURST, src, clock).await);
    }
    probes.push(health(&client, base, engine, src, clock).await);
    probes
}

/// Asks for the server's health, as a record.
pub(crate) async fn health(
    client: &Client,
    base: &Url,
    engine: Option<&EngineIdentity>,
    src: u32,
    clock: Clock,
) -> Probe {
    let t = clock.now();
    let found = is_healthy(&client.within(REQUEST.min(LOOK * 5)), base, engine).await;
    let (path, status, error) = match found {
        Ok((path, status)) => (path, Some(status), None),
        Err((path, failure)) => (path, failure.status, Some(failure.why)),
    };
    Probe {
        t,
        src,
        what: "health".to_owned(),
        path: Some(path.to_owned()),
        asked: 1,
        ok: u32::from(error.is_none()),
        status,
        dur_ns: clock.now() - t,
        body: None,
        error,
    }
}

async fn burst(
    client: &Client,
    base: &Url,
    path: &'static str,
    model: &str,
    count: u32,
    src: u32,
    clock: Clock,
) -> Probe {
    let t = clock.now();
    let tasks: Vec<_> = (0..count)
        .map(|number| {
            let (client, url) = (client.clone(), at(base, path));
            let json = request(path, model, number);
            tokio::spawn(async move { client.post(&url, json, &mut Vec::new()).await })
        })
        .collect();
    let (mut ok, mut status, mut error) = (0, None, None);
    for task in tasks {
        match task.await {
            Ok(Ok(answer)) => {
                ok += 1;
                status = Some(answer.status);
            }
            Ok(Err(failure)) => {
                status = failure.status.or(status);
                error = Some(failure.why);
            }
            Err(broken) => error = Some(broken.to_string()),
        }
    }
    Probe {
        t,
        src,
        what: if count == 1 { "request" } else { "burst" }.to_owned(),
        path: Some(path.to_owned()),
        asked: count,
        ok,
        status,
        dur_ns: clock.now() - t,
        body: None,
        error,
    }
}

/// A request that no answer text is kept of; each differs from its first word on, so that none is
/// served from the prefix cache of another.
fn request(path: &str, model: &str, number: u32) -> String {
    let prompt = format!("{number} is a number");
    let common = json!({"model": model, "max_tokens": TOKENS, "temperature": 0});
    let mut body = common;
    if let Some(fields) = body.as_object_mut() {
        if path.contains("chat") {
            let message = json!([{"role": "user", "content": prompt}]);
            fields.insert("messages".to_owned(), message);
        } else {
            fields.insert("prompt".to_owned(), prompt.into());
        }
    }
    body.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// A server that answers by path; it counts what it was asked to generate and crashes after so
    /// many requests.
    async fn server(
        answers: &'static [(&'static str, u16)],
        survives: u32,
    ) -> (Url, Arc<AtomicU32>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let generated = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&generated);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    let mut request = vec![0; 4096];
                    let n = stream.read(&mut request).await.unwrap_or(0);
                    let text = String::from_utf8_lossy(&request[..n]).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or_default();
                    let status = answers.iter().find(|(p, _)| *p == path).map_or(404, |(_, s)| *s);
                    if text.starts_with("POST") && status == 200 {
                        assert!(text.contains("\"max_tokens\":4"), "{text}");
                        count.fetch_add(1, Ordering::SeqCst);
                    }
                    if count.load(Ordering::SeqCst) > survives {
                        return;
                    }
                    let reply = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
                    let _ = stream.write_all(reply.as_bytes()).await;
                });
            }
        });
        (url, generated)
    }

    fn vllm() -> Option<&'static EngineIdentity> {
        inferlint_schema::engine::by_name("vllm")
    }

    #[tokio::test]
    async fn ready_needs_health_and_a_list_of_models() {
        let client = Client::new().unwrap();
        for (answers_, engine, ready) in [
            (&[("/health", 200), ("/v1/models", 200)][..], "vllm", true),
            (&[("/health", 200), ("/v1/models", 401)], "vllm", true),
            (&[("/health", 503), ("/v1/models", 200)], "vllm", false),
            (&[("/health", 200), ("/v1/models", 500)], "vllm", false),
            (&[("/ready", 503), ("/v1/models", 200)], "sglang", false),
            (&[("/v1/models", 200)], "sglang", true),
            (&[], "vllm", false),
        ] {
            let (url, _) = server(answers_, 0).await;
            let engine = inferlint_schema::engine::by_name(engine);
            assert_eq!(answers(&client, &url, engine).await, ready, "{answers_:?}");
        }
    }

    #[tokio::test]
    async fn one_request_then_eight_then_health() {
        let paths = &[("/v1/completions", 200), ("/health", 200)];
        let (url, generated) = server(paths, 100).await;
        let client = Client::new().unwrap();
        let clock = Clock::start();
        let probes = first_requests(&client, &url, vllm(), "m", 0, clock).await;
        let found: Vec<_> = probes.iter().map(|p| (p.what.as_str(), p.asked, p.ok)).collect();
        assert_eq!(found, [("request", 1, 1), ("burst", 8, 8), ("health", 1, 1)]);
        assert_eq!(generated.load(Ordering::SeqCst), 9);
    }

    #[tokio::test]
    async fn a_crash_on_the_first_batch_is_seen() {
        let paths = &[("/v1/completions", 200), ("/health", 200)];
        let (url, _) = server(paths, 5).await;
        let client = Client::new().unwrap();
        let probes = first_requests(&client, &url, vllm(), "m", 0, Clock::start()).await;
        let [one, burst, health] = probes.as_slice() else { panic!("{probes:?}") };
        assert_eq!(one.ok, 1);
        assert!(burst.ok < 8 && burst.error.is_some());
        assert_eq!(health.ok, 0);
    }

    #[tokio::test]
    async fn a_server_without_completions_is_asked_to_chat() {
        let (url, _) = server(&[("/v1/chat/completions", 200)], 100).await;
        let client = Client::new().unwrap();
        let probes = first_requests(&client, &url, vllm(), "m", 0, Clock::start()).await;
        assert_eq!(probes[0].path.as_deref(), Some("/v1/chat/completions"));
        assert_eq!((probes[0].ok, probes[1].ok, probes[2].ok), (1, 8, 0));
    }
}
