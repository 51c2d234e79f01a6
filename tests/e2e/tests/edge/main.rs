//! What Weir does to requests on their way: routes, headers, limits.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod destination;
mod expressions;
mod forwarded;
mod limits;
mod max_forwards;
mod paths;
mod routes;

use weir_e2e::Weir;
use weir_testkit::RawServer;

/// What the server receives of a request that is answered 200.
fn seen(weir: &Weir, server: &RawServer, request: &str) -> String {
    let before = server.received_in_all().len();
    let response = weir.client().exchange(request);
    assert_eq!(response.status, 200, "{}", response.text());
    String::from_utf8(server.received_in_all().split_off(before)).unwrap()
}

/// The values of the lines of that name in a head.
fn values<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    head.split("\r\n")
        .filter_map(|line| line.split_once(": "))
        .filter(|(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect()
}

/// One worker and no reuse: what the server receives stands in the order in which it was sent.
fn in_order(config: &str) -> String {
    format!("{config}\nreuse = false\n[weir]\nworkers = 1\n")
}
