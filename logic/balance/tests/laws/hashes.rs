//! Tests of the hash algorithms: shares follow weights, and keys keep their servers.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;
use weir_balance::{
    Algorithm, HashOptions, Key, Pick, PickInput, Picker, Portion, RingPoints, Roster, Scheduling,
};

use crate::pool::{Pool, counts, of_key};

/// Algorithms that spread keys well: not those with small tables, for which the kernel uses addresses.
const SPREADING: [Algorithm; 6] = [
    Algorithm::Hash,
    Algorithm::Ring,
    Algorithm::Maglev,
    Algorithm::Ketama,
    Algorithm::Rendezvous,
    Algorithm::NginxHash,
];

/// Algorithms with which only the keys of a removed server move.
const CONSISTENT: [Algorithm; 3] = [Algorithm::Ring, Algorithm::Ketama, Algorithm::Rendezvous];

/// Algorithms whose choice depends on the servers' addresses, not on their order.
const UNORDERED: [Algorithm; 4] =
    [Algorithm::Ring, Algorithm::Maglev, Algorithm::Ketama, Algorithm::Rendezvous];

/// Algorithms that can limit each server to its share.
const BOUNDED: [Algorithm; 3] = [Algorithm::Ring, Algorithm::Ketama, Algorithm::Random];

/// Returns the key of a name that is unlike the others, because CRC-32 distributes consecutive names
/// unevenly.
fn key(roster: &Roster, index: u32) -> Key {
    let mut name = (u64::from(index) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    name = (name ^ name >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    roster.scheduling().hash.key_of(format!("/images/{:016x}.png", name ^ name >> 27).as_bytes())
}

/// Returns a scheduling with CRC-32, because sdbm distributes such similar keys unevenly.
fn well_mixed(algorithm: Algorithm) -> Scheduling {
    let function = weir_balance::HashFunction::Crc32;
    Scheduling { hash: HashOptions { function, ..HashOptions::of(algorithm) }, ..algorithm.into() }
}

fn owners(roster: &Roster, keys: u32) -> Vec<usize> {
    let owner = |index: u32| match of_key(roster, key(roster, index), &[]) {
        Pick::Server(slot) => slot,
        other => panic!("{other:?}"),
    };
    (0..keys).map(owner).collect()
}

#[test]
fn the_algorithms_that_go_by_a_key_say_so() {
    let goes = |algorithm: Algorithm| {
        let roster = Pool::new(algorithm, &[1; 10]).roster();
        let before = owners(&roster, 50);
        (0..5).for_each(|slot| assert!(roster.begin(slot) && roster.begin(slot)));
        owners(&roster, 50) == before && before.iter().any(|slot| *slot != before[0])
    };
    // NGINX's ip_hash treats every text as the same client.
    for algorithm in Algorithm::ALL
        .into_iter()
        .filter(|algorithm| !matches!(algorithm, Algorithm::NginxIpHash | Algorithm::Source))
    {
        assert_eq!(goes(algorithm), algorithm.goes_by_key(), "{algorithm}");
    }
}

#[test]
fn a_request_without_a_key_goes_to_servers_in_turn_by_weight() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.goes_by_key()) {
        if algorithm == Algorithm::NginxIpHash {
            continue;
        }
        let roster = Pool::new(algorithm, &[1, 3]).roster();
        let mut picker = Picker::new(5);
        let slots: Vec<usize> = (0..4_000)
            .filter_map(|_| match picker.pick(&roster, &PickInput::default()) {
                Pick::Server(slot) => Some(slot),
                _ => None,
            })
            .collect();
        let heavy = counts(&slots, 2)[1];
        // On the ring, servers take turns in the order of its points, in proportion to their number.
        assert!((2_500..=3_500).contains(&heavy), "{algorithm}: {heavy}");
    }
}

#[test]
fn ipvs_without_fallback_waits_for_the_keys_own_server() {
    for algorithm in [Algorithm::IpvsSh, Algorithm::IpvsDh, Algorithm::IpvsMh] {
        let mut scheduling = Scheduling::from(algorithm);
        let mut pool = Pool::new(scheduling, &[1; 5]);
        pool.candidates.iter_mut().for_each(|candidate| candidate.connections_max = Some(1));
        let roster = pool.roster();
        let Pick::Server(own) = of_key(&roster, key(&roster, 7), &[]) else { panic!("{algorithm}") };
        assert!(roster.try_begin(own));
        assert!(matches!(of_key(&roster, key(&roster, 7), &[]), Pick::Server(other) if other != own));
        scheduling.hash.fallback = false;
        pool.scheduling = scheduling;
        let strict = pool.roster_after(&roster);
        assert_eq!(of_key(&strict, key(&strict, 7), &[]), Pick::Busy, "{algorithm}");
        strict.end(own, &pool.candidates[own].load);
        assert_eq!(of_key(&strict, key(&strict, 7), &[own]), Pick::Server(own), "{algorithm}");
        let failed = PickInput { key: Some(key(&strict, 7)), exclude: &[own], ..PickInput::default() };
        assert_eq!(Picker::awaited_server(&strict, &failed), Some(own), "{algorithm}: there is no other");
    }
}

