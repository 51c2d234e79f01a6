//! Tests of the heads that servers receive.

use weir_http::{
    ForwardedFor, HeaderAction, HeaderRule, PathRewrite, RequestIdRule, RouteHeaders, RouteRewriter, Scheme,
};

use crate::common::{self, TRUSTED, Way};

const SEEN: &str = "X-Forwarded-For: 192.0.2.7\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\n";

/// Returns settings without forwarding headers, for tests of other features.
fn plain() -> Way {
    let mut way = Way::new();
    way.rules.x_forwarded = ForwardedFor::Pass;
    way
}

fn rewriting(rewrite: PathRewrite) -> RouteRewriter {
    RouteRewriter::compile(Some(&rewrite), &RouteHeaders::default()).unwrap()
}

fn prefix(from: &str, to: &str) -> RouteRewriter {
    rewriting(PathRewrite::Prefix { from: from.into(), to: to.into() })
}

fn rules(rules: &[(&str, HeaderAction)]) -> RouteRewriter {
    let request = rules
        .iter()
        .map(|(name, action)| HeaderRule { name: (*name).into(), action: action.clone() })
        .collect();
    RouteRewriter::compile(None, &RouteHeaders { request, response: Vec::new() }).unwrap()
}

#[test]
fn a_plain_request_passes_as_it_came_with_the_forwarding_headers_behind() {
    let came = "GET /a?b=c HTTP/1.1\nhost: h\nuser-agent:  x \nX-Other: y\n";
    assert_eq!(Way::new().request(&format!("{came}\n")), format!("{came}{SEEN}\n"));
}

#[test]
fn an_empty_line_before_the_request_is_dropped() {
    assert_eq!(plain().request("\nGET / HTTP/1.1\nHost: h\n\n"), "GET / HTTP/1.1\nHost: h\n\n");
}

#[test]
fn an_http10_request_goes_on_as_http11() {
    assert_eq!(plain().request("GET / HTTP/1.0\nHost: h\nX-A: b\n\n"), "GET / HTTP/1.1\nHost: h\nX-A: b\n\n");
}

#[test]
fn an_http10_request_without_host_gets_the_default_one() {
    let mut way = plain();
    assert_eq!(way.request("GET / HTTP/1.0\n\n"), "GET / HTTP/1.1\nHost: \n\n");
    way.default_host = "10.0.0.1:80";
    assert_eq!(way.request("GET / HTTP/1.0\n\n"), "GET / HTTP/1.1\nHost: 10.0.0.1:80\n\n");
}

#[test]
fn hop_by_hop_headers_stay_behind() {
    let request = "GET / HTTP/1.1\nHost: h\nConnection: keep-alive\nX-A: b\nKeep-Alive: timeout=5\n\
        Proxy-Connection: keep-alive\nTE: gzip\nUpgrade: h2c\nHTTP2-Settings: AA\nTrailer: X-T\nX-C: d\n\n";
    assert_eq!(plain().request(request), "GET / HTTP/1.1\nHost: h\nX-A: b\nTrailer: X-T\nX-C: d\n\n");
}

#[test]
fn nominated_headers_stay_behind() {
    assert_eq!(
        plain()
            .request("GET / HTTP/1.1\nHost: h\nX-Hop: 1\nConnection: close, x-HOP\nX-Hop: 2\nX-Hope: 3\n\n"),
        "GET / HTTP/1.1\nHost: h\nX-Hope: 3\n\n"
    );
    assert_eq!(
        plain().request("GET / HTTP/1.1\nHost: h\nConnection: a\nB: 1\nA: 2\nConnection: keep-alive,b\n\n"),
        "GET / HTTP/1.1\nHost: h\n\n"
    );
}

