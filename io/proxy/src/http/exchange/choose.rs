//! Chooses a server for an exchange and gets a connection to it.

use std::rc::Rc;

use super::{ClientSide, Exchange, State};
use crate::connect::connect;
use crate::http::outcome::Fault;
use crate::state::Terms;
use crate::sticky::Bound;
use crate::worker::{Choice, Done, Lease, QueuePlace, ServerConnection, Wanted};

impl Exchange {
    pub(super) fn choose(&mut self, client: &mut ClientSide<'_>) -> Result<(), Fault> {
        if let Some(lease) = self.redeem() {
            self.chosen(lease, client);
            return Ok(());
        }
        let waited = self.queued.as_deref();
        if let Some(bond) = &mut self.bond {
            match bond.claim(&self.pool, &self.tried, waited) {
                Bound::Server(lease) => {
                    self.chosen(lease, client);
                    return Ok(());
                }
                Bound::Wait(wanted) => return self.queue(client, wanted),
                Bound::Gone => return Err(Fault::StickyGone),
                Bound::Free => {}
            }
        }
        // A new request must not overtake the waiting ones. A request that was called for one server may have
        // it.
        let is_called = |place: &QueuePlace| place.is_for_any() || self.bond.is_none();
        if self.pool.shared.queue.length() > 0 && !waited.is_some_and(is_called) {
            return self.queue(client, Wanted::Any);
        }
        match self.pool.choose_or_divert(client.worker, self.place.key, &self.tried, waited) {
            Choice::Server(lease) => {
                self.chosen(lease, client);
                Ok(())
            }
            Choice::Nobody => {
                self.pool.counters().nobody_left.one();
                Err(Fault::NobodyLeft)
            }
            Choice::Busy => self.queue(client, Wanted::Any),
            Choice::Full(server) => self.queue(client, Wanted::Server(server)),
        }
    }

    /// Takes the lease of the place for which the request was called, if it can still use that place.
    fn redeem(&mut self) -> Option<Lease> {
        let known = self.bond.as_ref().and_then(|bond| bond.wanted());
        self.queued.as_mut()?.redeem(known, self.place.key)
    }

    /// Takes an idle connection to the server of `lease`, or opens one.
    fn chosen(&mut self, lease: Lease, client: &mut ClientSide<'_>) {
        let plan = &self.pool.shared.plan;
        let now = client.worker.now();
        if let Some(queued) = self.queued.take() {
            queued.served(now);
            let stay = self.timing.left_queue(now);
            self.pool.counters().queue_time.record(stay.as_micros() as u64);
        }
        self.timing.chosen(now);
        lease.server.note(Done::Chosen);
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
        let idle = if reusable { lease.server.take_idle(&plan.reuse, now, sure) } else { None };
        let server = Rc::clone(&lease.server);
        self.lease = Some(lease);
        match idle {
            Some(connection) => self.run_over(connection, true, client),
            None => {
                // Resets the flag of an earlier try: if this connect fails, that is the server's failure.
                self.reused = false;
                client.deadline.arm(client.worker.now(), plan.timeouts.connect.duration());
                let opening =
                    connect(Rc::clone(client.worker), Rc::clone(&self.pool), server, client.proxied);
                self.state = State::Connecting(Box::pin(opening));
            }
        }
    }

    /// Waits in a queue for `wanted`.
    #[cold]
    pub(super) fn queue(&mut self, client: &ClientSide<'_>, wanted: Wanted) -> Result<(), Fault> {
        let now = client.worker.now();
        let plan = &self.pool.shared.plan;
        let patience = plan.timeouts.queue.duration();
        let was_queued = self.queued.is_some();
        // The limit covers all tries, so a failed server does not prolong the wait.
        let left = patience.saturating_sub(self.timing.waited(now));
        match &mut self.queued {
            None if patience.is_zero() => {
                self.pool.counters().busy.one();
                return Err(Fault::Busy);
            }
            _ if left.is_zero() => {
                self.pool.counters().busy.one();
                return Err(Fault::QueueTimeout);
            }
            Some(queued) if queued.is_for(&wanted) => queued.wait_on(),
            queued => {
                // A place granted in the former queue goes to the next request there.
                *queued = None;
                let terms = Terms { rank: self.place.rank, patience: left };
                let entered = QueuePlace::enter(&self.pool, wanted, &terms, now);
                *queued = Some(Box::new(entered.map_err(|refusal| {
                    self.pool.counters().busy.one();
                    Fault::QueueRefused(refusal)
                })?));
                if !was_queued {
                    self.timing.queued(now);
                    self.pool.counters().queued.one();
                }
            }
        }
        client.deadline.arm(now, left);
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
        if self.upload.is_read() {
            // Only the head is left to send, which nearly always succeeds at once. The deadline is set only
            // if the exchange must wait.
            self.arm_when_waiting();
        } else {
            self.arm(client);
        }
    }
}
