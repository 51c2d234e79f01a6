//! The ways in which an exchange can end, the side at fault, and the status for the client. All failures
//! become statuses here.

use std::fmt;
use std::io;
use std::time::Duration;

use weir_http::access_log::{Cause, Phase, Termination};
use weir_http::{ChunkError, OffloadOrder, RefusalRule, ResponseError};

use crate::connect::ConnectError;
use crate::pump::PumpError;
use crate::state::Refusal;

/// Result of an exchange.
#[derive(Debug)]
pub(crate) enum End {
    /// The response was sent completely.
    Complete {
        /// True if the connection may carry another request.
        keep_client: bool,
        /// True if the client may still be sending a body that will not be read.
        linger: bool,
    },
    /// No byte of a response was sent: Weir answers with an error.
    Answer(Fault),
    /// A response had begun and cannot be completed: the connection is reset.
    Cut(Cut),
    /// Both sides agreed to change the protocol.
    Tunnel,
    /// The server has named a file to send in place of a body.
    Offload(Box<OffloadOrder>),
}

/// Reason why there is no response to forward.
#[derive(Debug)]
pub(crate) enum Fault {
    /// No server is up.
    NobodyLeft,
    /// The server that the client is bound to accepts no requests, and no other may have the request.
    StickyGone,
    /// Every server is at its limit.
    Busy,
    /// The request waited too long for a server.
    QueueTimeout,
    /// The request may not wait for a server.
    QueueRefused(Refusal),
    /// The pool's breaker is open for this time; zero = until its probes have ended.
    BreakerOpen(Duration),
    /// No connection to the server can be opened.
    Connect(ConnectError),
    /// No connection within the time limit.
    ConnectTimeout,
    /// The connection failed before the response head was complete.
    NoResponse(io::Error),
    /// The server closed the connection before the first byte of the response.
    ClosedEarly,
    /// The server closed the connection within the response head.
    ClosedInHead,
    /// The response head is malformed.
    BadResponse(ResponseError),
    /// The chunks of the response are malformed.
    BadChunks(ChunkError),
    /// No response within the time limit.
    ResponseTimeout,
    /// The request's body is larger than its route permits.
    BodyTooLarge,
    /// The request's body is malformed.
    BodyFraming(ChunkError),
    /// The request body stopped arriving.
    BodyTimeout,
    /// A service of this process failed; the text gives the reason.
    Service(String),
    /// The server permits an upload without saying where to store it.
    NoPlace,
    /// An upload could not be made visible: the status, and the reason.
    Unpublished(u16, String),
}

/// Reason why a response was cut.
#[derive(Debug)]
pub(crate) enum Cut {
    /// The client disconnected.
    ClientGone,
    /// The client stopped reading.
    ClientTimeout,
    /// The server failed within the body.
    Server(PumpError),
    /// The server stopped sending within the body.
    ServerTimeout,
    /// The process stops, and its deadline has passed.
    Stopped,
    /// Another fault occurred after the response had begun.
    Fault(Fault),
    /// A state that only a bug in this program can reach.
    Internal,
}

