//! Compares picks with recordings of the kernel's IPVS, for connections that start and end.
//! `tests/golden/ipvs/record` made the recordings.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use weir_balance::{Algorithm, HashOptions, Key, Pick, PickInput, Picker, Scheduling};
use weir_model::Millis;

use crate::pool::Pool;

/// Creates the pool that the first line describes: the weights, and sometimes a threshold of the last server.
fn recorded(scheduling: Scheduling, text: &str) -> (Pool, &str) {
    let (head, lines) = text.split_once('\n').unwrap();
    let weights: Vec<u32> =
        head.rsplit("weights ").next().unwrap().split(' ').map(|weight| weight.parse().unwrap()).collect();
    let mut pool = Pool::new(scheduling, &weights);
    for candidate in &mut pool.candidates {
        let number = 1 + candidate.slot;
        let is_of_six = head.contains("-six,");
        let address = if is_of_six { format!("[fd02::{number}]") } else { format!("192.168.1.{number}") };
        candidate.address = format!("{address}:8080").parse().unwrap();
    }
    if let Some((_, limit)) = head.split_once("threshold ") {
        let limit = limit.split(',').next().unwrap().parse().unwrap();
        pool.candidates.last_mut().unwrap().connections_max = Some(limit);
    }
    (pool, lines)
}

/// Asserts the picks of all lines. A line has a client, a destination and a server; `-` ends a client's
/// connection, `~` advances the clock by seconds.
fn assert_recorded(scheduling: impl Into<Scheduling>, text: &str) {
    let scheduling = scheduling.into();
    let (pool, lines) = recorded(scheduling, text);
    let roster = pool.roster();
    let mut picker = Picker::new(0);
    let mut servers: HashMap<&str, usize> = HashMap::new();
    let (mut now_ms, mut count) = (0, 0);
    for line in lines.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["~", seconds] => now_ms += seconds.parse::<u64>().unwrap() * 1_000,
            ["-", client] => {
                if let Some(slot) = servers.remove(client) {
                    roster.end(slot, &pool.candidates[slot].load);
                }
            }
            [client, destination, server] => {
                let key = Some(key(scheduling.algorithm, client, destination));
                let picked = picker.pick(&roster, &PickInput { key, now_ms, ..PickInput::default() });
                let expected = server.parse().map_or(Pick::Busy, Pick::Server);
                let active: Vec<u32> = pool.candidates.iter().map(|server| server.load.active()).collect();
                assert_eq!(
                    picked, expected,
                    "{}: connection {count}, {line}, {active:?} under way",
                    scheduling.algorithm
                );
                if let Pick::Server(slot) = expected {
                    assert!(roster.try_begin(slot));
                    servers.insert(client, slot);
                }
                count += 1;
            }
            _ => panic!("{line}"),
        }
    }
    assert!(count >= 300, "{count}");
}

/// Returns the key that the kernel uses.
fn key(algorithm: Algorithm, client: &str, destination: &str) -> Key {
    if matches!(algorithm, Algorithm::IpvsDh | Algorithm::Lblc | Algorithm::Lblcr) {
        return Key::from(destination.parse::<IpAddr>().unwrap());
    }
    match client.parse::<SocketAddr>() {
        Ok(client) => Key::Address(client.ip(), client.port()),
        Err(_) => Key::from(client.parse::<IpAddr>().unwrap()),
    }
}

/// Returns a scheduling that does not skip servers without room.
fn without_fallback(algorithm: Algorithm) -> Scheduling {
    let hash = HashOptions { fallback: false, ..HashOptions::of(algorithm) };
    Scheduling { hash, ..algorithm.into() }
}

