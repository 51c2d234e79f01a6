//! HTTP/1.1 client for the services of a cloud: hyper over the sockets and the TLS of `io/net`. Each request
//! has its own connection; TLS sessions are resumed. There is no support for proxies and redirects.

mod stream;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
pub(crate) use hyper::{Method, StatusCode};
use hyper::{Request, Uri};
use tokio::time::timeout;
use weir_config::plan::TlsOut;
use weir_net::Stream;
use weir_net::tls::{ClientTls, TlsConnector};

use self::stream::HyperStream;

/// Sends requests. Loads the certificates before the first request to an https address.
pub(crate) struct HttpClient {
    tls: TlsOut,
    loaded: RefCell<Option<ClientTls>>,
    /// TLS connectors by host, which resume sessions.
    connectors: RefCell<HashMap<String, TlsConnector>>,
    timeout: Duration,
}

/// Response to a request.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Reason for a missing response.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) message: String,
    /// True if the server may have received the request.
    pub(crate) sent: bool,
    /// True if the configuration is the cause, so that a retry is useless.
    pub(crate) lasting: bool,
}

/// Maximum time for name resolution, connection and TLS handshake together.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Maximum size of a response body. Lists of thousands of servers arrive in much smaller pages.
const BODY_BYTES_MAX: usize = 32 << 20;

impl HttpClient {
    /// Creates a client; `timeout` limits a whole exchange.
    pub(crate) fn new(tls: TlsOut, timeout: Duration) -> Self {
        Self { tls, loaded: RefCell::default(), connectors: RefCell::default(), timeout }
    }

    /// Sends a request and reads the whole response. Header values are not logged, because they may be
    /// secret.
    pub(crate) async fn send(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Option<Vec<u8>>,
    ) -> Result<Reply, Fault> {
        let sent = Cell::new(false);
        let exchanged = timeout(self.timeout, self.exchange(method, url, headers, body, &sent)).await;
        let late = || Fault {
            message: format!("no answer within {} ms", self.timeout.as_millis()),
            sent: sent.get(),
            lasting: false,
        };
        let exchanged = exchanged.unwrap_or_else(|_| Err(late()));
        exchanged.map_err(|fault| Fault { message: format!("{method} {url}: {}", fault.message), ..fault })
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &str,
        headers: &[(&'static str, &str)],
        body: Option<Vec<u8>>,
        sent: &Cell<bool>,
    ) -> Result<Reply, Fault> {
        let uri: Uri = url.parse().map_err(|cause| lasting(format_args!("no URL: {cause}")))?;
        let authority = uri.authority().ok_or_else(|| lasting("no absolute URL"))?;
        let target = uri.path_and_query().map_or("/", |target| target.as_str());
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header("host", authority.as_str())
            .header("user-agent", "weir")
            .header("accept", "application/json")
            .header("connection", "close");
        for (name, value) in headers {
            let value =
                HeaderValue::from_str(value).map_err(|_| lasting(format_args!("{name}: no header value")))?;
            request = request.header(HeaderName::from_static(name), value);
        }
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(Full::new(Bytes::from(body.unwrap_or_default()))).map_err(lasting)?;

        let connected = timeout(CONNECT_MAX, self.connect(&uri)).await;
        let stream = connected.map_err(|_| passing("no connection within 10 s"))??;
        let (mut sender, connection) = http1::handshake(HyperStream::new(stream)).await.map_err(passing)?;
        sent.set(true);
        let exchange = async {
            let (parts, body) =
                sender.send_request(request).await.map_err(|cause| cause.to_string())?.into_parts();
            let body =
                Limited::new(body, BODY_BYTES_MAX).collect().await.map_err(|cause| cause.to_string())?;
            Ok::<_, String>(Reply { status: parts.status, headers: parts.headers, body: body.to_bytes() })
        };
        // The connection drives the exchange; this task polls both.
        let (mut exchange, mut connection, mut over) = (pin!(exchange), pin!(connection), false);
        let exchanged: Result<Reply, String> = poll_fn(|cx| {
            over = over || matches!(connection.as_mut().poll(cx), Poll::Ready(_));
            exchange.as_mut().poll(cx)
        })
        .await;
        exchanged.map_err(|message| Fault { message, sent: true, lasting: false })
    }

    async fn connect(&self, uri: &Uri) -> Result<Stream, Fault> {
        let host = uri.host().ok_or_else(|| lasting("no host in the URL"))?;
        let tls = match uri.scheme_str() {
            Some("http") => None,
            Some("https") => Some(self.connector(host)?),
            _ => return Err(lasting("neither http nor https")),
        };
        let port = uri.port_u16().unwrap_or(if tls.is_some() { 443 } else { 80 });
        crate::dial::connect(host, port, tls.as_ref()).await.map_err(passing)
    }

    fn connector(&self, host: &str) -> Result<TlsConnector, Fault> {
        if let Some(connector) = self.connectors.borrow().get(host) {
            return Ok(connector.clone());
        }
        let mut loaded = self.loaded.borrow_mut();
        let tls = match loaded.take() {
            Some(tls) => tls,
            None => ClientTls::load(&self.tls).map_err(lasting)?,
        };
        let connector = tls.connector(host).map_err(lasting);
        *loaded = Some(tls);
        let connector = connector?;
        self.connectors.borrow_mut().insert(host.to_owned(), connector.clone());
        Ok(connector)
    }
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient").field("tls", &self.tls).finish_non_exhaustive()
    }
}

/// Percent-encodes a text for a path or a query (RFC 3986 section 2.3).
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte))
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn passing(cause: impl std::fmt::Display) -> Fault {
    Fault { message: cause.to_string(), sent: false, lasting: false }
}

fn lasting(cause: impl std::fmt::Display) -> Fault {
    Fault { message: cause.to_string(), sent: false, lasting: true }
}
