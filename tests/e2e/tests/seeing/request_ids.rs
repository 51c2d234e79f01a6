//! Tests that a request's id is in every response, including Weir's own, and in its log line.

use weir_e2e::get;
use weir_testkit::{RawServer, RefusingPort};

use crate::access_log::Logged;

/// Returns the id of the response, and asserts that the log line has the same one.
fn id_of(logged: &Logged, number: usize, request: &str, status: u16) -> String {
    let response = logged.weir.client().exchange(request);
    assert_eq!(response.status, status, "{request}");
    let line = logged.json(number + 1).remove(number);
    assert_eq!(line["status"], status, "{line}");
    let id = response.header("x-request-id").unwrap_or_else(|| panic!("no id: {status}, {request}"));
    assert_eq!(line["request_id"], id, "{line}");
    id.to_owned()
}

#[test]
fn every_answer_of_weirs_own_has_the_id_that_its_line_has() {
    let (good, silent, refusing) = (RawServer::answering("hi"), RawServer::silent(), RefusingPort::new());
    let route = |path: &str, action: &str| format!("[[route]]\npath = \"{path}\"\n{action}\n\n");
    let pool = |name: &str, keys: &str| format!("[pool.{name}]\n{keys}\nretry = false\neject = false\n\n");
    let config = [
        "[listener.web]\nbind = \"127.0.0.1:0\"\nforwarded = { request-id = true }\ntimeouts = { head = \"200ms\" }\n\n"
            .to_owned(),
        route("=/good", "pool = \"good\"\nmax-body = \"10B\""),
        route("=/refusing", "pool = \"refusing\""),
        route("=/silent", "pool = \"silent\""),
        route("=/gone", "pool = \"gone\""),
        route("=/moved", "redirect = \"/good\""),
        route("=/fixed", "respond = 200"),
        pool("good", &format!("servers = \"{}\"", good.addr())),
        pool("refusing", &format!("servers = \"{}\"", refusing.addr())),
        pool("silent", &format!("servers = \"{}\"\ntimeouts = {{ response = \"100ms\" }}", silent.addr())),
        pool("gone", &format!("servers = [{{ name = \"s\", address = \"{}\" }}]", good.addr())),
    ]
    .concat();
    let logged = Logged::start(&config, "json");
    let taken = logged.weir.ctl(&["maintenance", "gone/s"]);
    assert!(taken.status.success(), "{taken:?}");
    let cases = [
        (get("/good"), 200),
        (get("/moved"), 308),
        (get("/fixed"), 200),
        (get("/none"), 404),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n".to_owned(), 405),
        ("PUT /good HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world".to_owned(), 413),
        ("PUT /good HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), 400),
        (get("/refusing"), 502),
        (get("/gone"), 503),
        (get("/silent"), 504),
        // These cannot be parsed as requests, so the id belongs to the response.
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nHo".to_owned(), 408),
    ];
    let ids = cases.iter().enumerate().map(|(at, (request, status))| id_of(&logged, at, request, *status));
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), cases.len());
}

#[test]
fn an_accepted_id_is_that_of_weirs_own_answers() {
    let config = "[listener.web]\nbind = \"127.0.0.1:0\"\nforwarded = { request-id = { accept = true } }\n\n\
                  [[route]]\npath = \"=/fixed\"\nrespond = 200\n";
    let logged = Logged::start(config, "json");
    let ask = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine-1\r\n\r\n");
    assert_eq!(id_of(&logged, 0, &ask("/fixed"), 200), "mine-1");
    assert_eq!(id_of(&logged, 1, &ask("/none"), 404), "mine-1");
}

#[test]
fn without_ids_there_is_none() {
    let logged =
        Logged::start("[listener.web]\nbind = \"127.0.0.1:0\"\n\n[[route]]\nrespond = 200\n", "json");
    for request in [get("/"), "nonsense\r\n\r\n".to_owned()] {
        assert_eq!(logged.weir.client().exchange(request).header("x-request-id"), None);
    }
    assert!(logged.json(2).iter().all(|line| line.get("request_id").is_none()));
}
