//! Tests how checks change the state of servers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use weir_control::{CheckCode, Health};
use weir_testkit::{RawServer, RefusingPort};

use crate::control::tests::{Rig, eventually, plan};

const TIMING: &str = "interval = \"5ms\", fast-interval = \"5ms\", timeout = \"2s\"";

/// Returns a plan with pool `web` of checked servers `a`, `b`, ...
fn pool(check: &str, servers: &[SocketAddr]) -> weir_config::Plan {
    let server = |(index, address): (usize, &SocketAddr)| {
        format!("{{ name = \"{}\", address = \"{address}\" }}", char::from(b'a' + index as u8))
    };
    let servers: Vec<_> = servers.iter().enumerate().map(server).collect();
    plan(&format!("[pool.web]\nservers = [{}]\ncheck = {{ {check}, {TIMING} }}", servers.join(", ")))
}

/// Starts a server that answers with the current `status`. Returns it with a counter of its requests.
fn answering(status: &Arc<AtomicU16>) -> (RawServer, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = {
        let (status, asked) = (Arc::clone(status), Arc::clone(&asked));
        RawServer::responding(move |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            format!("HTTP/1.1 {} x\r\nContent-Length: 0\r\n\r\n", status.load(Ordering::SeqCst)).into_bytes()
        })
    };
    (server, asked)
}

#[tokio::test]
async fn a_server_goes_down_after_as_many_failures_as_it_takes_and_up_after_as_many_successes() {
    let status = Arc::new(AtomicU16::new(200));
    let (server, _) = answering(&status);
    let steady = RawServer::answering("fine");
    let plan = pool("http = \"GET /\", fall = 3, rise = 2", &[server.addr(), steady.addr()]);
    let rig = Rig::running(plan);
    let passed = |server: &str| rig.shown(server).check.is_some_and(|check| check.code.passed());
    eventually("the first checks", || passed("a") && passed("b")).await;
    assert_eq!(rig.rotation(), ["a", "b"]);

    status.store(500, Ordering::SeqCst);
    eventually("a leaves", || rig.rotation() == ["b"]).await;
    let shown = rig.shown("a");
    assert!(shown.check_failures >= 3 && shown.times_down == 1 && shown.effective_weight == 0);
    let check = shown.check.unwrap();
    assert_eq!(
        (check.code, check.status, check.text.as_str()),
        (CheckCode::L7Unexpected, Some(500), "status 500 x")
    );

    status.store(200, Ordering::SeqCst);
    eventually("a returns", || rig.rotation() == ["a", "b"]).await;
    let lines = rig.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let label = format!("pool web, server a ({})", server.addr());
    assert_eq!(lines[0], format!("{label}: down: check L7STS status 500 x; 1 of 2 servers left"));
    assert!(lines[1].starts_with(&format!("{label}: up again after 0.")), "{}", lines[1]);
    assert!(lines[1].ends_with(" s; 2 of 2 servers left"), "{}", lines[1]);
}

#[tokio::test]
async fn a_server_that_may_fail_three_times_is_not_down_after_two() {
    // Fails two of every three requests.
    let asked = Arc::new(AtomicUsize::new(0));
    let server = {
        let asked = Arc::clone(&asked);
        RawServer::responding(move |_| {
            let status = if asked.fetch_add(1, Ordering::SeqCst).is_multiple_of(3) { 200 } else { 500 };
            format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n").into_bytes()
        })
    };
    let rig = Rig::running(pool("http = \"GET /\", fall = 3, rise = 1", &[server.addr()]));
    eventually("many checks", || asked.load(Ordering::SeqCst) > 30).await;
    assert!(rig.lines().is_empty(), "{:?}", rig.lines());
    assert!(rig.shown("a").check_failures > 10);
}

#[tokio::test]
async fn a_server_that_was_killed_leaves_and_comes_back() {
    let server = RawServer::answering("x");
    let address = server.addr();
    let rig = Rig::running(pool("tcp = true, fall = 2, rise = 2", &[address]));
    eventually("it is up", || rig.shown("a").health == Health::Up).await;
    server.kill();
    eventually("it is gone", || rig.rotation().is_empty()).await;
    assert_eq!(
        rig.lines(),
        [format!(
            "pool web, server a ({address}): down: check L4CON connect: connection refused; no server left"
        )]
    );
    let _again = RawServer::start_on(address, |peer| {
        peer.hold();
        Ok(())
    });
    eventually("it is back", || rig.rotation() == ["a"]).await;
}

