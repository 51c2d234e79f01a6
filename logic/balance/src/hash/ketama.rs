//! Ketama as NGINX has it (`hash KEY consistent`, ngx_http_upstream_hash_module.c), compatible with Cache::Memcached::Fast:
//! a server's points come from its address alone, so that balancers agree whatever the order of their servers.

use weir_model::ServerAddress;

use super::crc32::update;
use super::nginx_ip_hash::TRIES_MAX;
use super::ring::halvings;
use super::{Addressed, Digest};

/// A ring of (place, slot), ascending by place.
#[derive(Debug)]
pub(crate) struct Ketama(Box<[(u32, u32)]>);

const POINTS_PER_WEIGHT: u64 = 160;
/// With more points the ring would cost more memory than it is worth.
const POINTS_MAX: u64 = 1 << 20;

impl Ketama {
    /// From servers with what counts of their weights, in thousandths and above 0, in the pool's order. Of two servers with one
    /// address the first has the points.
    pub(crate) fn new(servers: &[Addressed<'_>]) -> Self {
        let points_of = |share: u32| (u64::from(share) * POINTS_PER_WEIGHT / 1_000).max(1);
        let wanted: u64 = servers.iter().map(|(_, share, _)| points_of(*share)).sum();
        let halvings = halvings(wanted, POINTS_MAX);
        let mut points = Vec::with_capacity((wanted >> halvings) as usize + servers.len());
        for (slot, share, address) in servers {
            let own = (points_of(*share) >> halvings).max(1);
            let base = base_of(address);
            let mut previous = 0_u32;
            for _ in 0..own {
                previous = !update(base, &previous.to_le_bytes());
                points.push((previous, *slot as u32));
            }
        }
        // Stable: of equal places the first server's stays in front.
        points.sort_by_key(|(place, _)| *place);
        points.dedup_by_key(|(place, _)| *place);
        Self(points.into())
    }

    /// The server of the first point at or behind a key's CRC-32, or of the next ones. None if there was no open one within
    /// the tries.
    pub(crate) fn pick(&self, key: Digest, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let first = self.0.partition_point(|(place, _)| *place < key.hash);
        let slot = |step: usize| Some(self.0[(first + step).checked_rem(self.0.len())?].1 as usize);
        (0..TRIES_MAX).filter_map(slot).find(|slot| is_open(*slot))
    }
}

/// The CRC's state after `HOST \0 PORT`; of a Unix socket the path is the host, and there is no port.
fn base_of(address: &ServerAddress) -> u32 {
    let text = address.to_string();
    let (host, port) = match text.strip_prefix("unix:") {
        Some(path) => (path, ""),
        None => text.rsplit_once(':').unwrap_or((&text, "")),
    };
    [host.as_bytes(), b"\0", port.as_bytes()].into_iter().fold(!0, update)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::crc32::crc32;

    #[test]
    fn host_and_port_are_told_apart() {
        let base = |text: &str| !base_of(&text.parse().unwrap());
        assert_eq!(base("10.0.0.1:80"), crc32(&[b"10.0.0.1\080"]));
        assert_eq!(base("[::1]:80"), crc32(&[b"[::1]\080"]));
        assert_eq!(base("web.example:8080"), crc32(&[b"web.example\08080"]));
        assert_eq!(base("unix:/run/a:1"), crc32(&[b"/run/a:1\0"]));
    }
}