#[test]
fn what_decides_or_identifies_cannot_be_nominated_away() {
    let mut way = Way::new();
    way.rules.via = Some("weir".into());
    let kept = "POST / HTTP/1.1\nHost: h\nContent-Length: 3\nAuthorization: a\nCookie: c\nContent-Type: t\nRange: r\n";
    let nominates = "Connection: host, content-length, authorization, cookie, content-type, x-forwarded-for, \
        x-forwarded-proto, via, forwarded, range, destination, transfer-encoding\n";
    assert_eq!(way.request(&format!("{kept}{nominates}\n")), format!("{kept}{SEEN}Via: 1.1 weir\n\n"));
}

#[test]
fn a_client_that_takes_trailers_says_so_to_the_server() {
    assert_eq!(
        plain().request("GET / HTTP/1.1\nHost: h\nConnection: TE\nTE: gzip, Trailers\n\n"),
        "GET / HTTP/1.1\nHost: h\nConnection: TE\nTE: trailers\n\n"
    );
}

#[test]
fn an_upgrade_passes_only_if_the_caller_lets_it() {
    let request =
        "GET /ws HTTP/1.1\nHost: h\nUpgrade: websocket\nConnection: keep-alive, Upgrade\nSec-X: y\n\n";
    let mut way = plain();
    assert_eq!(
        way.request(request),
        "GET /ws HTTP/1.1\nHost: h\nUpgrade: websocket\nSec-X: y\nConnection: upgrade\n\n"
    );
    let with_length = "GET / HTTP/1.1\nHost: h\nUpgrade: x\nConnection: upgrade\nContent-Length: 0\n\n";
    assert_eq!(
        way.request(with_length),
        "GET / HTTP/1.1\nHost: h\nUpgrade: x\nContent-Length: 0\nConnection: upgrade\n\n"
    );
    let with_body = "POST / HTTP/1.1\nHost: h\nUpgrade: tcp\nConnection: upgrade\nContent-Length: 1\n\n";
    assert_eq!(
        way.request(with_body),
        "POST / HTTP/1.1\nHost: h\nUpgrade: tcp\nContent-Length: 1\nConnection: upgrade\n\n"
    );
    way.upgrade = false;
    assert_eq!(way.request(request), "GET /ws HTTP/1.1\nHost: h\nSec-X: y\n\n");
}

#[test]
fn an_upgrade_that_a_tunnel_would_hide_does_not_pass() {
    for upgrade in ["h2c", "H2C", "websocket, h2c", ""] {
        let request = format!("GET / HTTP/1.1\nHost: h\nUpgrade: {upgrade}\nConnection: upgrade\n\n");
        assert_eq!(plain().request(&request), "GET / HTTP/1.1\nHost: h\n\n", "{upgrade}");
    }
    let without_connection = "GET / HTTP/1.1\nHost: h\nUpgrade: websocket\n\n";
    assert_eq!(plain().request(without_connection), "GET / HTTP/1.1\nHost: h\n\n");
    let http10 = "GET / HTTP/1.0\nHost: h\nUpgrade: websocket\nConnection: upgrade\n\n";
    assert_eq!(plain().request(http10), "GET / HTTP/1.1\nHost: h\n\n");
}

#[test]
fn expect_passes_or_is_taken_out() {
    let request = "PUT / HTTP/1.1\nHost: h\nExpect: 100-continue\nContent-Length: 1\n\n";
    let mut way = plain();
    assert_eq!(way.request(request), request);
    way.pass_expect = false;
    assert_eq!(way.request(request), "PUT / HTTP/1.1\nHost: h\nContent-Length: 1\n\n");
}

#[test]
fn the_server_is_asked_to_close() {
    let mut way = plain();
    way.close = true;
    assert_eq!(way.request("GET / HTTP/1.1\nHost: h\n\n"), "GET / HTTP/1.1\nHost: h\nConnection: close\n\n");
}

