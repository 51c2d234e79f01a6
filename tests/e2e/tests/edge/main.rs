//! Tests how Weir routes, changes and limits requests.

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

/// Sends a request, which must be answered with 200, and returns the bytes that the server received.
fn seen(weir: &Weir, server: &RawServer, request: &str) -> String {
    let before = server.received_in_all().len();
    let response = weir.client().exchange(request);
    assert_eq!(response.status, 200, "{}", response.text());
    String::from_utf8(server.received_in_all().split_off(before)).unwrap()
}

/// Returns the values of the header lines with this name.
fn values<'a>(head: &'a str, name: &str) -> Vec<&'a str> {
    head.split("\r\n")
        .filter_map(|line| line.split_once(": "))
        .filter(|(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect()
}

/// Adds settings that keep the server's received bytes in the order in which requests were sent: one worker
/// and no reuse of connections.
fn in_order(config: &str) -> String {
    format!("{config}\nreuse = false\n[weir]\nworkers = 1\n")
}
