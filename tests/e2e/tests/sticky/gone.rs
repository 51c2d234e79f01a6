//! Tests of sticky clients whose server does not take requests as usual.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawServer, wait_until};

use crate::{ask, config, config_of, new_client, server, set, who};

const STICKY: &str = "sticky = { cookie = \"SRV\" }\neject = false";

fn name(server: &str) -> &'static str {
    if server == "a" { "w0" } else { "w1" }
}

#[test]
fn a_draining_server_keeps_its_clients_and_gets_no_new_ones() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = Weir::start(&config(&[&a, &b], STICKY));
    let (cookie, mine) = new_client(&weir, "SRV");
    for change in [
        json!({"server-state": {"pool": "web", "server": name(&mine), "state": "drain"}}),
        json!({"reset": {"pool": "web"}}),
        json!({"server-weight": {"pool": "web", "server": name(&mine), "weight": 0}}),
    ] {
        weir.obey(&change);
        for _ in 0..4 {
            assert_eq!(who(&weir, &cookie), mine, "{change}");
            if change.get("reset").is_none() {
                assert_ne!(who(&weir, ""), mine, "{change}");
            }
        }
    }
}

#[test]
fn a_client_whose_server_is_in_maintenance_gets_another_and_stays_there() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = Weir::start(&config(&[&a, &b], STICKY));
    let (cookie, mine) = new_client(&weir, "SRV");
    weir.obey(&json!({"server-state": {"pool": "web", "server": name(&mine), "state": "maintenance"}}));
    let response = ask(&weir, "/", &cookie);
    assert_ne!(response.text(), mine);
    let cookie = format!("Cookie: SRV={}\r\n", set(&response, "SRV").expect("a new cookie"));
    weir.obey(&json!({"server-state": {"pool": "web", "server": name(&mine), "state": "ready"}}));
    for _ in 0..4 {
        assert_eq!(who(&weir, &cookie), response.text());
    }
    assert_eq!(weir.metrics().get("weir_pool_sticky_redispatches_total", &["pool=\"web\""]), 1.0);
}

#[test]
fn a_client_whose_server_was_killed_gets_another_with_the_same_request() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = Weir::start(&config(&[&a, &b], STICKY));
    let (cookie, mine) = new_client(&weir, "SRV");
    let (killed, left) = if mine == "a" { (a, b) } else { (b, a) };
    killed.kill();
    let response = ask(&weir, "/", &cookie);
    assert_eq!(response.status, 200);
    assert_ne!(response.text(), mine);
    let cookie = format!("Cookie: SRV={}\r\n", set(&response, "SRV").expect("a new cookie"));
    assert_eq!(who(&weir, &cookie), response.text());
    drop(left);
}

#[test]
fn where_the_rule_says_so_no_other_server_gets_the_request() {
    let (a, b) = (server("a", ""), server("b", ""));
    let keys = "sticky = { cookie = \"SRV\", when-gone = \"fail\" }\neject = false";
    let weir = Weir::start(&config(&[&a, &b], keys));
    let (cookie, mine) = new_client(&weir, "SRV");
    weir.obey(&json!({"server-state": {"pool": "web", "server": name(&mine), "state": "maintenance"}}));
    let response = ask(&weir, "/", &cookie);
    assert_eq!((response.status, set(&response, "SRV")), (503, None));
    weir.obey(&json!({"server-state": {"pool": "web", "server": name(&mine), "state": "ready"}}));
    assert_eq!(who(&weir, &cookie), mine);
    let (killed, left) = if mine == "a" { (a, b) } else { (b, a) };
    killed.kill();
    assert_eq!(ask(&weir, "/", &cookie).status, 502);
    assert_ne!(who(&weir, ""), mine, "others are served");
    drop(left);
}

/// Starts a server that responds to /hang only after `go` is set.
fn slow(name: &'static str, go: &Arc<AtomicBool>) -> RawServer {
    let go = Arc::clone(go);
    RawServer::responding(move |request| {
        if request.request_line().contains("/hang") {
            wait_until("it is let go", PATIENCE, || go.load(Ordering::SeqCst));
        }
        format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{name}").into_bytes()
    })
}

fn limited(go: &Arc<AtomicBool>, when_busy: &str) -> (Vec<RawServer>, String) {
    let servers = vec![slow("a", go), slow("b", go)];
    let keys = format!(
        "sticky = {{ cookie = \"SRV\", when-busy = \"{when_busy}\" }}\ntimeouts = {{ queue = \"20s\" }}"
    );
    let text = config_of(&servers.iter().collect::<Vec<_>>(), ", max-connections = 1", &keys);
    (servers, text)
}

#[test]
fn a_request_waits_for_its_server_while_others_have_room() {
    let go = Arc::new(AtomicBool::new(false));
    let (_servers, text) = limited(&go, "wait");
    let weir = Weir::start(&text);
    let (cookie, mine) = new_client(&weir, "SRV");
    let with = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n{cookie}\r\n");
    let mut hanging = weir.client();
    hanging.send(with("/hang"));
    let active = || weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]);
    wait_until("it is with its server", PATIENCE, || active() == 1.0);
    let mut waiting = weir.client();
    waiting.send(with("/"));
    wait_until("it waits", PATIENCE, || {
        weir.metrics().get("weir_pool_queue_length", &["pool=\"web\""]) == 1.0
    });
    assert_ne!(weir.client().exchange(get("/")).text(), mine, "others are not held up");
    go.store(true, Ordering::SeqCst);
    assert_eq!(hanging.response().text(), mine);
    assert_eq!(waiting.response().text(), mine);
    wait_until("nobody waits", PATIENCE, || {
        weir.metrics().get("weir_pool_queue_length", &["pool=\"web\""]) == 0.0
    });
}

#[test]
fn a_request_goes_elsewhere_when_its_server_is_full_if_the_rule_says_so() {
    let go = Arc::new(AtomicBool::new(false));
    let (_servers, text) = limited(&go, "redispatch");
    let weir = Weir::start(&text);
    let (cookie, mine) = new_client(&weir, "SRV");
    let mut hanging = weir.client();
    hanging.send(format!("GET /hang HTTP/1.1\r\nHost: a\r\n{cookie}\r\n"));
    let active = || weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]);
    wait_until("it is with its server", PATIENCE, || active() == 1.0);
    let response = ask(&weir, "/", &cookie);
    assert_ne!(response.text(), mine);
    assert!(set(&response, "SRV").is_some());
    go.store(true, Ordering::SeqCst);
    assert_eq!(hanging.response().text(), mine);
}

#[test]
fn a_waiting_request_learns_that_its_server_has_gone() {
    let go = Arc::new(AtomicBool::new(false));
    let (_servers, text) = limited(&go, "wait");
    let weir = Weir::start(&text);
    let (cookie, mine) = new_client(&weir, "SRV");
    let with = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\n{cookie}\r\n");
    let mut hanging = weir.client();
    hanging.send(with("/hang"));
    let active = || weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]);
    wait_until("it is with its server", PATIENCE, || active() == 1.0);
    let mut waiting = weir.client();
    waiting.send(with("/"));
    wait_until("it waits", PATIENCE, || {
        weir.metrics().get("weir_pool_queue_length", &["pool=\"web\""]) == 1.0
    });
    weir.obey(&json!({"server-state": {"pool": "web", "server": name(&mine), "state": "maintenance"}}));
    assert_ne!(waiting.response().text(), mine);
    go.store(true, Ordering::SeqCst);
    assert_eq!(hanging.response().text(), mine);
}