#[test]
fn an_absolute_target_becomes_a_path_and_overrules_host() {
    assert_eq!(
        plain().request("GET http://real:81/x?y HTTP/1.1\nHost: other\nA: b\n\n"),
        "GET /x?y HTTP/1.1\nHost: real:81\nA: b\n\n"
    );
    assert_eq!(plain().request("GET http://h HTTP/1.1\nHost: h\n\n"), "GET / HTTP/1.1\nHost: h\n\n");
    assert_eq!(plain().request("GET http://h?q HTTP/1.1\nHost: h\n\n"), "GET /?q HTTP/1.1\nHost: h\n\n");
    assert_eq!(plain().request("OPTIONS http://h HTTP/1.1\nHost: h\n\n"), "OPTIONS * HTTP/1.1\nHost: h\n\n");
    assert_eq!(plain().request("GET http://h/ HTTP/1.0\n\n"), "GET / HTTP/1.1\nHost: h\n\n");
}

#[test]
fn forwarding_headers_of_a_stranger_are_replaced() {
    let request = "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\nA: b\nX-Forwarded-Proto: https\n\
        X-Forwarded-Host: evil\nX-Forwarded-Port: 443\nX_Forwarded_For: 9.9.9.9\nx-forwarded-for: 2.2.2.2\n\n";
    assert_eq!(Way::new().request(request), format!("GET / HTTP/1.1\nHost: h\nA: b\n{SEEN}\n"));
}

#[test]
fn forwarding_headers_of_a_trusted_peer_are_believed_and_appended_to() {
    let mut way = Way::new();
    way.client = TRUSTED;
    let request = "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\nX-Forwarded-For: 2.2.2.2, 3.3.3.3\n\
        X-Forwarded-Proto: https\nX-Forwarded-Host: outer\n\n";
    assert_eq!(
        way.request(request),
        "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1, 2.2.2.2, 3.3.3.3, 10.1.2.3\n\
        X-Forwarded-Proto: https\nX-Forwarded-Host: outer\n\n"
    );
    assert_eq!(
        way.request("GET / HTTP/1.1\nHost: h\n\n"),
        "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 10.1.2.3\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\n\n"
    );
}

#[test]
fn appending_believes_a_stranger_only_the_addresses() {
    let mut way = Way::new();
    way.rules.x_forwarded = ForwardedFor::Append;
    assert_eq!(
        way.request("GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\nX-Forwarded-Proto: https\n\n"),
        "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1, 192.0.2.7\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\n\n"
    );
}

#[test]
fn forwarding_headers_are_passed_or_removed() {
    let request = "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\nForwarded: for=1.1.1.1\n\n";
    let mut way = plain();
    way.rules.forwarded = ForwardedFor::Pass;
    assert_eq!(way.request(request), request);
    way.rules.x_forwarded = ForwardedFor::Remove;
    way.rules.forwarded = ForwardedFor::Remove;
    way.client = TRUSTED;
    assert_eq!(way.request(request), "GET / HTTP/1.1\nHost: h\n\n");
}

#[test]
fn forwarded_is_written_as_rfc_7239_has_it() {
    let mut way = plain();
    way.rules.forwarded = ForwardedFor::Set;
    let request = "GET / HTTP/1.1\nHost: h\nForwarded: for=1.1.1.1\n\n";
    assert_eq!(
        way.request(request),
        "GET / HTTP/1.1\nHost: h\nForwarded: for=192.0.2.7;host=h;proto=http\n\n"
    );
    way.rules.forwarded = ForwardedFor::Append;
    way.client = "[2001:db8::7]:40000";
    way.scheme = Scheme::Https;
    assert_eq!(
        way.request("GET / HTTP/1.1\nHost: h:81\nForwarded: for=1.1.1.1\n\n"),
        "GET / HTTP/1.1\nHost: h:81\n\
        Forwarded: for=1.1.1.1, for=\"[2001:db8::7]\";host=\"h:81\";proto=https\n\n"
    );
}

#[test]
fn an_ipv4_address_mapped_into_ipv6_is_written_and_trusted_as_ipv4() {
    let mut way = Way::new();
    way.client = "[::ffff:10.1.2.3]:40000";
    assert!(
        way.request("GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 1.1.1.1\n\n")
            .contains(": 1.1.1.1, 10.1.2.3\n")
    );
}

