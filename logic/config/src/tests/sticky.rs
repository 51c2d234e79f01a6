//! Tests `sticky`: the plan, and the messages about mistakes.

use super::print::assert_round_trip;
use super::{complaints, load_text, messages, with};
use crate::plan::{CookieMode, CookieValue, LearnFrom, StickyBy, StickyPlan, WhenBusy, WhenGone};

fn config(sticky: &str) -> String {
    with(&format!("[pool.web.sticky]\n{sticky}"))
}

fn plan(sticky: &str) -> StickyPlan {
    let loaded = load_text(&config(sticky)).unwrap_or_else(|errors| panic!("{}", errors[0]));
    assert_eq!(loaded.warnings, []);
    loaded.plan.pools[0].sticky.clone().unwrap()
}

#[test]
fn a_cookie_needs_no_more_than_its_name() {
    let StickyPlan { by: StickyBy::Cookie(cookie), when_gone, when_busy } = plan("cookie = 'SRV'") else {
        panic!()
    };
    assert_eq!((cookie.mode, cookie.value), (CookieMode::Insert, CookieValue::Opaque));
    assert!(cookie.no_cache && cookie.attributes.http_only && cookie.secure.is_none());
    assert_eq!(cookie.attributes.path, "/");
    assert_eq!((when_gone, when_busy), (WhenGone::Redispatch, WhenBusy::Wait));
}

#[test]
fn a_learned_session_comes_back_the_way_it_went_unless_told_otherwise() {
    let learn = |text: &str| match plan(&format!("learn = {{ {text} }}")).by {
        StickyBy::Learn(learn, _) => (learn.from, learn.cookie, learn.header, learn.url_param),
        by => panic!("{by:?}"),
    };
    let some = |text: &str| Some(text.to_owned());
    let from = LearnFrom::Cookie("S".to_owned());
    assert_eq!(learn("response-cookie = 'S'"), (from.clone(), some("S"), None, None));
    assert_eq!(learn("response-cookie = 'S', url-param = 's'"), (from, None, None, some("s")));
    let from = LearnFrom::Header("X-S".to_owned());
    assert_eq!(learn("response-header = 'X-S'"), (from.clone(), None, some("X-S"), None));
    assert_eq!(learn("response-header = 'X-S', request-cookie = 'C'"), (from, some("C"), None, None));
}

#[test]
fn false_is_no_stickiness() {
    let loaded =
        load_text(&with("[pool.api]\nservers = 'a:1'\nsticky = false\n[[route]]\npath = '/'\npool = 'api'"));
    assert_eq!(loaded.unwrap().plan.pools[1].sticky, None);
}

#[test]
fn every_kind_survives_printing() {
    for sticky in [
        "cookie = 'SRV'",
        "cookie = 'SRV'\nmode = 'rewrite'\nvalue = 'plain'\nwhen-gone = 'fail'",
        "cookie = '__Host-S'\nsecure = true\nvalue = 'encrypted'\nkey-env = 'KEY'\nmax-idle = '1h'",
        "learn = { response-header = 'X-S', url-param = 's' }\nsize = 10",
        "source = true\nwhen-busy = 'redispatch'",
        "expression = \"headers['x-user'] + path\"",
    ] {
        assert_round_trip(&config(sticky));
    }
}

#[test]
fn what_cannot_be_meant_is_told_with_its_place() {
    insta::assert_snapshot!(complaints(
        r#"
[listener.web]
bind = ":80"
pool = "web"

[pool.web]
servers = "10.0.0.1:80"
sticky = { cookie = "a b", value = "signed", size = 5, same-site = "none", path = "app;", max-idle = "2h", max-life = "1h" }
"#
    ));
}

#[test]
fn each_contradiction_has_its_words() {
    for (sticky, wanted) in [
        ("size = 5", "pool web: sticky: one of cookie, learn, source, expression is missing"),
        (
            "cookie = 'A'\nsource = true",
            "pool web: sticky: only one of cookie, learn, source, expression can be there",
        ),
        ("source = true\nvalue = 'plain'", "pool web: sticky.value: only for cookie"),
        ("source = true\nsecure = true", "pool web: sticky.secure: only for cookie"),
        (
            "cookie = 'A'\nmode = 'prefix'\nhttp-only = false",
            "pool web: sticky.http-only: only for mode = \"insert\": with \"prefix\" the server sets the cookie",
        ),
        ("cookie = 'A'\nvalue = 'encrypted'", "pool web: sticky.value: \"encrypted\" needs a secret"),
        (
            "cookie = 'A'\nvalue = 'plain'\nkey-env = 'K'",
            "pool web: sticky.key-env: value = \"plain\" uses no secret",
        ),
        (
            "cookie = 'A'\nkey-file = '/k'\nkey-env = 'K'",
            "pool web: sticky.key-env: key-file says where the secret is already",
        ),
        (
            "cookie = '__Host-A'\nsecure = true\npath = '/x'",
            "pool web: sticky.path: a cookie whose name begins with __Host- has no domain, and / as its path",
        ),
        (
            "cookie = '__Secure-A'",
            "pool web: sticky.cookie: a name with __Secure- needs secure = true: browsers drop the cookie otherwise",
        ),
        ("cookie = 'A'\ndomain = 'a b'", "pool web: sticky.domain: \"a b\" is not a domain"),
        ("cookie = 'A'\nmax-age = '1500ms'", "pool web: sticky.max-age: cookies have whole seconds"),
        ("cookie = 'A'\nkey-env = 'A-B'", "pool web: sticky.key-env: \"A-B\" is not the name of a variable"),
        ("learn = {}", "pool web: sticky.learn: one of response-cookie, response-header is missing"),
        (
            "learn = { response-header = 'a b' }",
            "pool web: sticky.learn.response-header: \"a b\" is not a header name",
        ),
        (
            "learn = { response-cookie = 'A', url-param = 'a=' }",
            "pool web: sticky.learn.url-param: \"a=\" is not the name of a parameter",
        ),
        (
            "expression = 'headerz'",
            "pool web: sticky.expression: no variable headerz; there are: method, host, path, query, headers, client_ip, scheme, listener",
        ),
        (
            "source = { ipv6-prefix = 200 }",
            "pool web: sticky.source.ipv6-prefix: 200 is out of range: 1 to 128",
        ),
        ("source = true\nsize = 0", "pool web: sticky.size: 0 is out of range: 1 to 10000000"),
    ] {
        assert_eq!(messages(&config(sticky)), [wanted], "{sticky}");
    }
}

#[test]
fn a_tcp_listener_can_only_tell_clients_apart_by_address() {
    let tcp = |sticky: &str| {
        messages(&format!(
            "[listener.db]\nbind = ':5432'\nmode = 'tcp'\npool = 'db'\n[pool.db]\nservers = 'a:1'\nsticky = {sticky}\n"
        ))
    };
    assert_eq!(tcp("{ source = true }"), Vec::<String>::new());
    assert_eq!(
        tcp("{ cookie = 'A' }"),
        ["pool db: sticky: a TCP listener knows no more of a client than its address"]
    );
    assert_eq!(tcp("{ expression = 'client_ip' }").len(), 1);
}
