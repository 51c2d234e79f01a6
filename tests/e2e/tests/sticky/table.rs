//! Tests of the sticky table: by session, address or expression.

use std::net::IpAddr;

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_testkit::{RawClient, RawServer};

use crate::{ask, config, server, who};

fn entries(weir: &Weir) -> f64 {
    weir.metrics().get("weir_pool_sticky_entries", &["pool=\"web\""])
}

#[test]
fn a_session_goes_to_the_server_that_gave_it_out() {
    let (a, b) = (
        server("a", "Set-Cookie: JSESSIONID=of-a; Path=/\r\n"),
        server("b", "Set-Cookie: JSESSIONID=of-b; Path=/\r\n"),
    );
    let keys = "sticky = { learn = { response-cookie = \"JSESSIONID\", request-cookie = \"JSESSIONID\", url-param = \"jsessionid\" } }";
    let mut weir = Weir::start(&config(&[&a, &b], keys));
    for _ in 0..2 {
        ask(&weir, "/login", "");
    }
    assert_eq!(entries(&weir), 2.0);
    for _ in 0..4 {
        assert_eq!(who(&weir, "Cookie: x=1; JSESSIONID=of-a\r\n"), "a");
        assert_eq!(who(&weir, "Cookie: JSESSIONID=of-b\r\n"), "b");
        assert_eq!(ask(&weir, "/x;jsessionid=of-a?y", "").text(), "a");
        assert_eq!(ask(&weir, "/x?jsessionid=of-b", "").text(), "b");
    }
    for number in 0..20 {
        who(&weir, &format!("Cookie: JSESSIONID=made-up-{number}\r\n"));
    }
    assert_eq!(entries(&weir), 2.0, "sessions that clients make up are not remembered");

    weir.reload(&config(&[&a, &b], &format!("{keys}\nretry = false")));
    assert_eq!(entries(&weir), 2.0, "another setting has changed");
    assert_eq!(who(&weir, "Cookie: JSESSIONID=of-a\r\n"), "a");
    weir.obey(&json!({"remove-server": {"pool": "web", "server": "w0", "force": true}}));
    assert_eq!(entries(&weir), 1.0, "what the server had is forgotten with it");
    weir.reload(&config(&[&a, &b], &keys.replace("url-param", "request-header")));
    assert_eq!(entries(&weir), 0.0, "another rule begins anew");
}

#[test]
fn an_expressions_value_decides() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = Weir::start(&config(&[&a, &b], "sticky = { expression = \"headers['x-user']\", size = 3 }"));
    let mine = who(&weir, "X-User: eve\r\n");
    for _ in 0..4 {
        assert_eq!(who(&weir, "X-User: eve\r\n"), mine);
        who(&weir, "");
    }
    assert_eq!(entries(&weir), 1.0);
    for number in 0..50 {
        who(&weir, &format!("X-User: {number}\r\n"));
    }
    assert_eq!(entries(&weir), 3.0, "the table does not grow beyond its size");
    weir.obey(&json!({"clear-sticky": {"pool": "web", "key": "49"}}));
    assert_eq!(entries(&weir), 2.0);
    let cleared = weir.ctl(&["clear", "sticky", "web"]);
    let said = String::from_utf8(cleared.stdout).unwrap();
    assert_eq!(said, "no client of web has a server any more\nnote: 2 clients were forgotten\n");
    assert_eq!(entries(&weir), 0.0);
}

/// Starts a server that sends its name when a client connects.
fn greeter(name: &'static str) -> RawServer {
    RawServer::start(move |peer| peer.send(name))
}

fn greeted(weir: &Weir, source: &str) -> String {
    let source: IpAddr = source.parse().unwrap();
    let (bytes, _) = RawClient::connect_from(source, weir.addr("web")).read_to_end();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_client_of_a_tcp_listener_stays_by_its_address() {
    let (a, b) = (greeter("a"), greeter("b"));
    let text = config(&[&a, &b], "sticky = { source = { ipv4-prefix = 24 } }\neject = false");
    // With two workers, a binding made by one is known to the other.
    let text = text.replace("pool = \"web\"\n", "mode = \"tcp\"\npool = \"web\"\n");
    let weir = Weir::start(&text.replace("workers = 1", "workers = 2"));
    let mine = greeted(&weir, "127.0.1.1");
    for source in ["127.0.1.1", "127.0.1.200", "127.0.1.7"] {
        assert_eq!(greeted(&weir, source), mine, "{source}");
    }
    let others: Vec<_> = (2..32).map(|net| greeted(&weir, &format!("127.0.{net}.1"))).collect();
    assert!(others.iter().any(|name| *name != mine), "{others:?}");
    let name = if mine == "a" { "w0" } else { "w1" };
    weir.obey(&json!({"server-state": {"pool": "web", "server": name, "state": "drain"}}));
    assert_eq!(greeted(&weir, "127.0.1.1"), mine, "it drains");
    weir.obey(&json!({"server-state": {"pool": "web", "server": name, "state": "maintenance"}}));
    let moved = greeted(&weir, "127.0.1.1");
    assert_ne!(moved, mine);
    weir.obey(&json!({"server-state": {"pool": "web", "server": name, "state": "ready"}}));
    assert_eq!(greeted(&weir, "127.0.1.1"), moved, "it stays where it went");
    let shown = String::from_utf8(weir.ctl(&["show", "sticky"]).stdout).unwrap();
    assert!(shown.contains("source") && shown.contains("100k"), "{shown}");
}

#[test]
fn a_client_of_an_http_listener_stays_by_its_address() {
    let (a, b) = (server("a", ""), server("b", ""));
    let text = config(&[&a, &b], "sticky = { source = true }");
    let weir = Weir::start(&text.replace("workers = 1", "workers = 2"));
    let mine = weir.client().exchange(get("/")).text();
    for _ in 0..6 {
        assert_eq!(weir.client().exchange(get("/")).text(), mine);
    }
    let key = weir.obey(&json!({"clear-sticky": {"pool": "web", "key": "127.0.0.1"}}));
    assert_eq!(key["done"]["changed"], true, "{key}");
}
