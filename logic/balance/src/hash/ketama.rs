//! Ketama as in NGINX (`hash KEY consistent`, ngx_http_upstream_hash_module.c), compatible with
//! Cache::Memcached::Fast.
//!
//! A server's points come from its address alone, so that balancers agree whatever the order of their
//! servers.

use weir_model::ServerAddress;

use super::crc32::update;
use super::nginx_ip_hash::TRIES_MAX;
use super::ring::{Reduction, STEPS_MAX};
use super::signpost::Signpost;
use super::{Addressed, Digest};

/// A ring of hash points.
#[derive(Debug)]
pub(crate) struct Ketama {
    /// Position and slot of each point, ascending by position.
    points: Box<[(u32, u32)]>,
    signpost: Signpost,
}

const POINTS_PER_WEIGHT: u64 = 160;
/// Most points on the ring; beyond that it would need too much memory.
const POINTS_MAX: u64 = 1 << 20;

impl Ketama {
    /// Creates the ring from servers and their shares, in thousandths and above 0, in the pool's order.
    ///
    /// Of two servers with the same address the first has the points. `whole_weights` is as for the
    /// [`Ring`](super::Ring).
    pub(crate) fn new(servers: &[Addressed<'_>], whole_weights: impl Iterator<Item = u32>) -> Self {
        let points_of = |share: u32| (u64::from(share) * POINTS_PER_WEIGHT / 1_000).max(1);
        let wanted = whole_weights.map(points_of).sum();
        let reduction = Reduction::new(wanted, POINTS_MAX);
        let mut points = Vec::with_capacity(reduction.of(wanted) as usize + servers.len());
        for (slot, share, address) in servers {
            let own = reduction.of(points_of(*share)).max(1);
            let base = base_of(address);
            let mut previous = 0_u32;
            for _ in 0..own {
                previous = !update(base, &previous.to_le_bytes());
                points.push((previous, *slot as u32));
            }
        }
        // The sort is stable: of points with equal positions the first server's stays in front.
        points.sort_by_key(|(place, _)| *place);
        points.dedup_by_key(|(place, _)| *place);
        let signpost = Signpost::new(points.iter().map(|(place, _)| *place));
        Self { points: points.into(), signpost }
    }

    /// Returns the server of the first point at or after the key's CRC-32, or of one of the next points.
    /// `None` = none within the permitted tries is open.
    pub(crate) fn pick(&self, key: Digest, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        self.walk(key, TRIES_MAX, is_open)
    }

    /// Returns the same where loads are bounded. Skipped servers have their full share, so the search goes as
    /// far as on the [`Ring`](super::Ring), to find the key's next server.
    pub(crate) fn pick_within(&self, key: Digest, permits: impl Fn(usize) -> bool) -> Option<usize> {
        self.walk(key, STEPS_MAX, permits)
    }

    fn walk(&self, key: Digest, steps: usize, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let (around, count) = (self.signpost.around(key.hash), self.points.len());
        let behind = self.points[around.clone()].partition_point(|(place, _)| *place < key.hash);
        let first = around.start + behind;
        let slot = |step: usize| Some(self.points[(first + step).checked_rem(count)?].1 as usize);
        (0..steps.min(count)).filter_map(slot).find(|slot| is_open(*slot))
    }
}

/// Returns the CRC state after `HOST \0 PORT`. For a Unix socket the path is the host, and there is no port.
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
    fn a_server_that_starts_slowly_in_a_ring_too_large_for_memory_moves_no_keys_between_others() {
        let addresses: Vec<ServerAddress> =
            (1..=26).map(|n| format!("10.0.0.{n}:80").parse().unwrap()).collect();
        let ring = |share: u32| {
            let share_of = |slot: usize| if slot == 0 { share } else { 256_000 };
            let servers: Vec<_> =
                addresses.iter().enumerate().map(|(slot, address)| (slot, share_of(slot), address)).collect();
            Ketama::new(&servers, (0..26).map(|_| 256_000))
        };
        let (whole, starting) = (ring(256_000), ring(25_600));
        for text in 0..2_000_u32 {
            let key = Digest { hash: crc32(&[&text.to_le_bytes()]), bytes: 4 };
            let owner = whole.pick(key, |_| true);
            assert!(owner == Some(0) || owner == starting.pick(key, |_| true));
        }
    }

    #[test]
    fn host_and_port_are_told_apart() {
        let base = |text: &str| !base_of(&text.parse().unwrap());
        assert_eq!(base("10.0.0.1:80"), crc32(&[b"10.0.0.1\080"]));
        assert_eq!(base("[::1]:80"), crc32(&[b"[::1]\080"]));
        assert_eq!(base("web.example:8080"), crc32(&[b"web.example\08080"]));
        assert_eq!(base("unix:/run/a:1"), crc32(&[b"/run/a:1\0"]));
    }
}
