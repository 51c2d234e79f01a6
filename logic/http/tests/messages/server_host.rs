//! Tests of a route that sets Host: URIs with the name of this server are translated in both directions.

use weir_http::{
    ForwardedFor, HeaderAction, HeaderRule, PathRewrite, RequestText, RouteHeaders, RouteRewriter, Scheme,
    Version,
};

use crate::common::Way;

/// Returns settings with a route that sets Host to `host`.
fn way(host: &str, rewrite: Option<PathRewrite>) -> Way {
    let rule = HeaderRule { name: "host".into(), action: HeaderAction::Set(host.into()) };
    let mut way = Way::new();
    way.rules.x_forwarded = ForwardedFor::Pass;
    way.route =
        RouteRewriter::compile(rewrite.as_ref(), &RouteHeaders { request: vec![rule], response: Vec::new() })
            .unwrap();
    way
}

fn prefix(from: &str, to: &str) -> Option<PathRewrite> {
    Some(PathRewrite::Prefix { from: from.into(), to: to.into() })
}

/// Returns the value of the header `name` in the head for the server.
fn line(way: &Way, name: &str, value: &str) -> String {
    let out = way.request(&format!("MOVE /dav/a HTTP/1.1\nHost: dav.example\n{name}: {value}\n\n"));
    let start = format!("{name}: ");
    out.lines().find_map(|line| line.strip_prefix(&start).map(str::to_owned)).unwrap()
}

#[test]
fn destination_names_the_host_that_the_server_got() {
    let way = way("store.internal:8080", None);
    assert_eq!(
        way.request("MOVE /a HTTP/1.1\nHost: dav.example\nDestination: http://dav.example/b\n\n"),
        "MOVE /a HTTP/1.1\nDestination: http://store.internal:8080/b\nhost: store.internal:8080\n\n"
    );
    assert_eq!(line(&way, "Destination", "/b"), "/b");
    for elsewhere in ["http://other.example/b", "https://dav.example/b", "http://store.internal:8080/b"] {
        assert_eq!(line(&way, "Destination", elsewhere), elsewhere);
    }
}

#[test]
fn it_follows_with_scheme_and_prefix_and_the_host_may_be_made_of_variables() {
    let mut way = way("{host}.internal", prefix("/dav", "/store"));
    way.scheme = Scheme::Https;
    assert_eq!(
        line(&way, "Destination", "https://dav.example/dav/b?c"),
        "http://dav.example.internal/store/b?c"
    );
}

#[test]
fn resources_named_in_if_follow_too() {
    assert_eq!(
        line(&way("internal", None), "If", "<http://dav.example/a> (<urn:uuid:1>)"),
        "<http://internal/a> (<urn:uuid:1>)"
    );
}

#[test]
fn a_host_that_comes_to_nothing_leaves_it_as_it_is() {
    let mut way = way("{query}", None);
    assert_eq!(line(&way, "Destination", "http://dav.example/b"), "http://dav.example/b");
    way.server_scheme = Scheme::Https;
    assert_eq!(line(&way, "Destination", "http://dav.example/b"), "https://dav.example/b");
}

fn location(way: &Way, location: &str) -> String {
    let asked = RequestText { host: b"dav.example", path: b"/dav/a", ..RequestText::default() };
    let text = format!("HTTP/1.1 201 Created\nLocation: {location}\nContent-Length: 0\n\n");
    let out = way.response(&text, Version::Http11, asked).0;
    out.lines().find_map(|line| line.strip_prefix("Location: ").map(str::to_owned)).unwrap()
}

#[test]
fn location_names_the_host_that_the_client_knows() {
    let mut way = way("internal", None);
    way.scheme = Scheme::Https;
    assert!(way.route.needs_request());
    for (told, expected) in [
        ("http://internal/b?c", "https://dav.example/b?c"),
        ("https://dav.example/b", "https://dav.example/b"),
        ("http://dav.example/b", "https://dav.example/b"),
        ("/b", "/b"),
        ("http://other.example/b", "http://other.example/b"),
        ("http://internal:8080/b", "http://internal:8080/b"),
    ] {
        assert_eq!(location(&way, told), expected, "{told}");
    }
}

#[test]
fn location_outside_the_mapped_prefix_stays_as_it_is() {
    let way = way("internal", prefix("/dav", "/store"));
    assert_eq!(location(&way, "http://internal/store/b"), "http://dav.example/dav/b");
    assert_eq!(location(&way, "http://internal/other"), "http://internal/other");
}
