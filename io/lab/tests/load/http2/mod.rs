//! Tests over HTTP/2 with the server side of the `h2` crate. The end-to-end tests use other servers.

pub(crate) mod server;

use std::time::Duration;

use server::{Rules, Server};
use weir_lab::{Arrivals, Body, Fault, FlawKind, Load, Mode, Verify};
use weir_testkit::{PATIENCE, RawServer, RefusingPort, wait_until};

use crate::{closed, kinds, load, phases, rate, run, target};

fn http2(server: &Server, path: &str, mode: Mode, streams: usize) -> Load {
    Load { streams: Some(streams), ..load(server.address, path, mode) }
}

#[test]
fn bodies_go_both_ways_through_a_few_connections() {
    let server = Server::start(Rules::default());
    // Larger than the initial flow-control window.
    let mut load = http2(&server, "/echo", closed(3), 4);
    load.targets[0].method = "POST".to_owned();
    load.targets[0].body = Body::Generated { bytes: 300_001 };
    load.requests_max = Some(60);
    let summary = run(load).summary();
    assert_eq!(
        (summary.requests.succeeded, summary.bytes.bodies_in),
        (60, 60 * 300_001),
        "{:?}",
        summary.faults
    );
    assert!(summary.bytes.out > 60 * 300_001);
    assert_eq!((server.connections(), server.requests()), (3, 60));
    // The requests that were due before their connection was established.
    assert_eq!(summary.connect_ms.count, 12);
}

#[test]
fn what_has_been_read_makes_room_for_more() {
    let server = Server::start(Rules::default());
    // Three times the flow-control window of a connection.
    let mut load = http2(&server, "/bytes/2000000", closed(1), 4);
    load.requests_max = Some(24);
    let summary = run(load).summary();
    assert_eq!(
        (summary.requests.succeeded, summary.bytes.bodies_in),
        (24, 48_000_000),
        "{:?}",
        summary.faults
    );
}

#[test]
fn each_connection_has_as_many_requests_at_a_time_as_it_has_streams() {
    let server = Server::start(Rules { together: 12, ..Rules::default() });
    let mut load = http2(&server, "/together", closed(3), 4);
    load.requests_max = Some(36);
    assert_eq!(run(load).summary().requests.succeeded, 36);
    assert_eq!(server.connections(), 3);
}

#[test]
fn an_open_loop_sends_what_is_due_on_connections_that_it_shares() {
    let server = Server::start(Rules::default());
    for threads in [1, 2] {
        let before = (server.requests(), server.connections());
        let mut load = http2(&server, "/bytes/100", rate("300"), 300);
        load.targets.push(target("GET", format!("http://{}/bytes/{{i%2}}", server.address)));
        load.threads = threads;
        let run = run(load);
        let summary = run.summary();
        assert_eq!((summary.requests.sent, summary.requests.succeeded), (300, 300), "{:?}", summary.faults);
        assert_eq!(server.requests() - before.0, 300);
        assert_eq!(server.connections() - before.1, threads as u64);
        let parts: Vec<_> = summary.targets.iter().map(|part| (part.sent, part.bytes_in)).collect();
        assert_eq!(parts, [(150, 15_000), (150, 150)]);
        assert_eq!(run.facts.unwrap().unsent, 0);
    }
}

#[test]
fn no_more_is_sent_at_a_time_than_the_server_allows() {
    let server = Server::start(Rules { streams: Some(2), ..Rules::default() });
    for mode in [closed(2), rate("200@500ms")] {
        let mut load = http2(&server, "/bytes/1000", mode, 10);
        load.requests_max = Some(100);
        let run = run(load);
        let summary = run.summary();
        assert_eq!(summary.requests.succeeded, 100, "{:?}", summary.faults);
        assert_eq!(run.facts.unwrap().streams_allowed, Some(2));
    }
}

#[test]
fn each_session_is_a_connection_with_one_request_at_a_time() {
    let server = Server::start(Rules::default());
    let mode =
        Mode::Sessions { phases: phases("20@500ms"), arrivals: Arrivals::Even, calls: 3, pause_s: 0.005 };
    let run = run(http2(&server, "/bytes/1", mode, 100));
    assert_eq!((server.connections(), server.requests()), (10, 30));
    let sessions = run.facts.unwrap().sessions.unwrap();
    assert_eq!((sessions.complete, sessions.replies_mean), (10, 3.0));
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let server = Server::start(Rules::default());
    let mut load = http2(&server, "/bytes/1", closed(3), 10);
    load.keep_alive = false;
    load.requests_max = Some(30);
    assert_eq!(run(load).summary().requests.succeeded, 30);
    assert_eq!(server.connections(), 30);
}

