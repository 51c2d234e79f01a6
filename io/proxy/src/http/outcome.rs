//! How an exchange can end, whose fault it was, and what the client gets: the one place where failures become statuses.

use std::fmt;
use std::io;
use std::time::Duration;

use weir_http::access_log::{Cause, Phase, Termination};
use weir_http::{ChunkError, OffloadOrder, RefusalRule, ResponseError};

use crate::connect::ConnectError;
use crate::pump::PumpError;
use crate::state::Refusal;

/// How an exchange ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The response went out whole.
    Complete {
        /// The connection may carry another request.
        keep_client: bool,
        /// The client may still be sending a body that nobody reads.
        linger: bool,
    },
    /// No byte of a response went out: the client gets an error from here.
    Answer(Fault),
    /// A response had begun and cannot be finished: the connection is reset.
    Cut(Cut),
    /// Both sides agreed to change the protocol.
    Tunnel,
    /// The server has named a file, which is to be sent in place of a body.
    Offload(Box<OffloadOrder>),
}

/// Why there is no response to pass on.
#[derive(Debug)]
pub(crate) enum Fault {
    /// No server is up.
    NobodyLeft,
    /// The server that the client is bound to takes nothing, and no other may have the request.
    StickyGone,
    /// Every server is at its limit.
    Busy,
    /// It waited too long for a server.
    QueueTimeout,
    /// It may not wait for a server.
    QueueRefused(Refusal),
    /// The pool's breaker keeps requests away, for so long; zero = until its probes have ended.
    BreakerOpen(Duration),
    /// The server cannot be connected to.
    Connect(ConnectError),
    /// Not within the time.
    ConnectTimeout,
    /// The connection failed before the response's head was there.
    NoResponse(io::Error),
    /// The server closed the connection before the response's first byte.
    ClosedEarly,
    /// The server closed the connection within the response's head.
    ClosedInHead,
    /// The response's head is malformed.
    BadResponse(ResponseError),
    /// The response's chunks are malformed.
    BadChunks(ChunkError),
    /// No response within the time.
    ResponseTimeout,
    /// The request's body is larger than its route permits.
    BodyTooLarge,
    /// The request's body is malformed.
    BodyFraming(ChunkError),
    /// The request's body stopped coming.
    BodyTimeout,
    /// A service of this process failed: why.
    Service(String),
    /// The server permits an upload, and does not say where.
    NoPlace,
    /// An upload could not be made visible: the status, and why.
    Unpublished(u16, String),
}

/// Why a response was cut.
#[derive(Debug)]
pub(crate) enum Cut {
    /// The client went away.
    ClientGone,
    /// The client stopped reading.
    ClientTimeout,
    /// The server failed within the body.
    Server(PumpError),
    /// The server stopped sending within the body.
    ServerTimeout,
    /// The process stops, and its deadline has passed.
    Stopped,
    /// Another fault after the response had begun.
    Fault(Fault),
    /// A state that cannot be reached, if this program is right.
    Internal,
}

impl Fault {
    /// The status that the client gets.
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

    /// When another try may do better, if something is known about that; at least 1.
    pub(crate) fn retry_after_s(&self) -> Option<u32> {
        let wait = match self {
            Self::QueueRefused(Refusal { wait, .. }) => (*wait)?,
            Self::BreakerOpen(wait) => *wait,
            _ => return None,
        };
        // The header has whole seconds, and longer than an hour nothing is foreseen.
        Some(wait.as_secs().saturating_add(1).min(3_600) as u32)
    }

    /// Whether a server was tried, and failed. One that has answered, if not what was hoped for, has not.
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

    /// Whether it speaks against the server that was tried. One that knows nothing of questions about uploads has answered as it
    /// should: any client could have it taken for a bad one.
    pub(crate) fn speaks_against_server(&self) -> bool {
        !matches!(self, Self::NoPlace | Self::Connect(ConnectError::Exhausted(_)))
    }

    fn is_servers(&self) -> bool {
        !matches!(self, Self::BodyTooLarge | Self::BodyFraming(_) | Self::BodyTimeout)
    }

