//! Finds a server and a connection to it.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context;

use super::{ClientSide, Exchange, State};
use crate::connect::connect;
use crate::http::outcome::Fault;
use crate::sticky::Bound;
use crate::worker::{Choice, Lease, LocalServer, ServerConnection};

impl Exchange {
    pub(super) fn choose(&mut self, cx: &mut Context<'_>, client: &mut ClientSide<'_>) -> Result<(), Fault> {
        if let Some(bond) = &mut self.bond {
            match bond.claim(&self.pool, &self.tried) {
                Bound::Server(lease) => {
                    self.chosen(lease, cx, client);
                    return Ok(());
                }
                Bound::Wait(server) => return self.queue(client, Some(server)),
                Bound::Gone => return Err(Fault::StickyGone),
                Bound::Free => {}
            }
        }
        match self.pool.choose(client.worker, self.key, &self.tried) {
            Choice::Server(lease) => {
                self.chosen(lease, cx, client);
                Ok(())
            }
            Choice::Nobody => {
                self.pool.counters().nobody_left.one();
                Err(Fault::NobodyLeft)
            }
            Choice::Busy => self.queue(client, None),
        }
    }

    /// The request is `lease`'s: takes a connection to that server, or opens one.
    fn chosen(&mut self, lease: Lease, cx: &mut Context<'_>, client: &mut ClientSide<'_>) {
        let plan = &self.pool.shared.plan;
        let now = client.worker.now();
        if self.timing.is_queued() {
            self.pool.counters().queue_time.record(self.timing.waited(now).as_micros() as u64);
        }
        self.timing.chosen(now);
        lease.server.counters().requests.one();
        if let Some(left) = self.left.take()
            && left.shared.uid != lease.server.shared.uid
        {
            self.redispatched = true;
            self.pool.counters().redispatches.one();
            left.counters().redispatches.one();
        }
        if let Some(bond) = &mut self.bond {
            bond.settled(&lease.server.shared, self.pool.counters(), now);
        }
        let reusable = plan.proxy_protocol.is_none() && !self.fresh_only;
        let sure = !self.request.method.is_safe();
        let idle = if reusable { lease.server.take_idle(cx, &plan.reuse, now, sure) } else { None };
        let server = Rc::clone(&lease.server);
        self.lease = Some(lease);
        match idle {
            Some(connection) => {
                server.counters().reuses.one();
                self.run_over(connection, true, client);
            }
            None => {
                // Whatever the try before this one used: if this connect fails, that is the server's failure.
                self.reused = false;
                client.deadline.arm(client.worker.now(), plan.timeouts.connect.duration());
                let opening = connect(Rc::clone(&self.pool), server, client.proxied);
                self.state = State::Connecting(Box::pin(opening));
            }
        }
    }

    /// Waits until any server, or this one, may have become free.
    pub(super) fn queue(
        &mut self,
        client: &ClientSide<'_>,
        server: Option<Rc<LocalServer>>,
    ) -> Result<(), Fault> {
        let wait_max = self.pool.shared.plan.timeouts.queue.duration();
        let waited = self.timing.waited(client.worker.now());
        if waited >= wait_max {
            self.pool.counters().busy.one();
            return Err(if wait_max.is_zero() { Fault::Busy } else { Fault::QueueTimeout });
        }
        if !self.timing.is_queued() {
            self.timing.queued(client.worker.now());
            self.pool.counters().queued.one();
        }
        client.deadline.arm(client.worker.now(), wait_max - waited);
        let pool = Rc::clone(&self.pool);
        let freed: Pin<Box<dyn Future<Output = ()>>> = match server {
            Some(server) => Box::pin(pool.server_freed(server)),
            None => Box::pin(pool.any_freed()),
        };
        self.state = State::Queued(freed);
        Ok(())
    }

    pub(super) fn run_over(
        &mut self,
        mut connection: ServerConnection,
        reused: bool,
        client: &ClientSide<'_>,
    ) {
        connection.requests += 1;
        self.connection = Some(connection);
        self.reused = reused;
        self.head_sent = 0;
        self.timing.connected(client.worker.now());
        self.state = State::Running;
        self.arm(client);
    }
}
