//! Requests to the API server, and what its refusals mean
//! (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>).

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cluster::{Cluster, Credentials};
use crate::http::{Fault, HttpClient, Method, Reply, StatusCode};
use crate::{Failure, FailureKind, storage};

/// We, at a cluster.
pub(super) struct Api {
    cluster: Cluster,
    http: HttpClient,
}

/// What a request carries.
pub(super) enum Body<'a> {
    Nothing,
    Json(&'a Value),
    /// Keys that are named are set, or taken away by null (RFC 7386).
    Merge(&'a Value),
}

/// As much of the server's message as is shown.
const MESSAGE_CHARS_MAX: usize = 400;
const TOKEN_BYTES_MAX: u64 = 1 << 20;

impl Api {
    pub(super) fn new(cluster: Cluster, timeout: Duration) -> Self {
        let http = HttpClient::new(cluster.tls.clone(), timeout);
        Self { cluster, http }
    }

    /// Asks; the answer is JSON of the form of `T`.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send(&Method::GET, path, Body::Nothing).await
    }

    /// Sends a request; answers other than 2xx are failures.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: Body<'_>,
    ) -> Result<T, Failure> {
        // What is asked by POST here is a question, too.
        let changes = !matches!(*method, Method::GET | Method::POST);
        let plain = path.split('?').next().unwrap_or(path);
        let named = |failure: Failure| failure.of(format_args!("{}: {method} {plain}", self.cluster.name));
        let authorization = self.authorization().map_err(named)?;
        let mut headers = Vec::new();
        if let Some(authorization) = &authorization {
            headers.push(("authorization", authorization.as_str()));
        }
        let body = match body {
            Body::Nothing => None,
            Body::Json(value) => Some(value),
            Body::Merge(value) => {
                headers.push(("content-type", "application/merge-patch+json"));
                Some(value)
            }
        };
        let body = body.map(|value| value.to_string().into_bytes());
        let url = format!("{}{path}", self.cluster.url);
        let reply = self.http.send(method, &url, &headers, body).await;
        let reply = reply.map_err(|fault| unanswered(fault, changes))?;
        if !reply.status.is_success() {
            return Err(named(refusal(&reply, changes)));
        }
        serde_json::from_slice(&reply.body).map_err(|cause| {
            let kind = if changes { FailureKind::Uncertain } else { FailureKind::Transient };
            named(Failure::new(kind, format!("not what was asked for: {cause}")))
        })
    }

    /// Files are read each time: the kubelet renews the token of a pod long before it ends.
    fn authorization(&self) -> Result<Option<String>, Failure> {
        let token = match &self.cluster.credentials {
            Credentials::None => return Ok(None),
            Credentials::Token(token) => token.trim().to_owned(),
            Credentials::TokenFile(path) => {
                let wrong = |why: String| Failure::new(FailureKind::Auth, why);
                let read = storage::read(path, TOKEN_BYTES_MAX).map_err(|cause| wrong(cause.to_string()))?;
                let read = read.ok_or_else(|| wrong(format!("{}: there is no token", path.display())))?;
                String::from_utf8_lossy(&read).trim().to_owned()
            }
        };
        Ok(Some(format!("Bearer {token}")))
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

fn unanswered(fault: Fault, changes: bool) -> Failure {
    let kind = match fault {
        Fault { lasting: true, .. } => FailureKind::Permanent,
        Fault { sent: true, .. } if changes => FailureKind::Uncertain,
        Fault { .. } => FailureKind::Transient,
    };
    Failure::new(kind, fault.message)
}

fn refusal(reply: &Reply, changes: bool) -> Failure {
    let kind = match reply.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => FailureKind::Auth,
        StatusCode::NOT_FOUND => FailureKind::NotFound,
        StatusCode::CONFLICT => FailureKind::Conflict,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => FailureKind::Transient,
        status if status.is_server_error() && changes => FailureKind::Uncertain,
        status if status.is_server_error() => FailureKind::Transient,
        _ => FailureKind::Permanent,
    };
    let retry_after =
        reply.headers.get("retry-after").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    // "deployments.apps "web" is forbidden: User "x" cannot update ...": that says it all.
    let said = match serde_json::from_slice::<Value>(&reply.body) {
        Ok(status) => status["message"].as_str().unwrap_or_default().to_owned(),
        Err(_) => String::from_utf8_lossy(&reply.body).into_owned(),
    };
    let said: Vec<_> = said.split_whitespace().collect();
    let said: String = said.join(" ").chars().take(MESSAGE_CHARS_MAX).collect();
    let message =
        if said.is_empty() { reply.status.to_string() } else { format!("{}: {said}", reply.status) };
    Failure { retry_after: retry_after.map(Duration::from_secs), ..Failure::new(kind, message) }
}
