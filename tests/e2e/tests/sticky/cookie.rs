//! Tests of the three modes in which a cookie names a server.

use weir_e2e::Weir;

use crate::{ask, config, new_client, server, set, who};

#[test]
fn a_client_with_the_inserted_cookie_stays_with_its_server() {
    let (a, b) = (server("a", ""), server("b", ""));
    let weir = Weir::start(&config(&[&a, &b], "sticky = { cookie = \"SRV\" }"));
    let (first, second) = (new_client(&weir, "SRV"), new_client(&weir, "SRV"));
    for _ in 0..6 {
        assert_eq!(who(&weir, &first.0), first.1);
        assert_eq!(who(&weir, &second.0), second.1);
    }
    let mut new: Vec<_> = (0..6).map(|_| who(&weir, "")).collect();
    new.sort();
    new.dedup();
    assert_eq!(new, ["a", "b"], "new clients go on to be balanced");
}

#[test]
fn an_inserted_cookie_is_weirs_own_and_no_server_sees_it() {
    let a = server("a", "Set-Cookie: SRV=mine\r\nSet-Cookie: own=1\r\n");
    let weir =
        Weir::start(&config(&[&a], "sticky = { cookie = \"SRV\", max-age = \"1h\", same-site = \"lax\" }"));
    let response = ask(&weir, "/login", "Cookie: x=1; SRV=forged; y=2\r\n");
    assert_eq!(response.header("x-got"), Some("x=1; y=2"));
    let lines = response.header_values("set-cookie");
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0], "own=1");
    assert!(lines[1].ends_with("; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax"), "{lines:?}");
    assert_eq!(response.header("cache-control"), Some("private"));
    let value = set(&response, "SRV").unwrap();
    let again = ask(&weir, "/", &format!("Cookie: SRV={value}\r\n"));
    assert_eq!(again.header("set-cookie"), None, "the client knows already");
    assert_eq!((again.header("cache-control"), again.header("x-got")), (None, Some("")));
}

#[test]
fn a_prefix_is_put_before_the_servers_own_value_and_taken_off_again() {
    let (a, b) = (
        server("a", "Set-Cookie: SID=secret; Path=/x\r\n"),
        server("b", "Set-Cookie: SID=secret; Path=/x\r\n"),
    );
    let weir = Weir::start(&config(
        &[&a, &b],
        "sticky = { cookie = \"SID\", mode = \"prefix\", value = \"plain\" }",
    ));
    let response = ask(&weir, "/login", "");
    let name = if response.text() == "a" { "w0" } else { "w1" };
    assert_eq!(response.header("set-cookie"), Some(format!("SID={name}~secret; Path=/x").as_str()));
    for _ in 0..4 {
        let again = ask(&weir, "/", &format!("Cookie: q=1; SID={name}~secret\r\n"));
        assert_eq!((again.text(), again.header("x-got")), (response.text(), Some("q=1; SID=secret")));
        assert_eq!(again.header("set-cookie"), None, "only the server sets it");
    }
}

#[test]
fn a_rewritten_cookie_has_weirs_value() {
    let (a, b) = (server("a", "Set-Cookie: SRV=x; Secure\r\n"), server("b", "Set-Cookie: SRV=x; Secure\r\n"));
    let weir = Weir::start(&config(
        &[&a, &b],
        "sticky = { cookie = \"SRV\", mode = \"rewrite\", value = \"plain\" }",
    ));
    let response = ask(&weir, "/login", "");
    let name = if response.text() == "a" { "w0" } else { "w1" };
    assert_eq!(response.header("set-cookie"), Some(format!("SRV={name}; Secure").as_str()));
    for _ in 0..4 {
        let again = ask(&weir, "/", &format!("Cookie: SRV={name}\r\n"));
        let got = format!("SRV={name}");
        assert_eq!((again.text(), again.header("x-got")), (response.text(), Some(got.as_str())));
    }
}

#[test]
fn counts_and_explanations_say_who_stays_where() {
    let (a, b) = (server("a", ""), server("b", ""));
    let config = config(&[&a, &b], "sticky = { cookie = \"SRV\", value = \"plain\" }");
    let weir = Weir::start(&config);
    let (cookie, _) = new_client(&weir, "SRV");
    who(&weir, &cookie);
    who(&weir, "Cookie: SRV=nobody\r\n");
    let metrics = weir.metrics();
    assert_eq!(metrics.get("weir_pool_sticky_hits_total", &["pool=\"web\""]), 1.0);
    assert_eq!(metrics.get("weir_pool_sticky_misses_total", &["pool=\"web\""]), 2.0);
    let shown = String::from_utf8(weir.ctl(&["show", "sticky"]).stdout).unwrap();
    assert!(shown.contains("REDISPATCHES") && shown.contains("cookie"), "{shown}");
    let refused = weir.ctl(&["clear", "sticky", "web"]);
    assert_eq!(refused.status.code(), Some(1));
    let explained = std::process::Command::new(weir_e2e::program())
        .args(["explain", "--url", "http://a.example/", "--listener", "web", "--header", "Cookie: SRV=w1"])
        .arg(weir.config())
        .output()
        .unwrap();
    let explained = String::from_utf8(explained.stdout).unwrap();
    assert!(explained.contains("cookie SRV names w1"), "{explained}");
    assert!(!explained.contains("Cookie:"), "the server does not get it: {explained}");
}
