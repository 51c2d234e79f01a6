//! Tests of the choice of the route for a request.

use weir_http::{
    Action, FixedResponse, HeadLimits, HeaderMatch, HeaderTable, HeaderTest, HostPattern, Mismatch,
    PathPattern, PathRules, RouteMatch, RouteRequest, RouteTable, Scheme, parse_request,
};

/// Returns the route for the request, the mismatches of earlier routes, and the number of failed expressions.
fn explain(routes: &[RouteMatch], text: &str, client: &str) -> (Option<usize>, Vec<Mismatch>, usize) {
    let routes: Vec<_> = routes.iter().map(|matches| (matches, &Action::Pool(0))).collect();
    explain_actions(&routes, text, client)
}

fn explain_actions(
    routes: &[(&RouteMatch, &Action)],
    text: &str,
    client: &str,
) -> (Option<usize>, Vec<Mismatch>, usize) {
    let buf = format!("{text}\n\n").replace('\n', "\r\n").into_bytes();
    let mut headers = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let table = RouteTable::compile(routes.iter().copied(), Some(&PathRules::default())).unwrap();
    let request = RouteRequest::of(&head, &buf, &headers, client.parse().ok(), Scheme::Https, "front");
    let explanation = table.explain(&request);
    let decision = table.find(&request);
    assert_eq!(decision.route, explanation.route);
    let last_denied = decision.failures.last().filter(|failure| failure.denied);
    assert_eq!(last_denied.map(|failure| &failure.error), explanation.failure.as_ref());
    (explanation.route, explanation.passed_over, decision.failures.len())
}

fn respond(status: u16) -> Action {
    Action::Respond(FixedResponse { status, content_type: "text/plain".into(), body: String::new() })
}

fn matches(route: RouteMatch, text: &str) -> bool {
    explain(&[route], text, "192.0.2.7").0.is_some()
}

fn any() -> RouteMatch {
    RouteMatch::default()
}

#[test]
fn a_route_without_conditions_takes_everything() {
    assert_eq!(explain(&[any(), any()], "GET / HTTP/1.1\nHost: h", "192.0.2.7").0, Some(0));
}

#[test]
fn without_a_match_nobody_takes_it() {
    assert_eq!(explain(&[], "GET / HTTP/1.1\nHost: h", "192.0.2.7").0, None);
    let route = RouteMatch { methods: vec!["PUT".into()], ..any() };
    assert_eq!(explain(&[route], "GET / HTTP/1.1\nHost: h", "192.0.2.7").0, None);
}

#[test]
fn the_first_match_takes_it_and_the_others_say_why_not() {
    let routes = [
        RouteMatch { hosts: vec![HostPattern::Exact("a.example".into())], ..any() },
        RouteMatch { paths: vec![PathPattern::Exact("/y".into())], ..any() },
        RouteMatch { methods: vec!["PUT".into(), "POST".into()], ..any() },
        RouteMatch { headers: vec![HeaderMatch { name: "X-A".into(), test: HeaderTest::Present }], ..any() },
        RouteMatch { clients: vec!["10.0.0.0/8".parse().unwrap()], ..any() },
        RouteMatch { expression: Some("path == '/y'".into()), ..any() },
        RouteMatch { expression: Some("headers['x'] == 'y'".into()), ..any() },
        any(),
        any(),
    ];
    let (route, reasons, failures) = explain(&routes, "GET /x HTTP/1.1\nHost: b.example", "192.0.2.7");
    assert_eq!(route, Some(7));
    let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "the host does not match",
            "the path does not match",
            "the method does not match",
            "the header X-A does not match",
            "the client's address is in none of the networks",
            "the expression is false",
            "the expression fails: no such key: x",
        ]
    );
    assert_eq!(failures, 1);
}

#[test]
fn hosts_match_without_port_and_case() {
    let route = || RouteMatch {
        hosts: vec![HostPattern::Exact("a.example".into()), HostPattern::Wildcard(".b.example".into())],
        ..any()
    };
    for host in ["a.example", "A.EXAMPLE:80", "x.b.example", "y.x.b.example:1"] {
        assert!(matches(route(), &format!("GET / HTTP/1.1\nHost: {host}")), "{host}");
    }
    for host in ["b.example", "xa.example", "a.example.org"] {
        assert!(!matches(route(), &format!("GET / HTTP/1.1\nHost: {host}")), "{host}");
    }
    assert!(!matches(route(), "GET / HTTP/1.0"));
    assert!(matches(route(), "GET http://a.example HTTP/1.1\nHost: other"));
}

