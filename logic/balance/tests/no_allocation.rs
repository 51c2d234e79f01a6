//! Tests that picks do not allocate memory: each request makes one.

#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use weir_balance::{
    Algorithm, Candidate, HashOptions, Hundredths, MeasureOptions, Pick, PickInput, Picker, Portion,
    ResponseEnd, Roster, Scheduling, ServerLoad, Watch,
};
use weir_model::{ServerAddress, Weight};

/// Creates a roster; with `parts`, each server has a different portion.
fn roster(scheduling: Scheduling, servers: usize, connections_max: Option<u32>, parts: bool) -> Roster {
    let candidate = |slot: usize| Candidate {
        slot,
        rank: slot as u32,
        address: ServerAddress::Inet((Ipv4Addr::from_bits(0x0a00_0001 + slot as u32), 80).into()),
        weight: Weight::new(1 + slot as u32 % 5).unwrap(),
        name_key: 0,
        portion: if parts { Portion::thousandths(1 + slot as u32) } else { Portion::WHOLE },
        priority: 0,
        backup: false,
        is_local: true,
        eligible: true,
        half_open: false,
        keeps_clients: true,
        connections_max,
        load: Arc::new(ServerLoad::default()),
    };
    Roster::new(scheduling, (0..servers).map(candidate).collect(), None)
}

/// Returns every algorithm, with defaults and with the options that change its choices.
fn schedulings() -> Vec<Scheduling> {
    let mut all: Vec<Scheduling> = Algorithm::ALL.into_iter().map(Scheduling::from).collect();
    for algorithm in [Algorithm::Ring, Algorithm::Ketama, Algorithm::Random] {
        let hash = HashOptions { bounded_load_percent: Some(125), ..HashOptions::of(algorithm) };
        all.push(Scheduling { hash, ..algorithm.into() });
    }
    for algorithm in [
        Algorithm::Source,
        Algorithm::Hash,
        Algorithm::Ring,
        Algorithm::Maglev,
        Algorithm::Rendezvous,
        Algorithm::IpvsSh,
        Algorithm::IpvsDh,
        Algorithm::IpvsMh,
    ] {
        let hash = HashOptions { fallback: false, port: true, avalanche: true, ..HashOptions::of(algorithm) };
        all.push(Scheduling { hash, ..algorithm.into() });
    }
    let plain = MeasureOptions::default();
    let of_times = MeasureOptions { inflight: true, until: ResponseEnd::LastByte, ..plain };
    for (algorithm, measure) in [
        (Algorithm::Random, MeasureOptions { distinct: true, draws: 3, ..plain }),
        (Algorithm::LeastRequest, MeasureOptions { draws: 3, ..plain }),
        (Algorithm::LeastRequest, MeasureOptions { bias: Some(Hundredths(50)), ..plain }),
        (Algorithm::LeastResponseTime, of_times),
        (Algorithm::LeastResponseTime, MeasureOptions { drawn: Some(3), ..of_times }),
    ] {
        all.push(Scheduling { measure, ..algorithm.into() });
    }
    all
}

/// Picks with a key, or without one, as for a client on a Unix socket.
fn pick(picker: &mut Picker, roster: &Roster, number: u64, has_key: bool, exclude: &[usize]) -> Pick {
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = has_key.then(|| IpAddr::V4(Ipv4Addr::from_bits((random >> 32) as u32)).into());
    picker.pick(roster, &PickInput { key, random, now_ms: number, exclude })
}

/// Ends a request after its response.
fn end(roster: &Roster, slot: usize, mut watch: Watch, now_ms: u64) {
    if let Some(candidate) = roster.candidate(slot) {
        watch.answered(roster, &candidate.load, now_ms, 1_000, true);
        watch.moved(roster, &candidate.load, now_ms, 5_000);
        watch.completed(roster, &candidate.load, now_ms, true);
        watch.end(&candidate.load);
        roster.end(slot, &candidate.load);
    }
}

#[test]
fn no_algorithm_allocates_when_it_picks_and_counts() {
    for (scheduling, has_key) in schedulings().into_iter().flat_map(|one| [(one, true), (one, false)]) {
        for (servers, connections_max, parts) in [
            (3, None, false),
            (100, None, true),
            (100, Some(2), false),
            (1_000, None, false),
            (1_000, None, true),
        ] {
            let roster = roster(scheduling, servers, connections_max, parts);
            let mut picker = Picker::new(7);
            // The very first pick may allocate.
            pick(&mut picker, &roster, 0, has_key, &[]);
            let mut picked = 0;
            let counted = allocation_counter::measure(|| {
                for number in 1..=1_000 {
                    let exclude = &[1, 2][..number as usize % 3];
                    if let Pick::Server(slot) = pick(&mut picker, &roster, number, has_key, exclude) {
                        let watch = roster.watch(slot, number);
                        roster.begin(slot);
                        picked += 1;
                        if number % 2 == 0 {
                            end(&roster, slot, watch, number);
                        }
                    }
                }
            });
            assert!(picked > 0, "{scheduling:?}");
            assert_eq!(counted.count_total, 0, "{scheduling:?} with {servers} servers, key: {has_key}");
        }
    }
}

#[test]
fn the_first_pick_after_a_change_allocates_nothing_where_there_were_as_many_servers_before() {
    // The data of lblc and lblcr belongs to the pool, and these rosters are of different pools.
    let of_keys = [Algorithm::Lblc, Algorithm::Lblcr];
    for scheduling in schedulings().into_iter().filter(|one| !of_keys.contains(&one.algorithm)) {
        for (parts, has_key) in [(false, true), (false, false), (true, true), (true, false)] {
            let rosters = [1_000, 999].map(|servers| roster(scheduling, servers, None, parts));
            let mut picker = Picker::new(7);
            pick(&mut picker, &rosters[0], 0, has_key, &[]);
            let counted = allocation_counter::measure(|| {
                for number in 1..100 {
                    pick(&mut picker, &rosters[number as usize % 2], number, has_key, &[]);
                }
            });
            let what = format!("{scheduling:?}, parts of weights: {parts}, key: {has_key}");
            assert_eq!(counted.count_total, 0, "{what}");
        }
    }
}
