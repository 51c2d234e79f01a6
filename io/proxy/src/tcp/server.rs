//! Finds a server for a TCP connection and connects to it, trying others while nothing has been sent.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use weir_balance::Key;
use weir_net::Deadline;

use crate::connect::{ProxiedClient, connect};
use crate::http::Fault;
use crate::sticky::{Bond, Bound};
use crate::worker::{Choice, Lease, LocalPool, ServerConnection, Worker};

/// A server that was reached.
pub(super) struct Reached {
    pub(super) lease: Lease,
    pub(super) connection: ServerConnection,
}

/// Chooses servers until one can be connected to, as often as the pool's retry rule permits.
pub(super) async fn reach(
    worker: &Worker,
    pool: &Rc<LocalPool>,
    key: Option<Key>,
    mut bond: Option<Bond>,
    client: Option<ProxiedClient>,
    deadline: &Deadline,
) -> Result<Reached, Fault> {
    let plan = &pool.shared.plan;
    let mut tried = Vec::new();
    let mut tries = 0;
    pool.counters().requests.one();
    pool.retry_budget.borrow_mut().request();
    loop {
        let lease = choose(worker, pool, key, &tried, bond.as_mut(), deadline).await?;
        let opening = connect(Rc::clone(pool), Rc::clone(&lease.server), client);
        deadline.arm(Instant::now(), plan.timeouts.connect.duration());
        lease.server.counters().requests.one();
        let fault = match before(deadline, opening).await {
            Some(Ok(connection)) => {
                lease.server.shared.succeeded();
                return Ok(Reached { lease, connection });
            }
            Some(Err(error)) => Fault::Connect(error),
            None => Fault::ConnectTimeout,
        };
        pool.server_failed(&lease.server);
        if tries >= plan.retry.attempts {
            return Err(fault);
        }
        if !pool.retry_budget.borrow_mut().take(worker.now_ms()) {
            pool.counters().retries_denied.one();
            return Err(fault);
        }
        pool.counters().retries.one();
        lease.server.counters().retries.one();
        tries += 1;
        if !bond.as_ref().is_some_and(Bond::is_faithful) {
            pool.counters().redispatches.one();
            lease.server.counters().redispatches.one();
            tried.push(lease.server.shared.slot);
        }
    }
}

async fn choose(
    worker: &Worker,
    pool: &Rc<LocalPool>,
    key: Option<Key>,
    tried: &[usize],
    mut bond: Option<&mut Bond>,
    deadline: &Deadline,
) -> Result<Lease, Fault> {
    let wait_max = pool.shared.plan.timeouts.queue.duration();
    let mut queued = None;
    worker.look_at_clock();
    loop {
        let bound = bond.as_mut().map_or(Bound::Free, |bond| bond.claim(pool, tried));
        let server = match bound {
            Bound::Gone => return Err(Fault::StickyGone),
            Bound::Wait(server) => Some(server),
            Bound::Server(lease) => return Ok(settled(pool, lease, bond, queued)),
            Bound::Free => match pool.choose(worker, key, tried) {
                Choice::Server(lease) => return Ok(settled(pool, lease, bond, queued)),
                Choice::Nobody => return Err(nobody_left(pool)),
                Choice::Busy => None,
            },
        };
        if wait_max.is_zero() {
            pool.counters().busy.one();
            return Err(Fault::Busy);
        }
        if queued.is_none() {
            let now = Instant::now();
            queued = Some(now);
            pool.counters().queued.one();
            deadline.arm(now, wait_max);
        }
        let pool_waits = Rc::clone(pool);
        let in_time = match server {
            Some(server) => before(deadline, pool_waits.server_freed(server)).await,
            None => before(deadline, pool_waits.any_freed()).await,
        };
        if in_time.is_none() {
            pool.counters().busy.one();
            return Err(Fault::QueueTimeout);
        }
    }
}

/// Counts a server as chosen. `queued` = since when the connection has waited.
fn settled(pool: &LocalPool, lease: Lease, bond: Option<&mut Bond>, queued: Option<Instant>) -> Lease {
    if let Some(queued) = queued {
        pool.counters().queue_time.record(queued.elapsed().as_micros() as u64);
    }
    if let Some(bond) = bond {
        bond.settled(&lease.server.shared, pool.counters(), Instant::now());
    }
    lease
}

fn nobody_left(pool: &LocalPool) -> Fault {
    pool.counters().nobody_left.one();
    Fault::NobodyLeft
}

/// What `future` yields, or `None` once the deadline has passed.
async fn before<T>(deadline: &Deadline, future: impl Future<Output = T>) -> Option<T> {
    let mut future = Box::pin(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if deadline.poll_expired(cx) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}
