//! Tests of Weir's sticky cookie in requests and responses.

use proptest::prelude::*;
use weir_http::{
    CookieEdit, HeaderAction, HeaderRule, RequestText, RouteHeaders, RouteRewriter, SetCookieEdit, Version,
    cookie_pairs, set_cookie_pair,
};

use crate::common::Way;

const FORWARDED: &str = "X-Forwarded-For: 192.0.2.7\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\n";
const INSERTED: SetCookieEdit<'static> =
    SetCookieEdit::Insert { name: b"SRV", line: b"Set-Cookie: SRV=w1; Path=/\r\n", no_cache: true };

fn request(cookie: CookieEdit<'static>, lines: &str) -> String {
    let way = Way { cookie, ..Way::new() };
    let out = way.request(&format!("GET / HTTP/1.1\nHost: h\n{lines}\n"));
    out.replace(FORWARDED, "").replace("GET / HTTP/1.1\nHost: h\n", "").trim_end_matches('\n').to_owned()
}

fn response(edit: SetCookieEdit<'static>, lines: &str) -> String {
    let way = Way { set_cookie: Some(edit), ..Way::new() };
    let text = format!("HTTP/1.1 200 OK\nContent-Length: 0\n{lines}\n");
    let out = way.response(&text, Version::Http11, RequestText::default()).0;
    out.replace("HTTP/1.1 200 OK\nContent-Length: 0\n", "").trim_end_matches('\n').to_owned()
}

#[test]
fn a_server_never_sees_the_cookie_that_chose_it() {
    let remove = |lines| request(CookieEdit::Remove(b"SRV"), lines);
    assert_eq!(remove("Cookie: a=1; SRV=w1; b=2\nX: y\n"), "Cookie: a=1; b=2\nX: y");
    assert_eq!(remove("X: y\ncOOkie: SRV=w1\n"), "X: y");
    assert_eq!(remove("Cookie: SRV=w1; a=1\nCookie: b=2\nCookie: SRV=w2\n"), "Cookie: a=1\nCookie: b=2");
    assert_eq!(
        remove("cookie:  a=1;b=\"2\" \n"),
        "cookie:  a=1;b=\"2\" ",
        "a line without it is not touched"
    );
}

#[test]
fn a_server_gets_its_own_value_without_the_prefix() {
    let unprefix = |lines| request(CookieEdit::Unprefix(b"SID"), lines);
    assert_eq!(unprefix("Cookie: a=1; SID=w1~abc; b=2\n"), "Cookie: a=1; SID=abc; b=2");
}

#[test]
fn a_route_that_removes_cookies_still_does() {
    let headers = RouteHeaders {
        request: vec![HeaderRule { name: "Cookie".to_owned(), action: HeaderAction::Remove }],
        response: vec![HeaderRule { name: "Set-Cookie".to_owned(), action: HeaderAction::Remove }],
    };
    let route = RouteRewriter::compile(None, &headers).unwrap();
    let way = Way { cookie: CookieEdit::Remove(b"SRV"), set_cookie: Some(INSERTED), route, ..Way::new() };
    assert!(!way.request("GET / HTTP/1.1\nHost: h\nCookie: a=1; SRV=2\n\n").contains("ookie"));
    let text = "HTTP/1.1 200 OK\nContent-Length: 0\nSet-Cookie: a=1\n\n";
    let out = way.response(text, Version::Http11, RequestText::default()).0;
    assert!(out.contains("Set-Cookie: SRV=w1") && !out.contains("a=1"), "{out}");
}

#[test]
fn a_client_is_told_which_server_it_has() {
    let told = "Set-Cookie: SRV=w1; Path=/\nCache-Control: private";
    assert_eq!(response(INSERTED, ""), told);
    assert_eq!(
        response(INSERTED, "Set-Cookie: a=1\nSet-Cookie: SRV=own\n"),
        format!("Set-Cookie: a=1\n{told}")
    );
    assert_eq!(
        response(INSERTED, "Cache-Control: max-age=5, Private\n"),
        "Cache-Control: max-age=5, Private\nSet-Cookie: SRV=w1; Path=/"
    );
    assert_eq!(response(INSERTED, "Cache-Control: public\n"), format!("Cache-Control: public\n{told}"));
}

#[test]
fn a_client_that_knows_its_server_is_told_nothing() {
    let edit = SetCookieEdit::Insert { name: b"SRV", line: b"", no_cache: true };
    assert_eq!(response(edit, "Set-Cookie: a=1\n"), "Set-Cookie: a=1");
}

#[test]
fn a_servers_own_cookie_carries_the_name_of_the_server() {
    let lines = "Set-Cookie: a=1; Path=/\nset-cookie: SID=abc; HttpOnly\n";
    assert_eq!(
        response(SetCookieEdit::Rewrite { name: b"SID", value: b"w1" }, lines),
        "Set-Cookie: a=1; Path=/\nset-cookie: SID=w1; HttpOnly"
    );
    assert_eq!(
        response(SetCookieEdit::Prefix { name: b"SID", value: b"w1" }, lines),
        "Set-Cookie: a=1; Path=/\nset-cookie: SID=w1~abc; HttpOnly"
    );
}

#[test]
fn interim_responses_set_no_cookie() {
    let way = Way { set_cookie: Some(INSERTED), ..Way::new() };
    let out =
        way.response("HTTP/1.1 103 Early Hints\nLink: x\n\n", Version::Http11, RequestText::default()).0;
    assert_eq!(out, "HTTP/1.1 103 Early Hints\nLink: x\n\n");
}

proptest! {
    #[test]
    fn taking_one_cookie_out_leaves_the_others_as_they_are(line in "([aS ]{0,2}=?[b~=\" ]{0,3};? ?){0,6}") {
        let line = line.trim_matches(' ');
        let removed = request(CookieEdit::Remove(b"S"), &format!("Cookie: {line}\n"));
        let left = removed.strip_prefix("Cookie: ").unwrap_or("");
        let others: Vec<_> = cookie_pairs(line.as_bytes()).filter(|(name, _)| *name != b"S").collect();
        prop_assert_eq!(cookie_pairs(left.as_bytes()).collect::<Vec<_>>(), others);
        let has_it = cookie_pairs(line.as_bytes()).any(|(name, _)| name == b"S");
        if !has_it && !line.is_empty() {
            prop_assert_eq!(left, line);
        }
    }

    #[test]
    fn a_prefix_comes_off_as_it_was_put_on(value in "[a-z~]{0,8}", id in "[a-z]{1,4}") {
        let id: &'static str = Box::leak(id.into_boxed_str());
        let set = response(SetCookieEdit::Prefix { name: b"S", value: id.as_bytes() }, &format!("Set-Cookie: S={value}; Path=/\n"));
        let line = set.strip_prefix("Set-Cookie: ").unwrap();
        let (_, prefixed) = set_cookie_pair(line.as_bytes()).unwrap();
        let prefixed = std::str::from_utf8(prefixed).unwrap();
        prop_assert_eq!(prefixed, format!("{id}~{value}"));
        let got = request(CookieEdit::Unprefix(b"S"), &format!("Cookie: S={prefixed}\n"));
        prop_assert_eq!(got, format!("Cookie: S={value}").trim_end().to_owned());
    }
}