#[test]
fn a_prefix_ends_at_a_slash() {
    let route = |prefix: &str| RouteMatch { paths: vec![PathPattern::Prefix(prefix.into())], ..any() };
    let takes = |prefix, path| matches(route(prefix), &format!("GET {path} HTTP/1.1\nHost: h"));
    assert!(takes("/sa", "/sa") && takes("/sa", "/sa/") && takes("/sa", "/sa/x") && takes("/sa", "/sa?x"));
    assert!(!takes("/sa", "/sab") && !takes("/sa", "/s") && !takes("/sa", "/SA"));
    assert!(takes("/sa/", "/sa/x") && takes("/sa/", "/sa/") && !takes("/sa/", "/sa"));
    assert!(takes("/", "/") && takes("/", "/x"));
}

#[test]
fn any_path_of_a_group_suffices_but_every_header_must_match() {
    let header = |name: &str, test| HeaderMatch { name: name.into(), test };
    let route = RouteMatch {
        paths: vec![PathPattern::Exact("/a".into()), PathPattern::Glob("/*/c".into())],
        headers: vec![
            header("x-a", HeaderTest::Exact("1".into())),
            header("X-B", HeaderTest::Contains("mid".into())),
            header("X-C", HeaderTest::Absent),
        ],
        ..any()
    };
    assert!(matches(route.clone(), "GET /b/c HTTP/1.1\nHost: h\nX-A: 0\nX-A: 1\nx-b: amidst"));
    assert!(!matches(route.clone(), "GET /b/c HTTP/1.1\nHost: h\nX-A: 1"));
    assert!(!matches(route.clone(), "GET /b/c HTTP/1.1\nHost: h\nX-A: 11\nX-B: mid"));
    assert!(!matches(route, "GET /b/c HTTP/1.1\nHost: h\nX-A: 1\nX-B: mid\nX-C: z"));
}

#[test]
fn clients_match_by_network() {
    let route = RouteMatch {
        clients: vec!["10.0.0.0/8".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
        ..any()
    };
    let takes = |client| explain(std::slice::from_ref(&route), "GET / HTTP/1.1\nHost: h", client).0.is_some();
    assert!(takes("10.9.8.7") && takes("2001:db8::1"));
    assert!(!takes("11.0.0.1") && !takes("2001:db9::1") && !takes("no address"));
}

#[test]
fn an_invalid_route_is_named_by_its_place() {
    let compile = |routes: &[RouteMatch]| {
        let routes = routes.iter().map(|matches| (matches, &Action::Pool(0)));
        RouteTable::compile(routes, Some(&PathRules::default())).unwrap_err()
    };
    assert_eq!(compile(&[any(), RouteMatch { expression: Some("path ==".into()), ..any() }]).0, 1);
    let (_, error) = compile(&[RouteMatch { paths: vec![PathPattern::Glob("?".repeat(256))], ..any() }]);
    assert_eq!(error.to_string(), "a glob has at most 255 characters");
}

#[test]
fn a_denying_route_takes_requests_for_which_its_expression_fails() {
    let wants_header = RouteMatch { expression: Some("headers['x-a'] == 'b'".into()), ..any() };
    let bare = "GET / HTTP/1.1\nHost: h";
    let taken = |action: &Action, text: &str| {
        explain_actions(&[(&wants_header, action), (&any(), &Action::Pool(0))], text, "192.0.2.7")
    };
    for status in [400, 403, 404, 503] {
        let (route, passed_over, failures) = taken(&respond(status), bare);
        assert_eq!((route, passed_over.len(), failures), (Some(0), 0, 1), "{status}");
        assert_eq!(taken(&respond(status), "GET / HTTP/1.1\nHost: h\nX-A: c").0, Some(1), "{status}");
    }
    for action in [respond(200), Action::Pool(1)] {
        let (route, passed_over, failures) = taken(&action, bare);
        assert_eq!((route, passed_over.len(), failures), (Some(1), 1, 1), "{action:?}");
    }
}

#[test]
fn a_denying_route_asks_its_other_conditions_before_its_expression() {
    let elsewhere = RouteMatch {
        paths: vec![PathPattern::Prefix("/x".into())],
        expression: Some("headers['x-a'] == 'b'".into()),
        ..any()
    };
    let routes = [(&elsewhere, &respond(403)), (&any(), &Action::Pool(0))];
    assert_eq!(explain_actions(&routes, "GET / HTTP/1.1\nHost: h", "192.0.2.7").0, Some(1));
    assert_eq!(explain_actions(&routes, "GET /x HTTP/1.1\nHost: h", "192.0.2.7").0, Some(0));
}