impl Fault {
    /// Returns the status for the client.
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::NobodyLeft
            | Self::StickyGone
            | Self::Busy
            | Self::QueueTimeout
            | Self::QueueRefused(_)
            | Self::BreakerOpen(_)
            | Self::Connect(ConnectError::Exhausted(_)) => 503,
            Self::Connect(_)
            | Self::NoResponse(_)
            | Self::ClosedEarly
            | Self::ClosedInHead
            | Self::BadResponse(_)
            | Self::BadChunks(_)
            | Self::NoPlace => 502,
            Self::ConnectTimeout | Self::ResponseTimeout => 504,
            Self::BodyTooLarge => 413,
            Self::BodyFraming(_) => 400,
            Self::BodyTimeout => 408,
            Self::Service(_) => 500,
            Self::Unpublished(status, _) => *status,
        }
    }

    /// Returns the seconds after which a retry may succeed, if known; at least 1.
    pub(crate) fn retry_after_s(&self) -> Option<u32> {
        let wait = match self {
            Self::QueueRefused(Refusal { wait, .. }) => (*wait)?,
            Self::BreakerOpen(wait) => *wait,
            _ => return None,
        };
        // The header has whole seconds. Estimates are limited to an hour.
        Some(wait.as_secs().saturating_add(1).min(3_600) as u32)
    }

    /// Returns true if a server was tried and failed. A server that gave an unwanted response has not failed.
    pub(crate) fn is_pools_failure(&self) -> bool {
        let untried = matches!(
            self,
            Self::NobodyLeft
                | Self::StickyGone
                | Self::Busy
                | Self::QueueTimeout
                | Self::QueueRefused(_)
                | Self::BreakerOpen(_)
                | Self::NoPlace
                | Self::Unpublished(..)
                | Self::Connect(ConnectError::Exhausted(_))
        );
        self.is_servers() && !untried
    }

    /// Returns true if the fault counts against the tried server. A server that does not support upload
    /// subrequests has responded correctly; otherwise any client could make it look bad.
    pub(crate) fn speaks_against_server(&self) -> bool {
        !matches!(self, Self::NoPlace | Self::Connect(ConnectError::Exhausted(_)))
    }

    fn is_servers(&self) -> bool {
        !matches!(self, Self::BodyTooLarge | Self::BodyFraming(_) | Self::BodyTimeout)
    }

    /// Returns true if another server or connection may succeed. Timeouts of the response are not retried,
    /// because they would take long again.
    pub(crate) fn is_worth_a_retry(&self) -> bool {
        match self {
            Self::Connect(cause) => !cause.is_own(),
            fault => matches!(
                fault,
                Self::ConnectTimeout | Self::NoResponse(_) | Self::ClosedEarly | Self::ClosedInHead
            ),
        }
    }

    /// Returns the rule that refused the request, if the request was at fault.
    pub(crate) fn refused_by(&self) -> Option<RefusalRule> {
        match self {
            Self::BodyFraming(error) => Some((*error).into()),
            Self::BodyTimeout => Some(RefusalRule::BodyTimeout),
            Self::BodyTooLarge => Some(RefusalRule::BodyTooLarge),
            _ => None,
        }
    }

    /// Returns the termination code for the access log.
    pub(crate) fn termination(&self) -> Termination {
        match self {
            Self::Connect(ConnectError::Exhausted(_)) => Termination::new(Cause::Resource, Phase::Connect),
            Self::NobodyLeft | Self::StickyGone | Self::Connect(_) => Termination::NO_SERVER,
            Self::Busy | Self::QueueRefused(_) => Termination::BUSY,
            Self::QueueTimeout => Termination::QUEUE_TIMEOUT,
            Self::BreakerOpen(_) => Termination::BREAKER_OPEN,
            Self::ConnectTimeout => Termination::CONNECT_TIMEOUT,
            Self::NoResponse(_) | Self::ClosedEarly | Self::ClosedInHead => Termination::NO_RESPONSE,
            Self::BadResponse(_) | Self::BadChunks(_) | Self::NoPlace | Self::Service(_) => {
                Termination::BAD_RESPONSE
            }
            // The local disk failed, or the path was locked meanwhile; the server has responded correctly.
            Self::Unpublished(..) => Termination::new(Cause::Internal, Phase::Head),
            Self::ResponseTimeout => Termination::RESPONSE_TIMEOUT,
            Self::BodyTooLarge | Self::BodyFraming(_) => Termination::BAD_REQUEST,
            Self::BodyTimeout => Termination::CLIENT_STALLED_IN_REQUEST,
        }
    }
}

