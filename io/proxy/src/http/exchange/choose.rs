//! Finds a server and a connection to it.

use std::rc::Rc;
use std::task::Context;

use super::{ClientSide, Exchange, State};
use crate::connect::connect;
use crate::http::outcome::Fault;
use crate::state::Terms;
use crate::worker::{Choice, QueuePlace, ServerConnection};

impl Exchange {
    pub(super) fn choose(&mut self, cx: &mut Context<'_>, client: &mut ClientSide<'_>) -> Result<(), Fault> {
        let plan = &self.pool.shared.plan;
        // Nobody overtakes those who wait.
        if self.place.is_none() && self.pool.shared.queue.length() > 0 {
            return self.queue(client);
        }
        match self.pool.choose(self.source, client.worker.random(), &self.tried) {
            Choice::Server(lease) => {
                let now = client.worker.now();
                if let Some(place) = self.place.take() {
                    place.served(now);
                    self.pool.counters().queue_time.record(self.timing.waited(now).as_micros() as u64);
                }
                self.timing.chosen(now);
                lease.server.counters().requests.one();
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
        let now = client.worker.now();
        let plan = &self.pool.shared.plan;
        let patience = plan.timeouts.queue.duration();
        match &mut self.place {
            Some(place) => place.wait_on(),
            None if patience.is_zero() => {
                self.pool.counters().busy.one();
                return Err(Fault::Busy);
            }
            None => {
                let length_max = plan.queue.length_max.unwrap_or(u32::MAX);
                let terms = Terms { rank: self.rank, length_max, patience };
                let entered = QueuePlace::enter(&self.pool, &terms, now);
                self.place = Some(entered.map_err(|refusal| {
                    self.pool.counters().busy.one();
                    Fault::QueueRefused(refusal)
                })?);
                self.timing.queued(now);
                self.pool.counters().queued.one();
            }
        }
        client.deadline.arm(now, patience.saturating_sub(self.timing.waited(now)));
        self.state = State::Queued;
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
