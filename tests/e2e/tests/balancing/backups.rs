//! Tests of backups and priorities without health checks.

use weir_e2e::{Weir, get};
use weir_origin::{Origin, OriginHandle};
use weir_testkit::{PATIENCE, RawClient, RawServer, RefusingPort, wait_until};

use crate::{origin, who};

/// Returns a config with two servers that refuse connections, and with `spare`, which has these keys.
fn config(dead: &[&RefusingPort], spare: &OriginHandle, keys: &str, pool: &str) -> String {
    let dead: String = dead.iter().map(|port| format!("\"{}\", ", port.addr())).collect();
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{dead}\
         {{ name = \"spare\", address = \"{}\", {keys} }}]\n{pool}\n",
        spare.addr()
    )
}

#[test]
fn a_request_that_all_primaries_refuse_is_answered_by_the_next_tier() {
    for keys in ["backup = true", "priority = 1", "priority = 1, backup = true"] {
        let spare = origin("spare");
        let (one, other) = (RefusingPort::new(), RefusingPort::new());
        // No server is ever ejected here.
        let weir = Weir::start(&config(
            &[&one, &other],
            &spare,
            keys,
            "eject = false\nretry = { min-per-second = 1000 }",
        ));
        for number in 0..20 {
            assert_eq!(who(&weir).as_deref(), Some("spare"), "{keys}: request {number}");
        }
    }
}

#[test]
fn the_last_primary_is_ejected_where_a_backup_can_take_over_and_returns_when_it_answers() {
    let spare = origin("spare");
    let dead = RefusingPort::new();
    let addr = dead.addr();
    let eject = "retry = false\neject = { failures = 2, time = \"300ms\", max-time = \"300ms\" }";
    let mut weir = Weir::start(&config(&[&dead], &spare, "backup = true", eject));
    assert_eq!(who(&weir), None, "nothing is known of it yet, and nothing is tried again");
    wait_until("the backup serves", PATIENCE, || who(&weir).as_deref() == Some("spare"));
    let line = weir.wait_for_log("2 failures in a row");
    assert!(line.ends_with("no server left, 1 backup takes over"), "{line}");
    drop(dead);
    let back = Origin::builder().name("back").bind(addr).start().unwrap();
    wait_until("the primary serves again", PATIENCE, || who(&weir).as_deref() == Some("back"));
    wait_until("it is fully back", PATIENCE, || {
        who(&weir);
        weir.log().iter().any(|line| line.contains("back from ejection"))
    });
    assert!((0..20).all(|_| who(&weir).as_deref() == Some("back")), "the backup waits again");
    drop(back);
}

#[test]
fn the_last_server_of_a_priority_is_ejected_where_the_next_can_take_over() {
    let spare = origin("spare");
    let (one, other) = (RefusingPort::new(), RefusingPort::new());
    let more = "retry = false\neject = { failures = 2, time = \"5m\" }";
    let weir = Weir::start(&config(&[&one, &other], &spare, "priority = 1", more));
    wait_until("the others are out", PATIENCE, || (0..10).all(|_| who(&weir).as_deref() == Some("spare")));
}

#[test]
fn a_primary_that_hangs_when_it_returns_does_not_hold_up_the_clients_of_the_backup() {
    let spare = origin("spare");
    let hangs = RawServer::start(|peer| {
        while peer.request().is_ok() {
            peer.hold();
        }
        Ok(())
    });
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nretry = false\nservers = [\"{}\", \
         {{ name = \"spare\", address = \"{}\", backup = true }}]\ntimeouts = {{ response = \"100ms\", queue = \"10s\" }}\n\
         eject = {{ failures = 1, time = \"200ms\", half-open-requests = 1 }}\n",
        hangs.addr(),
        spare.addr()
    );
    let mut weir = Weir::start(&config);
    wait_until("the backup serves", PATIENCE, || who(&weir).as_deref() == Some("spare"));
    weir.wait_for_log("half open after its ejection");
    // One of the requests may be the probe of the ejected server. The others do not wait for its result.
    let served = (0..10).filter(|_| who(&weir).as_deref() == Some("spare")).count();
    assert!(served >= 5, "{served} of 10");
}

#[test]
fn a_slow_primary_is_no_reason_to_use_a_backup() {
    let spare = origin("spare");
    let slow = origin("slow");
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nhedge = {{ delay = \"10ms\" }}\nservers = [\"{}\", \
         {{ name = \"spare\", address = \"{}\", backup = true }}]\n",
        slow.addr(),
        spare.addr()
    );
    let weir = Weir::start(&config);
    for _ in 0..3 {
        assert_eq!(weir.client().exchange(get("/delay/100")).status, 200);
    }
    assert_eq!(spare.requests(), 0);
}

#[test]
fn a_tcp_connection_that_all_primaries_refuse_goes_to_the_backup() {
    let spare = RawServer::start(|peer| peer.send("spare"));
    let (one, other) = (RefusingPort::new(), RefusingPort::new());
    let weir = Weir::start(&format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\n\n[pool.db]\nservers = [\"{}\", \"{}\", \
         {{ address = \"{}\", backup = true }}]\neject = false\nretry = {{ min-per-second = 1000 }}\n",
        one.addr(),
        other.addr(),
        spare.addr()
    ));
    for _ in 0..5 {
        let mut client = RawClient::connect(weir.addr("db"));
        assert_eq!(client.read_exact(5), b"spare");
    }
}