#[tokio::test]
async fn a_server_that_is_down_at_first_waits_for_its_first_success() {
    let status = Arc::new(AtomicU16::new(500));
    let (server, asked) = answering(&status);
    let rig = Rig::running(pool("http = \"GET /\", initial = \"down\", rise = 5", &[server.addr()]));
    assert!(rig.rotation().is_empty());
    assert_eq!(rig.shown("a").check.unwrap().code, CheckCode::Initializing);
    eventually("some checks", || asked.load(Ordering::SeqCst) > 3).await;
    assert!(rig.rotation().is_empty());
    status.store(200, Ordering::SeqCst);
    eventually("it is in", || rig.rotation() == ["a"]).await;
}

#[tokio::test]
async fn in_maintenance_nobody_looks_and_in_drain_somebody_does() {
    let status = Arc::new(AtomicU16::new(200));
    let ((server, asked), (other, clock)) = (answering(&status), answering(&status));
    let rig = Rig::running(pool("http = \"GET /\"", &[server.addr(), other.addr()]));
    eventually("a check", || asked.load(Ordering::SeqCst) > 0).await;
    let state =
        |state: &str| format!(r#"{{"server-state": {{"pool": "web", "server": "a", "state": "{state}"}}}}"#);
    rig.done(&state("drain")).await;
    let before = asked.load(Ordering::SeqCst);
    eventually("checks in drain", || asked.load(Ordering::SeqCst) > before + 3).await;

    rig.done(&state("maintenance")).await;
    eventually("the last check has ended", || server.connections_open() == 0).await;
    let (before, clock_before) = (asked.load(Ordering::SeqCst), clock.load(Ordering::SeqCst));
    eventually("many checks of the other", || clock.load(Ordering::SeqCst) > clock_before + 10).await;
    assert_eq!(asked.load(Ordering::SeqCst), before);

    rig.done(&state("ready")).await;
    eventually("checks again", || asked.load(Ordering::SeqCst) > before).await;
    assert_eq!(rig.rotation(), ["a", "b"]);
}

#[tokio::test]
async fn a_moved_server_is_checked_at_its_new_address_and_a_removed_one_no_more() {
    let (old, new, other) = (RawServer::silent(), RawServer::silent(), RawServer::silent());
    let rig = Rig::running(pool("tcp = true", &[old.addr(), other.addr()]));
    eventually("the old place is looked at", || old.connections() > 0).await;
    let address = new.addr();
    rig.done(&format!(r#"{{"server-address": {{"pool": "web", "server": "a", "address": "{address}"}}}}"#))
        .await;
    eventually("the new place is looked at", || new.connections() > 0).await;
    let (old_before, clock_before) = (old.connections(), other.connections());
    eventually("many checks of the other", || other.connections() > clock_before + 10).await;
    // A busy machine may count connections late.
    assert!(old.connections() <= old_before + 5, "{} after {old_before}", old.connections());

    rig.done(r#"{"remove-server": {"pool": "web", "server": "a", "force": true}}"#).await;
    eventually("the last check has ended", || new.connections_open() == 0).await;
    let (before, clock_before) = (new.connections(), other.connections());
    eventually("many checks of the other", || other.connections() > clock_before + 10).await;
    assert!(new.connections() <= before + 5, "{} after {before}", new.connections());
}

#[tokio::test]
async fn a_reload_keeps_what_checks_know_and_goes_by_the_new_rules() {
    let refusing = RefusingPort::new();
    let rig = Rig::running(pool("tcp = true, fall = 1", &[refusing.addr()]));
    eventually("it is down", || rig.rotation().is_empty()).await;
    rig.reload(pool("tcp = true, fall = 2, rise = 3", &[refusing.addr()])).await;
    assert!(rig.rotation().is_empty(), "still down");
    assert_eq!(rig.shown("a").times_down, 1);
    let failures = rig.shown("a").check_failures;
    eventually("checks go on", || rig.shown("a").check_failures > failures).await;
    rig.reload(plan(&format!("[pool.web]\nservers = {{ name = \"a\", address = \"{}\" }}", refusing.addr())))
        .await;
    assert_eq!((rig.rotation(), rig.shown("a").health), (vec!["a".to_owned()], Health::NoCheck));
    rig.reload(pool("tcp = true, fall = 1", &[refusing.addr()])).await;
    eventually("it is checked again, and down", || rig.rotation().is_empty()).await;
}
