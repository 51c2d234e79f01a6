//! Counts and logs connections that end before there is a request, or in TCP mode before a pool is chosen.

use std::io;
use std::net::SocketAddr;
use std::time::Instant;

use weir_http::RefusalRule;
use weir_http::access_log::{Cause, Phase, Termination};
use weir_net::tls::HandshakeFault;
use weir_wire::proxy::ProxyError;

use crate::http::ClientTlsFacts;
use crate::log::{self, EarlyRecord};
use crate::report;
use crate::state::ListenerState;
use crate::worker::{Drain, LocalLive, Worker};

/// A connection that ended early, as far as it is known.
pub(crate) struct Early<'a> {
    pub(crate) client: Option<SocketAddr>,
    pub(crate) tls: Option<&'a ClientTlsFacts>,
    pub(crate) started: Instant,
    /// Number of bytes received.
    pub(crate) bytes_in: usize,
    pub(crate) why: EarlyEnd,
}

/// Reason for the early end.
#[derive(Debug)]
pub(crate) enum EarlyEnd {
    /// The client closed the connection.
    Left,
    /// The time limit passed.
    Late,
    /// A new connection needs its room.
    GivesWay,
    /// The received bytes are not a PROXY header.
    ProxyHeader(ProxyError),
    /// The TLS handshake failed because of the client.
    Tls(HandshakeFault),
    /// No route accepts the requested server name.
    ServerName,
}

impl EarlyEnd {
    /// All rules that can refuse a connection this early.
    pub(crate) const RULES: [RefusalRule; 9] = [
        RefusalRule::HeadTimeout,
        RefusalRule::ProxyHeader,
        RefusalRule::TlsPlainHttp,
        RefusalRule::TlsNoCertificate,
        RefusalRule::TlsCertificate,
        RefusalRule::TlsNothingInCommon,
        RefusalRule::TlsAlert,
        RefusalRule::TlsProtocol,
        RefusalRule::ServerName,
    ];

    /// Returns the reason that a read error stands for.
    pub(crate) fn of(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut { Self::Late } else { Self::Left }
    }

    fn refused_by(&self) -> Option<RefusalRule> {
        match self {
            Self::Left | Self::GivesWay => None,
            Self::Late => Some(RefusalRule::HeadTimeout),
            Self::ProxyHeader(_) => Some(RefusalRule::ProxyHeader),
            Self::Tls(HandshakeFault::PlainHttp) => Some(RefusalRule::TlsPlainHttp),
            Self::Tls(HandshakeFault::NoCertificate) => Some(RefusalRule::TlsNoCertificate),
            Self::Tls(HandshakeFault::Certificate) => Some(RefusalRule::TlsCertificate),
            Self::Tls(HandshakeFault::NothingInCommon) => Some(RefusalRule::TlsNothingInCommon),
            Self::Tls(HandshakeFault::Alert) => Some(RefusalRule::TlsAlert),
            Self::Tls(HandshakeFault::Protocol) => Some(RefusalRule::TlsProtocol),
            Self::ServerName => Some(RefusalRule::ServerName),
        }
    }

    fn termination(&self) -> Termination {
        match self {
            Self::Left => Termination::CLIENT_LEFT_IN_REQUEST,
            Self::Late | Self::GivesWay => Termination::REQUEST_TIMEOUT,
            Self::ProxyHeader(_) | Self::Tls(_) | Self::ServerName => Termination::BAD_REQUEST,
        }
    }
}

/// Counts and logs an early end at `listener`. A connection without any received bytes is ignored: it was
/// probably a check that the port is open.
pub(crate) fn ended(worker: &Worker, live: &LocalLive, listener: &ListenerState, early: &Early<'_>) {
    let gives_way = matches!(early.why, EarlyEnd::GivesWay);
    if gives_way {
        listener.counters.of(worker.thread).connections_denied.one();
    }
    // The number of handshake bytes is not known; handshakes have counters of their own.
    let is_tls = matches!(early.why, EarlyEnd::Tls(_));
    if early.bytes_in == 0 && !is_tls {
        return;
    }
    let counters = listener.counters.of(worker.thread);
    counters.bytes_in.add(early.bytes_in as u64);
    // At the end of a shutdown all deadlines expire; that is not the client's fault.
    let stops = matches!(early.why, EarlyEnd::Late) && worker.drain.get() == Drain::Cut;
    let refused_by = if stops { None } else { early.why.refused_by() };
    let termination =
        if stops { Termination::new(Cause::Killed, Phase::Request) } else { early.why.termination() };
    if !stops && !is_tls && !gives_way {
        counters.request_errors.one();
    }
    if let Some(rule) = refused_by {
        counters.refused.count(rule);
    }
    match &early.why {
        EarlyEnd::Left => counters.client_aborts.one(),
        EarlyEnd::ProxyHeader(error) => {
            report::throttled(|| {
                format!("listener {}, {}: {error}", listener.plan.name, named(early.client))
            });
        }
        EarlyEnd::Late | EarlyEnd::GivesWay | EarlyEnd::Tls(_) | EarlyEnd::ServerName => {}
    }
    let (client, tls, started) = (early.client, early.tls, early.started);
    let bytes_in = early.bytes_in as u64;
    log::early(
        worker,
        live,
        &EarlyRecord { listener, client, tls, started, bytes_in, termination, refused_by },
    );
}

pub(crate) fn named(client: Option<SocketAddr>) -> String {
    client.map_or_else(|| "a client of its Unix socket".to_owned(), |client| format!("client {client}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_log_is_told_is_in_its_reference() {
        for why in [
            EarlyEnd::Left,
            EarlyEnd::Late,
            EarlyEnd::GivesWay,
            EarlyEnd::ProxyHeader(ProxyError::NotProxy),
            EarlyEnd::Tls(HandshakeFault::PlainHttp),
            EarlyEnd::Tls(HandshakeFault::NoCertificate),
            EarlyEnd::Tls(HandshakeFault::Certificate),
            EarlyEnd::Tls(HandshakeFault::NothingInCommon),
            EarlyEnd::Tls(HandshakeFault::Alert),
            EarlyEnd::Tls(HandshakeFault::Protocol),
            EarlyEnd::ServerName,
        ] {
            assert!(why.termination().is_documented(), "{why:?}");
            // A client that left was not refused, and a connection closed to make room broke no rule.
            let is_refused = !matches!(why, EarlyEnd::Left | EarlyEnd::GivesWay);
            assert_eq!(why.refused_by().is_some(), is_refused, "{why:?}");
            // Every rule that a listener counts is shown, in TCP mode too.
            assert!(why.refused_by().is_none_or(|rule| EarlyEnd::RULES.contains(&rule)), "{why:?}");
        }
        assert!(Termination::new(Cause::Killed, Phase::Request).is_documented());
    }

    #[test]
    fn only_a_deadline_is_late() {
        let of = |kind: io::ErrorKind| EarlyEnd::of(&kind.into());
        assert!(matches!(of(io::ErrorKind::TimedOut), EarlyEnd::Late));
        assert!(matches!(of(io::ErrorKind::UnexpectedEof), EarlyEnd::Left));
        assert!(matches!(of(io::ErrorKind::ConnectionReset), EarlyEnd::Left));
    }
}
