//! Tests of the table of keys: its size, its expiry and its locks.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use weir_model::{ServerAddress, Weight};

use super::shard::{ENTRIES_MAX, ENTRIES_WANTED};
use super::*;
use crate::schedule::Schedule;
use crate::{Algorithm, Candidate, Pick, PickInput, Picker};

const MINUTE_MS: u64 = 60_000;

fn roster(servers: usize) -> Roster {
    let candidate = |slot| Candidate {
        slot,
        rank: slot as u32,
        address: ServerAddress::Unix("/run/web.sock".into()),
        weight: Weight::ONE,
        name_key: 0,
        portion: crate::Portion::WHOLE,
        priority: 0,
        backup: false,
        is_local: true,
        eligible: true,
        half_open: false,
        keeps_clients: true,
        connections_max: None,
        load: Arc::default(),
    };
    Roster::new(Algorithm::Lblc, (0..servers).map(candidate).collect(), None)
}

fn key(index: u32) -> Key {
    Key::from(IpAddr::from(Ipv4Addr::from_bits(index)))
}

fn ask(localities: &Localities, roster: &Roster, index: u32, now_ms: u64) -> Option<usize> {
    localities.lblc(&Request { roster, key: key(index), exclude: &[], now_ms })
}

#[test]
fn however_many_keys_come_only_so_many_are_kept_and_those_are_the_newest() {
    let (localities, roster) = (Localities::default(), roster(2));
    let keys = 2 * (ENTRIES_MAX * SHARDS) as u32;
    for index in 0..keys {
        ask(&localities, &roster, index, u64::from(index / 1_000));
    }
    assert!(localities.len() <= ENTRIES_MAX * SHARDS);
    let newest_id = id_of(key(keys - 1));
    let mut shard = localities.0[(newest_id % SHARDS as u64) as usize].lock().unwrap();
    assert!(shard.touch(newest_id, 0).is_some());
}

#[test]
fn of_too_many_keys_those_go_that_nobody_has_asked_for_in_six_minutes() {
    let (localities, roster) = (Localities::default(), roster(2));
    let wanted = (ENTRIES_WANTED * SHARDS) as u32;
    for index in 0..wanted * 3 / 2 {
        ask(&localities, &roster, index, 1);
    }
    let before = localities.len();
    for index in 0..wanted {
        ask(&localities, &roster, index, 5 * MINUTE_MS);
    }
    assert_eq!(localities.len(), before);
    for index in 0..wanted / 2 {
        ask(&localities, &roster, index, 7 * MINUTE_MS);
    }
    // The shards differ in size, and some were not too large.
    assert!(localities.len() < before * 9 / 10, "{} of {before}", localities.len());
    assert!(localities.len() >= wanted as usize / 2);
}

#[test]
fn keys_that_have_expired_go_within_half_an_hour() {
    let (localities, roster) = (Localities::default(), roster(2));
    for index in 0..5_000 {
        ask(&localities, &roster, index, 1);
    }
    let day = 24 * 60 * MINUTE_MS;
    for index in 0..5_000 {
        ask(&localities, &roster, index % 500, day + 31 * MINUTE_MS);
    }
    assert_eq!(localities.len(), 500);
}

#[test]
fn nobody_waits_for_a_lock() {
    let (localities, roster) = (Localities::default(), roster(2));
    assert_eq!(ask(&localities, &roster, 7, 1), Some(0));
    let id = id_of(key(7));
    let held = localities.0[(id % SHARDS as u64) as usize].lock().unwrap();
    assert_eq!(ask(&localities, &roster, 7, 1), None);
    drop(held);
    assert_eq!(ask(&localities, &roster, 7, 1), Some(0));
}

#[test]
fn who_finds_the_part_of_its_key_taken_gets_the_least_loaded_server_and_changes_nothing() {
    let roster = roster(3);
    let Schedule::Locality(localities) = roster.schedule() else { unreachable!("it is lblc") };
    let mut picker = Picker::new(0);
    let mut pick =
        || picker.pick(&roster, &PickInput { key: Some(key(7)), now_ms: 1, ..PickInput::default() });
    assert_eq!(pick(), Pick::Server(0));
    assert!(roster.begin(0));
    assert_eq!(pick(), Pick::Server(0), "it has no more than it weighs");
    let held = localities.0[(id_of(key(7)) % SHARDS as u64) as usize].lock().unwrap();
    assert_eq!(pick(), Pick::Server(1), "the first of those that are idle");
    drop(held);
    assert_eq!(pick(), Pick::Server(0), "the key is where it was");
}
