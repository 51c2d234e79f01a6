//! The measurement of how often clients change servers.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::lru::Hashed;

/// Last server of each client, and the number of clients that were moved although they could have stayed.
#[derive(Debug, Default)]
pub(crate) struct Sticky {
    clients: HashMap<u64, Last, BuildHasherDefault<Hashed>>,
    came_again: u64,
    moved: u64,
}

#[derive(Debug)]
struct Last {
    server: u32,
    came_again: bool,
    moved: bool,
}

impl Sticky {
    /// Most clients that are tracked, the first ones to arrive: about 40 MB.
    const CLIENTS_MAX: usize = 1_000_000;

    /// Records that a client was sent to `server`. `could_stay` says whether the client's last server could
    /// have taken it, or should have.
    pub(crate) fn sent(&mut self, client: u64, server: u32, could_stay: impl FnOnce(u32) -> bool) {
        let Some(last) = self.clients.get_mut(&client) else {
            if self.clients.len() < Self::CLIENTS_MAX {
                self.clients.insert(client, Last { server, came_again: false, moved: false });
            }
            return;
        };
        if !last.came_again {
            last.came_again = true;
            self.came_again += 1;
        }
        if last.server != server && !last.moved && could_stay(last.server) {
            last.moved = true;
            self.moved += 1;
        }
        last.server = server;
    }

    /// Returns the share of returning clients that were moved although they could have stayed; `None` if no
    /// client returned.
    pub(crate) fn moved_share(&self) -> Option<f64> {
        (self.came_again > 0).then(|| self.moved as f64 / self.came_again as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_move_without_need_counts_and_a_client_counts_once() {
        let mut sticky = Sticky::default();
        assert_eq!(sticky.moved_share(), None);
        for (client, server) in [(1, 0), (1, 0), (2, 0), (2, 1), (2, 0), (3, 5)] {
            sticky.sent(client, server, |_| true);
        }
        assert_eq!(sticky.moved_share(), Some(0.5));
        sticky.sent(3, 6, |last| last != 5);
        assert_eq!(sticky.moved_share(), Some(1.0 / 3.0));
    }
}
