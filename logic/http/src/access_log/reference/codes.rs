//! The meanings of termination codes on the reference page.

use crate::access_log::{Cause, Phase, Termination};

pub(super) const CAUSES: [(Cause, &str); 11] = [
    (Cause::Finished, "nobody: both sides finished"),
    (Cause::Client, "the client went away"),
    (Cause::Server, "the server went away, refused, broke off, or there was none"),
    (Cause::Proxy, "Weir refused what was broken, or what a rule denies"),
    (Cause::Local, "Weir answered without asking a server"),
    (Cause::Resource, "a resource ran out (memory, descriptors, ports)"),
    (Cause::Internal, "Weir's own fault"),
    (Cause::ServerDown, "the server was found down while it worked"),
    (Cause::Killed, "the process stopped, and the time to finish was over"),
    (Cause::ClientTimeout, "the client took too long"),
    (Cause::ServerTimeout, "the server took too long"),
];

pub(super) const PHASES: [(Phase, &str); 8] = [
    (Phase::Done, "everything was done"),
    (Phase::Request, "the request was coming"),
    (Phase::Queue, "it waited for a server"),
    (Phase::Connect, "the connection to the server was being made"),
    (Phase::Head, "the response's head was awaited"),
    (Phase::Data, "data flowed"),
    (Phase::LastData, "the server had finished, the client had not got everything"),
    (Phase::Tarpit, "it was held in a tarpit"),
];

/// The codes that Weir writes, with their meanings.
pub(super) const CODES: [(Termination, &str); 29] = [
    (Termination::NORMAL, "as it should be"),
    (
        Termination::ANSWERED,
        "answered by Weir: a redirect, a fixed response, a storage area, or no route takes it; with a server's name: a file that the server has named",
    ),
    (
        Termination::BAD_REQUEST,
        "the request is broken, or denied: a fixed response with 4xx, or a body that is too large; a connection that does not begin as it must",
    ),
    (Termination::BAD_RESPONSE, "the response is broken"),
    (Termination::NO_SERVER, "no server could be connected to, or none is left"),
    (
        Termination::new(Cause::Resource, Phase::Connect),
        "no descriptor or no memory was left here for a connection to the server",
    ),
    (Termination::CONNECT_TIMEOUT, "the connection to the server was not made in time"),
    (Termination::BUSY, "every server is at its limit, and nobody (more) may wait"),
    (Termination::QUEUE_TIMEOUT, "every server was at its limit for too long"),
    (Termination::BREAKER_OPEN, "the pool's breaker is open: too many of its requests failed"),
    (Termination::NO_RESPONSE, "the server closed before its response's head was complete"),
    (Termination::RESPONSE_TIMEOUT, "the response did not begin in time"),
    (Termination::SERVER_BROKE_OFF, "the server broke off in the middle"),
    (Termination::SERVER_STALLED, "the server was silent for too long in the middle"),
    (
        Termination::REQUEST_TIMEOUT,
        "the request's head did not come in time, or what is waited for before it",
    ),
    (
        Termination::CLIENT_LEFT_IN_REQUEST,
        "the client went away within its request's head, or within what is waited for before it",
    ),
    (Termination::CLIENT_LEFT_IN_QUEUE, "the client went away while it waited for a server"),
    (
        Termination::CLIENT_LEFT_IN_CONNECT,
        "the client went away while the connection to the server was being made",
    ),
    (
        Termination::CLIENT_LEFT_IN_HEAD,
        "the client went away before the response began, perhaps within its own body",
    ),
    (Termination::CLIENT_LEFT_IN_DATA, "the client went away in the middle of the response"),
    (Termination::CLIENT_STALLED_IN_REQUEST, "the rest of the request did not come in time"),
    (
        Termination::CLIENT_STALLED,
        "the client took nothing for too long; TCP and tunnels: neither side sent anything",
    ),
    (
        Termination::new(Cause::Killed, Phase::Request),
        "the process stopped while the request's head was coming",
    ),
    (Termination::new(Cause::Killed, Phase::Queue), "the process stopped while it waited for a server"),
    (
        Termination::new(Cause::Killed, Phase::Connect),
        "the process stopped while the connection was being made",
    ),
    (Termination::new(Cause::Killed, Phase::Head), "the process stopped before the response began"),
    (Termination::new(Cause::Killed, Phase::Data), "the process stopped in the middle"),
    (
        Termination::new(Cause::Internal, Phase::Head),
        "Weir's own fault, before the response began, such as an upload that its server has confirmed and that cannot be made visible",
    ),
    (Termination::new(Cause::Internal, Phase::Data), "Weir's own fault, in the middle"),
];

impl Termination {
    /// Returns true if the reference page explains this code, as it must for every code that Weir writes.
    pub fn is_documented(self) -> bool {
        CODES.iter().any(|(code, _)| *code == self)
    }
}
