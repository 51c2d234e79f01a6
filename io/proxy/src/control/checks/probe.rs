//! One health check of one server.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use weir_config::plan::{CheckKind, CheckPlan, ProxyProtocolOut};
use weir_control::CheckCode;
use weir_http::Lenient;
use weir_net::Stream;
use weir_net::tls::ClientTls;

use super::{connect, http};
use crate::control::records::CheckResult;
use crate::state::Endpoint;
use crate::worker::is_shortage;

/// One health check with all its data.
#[derive(Debug)]
pub(in crate::control) struct Probe {
    pub(in crate::control) endpoint: Arc<Endpoint>,
    pub(in crate::control) plan: CheckPlan,
    /// TLS settings; `None` = plaintext.
    pub(in crate::control) tls: Option<Arc<ClientTls>>,
    /// Server name for TLS, unless the config sets another.
    pub(in crate::control) tls_host: String,
    /// Value of the Host header, unless the config sets another.
    pub(in crate::control) host: String,
    pub(in crate::control) proxy_protocol: Option<ProxyProtocolOut>,
    /// Errors in response heads that Weir repairs.
    pub(in crate::control) lenient: Lenient,
}

/// Progress of a check; names the layer at fault after a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Connect,
    Tls,
    Http,
}

/// Reason why a check failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: CheckCode,
    pub(super) status: Option<u16>,
    pub(super) text: String,
}

impl Probe {
    /// Runs the check within its timeout.
    pub(in crate::control) async fn run(&self) -> CheckResult {
        let started = Instant::now();
        let limit = self.plan.timing.timeout.duration();
        let mut layer = Layer::Connect;
        let outcome = match timeout(limit, self.pass(&mut layer)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(layer.too_slow(limit)),
        };
        let duration = started.elapsed();
        match outcome {
            Ok((code, status)) => CheckResult { code, status, text: String::new(), duration },
            Err(Failure { code, status, text }) => CheckResult { code, status, text, duration },
        }
    }

    async fn pass(&self, layer: &mut Layer) -> Result<(CheckCode, Option<u16>), Failure> {
        let mut socket = connect::open(&self.endpoint, self.plan.port).await?;
        if let Some(version) = self.proxy_protocol {
            connect::send_proxy_header(&mut socket, version).await?;
        }
        if self.plan.kind == CheckKind::Tcp {
            // A reset closes the connection at once on both sides, as HAProxy does. An orderly close leaves a
            // TIME_WAIT socket for a minute, which adds up with thousands of servers.
            socket.reset_on_close();
            return Ok((CheckCode::L4Ok, None));
        }
        let stream = match &self.tls {
            None => Stream::Plain(socket),
            Some(tls) => {
                *layer = Layer::Tls;
                connect::secure(socket, tls, &self.tls_host).await?
            }
        };
        match &self.plan.kind {
            CheckKind::Http(check) => {
                *layer = Layer::Http;
                let status = http::exchange(stream, check, &self.host, self.lenient).await?;
                Ok((CheckCode::L7Ok, Some(status)))
            }
            CheckKind::Tcp | CheckKind::Tls => Ok((CheckCode::L6Ok, None)),
        }
    }
}

impl Layer {
    fn too_slow(self, limit: Duration) -> Failure {
        let (code, what) = match self {
            Self::Connect => (CheckCode::L4Timeout, "connect"),
            Self::Tls => (CheckCode::L6Timeout, "TLS handshake"),
            Self::Http => (CheckCode::L7Timeout, "response"),
        };
        Failure::new(code, format!("{what}: not within {} ms", limit.as_millis()))
    }
}

impl Failure {
    pub(super) fn new(code: CheckCode, text: impl Into<String>) -> Self {
        Self { code, status: None, text: text.into() }
    }

    /// Creates a failure from a socket error. A shortage in this process does not count against the server.
    pub(super) fn of_socket(code: CheckCode, what: &str, error: &io::Error) -> Self {
        let code = if is_shortage(error) { CheckCode::SocketError } else { code };
        Self::new(code, format!("{what}: {}", reason(error)))
    }
}

/// Returns the error's text without its number, as in `connection refused`.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let bare = text.split(" (os error").next().unwrap_or(&text);
    match error.raw_os_error() {
        // The C library's texts begin with a capital letter, which is wrong within a sentence.
        Some(_) => bare.chars().take(1).flat_map(char::to_lowercase).chain(bare.chars().skip(1)).collect(),
        None => bare.to_owned(),
    }
}
