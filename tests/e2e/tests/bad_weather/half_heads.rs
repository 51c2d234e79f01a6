//! Tests of servers that are killed within the head of their response.

use std::time::Instant;

use weir_e2e::{Weir, get, web};
use weir_testkit::{RawServer, Step};

const HALF: &str = "HTTP/1.1 200 OK\r\nContent-Le";
const HINT: &str = "HTTP/1.1 103 Early Hints\r\n\r\n";

/// Starts a server that sends these bytes to each request and closes.
fn saying(bytes: &str, end: Option<Step>) -> RawServer {
    let mut steps = vec![Step::ReadRequest, Step::Send(bytes.into())];
    steps.extend(end);
    RawServer::script(steps)
}

/// Starts Weir with a pool in which every request goes to `broken` first.
fn weir(broken: &RawServer, good: &RawServer) -> Weir {
    let servers = web(&[broken.addr(), good.addr()]);
    let rest = "balance = \"first\"\neject = false\nretry = { attempts = 1, min-per-second = 1000 }\n";
    Weir::start(&format!("{servers}{rest}"))
}

#[test]
fn a_safe_request_goes_to_another_server_when_its_own_ends_within_the_head() {
    for (bytes, end) in [("H", None), (HALF, None), (HALF, Some(Step::Reset))] {
        let broken = saying(bytes, end);
        let good = RawServer::answering("good");
        let weir = weir(&broken, &good);
        for method in ["GET", "OPTIONS", "PROPFIND"] {
            let response = weir.client().exchange(format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
            assert_eq!((response.status, response.text().as_str()), (200, "good"), "{method}");
        }
        assert_eq!(broken.connections(), 3);
    }
}

#[test]
fn a_request_that_changes_something_is_not_sent_twice_when_its_server_ends_within_the_head() {
    let broken = saying(HALF, None);
    let good = RawServer::answering("good");
    let weir = weir(&broken, &good);
    for method in ["POST", "PUT", "DELETE", "MOVE"] {
        let response =
            weir.client().exchange(format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"));
        assert_eq!(response.status, 502, "{method}");
    }
    assert_eq!(good.connections(), 0);
}

#[test]
fn a_kept_connection_that_ends_within_a_head_was_not_stale_and_its_server_is_not_asked_again() {
    let broken = RawServer::start(|peer| {
        peer.request()?;
        peer.respond("first")?;
        peer.request()?;
        peer.send(HALF)
    });
    let good = RawServer::answering("good");
    let weir = Weir::start(&format!(
        "{}balance = \"first\"\neject = false\n[weir]\nworkers = 1\n",
        web(&[broken.addr(), good.addr()])
    ));
    let mut client = weir.client();
    assert_eq!(client.exchange(get("/")).text(), "first");
    assert_eq!(client.exchange(get("/")).text(), "good");
    assert_eq!(broken.connections(), 1);
}

#[test]
fn an_interim_response_that_was_not_passed_on_is_no_part_of_an_answer() {
    for bytes in [HINT.to_owned(), format!("{HINT}{HALF}")] {
        let broken = saying(&bytes, None);
        let good = RawServer::answering("good");
        let weir = weir(&broken, &good);
        // HTTP/1.0 clients get no interim responses.
        let response = weir.client().exchange("GET / HTTP/1.0\r\n\r\n");
        assert_eq!((response.status, response.text().as_str()), (200, "good"), "{bytes:?}");
        assert_eq!(broken.connections(), 1);
    }
}

#[test]
fn after_an_interim_response_that_the_client_has_the_request_is_its_server_s() {
    for bytes in [HINT.to_owned(), format!("{HINT}{HALF}")] {
        let broken = saying(&bytes, None);
        let good = RawServer::answering("good");
        let weir = weir(&broken, &good);
        let mut client = weir.client();
        assert_eq!(client.send(get("/")).response().status, 103);
        assert_eq!(client.response().status, 502, "{bytes:?}");
        assert_eq!(good.connections(), 0);
    }
}

#[test]
fn a_server_that_keeps_sending_half_a_head_costs_no_more_tries_than_one_that_sends_nothing() {
    const REQUESTS: usize = 20;
    let broken = saying(HALF, None);
    let config = |retry: &str| format!("{}eject = false\nretry = {retry}\n", web(&[broken.addr()]));
    let weir = Weir::start(&config("{ attempts = 2, min-per-second = 1000 }"));
    assert_eq!(weir.client().exchange(get("/")).status, 502);
    assert_eq!(broken.connections(), 3);

    let broken_before = broken.connections();
    let weir = Weir::start(&config("{ attempts = 2, budget = \"0%\", min-per-second = 1 }"));
    let begun = Instant::now();
    for _ in 0..REQUESTS {
        assert_eq!(weir.client().exchange(get("/")).status, 502);
    }
    let tries = broken.connections() - broken_before;
    // One saved retry, one per second, and the allowance for the request in flight.
    let retries_max = 1 + 1 + begun.elapsed().as_secs() as usize + 2;
    assert!(tries <= REQUESTS + retries_max, "{tries} tries of {REQUESTS} requests");
}
