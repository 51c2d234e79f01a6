//! Tests of the closed loop.

use std::time::Duration;

use weir_lab::Mode;
use weir_origin::Origin;

use crate::{closed, load, run};

#[test]
fn so_many_connections_share_so_many_requests() {
    let origin = Origin::builder().start().unwrap();
    for threads in [1, 2] {
        let (before, connected) = (origin.requests(), origin.connections());
        let mut load = load(origin.addr(), "/bytes/5000", closed(7));
        load.requests_max = Some(200);
        load.threads = threads;
        let run = run(load);
        assert_eq!(origin.requests() - before, 200);
        assert_eq!(origin.connections() - connected, 7);
        let summary = run.summary();
        assert_eq!((summary.requests.succeeded, summary.connect_ms.count), (200, 7));
        assert_eq!(summary.bytes.bodies_in, 1_000_000);
    }
}

#[test]
fn without_keep_alive_each_request_has_its_connection() {
    let origin = Origin::builder().start().unwrap();
    let mut load = load(origin.addr(), "/bytes/1", closed(3));
    load.requests_max = Some(30);
    load.keep_alive = false;
    let summary = run(load).summary();
    assert_eq!((summary.requests.succeeded, summary.connect_ms.count), (30, 30));
    assert_eq!(origin.connections(), 30);
}

#[test]
fn a_time_ends_it_and_what_is_under_way_is_answered() {
    let origin = Origin::builder().start().unwrap();
    let mut load = load(origin.addr(), "/delay/30", closed(4));
    load.duration = Some(Duration::from_millis(200));
    let summary = run(load).summary();
    assert_eq!(summary.requests.sent, summary.requests.succeeded);
    assert_eq!(origin.requests(), summary.requests.sent);
    assert!(summary.requests.sent >= 4);
}

#[test]
fn who_thinks_before_the_next_request_asks_less_often() {
    let origin = Origin::builder().start().unwrap();
    let mut load = load(origin.addr(), "/bytes/1", Mode::Closed { connections: 2, pause_s: 0.05 });
    load.duration = Some(Duration::from_millis(300));
    let summary = run(load).summary();
    // At most one at the start and one after each pause.
    assert!((2..=14).contains(&summary.requests.sent), "{}", summary.requests.sent);
}
