//! Requests to the API server, and the meaning of its errors
//! (<https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>).

use std::cell::RefCell;
use std::error::Error as StdError;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderValue, USER_AGENT};
use hyper_util::client::legacy;
use kube::core::Status;
use kube::{Client, Error};
use secrecy::ExposeSecret;
use tokio::runtime;
use tokio::time::timeout;

use super::cluster::Cluster;
use crate::http::StatusCode;
use crate::{Failure, FailureKind, storage};

/// Connection to the API server of a cluster.
pub(super) struct ApiServer {
    cluster: Cluster,
    timeout: Duration,
    session: RefCell<Option<Session>>,
}

/// A client, with the data that it was created for.
struct Session {
    client: Client,
    /// Runtime of the client; its connections are tasks of this runtime and end with it.
    runtime: runtime::Id,
    token: Option<String>,
}

/// Maximum time for name resolution, connection and TLS handshake together. At most half of the request
/// timeout applies, so that a failed connection is recognised as such, with nothing sent.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Maximum length of the server's message that is shown.
const MESSAGE_CHARS_MAX: usize = 400;
const TOKEN_BYTES_MAX: u64 = 1 << 20;

impl ApiServer {
    /// Creates a connection; `timeout` limits a whole request.
    pub(super) fn new(cluster: Cluster, timeout: Duration) -> Self {
        Self { cluster, timeout, session: RefCell::default() }
    }

    /// Sends a request that only reads. `what` prefixes the error message.
    pub(super) async fn ask<T>(
        &self,
        what: impl fmt::Display,
        request: impl AsyncFnOnce(Client) -> kube::Result<T>,
    ) -> Result<T, Failure> {
        self.send(&what, false, request).await
    }

    /// Sends a request that changes something. `what` prefixes the error message.
    pub(super) async fn change<T>(
        &self,
        what: impl fmt::Display,
        request: impl AsyncFnOnce(Client) -> kube::Result<T>,
    ) -> Result<T, Failure> {
        self.send(&what, true, request).await
    }

    async fn send<T>(
        &self,
        what: &impl fmt::Display,
        changes: bool,
        request: impl AsyncFnOnce(Client) -> kube::Result<T>,
    ) -> Result<T, Failure> {
        let named = |failure: Failure| failure.of(format_args!("{}: {what}", self.cluster.name));
        let client = self.client().map_err(named)?;
        let answered = match timeout(self.timeout, request(client)).await {
            Ok(answered) => answered.map_err(|error| meaning(&error, changes)),
            Err(_) => {
                let kind = if changes { FailureKind::Uncertain } else { FailureKind::Transient };
                Err(Failure::new(kind, format!("no answer within {} ms", self.timeout.as_millis())))
            }
        };
        answered.map_err(named)
    }

    /// Returns the client of this runtime with the present token.
    fn client(&self) -> Result<Client, Failure> {
        let token = self.token()?;
        let runtime = runtime::Handle::current().id();
        let mut session = self.session.borrow_mut();
        if let Some(session) = session.as_ref().filter(|of| of.runtime == runtime && of.token == token) {
            return Ok(session.client.clone());
        }
        let mut config = self.cluster.config.clone();
        // The library's handling of token files is unsuitable: it caches a token for a minute even after a
        // refusal, includes the line end, and panics if the token is invalid.
        (config.auth_info.token, config.auth_info.token_file) = (None, None);
        if let Some(token) = &token {
            config.headers.push((AUTHORIZATION, bearer(token)?));
        }
        config.connect_timeout = Some((self.timeout / 2).min(CONNECT_MAX));
        // The fleet decides about retries: it knows the other pending work and reports the pause.
        config.default_retry = false;
        // The server also records this name as the manager of a changed field.
        config.headers.push((USER_AGENT, HeaderValue::from_static("weir")));
        let client = Client::try_from(config).map_err(|error| meaning(&error, false))?;
        *session = Some(Session { client: client.clone(), runtime, token });
        Ok(client)
    }

