//! A request's position in the queue of a pool or of a server.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::sync::oneshot;
use weir_balance::{Key, Picker};
use weir_config::plan::{Fairness, WhenGone};
use weir_model::client_network;

use super::{Choice, Lease, LocalPool, LocalServer, Worker};
use crate::state::{Grant, QueueAhead, Refusal, RequestQueue, ReservedPlace, Spot, Terms};
use crate::sticky::Known;

/// A position in the queue of a pool, or of one of its servers. Dropping it gives up the position.
pub(crate) struct QueuePlace {
    pool: Rc<LocalPool>,
    wanted: Wanted,
    spot: Spot,
    called: oneshot::Receiver<Grant>,
    /// Place for which the request was called.
    place: Option<ReservedPlace>,
    /// True once the request has chosen a server.
    is_served: bool,
}

/// Resource for which a request waits.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// Any server with a free place.
    Any,
    /// Room in the pool; the server that the request is bound to has a free place.
    Room,
    /// A place at this server only.
    Server(Rc<LocalServer>),
}

impl Wanted {
    fn server(&self) -> Option<&Rc<LocalServer>> {
        match self {
            Self::Server(server) => Some(server),
            Self::Any | Self::Room => None,
        }
    }

    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, Self::Any) | (Self::Room, Self::Room) => true,
            (Self::Server(one), Self::Server(other)) => one.shared.uid == other.shared.uid,
            _ => false,
        }
    }
}

impl QueuePlace {
    /// Enters the queue of `pool`, or of one of its servers, if the limits permit.
    pub(crate) fn enter(
        pool: &Rc<LocalPool>,
        wanted: Wanted,
        terms: &Terms,
        now: Instant,
    ) -> Result<Self, Refusal> {
        let all: &RequestQueue = &pool.shared.queue;
        let queue = wanted.server().map_or(all, |server| &server.shared.bound);
        // The limit is for all of the pool's queues together.
        let elsewhere = all.length_in_all().saturating_sub(queue.length());
        let length_max = pool.shared.plan.queue.length_max.unwrap_or(u32::MAX).saturating_sub(elsewhere);
        let length_max = length_max.min(bound_max(pool, &wanted));
        let for_room = matches!(wanted, Wanted::Room);
        let entered = queue.enter(terms, for_room, length_max, now);
        let (spot, called) = entered.inspect_err(|refusal| all.count_refusal(refusal.cause))?;
        if wanted.server().is_some() {
            all.count_bound(true);
        }
        let place = Self { pool: Rc::clone(pool), wanted, spot, called, place: None, is_served: false };
        place.revise();
        Ok(place)
    }

    /// Returns true if the request waits in the pool's queue.
    pub(crate) fn is_for_any(&self) -> bool {
        self.wanted.server().is_none()
    }

    /// Returns true if the request waits for `wanted`.
    pub(crate) fn is_for(&self, wanted: &Wanted) -> bool {
        self.wanted.is(wanted)
    }

    /// Becomes ready when there is room for this request; the caller must then choose at once. Returns how
    /// many requests were served meanwhile. Must not be called again before [`QueuePlace::wait_on`].
    pub(crate) fn poll_called(&mut self, cx: &mut Context<'_>) -> Poll<QueueAhead> {
        // The queue lives as long as this position, so its end of the channel is never dropped unused.
        let called = Pin::new(&mut self.called).poll(cx);
        called.map(|called| {
            let grant = called.unwrap_or_default();
            self.place = grant.place;
            match self.wanted.server() {
                Some(_) => QueueAhead { server: grant.served_before, pool: 0 },
                None => QueueAhead { server: 0, pool: grant.served_before },
            }
        })
    }

    /// Returns the lease of the place for which the request was called. Returns `None` if the place does not
    /// suit a request that is bound to `known`, or else uses `key`.
    pub(crate) fn redeem(&mut self, known: Option<Known>, key: Option<Key>) -> Option<Lease> {
        let place = self.place.take()?;
        let (uid, slot) = place.server()?;
        let is_its_own = match known {
            Some(known) => known.uid == uid,
            // The servers may have changed, and with them the server of the key.
            None => Picker::only_server(self.pool.view().roster(), key) == Some(slot),
        };
        // A place that does not suit goes to the next request.
        if is_its_own { self.pool.redeem(place) } else { None }
    }

