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

/// A place in the queue in front of a pool, or of one of its servers. Dropping it gives it up.
pub(crate) struct QueuePlace {
    pool: Rc<LocalPool>,
    wanted: Wanted,
    spot: Spot,
    called: oneshot::Receiver<Grant>,
    /// What it was called for.
    place: Option<ReservedPlace>,
    /// It was the one who chose.
    is_served: bool,
}

/// What a request waits for.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// Any server with a place.
    Any,
    /// Room in the pool: the server that it is bound to has a place.
    Room,
    /// A place at this server, and no other will do.
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
    /// Waits in front of `pool`, or of one of its servers, if one may.
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

    /// Whether it waits for any server that the pool has room for.
    pub(crate) fn is_for_any(&self) -> bool {
        self.wanted.server().is_none()
    }

    /// Whether this is what it waits for.
    pub(crate) fn is_for(&self, wanted: &Wanted) -> bool {
        self.wanted.is(wanted)
    }

    /// Ready when there is room for this one: choose at once. Says how many were served meanwhile. Not to be called again
    /// until [`QueuePlace::wait_on`].
    pub(crate) fn poll_called(&mut self, cx: &mut Context<'_>) -> Poll<QueueAhead> {
        // The queue goes only with what is held here: its end of the channel is never dropped unused.
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

    /// The place that it was called for, if it is still good for a request that is bound to `known`, or else goes by `key`.
    pub(crate) fn redeem(&mut self, known: Option<Known>, key: Option<Key>) -> Option<Lease> {
        let place = self.place.take()?;
        let (uid, slot) = place.server()?;
        let is_its_own = match known {
            Some(known) => known.uid == uid,
            // The servers may have changed, and the key's with them.
            None => Picker::only_server(self.pool.view().roster(), key) == Some(slot),
        };
        // Where it is not, the place goes to the next one.
        if is_its_own { self.pool.redeem(place) } else { None }
    }

    /// A server was chosen.
    pub(crate) fn served(mut self, now: Instant) {
        self.is_served = true;
        self.queue().served(now);
        self.revise();
    }

    /// There was no room after all: a limit was lowered, or a server went.
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
                // Nobody else may have waited for that server.
                self.pool.revise_queue();
            }
        }
        // A place that it was given, and did not use, goes to the next one as it is dropped.
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
        let by_address = || source.map_or(0, |address| queue.client_number(client_network(address)));
        match &self.shared.plan.queue.fair {
            Fairness::None => 0,
            Fairness::Client => by_address(),
            Fairness::Header(name) => {
                header(name).map_or_else(by_address, |value| queue.client_number(value))
            }
        }
    }

    /// Whether a request may wait for this server: where as many wait as may, only one that has done so until now (`queued`). Two
    /// workers may both see the last place.
    pub(crate) fn may_wait_for(&self, server: &Rc<LocalServer>, queued: Option<&QueuePlace>) -> bool {
        let waits_there = || queued.is_some_and(|place| place.is_for(&Wanted::Server(Rc::clone(server))));
        let max = self.shared.plan.queue.server_length_max;
        max.is_none_or(|max| server.shared.bound.length() < max) || waits_there()
    }

    /// As [`choose_after`](Self::choose_after); where the key's own server has no room, and as many wait for it as may, another one is sought, as
    /// if that one had failed the request. `queued`: where the request has waited until now, which it may go on doing.
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

    /// If there is room that has not been granted, the next one in the queue gets it.
    pub(super) fn revise_queue(&self) {
        let queue = &self.shared.queue;
        if queue.length() > 0 {
            let view = self.view();
            queue.revise(|| self.shared.free(view.shared()));
        }
    }

    /// The same for those who wait for this server.
    pub(super) fn revise_bound(&self, server: &LocalServer) {
        if server.shared.bound.length() > 0 {
            self.shared.revise_bound(self.view().shared(), &server.shared);
        }
    }
}

/// How many may wait for what is wanted, where there is nothing else for them; others have gone elsewhere when they found that
/// full.
fn bound_max(pool: &LocalPool, wanted: &Wanted) -> u32 {
    let plan = &pool.shared.plan;
    let key_has_no_other = plan.algorithm.keeps_to_one_server() && !plan.hash.options.fallback;
    let client_has_no_other = plan.sticky.as_ref().is_some_and(|sticky| sticky.when_gone == WhenGone::Fail);
    let max = plan.queue.server_length_max.filter(|_| key_has_no_other || client_has_no_other);
    wanted.server().and(max).unwrap_or(u32::MAX)
}
