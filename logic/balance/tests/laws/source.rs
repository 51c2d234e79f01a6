//! Tests of algorithms that hash the client's address.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use weir_balance::{Algorithm, HashOptions, Pick, PickInput, Picker, RingPoints, Roster, Scheduling};

use crate::pool::{Pool, counts, of_key, slots};

fn of_client(roster: &Roster, source: IpAddr, exclude: &[usize]) -> Pick {
    of_key(roster, source.into(), exclude)
}

fn client(bits: u32) -> IpAddr {
    Ipv4Addr::from_bits(bits).into()
}

#[test]
fn a_client_gets_the_place_of_its_address_in_the_map() {
    let roster = Pool::new(Algorithm::Source, &[2, 2, 4]).roster();
    let picks: Vec<Pick> = (0..4).map(|bits| of_client(&roster, client(bits), &[])).collect();
    assert_eq!(picks, [Pick::Server(0), Pick::Server(2), Pick::Server(1), Pick::Server(2)]);
}

#[test]
fn a_server_that_failed_is_passed_over_for_the_same_other_each_time() {
    let roster = Pool::new(Algorithm::Source, &[1; 5]).roster();
    assert_eq!(of_client(&roster, client(7), &[]), Pick::Server(2));
    assert_eq!(of_client(&roster, client(7), &[2]), Pick::Server(3));
    assert_eq!(of_client(&roster, client(7), &[2, 3, 4, 0, 1]), Pick::Server(2));
}

#[test]
fn clients_without_an_address_go_round_by_weight() {
    let roster = Pool::new(Algorithm::Source, &[1, 3]).roster();
    assert_eq!(counts(&slots(&mut Picker::new(5), &roster, 40), 2), [10, 30]);
}

/// Recordings of HAProxy, made by `tests/golden/record`.
const HAPROXY: [(Algorithm, &str); 2] = [
    (Algorithm::Source, include_str!("../golden/haproxy-source.txt")),
    (Algorithm::Ring, include_str!("../golden/haproxy-ring.txt")),
];

#[test]
fn a_thousand_clients_get_the_servers_that_haproxy_gives_them() {
    for (algorithm, recorded) in HAPROXY {
        // HAProxy uses server ids by default.
        let hash = HashOptions { points: RingPoints::Position, ..HashOptions::of(algorithm) };
        let roster = Pool::new(Scheduling { hash, ..algorithm.into() }, &[1, 2, 3, 1, 5]).roster();
        assert_eq!(recorded.lines().count(), 1_000);
        for line in recorded.lines() {
            let (address, server) = line.split_once(' ').unwrap();
            let picked = of_client(&roster, address.parse().unwrap(), &[]);
            assert_eq!(picked, Pick::Server(server.parse().unwrap()), "{algorithm}: {line}");
        }
    }
}

/// The clients are of both families; their addresses come from another proxy.
#[test]
fn clients_of_both_families_get_the_servers_that_haproxy_gives_them_also_with_a_server_down() {
    let text = include_str!("../golden/haproxy-source-of-others.txt");
    let (columns, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("# "));
    assert_eq!((columns.len(), lines.len()), (6, 1_000));
    for (index, column) in columns.iter().enumerate() {
        let algorithm = if column.contains("consistent") { Algorithm::Ring } else { Algorithm::Source };
        let hash = HashOptions { points: RingPoints::Position, ..HashOptions::of(algorithm) };
        let mut pool = Pool::new(Scheduling { hash, ..algorithm.into() }, &[1, 2, 3, 1, 5]);
        if let Some((_, down)) = column.split_once("down: ") {
            pool.candidates[down.parse::<usize>().unwrap()].eligible = false;
        }
        let roster = pool.roster();
        for line in &lines {
            let (digits, address) = line.split_once(' ').unwrap();
            let picked = of_client(&roster, address.parse().unwrap(), &[]);
            assert_eq!(
                picked,
                Pick::Server(usize::from(digits.as_bytes()[index] - b'0')),
                "{column}: {address}"
            );
        }
    }
}

const BY_SOURCE: [Algorithm; 3] = [Algorithm::Source, Algorithm::Ring, Algorithm::Maglev];

proptest! {
    #[test]
    fn a_client_keeps_its_server_whatever_the_load_and_the_worker(
        algorithm in prop::sample::select(&BY_SOURCE[..]),
        weights in prop::collection::vec(1_u32..=20, 1..30), address: IpAddr, seed: u64, random: u64,
    ) {
        let roster = Pool::new(algorithm, &weights).roster();
        let expected = of_client(&roster, address, &[]);
        for slot in 0..weights.len() {
            roster.begin(slot);
        }
        let input = PickInput { key: Some(address.into()), random, ..PickInput::default() };
        prop_assert_eq!(Picker::new(seed).pick(&roster, &input), expected);
    }

    #[test]
    fn on_the_ring_only_the_clients_of_a_server_that_leaves_move(
        weights in prop::collection::vec(1_u32..=20, 2..30),
        leaver in any::<prop::sample::Index>(),
        addresses in prop::collection::vec(any::<IpAddr>(), 50),
    ) {
        let mut pool = Pool::new(Algorithm::Ring, &weights);
        let before = pool.roster();
        let leaver = leaver.index(weights.len());
        pool.candidates[leaver].eligible = false;
        let after = pool.roster_after(&before);
        for address in addresses {
            let (old, new) = (of_client(&before, address, &[]), of_client(&after, address, &[]));
            prop_assert!(new != Pick::Server(leaver));
            prop_assert!(old == new || old == Pick::Server(leaver));
        }
    }
}
