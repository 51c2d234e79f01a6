//! Routes that fail as broken servers do.

use std::sync::Arc;

use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

use super::{Answer, Refusal, with_status};
use crate::body::{OriginBody, pattern};
use crate::connection::{Control, End};
use crate::query::Query;

/// Serves `/early?status=CODE`: responds at once, without reading the body; the connection then closes.
pub(super) fn early(query: Query<'_>) -> Answer {
    let code: u16 = query.get("status", 413)?;
    let status = StatusCode::from_u16(code).ok().filter(|_| (200..600).contains(&code));
    let status = status.ok_or_else(|| Refusal::Bad(format!("{code} is not a final status (200 to 599)")))?;
    Ok(with_status(status, "text/plain; charset=utf-8", "answered before your body was read\n"))
}

/// Serves `/hang`: never responds.
pub(super) async fn hang() -> Answer {
    std::future::pending().await
}

/// Serves `/close`: sends a FIN instead of a response.
pub(super) fn close() -> Answer {
    Err(Refusal::Fault)
}

/// Serves `/reset`: sends a reset instead of a response.
pub(super) fn reset(control: &Control) -> Answer {
    control.end_with(End::Reset);
    Err(Refusal::Fault)
}

/// Serves `/garbage`: sends bytes that are not HTTP instead of a response.
pub(super) fn garbage(control: &Control) -> Answer {
    control.end_with(End::Garbage);
    Err(Refusal::Fault)
}

/// Serves `/close-mid-body?bytes=N&sent=M`: sends a FIN after M of N declared bytes.
pub(super) fn close_mid_body(query: Query<'_>, control: Arc<Control>) -> Answer {
    broken(query, control)
}

/// Serves `/reset-mid-body?bytes=N&sent=M`: sends a reset after M of N declared bytes.
pub(super) fn reset_mid_body(query: Query<'_>, control: Arc<Control>) -> Answer {
    control.end_with(End::Reset);
    broken(query, control)
}

/// Serves `/hang-mid-body?bytes=N&sent=M`: sends nothing more after M of N declared bytes.
pub(super) fn hang_mid_body(query: Query<'_>) -> Answer {
    let (bytes, sent) = sizes(query)?;
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        if sender.send(pattern(sent)).await.is_ok() {
            sender.closed().await;
        }
    });
    Ok(octets(OriginBody::Fed { pieces, length: Some(bytes) }))
}

fn broken(query: Query<'_>, control: Arc<Control>) -> Answer {
    let (length, sent) = sizes(query)?;
    let piece = (sent > 0).then(|| pattern(sent));
    Ok(octets(OriginBody::Broken { piece, length, control, flushes: None }))
}

/// Returns the number of declared bytes and of those that are sent (at most one piece).
fn sizes(query: Query<'_>) -> Result<(u64, usize), Refusal> {
    let bytes: u64 = query.get("bytes", 1000)?;
    let sent: usize = query.get("sent", usize::try_from(bytes / 2).unwrap_or(usize::MAX))?;
    let sent = sent.min(crate::body::PIECE_BYTES);
    if sent as u64 >= bytes {
        return Err(Refusal::Bad("parameter sent: must be less than bytes".to_owned()));
    }
    Ok((bytes, sent))
}

fn octets(body: OriginBody) -> Response<OriginBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    response
}
