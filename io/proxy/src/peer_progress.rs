//! Detects whether a peer with a full socket buffer still takes bytes. The kernel reports room only when a
//! part of a large buffer is empty, which may take a slow reader minutes. The bytes that the peer's kernel
//! has acknowledged show progress earlier. They are checked only when a time limit has passed.

use std::time::Duration;

use weir_net::Socket;

/// Bytes that the peer had not acknowledged when the time limit last passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PeerProgress(Option<u32>);

impl PeerProgress {
    /// Returns how much more time the peer gets after the time limit passed without a write; `None` = no
    /// more. At the first call there is nothing to compare with, so the peer gets a quarter of the limit.
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
