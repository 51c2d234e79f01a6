//! Tests the report of unreachable routes.

use super::messages;

fn verdict(first: &str, second: &str) -> Vec<String> {
    messages(&format!(
        "[listener.web]\nbind = \":80\"\n[[route]]\n{first}\nrespond = 200\n[[route]]\n{second}\nrespond = 200\n"
    ))
}

#[test]
fn a_route_behind_a_wider_one_is_never_reached() {
    for (wide, narrow) in [
        ("", ""),
        ("", "path = '/a'"),
        ("path = '/a'", "path = '/a'"),
        ("path = '/a'", "path = '/a/b'"),
        ("path = '/a'", "path = '=/a'"),
        ("path = '/a/'", "path = '/a/*.png'"),
        ("path = '/'", "path = '/*'"),
        ("path = '**'", "path = '/x'"),
        ("path = ['/a', '/b']", "path = ['/b/c', '=/a']"),
        ("host = 'a.org'", "host = 'A.ORG'"),
        ("host = '*.a.org'", "host = ['x.a.org', '*.y.a.org', 'x.y.a.org']"),
        ("host = ['a.org', 'b.org']", "host = 'b.org'\nmethod = 'GET'"),
        ("client = '10.0.0.0/8'", "client = ['10.1.0.0/16', '10.2.3.4']"),
        ("header = { A = true }", "header = { a = 'x', B = 'y' }"),
        ("header = { A = { contains = 'x' } }", "header = { a = 'axb' }"),
        ("when = \"path == '/x'\"", "when = \"path == '/x'\"\nhost = 'a'"),
    ] {
        let messages = verdict(wide, narrow);
        assert!(
            messages.len() == 1 && messages[0].contains("never reached"),
            "{wide} / {narrow}: {messages:?}"
        );
    }
}

#[test]
fn a_route_that_may_be_reached_is_not_complained_of() {
    for (first, second) in [
        ("path = '/a'", ""),
        ("path = '/a'", "path = '/ab'"),
        ("path = '/a/'", "path = '/a'"),
        ("path = '/a/*'", "path = '/a/b/c'"),
        ("path = '/a'", "path = '/a*'"),
        ("path = '/a/'", "path = '/a*'"),
        ("path = '=/a'", "path = '/a'"),
        ("host = '*.a.org'", "host = 'a.org'"),
        ("host = '*.a.org'", "host = ['x.a.org', 'b.org']"),
        ("host = 'a.org'", "host = '*.a.org'"),
        ("method = 'GET'", "method = ['GET', 'PUT']"),
        ("client = '10.1.0.0/16'", "client = '10.0.0.0/8'"),
        ("client = '0.0.0.0/0'", ""),
        ("header = { A = true }", "header = { A = false }"),
        ("header = { A = 'x' }", "header = { A = { contains = 'x' } }"),
        ("when = \"path == '/x'\"", "path = '/x'"),
        ("path = '/a'\nmethod = 'GET'", "path = '/a'"),
    ] {
        assert_eq!(verdict(first, second), Vec::<String>::new(), "{first} / {second}");
    }
}

#[test]
fn a_route_that_one_of_its_listeners_reaches_is_fine() {
    let text = "[listener.a]\nbind = ':1'\n[listener.b]\nbind = ':2'\n[[route]]\nlistener = 'a'\nrespond = 200\n[[route]]\npath = '/x'\nrespond = 200\n";
    assert_eq!(messages(text), Vec::<String>::new());
    let both = text.replace("listener = 'a'\n", "");
    assert_eq!(messages(&both), ["route 2 is never reached: route 1 takes all of its requests"]);
}

#[test]
fn a_pool_behind_a_route_for_everything_is_never_reached() {
    let text = "[listener.a]\nbind = ':1'\npool = 'p'\n[[route]]\nrespond = 200\n[pool.p]\nservers = 'a:1'\n";
    assert_eq!(messages(text), ["listener a: pool is never reached: route 1 takes all of its requests"]);
}

#[test]
fn a_route_whose_condition_is_wrong_hides_nothing() {
    for wrong in [
        "when = \"path ==\"",
        "when = 5",
        "path = 'admin'",
        "path = { exact = 'admin' }",
        "host = 'a b'",
        "method = 'G T'",
        "client = '10.0.0.300'",
        "header = { 'A B' = 'x' }",
        "paht = '/admin'",
    ] {
        let messages = verdict(wrong, "");
        assert!(!messages.is_empty(), "{wrong}");
        assert!(messages.iter().all(|message| !message.contains("never reached")), "{wrong}: {messages:?}");
    }
}
