//! Tests of the tournament: its keys, its turns, and its consistency under concurrent changes.

use std::sync::Barrier;

use weir_model::{ServerAddress, Weight};

use super::*;
use crate::Portion;
use crate::bounded_load::TotalLoad;

const NOW: Moment = Moment { now_ms: 0, picks: 0 };

fn entrants(count: usize) -> Box<[Option<Candidate>]> {
    let candidate = |slot| Candidate {
        slot,
        rank: slot as u32,
        address: ServerAddress::Unix("/run/web.sock".into()),
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
        load: Arc::default(),
    };
    (0..count).map(candidate).map(Some).collect()
}

/// Creates a tournament in which all entrants take part.
fn tournament(rule: KeyRule, entrants: &[Option<Candidate>]) -> Tournament {
    let members: Vec<usize> = (0..entrants.len()).collect();
    Tournament::new(rule, entrants.into(), &members, None, NOW)
}

#[test]
fn who_takes_no_part_is_not_picked_and_gets_no_key() {
    let entrants = entrants(20);
    let load = |slot: usize| &entrants[slot].as_ref().unwrap().load;
    let tournament = Tournament::new(KeyRule::LeastConnections, entrants.clone().into(), &[3, 11], None, NOW);
    let turns = Turns::default();
    load(7).add_one(&TotalLoad::default());
    tournament.refresh(7, load(7), Some(&turns), NOW);
    tournament.refresh_all(NOW);
    assert!(!tournament.refresh_one(7, NOW));
    assert_eq!(tournament.leaf(7).load(SeqCst), NEVER);
    for _ in 0..4 {
        let slot = tournament.pick(&[]).unwrap();
        assert!([3, 11].contains(&slot), "{slot}");
        tournament.refresh(slot, load(slot), Some(&turns), NOW);
    }
    assert_eq!(tournament.pick(&[3, 11]), None);
}

#[test]
fn only_a_key_that_has_become_larger_is_said_to_be_worth_another_look_at_who_is_least() {
    let entrants = entrants(20);
    let traffic = &entrants[5].as_ref().unwrap().load.measures().traffic;
    let tournament = tournament(KeyRule::LeastBandwidth, &entrants);
    traffic.add(1_000, 0);
    assert!(tournament.refresh_one(5, NOW));
    assert!(!tournament.refresh_one(5, NOW));
    let later = Moment { now_ms: 20_000, picks: 0 };
    let before = tournament.leaf(5).load(SeqCst);
    assert!(!tournament.refresh_one(5, later));
    assert!(tournament.leaf(5).load(SeqCst) < before);
}

#[test]
fn the_turns_may_come_round_without_a_server_being_forgotten() {
    let entrants = entrants(20);
    let tournament = tournament(KeyRule::LeastConnections, &entrants);
    let turns = Turns::from(u32::MAX - 50);
    let mut picked = Vec::new();
    for _ in 0..200 {
        let slot = tournament.pick(&[]).unwrap();
        tournament.refresh(slot, &entrants[slot].as_ref().unwrap().load, Some(&turns), NOW);
        picked.push(slot);
    }
    // The order restarts once in the middle.
    for slot in 0..20 {
        let times = picked.iter().filter(|picked| **picked == slot).count();
        assert!((9..=11).contains(&times), "{picked:?}");
    }
}

#[test]
fn trees_of_any_size_find_their_smallest_key() {
    for count in [1, 7, 8, 9, 64, 65, 512, 513, 10_000] {
        let entrants = entrants(count);
        let loads = |slot: usize| &entrants[slot].as_ref().unwrap().load;
        let tournament = tournament(KeyRule::LeastConnections, &entrants);
        for slot in (0..count).filter(|slot| *slot != count - 1) {
            loads(slot).add_one(&TotalLoad::default());
            tournament.refresh(slot, loads(slot), None, NOW);
        }
        assert_eq!(tournament.pick(&[]), Some(count - 1));
        let second = tournament.pick(&[count - 1]);
        assert_eq!(second.is_some(), count > 1);
        assert!(second.is_none_or(|slot| slot < count - 1));
    }
}