#[test]
fn streams_that_the_server_resets_are_told_apart_and_leave_their_connection_standing() {
    for (path, fault) in
        [("/refused", Fault::StreamRefused), ("/reset", Fault::StreamReset), ("/overlong", Fault::Framing)]
    {
        let server = Server::start(Rules::default());
        let mut load = http2(&server, path, closed(1), 2);
        load.requests_max = Some(10);
        let summary = run(load).summary();
        assert_eq!(summary.faults, [(fault.to_string(), 10)]);
        assert_eq!(server.connections(), 1, "{path}");
    }
}

#[test]
fn connections_that_the_server_ends_in_good_order_lose_nothing() {
    let server = Server::start(Rules { requests: Some(10), ..Rules::default() });
    for mode in [closed(2), rate("200@500ms")] {
        let before = server.requests();
        let mut load = http2(&server, "/bytes/10", mode, 1);
        load.requests_max = Some(100);
        let summary = run(load).summary();
        assert_eq!(summary.requests.succeeded, 100, "{:?}", summary.faults);
        assert_eq!(server.requests() - before, 100);
    }
    assert!(server.connections() >= 10, "{}", server.connections());
}

#[test]
fn requests_of_connections_that_the_server_gives_up_are_told() {
    let server = Server::start(Rules::default());
    let mut load = http2(&server, "/abrupt", closed(1), 1);
    load.requests_max = Some(5);
    assert_eq!(run(load).summary().faults, [(Fault::GoAway.to_string(), 5)]);
    assert_eq!(server.connections(), 5);
}

#[test]
fn the_server_hears_of_requests_that_took_too_long() {
    let server = Server::start(Rules::default());
    let mut load = http2(&server, "/silent", closed(1), 2);
    load.timeout = Duration::from_millis(200);
    load.requests_max = Some(6);
    let run = run(load);
    assert_eq!(run.summary().faults, [(Fault::Timeout.to_string(), 6)]);
    assert!(kinds(&run).contains(&FlawKind::Stuck), "{:?}", run.flaws());
    // The last ones end with the run, without a cancellation.
    wait_until("requests are cancelled", PATIENCE, || server.cancelled() >= 4);
}

#[test]
fn contents_are_checked_against_a_checksum() {
    let server = Server::start(Rules::default());
    for (path, checksum, fault) in [
        ("/announced", "announced", None),
        ("/announced", "adler32=062c0215", None),
        ("/announced", "adler32=1", Some(Fault::Checksum)),
        ("/bytes/5", "announced", Some(Fault::NoChecksum)),
    ] {
        let mut load = http2(&server, path, closed(1), 3);
        load.requests_max = Some(6);
        load.verify = Some(checksum.parse::<Verify>().unwrap());
        let summary = run(load).summary();
        let faults: Vec<_> = fault.map(|fault| (fault.to_string(), 6_u64)).into_iter().collect();
        assert_eq!(summary.faults, faults, "{path} {checksum}");
    }
}

#[test]
fn answers_tell_which_server_they_are_from() {
    let server = Server::start(Rules::default());
    let mut load = http2(&server, "/bytes/5", closed(1), 3);
    load.requests_max = Some(9);
    load.server_header = "X-Origin".to_owned();
    let summary = run(load).summary();
    assert_eq!((summary.servers[0].name.as_str(), summary.servers[0].requests), ("h2", 9));
}

#[test]
fn who_does_not_speak_http_2_is_told_from_who_does_not_answer() {
    let server = RawServer::answering("hello");
    let refusing = RefusingPort::new();
    for (address, fault) in [(server.addr(), Fault::NoHttp2), (refusing.addr(), Fault::Refused)] {
        let mut load = Load { streams: Some(2), ..load(address, "/", closed(1)) };
        load.requests_max = Some(4);
        assert_eq!(run(load).summary().faults, [(fault.to_string(), 4)]);
    }
}

#[test]
fn headers_that_http_2_does_not_have_are_refused() {
    let server = Server::start(Rules::default());
    let mut load = http2(&server, "/", closed(1), 1);
    load.targets[0].headers = vec![("Connection".to_owned(), "close".to_owned())];
    let error = weir_lab::Running::start(load).unwrap_err().to_string();
    assert!(error.contains("Connection: close: HTTP/2 has no such header"), "{error}");
}
