//! Tests of header names in the form that CGI programs see.

use weir_http::{ForwardedFor, HeaderAction, HeaderRule, RouteHeaders, RouteRewriter};

use crate::common::{CLIENT, TRUSTED, Way};

#[test]
fn a_header_is_removed_under_every_spelling_that_a_cgi_program_takes_for_it() {
    let mut way = Way::new();
    way.rules.x_forwarded = ForwardedFor::Remove;
    let request = vec![
        HeaderRule { name: "X-Role".into(), action: HeaderAction::Remove },
        HeaderRule { name: "X-Tier".into(), action: HeaderAction::Set("gold".into()) },
    ];
    let headers = RouteHeaders { request, response: Vec::new() };
    way.route = RouteRewriter::compile(None, &headers).unwrap();
    // Every token byte that is not a letter or a digit (RFC 9110 section 5.6.2).
    for byte in "!#$%&'*+-.^_`|~".chars() {
        let request = format!(
            "GET / HTTP/1.1\nHost: h\nX{byte}Remote{byte}User: root\nX-VOMS{byte}Fqans: x\nX{byte}Client-DN: x\nX{byte}Auth{byte}Role: x\n\
             X{byte}Accel{byte}Redirect: /i\nX{byte}Role: admin\nX{byte}Tier: lead\nX{byte}Forwarded{byte}For: 1.1.1.1\nA{byte}B: c\n\n"
        );
        assert_eq!(
            way.request(&request),
            format!("GET / HTTP/1.1\nHost: h\nA{byte}B: c\nX-Tier: gold\n\n"),
            "{byte}"
        );
    }
}

#[test]
fn proxy_never_comes_from_a_client() {
    for client in [CLIENT, TRUSTED] {
        let mut way = Way::new();
        way.client = client;
        way.rules.x_forwarded = ForwardedFor::Remove;
        let request = "GET / HTTP/1.1\nHost: h\nProxy: http://evil:3128\npRoXy: x\nProxy-Authorization: a\nX-Proxy: b\n\n";
        assert_eq!(way.request(request), "GET / HTTP/1.1\nHost: h\nProxy-Authorization: a\nX-Proxy: b\n\n");
    }
}