#[test]
fn the_keys_are_those_of_haproxy() {
    let mut entrants = entrants(1);
    let candidate = entrants[0].as_mut().unwrap();
    candidate.weight = Weight::new(3).unwrap();
    let load_part = |candidate: &Candidate| key(KeyRule::LeastConnections, candidate, 0, NOW) >> 32;
    assert_eq!(load_part(candidate), 0);
    candidate.load.add_one(&TotalLoad::default());
    assert_eq!(load_part(candidate), 2 * 4096 / 48);
    candidate.connections_max = Some(1);
    assert_eq!(key(KeyRule::LeastConnections, candidate, 0, NOW), BUSY | (2 * 4096 / 48) << 32);
    candidate.connections_max = None;
    for (weight, effective) in [(1, 16), (2, 32), (7, 112), (256, 4096)] {
        candidate.weight = Weight::new(weight).unwrap();
        assert_eq!(load_part(candidate), 2 * 4096 / effective, "{weight}");
    }
    candidate.weight = Weight::ONE;
    for thousandths in [1, 999, 1001] {
        candidate.portion = Portion::thousandths(thousandths);
        assert_eq!(load_part(candidate), 2 * 4096 * 1000 / (16 * u64::from(thousandths)), "{thousandths}");
    }
}

#[test]
fn the_greatest_key_is_not_that_of_one_who_takes_no_part() {
    let mut entrants = entrants(1);
    let candidate = entrants[0].as_mut().unwrap();
    candidate.connections_max = Some(1);
    candidate.portion = Portion::thousandths(1);
    // From about 67,000 requests on, more requests do not increase the key of a server with so little weight.
    (0..70_000).for_each(|_| candidate.load.add_one(&TotalLoad::default()));
    candidate.rank = u32::MAX;
    assert_eq!(key(KeyRule::Overflow, candidate, 0, NOW), NEVER - 1);
    candidate.rank = 1_000_000;
    assert_eq!(key(KeyRule::Overflow, candidate, 0, NOW) & ((1 << RANK_BITS) - 1), 1_000_000);
}

impl Tournament {
    /// Returns true if every entry is consistent, down to the loads.
    fn is_true(&self) -> bool {
        let leaf_is_true = |slot: usize| match &self.candidates[slot] {
            Some(entrant) => {
                let key_now = self.leaf(slot).load(SeqCst);
                key_now == key(self.rule, entrant, key_now & TURN_MASK, NOW)
            }
            None => self.leaf(slot).load(SeqCst) == NEVER,
        };
        self.tree.is_settled(smallest) && (0..self.slots()).all(leaf_is_true)
    }
}

/// Workers change loads at the same time and stop repeatedly. At each stop every entry must be right.
#[test]
#[allow(clippy::disallowed_methods, reason = "workers are threads: that is what is tested")]
fn whenever_all_workers_stop_every_entry_is_true() {
    const WORKERS: usize = 3;
    const STOPS: usize = 3_000;
    let rules = [KeyRule::LeastConnections, KeyRule::ShortestExpectedDelay, KeyRule::Overflow];
    for (rule, count) in rules.into_iter().flat_map(|rule| [2, 9, 70].map(|count| (rule, count))) {
        let entrants = entrants(count);
        let tournament = tournament(rule, &entrants);
        let (turns, total) = (Turns::default(), TotalLoad::default());
        let (stop, go_on) = (Barrier::new(WORKERS + 1), Barrier::new(WORKERS + 1));
        let work = |worker: usize| {
            for round in 0..STOPS {
                for step in 0..4 + worker {
                    let slot = tournament.pick(&[]).unwrap_or((round + step) % count);
                    let load = &entrants[slot].as_ref().unwrap().load;
                    load.add_one(&total);
                    tournament.refresh(slot, load, Some(&turns), NOW);
                    if step % 2 == 0 {
                        load.remove_one(&total);
                        tournament.refresh(slot, load, None, NOW);
                    }
                }
                stop.wait();
                go_on.wait();
            }
        };
        std::thread::scope(|scope| {
            let work = &work;
            for worker in 0..WORKERS {
                scope.spawn(move || work(worker));
            }
            let mut wrong = 0;
            for _ in 0..STOPS {
                stop.wait();
                wrong += usize::from(!tournament.is_true());
                go_on.wait();
            }
            assert_eq!(wrong, 0, "of {STOPS} times with {count} servers by {rule:?}");
        });
    }
}