impl Cut {
    /// Returns the termination code for the access log, for the phase that the exchange had reached.
    fn termination(&self, phase: Phase) -> Termination {
        match self {
            Self::ClientGone => Termination::new(Cause::Client, phase),
            Self::ClientTimeout => Termination::new(Cause::ClientTimeout, phase),
            Self::Server(_) => Termination::SERVER_BROKE_OFF,
            Self::ServerTimeout => Termination::SERVER_STALLED,
            Self::Stopped => Termination::new(Cause::Killed, phase),
            Self::Fault(fault) => fault.termination(),
            Self::Internal => Termination::new(Cause::Internal, phase),
        }
    }

    /// Returns true if the client is still connected, and this process has time for it.
    pub(crate) fn leaves_client(&self) -> bool {
        matches!(self, Self::Server(_) | Self::ServerTimeout | Self::Fault(_))
    }

    /// Returns true if the client disconnected or stalled.
    fn is_clients(&self) -> bool {
        matches!(self, Self::ClientGone | Self::ClientTimeout)
    }

    /// Returns true if the server broke off or stalled.
    fn is_servers(&self) -> bool {
        match self {
            Self::Server(_) | Self::ServerTimeout => true,
            Self::Fault(fault) => fault.is_servers(),
            Self::ClientGone | Self::ClientTimeout | Self::Stopped | Self::Internal => false,
        }
    }
}

impl End {
    /// Returns the termination code for the access log, for the phase that the exchange had reached.
    pub(crate) fn termination(&self, phase: Phase) -> Termination {
        match self {
            Self::Complete { .. } | Self::Tunnel | Self::Offload(_) => Termination::NORMAL,
            Self::Answer(fault) => fault.termination(),
            Self::Cut(cut) => cut.termination(phase),
        }
    }

    /// Returns the rule that refused the request, if that ended the exchange.
    pub(crate) fn refused_by(&self) -> Option<RefusalRule> {
        match self {
            Self::Answer(fault) | Self::Cut(Cut::Fault(fault)) => fault.refused_by(),
            Self::Complete { .. } | Self::Cut(_) | Self::Tunnel | Self::Offload(_) => None,
        }
    }

    /// Returns true if the request body was malformed, or did not arrive in time.
    pub(crate) fn is_bad_request(&self) -> bool {
        match self {
            Self::Answer(fault) | Self::Cut(Cut::Fault(fault)) => {
                matches!(fault, Fault::BodyFraming(_) | Fault::BodyTimeout)
            }
            Self::Complete { .. } | Self::Cut(_) | Self::Tunnel | Self::Offload(_) => false,
        }
    }

    /// Returns true if a rule ended a response that had begun. (Responses of Weir count themselves.)
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Self::Cut(Cut::Fault(Fault::BodyTooLarge)))
    }

    /// Returns true if the client did not wait for the end of its response.
    pub(crate) fn is_client_abort(&self) -> bool {
        matches!(self, Self::Cut(cut) if cut.is_clients())
    }

    /// Returns true if the server did not complete a response that had begun.
    pub(crate) fn is_server_abort(&self) -> bool {
        matches!(self, Self::Cut(cut) if cut.is_servers())
    }
}

impl Cut {
    /// Returns the message for the operator; `None` = the client or a shutdown was the cause.
    fn complaint(&self) -> Option<String> {
        match self {
            Self::ClientGone | Self::ClientTimeout | Self::Stopped => None,
            Self::Server(cause) => Some(format!("response {cause}")),
            Self::ServerTimeout => Some("response stopped coming".to_owned()),
            Self::Fault(fault) => fault.is_servers().then(|| fault.to_string()),
            Self::Internal => Some("internal error".to_owned()),
        }
    }
}

