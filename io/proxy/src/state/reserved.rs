use std::fmt;
use std::sync::Arc;

use weir_balance::{ServerLoad, Standing};

use super::queue::{Free, Offer};
use super::{PoolState, PoolView, ServerState};

/// A place at a server for one who has waited for it: counted as taken all the time, in the server's load and against the
/// pool's limit. Dropped unused, it goes to the next one who waits.
pub(crate) struct ReservedPlace {
    /// `None` = it has been used, or was never taken.
    held: Option<Reservation>,
}

struct Reservation {
    pool: Arc<PoolState>,
    server: Arc<ServerState>,
    /// The pool has a limit, and this counts against it.
    in_room: bool,
}

/// A place that somebody has at a server. With thousands of servers the server itself is in no cache: what each request needs of it
/// is here.
#[derive(Clone, Copy)]
pub(crate) struct Held<'a> {
    pub(crate) server: &'a Arc<ServerState>,
    pub(crate) slot: usize,
    pub(crate) load: &'a Arc<ServerLoad>,
    /// The pool has a limit, and this counts against it.
    pub(crate) in_room: bool,
}

impl ReservedPlace {
    fn new(pool: &Arc<PoolState>, server: &Arc<ServerState>, in_room: bool) -> Self {
        let (pool, server) = (Arc::clone(pool), Arc::clone(server));
        Self { held: Some(Reservation { pool, server, in_room }) }
    }

    /// Whose place it is: the server's unique id, and its slot.
    pub(crate) fn server(&self) -> Option<(u64, usize)> {
        self.held.as_ref().map(|held| (held.server.uid, held.server.slot))
    }

    /// Makes it somebody else's business to give it back. Returns whether it counts against the pool's limit.
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
    /// A request is over: its place goes to the one who is next, if somebody waits. O(1) while nobody waits.
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
        // Somebody may have come since; and who waits for this very server is not helped by any other.
        if self.queue.has_bound() && self.revise_bound(view, server) {
            return;
        }
        let freed = || {
            let rooms = self.room.left() > 0;
            Free { places: rooms && roster.has_room(slot), rooms: in_room && rooms }
        };
        self.queue.ended(freed, || self.free(view));
    }

    /// Whom there is something for of those who wait in the pool's queue.
    pub(crate) fn free(&self, view: &PoolView) -> Free {
        let rooms = self.room.left() > 0;
        // Where no server is left, everybody is to learn it.
        let nobody = view.roster.members().is_empty();
        Free { places: nobody || (rooms && !view.roster.is_busy()), rooms }
    }

    /// Calls those who wait for `server`, as long as there is something for them. Returns whether anybody was called.
    pub(crate) fn revise_bound(self: &Arc<Self>, view: &PoolView, server: &Arc<ServerState>) -> bool {
        let mut gave_back = false;
        let was_called = server.bound.hand_out(|| self.offer(view, server, &mut gave_back));
        if gave_back {
            // Somebody may have seen the pool full in between.
            self.queue.revise(|| self.free(view));
        }
        was_called
    }

    /// The place of a request that ends becomes another one's without ever being free. False if nobody waits for it, or it
    /// is one too many by now.
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
    /// Whether this very server is in its slot.
    pub(crate) fn has(&self, server: &ServerState) -> bool {
        let there = self.servers.get(server.slot).and_then(Option::as_ref);
        there.is_some_and(|there| there.uid == server.uid)
    }
}

#[cfg(test)]
mod tests;
