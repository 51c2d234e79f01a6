//! Tests of the lifetime of sticky bindings, and of IPv6 prefixes as clients.

use weir_e2e::Weir;
use weir_testkit::{PATIENCE, wait_until};

use crate::{ask, config, new_client, server, set, who};

fn metric(weir: &Weir, name: &str) -> f64 {
    weir.metrics().get(name, &["pool=\"web\""])
}

#[test]
fn who_was_not_seen_for_the_time_is_forgotten_and_who_comes_meanwhile_is_not() {
    let (a, b) = (server("a", ""), server("b", ""));
    let keys = "sticky = { expression = \"headers['x-user']\", size = 100, expire = \"2s\" }";
    let weir = Weir::start(&config(&[&a, &b], keys));
    let mine = who(&weir, "X-User: eve\r\n");
    who(&weir, "X-User: adam\r\n");
    assert_eq!(metric(&weir, "weir_pool_sticky_entries"), 2.0);
    wait_until("adam is forgotten", PATIENCE, || {
        assert_eq!(who(&weir, "X-User: eve\r\n"), mine);
        metric(&weir, "weir_pool_sticky_entries") == 1.0
    });
    assert_eq!(metric(&weir, "weir_pool_sticky_expired_total"), 1.0);
    let misses = metric(&weir, "weir_pool_sticky_misses_total");
    assert_eq!(misses, 2.0, "each was new once");
    who(&weir, "X-User: adam\r\n");
    assert_eq!(metric(&weir, "weir_pool_sticky_misses_total"), 3.0, "adam is new again");
}

#[test]
fn a_cookie_that_is_used_is_renewed_and_one_that_is_not_stops_counting() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = Weir::start(&config(&[&a, &b], "sticky = { cookie = \"SRV\", max-idle = \"3s\" }"));
    let (left, its_server) = new_client(&weir, "SRV");
    let (mut used, mine) = new_client(&weir, "SRV");
    assert_ne!(its_server, mine);
    let mut renewals = 0;
    wait_until("the cookie as it was first set counts no longer", PATIENCE, || {
        let response = ask(&weir, "/", &used);
        assert_eq!(response.text(), mine, "the client that comes again and again stays");
        if let Some(value) = set(&response, "SRV") {
            (used, renewals) = (format!("Cookie: SRV={value}\r\n"), renewals + 1);
        }
        // Does not renew this client's cookie: it keeps the old one.
        who(&weir, &left) != its_server
    });
    assert!(renewals >= 2, "{renewals}");
    assert_eq!(ask(&weir, "/", &used).text(), mine);
}

#[test]
fn a_cookie_stops_counting_at_the_end_of_its_life_though_it_is_used() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = Weir::start(&config(&[&a, &b], "sticky = { cookie = \"SRV\", max-life = \"2s\" }"));
    let (mut cookie, mine) = new_client(&weir, "SRV");
    wait_until("its life is over", PATIENCE, || {
        let response = ask(&weir, "/", &cookie);
        let renewed = set(&response, "SRV");
        if let Some(value) = &renewed {
            cookie = format!("Cookie: SRV={value}\r\n");
        }
        // The cookie is set again only when the old one is no longer valid.
        assert!(renewed.is_some() || response.text() == mine);
        renewed.is_some()
    });
}

#[test]
fn devices_of_one_ipv6_network_are_one_client() {
    let (a, b) = (server("a", ""), server("b", ""));
    let text = config(&[&a, &b], "sticky = { source = { ipv6-prefix = 64 } }");
    // The clients are behind a trusted proxy that names them.
    let weir = Weir::start(
        &text.replace("\n\n[pool.web]", "\nforwarded = { trusted = \"127.0.0.0/8\" }\n\n[pool.web]"),
    );
    let from = |address: &str| who(&weir, &format!("X-Forwarded-For: {address}\r\n"));
    let mine = from("2001:db8:0:7::1");
    let neighbour = from("2001:db8:0:8::1");
    assert_ne!(neighbour, mine, "servers take turns for new clients");
    for device in 2..8 {
        assert_eq!(from(&format!("2001:db8:0:7:{device}::{device}")), mine);
        assert_eq!(from(&format!("2001:db8:0:8::{device}")), neighbour);
    }
    assert_eq!(metric(&weir, "weir_pool_sticky_entries"), 2.0);
}
