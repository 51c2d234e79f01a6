//! Tests of health checks and ejection.

use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawServer, Step, wait_until};

use crate::{origin, pool, who};

const QUICK: &str =
    "check = { http = \"GET /health\", interval = \"50ms\", fast-interval = \"20ms\", rise = 2, fall = 2 }";

#[test]
fn a_server_that_fails_its_checks_gets_nothing_until_it_passes_them_again() {
    let (a, b) = (origin("a"), origin("b"));
    let weir = Weir::start(&pool(&[(&a, ""), (&b, "")], &format!("balance = \"round-robin\"\n{QUICK}")));
    wait_until("both serve", PATIENCE, || who(&weir).as_deref() == Some("a"));
    a.set_healthy(false);
    wait_until("the failing server is out", PATIENCE, || (0..6).all(|_| who(&weir).as_deref() == Some("b")));
    let before = a.requests();
    for _ in 0..20 {
        assert_eq!(who(&weir).as_deref(), Some("b"));
    }
    assert_eq!(a.requests(), before);
    a.set_healthy(true);
    wait_until("it is back", PATIENCE, || who(&weir).as_deref() == Some("a"));
}

#[test]
fn a_dead_server_is_found_out_by_its_checks_and_costs_no_request() {
    let (a, b) = (origin("a"), origin("b"));
    let weir = Weir::start(&pool(&[(&a, ""), (&b, "")], &format!("balance = \"round-robin\"\n{QUICK}")));
    for _ in 0..4 {
        assert!(who(&weir).is_some());
    }
    a.kill();
    for _ in 0..50 {
        assert_eq!(who(&weir).as_deref(), Some("b"));
    }
}

#[test]
fn when_nobody_is_left_clients_are_told_when_to_come_back() {
    let a = origin("a");
    a.set_healthy(false);
    let config = pool(&[(&a, "")], &format!("{QUICK}\nwhen-empty = {{ retry-after = \"7s\" }}"));
    let weir = Weir::start(&config);
    wait_until("the failing server is out", PATIENCE, || who(&weir).is_none());
    let mut client = weir.client();
    let response = client.exchange(get("/"));
    assert_eq!((response.status, response.header("retry-after")), (503, Some("7")));
    // A response by Weir itself does not close the client's connection.
    a.set_healthy(true);
    wait_until("it is back", PATIENCE, || who(&weir).is_some());
    assert_eq!(client.exchange(get("/")).status, 200);
}

#[test]
fn when_nobody_is_left_a_page_of_ones_own_can_be_sent() {
    let a = origin("a");
    let more = "check = { tcp = true, interval = \"50ms\", fast-interval = \"20ms\", fall = 1 }\n\
                when-empty = { respond = { status = 200, content-type = \"text/plain\", body = \"Back soon.\" } }";
    let weir = Weir::start(&pool(&[(&a, "")], more));
    assert_eq!(who(&weir).as_deref(), Some("a"));
    a.kill();
    wait_until("the page of one's own", PATIENCE, || weir.client().exchange(get("/")).text() == "Back soon.");
}

#[test]
fn a_server_that_fails_real_requests_is_ejected_for_a_while() {
    let good = origin("good");
    let broken = RawServer::script([
        Step::ReadHead,
        Step::Send(b"HTTP/1.1 503 Oops\r\nContent-Length: 0\r\n\r\n".into()),
    ]);
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"round-robin\"\nretry = false\n\
         servers = [\"{}\", \"{}\"]\neject = {{ failures = 3, time = \"5m\" }}\n",
        good.addr(),
        broken.addr()
    );
    let weir = Weir::start(&config);
    // Failures are evaluated outside the data path. Some more requests may fail until the server is ejected.
    wait_until("the broken server is out", PATIENCE, || {
        (0..10).all(|_| weir.client().exchange(get("/")).status == 200)
    });
    let failed = broken.connections();
    assert!(failed >= 3, "ejected after {failed} failures");
    for _ in 0..20 {
        assert_eq!(weir.client().exchange(get("/")).status, 200);
    }
    assert_eq!(broken.connections(), failed);
}

#[test]
fn an_ejected_server_comes_back_after_its_time() {
    let good = origin("good");
    let doomed = RawServer::script([]);
    let addr = doomed.addr();
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nbalance = \"round-robin\"\n\
         retry = {{ min-per-second = 1000 }}\nservers = [\"{}\", \"{addr}\"]\neject = {{ failures = 2, time = \"300ms\" }}\n",
        good.addr(),
    );
    let mut weir = Weir::start(&config);
    for _ in 0..20 {
        assert_eq!(who(&weir).as_deref(), Some("good"));
    }
    assert!(doomed.connections() >= 2);
    doomed.kill();
    let back = weir_origin::Origin::builder().name("back").bind(addr).start().unwrap();
    wait_until("it is tried again", PATIENCE, || who(&weir).as_deref() == Some("back"));
    weir.wait_for_log("half open after its ejection: gets 3 requests at once");
    // The server may have failed again before it was replaced, and may be ejected once more.
    wait_until("it has served enough to be trusted", PATIENCE, || {
        who(&weir);
        weir.log().iter().any(|line| line.contains("back from ejection"))
    });
    drop(back);
}

