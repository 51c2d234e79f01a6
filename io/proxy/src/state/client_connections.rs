use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// How many connections each client of a listener has open, over all workers. Counted only where there is a limit.
#[derive(Debug, Default)]
pub struct ClientConnections {
    open: Mutex<HashMap<IpAddr, u32>>,
}

/// A connection that counts until this is dropped.
#[derive(Debug)]
pub(crate) struct CountedClient {
    clients: Arc<ClientConnections>,
    client: IpAddr,
}

impl ClientConnections {
    /// One connection more of this client, or `None` if it has as many as it may.
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
