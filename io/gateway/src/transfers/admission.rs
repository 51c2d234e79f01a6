//! Limits on concurrent transfers, with a queue.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Admits transfers up to a limit in total and for each peer. The others wait in a bounded queue, in order.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    state: Mutex<State>,
}

/// Limits for transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    /// Maximum number of active transfers.
    pub(crate) active_max: usize,
    /// Maximum number of active transfers with one peer.
    pub(crate) of_peer_max: usize,
    /// Maximum number of waiting transfers.
    pub(crate) queue_max: usize,
}

#[derive(Debug, Default)]
struct State {
    limits: Limits,
    active: usize,
    by_peer: HashMap<String, usize>,
    waiting: VecDeque<Waiting>,
    next_id: u64,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    peer: String,
    turn: oneshot::Sender<()>,
}

/// A position in the queue or an active transfer. Dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct Ticket {
    admission: Arc<Admission>,
    id: u64,
    peer: String,
    turn: Option<oneshot::Receiver<()>>,
}

impl Admission {
    /// Returns a ticket for a transfer with `peer`; `None` if the queue is full. The newest limits apply to
    /// all transfers.
    pub(crate) fn enter(self: &Arc<Self>, limits: Limits, peer: &str) -> Option<Ticket> {
        let mut state = self.lock();
        state.limits = limits;
        state.admit();
        // If there is room for this peer, the queued transfers wait for other peers.
        if !state.has_room(peer) && state.waiting.len() >= limits.queue_max {
            return None;
        }
        let id = state.next_id;
        state.next_id += 1;
        let (turn, comes) = oneshot::channel();
        state.waiting.push_back(Waiting { id, peer: peer.to_owned(), turn });
        state.admit();
        Some(Ticket { admission: Arc::clone(self), id, peer: peer.to_owned(), turn: Some(comes) })
    }

    fn leave(&self, ticket: &Ticket) {
        let mut state = self.lock();
        match state.waiting.iter().position(|waiting| waiting.id == ticket.id) {
            Some(at) => drop(state.waiting.remove(at)),
            None => {
                state.active = state.active.saturating_sub(1);
                if let Some(count) = state.by_peer.get_mut(&ticket.peer) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        state.by_peer.remove(&ticket.peer);
                    }
                }
            }
        }
        state.admit();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self, peer: &str) -> bool {
        self.active < self.limits.active_max
            && self.by_peer.get(peer).is_none_or(|count| *count < self.limits.of_peer_max)
    }

    /// Admits waiting transfers in order. A transfer whose peer is at its limit lets later ones pass.
    fn admit(&mut self) {
        let mut at = 0;
        while self.active < self.limits.active_max && at < self.waiting.len() {
            if !self.waiting.get(at).is_some_and(|waiting| self.has_room(&waiting.peer)) {
                at += 1;
                continue;
            }
            let Some(waiting) = self.waiting.remove(at) else { return };
            self.active += 1;
            *self.by_peer.entry(waiting.peer).or_default() += 1;
            // If the receiver is gone, its ticket is being dropped and frees the slot.
            let _ = waiting.turn.send(());
        }
    }
}

impl Ticket {
    /// Waits for admission.
    pub(crate) async fn turn(&mut self) {
        if let Some(turn) = &mut self.turn {
            // The sender is dropped unused only together with this ticket.
            let _ = turn.await;
            self.turn = None;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.admission.leave(self);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn has_turn(ticket: &mut Ticket) -> bool {
        let turn = pin!(ticket.turn());
        turn.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn so_many_at_once_so_many_of_a_peer_and_the_queue_is_bounded() {
        let admission = Arc::new(Admission::default());
        let limits = Limits { active_max: 2, of_peer_max: 1, queue_max: 2 };
        let enter = |peer: &str| admission.enter(limits, peer);
        let mut first = enter("a").unwrap();
        assert!(has_turn(&mut first));
        let mut second = enter("a").unwrap();
        assert!(!has_turn(&mut second));
        // A transfer with another peer passes.
        let mut third = enter("b").unwrap();
        assert!(has_turn(&mut third));
        let mut fourth = enter("c").unwrap();
        assert!(!has_turn(&mut fourth));
        assert!(enter("d").is_none());
        drop(first);
        assert!(has_turn(&mut second) && !has_turn(&mut fourth));
        // A waiting transfer that gives up makes room in the queue.
        let fifth = enter("d").unwrap();
        assert!(enter("e").is_none());
        drop(fifth);
        drop(third);
        assert!(has_turn(&mut fourth));
        drop((second, fourth));
        let state = admission.lock();
        assert_eq!((state.active, state.by_peer.len(), state.waiting.len()), (0, 0, 0));
    }
}
