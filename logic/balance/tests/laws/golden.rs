//! Which servers NGINX itself picks for a thousand keys each: recorded by `tests/golden/record`. HAProxy's keys are parts of
//! requests, and tested where these are read: logic/config/tests/haproxy_keys.rs. `random` of either is not recorded: they seed their
//! generators with what differs each time, and its laws are tested beside this (random.rs).

use weir_balance::{Algorithm, Key, Pick, Roster};

use crate::pool::{Pool, of_key};

/// The weights that the script gives its servers.
const WEIGHTS: [u32; 5] = [1, 2, 3, 1, 5];

/// A file of the script: a column for each variant, and lines of digits and a key.
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

    /// Asks the rosters, one for each column, for what `key_of` makes of each key.
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

/// The servers of the script: ketama goes by their addresses.
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
    golden.assert(&nginx(&golden, Algorithm::NginxIpHash), |key, _| {
        Key::from(key.parse::<std::net::IpAddr>().unwrap())
    });
}
