//! Subsets: a part of the servers for each of several Weirs, so that they do not all keep connections to all
//! servers.

use serde::Serialize;

use crate::Portion;

/// Rule that assigns a part of the servers to each of several Weirs (Finagle's and Envoy's deterministic
/// aperture).
///
/// The servers lie on a ring in the pool's order, each with the same length. As many evenly spaced points as
/// there are Weirs divide the ring; each Weir starts at its own point. It takes a stretch that is a whole
/// number of those spaces long. So the same number of Weirs takes every stretch of the ring, and every server
/// gets the same in total. A server that lies only partly in the stretch counts with that part of its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Subset {
    /// Minimum number of servers for each Weir; fewer only if the pool has fewer.
    pub size: u32,
    /// Index of this Weir, from 0.
    pub instance: u32,
    /// Number of Weirs, at least 1.
    pub instances: u32,
}

impl Subset {
    /// Returns the part of each of `count` servers, in order; `None` = it is not in the subset.
    pub fn portions(&self, count: usize) -> impl Iterator<Item = Option<Portion>> {
        // In units of 1 / (count * instances) of the ring, a server is `instances` long and a space between
        // Weirs `count`.
        let (servers, instances) = (count as u64, u64::from(self.instances.max(1)));
        let ring = servers * instances;
        let spaces = (u64::from(self.size) * instances).div_ceil(servers.max(1)).clamp(1, instances);
        let length = spaces * servers;
        let start = u64::from(self.instance) % instances * servers;
        (0..servers).map(move |server| {
            let begin = server * instances;
            // The stretch may wrap round the end of the ring.
            let part = overlap((start, start + length), (begin, begin + instances))
                + overlap((start, start + length), (begin + ring, begin + ring + instances));
            (part > 0).then(|| Portion::share(part.min(instances) as f64 / instances as f64))
        })
    }
}

fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn portions(size: u32, instance: u32, instances: u32, servers: usize) -> Vec<u32> {
        let subset = Subset { size, instance, instances };
        subset.portions(servers).map(|portion| portion.map_or(0, Portion::get)).collect()
    }

    #[test]
    fn as_many_weirs_as_servers_have_whole_servers_next_to_each_other() {
        assert_eq!(portions(2, 0, 4, 4), [1_000, 1_000, 0, 0]);
        assert_eq!(portions(2, 3, 4, 4), [1_000, 0, 0, 1_000]);
    }

    #[test]
    fn where_numbers_do_not_match_servers_are_shared() {
        // Two Weirs and three servers: one and a half for each.
        assert_eq!(portions(1, 0, 2, 3), [1_000, 500, 0]);
        assert_eq!(portions(1, 1, 2, 3), [0, 500, 1_000]);
        assert_eq!(portions(9, 1, 2, 3), [1_000; 3], "there are no more");
        assert_eq!(portions(1, 0, 1, 3), [1_000; 3], "who is alone has to take all");
    }

    #[test]
    fn no_numbers_do_harm() {
        assert_eq!(portions(0, 0, 0, 2), [1_000; 2]);
        assert_eq!(portions(u32::MAX, u32::MAX, u32::MAX, 2), [1_000; 2]);
        assert!(portions(5, 1, 2, 0).is_empty());
    }

    proptest! {
        #[test]
        fn every_server_gets_the_same_from_all_weirs_and_every_weir_has_enough(
            servers in 1_usize..60,
            instances in 1_u32..40,
            size in 1_u32..60,
        ) {
            let mut sums = vec![0; servers];
            for instance in 0..instances {
                let portions = portions(size, instance, instances, servers);
                let own: u32 = portions.iter().sum();
                prop_assert!(u64::from(own) + servers as u64 >= 1_000 * u64::from(size).min(servers as u64));
                sums.iter_mut().zip(portions).for_each(|(sum, portion)| *sum += portion);
            }
            let (least, most) = (sums.iter().min().unwrap(), sums.iter().max().unwrap());
            // Each Weir rounds thousandths once.
            prop_assert!(most - least <= instances, "{sums:?}");
        }
    }
}
