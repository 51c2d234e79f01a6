//! Tests that the circuit breaker stops requests to a failing pool for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawClient, RawServer, RefusingPort, wait_until};

/// Server whose status the test sets.
struct Moody {
    server: RawServer,
    status: Arc<AtomicU16>,
}

impl Moody {
    fn new() -> Self {
        let status = Arc::new(AtomicU16::new(503));
        let shared = Arc::clone(&status);
        let server = RawServer::responding(move |_| {
            let status = shared.load(Ordering::SeqCst);
            format!("HTTP/1.1 {status} Said So\r\nContent-Length: 0\r\nX-From: server\r\n\r\n").into_bytes()
        });
        Self { server, status }
    }

    fn say(&self, status: u16) {
        self.status.store(status, Ordering::SeqCst);
    }
}

fn config(server: impl std::fmt::Display, breaker: &str, mode: &str) -> String {
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n{mode}\n\n[pool.web]\nservers = \"{server}\"\n\
         eject = false\nretry = false\nbreaker = {{ min-requests = 5, half-open-requests = 2{breaker} }}\n"
    )
}

fn breaker(weir: &Weir) -> f64 {
    weir.metrics().get("weir_pool_breaker", &["pool=\"web\""])
}

/// Sends a request and returns true if the server answered it, false if the breaker did.
fn is_asked(weir: &Weir) -> bool {
    let response = weir.client().exchange(get("/"));
    let is_asked = response.header("x-from").is_some();
    if !is_asked {
        assert_eq!(response.status, 503);
        assert!(response.header("retry-after").is_some());
    }
    is_asked
}

#[test]
fn it_opens_when_requests_fail_and_answers_at_once() {
    let server = Moody::new();
    let mut weir = Weir::start(&config(server.server.addr(), ", open = \"1h\"", ""));
    assert_eq!(breaker(&weir), 0.0);
    let asked = (0..20).filter(|_| is_asked(&weir)).count();
    // The number depends on how many workers count the failures.
    assert!((5..=6).contains(&asked), "{asked}");
    assert_eq!(breaker(&weir), 2.0);
    weir.wait_for_log("pool web: breaker open for 1h");
    let shown = weir.ctl(&["show", "pools"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("breaker open"), "{shown:?}");
    let response = weir.client().exchange(get("/"));
    let retry_after: u32 = response.header("retry-after").unwrap().parse().unwrap();
    assert!((3_000..=3_600).contains(&retry_after), "{retry_after}");
    let refused = weir.metrics().get("weir_pool_breaker_refused_total", &["pool=\"web\""]);
    assert_eq!(refused, (20 - asked) as f64 + 1.0);
}

#[test]
fn it_closes_when_its_probes_succeed_and_stays_open_while_they_fail() {
    let server = Moody::new();
    let mut weir = Weir::start(&config(server.server.addr(), ", open = \"100ms\"", ""));
    wait_until("it opens", PATIENCE, || !is_asked(&weir));
    // The breaker goes on sending probes, which fail.
    let opened = |weir: &Weir| weir.metrics().get("weir_pool_breaker_opened_total", &["pool=\"web\""]);
    wait_until("a probe fails", PATIENCE, || {
        is_asked(&weir);
        opened(&weir) >= 2.0
    });
    server.say(200);
    wait_until("it closes", PATIENCE, || {
        is_asked(&weir);
        breaker(&weir) == 0.0
    });
    weir.wait_for_log("pool web: breaker closed");
    assert!((0..20).all(|_| is_asked(&weir)));
}

#[test]
fn what_servers_say_on_purpose_does_not_open_it() {
    let server = Moody::new();
    let weir = Weir::start(&config(server.server.addr(), "", ""));
    for status in [500, 404, 429, 501] {
        server.say(status);
        assert!((0..10).all(|_| is_asked(&weir)));
    }
    assert_eq!(breaker(&weir), 0.0);
}

#[test]
fn a_breaker_that_a_reload_takes_away_refuses_nobody_any_more() {
    let server = Moody::new();
    let config = config(server.server.addr(), ", open = \"1h\"", "");
    let mut weir = Weir::start(&config);
    wait_until("it opens", PATIENCE, || !is_asked(&weir));
    let fixed = config.replace("127.0.0.1:0", &weir.addr("web").to_string());
    // The breaker keeps its state across a reload that keeps its rule.
    weir.reload(&fixed.replace("retry = false", "retry = { attempts = 1 }"));
    assert!(!is_asked(&weir));
    let (before, _) = fixed.split_once("breaker").unwrap();
    weir.reload(before);
    assert!((0..10).all(|_| is_asked(&weir)));
}

#[test]
fn in_tcp_mode_connections_count_that_cannot_be_made() {
    let refusing = RefusingPort::new();
    let weir = Weir::start(&config(refusing.addr(), ", open = \"1h\"", "mode = \"tcp\""));
    wait_until("it opens", PATIENCE, || {
        // The reset may arrive before the client sees that the connection was established.
        let _ = RawClient::try_connect(weir.addr("web")).map(|mut client| client.ending());
        breaker(&weir) == 2.0
    });
}
