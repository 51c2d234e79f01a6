//! Tests of sticky tables, and of servers' readiness for bound requests.

#![allow(clippy::unwrap_used, reason = "a worker that panicked fails the test")]

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use weir_balance::{
    Algorithm, Pick, PickInput, Picker, Portion, Standing, StickyKey, StickyKeys, StickyTable,
    StickyTableRule,
};
use weir_model::Weight;

use crate::pool::Pool;

fn table(entries_max: usize, expire_ms: u64) -> StickyTable {
    StickyTable::new(StickyTableRule { entries_max, expire_ms })
}

fn key(number: u64) -> StickyKey {
    StickyKeys::new([1, 2]).of(&number.to_le_bytes())
}

#[test]
fn a_key_finds_its_server_until_it_is_forgotten() {
    let table = table(10, 1_000);
    assert_eq!(table.find(key(1), 0), None);
    table.bind(key(1), 7, 0);
    table.bind(key(2), 8, 0);
    assert_eq!((table.find(key(1), 1), table.find(key(2), 1)), (Some(7), Some(8)));
    table.bind(key(1), 9, 2);
    assert_eq!(table.find(key(1), 3), Some(9), "the server of a key can change");
    assert!(table.forget(key(1)) && !table.forget(key(1)));
    assert_eq!(table.find(key(1), 4), None);
    assert_eq!(table.counts().entries, 1);
}

#[test]
fn an_entry_expires_when_it_was_not_used_for_long_enough() {
    let table = table(10, 1_000);
    table.bind(key(1), 7, 0);
    assert_eq!(table.find(key(1), 999), Some(7));
    assert_eq!(table.find(key(1), 1_998), Some(7), "its use counts");
    assert_eq!(table.find(key(1), 2_998), None);
    let counts = table.counts();
    assert_eq!((counts.entries, counts.expired), (0, 1));
}

#[test]
fn the_entry_that_was_not_used_for_longest_makes_room() {
    let table = table(3, u64::MAX);
    for number in 0..3 {
        table.bind(key(number), number, number);
    }
    table.find(key(0), 10);
    table.bind(key(3), 3, 11);
    let left: Vec<_> = (0..4).map(|number| table.find(key(number), 12)).collect();
    assert_eq!(left, [Some(0), None, Some(2), Some(3)]);
    assert_eq!(table.counts().evicted, 1);
}

#[test]
fn a_server_that_leaves_takes_its_entries_with_it() {
    let table = table(100_000, u64::MAX);
    for number in 0..1_000 {
        table.bind(key(number), number % 4, 0);
    }
    assert_eq!(table.retain(|server| server != 2), 250);
    assert_eq!(table.counts().entries, 750);
    assert_eq!((table.find(key(2), 0), table.find(key(3), 0)), (None, Some(3)));
}

#[test]
fn a_hundred_thousand_sources_do_not_make_it_grow_beyond_its_size() {
    let table = table(10_000, u64::MAX);
    for number in 0..100_000 {
        table.bind(key(number), number, number);
        if number % 10_000 == 0 {
            assert!(table.counts().entries <= 10_000);
        }
    }
    let counts = table.counts();
    assert!((9_000..=10_000).contains(&counts.entries), "{counts:?}");
    assert_eq!(counts.evicted, 100_000 - counts.entries);
    let latest =
        (95_000..100_000).filter(|number| table.find(key(*number), 100_000) == Some(*number)).count();
    assert!(latest > 4_900, "the latest are there: {latest}");
}

#[test]
#[allow(clippy::disallowed_methods, reason = "workers are threads: that is what is tested")]
fn workers_that_share_a_table_do_not_lose_entries() {
    let table = Arc::new(table(1 << 16, u64::MAX));
    std::thread::scope(|scope| {
        for worker in 0..4_u64 {
            let table = Arc::clone(&table);
            scope.spawn(move || {
                for number in 0..5_000 {
                    table.bind(key(worker * 5_000 + number), worker, number);
                    table.find(key(number), number);
                }
            });
        }
    });
    for worker in 0..4 {
        for number in 0..5_000 {
            assert_eq!(table.find(key(worker * 5_000 + number), 5_000), Some(worker));
        }
    }
    assert_eq!(table.counts().entries, 20_000);
}

