//! Tests of hashes whose tables contain servers that are down. The tables must not contain another Weir's
//! servers, nor tiers that are not needed.

use std::net::{IpAddr, Ipv4Addr};

use weir_balance::{Algorithm, Key, Membership, Pick, PickInput, Picker, Roster, Scheduling, Subset};

use crate::pool::Pool;

/// Algorithms that try a number of other servers when the key's own is down, and then let servers take turns.
const KEEPING: [Algorithm; 3] = [Algorithm::Ketama, Algorithm::NginxHash, Algorithm::NginxIpHash];

fn pool(algorithm: Algorithm, membership: Membership, weights: &[u32]) -> Pool {
    Pool::new(Scheduling { membership, ..algorithm.into() }, weights)
}

fn key(roster: &Roster, index: u32) -> Key {
    let address = IpAddr::V4(Ipv4Addr::from_bits(index.wrapping_mul(0x9e37_79b1)));
    match roster.algorithm() {
        Algorithm::NginxIpHash => address.into(),
        _ => roster.scheduling().hash.key_of(address.to_string().as_bytes()),
    }
}

/// Returns the servers of a thousand keys, picked by one worker.
fn owners(roster: &Roster, picker: &mut Picker) -> Vec<usize> {
    let mut owner = |index: u32| {
        let input = PickInput { key: Some(key(roster, index)), ..PickInput::default() };
        match picker.pick(roster, &input) {
            Pick::Server(slot) => slot,
            other => panic!("{other:?}"),
        }
    };
    (0..1_000).map(&mut owner).collect()
}

fn assert_steady(algorithm: Algorithm, roster: &Roster, expected: &[usize]) {
    let (mut one, mut other) = (Picker::new(1), Picker::new(2));
    let first = owners(roster, &mut one);
    assert_eq!(first, owners(roster, &mut one), "{algorithm}: the same key, another server");
    assert_eq!(first, owners(roster, &mut other), "{algorithm}: another worker, another server");
    let mut used = first;
    used.sort_unstable();
    used.dedup();
    assert_eq!(used, expected, "{algorithm}");
}

#[test]
fn in_a_small_subset_of_many_servers_every_key_has_its_server() {
    for algorithm in KEEPING {
        let subset = Some(Subset { size: 5, instance: 3, instances: 20 });
        let pool = pool(algorithm, Membership { subset, ..Membership::default() }, &[1; 100]);
        assert_steady(algorithm, &pool.roster(), &[15, 16, 17, 18, 19]);
    }
}

#[test]
fn a_large_tier_that_stands_by_takes_no_keys_away_from_the_first() {
    for algorithm in KEEPING {
        let mut pool = pool(algorithm, Membership::default(), &[1; 103]);
        pool.candidates[3..].iter_mut().for_each(|candidate| candidate.priority = 1);
        assert_steady(algorithm, &pool.roster(), &[0, 1, 2]);
        pool.candidates[..3].iter_mut().for_each(|candidate| candidate.eligible = false);
        assert_steady(algorithm, &pool.roster(), &(3..103).collect::<Vec<_>>());
    }
}

#[test]
fn backups_that_help_out_and_the_servers_they_help_all_have_keys() {
    for algorithm in KEEPING {
        for backups in [0..3_usize, 3..6] {
            let membership = Membership { min_healthy_percent: 100, ..Membership::default() };
            let mut pool = pool(algorithm, membership, &[1; 6]);
            for candidate in &mut pool.candidates {
                candidate.backup = backups.contains(&candidate.slot);
            }
            let down = (0..6).find(|slot| !backups.contains(slot)).unwrap();
            pool.candidates[down].eligible = false;
            let up: Vec<usize> = (0..6).filter(|slot| *slot != down).collect();
            assert_steady(algorithm, &pool.roster(), &up);
        }
    }
}

#[test]
fn a_server_of_another_weir_that_goes_down_moves_no_key() {
    for algorithm in KEEPING {
        let subset = Some(Subset { size: 4, instance: 0, instances: 5 });
        let mut pool = pool(algorithm, Membership { subset, ..Membership::default() }, &[1; 20]);
        let before = owners(&pool.roster(), &mut Picker::new(1));
        pool.candidates[10].eligible = false;
        assert_eq!(before, owners(&pool.roster(), &mut Picker::new(1)), "{algorithm}");
    }
}
