//! Tests of properties that all algorithms share.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use weir_balance::{Algorithm, Key, Pick, PickInput, Picker};
use weir_model::Weight;

use crate::pool::{Pool, pick};

fn algorithm() -> impl Strategy<Value = Algorithm> {
    prop::sample::select(&Algorithm::ALL[..])
}

fn picks(pool: &Pool, count: u32) -> Vec<Pick> {
    let (roster, mut picker) = (pool.roster(), Picker::new(1));
    let key =
        |index: u32| Some(Key::from(IpAddr::from(Ipv4Addr::from_bits(index.wrapping_mul(0x0101_0101)))));
    let input = |index: u32| PickInput { key: key(index), random: u64::from(index), ..PickInput::default() };
    let mut one = |index: u32| {
        let pick = picker.pick(&roster, &input(index));
        if let Pick::Server(slot) = pick {
            roster.begin(slot);
        }
        pick
    };
    (0..count).map(&mut one).collect()
}

#[test]
fn an_empty_pool_has_nobody() {
    for algorithm in Algorithm::ALL {
        assert_eq!(picks(&Pool::new(algorithm, &[]), 1), [Pick::Nobody]);
        assert_eq!(picks(&Pool::new(algorithm, &[0, 0]), 1), [Pick::Nobody]);
    }
}

/// Returns true for algorithms that fill one server before the next, which do not spread a few requests.
fn fills(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::First | Algorithm::Failover)
}

#[test]
fn backups_serve_only_when_no_other_server_is_eligible_and_then_all_of_them() {
    for algorithm in Algorithm::ALL {
        let mut pool = Pool::new(algorithm, &[1; 4]);
        pool.candidates[0].backup = true;
        pool.candidates[2].backup = true;
        let picked = picks(&pool, 40);
        assert!(picked.iter().all(|pick| [Pick::Server(1), Pick::Server(3)].contains(pick)), "{algorithm}");

        pool.candidates[1].eligible = false;
        pool.candidates[3].weight = Weight::ZERO;
        let picked = picks(&pool, 40);
        assert!(picked.contains(&Pick::Server(0)), "{algorithm}");
        assert!(picked.contains(&Pick::Server(2)) || fills(algorithm), "{algorithm}");
        assert!(picked.iter().all(|pick| [Pick::Server(0), Pick::Server(2)].contains(pick)), "{algorithm}");
    }
}

#[test]
fn a_pool_whose_servers_are_all_full_is_busy_and_does_not_wake_its_backups() {
    for algorithm in Algorithm::ALL {
        let mut pool = Pool::new(algorithm, &[1; 50]);
        pool.candidates[49].backup = true;
        for candidate in &mut pool.candidates {
            candidate.connections_max = Some(2);
        }
        let picked = picks(&pool, 100);
        assert!(picked[..98].iter().all(|pick| matches!(pick, Pick::Server(0..49))), "{algorithm}");
        assert_eq!(picked[98..], [Pick::Busy, Pick::Busy], "{algorithm}");
    }
}

#[test]
fn the_only_free_server_among_a_thousand_full_ones_is_found() {
    for algorithm in Algorithm::ALL {
        let mut pool = Pool::new(algorithm, &[3; 1_000]);
        for candidate in &mut pool.candidates {
            candidate.connections_max = Some(if candidate.slot == 777 { 1 } else { 0 });
        }
        assert_eq!(picks(&pool, 2), [Pick::Server(777), Pick::Busy], "{algorithm}");
    }
}

#[test]
fn a_picker_follows_a_pool_to_another_algorithm() {
    let mut pool = Pool::new(Algorithm::RoundRobin, &[1; 3]);
    let mut picker = Picker::new(0);
    let mut roster = pool.roster();
    for algorithm in
        [Algorithm::Source, Algorithm::LeastConnections, Algorithm::Random, Algorithm::RoundRobin]
    {
        assert!(matches!(pick(&mut picker, &roster, 1), Pick::Server(_)));
        pool.scheduling = algorithm.into();
        roster = pool.roster_after(&roster);
        assert!(matches!(pick(&mut picker, &roster, 1), Pick::Server(_)));
        assert_eq!(roster.algorithm(), algorithm);
    }
}

proptest! {
    #[test]
    fn only_eligible_servers_with_room_are_chosen_and_tried_ones_last(
        algorithm in algorithm(),
        servers in prop::collection::vec(
            (0_u32..=4, any::<bool>(), any::<bool>(), prop::option::of(0_u32..4), 0_u32..4), 0..40,
        ),
        requests in prop::collection::vec((any::<IpAddr>(), any::<u64>(), prop::collection::vec(0_usize..45, 0..5)), 1..40),
        seed: u64,
    ) {
        let weights: Vec<u32> = servers.iter().map(|server| server.0).collect();
        let mut pool = Pool::new(algorithm, &weights);
        for (candidate, server) in pool.candidates.iter_mut().zip(&servers) {
            (candidate.backup, candidate.eligible, candidate.connections_max) = (server.1, server.2, server.3);
        }
        let roster = pool.roster();
        for (slot, server) in servers.iter().enumerate() {
            for _ in 0..server.4 {
                roster.begin(slot);
            }
        }
        let usable = |backup: bool| pool.candidates.iter()
            .filter(move |c| c.eligible && c.weight > Weight::ZERO && c.backup == backup);
        let tier: Vec<_> = if usable(false).count() > 0 { usable(false).collect() } else { usable(true).collect() };
        let mut picker = Picker::new(seed);
        for (source, random, exclude) in requests {
            let input = PickInput { key: Some(source.into()), random, exclude: &exclude, ..PickInput::default() };
            let open: Vec<usize> = tier.iter()
                .filter(|c| c.connections_max.is_none_or(|max| c.load.active() < max)).map(|c| c.slot).collect();
            match picker.pick(&roster, &input) {
                Pick::Nobody => prop_assert!(tier.is_empty()),
                Pick::Busy => prop_assert!(!tier.is_empty() && open.is_empty()),
                Pick::Server(slot) => {
                    prop_assert!(open.contains(&slot));
                    let others_left = open.iter().any(|slot| !exclude.contains(slot));
                    prop_assert!(!exclude.contains(&slot) || !others_left);
                    roster.begin(slot);
                }
            }
        }
    }
}
