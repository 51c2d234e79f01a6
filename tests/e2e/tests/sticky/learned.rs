//! Tests of sessions that servers assign in a response header.

use weir_e2e::Weir;

use crate::{ask, config, server, who};

fn entries(weir: &Weir) -> f64 {
    weir.metrics().get("weir_pool_sticky_entries", &["pool=\"web\""])
}

#[test]
fn a_session_of_a_response_header_is_found_in_the_same_header_of_requests() {
    let (a, b) = (server("a", "x-session: of-a\r\n"), server("b", "X-SESSION: of-b\r\n"));
    let weir = Weir::start(&config(&[&a, &b], "sticky = { learn = { response-header = \"X-Session\" } }"));
    for _ in 0..2 {
        let response = ask(&weir, "/login", "");
        let given = format!("of-{}", response.text());
        assert_eq!(response.header("x-session"), Some(given.as_str()), "the client gets it, too");
    }
    assert_eq!(entries(&weir), 2.0);
    for _ in 0..4 {
        assert_eq!(who(&weir, "X-Session: of-a\r\n"), "a");
        assert_eq!(who(&weir, "x-session:of-b\r\n"), "b");
    }
    let strangers: Vec<_> = (0..4).map(|_| who(&weir, "X-Other: of-a\r\n")).collect();
    assert!(strangers.contains(&"a".to_owned()) && strangers.contains(&"b".to_owned()), "{strangers:?}");
    assert_eq!(entries(&weir), 2.0, "nothing else is remembered");
}

#[test]
fn a_session_of_a_response_header_may_come_back_in_another_header_or_in_the_url() {
    let (a, b) = (server("a", "X-New-Session: of-a\r\n"), server("b", "X-New-Session: of-b\r\n"));
    let keys = "sticky = { learn = { response-header = \"X-New-Session\", request-header = \"X-Session\", url-param = \"s\" } }";
    let weir = Weir::start(&config(&[&a, &b], keys));
    for _ in 0..2 {
        ask(&weir, "/login", "");
    }
    for _ in 0..3 {
        assert_eq!(who(&weir, "X-Session: of-b\r\n"), "b");
        assert_eq!(ask(&weir, "/x?s=of-a", "").text(), "a");
        assert_eq!(ask(&weir, "/x?s=of-a", "X-Session: of-b\r\n").text(), "b", "the header comes first");
    }
    let unlike: Vec<_> = (0..4).map(|_| who(&weir, "X-New-Session: of-a\r\n")).collect();
    assert!(unlike.contains(&"b".to_owned()), "only in the header that was said: {unlike:?}");
}

#[test]
fn a_session_of_a_cookie_may_come_back_in_a_header() {
    let (a, b) = (server("a", "Set-Cookie: SID=of-a\r\n"), server("b", "Set-Cookie: SID=of-b\r\n"));
    let keys = "sticky = { learn = { response-cookie = \"SID\", request-header = \"X-Session\" } }";
    let weir = Weir::start(&config(&[&a, &b], keys));
    for _ in 0..2 {
        ask(&weir, "/login", "");
    }
    for _ in 0..3 {
        assert_eq!(who(&weir, "X-Session: of-b\r\n"), "b");
        assert_eq!(who(&weir, "X-Session: of-a\r\n"), "a");
    }
    let unlike: Vec<_> = (0..4).map(|_| who(&weir, "Cookie: SID=of-a\r\n")).collect();
    assert!(unlike.contains(&"b".to_owned()), "{unlike:?}");
}
