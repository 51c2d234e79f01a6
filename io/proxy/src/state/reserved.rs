//! Places at servers that pass from a finished request to a waiting one.

use std::fmt;
use std::sync::Arc;

use weir_balance::{ServerLoad, Standing};

use super::queue::{Free, Offer};
use super::{PoolState, PoolView, ServerState};

/// A place at a server, reserved for a request that has waited for it. It counts as taken all the time, in
/// the server's load and against the pool's limit. Dropped unused, it goes to the next waiting request.
pub(crate) struct ReservedPlace {
    /// `None` = the place has been used, or was never taken.
    held: Option<Reservation>,
}

struct Reservation {
    pool: Arc<PoolState>,
    server: Arc<ServerState>,
    /// True if the pool has a limit and this place counts against it.
    in_room: bool,
}

/// A place that a request holds at a server. With thousands of servers, the server state itself is not in the
/// CPU cache, so this struct has the fields that each request needs.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    pub(crate) server: &'a Arc<ServerState>,
    pub(crate) slot: usize,
    pub(crate) load: &'a Arc<ServerLoad>,
    /// True if the pool has a limit and this place counts against it.
    pub(crate) in_room: bool,
}

impl ReservedPlace {
    fn new(pool: &Arc<PoolState>, server: &Arc<ServerState>, in_room: bool) -> Self {
        let (pool, server) = (Arc::clone(pool), Arc::clone(server));
        Self { held: Some(Reservation { pool, server, in_room }) }
    }

    /// Returns the unique id and the slot of the place's server.
    pub(crate) fn server(&self) -> Option<(u64, usize)> {
        self.held.as_ref().map(|held| (held.server.uid, held.server.slot))
    }

    /// Hands the duty to give back the place to the caller. Returns true if it counts against the pool's
    /// limit.
    pub(crate) fn take(mut self) -> bool {
        self.held.take().is_some_and(|held| held.in_room)
    }
}

impl Drop for ReservedPlace {
    fn drop(&mut self) {
        if let Some(Reservation { pool, server, in_room }) = self.held.take() {
            pool.end(&pool.view(), Held { server: &server, slot: server.slot, load: &server.load, in_room });
        }
    }
}

impl fmt::Debug for ReservedPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.held.as_ref().map(|held| held.server.name.as_str());
        f.debug_tuple("ReservedPlace").field(&server).finish()
    }
}

impl PoolState {
    /// Ends a request and gives its place to the next waiting request, if any. O(1) while no request waits.
    pub(crate) fn end(self: &Arc<Self>, view: &PoolView, held: Held<'_>) {
        let Held { server, slot, load, in_room } = held;
        if self.queue.has_bound() && server.bound.length() > 0 && self.pass_on(view, server, in_room) {
            return;
        }
        let roster = &view.roster;
        roster.end(slot, load);
        if in_room {
            self.room.give_back();
        }
        // A request may have entered the queue since the check above. A request that waits for this server
        // cannot use a place at another one.
        if self.queue.has_bound() && self.revise_bound(view, server) {
            return;
        }
        let freed = || {
            let rooms = self.room.left() > 0;
            Free { places: rooms && roster.has_room(slot), rooms: in_room && rooms }
        };
        self.queue.ended(freed, || self.free(view));
    }

    /// Returns the kinds of requests in the pool's queue that can proceed.
    pub(crate) fn free(&self, view: &PoolView) -> Free {
        let rooms = self.room.left() > 0;
        // If no server is left, all waiting requests must be called, so that they fail.
        let nobody = view.roster.members().is_empty();
        Free { places: nobody || (rooms && !view.roster.is_busy()), rooms }
    }

    /// Calls requests that wait for `server`, as long as there are places for them. Returns true if any
    /// request was called.
    pub(crate) fn revise_bound(self: &Arc<Self>, view: &PoolView, server: &Arc<ServerState>) -> bool {
        let mut gave_back = false;
        let was_called = server.bound.hand_out(|| self.offer(view, server, &mut gave_back));
        if gave_back {
            // Another worker may have seen the pool full in between.
            self.queue.revise(|| self.free(view));
        }
        was_called
    }

    /// Passes the place of an ending request to a waiting request without freeing it in between. Returns
    /// false if no request waits for it, or if a lowered limit no longer permits the place.
    fn pass_on(self: &Arc<Self>, view: &PoolView, server: &Arc<ServerState>, in_room: bool) -> bool {
        let is_whole = || !in_room || !self.room.is_exceeded();
        if !view.has(server) || !view.roster.may_succeed(server.slot) || !is_whole() {
            return false;
        }
        match server.bound.hand_over(ReservedPlace::new(self, server, in_room)) {
            None => true,
            Some(place) => {
                place.take();
                false
            }
        }
    }

    fn offer(self: &Arc<Self>, view: &PoolView, server: &Arc<ServerState>, gave_back: &mut bool) -> Offer {
        let standing = if view.has(server) { view.roster.standing(server.slot) } else { Standing::Gone };
        match standing {
            Standing::Gone => return Offer::Look,
            Standing::Busy => return Offer::Nothing,
            Standing::Open => {}
        }
        let Some(in_room) = self.room.claim() else { return Offer::Look };
        if view.roster.try_begin(server.slot) {
            return Offer::Place(ReservedPlace::new(self, server, in_room));
        }
        if in_room {
            self.room.give_back();
            *gave_back = true;
        }
        Offer::Nothing
    }
}

impl PoolView {
    /// Returns true if this very server still occupies its slot.
    pub(crate) fn has(&self, server: &ServerState) -> bool {
        let there = self.servers.get(server.slot).and_then(Option::as_ref);
        there.is_some_and(|there| there.uid == server.uid)
    }
}

#[cfg(test)]
mod tests;
