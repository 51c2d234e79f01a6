//! What `Destination` of COPY and MOVE names, and whether a route would take a request for it.

use weir_http::{
    Action, FixedResponse, Forwarder, HeadLimits, HeaderTable, PathPattern, PathRules, RouteMatch,
    RouteRequest, RouteTable, Scheme, parse_request,
};

use crate::common::default_rules;

/// The status with which a request for `/a` is refused because of these lines. `/admin` is denied, `/open` goes to a pool and so
/// does `/a`; nothing takes the rest.
fn refusal(taken: &Action, rules: Option<PathRules>, method: &str, lines: &str) -> Option<u16> {
    let buf = format!("{method} /a HTTP/1.1\r\nHost: dav.example\r\n{lines}\r\n").into_bytes();
    let mut headers = HeaderTable::new();
    let head = parse_request(&buf, &HeadLimits::default(), &mut headers).unwrap().unwrap();
    let denied = FixedResponse { status: 403, content_type: String::new(), body: String::new() };
    let routes = [("/admin", Action::Respond(denied)), ("/open", Action::Pool(0)), ("/a", Action::Pool(0))];
    let matches = routes.iter().map(|(path, _)| RouteMatch {
        paths: vec![PathPattern::Prefix((*path).to_owned())],
        ..RouteMatch::default()
    });
    let matches: Vec<_> = matches.collect();
    let compiled = matches.iter().zip(routes.iter().map(|(_, action)| action));
    let table = RouteTable::compile(compiled, rules.as_ref()).unwrap();
    let forwarder = Forwarder::compile(&default_rules(), Scheme::Http).reading_paths(rules);
    let request = RouteRequest::of(&head, &buf, &headers, None, Scheme::Http, "web");
    let destination = forwarder.destination(&buf, &head, &headers);
    destination.refusal(taken, &request, &table, |index| routes.get(index).map(|(_, action)| action))
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
        "http://other.example/admin",
        "https://other.example:1/..%2f..",
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
    ] {
        assert_eq!(of(ambiguous), Some(400), "{ambiguous}");
    }
    let twice = "Destination: /open\r\nDestination: /open\r\n";
    assert_eq!(refusal(&Action::Pool(0), Some(PathRules::default()), "COPY", twice), Some(400));
    assert_eq!(refusal(&Action::Pool(0), Some(PathRules::default()), "COPY", ""), None);
}

#[test]
fn a_storage_area_may_have_backslashes_and_as_sent_means_as_sent() {
    let area = Action::Storage(weir_model::Name::new("data").unwrap());
    let rules = Some(PathRules::default());
    assert_eq!(refusal(&area, rules, "COPY", "Destination: /open/a%5Cb\r\n"), None);
    assert_eq!(refusal(&area, rules, "COPY", "Destination: /admin/a%5Cb\r\n"), Some(403));
    assert_eq!(refusal(&Action::Pool(0), None, "COPY", "Destination: /admin\r\n"), Some(403));
    assert_eq!(refusal(&Action::Pool(0), None, "COPY", "Destination: /open/../%61dmin\r\n"), None);
}
