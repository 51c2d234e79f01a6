//! Tests the choice of a route for a request, and the actions of routes.

use weir_e2e::{Weir, get};
use weir_testkit::{RawServer, Response};

use crate::{seen, values};

struct Site {
    weir: Weir,
    /// Server of the listener's own pool. It runs until the site is dropped.
    _main: RawServer,
    api: RawServer,
}

fn site(routes: &str) -> Site {
    let (main, api) = (RawServer::answering("main"), RawServer::answering("api"));
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"main\"\n\n{routes}\n\
         [pool.main]\nservers = \"{}\"\nreuse = false\n\n[pool.api]\nservers = \"{}\"\nreuse = false\n\n[weir]\nworkers = 1\n",
        main.addr(),
        api.addr()
    );
    Site { weir: Weir::start(&config), _main: main, api }
}

impl Site {
    fn ask(&self, request: &str) -> Response {
        self.weir.client().exchange(request)
    }

    fn pool(&self, request: &str) -> String {
        self.ask(request).text()
    }
}

fn to_host(host: &str, target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[test]
fn hosts_match_exactly_or_by_wildcard_without_port_and_case() {
    let site = site("[[route]]\nhost = [\"api.example\", \"*.api.example\"]\npool = \"api\"\n");
    for host in ["api.example", "API.Example:8080", "a.api.example", "a.b.api.example", "api.example."] {
        assert_eq!(site.pool(&to_host(host, "/")), "api", "{host}");
    }
    for host in ["example", "xapi.example", "api.example.org", "127.0.0.1"] {
        assert_eq!(site.pool(&to_host(host, "/")), "main", "{host}");
    }
}

#[test]
fn paths_match_by_prefix_exactly_or_by_glob() {
    let routes =
        "[[route]]\npath = [\"/api\", \"=/exact\", \"/img/*.png\", \"/deep/**/x\"]\npool = \"api\"\n";
    let site = site(routes);
    for path in ["/api", "/api/", "/api/x", "/api?q", "/exact", "/exact?x", "/img/a.png", "/deep/a/b/x"] {
        assert_eq!(site.pool(&get(path)), "api", "{path}");
    }
    for path in ["/apix", "/exact/", "/exactx", "/img/a/b.png", "/img/a.jpg", "/deep/x/y", "/"] {
        assert_eq!(site.pool(&get(path)), "main", "{path}");
    }
}

#[test]
fn methods_headers_and_clients_match() {
    let site = site(
        "[[route]]\nmethod = [\"PUT\", \"MKCOL\"]\npool = \"api\"\n\n\
         [[route]]\nheader = { X-Beta = \"1\", Authorization = false }\npool = \"api\"\n\n\
         [[route]]\nclient = \"127.0.0.9/32\"\npool = \"api\"\n",
    );
    assert_eq!(site.pool("MKCOL / HTTP/1.1\r\nHost: a\r\n\r\n"), "api");
    assert_eq!(site.pool("put / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), "main");
    assert_eq!(site.pool("GET / HTTP/1.1\r\nHost: a\r\nx-beta: 1\r\n\r\n"), "api");
    assert_eq!(site.pool("GET / HTTP/1.1\r\nHost: a\r\nx-beta: 1\r\nAuthorization: x\r\n\r\n"), "main");
    assert_eq!(site.pool("GET / HTTP/1.1\r\nHost: a\r\nx-beta: 12\r\n\r\n"), "main");
    let mut client =
        weir_testkit::RawClient::connect_from("127.0.0.9".parse().unwrap(), site.weir.addr("web"));
    assert_eq!(client.exchange(get("/")).text(), "api");
}

#[test]
fn a_header_matches_by_a_part_of_it_or_by_not_being_there() {
    let header =
        "{ Cookie = { contains = \"beta=1\" }, X-Old = { present = false }, X-Site = { exact = \"a\" } }";
    let site = site(&format!("[[route]]\nheader = {header}\npool = \"api\"\n"));
    for (lines, pool) in [
        ("Cookie: a=b; beta=1\r\nX-Site: a\r\n", "api"),
        ("Cookie: a=b; beta=2\r\nX-Site: a\r\n", "main"),
        ("Cookie: beta=1\r\nX-Site: a\r\nX-Old: \r\n", "main"),
        ("Cookie: beta=1\r\nX-Site: ab\r\n", "main"),
        ("X-Site: a\r\n", "main"),
    ] {
        assert_eq!(site.pool(&format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n")), pool, "{lines}");
    }
}

#[test]
fn an_expression_matches_where_the_rest_does_not_suffice() {
    let site = site("[[route]]\nwhen = \"path.size() > 20 && headers['x-a'] == '1'\"\npool = \"api\"\n");
    assert_eq!(site.pool("GET /12345678901234567890 HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n"), "api");
    assert_eq!(site.pool("GET /12345678901234567890 HTTP/1.1\r\nHost: a\r\n\r\n"), "main");
    assert_eq!(site.pool("GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\r\n"), "main");
}

#[test]
fn the_first_route_that_matches_takes_the_request() {
    let site =
        site("[[route]]\npath = \"/a/b\"\npool = \"main\"\n\n[[route]]\npath = \"/a\"\npool = \"api\"\n");
    assert_eq!(site.pool(&get("/a/b")), "main");
    assert_eq!(site.pool(&get("/a/c")), "api");
}

#[test]
fn each_request_of_a_connection_is_routed_by_itself() {
    let site = site("[[route]]\npath = \"/api\"\npool = \"api\"\n");
    let mut client = site.weir.client();
    for (path, pool) in [("/", "main"), ("/api", "api"), ("/", "main"), ("/api/x", "api")] {
        assert_eq!(client.exchange(get(path)).text(), pool);
    }
}

#[test]
fn redirects_and_fixed_responses_need_no_server() {
    let site = site(
        "[[route]]\nhost = \"old.example\"\nredirect = \"https://new.example{uri}\"\n\n\
         [[route]]\npath = \"/moved\"\nredirect = { to = \"/here\", status = 302 }\n\n\
         [[route]]\npath = \"/no\"\nrespond = { status = 403, body = \"No.\" }\n\n\
         [[route]]\npath = \"/gone\"\nrespond = 410\n",
    );
    let mut client = site.weir.client();
    let redirect = client.exchange(to_host("old.example", "/a%20b?c=d"));
    assert_eq!((redirect.status, redirect.header("location")), (308, Some("https://new.example/a%20b?c=d")));
    let moved = client.exchange(get("/moved"));
    assert_eq!((moved.status, moved.header("location")), (302, Some("/here")));
    let no = client.exchange(get("/no"));
    assert_eq!((no.status, no.text().as_str()), (403, "No."));
    let head = client.send("HEAD /no HTTP/1.1\r\nHost: a\r\n\r\n").response_to_head();
    assert_eq!((head.status, head.header("content-length")), (403, Some("3")));
    assert_eq!(client.exchange(get("/gone")).status, 410);
    assert_eq!(client.exchange("POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi").status, 403);
    assert_eq!(client.exchange(get("/")).text(), "main");
    assert_eq!(site.api.connections(), 0);
}

#[test]
fn rules_for_response_headers_hold_for_redirects_and_fixed_responses() {
    let hsts = "response-headers = { set = { Strict-Transport-Security = \"max-age=9\", X-Host = \"{host}\" }, remove = \"Via\" }";
    let site = site(&format!(
        "[[route]]\npath = \"/moved\"\nredirect = \"https://a.example{{path}}\"\n{hsts}\n\n\
         [[route]]\npath = \"/no\"\nrespond = {{ status = 403, body = \"No.\" }}\n{hsts}\n\n\
         [[route]]\npath = \"/empty\"\nrespond = 204\n{hsts}\n\n\
         [[route]]\npath = \"/plain\"\nrespond = 200\n\n\
         [listener.web.forwarded]\nrequest-id = true\n"
    ));
    let mut client = site.weir.client();
    for (path, status) in [("/moved", 308), ("/no", 403), ("/empty", 204)] {
        let response = client.exchange(get(path));
        assert_eq!(response.status, status);
        assert_eq!(response.header("strict-transport-security"), Some("max-age=9"), "{path}");
        assert_eq!(response.header("x-host"), Some("a.example"), "{path}");
        assert_eq!(response.header("via"), None, "{path}");
        assert!(response.header("x-request-id").is_some() && response.header("date").is_some(), "{path}");
    }
    let response = client.send("HEAD /no HTTP/1.1\r\nHost: a.example\r\n\r\n").response_to_head();
    assert_eq!((response.status, response.header("content-length")), (403, Some("3")));
    assert_eq!(client.exchange(get("/plain")).header("via"), Some("1.1 weir"));
    let old = site.ask("GET /no HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!((old.text().as_str(), old.header("connection")), ("No.", Some("keep-alive")));
}

#[test]
fn a_redirect_cannot_be_made_to_carry_a_line_of_its_own() {
    let site = site("[[route]]\npath = \"/go\"\nredirect = \"https://new.example{path}\"\n");
    let response = site.ask(&get("/go/%0d%0aSet-Cookie:%20a=b"));
    assert_eq!(response.header("set-cookie"), None);
    assert_eq!(response.header("location"), Some("https://new.example/go/%0d%0aSet-Cookie:%20a=b"));
}

#[test]
fn what_nobody_takes_is_answered_404() {
    let server = RawServer::answering("hi");
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nhost = \"a.example\"\npool = \"web\"\n\n[pool.web]\nservers = \"{}\"\n",
        server.addr()
    );
    let weir = Weir::start(&config);
    let mut client = weir.client();
    assert_eq!(client.exchange(to_host("b.example", "/")).status, 404);
    assert_eq!(client.exchange(to_host("a.example", "/")).status, 200);
}

#[test]
fn paths_are_rewritten_and_the_query_stays() {
    let site = site(
        "[[route]]\npath = \"/api\"\npool = \"api\"\nrewrite = { prefix = \"/api\", to = \"/v1\" }\n\n\
         [[route]]\npath = \"/full\"\npool = \"api\"\nrewrite = { path = \"/other\" }\n\n\
         [[route]]\npath = \"/strip\"\npool = \"api\"\nrewrite = { prefix = \"/strip\", to = \"/\" }\n",
    );
    let cases = [
        ("/api", "/v1"),
        ("/api/x?y=1", "/v1/x?y=1"),
        ("/api?q", "/v1?q"),
        ("/full/a?b", "/other?b"),
        ("/strip/a/b", "/a/b"),
        ("/strip", "/"),
    ];
    for (from, to) in cases {
        let received = seen(&site.weir, &site.api, &get(from));
        assert!(received.starts_with(&format!("GET {to} HTTP/1.1\r\n")), "{from}: {received}");
    }
}

#[test]
fn headers_are_set_added_and_removed_in_both_directions() {
    let api = RawServer::responding(|_| {
        b"HTTP/1.1 200 OK\r\nServer: secret/1.0\r\nX-Old: 1\r\nContent-Length: 2\r\n\r\nhi".to_vec()
    });
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nname = \"r\"\npool = \"api\"\n\
         request-headers = {{ set = {{ X-Route = \"{{route}} {{listener}} {{method}} {{client_ip}}\" }}, remove = \"Cookie\", add = {{ X-More = [\"1\", \"2\"] }} }}\n\
         response-headers = {{ remove = \"Server\", set = {{ X-Old = \"2\", X-From = \"{{server}}\" }} }}\n\n\
         [pool.api]\nservers = {{ name = \"s1\", address = \"{}\" }}\n",
        api.addr()
    );
    let weir = Weir::start(&config);
    let response = weir
        .client()
        .exchange("GET / HTTP/1.1\r\nHost: a\r\nCookie: c=1\r\nX-Route: mine\r\nX-More: 0\r\n\r\n");
    assert_eq!((response.header("server"), response.header("x-old")), (None, Some("2")));
    assert_eq!(response.header("x-from"), Some("s1"));
    let received = String::from_utf8(api.received(0)).unwrap();
    assert_eq!(values(&received, "x-route"), ["r web GET 127.0.0.1"]);
    assert_eq!(values(&received, "x-more"), ["0", "1", "2"]);
    assert_eq!(values(&received, "cookie"), Vec::<&str>::new());
}

#[test]
fn error_pages_can_be_ones_own() {
    let config = "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nhost = \"b.example\"\nrespond = 200\n\n[error-page.404]\ncontent-type = \"text/plain\"\nbody = \"Not here.\"\n";
    let weir = Weir::start(config);
    let response = weir.client().exchange(get("/"));
    assert_eq!((response.status, response.text().as_str()), (404, "Not here."));
    assert_eq!(response.header("content-type"), Some("text/plain"));
}

#[test]
fn error_pages_are_those_of_responses_without_a_body_too() {
    let config = "[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\npath = \"/closed\"\nrespond = 403\n\
        [[route]]\npath = \"/own\"\nrespond = { status = 403, body = \"own\" }\n\
        [[route]]\npool = \"empty\"\n[pool.empty]\nservers = []\nwhen-empty = { respond = { status = 403 } }\n\
        [error-page.403]\ncontent-type = \"text/plain\"\nbody = \"Not you.\"\n";
    let weir = Weir::start(config);
    for (path, body) in [("/closed", "Not you."), ("/own", "own"), ("/", "Not you.")] {
        let response = weir.client().exchange(get(path));
        assert_eq!((response.status, response.text().as_str()), (403, body), "{path}");
    }
    assert_eq!(weir.client().exchange(get("/closed")).header("content-type"), Some("text/plain"));
}
