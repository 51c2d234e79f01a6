//! Requests with a token, which is renewed before its expiry and after a service has refused it.

use std::rc::Rc;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Mutex;

use super::answer::{refusal, unanswered};
use super::cloud::Cloud;
use super::identity::{Access, authenticate};
use crate::http::{HttpClient, Method, Reply, StatusCode};
use crate::{Failure, FailureKind};

/// An authenticated session with a cloud.
pub(super) struct Session {
    cloud: Cloud,
    http: HttpClient,
    /// Present token. It is locked during a request for a token, so that concurrent callers share one
    /// request.
    access: Mutex<Option<Rc<Access>>>,
}

/// Nova API microversion 2.52 (Pike, 2017). It supports tags at creation, the networks "auto" and "none", and
/// the flavor in the server's details.
const MICROVERSION: &str = "2.52";

impl Session {
    pub(super) fn new(cloud: Cloud, timeout: Duration) -> Self {
        let http = HttpClient::new(cloud.tls.clone(), timeout);
        Self { cloud, http, access: Mutex::new(None) }
    }

    /// Sends a GET request, and parses the response as JSON.
    pub(super) async fn get<T: DeserializeOwned>(&self, service: &str, path: &str) -> Result<T, Failure> {
        let reply = self.request(service, &Method::GET, path, None).await?;
        serde_json::from_slice(&reply.body).map_err(|cause| {
            Failure::new(
                FailureKind::Transient,
                format!("{service}, GET {path}: not what was asked for: {cause}"),
            )
        })
    }

    /// Sends a request; responses other than 2xx are failures.
    pub(super) async fn request(
        &self,
        service: &str,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let changes = method != Method::GET;
        let named = |failure: Failure| failure.of(format_args!("{service}, {method} {path}"));
        let access = self.access(None).await?;
        let reply = self.send(&access, service, method, path, body).await?;
        let reply = if reply.status == StatusCode::UNAUTHORIZED {
            // The token was revoked or expired early. The request had no effect, so it is repeated.
            let access = self.access(Some(&access)).await?;
            self.send(&access, service, method, path, body).await?
        } else {
            reply
        };
        if reply.status.is_success() { Ok(reply) } else { Err(named(refusal(&reply, changes))) }
    }

    async fn send(
        &self,
        access: &Access,
        service: &str,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Reply, Failure> {
        let base = access.endpoint(&self.cloud, service)?;
        // Some catalogues include the version in the address. Here, it is part of the path.
        let versions: &[&str] = match service {
            "image" => &["/v2"],
            "network" => &["/v2.0"],
            _ => &[],
        };
        let base = versions.iter().find_map(|version| base.strip_suffix(version)).unwrap_or(&base);
        let url = format!("{base}{path}");
        let compute = format!("compute {MICROVERSION}");
        let headers = [("x-auth-token", access.token.as_str()), ("openstack-api-version", compute.as_str())];
        let headers = if service == "compute" { &headers[..] } else { &headers[..1] };
        let body = body.map(|body| body.to_string().into_bytes());
        let sent = self.http.send(method, &url, headers, body).await;
        sent.map_err(|fault| unanswered(fault, method != Method::GET))
    }

    /// Returns a valid token other than the `refused` one.
    async fn access(&self, refused: Option<&Rc<Access>>) -> Result<Rc<Access>, Failure> {
        let mut kept = self.access.lock().await;
        if let Some(access) = kept.as_ref() {
            let is_refused = refused.is_some_and(|refused| Rc::ptr_eq(refused, access));
            if !is_refused && SystemTime::now() < access.renew_at {
                return Ok(Rc::clone(access));
            }
        }
        let access = Rc::new(authenticate(&self.http, &self.cloud).await?);
        *kept = Some(Rc::clone(&access));
        Ok(access)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("cloud", &self.cloud).finish_non_exhaustive()
    }
}
