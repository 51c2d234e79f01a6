//! What is kept of a request that Weir answers itself, for the line that is written when the answer has gone out: as far as it
//! does, which nobody knows before.

use std::io;
use std::sync::Arc;

use weir_http::Peer;
use weir_http::access_log::{Cause, Phase, Termination};

use super::answer::Unread;
use super::exchange::{Exchange, Hedged, Offloaded};
use super::request::{RequestCopy, RequestFacts};
use super::timing::Timing;
use crate::state::{PoolState, QueueAhead, ServerState};

/// What an answer's line is about.
#[derive(Debug)]
pub(super) enum Line {
    /// Something that could not be read as a request, or did not come in time.
    Unread(Box<Unread>),
    /// A request.
    Request(Box<AnsweredRequest>),
}

/// A request that Weir answers itself.
#[derive(Debug)]
pub(crate) struct AnsweredRequest {
    pub(crate) copy: Option<Box<RequestCopy>>,
    /// Empty = none.
    pub(crate) id: Box<str>,
    /// The client, where a trusted peer names it; `None` = the peer.
    pub(crate) client: Option<Box<Peer>>,
    pub(crate) route: Option<usize>,
    pub(crate) timing: Timing,
    /// Head included.
    pub(crate) bytes_in: u64,
    /// `None` = no pool was asked.
    pub(crate) tried: Option<Tried>,
    /// Why Weir answers.
    pub(crate) termination: Termination,
}

/// What a pool had done for a request that Weir answers in the place of its servers.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) pool: Arc<PoolState>,
    /// The last one.
    pub(crate) server: Option<Arc<ServerState>>,
    /// Requests in flight at that server, this one included.
    pub(crate) active: u32,
    pub(crate) retries: u8,
    pub(crate) redispatched: bool,
    pub(crate) hedged: Hedged,
    /// The server named a file, or a place for an upload.
    pub(crate) offloaded: bool,
    pub(crate) queue_ahead: QueueAhead,
}

impl AnsweredRequest {
    /// Of an exchange that has failed, and has no more use for its request.
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

    /// Of a request in whose service's place Weir answers. `bytes_in`: head included.
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

    /// How it ended, once its answer has gone out whole or not. What was wrong before stays the reason. `stops`: the process
    /// has cut what was left.
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
