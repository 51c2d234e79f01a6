//! Tests that each flaw of the generator or the setup that invalidates a run is detected.

use std::net::TcpListener;
use std::time::Duration;

use weir_lab::{Balance, Fault, FlawKind, Order, Run, Turns};
use weir_origin::Origin;
use weir_testkit::{RawServer, RefusingPort};

use crate::{closed, kinds, load, rate, run};

#[test]
fn short_bodies_make_a_run_invalid() {
    let origin = Origin::builder().start().unwrap();
    let run = run(load(origin.addr(), "/close-mid-body?bytes=1000&sent=400", rate("50")));
    assert_eq!(run.summary().faults, [(Fault::Truncated.to_string(), 50)]);
    assert!(kinds(&run).contains(&FlawKind::Bytes), "{:?}", run.flaws());
}

#[test]
fn answers_that_go_on_after_their_announced_end_fail() {
    for body in [5, 100_000] {
        let body = "x".repeat(body);
        let long =
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}and more", body.len()).into_bytes();
        let last =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nand more".to_vec();
        let none = b"HTTP/1.1 204 No Content\r\n\r\nand more".to_vec();
        for answer in [long, last, none] {
            let server = RawServer::responding(move |_| answer.clone());
            for mode in [rate("20"), closed(2)] {
                let mut load = load(server.addr(), "/", mode);
                load.requests_max = Some(20);
                let run = run(load);
                assert_eq!(run.summary().faults, [(Fault::Surplus.to_string(), 20)]);
                assert!(kinds(&run).contains(&FlawKind::Bytes), "{:?}", run.flaws());
                let failed = run.server_failed().unwrap();
                assert!(failed.contains("20 times more bytes came than the answer announced"), "{failed}");
            }
        }
    }
}

#[test]
fn bytes_that_come_on_an_idle_connection_are_the_servers_failure_unless_they_close_it() {
    for (late, is_failure) in [("and more", true), ("HTTP/1.1 408 Request Timeout\r\n\r\n", false)] {
        let server = RawServer::start(move |peer| {
            peer.request()?;
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
            // The generator has received the response and sends nothing until its next request is due, a
            // second later.
            std::thread::sleep(Duration::from_millis(50));
            peer.send(late)?;
            peer.hold();
            Ok(())
        });
        let run = run(load(server.addr(), "/", rate("1@2s")));
        let facts = run.facts.clone().unwrap();
        assert_eq!(run.summary().requests.succeeded, 2, "{:?}", run.summary().faults);
        assert_eq!(facts.unasked, u64::from(is_failure), "{facts:?}");
        let failed = run.server_failed().unwrap_or_default();
        assert_eq!(failed.contains("bytes that no request asked for"), is_failure, "{failed}");
    }
}

#[test]
fn bodies_of_another_size_than_expected_make_a_run_invalid() {
    let origin = Origin::builder().start().unwrap();
    for (bytes, is_right) in [(500, true), (512, false)] {
        let mut load = load(origin.addr(), "/bytes/500", rate("50"));
        load.expected.body_bytes = Some(bytes);
        let run = run(load);
        assert_eq!(run.summary().requests.succeeded, 50);
        assert_eq!(kinds(&run).contains(&FlawKind::Bytes), !is_right, "{:?}", run.flaws());
    }
}

#[test]
fn a_server_that_is_stuck_makes_a_run_invalid() {
    // The kernel completes connections, but the server never accepts them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut load = load(listener.local_addr().unwrap(), "/", rate("20@500ms"));
    load.timeout = Duration::from_millis(300);
    let run = run(load);
    assert_eq!(run.summary().faults, [(Fault::Timeout.to_string(), 10)]);
    let kinds = kinds(&run);
    assert!(
        kinds.contains(&FlawKind::Stuck) && kinds.contains(&FlawKind::NothingAnswered),
        "{:?}",
        run.flaws()
    );
}

#[test]
fn lateness_that_is_accepted_marks_a_run_and_leaves_other_flaws() {
    let origin = Origin::builder().start().unwrap();
    let mut load = load(origin.addr(), "/hang", rate("100@500ms"));
    load.connections_max = 5;
    load.timeout = Duration::from_millis(200);
    load.expected.accept_late = true;
    let run = run(load);
    assert!(run.marks().iter().any(|mark| mark.kind == FlawKind::Late), "{:?}", run.marks());
    let kinds = kinds(&run);
    assert!(!kinds.contains(&FlawKind::Late) && kinds.contains(&FlawKind::Unsent), "{:?}", run.flaws());
}

#[test]
fn requests_that_found_no_connection_make_a_run_invalid() {
    let origin = Origin::builder().start().unwrap();
    let mut load = load(origin.addr(), "/hang", rate("100@500ms"));
    load.connections_max = 5;
    load.timeout = Duration::from_millis(200);
    let run = run(load);
    let facts = run.facts.clone().unwrap();
    assert!(facts.unsent > 0 && facts.connections_at_once == 5, "{facts:?}");
    let kinds = kinds(&run);
    assert!(kinds.contains(&FlawKind::Late) && kinds.contains(&FlawKind::Unsent), "{:?}", run.flaws());
}

