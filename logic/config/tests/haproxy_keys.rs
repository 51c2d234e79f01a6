//! Tests that Weir chooses the same servers as HAProxy, from the config to the server, for a thousand
//! requests each.
//!
//! The choices were recorded by `record`, `record-sequences` and `record-newer` in
//! logic/balance/tests/golden. For features that no HAProxy version in Debian has, `work-out` in the same
//! folder computed them.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use weir_balance::{Candidate, Pick, PickInput, Picker, Roster};
use weir_config::plan::PoolPlan;
use weir_config::{KeyReader, Source};
use weir_http::{HeadLimits, HeaderTable, RouteRequest, Scheme, parse_request};

/// Weights of the servers in the recording scripts.
const WEIGHTS: [u32; 5] = [1, 2, 3, 1, 5];

/// Servers of record-newer, where the points of the ring depend on addresses.
const ADDRESSES: [&str; 5] =
    ["127.0.3.1:18081", "[::1]:18082", "127.0.3.2:18081", "[::1]:18084", "127.0.3.1:18085"];

/// Servers of work-out, where ports do not matter.
const HOSTS: [&str; 5] = ["127.0.3.1:80", "[::1]:80", "127.0.3.2:81", "127.0.3.3:80", "127.0.3.4:80"];

/// A pool of Weir that must choose as a backend of HAProxy does.
struct Column {
    name: &'static str,
    reader: KeyReader,
    roster: Roster,
}

impl Column {
    /// Returns the pool for `BALANCE / HASH-TYPE` in HAProxy's words, optionally followed by ` / down:
    /// SERVER`.
    fn new(name: &'static str, points: &str) -> Self {
        let (name, down) =
            name.split_once(" / down: ").map_or((name, None), |(name, down)| (name, Some(down)));
        let down: Option<usize> = down.map(|index| index.parse().unwrap());
        let (balance, hash_type) = name.split_once(" / ").unwrap();
        let mut words = hash_type.split(' ');
        let algorithm = if words.next() == Some("consistent") { "ring" } else { "hash" };
        let mut options = vec![format!("algorithm = \"{algorithm}\"")];
        // In HAProxy, `consistent` without a function has avalanche, too.
        let mut avalanche = hash_type == "consistent";
        for word in words {
            match word {
                "avalanche" => avalanche = true,
                function => options.push(format!("function = \"{function}\"")),
            }
        }
        options.push(format!("avalanche = {avalanche}"));
        if algorithm == "ring" {
            options.push(format!("points = \"{points}\""));
        }
        options.extend(key(balance));
        let plan = pool(&options.join(", "), if points == "host" { HOSTS } else { ADDRESSES });
        let candidate = |(slot, server): (usize, &weir_config::plan::ServerPlan)| Candidate {
            slot,
            rank: slot as u32,
            address: server.address.clone(),
            weight: server.weight,
            name_key: plan.hash.options.points.name_key(server.name.as_str()),
            portion: weir_balance::Portion::WHOLE,
            priority: 0,
            backup: false,
            is_local: true,
            eligible: Some(slot) != down,
            half_open: false,
            keeps_clients: true,
            connections_max: None,
            load: Arc::default(),
        };
        let candidates = plan.servers.iter().enumerate().map(candidate).collect();
        let roster = Roster::new(plan.scheduling(), candidates, None);
        Self { name, reader: KeyReader::compile(&plan).unwrap(), roster }
    }

    fn pick(&self, text: &str) -> Pick {
        if let Some(user) = text.strip_prefix("Cookie: mstshash=") {
            let key = self.reader.of_connection(None, || None, Some(user.as_bytes()));
            assert!(key.is_some(), "{text}");
            return Picker::new(0).pick(&self.roster, &PickInput { key, ..PickInput::default() });
        }
        let mut headers = HeaderTable::new();
        let head = parse_request(text.as_bytes(), &HeadLimits::default(), &mut headers).unwrap().unwrap();
        let request = RouteRequest::of(&head, text.as_bytes(), &headers, None, Scheme::Http, "web");
        let key = self.reader.of_request(&request, head.target.span.of(text.as_bytes()), None, || None);
        assert!(key.is_some(), "{text}");
        Picker::new(0).pick(&self.roster, &PickInput { key, ..PickInput::default() })
    }
}

/// Returns Weir's options for HAProxy's `balance`.
fn key(balance: &str) -> Vec<String> {
    let mut words = balance.split(' ');
    let mut options = vec![match words.next().unwrap() {
        "uri" => "key = \"uri\"".to_owned(),
        "hdr(X-Key)" => "key = \"header x-key\"".to_owned(),
        "hash" => {
            assert_eq!(words.next(), Some("req.fhdr(X-Key)"));
            "key = { expression = \"headers['x-key']\" }".to_owned()
        }
        "rdp-cookie" => "key = \"rdp-cookie\"".to_owned(),
        "url_param" => format!("key = \"url-param {}\"", words.next().unwrap()),
        other => panic!("{other}"),
    }];
    while let Some(word) = words.next() {
        options.push(match word {
            "whole" => "whole = true".to_owned(),
            "path-only" => "path-only = true".to_owned(),
            "use_domain_only" => "use-domain-only = true".to_owned(),
            number => format!("{number} = {}", words.next().unwrap()),
        });
    }
    options
}

