//! Finds a server and a connection to it.

use std::rc::Rc;
use std::task::Context;

use super::{ClientSide, Exchange, State};
use crate::connect::connect;
use crate::http::outcome::Fault;
use crate::worker::{Choice, ServerConnection};

impl Exchange {
    pub(super) fn choose(&mut self, cx: &mut Context<'_>, client: &mut ClientSide<'_>) -> Result<(), Fault> {
        let plan = &self.pool.shared.plan;
        match self.pool.choose(client.worker, self.key, &self.tried) {
            Choice::Server(lease) => {
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
                let reusable = plan.proxy_protocol.is_none() && !self.fresh_only;
                let sure = !self.request.method.is_safe();
                let idle = if reusable {
                    lease.server.take_idle(cx, &plan.reuse, client.worker.now(), sure)
                } else {
                    None
                };
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
                Ok(())
            }
            Choice::Nobody => {
                self.pool.counters().nobody_left.one();
                Err(Fault::NobodyLeft)
            }
            Choice::Busy => self.queue(client),
        }
    }

    pub(super) fn queue(&mut self, client: &ClientSide<'_>) -> Result<(), Fault> {
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
        self.state = State::Queued(Box::pin(async move {
            let place = pool.shared.queue.enter();
            let freed = place.server_freed();
            // A server may have become free between the pick and here.
            if pool.is_busy() {
                freed.await;
            }
        }));
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
