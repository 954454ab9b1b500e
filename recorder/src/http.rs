//! One bounded GET: the only place that opens a socket.
//!
//! No redirect is followed and no proxy is asked, so a reading goes to the address that was given
//! and nowhere else. A connection stays open between readings of one source.

use inferlint_schema::limits::EXPOSITION_BYTES;
use reqwest::{Url, header, redirect};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

/// Time to connect.
const CONNECT: Duration = Duration::from_secs(3);
/// Time to the first byte of the answer. A busy API server has been seen to answer its metrics
/// after some seconds; such readings are worth having.
const FIRST_BYTE: Duration = Duration::from_secs(10);
/// Time to the last byte.
const TOTAL: Duration = Duration::from_secs(20);
/// An idle connection is not used again after this: uvicorn closes its side after 5 s, and a
/// request that crosses the close would fail for no fault of the server.
const IDLE: Duration = Duration::from_secs(4);

/// How the standard library begins when a host has no address (`sys/net`, Rust 1.95).
pub(crate) const NO_SUCH_HOST: &str = "failed to lookup address information";

/// Connections kept open to one address: one for each source that is read there.
const CONNECTIONS: usize = 16;

/// What came back with a status below 300.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    /// HTTP status.
    pub(crate) status: u16,
    /// Address that answered.
    pub(crate) peer: Option<SocketAddr>,
    /// The `Date` header, Unix seconds.
    pub(crate) date_s: Option<u64>,
}

/// Why there is no answer to use. `why` is the same text for the same cause, so that a run of
/// failures is one gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What happened, in words.
    pub(crate) why: String,
    /// HTTP status, if there was an answer at all.
    pub(crate) status: Option<u16>,
    /// The body was over the limit.
    pub(crate) too_large: bool,
}

impl Failure {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), status: None, too_large: false }
    }

    fn answered(status: u16, why: impl Into<String>) -> Self {
        Self { status: Some(status), ..Self::new(why) }
    }
}

/// Asks for expositions.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    inner: reqwest::Client,
    total: Duration,
}