fn pool(options: &str, addresses: [&str; 5]) -> PoolPlan {
    let mode = if options.contains("rdp-cookie") { "tcp" } else { "http" };
    let server = |(at, (weight, address)): (usize, (&u32, &str))| {
        format!("{{ name = \"cache-{at}\", address = \"{address}\", weight = {weight} }}")
    };
    let servers: Vec<String> = WEIGHTS.iter().zip(addresses).enumerate().map(server).collect();
    let text = format!(
        "[listener.web]\nmode = \"{mode}\"\nbind = \":80\"\npool = \"web\"\n[pool.web]\nbalance = {{ {options} }}\nservers = [{}]\n",
        servers.join(", ")
    );
    let source = Source { name: "weir.toml".to_owned(), text };
    let loaded =
        weir_config::load(&[source], &|_| None).unwrap_or_else(|errors| panic!("{options}: {}", errors[0]));
    loaded.plan.pools.into_iter().next().unwrap()
}

/// Checks every column's choice for each key of a file. `request` makes the request from the key.
fn assert_recorded(text: &'static str, request: impl Fn(&str) -> String) {
    assert_same(text, "position", request);
}

/// Checks the choices. `points`: the property of servers from which that HAProxy version computes ring
/// points.
fn assert_same(text: &'static str, points: &str, request: impl Fn(&str) -> String) {
    let (columns, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("# "));
    let columns: Vec<Column> = columns.into_iter().map(|line| Column::new(&line[2..], points)).collect();
    assert!(columns.len() >= 3);
    assert_eq!(lines.len(), 1_000);
    for line in lines {
        let (digits, key) = line.split_once(' ').unwrap();
        assert_eq!(digits.len(), columns.len());
        for (column, digit) in columns.iter().zip(digits.bytes()) {
            let picked = column.pick(&request(key));
            assert_eq!(picked, Pick::Server(usize::from(digit - b'0')), "{}: {key}", column.name);
        }
    }
}

#[test]
fn by_uri() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-uri.txt");
    assert_recorded(recorded, |uri| format!("GET {uri} HTTP/1.1\r\nHost: h\r\n\r\n"));
}

#[test]
fn by_uri_without_scheme_and_authority() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-path-only.txt");
    assert_recorded(recorded, |uri| {
        let host = uri.strip_prefix("http://").map_or("h", |rest| rest.split('/').next().unwrap());
        format!("GET {uri} HTTP/1.1\r\nHost: {host}\r\n\r\n")
    });
}

#[test]
fn by_keys_that_are_numbers_on_the_ring_of_newer_versions() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-number.txt");
    assert_same(recorded, "id", |value| format!("GET / HTTP/1.1\r\nHost: h\r\nX-Key: {value}\r\n\r\n"));
}

#[test]
fn on_the_ring_of_addresses_that_is_the_default_here() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-hash-key.txt");
    assert_same(recorded, "address", |value| format!("GET / HTTP/1.1\r\nHost: h\r\nX-Key: {value}\r\n\r\n"));
}

#[test]
fn on_rings_of_hosts_names_and_long_ids() {
    let request = |value: &str| format!("GET / HTTP/1.1\r\nHost: h\r\nX-Key: {value}\r\n\r\n");
    assert_same(include_str!("../../balance/tests/golden/haproxy-hash-key-addr.txt"), "host", request);
    assert_same(include_str!("../../balance/tests/golden/haproxy-hash-key-guid.txt"), "name", request);
    assert_same(include_str!("../../balance/tests/golden/haproxy-hash-key-id32.txt"), "id32", request);
}

#[test]
fn by_header() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-header.txt");
    assert_recorded(recorded, |value| format!("GET / HTTP/1.1\r\nHost: h\r\nX-Key: {value}\r\n\r\n"));
}

#[test]
fn by_parameter() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-url-param.txt");
    assert_recorded(recorded, |query| format!("GET /?{query} HTTP/1.1\r\nHost: h\r\n\r\n"));
}

#[test]
fn by_expression_and_with_a_server_down() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-hash.txt");
    assert_recorded(recorded, |value| format!("GET / HTTP/1.1\r\nHost: h\r\nX-Key: {value}\r\n\r\n"));
}

#[test]
fn by_remote_desktop_cookie() {
    let recorded = include_str!("../../balance/tests/golden/haproxy-rdp-cookie.txt");
    assert_recorded(recorded, |user| format!("Cookie: mstshash={user}"));
}
