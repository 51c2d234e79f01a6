//! Tests of X-Forwarded headers other than For, Proto and Host.

use weir_http::{ForwardedFor, HeaderAction, HeaderRule, RequestIdRule, RouteHeaders, RouteRewriter};

use crate::common::{CLIENT, TRUSTED, Way};

fn rules(name: &str, action: HeaderAction) -> RouteRewriter {
    let request = vec![HeaderRule { name: name.into(), action }];
    RouteRewriter::compile(None, &RouteHeaders { request, response: Vec::new() }).unwrap()
}

#[test]
fn other_forwarding_headers_are_believed_of_a_trusted_peer_and_passed_of_a_stranger_only_where_all_are() {
    let others = "X-Forwarded-Port: 443\nX-Forwarded-Prefix: /app\n";
    let request = format!("GET / HTTP/1.1\nHost: h\n{others}X_Forwarded_Port: 1\n\n");
    let mut way = Way::new();
    for (rule, stranger, trusted) in [
        (ForwardedFor::Set, false, true),
        (ForwardedFor::Append, false, true),
        (ForwardedFor::Pass, true, true),
        (ForwardedFor::Remove, false, false),
    ] {
        way.rules.x_forwarded = rule;
        for (client, passes) in [(CLIENT, stranger), (TRUSTED, trusted)] {
            way.client = client;
            let out = way.request(&request);
            assert_eq!(out.contains(others), passes, "{rule:?} {client}: {out}");
            assert_eq!(
                out.contains("X_Forwarded_Port"),
                rule == ForwardedFor::Pass,
                "{rule:?} {client}: {out}"
            );
        }
    }
}

#[test]
fn a_rule_about_one_other_forwarding_header_leaves_the_rest() {
    let request =
        "GET / HTTP/1.1\nHost: h\nX-Forwarded-Port: 443\nX-Forwarded-Prefix: /app\nX-Forwarded-Id: a\n\n";
    let mut way = Way::new();
    way.rules.x_forwarded = ForwardedFor::Pass;
    way.route = rules("X-Forwarded-Port", HeaderAction::Remove);
    let kept = "GET / HTTP/1.1\nHost: h\nX-Forwarded-Prefix: /app\nX-Forwarded-Id: a\n";
    assert_eq!(way.request(request), format!("{kept}\n"));
    way.route = rules("X-Forwarded-Port", HeaderAction::Set("8443".to_owned()));
    assert_eq!(way.request(request), format!("{kept}X-Forwarded-Port: 8443\n\n"));
    way.route = RouteRewriter::none();
    way.rules.identity_headers.push("X-Forwarded-Port".to_owned());
    assert_eq!(way.request(request), format!("{kept}\n"));
    way.rules.request_id = Some(RequestIdRule { header: "X-Forwarded-Id".to_owned(), accept: false });
    way.request_id = "made";
    way.route = rules("X-Forwarded-Prefix", HeaderAction::Remove);
    assert_eq!(way.request(request), "GET / HTTP/1.1\nHost: h\nX-Forwarded-Id: made\n\n");
}
