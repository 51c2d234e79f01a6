//! Whether a peer that leaves no room in its socket takes bytes all the same. The kernel tells of room only once a part of a large
//! buffer is empty: a slow reader may need minutes for that. What its kernel has acknowledged tells, and is looked at when a time limit
//! has passed, never before.

use std::time::Duration;

use weir_net::Socket;

/// What a peer had not acknowledged when the time limit passed for the last time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PeerProgress(Option<u32>);

impl PeerProgress {
    /// The time limit has passed, and nothing was written in the time: how much longer the peer may take, if at all. With the first look
    /// nobody knows yet what it takes: a quarter of the time tells.
    #[cold]
    pub(crate) fn more_time(&mut self, socket: &Socket, limit: Duration) -> Option<Duration> {
        self.after(socket.undelivered_bytes(), limit)
    }

    fn after(&mut self, undelivered: u32, limit: Duration) -> Option<Duration> {
        match self.0.replace(undelivered) {
            _ if undelivered == 0 => None,
            None => Some(limit / 4),
            Some(before) => (undelivered < before).then_some(limit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_time_while_it_takes_something() {
        let limit = Duration::from_secs(60);
        let mut progress = PeerProgress::default();
        let given = [9_000, 8_000, 1_000, 1_000].map(|undelivered| progress.after(undelivered, limit));
        assert_eq!(given, [Some(limit / 4), Some(limit), Some(limit), None]);
        assert_eq!(
            PeerProgress::default().after(0, limit),
            None,
            "it has taken everything, and sends nothing"
        );
    }
}