    /// Records that a server was chosen.
    pub(crate) fn served(mut self, now: Instant) {
        self.is_served = true;
        self.queue().served(now);
        self.revise();
    }

    /// Waits on at the same position, because there was no room after all: a limit was lowered, or a server
    /// was removed.
    pub(crate) fn wait_on(&mut self) {
        self.called = self.queue().put_back(self.spot);
        self.revise();
    }

    fn queue(&self) -> &RequestQueue {
        let all: &RequestQueue = &self.pool.shared.queue;
        self.wanted.server().map_or(all, |server| &server.shared.bound)
    }

    fn revise(&self) {
        match self.wanted.server() {
            Some(server) => self.pool.revise_bound(server),
            None => self.pool.revise_queue(),
        }
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        if self.wanted.server().is_some() {
            self.pool.shared.queue.count_bound(false);
        }
        if !self.is_served && self.queue().leave(&self.spot) {
            self.revise();
            if self.wanted.server().is_some() {
                // If no other request waits for that server, its place goes to the pool's queue.
                self.pool.revise_queue();
            }
        }
        // A place that was given and not used goes to the next request when it is dropped.
    }
}

impl LocalPool {
    /// Returns the number of the client that the fair queue uses; without fairness it is the same for all.
    /// `header` returns the value of a request header.
    pub(crate) fn queue_client<'a>(
        &self,
        source: Option<IpAddr>,
        header: impl FnOnce(&str) -> Option<&'a [u8]>,
    ) -> u64 {
        let queue = &self.shared.queue;
        let by_address = || source.map_or(0, |address| queue.client_number(client_network(address)));
        match &self.shared.plan.queue.fair {
            Fairness::None => 0,
            Fairness::Client => by_address(),
            Fairness::Header(name) => {
                header(name).map_or_else(by_address, |value| queue.client_number(value))
            }
        }
    }

    /// Returns true if a request may wait for this server. If the server's queue is full, only a request that
    /// already waits there (`queued`) may stay. Two workers may both see the last free position.
    pub(crate) fn may_wait_for(&self, server: &Rc<LocalServer>, queued: Option<&QueuePlace>) -> bool {
        let waits_there = || queued.is_some_and(|place| place.is_for(&Wanted::Server(Rc::clone(server))));
        let max = self.shared.plan.queue.server_length_max;
        max.is_none_or(|max| server.shared.bound.length() < max) || waits_there()
    }

    /// Chooses as [`choose_after`](Self::choose_after) does. If the key's own server has no room and its
    /// queue is full, another server is chosen, as if that one had failed the request. `queued`: position
    /// where the request has waited so far, which it may keep.
    pub(crate) fn choose_or_divert(
        self: &Rc<Self>,
        worker: &Worker,
        key: Option<Key>,
        failed: &[usize],
        queued: Option<&QueuePlace>,
    ) -> Choice {
        let choice = self.choose_after(worker, key, failed);
        let Choice::Full(server) = &choice else { return choice };
        if self.may_wait_for(server, queued) {
            return choice;
        }
        let exclude: Vec<usize> = failed.iter().copied().chain([server.shared.slot]).collect();
        self.choose(worker, key, &exclude)
    }

    /// Grants free room to the next request in the queue, unless a grant is pending.
    pub(super) fn revise_queue(&self) {
        let queue = &self.shared.queue;
        if queue.length() > 0 {
            let view = self.view();
            queue.revise(|| self.shared.free(view.shared()));
        }
    }

    /// Gives free places at this server to the requests that wait for it.
    pub(super) fn revise_bound(&self, server: &LocalServer) {
        if server.shared.bound.length() > 0 {
            self.shared.revise_bound(self.view().shared(), &server.shared);
        }
    }
}

/// Returns how many requests may wait for `wanted`. The limit applies here only if they cannot use another
/// server; other requests have already been diverted when that queue was full.
fn bound_max(pool: &LocalPool, wanted: &Wanted) -> u32 {
    let plan = &pool.shared.plan;
    let key_has_no_other = plan.algorithm.keeps_to_one_server() && !plan.hash.options.fallback;
    let client_has_no_other = plan.sticky.as_ref().is_some_and(|sticky| sticky.when_gone == WhenGone::Fail);
    let max = plan.queue.server_length_max.filter(|_| key_has_no_other || client_has_no_other);
    wanted.server().and(max).unwrap_or(u32::MAX)
}
