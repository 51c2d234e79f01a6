use std::fmt;

/// How a request ended, in HAProxy's code: who ended it, and in which phase. Its third and fourth letters tell of
/// cookies, and are always `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Termination {
    /// Who or what.
    pub cause: Cause,
    /// When.
    pub phase: Phase,
}

/// Who or what ended a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// `-`: both sides finished.
    Finished,
    /// `C`: the client went away.
    Client,
    /// `S`: the server went away, refused, or broke the protocol off.
    Server,
    /// `P`: Weir refused it: broken or denied by a rule, in either direction.
    Proxy,
    /// `L`: Weir answered it itself (redirect, fixed response).
    Local,
    /// `R`: a resource ran out (memory, descriptors, ports).
    Resource,
    /// `I`: Weir's own fault.
    Internal,
    /// `D`: the server was found down while it worked.
    ServerDown,
    /// `K`: an operator ended it, or the process stopped.
    Killed,
    /// `c`: the client took too long.
    ClientTimeout,
    /// `s`: the server took too long.
    ServerTimeout,
}

/// What was going on when a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// `-`: everything was done.
    Done,
    /// `R`: the request was still coming.
    Request,
    /// `Q`: it waited for a server.
    Queue,
    /// `C`: the connection to the server was being made.
    Connect,
    /// `H`: the response's head was awaited.
    Head,
    /// `D`: data flowed.
    Data,
    /// `L`: the server had finished, the client had not got everything.
    LastData,
    /// `T`: it was held in a tarpit.
    Tarpit,
}

impl Termination {
    /// `----`: as it should be.
    pub const NORMAL: Self = Self::new(Cause::Finished, Phase::Done);
    /// `LR--`: answered by Weir itself.
    pub const ANSWERED: Self = Self::new(Cause::Local, Phase::Request);
    /// `PR--`: a request that is broken or denied.
    pub const BAD_REQUEST: Self = Self::new(Cause::Proxy, Phase::Request);
    /// `PH--`: a response that is broken or denied.
    pub const BAD_RESPONSE: Self = Self::new(Cause::Proxy, Phase::Head);
    /// `SC--`: no server could be reached, or none is left.
    pub const NO_SERVER: Self = Self::new(Cause::Server, Phase::Connect);
    /// `sC--`: the connect timed out.
    pub const CONNECT_TIMEOUT: Self = Self::new(Cause::ServerTimeout, Phase::Connect);
    /// `SQ--`: every server is at its limit, and nobody may wait.
    pub const BUSY: Self = Self::new(Cause::Server, Phase::Queue);
    /// `sQ--`: the wait for a server timed out.
    pub const QUEUE_TIMEOUT: Self = Self::new(Cause::ServerTimeout, Phase::Queue);
    /// `PC--`: the pool's breaker keeps requests away.
    pub const BREAKER_OPEN: Self = Self::new(Cause::Proxy, Phase::Connect);
    /// `SH--`: the server closed before its response's head was complete.
    pub const NO_RESPONSE: Self = Self::new(Cause::Server, Phase::Head);
    /// `sH--`: the response's head did not come in time.
    pub const RESPONSE_TIMEOUT: Self = Self::new(Cause::ServerTimeout, Phase::Head);
    /// `SD--`: the server broke off in the middle of its response.
    pub const SERVER_BROKE_OFF: Self = Self::new(Cause::Server, Phase::Data);
    /// `sD--`: the server was silent for too long in the middle.
    pub const SERVER_STALLED: Self = Self::new(Cause::ServerTimeout, Phase::Data);
    /// `CR--`: the client went away within its request.
    pub const CLIENT_LEFT_IN_REQUEST: Self = Self::new(Cause::Client, Phase::Request);
    /// `cR--`: the request did not come in time.
    pub const REQUEST_TIMEOUT: Self = Self::new(Cause::ClientTimeout, Phase::Request);
    /// `CQ--`: the client went away while it waited for a server.
    pub const CLIENT_LEFT_IN_QUEUE: Self = Self::new(Cause::Client, Phase::Queue);
    /// `CC--`: the client went away while the connection to the server was being made.
    pub const CLIENT_LEFT_IN_CONNECT: Self = Self::new(Cause::Client, Phase::Connect);
    /// `CH--`: the client went away before the response began.
    pub const CLIENT_LEFT_IN_HEAD: Self = Self::new(Cause::Client, Phase::Head);
    /// `cH--`: the rest of the request did not come in time.
    pub const CLIENT_STALLED_IN_REQUEST: Self = Self::new(Cause::ClientTimeout, Phase::Head);
    /// `CD--`: the client went away in the middle of the response.
    pub const CLIENT_LEFT_IN_DATA: Self = Self::new(Cause::Client, Phase::Data);
    /// `cD--`: the client neither sent nor took anything for too long.
    pub const CLIENT_STALLED: Self = Self::new(Cause::ClientTimeout, Phase::Data);

    /// Who, and when.
    pub const fn new(cause: Cause, phase: Phase) -> Self {
        Self { cause, phase }
    }

    /// The two letters that `tcplog` has.
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

    /// The four letters that `httplog` has.
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