proptest! {
    /// A table that is not full behaves like a map with a clock.
    #[test]
    fn a_table_does_what_a_map_does(steps in prop::collection::vec((0_u8..4, 0_u64..20, 0_u64..5, 0_u64..40), 0..200)) {
        let table = table(20, 100);
        let mut model: HashMap<u64, (u64, u64)> = HashMap::new();
        let mut now = 0;
        for (what, number, server, later) in steps {
            now += later;
            model.retain(|_, (_, used)| now - *used < 100);
            match what {
                0 => {
                    table.bind(key(number), server, now);
                    model.insert(number, (server, now));
                }
                1 | 2 => {
                    let wanted = model.get_mut(&number).map(|entry| {
                        entry.1 = now;
                        entry.0
                    });
                    prop_assert_eq!(table.find(key(number), now), wanted);
                }
                _ => {
                    let known = table.forget(key(number));
                    // An expired entry may still have been there.
                    prop_assert!(known || !model.contains_key(&number));
                    model.remove(&number);
                }
            }
            prop_assert!(table.counts().entries <= 20);
        }
        for number in 0..20 {
            prop_assert_eq!(table.find(key(number), now), model.get(&number).map(|entry| entry.0));
        }
    }
}

#[test]
fn a_draining_server_keeps_its_clients_and_gets_no_others() {
    for algorithm in Algorithm::ALL {
        let mut pool = Pool::new(algorithm, &[1, 1, 0]);
        pool.candidates[0].eligible = false;
        let roster = pool.roster();
        assert_eq!(roster.standing(0), Standing::Open, "{algorithm}: drained");
        assert_eq!(roster.standing(2), Standing::Open, "{algorithm}: weight 0");
        let mut picker = Picker::new(0);
        for random in 0..20_u64 {
            assert!(roster.try_begin(0), "its own clients are counted");
            let address = std::net::IpAddr::from(std::net::Ipv4Addr::from_bits(random as u32 * 0x0101_0101));
            let text = roster.scheduling().hash.key_of(&random.to_be_bytes());
            for key in [None, Some(address.into()), Some(text)] {
                let input = PickInput { key, random, ..PickInput::default() };
                assert_eq!(picker.pick(&roster, &input), Pick::Server(1), "{algorithm}");
            }
        }
        assert_eq!(pool.candidates[0].load.active(), 20);
    }
}

#[test]
fn a_server_that_is_down_full_or_not_there_does_not_keep_its_clients_at_once() {
    let mut pool = Pool::new(Algorithm::LeastConnections, &[1, 1]);
    (pool.candidates[0].eligible, pool.candidates[0].keeps_clients) = (false, false);
    pool.candidates[1].connections_max = Some(1);
    pool.candidates[1].weight = Weight::ZERO;
    let roster = pool.roster();
    assert_eq!([0, 1, 2].map(|slot| roster.standing(slot)), [Standing::Gone, Standing::Open, Standing::Gone]);
    assert!(roster.try_begin(1));
    assert_eq!(roster.standing(1), Standing::Busy);
    roster.end(1, &pool.candidates[1].load);
    assert_eq!(roster.standing(1), Standing::Open);
}

#[test]
fn keys_may_have_moved_when_another_part_of_a_weight_counts() {
    for (algorithm, weighs) in [
        (Algorithm::Ring, true),
        (Algorithm::Maglev, true),
        (Algorithm::Rendezvous, true),
        (Algorithm::IpvsSh, false),
    ] {
        let mut pool = Pool::new(algorithm, &[1, 1]);
        let whole = pool.roster();
        assert!(pool.roster_after(&whole).shares_like(&whole), "{algorithm}");
        pool.candidates[1].portion = Portion::percent(10);
        assert_eq!(pool.roster_after(&whole).shares_like(&whole), !weighs, "{algorithm}");
    }
}
