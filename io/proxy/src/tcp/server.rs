//! Finds a server for a TCP connection and connects to it, trying others while nothing has been sent.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_balance::Rank;
use weir_http::access_log::{Cause, Phase, Termination};
use weir_net::{Deadline, Socket};

use crate::connect::{ProxiedClient, connect};
use crate::http::{Fault, Place};
use crate::state::{QueueAhead, Terms};
use crate::sticky::{Bond, Bound};
use crate::worker::{
    Choice, Lease, LocalPool, LocalServer, Pass, QueuePlace, ServerConnection, Wanted, Worker,
};

/// A server with an open connection.
pub(super) struct Reached {
    pub(super) lease: Lease,
    pub(super) connection: ServerConnection,
}

/// A client that waits for a server.
pub(super) struct Wait<'a> {
    pub(super) deadline: &'a Deadline,
    pub(super) client: &'a Socket,
    /// Time spent in queues so far.
    pub(super) queue_us: u64,
    /// Number of requests served while it was in the last queue.
    pub(super) queue_ahead: QueueAhead,
    pub(super) tries: Tries,
}

/// Tries made to reach a server.
#[derive(Default)]
pub(super) struct Tries {
    pub(super) retries: u32,
    /// True if a try went to another server than the one before.
    pub(super) redispatched: bool,
    /// Server of the last try, successful or not.
    pub(super) server: Option<Rc<LocalServer>>,
}

/// Reason why no server was reached.
pub(super) enum Unreached {
    Fault(Fault),
    /// The client has broken the connection meanwhile.
    ClientGone(Phase),
}

impl Unreached {
    /// Returns the termination code for the access log.
    pub(super) fn termination(&self) -> Termination {
        match self {
            Self::Fault(fault) => fault.termination(),
            Self::ClientGone(phase) => Termination::new(Cause::Client, *phase),
        }
    }
}

/// Chooses servers until one accepts a connection, as often as the pool's retry rule permits.
pub(super) async fn reach(
    worker: &Rc<Worker>,
    pool: &Rc<LocalPool>,
    place: Place,
    mut bond: Option<Bond>,
    client: Option<ProxiedClient>,
    wait: &mut Wait<'_>,
) -> Result<Reached, Unreached> {
    let plan = &pool.shared.plan;
    let mut tried = Vec::new();
    let mut tries = 0;
    let mut retrying = None;
    // Server that failed the last try. Only the next choice shows whether the connection moves to another
    // server.
    let mut left: Option<Rc<LocalServer>> = None;
    pool.counters().requests.one();
    let mut pass =
        Pass::ask(pool, Instant::now()).map_err(|wait| Unreached::Fault(Fault::BreakerOpen(wait)))?;
    let mut told = |good| {
        if let Some(pass) = &mut pass {
            pass.end(good, Instant::now());
        }
    };
    loop {
        let lease = choose(worker, pool, place, &tried, bond.as_mut(), wait).await?;
        wait.tries.server = Some(Rc::clone(&lease.server));
        if let Some(left) = left.take()
            && left.shared.uid != lease.server.shared.uid
        {
            wait.tries.redispatched = true;
            pool.counters().redispatches.one();
            left.counters().redispatches.one();
        }
        let opening = connect(Rc::clone(worker), Rc::clone(pool), Rc::clone(&lease.server), client);
        wait.deadline.arm(Instant::now(), plan.timeouts.connect.duration());
        lease.server.counters().requests.one();
        let fault = match wait.connected(opening).await? {
            Some(Ok(connection)) => {
                lease.server.shared.succeeded();
                pool.server_serves(&lease);
                told(true);
                return Ok(Reached { lease, connection });
            }
            // A local shortage: another try would fail in the same way.
            Some(Err(error)) if error.is_own() => return Err(Unreached::Fault(Fault::Connect(error))),
            Some(Err(error)) => Fault::Connect(error),
            None => Fault::ConnectTimeout,
        };
        pool.server_failed(&lease);
        if tries >= plan.retry.attempts {
            told(false);
            return Err(Unreached::Fault(fault));
        }
        // The former retry is over.
        drop(retrying.take());
        retrying = pool.shared.take_retry_of_lost(Instant::now());
        if retrying.is_none() {
            pool.counters().retries_denied.one();
            told(false);
            return Err(Unreached::Fault(fault));
        }
        pool.counters().retries.one();
        lease.server.counters().retries.one();
        tries += 1;
        wait.tries.retries += 1;
        if !bond.as_ref().is_some_and(Bond::is_faithful) {
            tried.push(lease.server.shared.slot);
            left = Some(Rc::clone(&lease.server));
        }
    }
}