    /// Whether another server, or another connection, might do better. What took long would take long again.
    pub(crate) fn is_worth_a_retry(&self) -> bool {
        match self {
            Self::Connect(cause) => !cause.is_own(),
            fault => matches!(
                fault,
                Self::ConnectTimeout | Self::NoResponse(_) | Self::ClosedEarly | Self::ClosedInHead
            ),
        }
    }

    /// What was wrong with the request, if it is that.
    pub(crate) fn refused_by(&self) -> Option<RefusalRule> {
        match self {
            Self::BodyFraming(error) => Some((*error).into()),
            Self::BodyTimeout => Some(RefusalRule::BodyTimeout),
            Self::BodyTooLarge => Some(RefusalRule::BodyTooLarge),
            _ => None,
        }
    }

    /// How the access log has it.
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
            // The disk failed here, or somebody has locked the place meanwhile: the server has answered as it should.
            Self::Unpublished(..) => Termination::new(Cause::Internal, Phase::Head),
            Self::ResponseTimeout => Termination::RESPONSE_TIMEOUT,
            Self::BodyTooLarge | Self::BodyFraming(_) => Termination::BAD_REQUEST,
            Self::BodyTimeout => Termination::CLIENT_STALLED_IN_REQUEST,
        }
    }
}

impl Cut {
    /// How the access log has it, in the phase that the exchange had reached.
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

    /// Whether the client is still there, and this process has time for it.
    pub(crate) fn leaves_client(&self) -> bool {
        matches!(self, Self::Server(_) | Self::ServerTimeout | Self::Fault(_))
    }

    /// Whether the client went away or stood still.
    fn is_clients(&self) -> bool {
        matches!(self, Self::ClientGone | Self::ClientTimeout)
    }

    /// Whether the server broke off or stood still.
    fn is_servers(&self) -> bool {
        match self {
            Self::Server(_) | Self::ServerTimeout => true,
            Self::Fault(fault) => fault.is_servers(),
            Self::ClientGone | Self::ClientTimeout | Self::Stopped | Self::Internal => false,
        }
    }
}

impl End {
    /// How the access log has it, in the phase that the exchange had reached.
    pub(crate) fn termination(&self, phase: Phase) -> Termination {
        match self {
            Self::Complete { .. } | Self::Tunnel | Self::Offload(_) => Termination::NORMAL,
            Self::Answer(fault) => fault.termination(),
            Self::Cut(cut) => cut.termination(phase),
        }
    }

    /// What was wrong with the request, if it ended by that.
    pub(crate) fn refused_by(&self) -> Option<RefusalRule> {
        match self {
            Self::Answer(fault) | Self::Cut(Cut::Fault(fault)) => fault.refused_by(),
            Self::Complete { .. } | Self::Cut(_) | Self::Tunnel | Self::Offload(_) => None,
        }
    }

    /// Whether the request itself was malformed, or did not come in time, after its head.
    pub(crate) fn is_bad_request(&self) -> bool {
        match self {
            Self::Answer(fault) | Self::Cut(Cut::Fault(fault)) => {
                matches!(fault, Fault::BodyFraming(_) | Fault::BodyTimeout)
            }
            Self::Complete { .. } | Self::Cut(_) | Self::Tunnel | Self::Offload(_) => false,
        }
    }

    /// Whether a rule put an end to a response that had begun. (Answers count themselves.)
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, Self::Cut(Cut::Fault(Fault::BodyTooLarge)))
    }

    /// Whether the client did not wait for the end of its response.
    pub(crate) fn is_client_abort(&self) -> bool {
        matches!(self, Self::Cut(cut) if cut.is_clients())
    }

    /// Whether the server did not finish a response that had begun.
    pub(crate) fn is_server_abort(&self) -> bool {
        matches!(self, Self::Cut(cut) if cut.is_servers())
    }
}

impl Cut {
    /// What an operator should read of it; `None` = it was the client's doing.
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
    /// What an operator should read of it; `None` = nothing went wrong on the server's side.
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
        // Both need a server's connection.
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