/// Returns a scheduling without fallback, in which keys never move to another server.
fn strict(algorithm: Algorithm) -> Scheduling {
    Scheduling { hash: HashOptions { fallback: false, ..HashOptions::of(algorithm) }, ..algorithm.into() }
}

#[test]
fn without_fallback_a_key_waits_for_its_own_server_and_for_no_other() {
    let hashes =
        [Algorithm::Source, Algorithm::Hash, Algorithm::Ring, Algorithm::Maglev, Algorithm::Rendezvous];
    for algorithm in hashes {
        let mut pool = Pool::new(strict(algorithm), &[1; 5]);
        pool.candidates.iter_mut().for_each(|candidate| candidate.connections_max = Some(1));
        let roster = pool.roster();
        let loose = Pool { scheduling: algorithm.into(), candidates: pool.candidates.clone() }.roster();
        for index in 0..200_u32 {
            let key = match algorithm {
                Algorithm::Source => IpAddr::V4(Ipv4Addr::from_bits(index.wrapping_mul(0x9e37_79b1))).into(),
                _ => key(&roster, index),
            };
            let Pick::Server(own) = of_key(&roster, key, &[]) else { panic!("{algorithm}") };
            assert_eq!(of_key(&loose, key, &[]), Pick::Server(own), "{algorithm}: the same server");
            assert_eq!(Picker::only_server(&roster, Some(key)), Some(own), "{algorithm}");
            assert_eq!(Picker::only_server(&loose, Some(key)), None, "{algorithm}");
            assert!(roster.try_begin(own));
            assert_eq!(of_key(&roster, key, &[]), Pick::Busy, "{algorithm}");
            assert!(matches!(of_key(&loose, key, &[]), Pick::Server(other) if other != own), "{algorithm}");
            // A request does not wait for a server that has failed it.
            assert!(
                matches!(of_key(&roster, key, &[own]), Pick::Server(other) if other != own),
                "{algorithm}"
            );
            let awaited = |exclude: &[usize]| {
                Picker::awaited_server(
                    &roster,
                    &PickInput { key: Some(key), exclude, ..PickInput::default() },
                )
            };
            assert_eq!((awaited(&[]), awaited(&[own])), (Some(own), None), "{algorithm}");
            assert_eq!(awaited(&[0, 1, 2, 3, 4]), Some(own), "{algorithm}: all have failed it");
            roster.end(own, &pool.candidates[own].load);
        }
        // Without a key there is no server to wait for.
        let nothing = PickInput::default();
        assert!(matches!(Picker::new(0).pick(&roster, &nothing), Pick::Server(_)), "{algorithm}");
    }
}

/// Assigns the names, in this order, to the slots of a new pool.
fn listed(pool: &mut Pool, names: &[u8]) {
    pool.candidates.truncate(names.len());
    for (candidate, name) in pool.candidates.iter_mut().zip(names) {
        candidate.address = format!("10.1.0.{name}:80").parse().unwrap();
        candidate.name_key = RingPoints::Name.name_key(&format!("web-{name}"));
    }
}

/// Returns the addresses of the servers of a thousand keys.
fn addresses(roster: &Roster) -> Vec<String> {
    let address = |index: u32| {
        let key = match roster.algorithm() {
            Algorithm::Source | Algorithm::NginxIpHash => {
                IpAddr::V4(Ipv4Addr::from_bits(index.wrapping_mul(0x9e37_79b1))).into()
            }
            _ => key(roster, index),
        };
        let Pick::Server(slot) = of_key(roster, key, &[]) else { panic!("nobody is full") };
        roster.candidate(slot).unwrap().address.to_string()
    };
    (0..1_000).map(address).collect()
}

/// Returns a ring with this source of points.
fn ring(points: RingPoints) -> Scheduling {
    let hash = HashOptions { points, ..HashOptions::of(Algorithm::Ring) };
    Scheduling { hash, ..Algorithm::Ring.into() }
}

