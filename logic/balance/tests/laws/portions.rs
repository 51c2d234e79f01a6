//! Tests of portions: the part of a server's weight that counts during slow start, or when its agent lowers
//! it.

use std::net::{IpAddr, Ipv4Addr};

use weir_balance::{
    Algorithm, HashFunction, HashOptions, Key, Membership, Pick, Picker, Portion, Roster, Scheduling, Subset,
    ZoneRule,
};

use crate::pool::{Pool, counts, of_key, pick};

/// Returns a scheduling with CRC-32, because sdbm distributes such similar keys unevenly.
fn well_mixed(algorithm: Algorithm) -> Scheduling {
    let hash = HashOptions { function: HashFunction::Crc32, ..HashOptions::of(algorithm) };
    Scheduling { hash, ..algorithm.into() }
}

/// Returns each server's share of `requests` requests that never end.
fn shares(algorithm: Algorithm, portions: [u32; 3], requests: usize) -> Vec<f64> {
    let mut pool = Pool::new(algorithm, &[1, 1, 2]);
    for (candidate, percent) in pool.candidates.iter_mut().zip(portions) {
        candidate.portion = Portion::percent(percent);
    }
    let roster = pool.roster();
    let mut picker = Picker::new(0);
    let mut one = |random: usize| match pick(&mut picker, &roster, random as u64) {
        Pick::Server(slot) => {
            roster.begin(slot);
            Some(slot)
        }
        Pick::Busy | Pick::Nobody => None,
    };
    let picked: Vec<usize> = (0..requests).filter_map(&mut one).collect();
    counts(&picked, 3).into_iter().map(|count| count as f64 / requests as f64).collect()
}

#[test]
fn load_follows_what_counts_of_the_weights() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.weighs_portions()) {
        if algorithm.takes_key() || matches!(algorithm, Algorithm::LeastBandwidth | Algorithm::Overflow) {
            continue;
        }
        let shares = shares(algorithm, [10, 100, 50], 42_000);
        let bound = if matches!(algorithm, Algorithm::PeakEwma) { 0.05 } else { 0.02 };
        // If requests never end, a schedule by weight / requests distributes them by the square root of the
        // weight.
        let own = |share: f64| if algorithm == Algorithm::LeastRequest { share.sqrt() } else { share };
        let expected = [own(0.1), own(1.0), own(1.0)];
        for (share, expected) in shares.iter().zip(expected.map(|one| one / expected.iter().sum::<f64>())) {
            assert!((share - expected).abs() < bound, "{algorithm}: {shares:?}");
        }
    }
}

#[test]
fn algorithms_of_whole_weights_are_as_if_all_of_it_counted() {
    assert_eq!(shares(Algorithm::IpvsWrr, [10, 100, 50], 4_000), [0.25, 0.25, 0.5]);
    let shown: Vec<_> =
        (0..3).map(|slot| half_of_all(Algorithm::IpvsWrr).candidate(slot).unwrap().portion).collect();
    assert_eq!(shown, [Portion::WHOLE; 3], "and nothing else is shown");
}

fn half_of_all(algorithm: Algorithm) -> Roster {
    let mut pool = Pool::new(algorithm, &[1; 3]);
    pool.candidates.iter_mut().for_each(|candidate| candidate.portion = Portion::percent(50));
    pool.roster()
}

/// Returns each server's share of 20,000 keys.
fn shares_of_keys(roster: &Roster, servers: usize) -> Vec<f64> {
    const KEYS: u32 = 20_000;
    let of_text = |index: u32| {
        roster.scheduling().hash.key_of(format!("/{:08x}", index.wrapping_mul(0x9e37_79b1)).as_bytes())
    };
    let key = |index: u32| match roster.algorithm() {
        Algorithm::Source => IpAddr::V4(Ipv4Addr::from_bits(index)).into(),
        _ => of_text(index),
    };
    let owner = |index: u32| match of_key(roster, key(index), &[]) {
        Pick::Server(slot) => slot,
        other => panic!("{other:?}"),
    };
    let owners: Vec<usize> = (0..KEYS).map(owner).collect();
    counts(&owners, servers).into_iter().map(|count| count as f64 / f64::from(KEYS)).collect()
}

/// Returns the tolerated error of a hash algorithm's shares, as a part of all keys.
fn tolerance(algorithm: Algorithm) -> f64 {
    match algorithm {
        // Few points make uneven arcs.
        Algorithm::Ring => 0.08,
        Algorithm::Ketama => 0.04,
        _ => 0.02,
    }
}

