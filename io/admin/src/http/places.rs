//! The connections of the admin HTTP interface: a limited number, of which no client can take all.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;
use weir_model::client_network;

/// Maximum number of connections.
pub(super) const PLACES_MAX: usize = 128;

/// Maximum number of concurrent responses to one client; further requests wait.
const ANSWERS_OF_A_CLIENT_MAX: usize = 2;

/// Time that a client has to read its response. It may take longer while no other client needs the connection
/// or the memory.
const TAKING_MAX: Duration = Duration::from_secs(5);

/// Interval of the search for slow clients while a response waits.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// All connections.
#[derive(Debug, Default)]
pub(super) struct Places {
    slots: Mutex<Slots>,
    /// Signals that a response has been read, or that a connection has ended.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Slots {
    next: u64,
    open: HashMap<u64, Slot>,
}

#[derive(Debug)]
struct Slot {
    /// Network that counts as one client; `None` = through a Unix socket.
    client: Option<IpAddr>,
    /// Start of the current phase.
    since: Instant,
    is_answering: bool,
    evicted: Arc<Notify>,
}

/// Slot of a connection. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    id: u64,
    client: Option<IpAddr>,
    evicted: Arc<Notify>,
}

/// A response from its start until its client has read it.
#[derive(Debug)]
pub(super) struct Answering {
    place: Arc<Place>,
}

impl Places {
    /// Returns a slot for a new connection; `None` = every client reads its response fast enough. `client`:
    /// `None` = through a Unix socket.
    ///
    /// If all slots are taken, a connection without a complete request is closed. If there is none, one that
    /// reads its response too slowly is closed. Among several, the client with the most connections loses the
    /// one that has waited longest.
    pub(super) fn take(self: &Arc<Self>, client: Option<IpAddr>) -> Option<Place> {
        let client = client.map(client_network);
        let mut slots = self.lock();
        if slots.open.len() >= PLACES_MAX
            && !slots.evict(|slot| !slot.is_answering)
            && !slots.evict_slow(|_| true)
        {
            return None;
        }
        let id = slots.next;
        slots.next += 1;
        let evicted = Arc::new(Notify::new());
        let slot = Slot { client, since: Instant::now(), is_answering: false, evicted: Arc::clone(&evicted) };
        slots.open.insert(id, slot);
        Some(Place { places: Arc::clone(self), id, client, evicted })
    }

    /// Closes a connection whose client reads its response too slowly, if there is one.
    pub(super) fn evict_slow(&self) {
        self.lock().evict_slow(|_| true);
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    /// Closes a connection for which `may_go` returns true: the oldest of the client with the most
    /// connections. Returns true if there was one.
    fn evict(&mut self, may_go: impl Fn(&Slot) -> bool) -> bool {
        let mut counts: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for slot in self.open.values() {
            *counts.entry(slot.client).or_default() += 1;
        }
        let count = |slot: &Slot| counts.get(&slot.client).copied().unwrap_or_default();
        let candidates = self.open.iter().filter(|(_, slot)| may_go(slot));
        let first = candidates.min_by_key(|(_, slot)| (Reverse(count(slot)), slot.since));
        let Some(id) = first.map(|(id, _)| *id) else { return false };
        if let Some(slot) = self.open.remove(&id) {
            slot.evicted.notify_one();
        }
        true
    }

    fn evict_slow(&mut self, may_go: impl Fn(&Slot) -> bool) -> bool {
        self.evict(|slot| slot.is_answering && slot.since.elapsed() > TAKING_MAX && may_go(slot))
    }

    fn answers_of(&self, client: Option<IpAddr>) -> usize {
        self.open.values().filter(|slot| slot.is_answering && slot.client == client).count()
    }
}

impl Place {
    /// Waits until the connection must be closed.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Begins a response. Waits while the client has the maximum number of them.
    pub(super) async fn answer(self: &Arc<Self>) -> Answering {
        loop {
            // Registers before the check, so that a change in between is not lost.
            let freed = self.places.freed.notified();
            let mut freed = std::pin::pin!(freed);
            freed.as_mut().enable();
            {
                let mut slots = self.places.lock();
                if slots.answers_of(self.client) < ANSWERS_OF_A_CLIENT_MAX {
                    slots.enter(self.id, true);
                    return Answering { place: Arc::clone(self) };
                }
            }
            if timeout(LOOK, freed).await.is_err() {
                self.places.lock().evict_slow(|slot| slot.client == self.client);
            }
        }
    }
}

impl Slots {
    fn enter(&mut self, id: u64, is_answering: bool) {
        if let Some(slot) = self.open.get_mut(&id) {
            (slot.since, slot.is_answering) = (Instant::now(), is_answering);
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.place.places.lock().enter(self.place.id, false);
        self.place.places.freed.notify_waiters();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().open.remove(&self.id);
        self.places.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn client(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, last]))
    }

