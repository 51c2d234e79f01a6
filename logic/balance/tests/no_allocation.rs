//! A pick is made for every request: it must not ask for memory.

#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use weir_balance::{Algorithm, Candidate, Pick, PickInput, Picker, Portion, Roster, ServerLoad};
use weir_model::{ServerAddress, Weight};

/// With `parts`, another part of each weight counts.
fn roster(algorithm: Algorithm, servers: usize, connections_max: Option<u32>, parts: bool) -> Roster {
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
        keeps_clients: true,
        connections_max,
        load: Arc::new(ServerLoad::default()),
    };
    Roster::new(algorithm, (0..servers).map(candidate).collect(), None)
}

fn pick(picker: &mut Picker, roster: &Roster, number: u64, exclude: &[usize]) -> Pick {
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = Some(IpAddr::V4(Ipv4Addr::from_bits((random >> 32) as u32)).into());
    picker.pick(roster, &PickInput { key, random, now_ms: number, exclude })
}

#[test]
fn no_algorithm_allocates_when_it_picks_and_counts() {
    for algorithm in Algorithm::ALL {
        for (servers, connections_max, parts) in [
            (3, None, false),
            (100, None, true),
            (100, Some(2), false),
            (1_000, None, false),
            (1_000, None, true),
        ] {
            let roster = roster(algorithm, servers, connections_max, parts);
            let mut picker = Picker::new(7);
            // The very first pick may.
            pick(&mut picker, &roster, 0, &[]);
            let mut picked = 0;
            let counted = allocation_counter::measure(|| {
                for number in 1..=1_000 {
                    if let Pick::Server(slot) =
                        pick(&mut picker, &roster, number, &[1, 2][..number as usize % 3])
                    {
                        roster.begin(slot);
                        picked += 1;
                        if number % 2 == 0
                            && let Some(candidate) = roster.candidate(slot)
                        {
                            roster.end(slot, &candidate.load);
                        }
                    }
                }
            });
            assert!(picked > 0, "{algorithm}");
            assert_eq!(counted.count_total, 0, "{algorithm} with {servers} servers");
        }
    }
}

#[test]
fn the_first_pick_after_a_change_allocates_nothing_where_there_were_as_many_servers_before() {
    // What lblc and lblcr know of keys is the pool's, and these rosters are of different ones.
    let of_keys = [Algorithm::Lblc, Algorithm::Lblcr];
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| !of_keys.contains(algorithm)) {
        for parts in [false, true] {
            let rosters = [1_000, 999].map(|servers| roster(algorithm, servers, None, parts));
            let mut picker = Picker::new(7);
            pick(&mut picker, &rosters[0], 0, &[]);
            let counted = allocation_counter::measure(|| {
                for number in 1..100 {
                    pick(&mut picker, &rosters[number as usize % 2], number, &[]);
                }
            });
            assert_eq!(counted.count_total, 0, "{algorithm}, parts of weights: {parts}");
        }
    }
}