fn by_key() -> impl Iterator<Item = Algorithm> {
    Algorithm::ALL.into_iter().filter(|algorithm| algorithm.goes_by_key() && algorithm.weighs_portions())
}

#[test]
fn keys_follow_what_counts_of_the_weights() {
    for algorithm in by_key() {
        let mut pool = Pool::new(well_mixed(algorithm), &[40; 4]);
        for (candidate, percent) in pool.candidates.iter_mut().zip([10, 100, 50, 100]) {
            candidate.portion = Portion::percent(percent);
        }
        let shares = shares_of_keys(&pool.roster(), 4);
        for (share, percent) in shares.iter().zip([10.0, 100.0, 50.0, 100.0]) {
            assert!((share - percent / 260.0).abs() < tolerance(algorithm), "{algorithm}: {shares:?}");
        }
    }
}

#[test]
fn keys_stay_in_the_zone_as_far_as_it_suffices() {
    for algorithm in by_key() {
        let zones = Some(ZoneRule { stay_percent: 70 });
        let membership = Membership { zones, ..Membership::default() };
        let mut pool = Pool::new(Scheduling { membership, ..well_mixed(algorithm) }, &[20; 20]);
        pool.candidates[10..].iter_mut().for_each(|candidate| candidate.is_local = false);
        pool.candidates[..4].iter_mut().for_each(|candidate| candidate.eligible = false);
        let shares = shares_of_keys(&pool.roster(), 20);
        let abroad: f64 = shares[10..].iter().sum();
        // Six of ten servers are up; seven would be enough.
        assert!((abroad - 1.0 / 7.0).abs() < tolerance(algorithm), "{algorithm}: {abroad}");
    }
}

#[test]
fn servers_of_two_weirs_get_from_both_together_what_others_get() {
    for algorithm in by_key() {
        let of_instance = |instance: u32| {
            let subset = Some(Subset { size: 1, instance, instances: 2 });
            let membership = Membership { subset, ..Membership::default() };
            let pool = Pool::new(Scheduling { membership, ..well_mixed(algorithm) }, &[40; 3]);
            shares_of_keys(&pool.roster(), 3)
        };
        let (one, other) = (of_instance(0), of_instance(1));
        for (one, other) in one.iter().zip(&other) {
            assert!((one + other - 2.0 / 3.0).abs() < 2.0 * tolerance(algorithm), "{algorithm}");
        }
    }
}

#[test]
fn on_the_ring_a_server_that_starts_slowly_takes_over_its_own_clients_little_by_little() {
    let owners = |percent: u32| -> Vec<Option<usize>> {
        let mut pool = Pool::new(Algorithm::Ring, &[4; 5]);
        pool.candidates[2].portion = Portion::percent(percent);
        let roster = pool.roster();
        let owner = |client: u32| owner(&roster, client);
        (0..5_000).map(owner).collect()
    };
    let mut before = owners(10);
    for percent in [30, 60, 100] {
        let now = owners(percent);
        let moved = before.iter().zip(&now).filter(|(old, new)| old != new);
        assert!(moved.clone().all(|(_, new)| *new == Some(2)), "{percent}%: only to the server that rises");
        assert!(moved.count() > 0, "{percent}%");
        before = now;
    }
}

#[test]
fn a_key_leaves_a_server_that_has_more_to_do_than_counts_of_its_weight() {
    for algorithm in [Algorithm::Lblc, Algorithm::Lblcr] {
        let mut pool = Pool::new(algorithm, &[10, 10]);
        let whole = pool.roster();
        let first = owner(&whole, 7).unwrap();
        pool.candidates[first].portion = Portion::percent(10);
        let rising = pool.roster_after(&whole);
        (0..2).for_each(|_| assert!(rising.begin(first)));
        assert_eq!(
            owner(&rising, 7),
            Some(1 - first),
            "{algorithm}: two requests are too many for a tenth of ten"
        );
    }
}

fn owner(roster: &Roster, client: u32) -> Option<usize> {
    let address = IpAddr::from(Ipv4Addr::from_bits(client));
    match of_key(roster, Key::from(address), &[]) {
        Pick::Server(slot) => Some(slot),
        Pick::Busy | Pick::Nobody => None,
    }
}
