//! Routes that delay or stream their responses.

use std::time::Duration;

use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Answer, Refusal, number_in_path, ok, wait};
use crate::body::{OriginBody, PIECE_BYTES, pattern, pattern_from};
use crate::query::Query;

/// Serves `/delay/MS`: responds after that time.
pub(super) async fn delay(path: &str) -> Answer {
    let milliseconds = number_in_path(path)?;
    sleep(wait(milliseconds)).await;
    Ok(ok("text/plain; charset=utf-8", format!("after {milliseconds} ms\n")))
}

/// Serves `/stream?chunks=N&size=BYTES&interval=MS`: sends a chunked body, one chunk after each interval.
pub(super) fn chunks(query: Query<'_>) -> Answer {
    let chunks: u64 = query.get("chunks", 10)?;
    let size: usize = query.get("size", 64)?;
    let interval = wait(query.get("interval", 100)?);
    if size > PIECE_BYTES {
        return Err(Refusal::TooLarge);
    }
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        for number in 0..chunks {
            if number > 0 && !interval.is_zero() {
                sleep(interval).await;
            }
            if sender.send(pattern(size)).await.is_err() {
                return;
            }
        }
    });
    Ok(fed("application/octet-stream", pieces, None))
}

/// Serves `/slow?bytes=N&rate=BYTES_PER_S`: sends the body of `/bytes/N` with a Content-Length at that rate.
pub(super) fn slow(query: Query<'_>) -> Answer {
    /// Frequent enough for a steady rate, and rare enough to cost little.
    const PIECES_PER_SECOND: u64 = 20;
    let bytes: u64 = query.get("bytes", 1000)?;
    let rate: u64 = query.get("rate", 100)?;
    if rate == 0 {
        return Err(Refusal::Bad("parameter rate: at least 1 byte per second".to_owned()));
    }
    let piece_bytes = (rate / PIECES_PER_SECOND).clamp(1, PIECE_BYTES as u64);
    let interval = Duration::from_secs_f64(piece_bytes as f64 / rate as f64);
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        let (mut left, mut due) = (bytes, Instant::now());
        while left > 0 {
            let piece = pattern_from(bytes - left, left.min(piece_bytes) as usize);
            left -= piece.len() as u64;
            if sender.send(piece).await.is_err() {
                return;
            }
            due += interval;
            sleep_until(due).await;
        }
    });
    Ok(fed("application/octet-stream", pieces, Some(bytes)))
}

/// Serves `/sse?count=N&interval=MS`: sends server-sent events; without `count`, until the client leaves.
pub(super) fn events(query: Query<'_>) -> Answer {
    let count: u64 = query.get("count", u64::MAX)?;
    let interval = wait(query.get("interval", 1000)?);
    let (sender, pieces) = mpsc::channel(1);
    tokio::spawn(async move {
        for number in 0..count {
            if number > 0 {
                // Waits at least 1 ms, so that a client that never reads causes no busy loop.
                sleep(interval.max(Duration::from_millis(1))).await;
            }
            let event = format!("id: {number}\nevent: tick\ndata: {number}\n\n");
            if sender.send(Bytes::from(event)).await.is_err() {
                return;
            }
        }
    });
    let mut response = fed("text/event-stream", pieces, None);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

fn fed(
    content_type: &'static str,
    pieces: mpsc::Receiver<Bytes>,
    length: Option<u64>,
) -> Response<OriginBody> {
    let mut response = Response::new(OriginBody::Fed { pieces, length });
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
