//! Selection of the servers that take part, and of the fraction of their weights that counts: tiers, subsets,
//! zones.

use std::collections::BTreeSet;

use serde::Serialize;
use weir_model::Weight;

use crate::{Candidate, Portion, Subset};

/// Rule that selects the servers that take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Membership {
    /// Share of a tier's weight that must be up for the tier to be enough, in percent; 0 = one server is
    /// enough.
    pub min_healthy_percent: u8,
    /// Rule by which servers of the same zone are preferred; `None` = zones do not count.
    pub zones: Option<ZoneRule>,
    /// Part of the servers that this Weir uses; `None` = all.
    pub subset: Option<Subset>,
}

/// Result of [`Membership::settle`]: slots in ascending order.
#[derive(Debug)]
pub(crate) struct Settled {
    /// Slots of servers that requests may be given to.
    pub(crate) members: Box<[usize]>,
    /// The members, and the servers that would be members if they were up: those of the same subset, zone and
    /// tiers.
    pub(crate) standing: Box<[usize]>,
}

/// Rule for sending requests to other zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ZoneRule {
    /// Share of the zone's weight, 1 to 100 percent. All requests stay in the zone while at least this share
    /// is up. Below it, (up / all) / (this share) of them stay.
    pub stay_percent: u8,
}

impl Membership {
    /// Selects the servers that take part. Multiplies the portion of each server's weight by the parts that
    /// the subset and the zone assign.
    pub(crate) fn settle(&self, candidates: &mut [Option<Candidate>]) -> Settled {
        let mut parts = self.parts(candidates);
        let mut chosen = self.tiers(candidates.iter().flatten().filter(|one| parts[one.slot].is_some()));
        if chosen.is_empty() {
            // A server that belongs to another Weir is better than none.
            parts.iter_mut().for_each(|part| *part = part.or(Some(Portion::WHOLE)));
            chosen = self.tiers(candidates.iter().flatten());
        }
        let all = candidates.iter().flatten();
        let remote = self.zones.map_or(Portion::WHOLE, |rule| rule.remote_portion(all, &mut chosen));
        let tiers: BTreeSet<_> = chosen.iter().map(|one| tier(one)).collect();
        let goes_abroad = chosen.iter().any(|one| !one.is_local);
        let would_be = |one: &&Candidate| {
            let is_near = one.is_local || goes_abroad;
            is_near && one.weight > Weight::ZERO && parts[one.slot].is_some() && tiers.contains(&tier(one))
        };
        let standing = candidates.iter().flatten().filter(would_be).map(|one| one.slot).collect();
        let mut members: Box<[usize]> = chosen.iter().map(|one| one.slot).collect();
        members.sort_unstable();
        for one in candidates.iter_mut().flatten() {
            let part = parts[one.slot].unwrap_or(Portion::WHOLE);
            one.portion = one.portion.of(part).of(if one.is_local { Portion::WHOLE } else { remote });
        }
        Settled { members, standing }
    }

    /// Returns the part of each server that is in the subset, by slot.
    fn parts(&self, candidates: &[Option<Candidate>]) -> Vec<Option<Portion>> {
        let mut parts = vec![Some(Portion::WHOLE); candidates.len()];
        let Some(subset) = self.subset else { return parts };
        let mut in_order: Vec<&Candidate> = candidates.iter().flatten().collect();
        in_order.sort_by_key(|one| (one.rank, one.slot));
        // Each tier has its own ring. Otherwise a Weir might get only backup servers.
        in_order.sort_by_key(|one| tier(one));
        for same in in_order.chunk_by(|a, b| tier(a) == tier(b)) {
            for (one, part) in same.iter().zip(subset.portions(same.len())) {
                parts[one.slot] = part;
            }
        }
        parts
    }

    /// Returns the usable servers of the best tier, and of further tiers until one is enough.
    fn tiers<'a>(&self, all: impl Iterator<Item = &'a Candidate>) -> Vec<&'a Candidate> {
        let mut by_tier: Vec<&Candidate> = all.collect();
        by_tier.sort_by_key(|one| tier(one));
        let mut chosen = Vec::new();
        for same in by_tier.chunk_by(|a, b| tier(a) == tier(b)) {
            let usable = same.iter().copied().filter(|one| one.is_usable());
            // A half-open server takes only a few requests at a time, so it cannot replace the others.
            let up = weight(usable.clone().filter(|one| !one.half_open));
            let of = weight(same.iter().copied());
            chosen.extend(usable);
            if up > 0 && up * 100 >= of * u64::from(self.min_healthy_percent) {
                break;
            }
        }
        chosen
    }
}

