//! Responses of the admin HTTP interface.

use std::net::IpAddr;
use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use weir_control::Snapshot;

use super::door::LoginOutcome;
use super::pictures;
use super::places::Place;
use super::server::Face;
use crate::metrics::{Exposition, Scope};
use crate::{Handler, Selection, metrics, stat_csv, status_page};

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const CSV: &str = "text/csv; charset=utf-8";

/// The page has no script and loads nothing, and its form leads to itself only. If a name ever appears
/// unescaped, the browser still runs nothing.
const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Number of characters of a foreign host name that the response repeats.
const HOST_SHOWN_MAX: usize = 80;

const RETRY_SECS: u64 = 10;

/// Answers a request. `client`: `None` = through a Unix socket.
pub(super) async fn respond(
    request: Request<Incoming>,
    client: Option<IpAddr>,
    face: &Face,
    place: &Arc<Place>,
) -> Response<Full<Bytes>> {
    if let Some(host) = face.door.strange_host(client, &request) {
        let host: String = host.chars().take(HOST_SHOWN_MAX).collect();
        let text =
            format!("{host:?} is no name of this face; the config can add it: [admin] hosts = {host:?}\n");
        return page(StatusCode::MISDIRECTED_REQUEST, TEXT, text);
    }
    let path = request.uri().path();
    if !matches!(path, "/" | "/metrics" | "/status.json" | "/status.csv" | "/healthz") {
        return page(StatusCode::NOT_FOUND, TEXT, "not found\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, "this face only shows: GET and HEAD\n");
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    if path == "/healthz" {
        return health_page(&*face.handler);
    }
    if let Some(login) = &face.door.login {
        let authorization = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        match login.check(client, authorization).await {
            LoginOutcome::Welcome => {}
            LoginOutcome::Wrong => return login_page(),
            LoginOutcome::Later(seconds) => {
                return later(
                    StatusCode::TOO_MANY_REQUESTS,
                    seconds,
                    "too many wrong passwords: try again later\n",
                );
            }
        }
    }
    let answering = place.answer().await;
    let Some(writer) = face.memory.writer().await else { return no_memory() };
    let snapshot = face.handler.snapshot();
    let selection = Selection::parse(request.uri().query().unwrap_or_default());
    let histories = match path {
        "/" => pictures::histories(&snapshot, selection.names(), &*face.handler).await,
        _ => Vec::new(),
    };
    // With thousands of servers, writing a page takes longer than checks and commands may wait.
    let written = tokio::task::spawn_blocking(move || match request.uri().path() {
        "/metrics" => metrics_page(request.headers(), request.uri().query(), &snapshot),
        "/status.json" => Ok((JSON, serde_json::to_vec(&snapshot).map_err(|cause| failed(&cause))?)),
        "/status.csv" => Ok((CSV, stat_csv(&snapshot).into_bytes())),
        _ => Ok((HTML, status_page(&snapshot, &pictures::draw(&histories), &selection).into_bytes())),
    });
    let (content_type, text) = match written.await {
        Ok(Ok(written)) => written,
        Ok(Err(response)) => return *response,
        Err(cause) => return *failed(&cause),
    };
    match face.memory.hold(text, answering, writer).await {
        Some(body) => page(StatusCode::OK, content_type, body),
        None => no_memory(),
    }
}

/// A text with its type, or the error response.
type Written = Result<(&'static str, Vec<u8>), Box<Response<Full<Bytes>>>>;

fn metrics_page(headers: &HeaderMap, query: Option<&str>, snapshot: &Snapshot) -> Written {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let exposition = Exposition::asked_for(accept.unwrap_or_default());
    match Scope::parse(query.unwrap_or_default()) {
        Ok(scope) => Ok((exposition.content_type(), metrics(snapshot, exposition, scope).into_bytes())),
        Err(why) => Err(Box::new(page(StatusCode::BAD_REQUEST, TEXT, format!("{why}\n")))),
    }
}

fn failed(cause: &dyn std::fmt::Display) -> Box<Response<Full<Bytes>>> {
    Box::new(page(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{cause}\n")))
}

fn login_page() -> Response<Full<Bytes>> {
    let mut response = page(StatusCode::UNAUTHORIZED, TEXT, "a user and a password are needed\n");
    let scheme = HeaderValue::from_static("Basic realm=\"weir\", charset=\"UTF-8\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    response
}

/// Creates the response for the case that other clients have not read their responses yet.
fn no_memory() -> Response<Full<Bytes>> {
    later(StatusCode::SERVICE_UNAVAILABLE, RETRY_SECS, "too many answers are under way: try again\n")
}

fn later(status: StatusCode, seconds: u64, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = page(status, TEXT, text);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Answers load balancers in front of Weir: a stopping process must get no new requests.
fn health_page(handler: &dyn Handler) -> Response<Full<Bytes>> {
    match handler.stopping() {
        false => page(StatusCode::OK, TEXT, "ok\n"),
        true => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "stopping\n"),
    }
}

fn page(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
