//! Finds a server for a TCP connection and connects to it, trying others while nothing has been sent.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use weir_balance::Key;
use weir_net::Deadline;

use crate::connect::{ProxiedClient, connect};
use crate::http::Fault;
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
    client: Option<ProxiedClient>,
    deadline: &Deadline,
) -> Result<Reached, Fault> {
    let plan = &pool.shared.plan;
    let mut tried = Vec::new();
    pool.counters().requests.one();
    pool.retry_budget.borrow_mut().request();
    loop {
        let lease = choose(worker, pool, key, &tried, deadline).await?;
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
        let permitted = tried.len() < usize::from(plan.retry.attempts);
        if !permitted {
            return Err(fault);
        }
        if !pool.retry_budget.borrow_mut().take(worker.now_ms()) {
            pool.counters().retries_denied.one();
            return Err(fault);
        }
        pool.counters().retries.one();
        pool.counters().redispatches.one();
        lease.server.counters().retries.one();
        lease.server.counters().redispatches.one();
        tried.push(lease.server.shared.slot);
    }
}

async fn choose(
    worker: &Worker,
    pool: &Rc<LocalPool>,
    key: Option<Key>,
    tried: &[usize],
    deadline: &Deadline,
) -> Result<Lease, Fault> {
    let wait_max = pool.shared.plan.timeouts.queue.duration();
    worker.look_at_clock();
    match pool.choose(worker, key, tried) {
        Choice::Server(lease) => return Ok(lease),
        Choice::Nobody => return Err(nobody_left(pool)),
        Choice::Busy if wait_max.is_zero() => {
            pool.counters().busy.one();
            return Err(Fault::Busy);
        }
        Choice::Busy => {}
    }
    let queued = Instant::now();
    let place = pool.shared.queue.enter();
    pool.counters().queued.one();
    deadline.arm(queued, wait_max);
    loop {
        let freed = place.server_freed();
        match pool.choose(worker, key, tried) {
            Choice::Server(lease) => {
                pool.counters().queue_time.record(queued.elapsed().as_micros() as u64);
                return Ok(lease);
            }
            Choice::Nobody => return Err(nobody_left(pool)),
            Choice::Busy if before(deadline, freed).await.is_none() => {
                pool.counters().busy.one();
                return Err(Fault::QueueTimeout);
            }
            Choice::Busy => {}
        }
    }
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
