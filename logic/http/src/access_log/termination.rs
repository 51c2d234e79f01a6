//! Termination states in HAProxy's notation.

use std::fmt;

/// The termination state of a request in HAProxy's notation: the cause and the phase. HAProxy's third and
/// fourth letters are about cookies; here they are always `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Termination {
    /// Party or event that ended the request.
    pub cause: Cause,
    /// Phase in which the request ended.
    pub phase: Phase,
}

/// The party or event that ended a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// `-`: both sides finished.
    Finished,
    /// `C`: the client disconnected.
    Client,
    /// `S`: the server disconnected, refused the connection, or broke the protocol.
    Server,
    /// `P`: Weir refused the request or the response as malformed, or because of a rule.
    Proxy,
    /// `L`: Weir responded itself (redirect, fixed response).
    Local,
    /// `R`: a resource ran out (memory, descriptors, ports).
    Resource,
    /// `I`: an internal error in Weir.
    Internal,
    /// `D`: the server was marked down during the request.
    ServerDown,
    /// `K`: an operator ended the request, or the process stopped.
    Killed,
    /// `c`: a timeout of the client.
    ClientTimeout,
    /// `s`: a timeout of the server.
    ServerTimeout,
}

/// The phase in which a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// `-`: after the end of the exchange.
    Done,
    /// `R`: while the request arrived.
    Request,
    /// `Q`: while the request waited for a server.
    Queue,
    /// `C`: while Weir connected to the server.
    Connect,
    /// `H`: while Weir waited for the response head.
    Head,
    /// `D`: during the data transfer.
    Data,
    /// `L`: after the server had finished, but before the client had received everything.
    LastData,
    /// `T`: while the request was held in a tarpit.
    Tarpit,
}

impl Termination {
    /// `----`: a normal end.
    pub const NORMAL: Self = Self::new(Cause::Finished, Phase::Done);
    /// `LR--`: Weir responded itself.
    pub const ANSWERED: Self = Self::new(Cause::Local, Phase::Request);
    /// `PR--`: Weir refused a malformed or denied request.
    pub const BAD_REQUEST: Self = Self::new(Cause::Proxy, Phase::Request);
    /// `PH--`: Weir refused a malformed or denied response.
    pub const BAD_RESPONSE: Self = Self::new(Cause::Proxy, Phase::Head);
    /// `SC--`: no server accepted a connection, or no server is available.
    pub const NO_SERVER: Self = Self::new(Cause::Server, Phase::Connect);
    /// `sC--`: the connection attempt timed out.
    pub const CONNECT_TIMEOUT: Self = Self::new(Cause::ServerTimeout, Phase::Connect);
    /// `SQ--`: every server is at its limit, and the queue accepts no more requests.
    pub const BUSY: Self = Self::new(Cause::Server, Phase::Queue);
    /// `sQ--`: the time in the queue was over.
    pub const QUEUE_TIMEOUT: Self = Self::new(Cause::ServerTimeout, Phase::Queue);
    /// `PC--`: the circuit breaker of the pool is open.
    pub const BREAKER_OPEN: Self = Self::new(Cause::Proxy, Phase::Connect);
    /// `SH--`: the server closed the connection before its response head was complete.
    pub const NO_RESPONSE: Self = Self::new(Cause::Server, Phase::Head);
    /// `sH--`: the response head did not arrive in time.
    pub const RESPONSE_TIMEOUT: Self = Self::new(Cause::ServerTimeout, Phase::Head);
    /// `SD--`: the server disconnected in the middle of its response.
    pub const SERVER_BROKE_OFF: Self = Self::new(Cause::Server, Phase::Data);
    /// `sD--`: the server was silent for too long in the middle of the data.
    pub const SERVER_STALLED: Self = Self::new(Cause::ServerTimeout, Phase::Data);
    /// `CR--`: the client disconnected in the middle of its request.
    pub const CLIENT_LEFT_IN_REQUEST: Self = Self::new(Cause::Client, Phase::Request);
    /// `cR--`: the request did not arrive in time.
    pub const REQUEST_TIMEOUT: Self = Self::new(Cause::ClientTimeout, Phase::Request);
    /// `CQ--`: the client disconnected while it waited for a server.
    pub const CLIENT_LEFT_IN_QUEUE: Self = Self::new(Cause::Client, Phase::Queue);
    /// `CC--`: the client disconnected while Weir connected to the server.
    pub const CLIENT_LEFT_IN_CONNECT: Self = Self::new(Cause::Client, Phase::Connect);
    /// `CH--`: the client disconnected before the response began.
    pub const CLIENT_LEFT_IN_HEAD: Self = Self::new(Cause::Client, Phase::Head);
    /// `cH--`: the rest of the request did not arrive in time.
    pub const CLIENT_STALLED_IN_REQUEST: Self = Self::new(Cause::ClientTimeout, Phase::Head);
    /// `CD--`: the client disconnected in the middle of the response.
    pub const CLIENT_LEFT_IN_DATA: Self = Self::new(Cause::Client, Phase::Data);
    /// `cD--`: the client neither sent nor received anything for too long.
    pub const CLIENT_STALLED: Self = Self::new(Cause::ClientTimeout, Phase::Data);

    /// Creates a state from a cause and a phase.
    pub const fn new(cause: Cause, phase: Phase) -> Self {
        Self { cause, phase }
    }

    /// Returns the two letters for `tcplog`.
    pub const fn letters(self) -> [u8; 2] {
        let cause = match self.cause {
            Cause::Finished => b'-',
            Cause::Client => b'C',
            Cause::Server => b'S',
            Cause::Proxy => b'P',
            Cause::Local => b'L',
            Cause::Resource => b'R',
            Cause::Internal => b'I',
            Cause::ServerDown => b'D',
            Cause::Killed => b'K',
            Cause::ClientTimeout => b'c',
            Cause::ServerTimeout => b's',
        };
        let phase = match self.phase {
            Phase::Done => b'-',
            Phase::Request => b'R',
            Phase::Queue => b'Q',
            Phase::Connect => b'C',
            Phase::Head => b'H',
            Phase::Data => b'D',
            Phase::LastData => b'L',
            Phase::Tarpit => b'T',
        };
        [cause, phase]
    }

    /// Returns the four letters for `httplog`.
    pub const fn code(self) -> [u8; 4] {
        let [cause, phase] = self.letters();
        [cause, phase, b'-', b'-']
    }
}

impl fmt::Display for Termination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.code().iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}