#[test]
fn identity_headers_never_come_from_a_client() {
    let request = "GET / HTTP/1.1\nHost: h\nX-VOMS-Fqans: /atlas\nx-voms-anything: x\nX-Remote-User: root\n\
        X_Remote_User: root\nX-VOMS_Fqans: x\nX-Client-DN: x\nX-Auth-Role: x\nA: b\nX-Remote-Users: kept\n\n";
    for client in [common::CLIENT, TRUSTED] {
        let mut way = plain();
        way.client = client;
        way.rules.x_forwarded = ForwardedFor::Remove;
        assert_eq!(way.request(request), "GET / HTTP/1.1\nHost: h\nA: b\nX-Remote-Users: kept\n\n");
    }
}

#[test]
fn what_is_said_between_weir_and_servers_about_files_never_comes_from_a_client() {
    let request = "PUT / HTTP/1.1\nHost: h\nX-Accel-Redirect: /i\nx-accel-mapping: /a=/b\nX-Sendfile: /etc/passwd\n\
        X_Sendfile_Type: x\nX-Sendfile-Type: x\nX-Weir-Upload: complete\nx_weir_upload_size: 1\nA: b\nX-Sendfil: kept\n\n";
    for client in [common::CLIENT, TRUSTED] {
        let mut way = plain();
        way.client = client;
        way.rules.x_forwarded = ForwardedFor::Remove;
        assert_eq!(way.request(request), "PUT / HTTP/1.1\nHost: h\nA: b\nX-Sendfil: kept\n\n");
    }
}

#[test]
fn a_question_about_a_request_has_nothing_of_its_body() {
    let mut way = plain();
    way.rules.x_forwarded = ForwardedFor::Remove;
    for body in [
        "Content-Length: 5\n",
        "Transfer-Encoding: chunked\nTrailer: x\nTE: trailers\nConnection: TE\n",
        "Content-Length: 5\nExpect: 100-continue\n",
        "",
    ] {
        let asked = way.question(&format!("PUT /f HTTP/1.1\nHost: h\n{body}A: b\n\n"));
        let lines: Vec<&str> =
            asked.lines().filter(|line| !line.starts_with("TE") && !line.starts_with("Conn")).collect();
        assert_eq!(lines, ["PUT /f HTTP/1.1", "Host: h", "A: b", "Content-Length: 0", ""], "{body}");
    }
}

#[test]
fn no_list_of_identity_headers_reaches_what_frames_the_message() {
    let mut way = plain();
    way.rules.identity_headers = vec!["*".into()];
    assert_eq!(
        way.request("POST / HTTP/1.1\nHost: h\nContent-Length: 3\nCookie: a\nX: y\n\n"),
        "POST / HTTP/1.1\nHost: h\nContent-Length: 3\n\n"
    );
}

#[test]
fn via_tells_the_version_that_came() {
    let mut way = plain();
    way.rules.via = Some("weir".into());
    assert_eq!(
        way.request("GET / HTTP/1.1\nHost: h\nVia: 1.1 first\n\n"),
        "GET / HTTP/1.1\nHost: h\nVia: 1.1 first\nVia: 1.1 weir\n\n"
    );
    assert_eq!(way.request("GET / HTTP/1.0\nHost: h\n\n"), "GET / HTTP/1.1\nHost: h\nVia: 1.0 weir\n\n");
}

#[test]
fn a_request_id_takes_the_place_of_the_clients() {
    let mut way = plain();
    way.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".into(), accept: false });
    way.request_id = "id-1";
    assert_eq!(
        way.request("GET / HTTP/1.1\nHost: h\nx-request-id: theirs\nA: b\n\n"),
        "GET / HTTP/1.1\nHost: h\nA: b\nX-Request-Id: id-1\n\n"
    );
}

