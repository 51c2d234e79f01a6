//! Counts the open connections of each client.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of open connections of each client of a listener, over all workers. Only listeners with a limit per
/// client use it.
#[derive(Debug, Default)]
pub struct ClientConnections {
    open: Mutex<HashMap<IpAddr, u32>>,
}

/// One counted client connection; dropping it decrements the count.
#[derive(Debug)]
pub(crate) struct CountedClient {
    clients: Arc<ClientConnections>,
    client: IpAddr,
}

impl ClientConnections {
    /// Counts one more connection of `client`. Returns `None` if the client already has `max` connections.
    pub(crate) fn enter(self: &Arc<Self>, client: IpAddr, max: u32) -> Option<CountedClient> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(client).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(CountedClient { clients: Arc::clone(self), client })
    }
}

impl Drop for CountedClient {
    fn drop(&mut self) {
        let mut open = self.clients.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = open.entry(self.client) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_as_many_as_it_may_and_leaves_nothing_behind() {
        let clients = Arc::new(ClientConnections::default());
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        let held = (
            clients.enter(one, 2).unwrap(),
            clients.enter(one, 2).unwrap(),
            clients.enter(other, 2).unwrap(),
        );
        assert!(clients.enter(one, 2).is_none());
        drop(held.0);
        let again = clients.enter(one, 2).unwrap();
        drop((held.1, held.2, again));
        assert!(clients.open.lock().unwrap().is_empty());
    }
}
