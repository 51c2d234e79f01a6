//! Tests of the `Destination` of COPY and MOVE against the routes.

use weir_http::{
    Action, FixedResponse, Forwarder, HeadLimits, HeaderTable, PathPattern, PathRewrite, PathRules,
    RouteMatch, RouteRequest, RouteTable, Scheme, parse_request,
};

use crate::common::default_rules;

/// A route: path prefix, methods (empty = all), action and rewrite.
type Row<'a> = (&'a str, &'a [&'a str], Action, Option<PathRewrite>);

fn deny() -> Action {
    Action::Respond(FixedResponse { status: 403, content_type: String::new(), body: String::new() })
}

fn area() -> Action {
    Action::Storage(weir_model::Name::new("data").unwrap())
}

/// Returns the status that refuses a request for `/a`, which matches the last route.
fn refusal_by(rows: &[Row<'_>], rules: Option<PathRules>, method: &str, lines: &str) -> Option<u16> {
    let buf = format!("{method} /a HTTP/1.1\r\nHost: dav.example\r\n{lines}\r\n").into_bytes();
    let mut headers = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let matches: Vec<_> = rows
        .iter()
        .map(|(path, methods, ..)| RouteMatch {
            paths: vec![PathPattern::Prefix((*path).to_owned())],
            methods: methods.iter().map(|&method| method.to_owned()).collect(),
            ..RouteMatch::default()
        })
        .collect();
    let compiled = matches.iter().zip(rows.iter().map(|(_, _, action, _)| action));
    let table = RouteTable::compile(compiled, rules.as_ref()).unwrap();
    let forwarder = Forwarder::compile(&default_rules(), Scheme::Http).reading_paths(rules);
    let request = RouteRequest::of(&head, &buf, &headers, None, Scheme::Http, "web");
    let taken = table.find(&request).route.unwrap();
    assert_eq!(taken, rows.len() - 1);
    let route = |index: usize| rows.get(index).map(|(_, _, action, rewrite)| (action, rewrite.as_ref()));
    forwarder.destination(&buf, &head, &headers).refusal(taken, &request, &table, route)
}

/// Returns the same for routes where `/admin` is denied and `/open` and `/a` have the action `taken`; no
/// route has the rest.
fn refusal(taken: &Action, rules: Option<PathRules>, method: &str, lines: &str) -> Option<u16> {
    let row = |path, action| (path, &[][..], action, None);
    let rows = [row("/admin", deny()), row("/open", taken.clone()), row("/a", taken.clone())];
    refusal_by(&rows, rules, method, lines)
}

#[test]
fn a_destination_is_judged_as_a_request_for_it() {
    let of = |uri: &str| {
        let lines = format!("Destination: {uri}\r\n");
        let rules = Some(PathRules::default());
        let status = refusal(&Action::Pool(0), rules, "COPY", &lines);
        assert_eq!(refusal(&Action::Pool(0), rules, "MOVE", &lines), status);
        // Other methods have no destination.
        assert_eq!(refusal(&Action::Pool(0), rules, "PUT", &lines), None);
        status
    };
    for passes in [
        "/open",
        "/open/x?q",
        "http://dav.example/open",
        "https://DAV.example:8443/x/../%6fpen",
        "http://other.example/open",
        "http://other.example/elsewhere",
    ] {
        assert_eq!(of(passes), None, "{passes}");
    }
    for denied in [
        "/admin",
        "/open/../admin/x",
        "/%61dmin",
        "/admin;v",
        "http://dav.example/admin",
        "ftp://dav.example:21/admin?x",
        "http://dav.example//admin#f",
        "/",
        "http://dav.example",
        "http://dav.example?x",
        "/elsewhere",
        "http://other.example/admin",
        "http://dav.example./%61dmin",
    ] {
        assert_eq!(of(denied), Some(403), "{denied}");
    }
    for ambiguous in [
        "",
        "open",
        "../admin",
        "//dav.example/open",
        "/\\dav.example/open",
        "/open/..;/x",
        "/open%2fx",
        "/open\\x",
        "/open%5cx",
        "/../open",
        "/open%00",
        "/open%",
        "http:/open",
        "http:open",
        "://dav.example/open",
        "http://u@dav.example/open",
        "http://dav.example\\open",
        "http://dav.example:x/open",
        "1 2://dav.example/open",
        "https://other.example:1/..%2f..",
    ] {
        assert_eq!(of(ambiguous), Some(400), "{ambiguous}");
    }
    let twice = "Destination: /open\r\nDestination: /open\r\n";
    assert_eq!(refusal(&Action::Pool(0), Some(PathRules::default()), "COPY", twice), Some(400));
    assert_eq!(refusal(&Action::Pool(0), Some(PathRules::default()), "COPY", ""), None);
}

#[test]
fn a_storage_area_may_have_backslashes_and_as_sent_means_as_sent() {
    let area = area();
    let rules = Some(PathRules::default());
    assert_eq!(refusal(&area, rules, "COPY", "Destination: /open/a%5Cb\r\n"), None);
    assert_eq!(refusal(&area, rules, "COPY", "Destination: /admin/a%5Cb\r\n"), Some(403));
    assert_eq!(refusal(&Action::Pool(0), None, "COPY", "Destination: /admin\r\n"), Some(403));
    assert_eq!(refusal(&Action::Pool(0), None, "COPY", "Destination: /open/../%61dmin\r\n"), None);
}

#[test]
fn an_area_looks_at_other_hosts_itself() {
    let rules = Some(PathRules::default());
    assert_eq!(refusal(&area(), rules, "COPY", "Destination: http://other.example/admin\r\n"), None);
}

#[test]
fn a_destination_that_another_server_or_another_rewrite_has_is_refused() {
    let rules = Some(PathRules::default());
    let to_root = || Some(PathRewrite::Prefix { from: "/a".into(), to: "/".into() });
    let rows = |there: (Action, Option<PathRewrite>)| -> [Row<'static>; 3] {
        [
            ("/a/admin", &[], deny(), None),
            ("/b", &[], there.0, there.1),
            ("/a", &[], Action::Pool(0), to_root()),
        ]
    };
    let status =
        |there, uri: &str| refusal_by(&rows(there), rules, "MOVE", &format!("Destination: {uri}\r\n"));
    assert_eq!(status((Action::Pool(0), to_root()), "/a/x"), None);
    assert_eq!(status((Action::Pool(0), to_root()), "/a/admin"), Some(403));
    // No rewrite applies to /b, so the server knows it under this path.
    assert_eq!(status((Action::Pool(0), None), "/b/x"), None);
    let to_c = || Some(PathRewrite::Prefix { from: "/b".into(), to: "/c".into() });
    assert_eq!(status((Action::Pool(0), to_c()), "/b/x"), Some(502));
    let to_index = || Some(PathRewrite::Full("/index".into()));
    assert_eq!(status((Action::Pool(0), to_index()), "/b/x"), Some(502));
    // The server of /a would write to its own /b.
    assert_eq!(status((Action::Pool(1), None), "/b/x"), Some(502));
    assert_eq!(status((area(), None), "/b/x"), Some(502));
    assert_eq!(status((Action::Pool(1), None), "/b"), Some(502));
}

#[test]
fn a_destination_where_a_put_is_denied_is_refused() {
    let rules = Some(PathRules::default());
    for action in [Action::Pool(0), area()] {
        let rows: [Row<'_>; 3] = [
            ("/ro", &["PUT", "DELETE"], deny(), None),
            ("/ro", &[], action.clone(), None),
            ("/a", &[], action.clone(), None),
        ];
        let status = |method| refusal_by(&rows, rules, method, "Destination: /ro/x\r\n");
        assert_eq!((status("COPY"), status("MOVE"), status("copy")), (Some(403), Some(403), Some(403)));
        assert_eq!(status("GET"), None);
    }
}
