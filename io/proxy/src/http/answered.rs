//! Keeps the facts of a request that Weir answers itself until its access log line is written. The line is
//! written after the response, because only then is it known how much was sent.

use std::io;
use std::sync::Arc;

use weir_http::Peer;
use weir_http::access_log::{Cause, Phase, Termination};

use super::answer::Unread;
use super::exchange::{Exchange, Hedged, Offloaded};
use super::request::{RequestCopy, RequestFacts};
use super::timing::Timing;
use crate::state::{PoolState, QueueAhead, ServerState};

/// Subject of a response's log line.
#[derive(Debug)]
pub(super) enum Line {
    /// A request that could not be parsed, or did not arrive in time.
    Unread(Box<Unread>),
    /// A request.
    Request(Box<AnsweredRequest>),
}

/// A request that Weir answers itself.
#[derive(Debug)]
pub(crate) struct AnsweredRequest {
    pub(crate) copy: Option<Box<RequestCopy>>,
    /// Id of the request; empty = none.
    pub(crate) id: Box<str>,
    /// Client, if a trusted peer names it; `None` = the peer.
    pub(crate) client: Option<Box<Peer>>,
    pub(crate) route: Option<usize>,
    pub(crate) timing: Timing,
    /// Bytes received, including the head.
    pub(crate) bytes_in: u64,
    /// Work of a pool for the request; `None` = no pool was involved.
    pub(crate) tried: Option<Tried>,
    /// Reason why Weir answers.
    pub(crate) termination: Termination,
}

/// Work of a pool for a request that Weir answers in place of its servers.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) pool: Arc<PoolState>,
    /// Server of the last try.
    pub(crate) server: Option<Arc<ServerState>>,
    /// Requests in flight at that server, including this one.
    pub(crate) active: u32,
    pub(crate) retries: u8,
    pub(crate) redispatched: bool,
    pub(crate) hedged: Hedged,
    /// True if the server named a file, or a path for an upload.
    pub(crate) offloaded: bool,
    pub(crate) queue_ahead: QueueAhead,
}

impl AnsweredRequest {
    /// Takes the facts from a failed exchange, which no longer needs its request.
    pub(super) fn of_exchange(exchange: &mut Exchange, termination: Termination) -> Self {
        let taken = exchange.taken_bytes();
        let head_bytes = u64::from(exchange.request.head_bytes);
        let server = exchange.lease().map(|lease| Arc::clone(&lease.server.shared));
        let tried = Tried {
            pool: Arc::clone(&exchange.pool.shared),
            active: active(server.as_deref()),
            server,
            retries: exchange.retries,
            redispatched: exchange.redispatched,
            hedged: exchange.hedged,
            offloaded: taken.is_some(),
            queue_ahead: exchange.queue_ahead,
        };
        let bytes_in = head_bytes + exchange.upload.bytes_read + taken.unwrap_or_default();
        let timing = exchange.timing;
        Self::of(&mut exchange.request, timing, bytes_in, Some(tried), termination)
    }

    /// Takes the facts from a request that Weir answers in place of its service. `bytes_in` includes the
    /// head.
    pub(super) fn of_service(
        request: &mut RequestFacts,
        timing: Timing,
        bytes_in: u64,
        offloaded: Option<&Offloaded>,
        termination: Termination,
    ) -> Self {
        let tried = offloaded.map(|it| Tried {
            pool: Arc::clone(&it.pool.shared),
            server: it.server.clone(),
            active: active(it.server.as_deref()),
            retries: it.retries,
            redispatched: it.redispatched,
            hedged: it.hedged,
            offloaded: true,
            queue_ahead: it.queue_ahead,
        });
        Self::of(request, timing, bytes_in, tried, termination)
    }

    fn of(
        request: &mut RequestFacts,
        timing: Timing,
        bytes_in: u64,
        tried: Option<Tried>,
        termination: Termination,
    ) -> Self {
        Self {
            copy: request.copy.take(),
            id: std::mem::take(&mut request.id),
            client: request.client.take(),
            route: Some(request.route),
            timing,
            bytes_in,
            tried,
            termination,
        }
    }

    /// Returns the termination code once the response has been sent completely or not. An earlier error stays
    /// the reason. `stops`: a shutdown has cut the connection.
    pub(super) fn ended(&self, sent: &io::Result<()>, stops: bool) -> Termination {
        match sent {
            Err(error) if self.termination == Termination::ANSWERED => match error.kind() {
                _ if stops => Termination::new(Cause::Killed, Phase::Data),
                io::ErrorKind::TimedOut => Termination::CLIENT_STALLED,
                _ => Termination::CLIENT_LEFT_IN_DATA,
            },
            _ => self.termination,
        }
    }
}

fn active(server: Option<&ServerState>) -> u32 {
    server.map_or(0, |server| server.load.active())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn only_where_nothing_was_wrong_before_is_the_client_the_reason() {
        let now = Instant::now();
        let request = |termination| AnsweredRequest {
            copy: None,
            id: Box::default(),
            client: None,
            route: None,
            timing: Timing::new(now, now),
            bytes_in: 0,
            tried: None,
            termination,
        };
        let broken = || -> io::Result<()> { Err(io::ErrorKind::BrokenPipe.into()) };
        let late = || -> io::Result<()> { Err(io::ErrorKind::TimedOut.into()) };
        let answered = request(Termination::ANSWERED);
        assert_eq!(answered.ended(&Ok(()), false), Termination::ANSWERED);
        assert_eq!(answered.ended(&broken(), false), Termination::CLIENT_LEFT_IN_DATA);
        assert_eq!(answered.ended(&late(), false), Termination::CLIENT_STALLED);
        assert_eq!(answered.ended(&late(), true), Termination::new(Cause::Killed, Phase::Data));
        assert_eq!(request(Termination::NO_SERVER).ended(&broken(), false), Termination::NO_SERVER);
    }
}