#[test]
fn two_pools_with_one_config_choose_alike_whatever_they_have_been_through() {
    let by_key = Algorithm::ALL.into_iter().filter(|algorithm| algorithm.goes_by_key());
    for scheduling in by_key.map(Scheduling::from).chain(RingPoints::ALL.map(ring)) {
        let mut fresh = Pool::new(scheduling, &[1; 6]);
        listed(&mut fresh, &[2, 3, 4, 5, 6, 7]);
        // The pool started with servers 1 to 6; then 1 was removed, and 7 was added and got its slot.
        let mut old = Pool::new(scheduling, &[1; 6]);
        listed(&mut old, &[7, 2, 3, 4, 5, 6]);
        for candidate in &mut old.candidates {
            candidate.rank = (candidate.rank + 5) % 6;
        }
        let before = addresses(&fresh.roster());
        assert_eq!(before, addresses(&old.roster()), "{}", scheduling.algorithm);
    }
}

#[test]
fn a_server_that_is_taken_out_of_the_config_moves_no_keys_but_its_own() {
    for algorithm in UNORDERED {
        let (mut ten, mut nine) = (Pool::new(algorithm, &[1; 10]), Pool::new(algorithm, &[1; 10]));
        listed(&mut ten, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        listed(&mut nine, &[2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let (before, after) = (addresses(&ten.roster()), addresses(&nine.roster()));
        let stayed = before.iter().zip(&after).filter(|(old, _)| *old != "10.1.0.1:80");
        let moved = stayed.filter(|(old, new)| old != new).count();
        let tolerated = if algorithm == Algorithm::Maglev { 50 } else { 0 };
        assert!(moved <= tolerated, "{algorithm}: {moved} of 1000 keys of servers that stayed");
    }
}

/// Returns the picks for a thousand keys.
fn slots(roster: &Roster) -> Vec<Pick> {
    (0..1_000).map(|index| of_key(roster, key(roster, index), &[])).collect()
}

#[test]
fn a_server_that_moves_keeps_its_keys_where_its_name_counts_and_on_another_port_where_its_host_does() {
    for (points, port_counts, address_counts) in
        [(RingPoints::Address, true, true), (RingPoints::Host, false, true), (RingPoints::Name, false, false)]
    {
        let mut pool = Pool::new(ring(points), &[1; 6]);
        listed(&mut pool, &[1, 2, 3, 4, 5, 6]);
        let before = slots(&pool.roster());
        pool.candidates[2].address = "10.1.0.3:81".parse().unwrap();
        assert_eq!(before != slots(&pool.roster()), port_counts, "{points:?}");
        pool.candidates[2].address = "10.2.0.3:80".parse().unwrap();
        assert_eq!(before != slots(&pool.roster()), address_counts, "{points:?}");
    }
}

#[test]
fn of_servers_at_one_host_one_that_is_down_moves_its_own_keys_only() {
    let mut pool = Pool::new(ring(RingPoints::Host), &[1; 4]);
    for (candidate, port) in pool.candidates.iter_mut().zip(81..) {
        candidate.address = format!("10.1.0.1:{port}").parse().unwrap();
    }
    let before = slots(&pool.roster());
    assert!((0..4).all(|slot| before.contains(&Pick::Server(slot))));
    pool.candidates[0].eligible = false;
    let after = slots(&pool.roster());
    assert!(before.iter().zip(&after).all(|(old, new)| old == new || *old == Pick::Server(0)));
}

#[test]
fn on_both_rings_a_key_whose_server_has_its_share_goes_to_the_next_one_and_else_stays() {
    for algorithm in [Algorithm::Ring, Algorithm::Ketama] {
        let bounded = |percent| {
            let hash = HashOptions { bounded_load_percent: Some(percent), ..HashOptions::of(algorithm) };
            Pool::new(Scheduling { hash, ..algorithm.into() }, &[1; 5])
        };
        let plain = Pool::new(algorithm, &[1; 5]).roster();
        assert_eq!(
            owners(&bounded(110).roster(), 300),
            owners(&plain, 300),
            "{algorithm}: nobody has anything"
        );
        for index in 0..300 {
            let pool = bounded(110);
            let (roster, key) = (pool.roster(), key(&plain, index));
            let Pick::Server(own) = of_key(&plain, key, &[]) else { panic!("nobody is full") };
            // ceil(2 * 1.1) = 3 places: at most one for each server.
            assert!(roster.begin(own));
            assert_eq!(of_key(&roster, key, &[]), of_key(&plain, key, &[own]), "{algorithm}: key {index}");
        }
    }
}

/// Returns how many requests the server in `slot` may have when `running` are in progress and one arrives:
/// its share, rounded up.
fn places(weights: &[u32], slot: usize, running: u64, factor: u64) -> u64 {
    let places = ((running + 1) * factor).div_ceil(100);
    let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    (u64::from(weights[slot]) * places).div_ceil(total)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn shares_follow_weights(
        algorithm in prop::sample::select(&SPREADING[..]),
        weights in prop::collection::vec(1_u32..=5, 2..8),
    ) {
        const KEYS: u32 = 10_000;
        // A server has 16 points on the ring for each unit of weight; with more of them the arcs are more
        // even.
        let units = if algorithm == Algorithm::Ring { 50 } else { 1 };
        let weights: Vec<u32> = weights.iter().map(|weight| weight * units).collect();
        let roster = Pool::new(well_mixed(algorithm), &weights).roster();
        let total: u32 = weights.iter().sum();
        for (count, weight) in counts(&owners(&roster, KEYS), weights.len()).into_iter().zip(&weights) {
            let share = count as f64 * f64::from(total) / (f64::from(KEYS) * f64::from(*weight));
            // Few points make uneven arcs: ketama's ring has 160 for each unit of weight. The other
            // algorithms are within the random variation of 10,000 draws.
            let bounds = match algorithm {
                Algorithm::Ketama => 0.6..1.5,
                _ => 0.7..1.35,
            };
            prop_assert!(bounds.contains(&share), "{algorithm}: {count} of {KEYS} for {weight} of {total}");
        }
    }

    #[test]
    fn only_the_keys_of_a_server_that_leaves_move(
        algorithm in prop::sample::select(&CONSISTENT[..]),
        weights in prop::collection::vec(1_u32..=5, 2..20),
        leaver in any::<prop::sample::Index>(),
    ) {
        let leaver = leaver.index(weights.len());
        let mut pool = Pool::new(algorithm, &weights);
        let before = pool.roster();
        pool.candidates[leaver].eligible = false;
        let after = pool.roster_after(&before);
        for (old, new) in owners(&before, 500).into_iter().zip(owners(&after, 500)) {
            prop_assert!(new != leaver);
            prop_assert!(old == new || old == leaver);
        }
    }

    #[test]
    fn a_heavier_server_takes_keys_only_for_itself(
        algorithm in prop::sample::select(&CONSISTENT[..]),
        weights in prop::collection::vec(1_u32..=5, 2..20),
        gainer in any::<prop::sample::Index>(),
    ) {
        let gainer = gainer.index(weights.len());
        let before = Pool::new(algorithm, &weights).roster();
        let mut heavier = weights.clone();
        heavier[gainer] += 3;
        let after = Pool::new(algorithm, &heavier).roster();
        for (old, new) in owners(&before, 500).into_iter().zip(owners(&after, 500)) {
            prop_assert!(old == new || new == gainer);
        }
    }

    #[test]
    fn the_order_of_servers_does_not_matter_where_addresses_decide(
        algorithm in prop::sample::select(&UNORDERED[..]),
        weights in prop::collection::vec(1_u32..=5, 2..20),
        seed: u64,
    ) {
        let pool = Pool::new(algorithm, &weights);
        let mut other = Pool::new(algorithm, &weights);
        let count = weights.len();
        let at = |slot: usize| (slot + 1 + seed as usize % count) % count;
        for candidate in &mut other.candidates {
            let same_as = &pool.candidates[at(candidate.slot)];
            (candidate.address, candidate.weight) = (same_as.address.clone(), same_as.weight);
        }
        let (one, two) = (owners(&pool.roster(), 300), owners(&other.roster(), 300));
        prop_assert!(one.into_iter().zip(two).all(|(one, two)| one == at(two)));
    }

    #[test]
    fn a_bounded_load_is_never_exceeded(
        algorithm in prop::sample::select(&BOUNDED[..]),
        weights in prop::collection::vec(1_u32..=9, 1..20),
        factor in 101_u32..=300,
        keys in prop::collection::vec((0_u32..5, any::<u64>(), prop::option::of(any::<prop::sample::Index>())), 1..300),
    ) {
        let hash = HashOptions { bounded_load_percent: Some(factor), ..HashOptions::of(algorithm) };
        let pool = Pool::new(Scheduling { hash, ..algorithm.into() }, &weights);
        let roster = pool.roster();
        let mut picker = Picker::new(0);
        let mut running: Vec<usize> = Vec::new();
        for (index, random, end) in keys {
            if let Some(end) = end.filter(|_| !running.is_empty()) {
                let slot = running.swap_remove(end.index(running.len()));
                roster.end(slot, &pool.candidates[slot].load);
            }
            let input = PickInput { key: Some(key(&roster, index)), random, ..PickInput::default() };
            let Pick::Server(slot) = picker.pick(&roster, &input) else { panic!("nobody is full") };
            let permitted = places(&weights, slot, running.len() as u64, u64::from(factor));
            prop_assert!(u64::from(pool.candidates[slot].load.active()) < permitted);
            roster.begin(slot);
            running.push(slot);
        }
    }

    #[test]
    fn a_bounded_load_is_not_exceeded_where_the_others_have_no_room_either(
        algorithm in prop::sample::select(&BOUNDED[..]),
        servers in prop::collection::vec((1_u32..=9, prop::option::of(0_u32..6), 1_u32..=100), 1..20),
        factor in 101_u32..=300,
        steps in prop::collection::vec(
            (0_u32..5, any::<u64>(), 0_usize..3, prop::option::of(any::<prop::sample::Index>()), prop::collection::vec(0_usize..20, 0..3)),
            1..300,
        ),
    ) {
        let hash = HashOptions { bounded_load_percent: Some(factor), ..HashOptions::of(algorithm) };
        let weights: Vec<u32> = servers.iter().map(|(weight, _, _)| *weight).collect();
        let mut pool = Pool::new(Scheduling { hash, ..algorithm.into() }, &weights);
        for (candidate, (_, connections_max, percent)) in pool.candidates.iter_mut().zip(&servers) {
            candidate.connections_max = *connections_max;
            candidate.portion = Portion::percent(*percent);
        }
        let shares: Vec<u32> = servers.iter().map(|(weight, _, percent)| weight * percent).collect();
        let roster = pool.roster();
        let mut pickers = [0, 1, 2].map(Picker::new);
        let mut running: Vec<usize> = Vec::new();
        for (index, random, worker, end, exclude) in steps {
            if let Some(end) = end.filter(|_| !running.is_empty()) {
                let slot = running.swap_remove(end.index(running.len()));
                roster.end(slot, &pool.candidates[slot].load);
            }
            let is_within = |slot: usize| {
                let active = u64::from(pool.candidates[slot].load.active());
                active < places(&shares, slot, running.len() as u64, u64::from(factor))
            };
            let may = |slot: usize| {
                is_within(slot) && servers[slot].1.is_none_or(|max| pool.candidates[slot].load.active() < max)
            };
            let key = Some(key(&roster, index));
            let input = PickInput { key, random, exclude: &exclude, ..PickInput::default() };
            match pickers[worker].pick(&roster, &input) {
                Pick::Server(slot) => {
                    prop_assert!(may(slot));
                    let others = (0..servers.len()).any(|slot| may(slot) && !exclude.contains(&slot));
                    prop_assert!(!exclude.contains(&slot) || !others);
                    prop_assert!(roster.has_room(slot) && !roster.is_busy());
                    roster.begin(slot);
                    running.push(slot);
                }
                Pick::Busy => prop_assert!(roster.is_busy() && !(0..servers.len()).any(may)),
                Pick::Nobody => prop_assert!(false, "all are up"),
            }
        }
    }

    #[test]
    fn the_requests_of_a_pool_are_all_in_its_bound_whenever_that_is_switched_on(
        algorithm in prop::sample::select(&BOUNDED[..2]),
        begun in prop::collection::vec((0_usize..4, any::<bool>()), 0..60),
    ) {
        let plain = Scheduling::from(algorithm);
        let bounded = Scheduling {
            hash: HashOptions { bounded_load_percent: Some(101), ..plain.hash }, ..plain
        };
        let mut pool = Pool::new(plain, &[1; 4]);
        let mut roster = pool.roster();
        for (slot, switches) in &begun {
            roster.begin(*slot);
            if *switches {
                pool.scheduling = if pool.scheduling == plain { bounded } else { plain };
                roster = pool.roster_after(&roster);
            }
        }
        for (slot, _) in begun.iter().skip(1) {
            roster.end(*slot, &pool.candidates[*slot].load);
        }
        pool.scheduling = bounded;
        let roster = pool.roster_after(&roster);
        // At most one request is left. With two, the number of places is ceil(2 * 1.01) = 3, and each server
        // has one.
        let left = begun.first().map(|(slot, _)| *slot);
        for index in 0..50 {
            let Pick::Server(slot) = of_key(&roster, key(&roster, index), &[]) else { panic!("nobody is full") };
            prop_assert!(Some(slot) != left);
        }
    }
}