    /// Returns the output if the future is ready at once.
    fn now<F: Future>(future: F) -> Option<F::Output> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_oldest_that_has_asked_for_nothing_gives_way_to_a_new_one() {
        let places = Arc::new(Places::default());
        let first = Arc::new(places.take(client(1)).unwrap());
        let answering = now(first.answer()).unwrap();
        let rest: Vec<_> = (1..PLACES_MAX).map(|_| places.take(client(2)).unwrap()).collect();
        let new = places.take(client(3)).unwrap();
        assert!(now(rest[0].evicted()).is_some());
        assert!(
            now(rest[1].evicted()).is_none()
                && now(first.evicted()).is_none()
                && now(new.evicted()).is_none()
        );
        drop(answering);
        // Its new phase is younger than the waiting time of the others.
        drop(places.take(client(3)).unwrap());
        assert!(now(rest[1].evicted()).is_some() && now(first.evicted()).is_none());
    }

    #[test]
    fn a_flood_from_one_network_takes_places_from_itself_only() {
        let places = Arc::new(Places::default());
        let old = places.take(client(1)).unwrap();
        let flood = |host: u16| Some(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, host]));
        let all: Vec<_> = (0..400).map(|host| places.take(flood(host)).unwrap()).collect();
        assert!(now(old.evicted()).is_none());
        let gone = all.iter().filter(|place| now(place.evicted()).is_some()).count();
        assert_eq!(gone, 400 - (PLACES_MAX - 1));
        // Every other client gets a slot.
        let others: Vec<_> = (2..60).map(|last| places.take(client(last)).unwrap()).collect();
        assert!(others.iter().chain([&old]).all(|place| now(place.evicted()).is_none()));
    }

    #[test]
    fn where_everyone_takes_an_answer_nobody_gives_way() {
        let places = Arc::new(Places::default());
        let mut open = Vec::new();
        for index in 0..PLACES_MAX {
            let place = Arc::new(places.take(client(u8::try_from(index).unwrap())).unwrap());
            let answering = now(place.answer()).unwrap();
            open.push((place, answering));
        }
        assert!(places.take(client(200)).is_none());
        places.evict_slow();
        assert!(open.iter().all(|(place, _)| now(place.evicted()).is_none()));
        open.pop();
        assert!(places.take(client(200)).is_some());
    }

    #[test]
    fn a_client_has_two_answers_at_a_time_and_others_do_not_wait_for_it() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _timers = runtime.enter();
        let places = Arc::new(Places::default());
        let [one, two, three, other] = [1, 1, 1, 2].map(|last| Arc::new(places.take(client(last)).unwrap()));
        let (first, _second) = (now(one.answer()).unwrap(), now(two.answer()).unwrap());
        assert!(now(three.answer()).is_none());
        assert!(now(other.answer()).is_some());
        drop(first);
        assert!(now(three.answer()).is_some());
    }
}