impl ZoneRule {
    /// Removes the servers that the zone does not need. Returns the portion that counts of the weights of
    /// servers in other zones.
    fn remote_portion<'a>(
        self,
        all: impl Iterator<Item = &'a Candidate>,
        chosen: &mut Vec<&'a Candidate>,
    ) -> Portion {
        // Backup tiers that are not in use do not count.
        let last = chosen.iter().map(|one| tier(one)).max();
        let of = weight(all.filter(|one| one.is_local && Some(tier(one)) <= last));
        let up = weight(chosen.iter().copied().filter(|one| one.is_local && !one.half_open));
        let remote = weight(chosen.iter().copied().filter(|one| !one.is_local));
        if up == 0 || remote == 0 {
            return Portion::WHOLE;
        }
        let stays = (up * 100) as f64 / (of * u64::from(self.stay_percent.max(1))) as f64;
        if stays >= 1.0 {
            chosen.retain(|one| one.is_local);
            return Portion::WHOLE;
        }
        // Scales the remote weights so that they are (1 - stays) of the total; no server counts for more than
        // its weight.
        let leaves = up as f64 * (1.0 - stays) / stays;
        Portion::share((leaves / remote as f64).min(1.0))
    }
}

/// Returns the sort key of tiers: the lowest priority number first, backups last.
fn tier(candidate: &Candidate) -> (bool, u16) {
    (candidate.backup, candidate.priority)
}

/// Returns the server for a retry once every member has failed the request. O(number of servers).
///
/// It is the least loaded server with room in the best tier that takes no part; servers in this zone come
/// first.
pub(crate) fn next_in_line(
    candidates: &[Option<Candidate>],
    takes_part: impl Fn(usize) -> bool,
    exclude: &[usize],
) -> Option<usize> {
    let others = candidates.iter().flatten().filter(|one| {
        one.is_usable() && one.has_room() && !takes_part(one.slot) && !exclude.contains(&one.slot)
    });
    let least = others.min_by(|a, b| {
        let place = |one: &Candidate| (tier(one), !one.is_local);
        // Compares a / weight of a < b / weight of b without the division.
        let load =
            |one: &Candidate, other: &Candidate| u64::from(one.load.active()) * u64::from(other.weight.get());
        place(a).cmp(&place(b)).then_with(|| load(a, b).cmp(&load(b, a))).then_with(|| a.rank.cmp(&b.rank))
    });
    least.map(|one| one.slot)
}

