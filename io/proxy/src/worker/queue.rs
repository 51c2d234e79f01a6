use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::oneshot;
use weir_balance::Ticket;
use weir_config::plan::Fairness;

use super::LocalPool;
use crate::state::{Grant, Refusal, Terms};

/// A place in the queue in front of a pool. Dropping it gives it up.
pub(crate) struct QueuePlace {
    pool: Rc<LocalPool>,
    ticket: Ticket,
    called: oneshot::Receiver<Grant>,
    /// It was the one who chose.
    is_served: bool,
}

impl QueuePlace {
    /// Waits in front of `pool`, if one may.
    pub(crate) fn enter(pool: &Rc<LocalPool>, terms: &Terms, now: Instant) -> Result<Self, Refusal> {
        let (ticket, called) = pool.shared.queue.enter(terms, now)?;
        let place = Self { pool: Rc::clone(pool), ticket, called, is_served: false };
        pool.revise_queue();
        Ok(place)
    }

    /// Ready when a server has room for this one: choose at once. Not to be called again until
    /// [`QueuePlace::wait_on`].
    pub(crate) fn poll_called(&mut self, cx: &mut Context<'_>) -> Poll<Grant> {
        // The queue goes only with the pool that is held here: its end of the channel is never dropped unused.
        Pin::new(&mut self.called).poll(cx).map(|called| called.unwrap_or(Grant { served_before: 0 }))
    }

    /// A server was chosen.
    pub(crate) fn served(mut self, now: Instant) {
        self.is_served = true;
        self.pool.shared.queue.served(now);
        self.pool.revise_queue();
    }

    /// There was no room after all: a limit was lowered, or a server went.
    pub(crate) fn wait_on(&mut self) {
        self.called = self.pool.shared.queue.put_back(self.ticket);
        self.pool.revise_queue();
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        if !self.is_served && self.pool.shared.queue.leave(&self.ticket) {
            self.pool.revise_queue();
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
    pub(crate) fn revise_queue(&self) {
        self.shared.queue.revise(|| !self.is_busy());
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
