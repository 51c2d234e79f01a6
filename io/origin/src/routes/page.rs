//! The page for people, and the health check.

use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};

use super::{Answer, Refusal, is_read, ok, with_status};
use crate::body::OriginBody;
use crate::query::Query;
use crate::state::State;

const ROUTES: &[(&str, &str)] = &[
    ("/bytes/N", "N bytes; ?chunked"),
    ("/echo", "the request as received; ?json"),
    ("/delay/MS", "answers after that time"),
    ("/status/CODE", "200 to 599"),
    ("/headers", "?count=N&size=BYTES: that many response headers"),
    ("/stream", "?chunks=N&size=BYTES&interval=MS"),
    ("/sse", "?count=N&interval=MS: server-sent events"),
    ("/slow", "?bytes=N&rate=BYTES_PER_S"),
    ("/upload", "counts and hashes the body; ?rate=BYTES_PER_S reads slowly"),
    ("/ws", "WebSocket echo"),
    ("/early", "?status=CODE: answers without reading the body"),
    ("/health", "200 or 503; POST ?fail=1 or ?fail=0 switches"),
    ("/close, /reset, /hang, /garbage", "no answer, in four ways"),
    ("/close-mid-body, /reset-mid-body, /hang-mid-body", "?bytes=N&sent=M: M of N promised bytes"),
];

/// Serves `/`: shows name and colour, so that a reload in the browser shows the balancing.
pub(super) fn home(request: &Request<Incoming>, state: &State) -> Response<OriginBody> {
    let name = escape(&state.name);
    let hue = state.hue_degrees();
    let number = state.counters.requests.get();
    let target = escape(&request.uri().to_string());
    let rows: String = ROUTES
        .iter()
        .map(|(route, what)| {
            format!("<tr><td><code>{}</code></td><td>{}</td></tr>\n", escape(route), escape(what))
        })
        .collect();
    let page = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{name}</title>\n\
         <style>body{{font:16px/1.5 system-ui,sans-serif;margin:0}}h1{{margin:0;padding:1em;color:#fff;\
         background:hsl({hue} 60% 35%)}}main{{padding:1em}}td{{padding:0 1em 0 0}}</style>\n\
         <h1>{name}</h1>\n<main><p>Request {number}: <code>{target}</code></p>\n<table>\n{rows}</table></main>\n</html>\n"
    );
    ok("text/html; charset=utf-8", page)
}

/// Serves `/health`: responds to a health check. `POST /health?fail=1` or `fail=0` switches the result.
pub(super) fn health(request: &Request<Incoming>, state: &State) -> Answer {
    let query = Query::new(request.uri().query());
    if *request.method() == Method::POST {
        state.set_healthy(!query.flag("fail"));
    } else if !is_read(request.method()) {
        return Err(Refusal::Method);
    }
    let plain = "text/plain; charset=utf-8";
    Ok(match state.healthy() || *request.method() == Method::POST {
        true => ok(plain, if state.healthy() { "ok\n" } else { "failing from now on\n" }),
        false => with_status(StatusCode::SERVICE_UNAVAILABLE, plain, "failing\n"),
    })
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
