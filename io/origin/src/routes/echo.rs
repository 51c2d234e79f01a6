//! The route that sends the request back.

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response, Version};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Answer, Refusal, ok};
use crate::body::OriginBody;

/// Largest body that is shown as JSON, because it is kept in memory.
const JSON_BODY_BYTES_MAX: usize = 1 << 20;

/// Serves `/echo`: sends the request line, the header lines (names in lower case, lines of the same name
/// together), an empty line and the body, which is streamed. With `?json`, sends the same as one JSON object,
/// with trailers.
pub(super) async fn echo(request: Request<Incoming>, json: bool) -> Answer {
    if json { as_json(request).await } else { Ok(as_text(request)) }
}

fn as_text(request: Request<Incoming>) -> Response<OriginBody> {
    let (parts, mut body) = request.into_parts();
    let mut head = format!("{} {} {}\r\n", parts.method, parts.uri, version(parts.version)).into_bytes();
    for (name, value) in &parts.headers {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    let length = body.size_hint().exact().map(|body_bytes| body_bytes + head.len() as u64);
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        if sender.send(Bytes::from(head)).await.is_err() {
            return;
        }
        // An error means that the client left during its body; hyper then ends the connection.
        while let Some(Ok(frame)) = body.frame().await {
            if let Ok(piece) = frame.into_data()
                && sender.send(piece).await.is_err()
            {
                return;
            }
        }
    });
    let mut response = Response::new(OriginBody::Fed { pieces, length });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

async fn as_json(request: Request<Incoming>) -> Answer {
    let (parts, body) = request.into_parts();
    let collected = Limited::new(body, JSON_BODY_BYTES_MAX).collect().await.map_err(|_| Refusal::TooLarge)?;
    let trailers = collected.trailers().map(lines);
    let body = collected.to_bytes();
    let shown = json!({
        "method": parts.method.as_str(),
        "target": parts.uri.to_string(),
        "version": version(parts.version),
        "headers": lines(&parts.headers),
        "body": String::from_utf8_lossy(&body),
        "body_bytes": body.len(),
        "trailers": trailers,
    });
    Ok(ok("application/json", format!("{shown:#}\n")))
}

fn lines(headers: &HeaderMap) -> Vec<Value> {
    let line = |(name, value): (&hyper::header::HeaderName, &HeaderValue)| {
        json!([name.as_str(), String::from_utf8_lossy(value.as_bytes())])
    };
    headers.iter().map(line).collect()
}

fn version(version: Version) -> &'static str {
    if version == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" }
}
