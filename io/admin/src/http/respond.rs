use std::sync::Arc;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use weir_control::Snapshot;

use super::pictures;
use crate::metrics::{Exposition, Scope};
use crate::{Handler, metrics, stat_csv, status_page};

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const CSV: &str = "text/csv; charset=utf-8";

/// The page has no script and loads nothing; should a name ever slip through unescaped, it still runs nothing.
const CONTENT_SECURITY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers a request.
pub(super) async fn respond(request: Request<Incoming>, handler: Arc<dyn Handler>) -> Response<Full<Bytes>> {
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
        return health_page(&*handler);
    }
    let snapshot = handler.snapshot();
    let histories = if path == "/" { pictures::histories(&snapshot, &*handler).await } else { Vec::new() };
    // With thousands of servers a page takes longer to write than checks and commands should wait.
    let written = tokio::task::spawn_blocking(move || match request.uri().path() {
        "/metrics" => metrics_page(request.headers(), request.uri().query(), &snapshot),
        "/status.json" => json_page(&snapshot),
        "/status.csv" => page(StatusCode::OK, CSV, stat_csv(&snapshot)),
        _ => page(StatusCode::OK, HTML, status_page(&snapshot, &pictures::draw(&histories))),
    });
    written.await.unwrap_or_else(|cause| page(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{cause}\n")))
}

fn metrics_page(headers: &HeaderMap, query: Option<&str>, snapshot: &Snapshot) -> Response<Full<Bytes>> {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let exposition = Exposition::asked_for(accept.unwrap_or_default());
    match Scope::parse(query.unwrap_or_default()) {
        Ok(scope) => page(StatusCode::OK, exposition.content_type(), metrics(snapshot, exposition, scope)),
        Err(why) => page(StatusCode::BAD_REQUEST, TEXT, format!("{why}\n")),
    }
}

fn json_page(snapshot: &Snapshot) -> Response<Full<Bytes>> {
    match serde_json::to_vec(snapshot) {
        Ok(json) => page(StatusCode::OK, JSON, json),
        Err(cause) => page(StatusCode::INTERNAL_SERVER_ERROR, TEXT, format!("{cause}\n")),
    }
}

/// For what stands in front of Weir: a process that is stopping gets nothing new.
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