#[test]
fn not_every_server_is_ejected_however_bad_they_are() {
    let broken: Vec<RawServer> = (0..4).map(|_| RawServer::script([Step::ReadHead])).collect();
    let addrs: Vec<_> = broken.iter().map(RawServer::addr).collect();
    let weir = Weir::start(&format!(
        "{}balance = \"round-robin\"\nretry = false\neject = {{ failures = 1, time = \"5m\", max-share = \"50%\" }}\n",
        weir_e2e::web(&addrs)
    ));
    // Never 503: that would turn the errors of some requests into an outage.
    wait_until("half of them are out", PATIENCE, || {
        assert_eq!(weir.client().exchange(get("/")).status, 502);
        weir.log().iter().filter(|line| line.contains("ejected for")).count() == 2
    });
    let before: Vec<usize> = broken.iter().map(RawServer::connections).collect();
    for _ in 0..40 {
        assert_eq!(weir.client().exchange(get("/")).status, 502);
    }
    let tried = broken.iter().zip(&before).filter(|(server, before)| server.connections() > **before).count();
    assert_eq!(tried, 2, "servers that still get requests");
}

#[test]
fn a_check_looks_at_status_header_and_body() {
    let cases = [
        ("status = 204", "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        (
            "header = \"X-Ready: yes\"",
            "HTTP/1.1 200 OK\r\nx-ready: oh yes\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX-Ready: no\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            "body = \"fine\"",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nfi\r\n2\r\nne\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
        ),
    ];
    for (expect, good, bad) in cases {
        for (answer, expected) in [(good, 200), (bad, 503)] {
            let server =
                RawServer::responding(move |request| match request.request_line().contains("/check") {
                    true => answer.as_bytes().to_vec(),
                    false => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec(),
                });
            let weir = Weir::start(&format!(
                "{}check = {{ http = \"GET /check\", initial = \"{}\", interval = \"50ms\", fast-interval = \"20ms\", rise = 1, fall = 1, expect = {{ {expect} }} }}\n",
                weir_e2e::web(&[server.addr()]),
                if expected == 200 { "down" } else { "up" },
            ));
            wait_until(&format!("{expect}: {expected}"), PATIENCE, || {
                weir.client().exchange(get("/")).status == expected
            });
        }
    }
}

#[test]
fn a_check_sends_what_it_was_told_to() {
    let server = RawServer::answering("ok");
    let config = format!(
        "{}check = {{ http = \"OPTIONS /check?x\", host = \"c.example\", headers = {{ X-Probe = \"1\" }}, interval = \"50ms\" }}\n",
        weir_e2e::web(&[server.addr()])
    );
    let _weir = Weir::start(&config);
    let received = String::from_utf8(server_bytes(&server)).unwrap();
    assert!(received.starts_with("OPTIONS /check?x HTTP/1.1\r\n"), "{received}");
    assert!(
        received.contains("\r\nHost: c.example\r\n") && received.contains("\r\nX-Probe: 1\r\n"),
        "{received}"
    );
}

#[test]
fn a_check_whose_server_never_answers_fails_after_its_time() {
    let server = RawServer::silent();
    let weir = Weir::start(&format!(
        "{}check = {{ http = \"GET /\", interval = \"50ms\", timeout = \"100ms\", fall = 1 }}\n",
        weir_e2e::web(&[server.addr()])
    ));
    wait_until("the silent server is out", PATIENCE, || {
        let mut client = weir.client().timeout(std::time::Duration::from_millis(100));
        client.send(get("/"));
        client.try_response().is_ok_and(|response| response.status == 503)
    });
}

fn server_bytes(server: &RawServer) -> Vec<u8> {
    wait_until("a check", PATIENCE, || server.received(0).ends_with(b"\r\n\r\n"));
    server.received(0)
}

#[test]
fn a_check_can_go_to_a_port_of_its_own() {
    let server = RawServer::answering("served");
    let check = RawServer::answering("checked");
    let mut weir = Weir::start(&format!(
        "{}check = {{ tcp = true, port = {}, interval = \"50ms\", fast-interval = \"20ms\", rise = 1, fall = 1 }}\n",
        weir_e2e::web(&[server.addr()]),
        check.addr().port()
    ));
    wait_until("some checks", PATIENCE, || check.connections() > 2);
    assert_eq!(weir.client().exchange(get("/")).text(), "served");
    check.kill();
    wait_until("the server is out", PATIENCE, || weir.client().exchange(get("/")).status == 503);
    assert_eq!(weir.stop().code(), Some(0));
}

#[test]
fn a_tls_check_needs_a_handshake() {
    let plain = RawServer::silent();
    let weir = Weir::start(&format!(
        "{}check = {{ tls = true, interval = \"50ms\", timeout = \"200ms\", fast-interval = \"20ms\", rise = 1, fall = 1 }}\n",
        weir_e2e::web(&[plain.addr()])
    ));
    wait_until("a server that speaks no TLS is out", PATIENCE, || {
        let mut client = weir.client().timeout(std::time::Duration::from_millis(200));
        client.send(get("/"));
        client.try_response().is_ok_and(|response| response.status == 503)
    });
    let hello = (0..plain.connections()).any(|number| plain.received(number).starts_with(&[0x16, 3]));
    assert!(hello, "no ClientHello came");
}