#[test]
fn destination_follows_the_scheme_that_the_server_sees() {
    let mut way = plain();
    way.scheme = Scheme::Https;
    let to = |way: &Way, destination: &str| {
        let out =
            way.request(&format!("MOVE /a HTTP/1.1\nHost: dav.example\nDestination: {destination}\n\n"));
        out.lines().find_map(|line| line.strip_prefix("Destination: ").map(str::to_owned)).unwrap()
    };
    assert_eq!(to(&way, "https://dav.example/b?c"), "http://dav.example/b?c");
    assert_eq!(to(&way, "HTTPS://DAV.example:443/b"), "http://dav.example/b");
    assert_eq!(to(&way, "/b"), "/b");
    for elsewhere in
        ["https://other.example/b", "https://dav.example:444/b", "http://dav.example/b", "//x/b", "x"]
    {
        assert_eq!(to(&way, elsewhere), elsewhere);
    }
    way.server_scheme = Scheme::Https;
    assert_eq!(to(&way, "https://dav.example/b"), "https://dav.example/b");
}

#[test]
fn destination_follows_the_prefix() {
    let mut way = plain();
    way.route = prefix("/dav", "/webdav/area");
    assert_eq!(
        way.request("MOVE /dav/a HTTP/1.1\nHost: h\nDestination: http://h/dav/b%20c\n\n"),
        "MOVE /webdav/area/a HTTP/1.1\nHost: h\nDestination: http://h/webdav/area/b%20c\n\n"
    );
    assert!(
        way.request("MOVE /dav/a HTTP/1.1\nHost: h\nDestination: /dav/b\n\n").contains(": /webdav/area/b\n")
    );
    assert!(way.request("MOVE /dav/a HTTP/1.1\nHost: h\nDestination: /davb\n\n").contains(": /davb\n"));
}

#[test]
fn the_destination_of_a_trusted_proxy_has_the_outer_scheme() {
    let mut way = plain();
    way.client = TRUSTED;
    assert!(
        way.request("MOVE /a HTTP/1.1\nHost: h\nX-Forwarded-Proto: https\nDestination: https://h/b\n\n")
            .contains("Destination: http://h/b\n")
    );
}

#[test]
fn resources_named_in_if_follow_like_destination() {
    let mut way = plain();
    way.scheme = Scheme::Https;
    way.route = prefix("/dav", "/x");
    assert_eq!(
        way.request("PUT /dav/a HTTP/1.1\nHost: h\nIf: <https://h/dav/a> (<urn:uuid:1> [\"e\"]) </dav/b> (<https://h/dav/t>)\n\n"),
        "PUT /x/a HTTP/1.1\nHost: h\nIf: <http://h/x/a> (<urn:uuid:1> [\"e\"]) </x/b> (<https://h/dav/t>)\n\n"
    );
}

#[test]
fn a_prefix_is_replaced_with_one_slash_between() {
    for (from, to, path, expected) in [
        ("/sa", "/x", "/sa", "/x"),
        ("/sa", "/x", "/sa/b", "/x/b"),
        ("/sa", "/x", "/sab", "/sab"),
        ("/sa", "/", "/sa/b", "/b"),
        ("/sa", "/", "/sa", "/"),
        ("/sa", "", "/sa", "/"),
        ("/sa", "", "/sa/b", "/b"),
        ("/sa/", "/x", "/sa/b", "/x/b"),
        ("/sa/", "/x/", "/sa/b", "/x/b"),
        ("/sa", "/x/", "/sa/b", "/x/b"),
        ("/", "/x", "/b", "/x/b"),
        ("/", "/x", "/", "/x"),
    ] {
        let mut way = plain();
        way.route = prefix(from, to);
        let out = way.request(&format!("GET {path}?q HTTP/1.1\nHost: h\n\n"));
        assert!(out.starts_with(&format!("GET {expected}?q HTTP/1.1\n")), "{from} {to} {path}: {out}");
    }
}

#[test]
fn a_full_rewrite_keeps_the_query() {
    let mut way = plain();
    way.route = rewriting(PathRewrite::Full("/x".into()));
    assert!(way.request("GET /a?b HTTP/1.1\nHost: h\n\n").starts_with("GET /x?b HTTP"));
    assert!(way.request("OPTIONS * HTTP/1.1\nHost: h\n\n").starts_with("OPTIONS * HTTP"));
}