fn weight<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> u64 {
    candidates.map(|one| u64::from(one.weight.get())).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::ServerLoad;
    use crate::bounded_load::TotalLoad;

    /// Creates servers of weight 1, all up, in the first tier and in this zone.
    fn servers(count: usize) -> Vec<Option<Candidate>> {
        (0..count).map(candidate).map(Some).collect()
    }

    fn change(servers: &mut [Option<Candidate>], slots: &[usize], change: impl Fn(&mut Candidate)) {
        for slot in slots {
            servers[*slot].as_mut().into_iter().for_each(&change);
        }
    }

    fn portions(servers: &[Option<Candidate>], slots: &[usize]) -> Vec<u32> {
        slots.iter().filter_map(|slot| Some(servers[*slot].as_ref()?.portion.as_percent())).collect()
    }

    #[test]
    fn the_next_tier_takes_part_only_when_nobody_of_the_better_ones_can() {
        let mut servers = servers(6);
        change(&mut servers, &[2, 3], |one| one.priority = 1);
        change(&mut servers, &[4, 5], |one| one.backup = true);
        let rule = Membership::default();
        assert_eq!(*rule.settle(&mut servers).members, [0, 1]);
        change(&mut servers, &[0], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [1]);
        change(&mut servers, &[1], |one| one.weight = Weight::ZERO);
        assert_eq!(*rule.settle(&mut servers).members, [2, 3]);
        change(&mut servers, &[2, 3], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [4, 5]);
        change(&mut servers, &[4, 5], |one| one.eligible = false);
        assert!(rule.settle(&mut servers).members.is_empty());
    }

    #[test]
    fn a_tier_that_is_only_half_open_gets_help_from_the_next() {
        let mut servers = servers(3);
        change(&mut servers, &[2], |one| one.backup = true);
        let rule = Membership::default();
        change(&mut servers, &[0], |one| one.half_open = true);
        assert_eq!(*rule.settle(&mut servers).members, [0, 1]);
        change(&mut servers, &[1], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [0, 2]);
        change(&mut servers, &[2], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [0]);
    }

    #[test]
    fn a_zone_that_is_only_half_open_gets_help_from_the_others() {
        let rule = Membership { zones: Some(ZoneRule { stay_percent: 70 }), ..Membership::default() };
        let mut servers = servers(2);
        change(&mut servers, &[1], |one| one.is_local = false);
        change(&mut servers, &[0], |one| one.half_open = true);
        let slots = rule.settle(&mut servers).members;
        assert_eq!((&*slots, portions(&servers, &slots)), (&[0, 1][..], vec![100, 100]));
    }

    #[test]
    fn a_retry_goes_to_the_next_tier_in_order_near_servers_first() {
        let mut servers = servers(6);
        change(&mut servers, &[1, 2, 3], |one| one.priority = 1);
        change(&mut servers, &[2], |one| one.is_local = false);
        change(&mut servers, &[3], |one| one.weight = Weight::ZERO);
        change(&mut servers, &[4, 5], |one| one.backup = true);
        change(&mut servers, &[4], |one| one.load.add_one(&TotalLoad::default()));
        let next = |exclude: &[usize]| next_in_line(&servers, |slot| slot == 0, exclude);
        assert_eq!(next(&[0]), Some(1));
        assert_eq!(next(&[0, 1]), Some(2));
        assert_eq!(next(&[0, 1, 2]), Some(5), "the less loaded one");
        assert_eq!(next(&[0, 1, 2, 5]), Some(4));
        assert_eq!(next(&[0, 1, 2, 4, 5]), None);
    }

    #[test]
    fn a_tier_of_which_too_little_is_up_gets_help_from_the_next() {
        let mut servers = servers(8);
        change(&mut servers, &[4, 5], |one| one.priority = 3);
        change(&mut servers, &[6, 7], |one| one.priority = 9);
        let rule = Membership { min_healthy_percent: 50, ..Membership::default() };
        change(&mut servers, &[0, 1], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [2, 3], "half of it is up");
        change(&mut servers, &[2], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [3, 4, 5]);
        change(&mut servers, &[3, 4], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [5], "half of the second tier is up");
        change(&mut servers, &[5], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [6, 7]);
    }

    #[test]
    fn requests_stay_in_the_zone_while_enough_of_it_is_up() {
        let rule = Membership { zones: Some(ZoneRule { stay_percent: 70 }), ..Membership::default() };
        let mut servers = servers(20);
        change(&mut servers, &[10, 11, 12, 13, 14, 15, 16, 17, 18, 19], |one| one.is_local = false);
        change(&mut servers, &[0, 1, 2], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut servers).members, [3, 4, 5, 6, 7, 8, 9], "seven of ten");
        change(&mut servers, &[3, 4], |one| one.eligible = false);
        // Five of ten: 5 / 7 of the requests stay, by weights of 5 and 10 * 20 %.
        let slots = rule.settle(&mut servers).members;
        assert_eq!(*slots, [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
        assert_eq!(portions(&servers, &slots), [&[100; 5][..], &[20; 10]].concat());
        change(&mut servers, &[5, 6, 7, 8, 9], |one| one.eligible = false);
        change(&mut servers, &[10], |one| one.portion = Portion::WHOLE);
        let slots = rule.settle(&mut servers).members;
        assert_eq!(slots.len(), 10, "all that are elsewhere");
        assert_eq!(portions(&servers, &slots)[0], 100);
    }

    #[test]
    fn a_zone_without_servers_uses_all_others_and_alone_it_keeps_what_it_has() {
        let rule = Membership { zones: Some(ZoneRule { stay_percent: 70 }), ..Membership::default() };
        let mut elsewhere = servers(3);
        change(&mut elsewhere, &[0, 1, 2], |one| one.is_local = false);
        assert_eq!(*rule.settle(&mut elsewhere).members, [0, 1, 2]);
        let mut alone = servers(10);
        change(&mut alone, &[1, 2, 3, 4, 5, 6, 7, 8, 9], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut alone).members, [0]);
    }

    #[test]
    fn a_subset_counts_parts_and_is_left_when_nobody_in_it_is_up() {
        let subset = Subset { size: 1, instance: 0, instances: 2 };
        let rule = Membership { subset: Some(subset), ..Membership::default() };
        let mut three = servers(3);
        let slots = rule.settle(&mut three).members;
        assert_eq!(*slots, [0, 1]);
        assert_eq!(portions(&three, &slots), [100, 50]);
        let mut three = servers(3);
        change(&mut three, &[0, 1], |one| one.eligible = false);
        assert_eq!(*rule.settle(&mut three).members, [2]);
    }

    proptest! {
        #[test]
        fn somebody_takes_part_whenever_somebody_can(
            these in prop::collection::vec((0_u32..4, any::<bool>(), any::<bool>(), any::<bool>(), 0_u16..3), 0..30),
            min_healthy_percent in 0_u8..=100,
            stay in prop::option::of(1_u8..=100),
            subset in prop::option::of((1_u32..9, 0_u32..9, 1_u32..9)),
        ) {
            let mut servers = servers(these.len());
            for (slot, (weight, eligible, backup, is_local, priority)) in these.iter().enumerate() {
                change(&mut servers, &[slot], |one| {
                    one.weight = Weight::new(*weight).unwrap();
                    (one.eligible, one.backup, one.is_local, one.priority) = (*eligible, *backup, *is_local, *priority);
                });
            }
            let subset = subset.map(|(size, instance, instances)| Subset { size, instance, instances });
            let zones = stay.map(|stay_percent| ZoneRule { stay_percent });
            let slots = Membership { min_healthy_percent, zones, subset }.settle(&mut servers).members;
            let usable: Vec<usize> = servers.iter().flatten().filter(|one| one.is_usable()).map(|one| one.slot).collect();
            prop_assert_eq!(slots.is_empty(), usable.is_empty());
            prop_assert!(slots.iter().all(|slot| usable.contains(slot)));
            prop_assert!(slots.is_sorted());
        }

        #[test]
        fn the_share_that_stays_is_that_of_the_formula(
            local in 1_usize..40,
            up in 1_usize..40,
            remote in 1_usize..60,
            stay_percent in 1_u8..=100,
        ) {
            let up = up.min(local);
            let mut servers = servers(local + remote);
            let away: Vec<usize> = (local..local + remote).collect();
            let down: Vec<usize> = (up..local).collect();
            change(&mut servers, &away, |one| one.is_local = false);
            change(&mut servers, &down, |one| one.eligible = false);
            let rule = Membership { zones: Some(ZoneRule { stay_percent }), ..Membership::default() };
            let slots = rule.settle(&mut servers).members;
            let share = |is_local: bool| -> f64 {
                let those = slots.iter().filter_map(|slot| servers[*slot].as_ref()).filter(|one| one.is_local == is_local);
                those.map(|one| f64::from(one.portion.get())).sum()
            };
            let stays = share(true) / (share(true) + share(false));
            let formula = (up as f64 / local as f64 / (f64::from(stay_percent) / 100.0)).min(1.0);
            // A server in another zone never counts for more than its weight, so few of them cannot take all
            // that leaves.
            let at_least = up as f64 / (up + remote) as f64;
            prop_assert!((stays - formula.max(at_least)).abs() < 0.05, "{stays} for {formula}");
        }
    }

    fn candidate(slot: usize) -> Candidate {
        Candidate {
            slot,
            rank: slot as u32,
            address: weir_model::ServerAddress::Inet(std::net::SocketAddr::from((
                [10, 0, 0, 1],
                slot as u16,
            ))),
            weight: Weight::ONE,
            name_key: 0,
            portion: Portion::WHOLE,
            priority: 0,
            backup: false,
            is_local: true,
            eligible: true,
            half_open: false,
            keeps_clients: true,
            connections_max: None,
            load: Arc::new(ServerLoad::default()),
        }
    }
}