#[test]
fn a_think_time_that_is_not_there_makes_a_run_invalid() {
    let origin = Origin::builder().start().unwrap();
    for (path, is_there) in [("/bytes/10", false), ("/delay/60", true)] {
        let mut load = load(origin.addr(), path, rate("50"));
        load.expected.think_ns = Some(50_000_000);
        let run = run(load);
        assert_eq!(run.summary().requests.succeeded, 50);
        assert_eq!(kinds(&run).contains(&FlawKind::ThinkTime), !is_there, "{:?}", run.flaws());
    }
}

#[test]
fn a_port_on_which_nobody_listens_makes_a_run_invalid() {
    let nobody = RefusingPort::new();
    for mode in [rate("50"), closed(2)] {
        let mut load = load(nobody.addr(), "/", mode);
        load.requests_max = Some(20);
        let run = run(load);
        assert_eq!(run.summary().faults, [(Fault::Refused.to_string(), 20)]);
        assert!(kinds(&run).contains(&FlawKind::NothingAnswered), "{:?}", run.flaws());
    }
}

#[test]
fn servers_that_have_not_their_share_make_a_run_invalid() {
    // Every third response is from b.
    let numbers = std::sync::atomic::AtomicU64::new(0);
    let server = RawServer::responding(move |_| {
        let number = numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = if number % 3 == 2 { "b" } else { "a" };
        format!("HTTP/1.1 200 OK\r\nX-Origin: {name}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    });
    for (balance, is_right) in [
        ("a=2,b=1", true),
        ("each:2", true),
        ("each:3", false),
        ("equal", false),
        ("equal:3", false),
        ("one", false),
        ("a=1", false),
        ("a=2,b=1,c=1", false),
    ] {
        let run = spread(&server, balance);
        assert_eq!(run.summary().servers.len(), 2);
        assert_eq!(kinds(&run).contains(&FlawKind::Balance), !is_right, "{balance}: {:?}", run.flaws());
    }
    let alone =
        RawServer::responding(|_| b"HTTP/1.1 200 OK\r\nX-Origin: a\r\nContent-Length: 0\r\n\r\n".to_vec());
    for (balance, is_right) in [("one", true), ("a=1", true), ("equal", false)] {
        let run = spread(&alone, balance);
        assert_eq!(kinds(&run).contains(&FlawKind::Balance), !is_right, "{balance}: {:?}", run.flaws());
    }
}

#[test]
fn turns_are_judged_by_what_they_may_be_off_and_not_by_chance() {
    // Three of five responses are from a.
    let numbers = std::sync::atomic::AtomicU64::new(0);
    let server = RawServer::responding(move |_| {
        let number = numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = ["a", "b", "a", "b", "a"][(number % 5) as usize];
        format!("HTTP/1.1 200 OK\r\nX-Origin: {name}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    });
    for (weights, is_right) in [([3, 2], true), ([6, 4], true), ([1, 1], false), ([2, 1], false)] {
        for counters in [1, 2] {
            let mut load = load(server.addr(), "/", closed(1));
            load.requests_max = Some(43);
            load.server_header = "X-Origin".to_owned();
            let weights = [("a".to_owned(), weights[0]), ("b".to_owned(), weights[1])].to_vec();
            let turns = Turns { weights: weights.clone(), counters, order: Order::Spread };
            load.expected.balance = Some(Balance::InTurn(turns));
            let run = run(load);
            let is_found = kinds(&run).contains(&FlawKind::Balance);
            assert_eq!(is_found, !is_right, "{weights:?}, {counters}: {:?}", run.flaws());
        }
    }
}

/// Runs 300 requests one after another with this expected balance.
fn spread(server: &RawServer, balance: &str) -> Run {
    let mut load = load(server.addr(), "/", closed(1));
    load.requests_max = Some(300);
    load.server_header = "x-origin".to_owned();
    load.expected.balance = Some(balance.parse().unwrap());
    run(load)
}

#[test]
fn what_is_no_http_makes_a_run_invalid() {
    let origin = Origin::builder().start().unwrap();
    let run = run(load(origin.addr(), "/garbage", rate("20")));
    assert_eq!(run.summary().faults, [(Fault::Framing.to_string(), 20)]);
    assert!(kinds(&run).contains(&FlawKind::Bytes), "{:?}", run.flaws());
}

#[test]
fn failures_of_the_server_alone_leave_a_run_as_it_is() {
    let origin = Origin::builder().start().unwrap();
    for (path, fault) in [("/reset", Fault::Reset), ("/close", Fault::Closed)] {
        let run = run(load(origin.addr(), path, rate("20")));
        assert_eq!(run.summary().faults, [(fault.to_string(), 20)]);
        assert!(!kinds(&run).contains(&FlawKind::Bytes), "{:?}", run.flaws());
    }
    let run = run(load(origin.addr(), "/status/503", rate("20")));
    assert_eq!((run.summary().requests.answered, run.summary().requests.succeeded), (20, 0));
    assert!(!kinds(&run).contains(&FlawKind::NothingAnswered), "{:?}", run.flaws());
}