#[test]
fn rules_set_add_and_remove_headers() {
    let mut way = plain();
    way.route = rules(&[
        ("X-A", HeaderAction::Set("1".into())),
        ("X-B", HeaderAction::Add("2".into())),
        ("X-C", HeaderAction::Remove),
        ("Cookie", HeaderAction::Remove),
    ]);
    assert_eq!(
        way.request("GET / HTTP/1.1\nHost: h\nx-a: 0\nX-B: 0\nX-C: 0\nCookie: c\nX-A: 9\n\n"),
        "GET / HTTP/1.1\nHost: h\nX-B: 0\nX-A: 1\nX-B: 2\n\n"
    );
}

#[test]
fn rules_come_after_weirs_own_headers() {
    let mut way = Way::new();
    way.rules.via = Some("weir".into());
    way.rules.forwarded = ForwardedFor::Set;
    way.rules.request_id = Some(RequestIdRule { header: "X-Request-Id".into(), accept: false });
    way.request_id = "id-1";
    way.route = rules(&[
        ("X-Forwarded-For", HeaderAction::Set("{client_ip}:{client_port}".into())),
        ("X-Forwarded-Host", HeaderAction::Remove),
        ("Forwarded", HeaderAction::Remove),
        ("Via", HeaderAction::Remove),
        ("x-request-ID", HeaderAction::Remove),
        ("Host", HeaderAction::Set("inner".into())),
    ]);
    assert_eq!(
        way.request("GET / HTTP/1.1\nHost: h\n\n"),
        "GET / HTTP/1.1\nX-Forwarded-Proto: http\nX-Forwarded-For: 192.0.2.7:40000\nHost: inner\n\n"
    );
}

#[test]
fn values_hold_variables() {
    let mut way = plain();
    way.request_id = "id-1";
    let all = "{{{client_ip} {client_port} {host} {path} {query} {uri} {method} {scheme} {listener} {route} {pool} \
        {server} {request_id} {tls_version} {tls_cipher} {tls_sni} {tls_client_subject}}}";
    way.route = rules(&[("X-All", HeaderAction::Set(all.into()))]);
    assert_eq!(
        way.request("GET /p?q HTTP/1.1\nHost: h.example:81\n\n"),
        "GET /p?q HTTP/1.1\nHost: h.example:81\nX-All: {192.0.2.7 40000 h.example /p q /p?q GET http front r1 web w1 id-1 \
        1.3 TLS_AES_128_GCM_SHA256 h.example CN=x}\n\n"
    );
}

#[test]
fn rules_cannot_touch_what_frames_the_message() {
    for name in [
        "Content-Length",
        "transfer-encoding",
        "Connection",
        "Upgrade",
        "TE",
        "Trailer",
        "Expect",
        "a b",
        "",
        "x*",
    ] {
        let rule = HeaderRule { name: name.into(), action: HeaderAction::Remove };
        let headers = RouteHeaders { request: vec![rule.clone()], response: Vec::new() };
        assert!(RouteRewriter::compile(None, &headers).is_err(), "{name}");
        let headers = RouteHeaders { request: Vec::new(), response: vec![rule] };
        assert!(RouteRewriter::compile(None, &headers).is_err(), "{name}");
    }
}

#[test]
fn the_coding_goes_on_in_the_one_spelling_that_every_server_knows() {
    let head = |coding: &str| format!("POST / HTTP/1.1\nHost: h\n{coding}\n\n");
    let usual = Way::new().request(&head("Transfer-Encoding: chunked"));
    for unusual in
        ["Transfer-Encoding: CHUNKED", "Transfer-Encoding:\tchunked  ", "transfer-encoding:chunked"]
    {
        assert_eq!(Way::new().request(&head(unusual)), usual);
    }
    assert!(usual.contains("\nTransfer-Encoding: chunked\n"), "{usual}");
}
