use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::oneshot;
use weir_balance::{Standing, Ticket};
use weir_config::plan::Fairness;

use super::pool::LocalView;
use super::{LocalPool, LocalServer};
use crate::state::{Grant, QueueAhead, Refusal, RequestQueue, Terms};

/// A place in the queue in front of a pool, or of one of its servers. Dropping it gives it up.
pub(crate) struct QueuePlace {
    pool: Rc<LocalPool>,
    /// It waits for this one, and no other will do.
    server: Option<Rc<LocalServer>>,
    ticket: Ticket,
    called: oneshot::Receiver<Grant>,
    /// It was the one who chose.
    is_served: bool,
}

impl QueuePlace {
    /// Waits in front of `pool`, or of one of its servers, if one may.
    pub(crate) fn enter(
        pool: &Rc<LocalPool>,
        server: Option<Rc<LocalServer>>,
        terms: &Terms,
        now: Instant,
    ) -> Result<Self, Refusal> {
        let all = &pool.shared.queue;
        let queue = server.as_ref().map_or(&**all, |server| &server.shared.bound);
        // The limit is for all of the pool's queues together.
        let elsewhere = all.length_in_all().saturating_sub(queue.length());
        let length_max = pool.shared.plan.queue.length_max.unwrap_or(u32::MAX).saturating_sub(elsewhere);
        let entered = queue.enter(terms, length_max, now);
        let (ticket, called) = entered.inspect_err(|refusal| all.count_refusal(refusal.cause))?;
        if server.is_some() {
            all.count_bound(true);
        }
        let place = Self { pool: Rc::clone(pool), server, ticket, called, is_served: false };
        place.revise();
        Ok(place)
    }

    /// Whether it waits for any server.
    pub(crate) fn is_for_any(&self) -> bool {
        self.server.is_none()
    }

    /// Whether it waits for this server; `None` = any.
    pub(crate) fn is_for(&self, server: Option<&Rc<LocalServer>>) -> bool {
        self.server.as_ref().map(|own| own.shared.uid) == server.map(|other| other.shared.uid)
    }

    /// Ready when there is room for this one: choose at once. Says how many were served meanwhile. Not to be called again
    /// until [`QueuePlace::wait_on`].
    pub(crate) fn poll_called(&mut self, cx: &mut Context<'_>) -> Poll<QueueAhead> {
        // The queue goes only with what is held here: its end of the channel is never dropped unused.
        let called = Pin::new(&mut self.called).poll(cx);
        called.map(|called| {
            let served = called.map_or(0, |grant| grant.served_before);
            match self.server {
                Some(_) => QueueAhead { server: served, pool: 0 },
                None => QueueAhead { server: 0, pool: served },
            }
        })
    }

    /// A server was chosen.
    pub(crate) fn served(mut self, now: Instant) {
        self.is_served = true;
        self.queue().served(now);
        self.revise();
    }

    /// There was no room after all: a limit was lowered, or a server went.
    pub(crate) fn wait_on(&mut self) {
        self.called = self.queue().put_back(self.ticket);
        self.revise();
    }

    fn queue(&self) -> &RequestQueue {
        self.server.as_ref().map_or(&self.pool.shared.queue, |server| &server.shared.bound)
    }

    fn revise(&self) {
        match &self.server {
            Some(server) => self.pool.revise_bound(server),
            None => self.pool.revise_queue(),
        }
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.pool.shared.queue.count_bound(false);
        }
        if !self.is_served && self.queue().leave(&self.ticket) {
            self.revise();
            if self.server.is_some() {
                // Nobody else may have waited for that server.
                self.pool.revise_queue();
            }
        }
    }
}

impl LocalPool {
    /// Whose request it is, for the pool's queue to be fair; the same for all where it need not be. `header` yields the
    /// value of a request header.
    pub(crate) fn queue_client<'a>(
        &self,
        source: Option<IpAddr>,
        header: impl FnOnce(&str) -> Option<&'a [u8]>,
    ) -> u64 {
        let queue = &self.shared.queue;
        let by_address = || source.map_or(0, |address| queue.client_number(network(address)));
        match &self.shared.plan.queue.fair {
            Fairness::None => 0,
            Fairness::Client => by_address(),
            Fairness::Header(name) => {
                header(name).map_or_else(by_address, |value| queue.client_number(value))
            }
        }
    }

    /// If there is room that has not been granted, the next one in the queue gets it.
    pub(super) fn revise_queue(&self) {
        self.shared.queue.revise(|| !self.is_busy());
    }

    /// The same for those who wait for this server.
    pub(super) fn revise_bound(&self, server: &LocalServer) {
        server.shared.bound.revise(|| !self.is_server_busy(server));
    }

    /// A request to `server` has ended: calls the one who is next.
    pub(super) fn place_freed(&self, view: &LocalView, server: &LocalServer) {
        let (roster, slot) = (view.roster(), server.shared.slot);
        // Who waits for this very server is not helped by any other.
        if server.shared.bound.ended(|| roster.standing(slot) != Standing::Busy, || false) {
            return;
        }
        let freed = || roster.has_room(slot) && self.shared.room.left() > 0;
        self.shared.queue.ended(freed, || !self.is_busy());
    }
}

/// The address, or an IPv6 address's /64, of which one client has all.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_all_addresses_of_its_network() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }
}