impl End {
    /// Returns the message for the operator; `None` = the server made no error.
    pub(crate) fn complaint(&self) -> Option<String> {
        match self {
            Self::Complete { .. } | Self::Tunnel | Self::Offload(_) => None,
            Self::Answer(fault) => fault.is_servers().then(|| fault.to_string()),
            Self::Cut(cut) => cut.complaint(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NobodyLeft => f.write_str("no server is up"),
            Self::StickyGone => f.write_str("the server that the client is bound to takes nothing"),
            Self::Busy => f.write_str("every server is at its limit"),
            Self::QueueTimeout => f.write_str("waited too long for a server"),
            Self::QueueRefused(refusal) => refusal.fmt(f),
            Self::BreakerOpen(_) => f.write_str("its breaker is open"),
            Self::Connect(cause) => cause.fmt(f),
            Self::ConnectTimeout => f.write_str("connect: timed out"),
            Self::NoResponse(cause) => write!(f, "no response: {cause}"),
            Self::ClosedEarly => f.write_str("no response: connection closed"),
            Self::ClosedInHead => f.write_str("connection closed within the response head"),
            Self::BadResponse(cause) => write!(f, "malformed response: {cause}"),
            Self::BadChunks(cause) => write!(f, "malformed response body: {cause}"),
            Self::ResponseTimeout => f.write_str("no response: timed out"),
            Self::BodyTooLarge => f.write_str("the request body is too large"),
            Self::BodyFraming(cause) => write!(f, "malformed request body: {cause}"),
            Self::BodyTimeout => f.write_str("the request body stopped coming"),
            Self::Service(cause) => f.write_str(cause),
            Self::NoPlace => f.write_str("it permits an upload, and does not say where"),
            Self::Unpublished(_, cause) => write!(f, "an upload that it has confirmed is not there: {cause}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_balance::RefusalCause;

    use super::*;

    fn faults() -> Vec<Fault> {
        let io = || io::Error::from(io::ErrorKind::ConnectionReset);
        vec![
            Fault::NobodyLeft,
            Fault::StickyGone,
            Fault::Busy,
            Fault::QueueTimeout,
            Fault::BreakerOpen(Duration::ZERO),
            Fault::QueueRefused(Refusal { cause: RefusalCause::Full, wait: None }),
            Fault::Connect(ConnectError::Unresolved),
            Fault::Connect(ConnectError::Exhausted(io())),
            Fault::ConnectTimeout,
            Fault::NoResponse(io()),
            Fault::ClosedEarly,
            Fault::ClosedInHead,
            Fault::BadResponse(ResponseError::Status),
            Fault::BadChunks(ChunkError::Size),
            Fault::ResponseTimeout,
            Fault::BodyTooLarge,
            Fault::BodyFraming(ChunkError::Size),
            Fault::BodyTimeout,
            Fault::Service("disk".to_owned()),
            Fault::NoPlace,
            Fault::Unpublished(423, "locked".to_owned()),
        ]
    }

    fn cuts() -> Vec<Cut> {
        let own = vec![Cut::ClientGone, Cut::Server(PumpError::Truncated), Cut::ServerTimeout, Cut::Stopped];
        own.into_iter().chain(faults().into_iter().map(Cut::Fault)).collect()
    }

    #[test]
    fn whatever_the_log_is_told_is_in_its_reference() {
        for fault in faults() {
            let code = End::Answer(fault).termination(Phase::Head);
            assert!(code.is_documented(), "{code}");
        }
        for phase in [Phase::Queue, Phase::Connect, Phase::Head, Phase::Data] {
            for cut in cuts() {
                let code = cut.termination(phase);
                assert!(code.is_documented(), "{code}: {cut:?}");
            }
        }
        // Both need a connection to a server.
        for phase in [Phase::Head, Phase::Data] {
            assert!(Cut::ClientTimeout.termination(phase).is_documented());
            assert!(Cut::Internal.termination(phase).is_documented());
        }
    }

    #[test]
    fn each_cut_is_one_sides_doing_or_nobodys() {
        for cut in cuts() {
            let end = End::Cut(cut);
            assert!(!(end.is_client_abort() && end.is_server_abort()), "{end:?}");
            assert_eq!(end.is_server_abort(), end.complaint().is_some(), "{end:?}");
        }
    }
}