    /// Reads the token. A file is read for each request, because the kubelet renews a pod's token long before
    /// it expires. A file has priority over a token in the config, as in client-go.
    fn token(&self) -> Result<Option<String>, Failure> {
        let user = &self.cluster.config.auth_info;
        let Some(path) = user.token_file.as_deref().map(Path::new) else {
            return Ok(user.token.as_ref().map(|token| token.expose_secret().trim().to_owned()));
        };
        let wrong = |why: String| Failure::new(FailureKind::Auth, why);
        let read = storage::read(path, TOKEN_BYTES_MAX).map_err(|cause| wrong(cause.to_string()))?;
        let read = read.ok_or_else(|| wrong(format!("{}: there is no token", path.display())))?;
        Ok(Some(String::from_utf8_lossy(&read).trim().to_owned()))
    }
}

fn bearer(token: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| Failure::new(FailureKind::Auth, "the token has a character that no token has"))?;
    value.set_sensitive(true);
    Ok(value)
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

fn meaning(error: &Error, changes: bool) -> Failure {
    let lost = if changes { FailureKind::Uncertain } else { FailureKind::Transient };
    let kind = match error {
        Error::Api(status) => return refusal(status, lost),
        Error::Service(cause) => match cause.downcast_ref::<legacy::Error>() {
            Some(cause) if cause.is_connect() => FailureKind::Transient,
            _ => lost,
        },
        // The server has sent at least part of a response.
        Error::HyperError(_) | Error::SerdeError(_) | Error::FromUtf8(_) => lost,
        Error::Auth(_) => FailureKind::Auth,
        _ => FailureKind::Permanent,
    };
    let message = match error {
        Error::Service(cause) => with_causes(&**cause),
        Error::HyperError(cause) => with_causes(cause),
        Error::SerdeError(cause) => format!("not what was asked for: {cause}"),
        // The text of the other errors includes their causes.
        error => error.to_string(),
    };
    Failure::new(kind, message)
}

fn with_causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Some errors repeat the text of their cause.
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

/// Converts an error status of the API server. `lost` is the kind of failure if the request may have had an
/// effect.
fn refusal(status: &Status, lost: FailureKind) -> Failure {
    let kind = match status.code {
        401 | 403 => FailureKind::Auth,
        404 => FailureKind::NotFound,
        409 => FailureKind::Conflict,
        429 | 503 => FailureKind::Transient,
        0 | 500.. => lost,
        _ => FailureKind::Permanent,
    };
    let wait_s = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    let retry_after = (wait_s > 0).then(|| Duration::from_secs(wait_s.into()));
    // The message is complete in itself, for example "deployments.apps "web" is forbidden: User "x" cannot
    // update ...".
    let said: Vec<_> = status.message.split_whitespace().collect();
    let said: String = said.join(" ").chars().take(MESSAGE_CHARS_MAX).collect();
    let code =
        StatusCode::from_u16(status.code).map_or_else(|_| status.code.to_string(), |code| code.to_string());
    let message = if said.is_empty() { code } else { format!("{code}: {said}") };
    Failure { retry_after, ..Failure::new(kind, message) }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::api::DeleteParams;
    use kube::{Api, Config};

    use super::*;

    #[test]
    fn a_change_that_could_not_be_sent_has_surely_not_happened() {
        // The port is closed, so the connection is refused.
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut config = Config::new(format!("http://{closed}").parse().unwrap());
        config.root_cert = Some(Vec::new());
        let server = ApiServer::new(Cluster { name: "test".to_owned(), config }, Duration::from_secs(10));
        let delete = async |client| {
            Api::<Pod>::namespaced(client, "default").delete("a", &DeleteParams::default()).await
        };
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let failure = runtime.block_on(server.change("delete it", delete)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Transient);
        assert!(failure.message.starts_with("test: delete it: "), "{failure}");
        assert!(failure.message.contains("Connection refused"), "{failure}");
    }
}
