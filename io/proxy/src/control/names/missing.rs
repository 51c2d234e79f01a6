//! Addresses that the latest answers lack.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;

use super::Answer;

/// Addresses that the latest answers lack and that stay in use for a while. DNS servers omit addresses to
/// spread load, or after one failed probe of a server.
#[derive(Debug, Default)]
pub(super) struct Missing {
    since: HashMap<IpAddr, Instant>,
}

impl Missing {
    /// Returns `found` plus the addresses of `before` that have been missing for less than `hold`. A name
    /// that is one server moves at once.
    pub(super) fn complete(
        &mut self,
        found: Answer,
        before: &Answer,
        hold: Duration,
        now: Instant,
    ) -> Answer {
        let since = std::mem::take(&mut self.since);
        if before.is_several() {
            let missing = before.all().filter(|ip| !found.has(*ip));
            let missing = missing.map(|ip| (ip, since.get(&ip).copied().unwrap_or(now)));
            self.since = missing.filter(|(_, since)| *since + hold > now).collect();
        }
        let mut held: Vec<IpAddr> = self.since.keys().copied().collect();
        held.sort_unstable();
        found.with(held.into_iter())
    }

    /// Returns the time until the next missing address expires. It is removed if the next answer lacks it
    /// too.
    pub(super) fn due(&self, hold: Duration, now: Instant) -> Option<Duration> {
        let due = self.since.values().map(|since| (*since + hold).saturating_duration_since(now));
        due.min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(addresses: &[&str]) -> Answer {
        Answer::default().with(addresses.iter().map(|address| address.parse().unwrap()))
    }

    #[test]
    fn an_address_goes_with_an_answer_that_lacks_it_once_it_has_been_missing_for_long_enough() {
        let (hold, start) = (Duration::from_secs(10), Instant::now());
        let mut missing = Missing::default();
        let mut before = answer(&["10.0.0.1", "10.0.0.2", "::1"]);
        // Time of the answer, its addresses, the addresses in use, and the time until the next lookup.
        let (without, with) = (&["10.0.0.1", "::1"][..], &["10.0.0.1", "10.0.0.2", "::1"][..]);
        for (at_s, found, used, due_s) in [
            (0, without, with, Some(10)),
            (4, without, with, Some(6)),
            (6, with, with, None),
            (20, without, with, Some(10)),
            (35, without, without, None),
            (36, &["10.0.0.9"][..], &["10.0.0.9"][..], None),
        ] {
            let now = start + Duration::from_secs(at_s);
            before = missing.complete(answer(found), &before, hold, now);
            assert_eq!(before, answer(used), "after {at_s} s");
            assert_eq!(missing.due(hold, now), due_s.map(Duration::from_secs), "after {at_s} s");
        }
    }

    #[test]
    fn what_is_held_leaves_room_for_every_address_that_is_told() {
        let of = |from: u32, count: u32| {
            let addresses = (from..from + count).map(|bits| IpAddr::V4(bits.into()));
            Answer::default().with(addresses)
        };
        let now = Instant::now();
        let used = Missing::default().complete(of(1_000, 60), &of(1, 60), Duration::from_secs(10), now);
        assert_eq!(used.len(), 64);
        assert!(of(1_000, 60).all().all(|ip| used.has(ip)));
    }
}
