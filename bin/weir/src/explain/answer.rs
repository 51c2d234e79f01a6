//! Describes the path of a request through the config, for printing as text or JSON.

use serde::Serialize;
use weir_config::Plan;
use weir_config::plan::{ListenerPlan, Mode};
use weir_http::{NormalTarget, RequestHead};

use super::question::{Question, Spoken};
use super::server::PoolAnswer;

/// Result of `weir explain`: the steps of a request, as far as it gets.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Answer {
    /// Listener that accepts the request.
    pub(super) listener: Option<ListenerAnswer>,
    /// Client address, which may come from a trusted proxy's header.
    pub(super) client: Option<String>,
    /// Path, if it has more than one spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<PathAnswer>,
    /// Routes before the matching one, with the reasons why they do not match.
    pub(super) passed_over: Vec<PassedOver>,
    /// Route that matches.
    pub(super) route: Option<RouteAnswer>,
    /// Outcome of the request.
    pub(super) outcome: Outcome,
    /// Request as the server gets it.
    pub(super) request: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct ListenerAnswer {
    pub(super) name: String,
    pub(super) bind: Vec<String>,
    /// Other listeners that could accept the connection, too.
    pub(super) others: Vec<String>,
}

/// Spellings of a path.
#[derive(Debug, Serialize)]
pub(super) struct PathAnswer {
    pub(super) sent: String,
    /// Spelling that routes, expressions and keys compare.
    pub(super) compared: String,
    /// Spelling that the server gets, before a rewrite.
    pub(super) forwarded: String,
}

#[derive(Debug, Serialize)]
pub(super) struct PassedOver {
    pub(super) route: String,
    pub(super) origin: String,
    pub(super) reason: String,
}

#[derive(Debug, Serialize)]
pub(super) struct RouteAnswer {
    pub(super) name: String,
    pub(super) origin: String,
    /// Conditions of the route, which the request meets.
    pub(super) because: Vec<String>,
}

/// Outcome of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Outcome {
    /// A server of a pool gets the request.
    Pool(Box<PoolAnswer>),
    /// Weir serves it from a storage area.
    Storage { area: String },
    /// Weir answers with a redirect.
    Redirect { status: u16, location: String },
    /// Weir answers with a fixed response.
    Respond { status: u16 },
    /// Weir refuses it with an error status.
    Refused { status: u16, reason: String },
    /// No listener accepts the connection, or Weir closes it.
    Nobody { reason: String },
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Nobody { reason: String::new() }
    }
}

impl PathAnswer {
    /// Compares the spellings of a path. Returns `None` if they are equal.
    pub(super) fn of(buf: &[u8], head: &RequestHead, normal: &NormalTarget) -> Option<Self> {
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let sent = head.target.path.of(buf);
        let rewritten = normal.rewritten.as_deref().map(|target| {
            let before = (head.target.path.start - head.target.span.start) as usize;
            target.get(before..).unwrap_or_default().split(|byte| *byte == b'?').next().unwrap_or_default()
        });
        let forwarded = rewritten.unwrap_or(sent);
        let compared = normal.compared.as_deref().unwrap_or(forwarded);
        let differ = sent != forwarded || sent != compared;
        differ.then(|| Self { sent: text(sent), compared: text(compared), forwarded: text(forwarded) })
    }
}

impl Answer {
    pub(super) fn of_listener(listener: &ListenerPlan, others: &[&ListenerPlan]) -> Self {
        let listener = ListenerAnswer {
            name: listener.name.to_string(),
            bind: listener.bind.iter().map(ToString::to_string).collect(),
            others: others.iter().map(|other| other.name.to_string()).collect(),
        };
        Self { listener: Some(listener), ..Self::default() }
    }

    pub(super) fn nobody_accepts(plan: &Plan, question: &Question, name: Option<&str>) -> Self {
        let what = match (name, question.scheme) {
            (Some(name), _) => format!("there is no listener {name}"),
            (None, Spoken::Http) => format!("no listener accepts plain HTTP on port {}", question.port),
            (None, Spoken::Https) => format!("no listener accepts TLS on port {}", question.port),
            (None, Spoken::Tcp) => format!("no TCP listener accepts on port {}", question.port),
        };
        let listed = plan.listeners.iter().map(describe).collect::<Vec<_>>().join(", ");
        Self { outcome: Outcome::Nobody { reason: format!("{what}; there are {listed}") }, ..Self::default() }
    }

    /// Returns true if the request is served.
    pub(super) fn is_taken(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused { .. } | Outcome::Nobody { .. })
    }
}

fn describe(listener: &ListenerPlan) -> String {
    let spoken = match (&listener.mode, &listener.tls) {
        (Mode::Http(_), None) => "HTTP",
        (Mode::Http(_), Some(_)) => "HTTPS",
        (Mode::Tcp(_), None) => "TCP",
        (Mode::Tcp(_), Some(_)) => "TCP over TLS",
    };
    let bind = listener.bind.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    format!("{} ({spoken} on {bind})", listener.name)
}
