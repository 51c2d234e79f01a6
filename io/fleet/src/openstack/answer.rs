//! Meaning of the services' error responses.

use std::time::Duration;

use serde_json::Value;

use crate::http::{Fault, Reply, StatusCode};
use crate::{Failure, FailureKind};

/// Maximum length of a service's message that is shown.
const MESSAGE_CHARS_MAX: usize = 300;

/// Converts the error of a request without a response.
pub(super) fn unanswered(fault: Fault, changes: bool) -> Failure {
    let kind = match fault {
        Fault { lasting: true, .. } => FailureKind::Permanent,
        Fault { sent: true, .. } if changes => FailureKind::Uncertain,
        Fault { .. } => FailureKind::Transient,
    };
    Failure::new(kind, fault.message)
}

/// Converts a response with a status other than 2xx.
pub(super) fn refusal(reply: &Reply, changes: bool) -> Failure {
    let said = message(&reply.body);
    let kind = match reply.status {
        StatusCode::UNAUTHORIZED => FailureKind::Auth,
        StatusCode::NOT_FOUND => FailureKind::NotFound,
        // Nova sends 403 for its own quotas and for forbidden requests, and passes the network's quota errors
        // on as 403 or 409.
        StatusCode::FORBIDDEN if is_quota(&said) => FailureKind::Quota,
        StatusCode::FORBIDDEN => FailureKind::Auth,
        StatusCode::CONFLICT | StatusCode::PAYLOAD_TOO_LARGE if is_quota(&said) => FailureKind::Quota,
        StatusCode::CONFLICT => FailureKind::Conflict,
        StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::REQUEST_TIMEOUT => FailureKind::Transient,
        status if status.is_server_error() && changes => FailureKind::Uncertain,
        status if status.is_server_error() => FailureKind::Transient,
        _ => FailureKind::Permanent,
    };
    let retry_after =
        reply.headers.get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let message =
        if said.is_empty() { reply.status.to_string() } else { format!("{}: {said}", reply.status) };
    Failure { retry_after: retry_after.map(Duration::from_secs), ..Failure::new(kind, message) }
}

/// Returns true if a message concerns a quota. The texts differ by service and release, but all contain one
/// of these words.
pub(super) fn is_quota(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["quota", "maximum number", "limit exceeded", "exceeded maximum"]
        .iter()
        .any(|word| message.contains(word))
}

/// Returns the message of an error response. Each service wraps it in objects with other names, so the first
/// "message" is used.
fn message(body: &[u8]) -> String {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => find(&value, 3).unwrap_or_default(),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let line: Vec<_> = said.split_whitespace().collect();
    line.join(" ").chars().take(MESSAGE_CHARS_MAX).collect()
}

fn find(value: &Value, depth: usize) -> Option<String> {
    let map = value.as_object()?;
    if let Some(Value::String(message)) = map.get("message") {
        return Some(message.clone());
    }
    if depth == 0 { None } else { map.values().find_map(|value| find(value, depth - 1)) }
}
