//! Tests the reason of a refused request in the log and in the metrics, and the bytes that were received and
//! sent.

use weir_e2e::{Weir, web};
use weir_testkit::RawServer;

use crate::access_log::Logged;

/// Returns the number of refusals by a rule.
fn refused(weir: &Weir, rule: &str) -> f64 {
    let rule = format!("rule=\"{rule}\"");
    weir.metrics().get("weir_listener_refused_total", &["listener=\"web\"", &rule])
}

fn head(lines: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n")
}

#[test]
fn a_refused_head_tells_its_rule_and_what_really_came_and_went() {
    let server = RawServer::answering("hello");
    let limits =
        "[listener.web.limits]\nhead = \"1KiB\"\nheaders = 3\ntarget = \"64B\"\n[weir]\nworkers = 1\n";
    let logged = Logged::start(&format!("{}{limits}", web(&[server.addr()])), "json");
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400, "no-host"),
        (head("Host: b\r\n"), 400, "second-host"),
        (head("Content-Length: 1\r\nContent-Length: 1\r\n"), 400, "second-content-length"),
        (head("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400, "length-and-transfer-encoding"),
        (head("Bad Header: x\r\n"), 400, "space-before-colon"),
        (head("B@d: x\r\n"), 400, "name-byte"),
        (head(" folded\r\n"), 400, "leading-space"),
        ("GET / HTTP/1.1\nHost: a\n\n".to_owned(), 400, "bare-lf"),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n".to_owned(), 505, "version"),
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(64)), 414, "target-too-long"),
        (head(&"X: y\r\n".repeat(3)), 431, "too-many-headers"),
        (head(&format!("X: {}\r\n", "y".repeat(1_024))), 431, "head-too-large"),
    ];
    let answers: Vec<Vec<u8>> =
        cases.iter().map(|(request, ..)| logged.weir.client().send(request).read_to_end().0).collect();
    let lines = logged.json(cases.len());
    let (mut came, mut went) = (0, 0);
    for (((request, status, rule), answer), line) in cases.iter().zip(&answers).zip(&lines) {
        assert!(answer.starts_with(format!("HTTP/1.1 {status} ").as_bytes()), "{rule}");
        let body = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert_eq!(line["refused_by"], *rule, "{line}");
        assert_eq!((&line["kind"], &line["termination"]), (&"bad-request".into(), &"PR--".into()), "{line}");
        assert_eq!(line["status"], *status, "{line}");
        assert_eq!(line["bytes_in"], request.len(), "{line}");
        assert_eq!(line["bytes_out"], answer.len(), "{line}");
        assert_eq!(line["body_bytes_out"], answer.len() - body, "{line}");
        assert_eq!(refused(&logged.weir, rule), 1.0, "{rule}");
        came += request.len();
        went += answer.len();
    }
    let metrics = logged.weir.metrics();
    assert_eq!(metrics.get("weir_listener_request_errors_total", &["listener=\"web\""]), cases.len() as f64);
    assert_eq!(metrics.get("weir_listener_request_bytes_total", &["listener=\"web\""]), came as f64);
    assert_eq!(metrics.get("weir_listener_response_bytes_total", &["listener=\"web\""]), went as f64);
    assert_eq!(metrics.get("weir_listener_refused_total", &[]), cases.len() as f64);
}

#[test]
fn a_head_that_does_not_come_in_time_is_refused_by_that() {
    let server = RawServer::answering("hello");
    let config = format!("{}[listener.web.timeouts]\nhead = \"100ms\"\n", web(&[server.addr()]));
    let logged = Logged::start(&config, "json");
    let begun = "GET / HTTP/1.1\r\nHo";
    let (answer, _) = logged.weir.client().send(begun).read_to_end();
    assert!(answer.starts_with(b"HTTP/1.1 408 "));
    let line = logged.json(1).remove(0);
    assert_eq!((&line["refused_by"], &line["termination"]), (&"head-timeout".into(), &"cR--".into()));
    assert_eq!((&line["bytes_in"], &line["bytes_out"]), (&begun.len().into(), &answer.len().into()));
    assert!(line["total_us"].as_u64().unwrap() >= 100_000, "{line}");
    assert_eq!(refused(&logged.weir, "head-timeout"), 1.0);
}

#[test]
fn a_request_whose_body_is_refused_tells_the_rule_beside_itself() {
    let server = RawServer::answering("hello");
    let config = format!(
        "{}[[route]]\npath = \"/small\"\npool = \"web\"\nmax-body = \"10B\"\n[listener.web.timeouts]\nbody = \"100ms\"\n\
         [weir]\nworkers = 1\n",
        web(&[server.addr()])
    );
    let logged = Logged::start(&config, "json");
    let put = |target: &str, rest: &str| format!("PUT {target} HTTP/1.1\r\nHost: a\r\n{rest}");
    let chunked =
        |target: &str, body: &str| put(target, &format!("Transfer-Encoding: chunked\r\n\r\n{body}"));
    let cases = [
        (chunked("/", "1;x=y\r\na\r\n0\r\n\r\n"), 400, "chunk-extension"),
        (chunked("/", "0\r\nContent-Length: 1\r\n\r\n"), 400, "trailer-forbidden"),
        (chunked("/small", "b\r\nhello world\r\n0\r\n\r\n"), 413, "body-too-large"),
        (put("/small", "Content-Length: 11\r\n\r\nhello world"), 413, "body-too-large"),
        (put("/", "Content-Length: 11\r\n\r\nhello"), 408, "body-timeout"),
    ];
    for (at, (request, status, rule)) in cases.iter().enumerate() {
        assert_eq!(logged.weir.client().exchange(request).status, *status, "{rule}");
        let line = logged.json(at + 1).remove(at);
        assert_eq!((&line["kind"], &line["method"]), (&"request".into(), &"PUT".into()), "{line}");
        assert_eq!((&line["refused_by"], &line["status"]), (&(*rule).into(), &(*status).into()), "{line}");
        assert_eq!(line["bytes_in"], request.len(), "{line}");
    }
    assert_eq!(logged.weir.client().exchange(put("/", "Content-Length: 1\r\n\r\nx")).status, 200);
    assert!(logged.json(cases.len() + 1).remove(cases.len()).get("refused_by").is_none());
    // Weir counts a response after it was sent.
    weir_testkit::wait_until("all are counted", weir_testkit::PATIENCE, || {
        logged.weir.metrics().get("weir_listener_refused_total", &[]) == cases.len() as f64
    });
    assert_eq!(refused(&logged.weir, "body-too-large"), 2.0);
}
