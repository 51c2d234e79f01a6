//! Compares picks for a thousand keys with recordings of NGINX and with the formulas of `maglev` and
//! `rendezvous`.
//!
//! `tests/golden/record` made the recordings; `tests/golden/work-out-keys` computed the formulas' results
//! independently of this code. HAProxy's keys are parts of requests, so logic/config/tests/haproxy_keys.rs
//! tests them. The `random` of both products is not recorded, because their seeds differ each time; random.rs
//! tests its properties.

use std::net::IpAddr;

use weir_balance::{Algorithm, HashOptions, Key, Pick, Roster, Scheduling};

use crate::pool::{Pool, of_key};

/// Weights of the script's servers.
const WEIGHTS: [u32; 5] = [1, 2, 3, 1, 5];

/// A file written by the script: one column for each variant, then lines with digits and a key.
struct Golden {
    columns: Vec<&'static str>,
    lines: Vec<(&'static [u8], &'static str)>,
}

impl Golden {
    fn read(text: &'static str) -> Self {
        let (columns, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("# "));
        let lines: Vec<_> = lines.into_iter().filter_map(|line| line.split_once(' ')).collect();
        assert_eq!(lines.len(), 1_000);
        Self {
            columns: columns.into_iter().map(|line| &line[2..]).collect(),
            lines: lines.into_iter().map(|(digits, key)| (digits.as_bytes(), key)).collect(),
        }
    }

    /// Asserts the picks of all rosters, one for each column; `key_of` turns a line's text into a key.
    fn assert(&self, rosters: &[Roster], key_of: impl Fn(&str, &Roster) -> Key) {
        assert_eq!(self.columns.len(), rosters.len());
        for (digits, key) in &self.lines {
            for ((column, roster), digit) in self.columns.iter().zip(rosters).zip(*digits) {
                let picked = of_key(roster, key_of(key, roster), &[]);
                assert_eq!(picked, Pick::Server(usize::from(digit - b'0')), "{column}: {key}");
            }
        }
    }
}

/// Returns a roster for each column, with the script's servers. ketama depends on their addresses.
fn nginx(golden: &Golden, algorithm: Algorithm) -> Vec<Roster> {
    let roster = |column: &&str| {
        let mut pool = Pool::new(algorithm, &WEIGHTS);
        for candidate in &mut pool.candidates {
            candidate.address = format!("127.0.3.1:{}", 18_081 + candidate.slot).parse().unwrap();
        }
        if let Ok(down) = column.rsplit(' ').next().unwrap().parse::<usize>() {
            pool.candidates[down].eligible = false;
        }
        pool.roster()
    };
    golden.columns.iter().map(roster).collect()
}

#[test]
fn a_thousand_keys_get_the_servers_that_nginx_gives_them() {
    for (algorithm, text) in [
        (Algorithm::NginxHash, include_str!("../golden/nginx-hash.txt")),
        (Algorithm::Ketama, include_str!("../golden/nginx-ketama.txt")),
    ] {
        let golden = Golden::read(text);
        golden.assert(&nginx(&golden, algorithm), |key, roster| {
            roster.scheduling().hash.key_of(key.as_bytes())
        });
    }
}

#[test]
fn a_thousand_addresses_get_the_servers_that_nginx_gives_them() {
    let golden = Golden::read(include_str!("../golden/nginx-ip-hash.txt"));
    golden
        .assert(&nginx(&golden, Algorithm::NginxIpHash), |key, _| Key::from(key.parse::<IpAddr>().unwrap()));
}

/// Addresses of the script's servers.
const ADDRESSES: [&str; 5] =
    ["127.0.3.1:18081", "[2001:db8::2]:8080", "cache.example:80", "127.0.3.1:18081", "unix:/run/web.sock"];

/// Creates a roster from a column: weights, then ` / down: ` with a server's index or nothing.
fn worked_out(scheduling: Scheduling, column: &str) -> Roster {
    let (weights, down) =
        column.split_once(" / down: ").map_or((column, None), |(weights, down)| (weights, Some(down)));
    let weights: Vec<u32> = weights.split(' ').map(|weight| weight.parse().unwrap()).collect();
    let mut pool = Pool::new(scheduling, &weights);
    for (candidate, address) in pool.candidates.iter_mut().zip(ADDRESSES) {
        candidate.address = address.parse().unwrap();
    }
    if let Some(down) = down {
        pool.candidates[down.parse::<usize>().unwrap()].eligible = false;
    }
    pool.roster()
}

fn of_address_or_text(key: &str, roster: &Roster) -> Key {
    match key.parse::<IpAddr>() {
        Ok(address) => Key::from(address),
        Err(_) => roster.scheduling().hash.key_of(key.as_bytes()),
    }
}

#[test]
fn a_thousand_keys_have_the_places_in_maglevs_table_that_the_formula_gives_them() {
    let golden = Golden::read(include_str!("../golden/maglev.txt"));
    let roster = |column: &&str| {
        let (size, servers) = column.split_once(" / ").unwrap();
        let hash = HashOptions { table_size: size.parse().unwrap(), ..HashOptions::of(Algorithm::Maglev) };
        worked_out(Scheduling { hash, ..Algorithm::Maglev.into() }, servers)
    };
    let rosters: Vec<_> = golden.columns.iter().map(roster).collect();
    golden.assert(&rosters, of_address_or_text);
}

#[test]
fn a_thousand_keys_are_won_by_the_servers_that_the_formula_of_rendezvous_gives_them() {
    let golden = Golden::read(include_str!("../golden/rendezvous.txt"));
    let rosters: Vec<_> =
        golden.columns.iter().map(|column| worked_out(Algorithm::Rendezvous.into(), column)).collect();
    golden.assert(&rosters, of_address_or_text);
}
