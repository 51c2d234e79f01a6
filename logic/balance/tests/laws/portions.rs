//! What counts of a server's weight while it starts slowly, or its agent wants less.

use std::net::{IpAddr, Ipv4Addr};

use weir_balance::{Algorithm, Key, Pick, Picker, Portion, Roster};

use crate::pool::{Pool, counts, of_key, pick};

/// Each server's share of so many requests that never end.
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
        // Requests that never end fill a schedule by weight / requests in proportion to the root of the weight.
        let own = |share: f64| if algorithm == Algorithm::LeastRequest { share.sqrt() } else { share };
        let expected = [own(0.1), own(1.0), own(1.0)];
        for (share, expected) in shares.iter().zip(expected.map(|one| one / expected.iter().sum::<f64>())) {
            assert!((share - expected).abs() < bound, "{algorithm}: {shares:?}");
        }
    }
}

#[test]
fn algorithms_of_whole_weights_are_as_if_all_of_it_counted() {
    for algorithm in [Algorithm::StaticRr, Algorithm::IpvsWrr] {
        assert_eq!(shares(algorithm, [10, 100, 50], 4_000), [0.25, 0.25, 0.5], "{algorithm}");
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

fn owner(roster: &Roster, client: u32) -> Option<usize> {
    let address = IpAddr::from(Ipv4Addr::from_bits(client));
    match of_key(roster, Key::from(address), &[]) {
        Pick::Server(slot) => Some(slot),
        Pick::Busy | Pick::Nobody => None,
    }
}