async fn choose(
    worker: &Worker,
    pool: &Rc<LocalPool>,
    place: Place,
    tried: &[usize],
    mut bond: Option<&mut Bond>,
    wait: &mut Wait<'_>,
) -> Result<Lease, Unreached> {
    let mut queued: Option<QueuePlace> = None;
    let mut since = None;
    let (lease, now) = loop {
        let now = worker.look_at_clock();
        // A connection that was called for one server may have it.
        let is_next = |place: &QueuePlace| place.is_for_any() || bond.is_none();
        let is_in_line = queued.as_ref().is_some_and(is_next);
        let known = bond.as_ref().and_then(|bond| bond.wanted());
        if let Some(lease) = queued.as_mut().and_then(|queued| queued.redeem(known, place.key)) {
            break (lease, now);
        }
        let bound = bond.as_mut().map_or(Bound::Free, |bond| bond.claim(pool, tried, queued.as_ref()));
        let wanted = match bound {
            Bound::Gone => return Err(Unreached::Fault(Fault::StickyGone)),
            Bound::Wait(wanted) => wanted,
            Bound::Server(lease) => break (lease, now),
            // A new connection must not overtake the waiting ones.
            Bound::Free if pool.shared.queue.length() > 0 && !is_in_line => Wanted::Any,
            Bound::Free => match pool.choose_or_divert(worker, place.key, tried, queued.as_ref()) {
                Choice::Server(lease) => break (lease, now),
                Choice::Nobody => {
                    pool.counters().nobody_left.one();
                    return Err(Unreached::Fault(Fault::NobodyLeft));
                }
                Choice::Busy => Wanted::Any,
                Choice::Full(server) => Wanted::Server(server),
            },
        };
        let since = *since.get_or_insert(now);
        let waits = wait.stand(pool, queued.take(), wanted, place.rank, now - since);
        let called = match waits {
            Ok(place) => wait.called(queued.insert(place)).await,
            Err(fault) => Err(Unreached::Fault(fault)),
        };
        wait.queue_ahead = called.inspect_err(|why| {
            if matches!(why, Unreached::Fault(_)) {
                pool.counters().busy.one();
            }
        })?;
    };
    if let (Some(queued), Some(since)) = (queued, since) {
        queued.served(now);
        let waited_us = now.saturating_duration_since(since).as_micros() as u64;
        wait.queue_us += waited_us;
        pool.counters().queue_time.record(waited_us);
    }
    if let Some(bond) = bond {
        bond.settled(&lease.server.shared, pool.counters(), now);
    }
    Ok(lease)
}

impl Wait<'_> {
    /// Enters a queue, or stays in it (`queued`). `waited`: time spent waiting in this try.
    fn stand(
        &self,
        pool: &Rc<LocalPool>,
        queued: Option<QueuePlace>,
        wanted: Wanted,
        rank: Rank,
        waited: Duration,
    ) -> Result<QueuePlace, Fault> {
        if let Some(mut queued) = queued {
            if queued.is_for(&wanted) {
                queued.wait_on();
                return Ok(queued);
            }
            // A place granted there goes to the next one in that queue.
            drop(queued);
        }
        let patience = pool.shared.plan.timeouts.queue.duration();
        if patience.is_zero() {
            return Err(Fault::Busy);
        }
        let patience = left(patience, self.queue_us, waited);
        if patience.is_zero() {
            return Err(Fault::QueueTimeout);
        }
        let now = Instant::now();
        let terms = Terms { rank, patience };
        let place = QueuePlace::enter(pool, wanted, &terms, now).map_err(Fault::QueueRefused)?;
        if waited.is_zero() {
            pool.counters().queued.one();
        }
        self.deadline.arm(now, terms.patience);
        Ok(place)
    }

    /// Becomes ready when it is this connection's turn, when the wait is over, or when the client has broken
    /// the connection.
    async fn called(&self, place: &mut QueuePlace) -> Result<QueueAhead, Unreached> {
        poll_fn(|cx| match place.poll_called(cx) {
            Poll::Ready(ahead) => Poll::Ready(Ok(ahead)),
            Poll::Pending if self.deadline.poll_expired(cx) => {
                Poll::Ready(Err(Unreached::Fault(Fault::QueueTimeout)))
            }
            Poll::Pending => self.gone(cx, Phase::Queue),
        })
        .await
    }

    /// Returns the result of connecting; `None` = the time limit passed.
    async fn connected<T>(&self, opening: impl Future<Output = T>) -> Result<Option<T>, Unreached> {
        let mut opening = Box::pin(opening);
        poll_fn(|cx| match opening.as_mut().poll(cx) {
            Poll::Ready(opened) => Poll::Ready(Ok(Some(opened))),
            Poll::Pending if self.deadline.poll_expired(cx) => Poll::Ready(Ok(None)),
            Poll::Pending => self.gone(cx, Phase::Connect),
        })
        .await
    }

    /// Becomes ready if the client has broken the connection. A client that has only ended its own direction
    /// may still read the server's bytes.
    fn gone<T>(&self, cx: &mut Context<'_>, phase: Phase) -> Poll<Result<T, Unreached>> {
        if self.client.is_broken(cx) { Poll::Ready(Err(Unreached::ClientGone(phase))) } else { Poll::Pending }
    }
}

/// Returns how much longer a connection may wait in a queue, after `before_us` in earlier tries and `waited`
/// in this one. The limit covers all tries, so a failed server does not prolong the wait.
fn left(patience: Duration, before_us: u64, waited: Duration) -> Duration {
    patience.saturating_sub(Duration::from_micros(before_us)).saturating_sub(waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_for_all_tries_together() {
        let ms = Duration::from_millis;
        assert_eq!(left(ms(500), 0, ms(0)), ms(500));
        assert_eq!(left(ms(500), 200_000, ms(100)), ms(200));
        assert_eq!(left(ms(500), 500_000, ms(0)), ms(0));
        assert_eq!(left(ms(500), 400_000, ms(101)), ms(0));
    }
}