#[test]
fn a_thousand_connections_get_the_servers_that_the_kernel_gives_them() {
    for (algorithm, text) in [
        (Algorithm::IpvsSh, include_str!("../golden/ipvs-sh.txt")),
        (Algorithm::IpvsDh, include_str!("../golden/ipvs-dh.txt")),
        (Algorithm::IpvsMh, include_str!("../golden/ipvs-mh.txt")),
        (Algorithm::IpvsWrr, include_str!("../golden/ipvs-wrr.txt")),
        (Algorithm::IpvsLc, include_str!("../golden/ipvs-lc.txt")),
        (Algorithm::IpvsWlc, include_str!("../golden/ipvs-wlc.txt")),
        (Algorithm::Sed, include_str!("../golden/ipvs-sed.txt")),
        (Algorithm::Nq, include_str!("../golden/ipvs-nq.txt")),
        (Algorithm::Failover, include_str!("../golden/ipvs-fo.txt")),
        (Algorithm::Overflow, include_str!("../golden/ipvs-ovf.txt")),
        (Algorithm::Lblc, include_str!("../golden/ipvs-lblc.txt")),
        (Algorithm::Lblcr, include_str!("../golden/ipvs-lblcr.txt")),
        (Algorithm::IpvsSh, include_str!("../golden/ipvs-sh-port.txt")),
        (Algorithm::IpvsMh, include_str!("../golden/ipvs-mh-port.txt")),
    ] {
        assert_recorded(algorithm, text);
    }
}

#[test]
fn connections_of_ipv6_get_the_servers_that_the_kernel_gives_them() {
    for (algorithm, text) in [
        (Algorithm::IpvsSh, include_str!("../golden/ipvs-sh-six.txt")),
        (Algorithm::IpvsMh, include_str!("../golden/ipvs-mh-six.txt")),
    ] {
        assert!(text.starts_with("# ") && text.lines().nth(1).unwrap().contains("fd01:"));
        assert_recorded(algorithm, text);
    }
}

#[test]
fn connections_that_end_and_servers_without_weight_or_room_count_as_in_the_kernel() {
    for (algorithm, text) in [
        (Algorithm::IpvsWrr, include_str!("../golden/ipvs-wrr-ends.txt")),
        (Algorithm::IpvsLc, include_str!("../golden/ipvs-lc-ends.txt")),
        (Algorithm::IpvsWlc, include_str!("../golden/ipvs-wlc-ends.txt")),
        (Algorithm::Sed, include_str!("../golden/ipvs-sed-ends.txt")),
        (Algorithm::Nq, include_str!("../golden/ipvs-nq-ends.txt")),
        (Algorithm::Failover, include_str!("../golden/ipvs-fo-ends.txt")),
        (Algorithm::Overflow, include_str!("../golden/ipvs-ovf-ends.txt")),
        (Algorithm::Lblc, include_str!("../golden/ipvs-lblc-ends.txt")),
        (Algorithm::IpvsSh, include_str!("../golden/ipvs-sh-fallback-ends.txt")),
        (Algorithm::IpvsMh, include_str!("../golden/ipvs-mh-fallback-ends.txt")),
    ] {
        assert_recorded(algorithm, text);
    }
}

#[test]
fn the_hashes_without_fallback_leave_who_has_no_room_where_the_kernel_does() {
    for (algorithm, text) in [
        (Algorithm::IpvsSh, include_str!("../golden/ipvs-sh-ends.txt")),
        (Algorithm::IpvsDh, include_str!("../golden/ipvs-dh-ends.txt")),
        (Algorithm::IpvsMh, include_str!("../golden/ipvs-mh-ends.txt")),
    ] {
        assert!(text.lines().any(|line| line.ends_with(" x")), "{algorithm}: there was always room");
        assert_recorded(without_fallback(algorithm), text);
    }
}

#[test]
fn the_servers_of_a_key_become_fewer_where_they_do_in_the_kernel() {
    // The script sets the same expiration.
    let hash = HashOptions { expiration: Millis::from_secs(5), ..HashOptions::of(Algorithm::Lblcr) };
    assert_recorded(
        Scheduling { hash, ..Algorithm::Lblcr.into() },
        include_str!("../golden/ipvs-lblcr-ends.txt"),
    );
}
