//! `/ws`: the WebSocket opening handshake (RFC 6455 section 4.2).

use aws_lc_rs::digest;
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

use super::{Answer, Refusal, Visit};
use crate::body::OriginBody;
use crate::digest::base64;
use crate::websocket;

/// Responds with 101 and then echoes messages.
pub(super) fn websocket(mut request: Request<Incoming>, visit: Visit) -> Answer {
    let headers = request.headers();
    if !has_token(headers, UPGRADE, "websocket") || !has_token(headers, CONNECTION, "upgrade") {
        let mut response = super::with_status(StatusCode::UPGRADE_REQUIRED, "text/plain", "WebSocket only\n");
        response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
        return Ok(response);
    }
    let key =
        headers.get(SEC_WEBSOCKET_KEY).ok_or_else(|| Refusal::Bad("no Sec-WebSocket-Key".to_owned()))?;
    let accept = HeaderValue::from_str(&accept_key(key.as_bytes()))
        .map_err(|_| Refusal::Bad("Sec-WebSocket-Key cannot be answered".to_owned()))?;
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            websocket::echo(TokioIo::new(upgraded), visit.phase.clone()).await;
        }
        drop(visit.alive);
    });
    let mut response = Response::new(OriginBody::Whole(None));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    response.headers_mut().insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}

/// Computes Sec-WebSocket-Accept (RFC 6455 section 4.2.2, item 5.4).
fn accept_key(key: &[u8]) -> String {
    let mut sha1 = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    sha1.update(key);
    sha1.update(b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    base64(sha1.finish().as_ref())
}

fn has_token(headers: &HeaderMap, name: HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accept_key_is_that_of_the_example_in_rfc_6455() {
        assert_eq!(accept_key(b"dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }
}
