//! The route that receives a body and describes it.

use std::time::Duration;

use aws_lc_rs::digest;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::Incoming;
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{Answer, Refusal, ok};
use crate::digest::{Crc32, hex};
use crate::query::Query;

/// Serves `/upload`: returns size, CRC-32 and SHA-256 of the body as JSON. With `?rate=BYTES_PER_S`, reads no
/// faster than that.
pub(super) async fn upload(request: Request<Incoming>, query: Query<'_>) -> Answer {
    let rate: Option<u64> = match query.get("rate", 0)? {
        0 => None,
        rate => Some(rate),
    };
    let mut body = request.into_body();
    let (mut bytes, mut crc, mut sha) = (0u64, Crc32::new(), digest::Context::new(&digest::SHA256));
    let start = Instant::now();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|cause| Refusal::Bad(format!("body: {cause}")))?;
        let Some(piece) = frame.data_ref() else { continue };
        bytes += piece.len() as u64;
        crc.update(piece);
        sha.update(piece);
        if let Some(rate) = rate {
            sleep_until(start + Duration::from_secs_f64(bytes as f64 / rate as f64)).await;
        }
    }
    let result = json!({
        "bytes": bytes,
        "crc32": format!("{:08x}", crc.value()),
        "sha256": hex(sha.finish().as_ref()),
    });
    Ok(ok("application/json", format!("{result}\n")))
}