impl Client {
    /// A client without proxy, redirects and cookies.
    ///
    /// # Errors
    /// What reqwest says when it cannot be set up.
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        let mut headers = header::HeaderMap::new();
        let accept = "text/plain;version=0.0.4";
        headers.insert(header::ACCEPT, header::HeaderValue::from_static(accept));
        headers.insert(header::ACCEPT_ENCODING, header::HeaderValue::from_static("identity"));
        reqwest::Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .default_headers(headers)
            .user_agent(concat!("inferlint-record/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(CONNECTIONS)
            .pool_idle_timeout(IDLE)
            .http1_only()
            .build()
            .map(|inner| Self { inner, total: TOTAL })
    }

    /// The same client with less patience.
    pub(crate) fn within(&self, total: Duration) -> Self {
        Self { inner: self.inner.clone(), total }
    }

    /// GETs `url`; the body replaces what is in `body`.
    ///
    /// # Errors
    /// A [`Failure`] when there is no answer in time, its status is not below 300, its body is
    /// encoded, cut, or over [`EXPOSITION_BYTES`].
    pub(crate) async fn get(&self, url: &Url, body: &mut Vec<u8>) -> Result<Answer, Failure> {
        body.clear();
        let late = || Failure::new(format!("no answer within {} s", self.total.as_secs()));
        let exchange = self.exchange(self.inner.get(url.clone()), FIRST_BYTE, body);
        tokio::time::timeout(self.total, exchange).await.map_err(|_| late())?
    }

    /// POSTs a JSON text, as a client of the server would; the answer replaces what is in `body`.
    ///
    /// # Errors
    /// As [`Client::get`]; the first byte may take as long as the whole answer.
    pub(crate) async fn post(
        &self,
        url: &Url,
        json: String,
        body: &mut Vec<u8>,
    ) -> Result<Answer, Failure> {
        body.clear();
        let request = self.inner.post(url.clone()).body(json);
        let request = request.header(header::CONTENT_TYPE, "application/json");
        let request = request.header(header::ACCEPT, "application/json");
        let late = || Failure::new(format!("no answer within {} s", self.total.as_secs()));
        let exchange = self.exchange(request, self.total, body);
        tokio::time::timeout(self.total, exchange).await.map_err(|_| late())?
    }

    async fn exchange(
        &self,
        request: reqwest::RequestBuilder,
        first_byte: Duration,
        body: &mut Vec<u8>,
    ) -> Result<Answer, Failure> {
        let first = tokio::time::timeout(first_byte, request.send());
        let late = || Failure::new(format!("no answer within {} s", first_byte.as_secs()));
        let mut response = first.await.map_err(|_| late())?.map_err(|error| in_words(&error))?;
        let status = response.status().as_u16();
        refuse(&response)?;
        let too_large = || Failure {
            too_large: true,
            ..Failure::answered(status, format!("the answer is over {EXPOSITION_BYTES} bytes"))
        };
        if response.content_length().is_some_and(|length| length > EXPOSITION_BYTES as u64) {
            return Err(too_large());
        }
        while let Some(chunk) = response.chunk().await.map_err(|error| in_words(&error))? {
            if body.len() + chunk.len() > EXPOSITION_BYTES {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let date = response.headers().get(header::DATE).and_then(|date| date.to_str().ok());
        let date_s = date
            .and_then(|date| httpdate::parse_http_date(date).ok())
            .and_then(|date| date.duration_since(UNIX_EPOCH).ok())
            .map(|since| since.as_secs());
        Ok(Answer { status, peer: response.remote_addr(), date_s })
    }
}

/// Refuses answers whose body is no use, whatever it holds.
fn refuse(response: &reqwest::Response) -> Result<(), Failure> {
    let status = response.status().as_u16();
    let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let why = match status {
        300..=399 => {
            let target = text(header::LOCATION).unwrap_or("nowhere");
            format!("HTTP {status}: redirected to {target}, which is not followed")
        }
        401 | 403 => format!("HTTP {status}: the server asks for credentials"),
        200..=299 => match text(header::CONTENT_ENCODING) {
            None | Some("identity" | "") => return Ok(()),
            Some(coding) => format!("the answer is {coding}-encoded, though none was asked for"),
        },
        _ => format!("HTTP {status}"),
    };
    Err(Failure::answered(status, why))
}

/// The innermost cause in words that do not vary from one failure to the next.
fn in_words(error: &reqwest::Error) -> Failure {
    let mut innermost: &dyn std::error::Error = error;
    let mut system = None;
    while let Some(inner) = innermost.source() {
        innermost = inner;
        system = innermost.downcast_ref::<io::Error>().map(io::Error::kind).or(system);
    }
    let why = match system {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        Some(io::ErrorKind::UnexpectedEof) => "the answer was cut short".to_owned(),
        Some(io::ErrorKind::TimedOut) => format!("no connection within {} s", CONNECT.as_secs()),
        _ if error.is_timeout() && error.is_connect() => {
            format!("no connection within {} s", CONNECT.as_secs())
        }
        _ => innermost.to_string(),
    };
    Failure { status: error.status().map(|status| status.as_u16()), ..Failure::new(why) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers every connection with `reply` and closes it.
    async fn server(reply: Vec<u8>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(&reply).await;
            }
        });
        Url::parse(&url).unwrap()
    }

    async fn get(reply: &str) -> (Result<Answer, Failure>, Vec<u8>) {
        let url = server(reply.as_bytes().to_vec()).await;
        let mut body = b"left over".to_vec();
        (Client::new().unwrap().get(&url, &mut body).await, body)
    }

    #[tokio::test]
    async fn a_plain_answer_comes_with_peer_and_date() {
        let (answer, body) = get("HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 10:00:00 GMT\r\n\
             Content-Length: 4\r\n\r\na 1\n")
        .await;
        let answer = answer.unwrap();
        assert_eq!(body, b"a 1\n");
        assert_eq!(answer.status, 200);
        assert_eq!(answer.date_s, Some(1_796_032_800));
        assert!(answer.peer.unwrap().ip().is_loopback());
    }

    #[tokio::test]
    async fn useless_answers_are_refused_in_words() {
        let huge = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", EXPOSITION_BYTES + 1);
        let cases = [
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP 404", Some(404)),
            (
                "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n",
                "HTTP 307: redirected to http://127.0.0.1:1/x, which is not followed",
                Some(307),
            ),
            (
                "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
                "HTTP 401: the server asks for credentials",
                Some(401),
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
                "the answer is gzip-encoded, though none was asked for",
                Some(200),
            ),
            (&huge, "the answer is over 8388608 bytes", Some(200)),
        ];
        for (reply, why, status) in cases {
            let failure = get(reply).await.0.unwrap_err();
            assert_eq!((failure.why.as_str(), failure.status), (why, status));
        }
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_a_failure_not_a_short_body() {
        let reply = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\na 1\n";
        let failure = get(reply).await.0.unwrap_err();
        assert!(!failure.why.is_empty() && !failure.too_large, "{failure:?}");
    }

    #[tokio::test]
    async fn an_endless_body_stops_at_the_limit() {
        let mut reply = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for _ in 0..140 {
            reply.extend_from_slice(b"10000\r\n");
            reply.resize(reply.len() + 0x10000, b'x');
            reply.extend_from_slice(b"\r\n");
        }
        let url = server(reply).await;
        let mut body = Vec::new();
        let failure = Client::new().unwrap().get(&url, &mut body).await.unwrap_err();
        assert!(failure.too_large, "{failure:?}");
    }

    #[tokio::test]
    async fn a_host_without_an_address_is_said() {
        // A label of more than 63 bytes (RFC 1035) is refused without asking anybody.
        let url = Url::parse(&format!("http://{}/", "x".repeat(64))).unwrap();
        let failure = Client::new().unwrap().get(&url, &mut Vec::new()).await.unwrap_err();
        assert!(failure.why.starts_with(NO_SUCH_HOST), "{}", failure.why);
    }

    #[tokio::test]
    async fn nobody_listening_is_connection_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        drop(listener);
        let url = Url::parse(&url).unwrap();
        let failure = Client::new().unwrap().get(&url, &mut Vec::new()).await.unwrap_err();
        assert_eq!(failure.why, "connection refused");
    }
}
