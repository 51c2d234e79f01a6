//! Tests of sessions.

use weir_lab::{Arrivals, FlawKind, Load, Mode};
use weir_origin::Origin;
use weir_testkit::RawServer;

use crate::{kinds, load, phases, run};

fn sessions(calls: u32, pause_s: f64) -> Mode {
    Mode::Sessions { phases: phases("20"), arrivals: Arrivals::Even, calls, pause_s }
}

#[test]
fn each_session_is_a_connection_with_its_calls() {
    let origin = Origin::builder().start().unwrap();
    let run = run(load(origin.addr(), "/bytes/44", sessions(10, 0.005)));
    assert_eq!((origin.connections(), origin.requests()), (20, 200));
    let facts = run.facts.as_ref().unwrap().sessions.unwrap();
    assert_eq!((facts.complete, facts.replies_mean), (20, 10.0));
    // Nine pauses of 5 ms.
    assert!(facts.min_ms >= 45.0, "{facts:?}");
    assert_eq!(run.summary().connect_ms.count, 20);
}

#[test]
fn connections_that_are_due_at_once_are_one_burst() {
    let origin = Origin::builder().start().unwrap();
    // All sessions start within a third of a millisecond, which is less than the connections take.
    let mode = Mode::Sessions { phases: phases("1000000"), arrivals: Arrivals::Even, calls: 1, pause_s: 0.0 };
    let many = run(Load { requests_max: Some(300), ..load(origin.addr(), "/bytes/1", mode) });
    let burst = many.facts.unwrap().connect_burst_max;
    assert!((150..=300).contains(&burst), "{burst}");
}

#[test]
fn calls_that_a_server_did_not_wait_for_are_missed() {
    let server = RawServer::responding(|_| {
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec()
    });
    let run = run(load(server.addr(), "/", sessions(4, 0.0)));
    let facts = run.facts.clone().unwrap();
    assert_eq!((facts.due, facts.unsent), (80, 60));
    assert!(kinds(&run).contains(&FlawKind::Unsent), "{:?}", run.flaws());
}
