//! Finds a server for a TCP connection and connects to it, trying others while nothing has been sent.

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use weir_balance::Rank;
use weir_http::access_log::Termination;
use weir_net::{Deadline, Socket};

use crate::connect::{ProxiedClient, connect};
use crate::http::Fault;
use crate::state::{Grant, Terms};
use crate::worker::{Choice, Lease, LocalPool, Pass, QueuePlace, ServerConnection, Worker};

/// A server that was reached.
pub(super) struct Reached {
    pub(super) lease: Lease,
    pub(super) connection: ServerConnection,
}

/// A client that waits for a server.
pub(super) struct Wait<'a> {
    pub(super) deadline: &'a Deadline,
    pub(super) client: &'a Socket,
    /// How long it has been in queues.
    pub(super) queue_us: u64,
    /// How many were served while it was in the last one.
    pub(super) queue_ahead: u32,
}

/// Why no server was reached.
pub(super) enum Unreached {
    Fault(Fault),
    ClientGone,
}

impl Unreached {
    /// How the access log has it.
    pub(super) fn termination(&self) -> Termination {
        match self {
            Self::Fault(fault) => fault.termination(),
            Self::ClientGone => Termination::CLIENT_LEFT_IN_QUEUE,
        }
    }
}

/// Chooses servers until one can be connected to, as often as the pool's retry rule permits.
pub(super) async fn reach(
    worker: &Worker,
    pool: &Rc<LocalPool>,
    source: Option<IpAddr>,
    client: Option<ProxiedClient>,
    wait: &mut Wait<'_>,
) -> Result<Reached, Unreached> {
    let plan = &pool.shared.plan;
    let mut tried = Vec::new();
    pool.counters().requests.one();
    let mut pass =
        Pass::ask(pool, Instant::now()).map_err(|wait| Unreached::Fault(Fault::BreakerOpen(wait)))?;
    let mut told = |good| {
        if let Some(pass) = &mut pass {
            pass.end(good, Instant::now());
        }
    };
    loop {
        let lease = choose(worker, pool, source, &tried, wait).await?;
        let opening = connect(Rc::clone(pool), Rc::clone(&lease.server), client);
        wait.deadline.arm(Instant::now(), plan.timeouts.connect.duration());
        lease.server.counters().requests.one();
        let fault = match before(wait.deadline, opening).await {
            Some(Ok(connection)) => {
                lease.server.shared.succeeded();
                told(true);
                return Ok(Reached { lease, connection });
            }
            Some(Err(error)) => Fault::Connect(error),
            None => Fault::ConnectTimeout,
        };
        pool.server_failed(&lease.server);
        let permitted = tried.len() < usize::from(plan.retry.attempts);
        if !permitted {
            told(false);
            return Err(Unreached::Fault(fault));
        }
        if !pool.shared.take_retry(Instant::now()) {
            pool.counters().retries_denied.one();
            told(false);
            return Err(Unreached::Fault(fault));
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
    source: Option<IpAddr>,
    tried: &[usize],
    wait: &mut Wait<'_>,
) -> Result<Lease, Unreached> {
    let choose = || match pool.choose(source, worker.random(), tried) {
        Choice::Server(lease) => Ok(Some(lease)),
        Choice::Nobody => {
            pool.counters().nobody_left.one();
            Err(Unreached::Fault(Fault::NobodyLeft))
        }
        Choice::Busy => Ok(None),
    };
    // Nobody overtakes those who wait.
    if pool.shared.queue.length() == 0
        && let Some(lease) = choose()?
    {
        return Ok(lease);
    }
    let plan = &pool.shared.plan;
    let patience = plan.timeouts.queue.duration();
    if patience.is_zero() {
        pool.counters().busy.one();
        return Err(Unreached::Fault(Fault::Busy));
    }
    let queued = Instant::now();
    let rank = Rank { client: pool.queue_client(source, |_| None), ..Rank::default() };
    let length_max = plan.queue.length_max.unwrap_or(u32::MAX);
    let entered = QueuePlace::enter(pool, &Terms { rank, length_max, patience }, queued);
    let mut place = entered.map_err(|refusal| {
        pool.counters().busy.one();
        Unreached::Fault(Fault::QueueRefused(refusal))
    })?;
    pool.counters().queued.one();
    wait.deadline.arm(queued, patience);
    loop {
        let grant = wait.called(&mut place).await.inspect_err(|why| {
            if matches!(why, Unreached::Fault(_)) {
                pool.counters().busy.one();
            }
        })?;
        wait.queue_ahead = grant.served_before;
        match choose()? {
            Some(lease) => {
                place.served(Instant::now());
                wait.queue_us += queued.elapsed().as_micros() as u64;
                pool.counters().queue_time.record(queued.elapsed().as_micros() as u64);
                return Ok(lease);
            }
            None => place.wait_on(),
        }
    }
}

impl Wait<'_> {
    /// Ready when it is this one's turn, too late, or the client has broken the connection.
    async fn called(&self, place: &mut QueuePlace) -> Result<Grant, Unreached> {
        poll_fn(|cx| match place.poll_called(cx) {
            Poll::Ready(grant) => Poll::Ready(Ok(grant)),
            Poll::Pending if self.deadline.poll_expired(cx) => {
                Poll::Ready(Err(Unreached::Fault(Fault::QueueTimeout)))
            }
            Poll::Pending => match self.client.poll_peek(cx, &mut [0]) {
                Poll::Ready(Err(_)) => Poll::Ready(Err(Unreached::ClientGone)),
                // One that has only ended its own direction may still want what the server says.
                _ => Poll::Pending,
            },
        })
        .await
    }
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
