//! Tests of the admin HTTP interface over real sockets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_admin::{AdminHttp, Door};
use weir_control::Snapshot;
use weir_model::BindAddress;

use crate::common::{self, Fake};

const PATIENCE: Duration = Duration::from_secs(20);

/// Starts the interface on its own thread, as the control plane does. The thread ends with the test process.
fn start() -> (SocketAddr, Arc<Fake>) {
    let http = AdminHttp::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    let address = http.local_addresses()[0];
    let handler = Arc::new(Fake::default());
    serve(http, Arc::clone(&handler));
    (address, handler)
}

fn serve(http: AdminHttp, handler: Arc<Fake>) {
    serve_behind(http, handler, Door::default());
}

/// Serves the clients that the door admits.
pub(crate) fn serve_behind(http: AdminHttp, handler: Arc<Fake>, door: Door) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(http.serve(handler, door)).unwrap();
    });
}

/// Sends a request. Returns the status line, the headers in lower case, and the body.
pub(crate) fn request(address: SocketAddr, text: &str) -> (String, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let (status, headers) = head.split_once("\r\n").unwrap();
    (status.to_owned(), headers.to_lowercase(), body.to_owned())
}

fn get(address: SocketAddr, target: &str) -> (String, String, String) {
    request(address, &format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

#[test]
fn each_path_has_its_kind_of_content() {
    let (address, _) = start();
    let cases = [
        ("/", "text/html; charset=utf-8", "<h1>Weir</h1>"),
        ("/metrics", "text/plain; version=0.0.4; charset=utf-8", "\nweir_uptime_seconds 93784\n"),
        ("/status.json", "application/json", "\"name\":\"w1\""),
        ("/status.csv", "text/csv; charset=utf-8", "# pxname,svname,"),
        ("/healthz", "text/plain; charset=utf-8", "ok\n"),
        ("/?x=1", "text/html; charset=utf-8", "<h1>Weir</h1>"),
    ];
    for (target, content_type, content) in cases {
        let (status, headers, body) = get(address, target);
        assert_eq!(status, "HTTP/1.1 200 OK", "{target}");
        assert!(headers.contains(&format!("content-type: {content_type}")), "{target}: {headers}");
        assert!(
            headers.contains("x-content-type-options: nosniff")
                && headers.contains("cache-control: no-store")
        );
        assert!(headers.contains("content-security-policy: default-src 'none'"), "{headers}");
        assert!(body.contains(content), "{target}: {body}");
    }
}

#[test]
fn the_json_is_the_snapshot() {
    let (address, _) = start();
    let (_, _, body) = get(address, "/status.json");
    let read: Snapshot = serde_json::from_str(&body).unwrap();
    let again = serde_json::to_value(&read).unwrap();
    assert_eq!(again, serde_json::to_value(common::snapshot()).unwrap());
}

#[test]
fn a_scraper_that_asks_for_openmetrics_gets_it() {
    let (address, _) = start();
    let accept = "Accept: application/openmetrics-text; version=1.0.0,text/plain;q=0.5\r\n";
    let text = format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{accept}\r\n");
    let (_, headers, body) = request(address, &text);
    assert!(headers.contains("application/openmetrics-text; version=1.0.0; charset=utf-8"), "{headers}");
    assert!(body.ends_with("# EOF\n"));
}

#[test]
fn a_wrong_path_method_or_scope_is_refused() {
    let (address, _) = start();
    assert_eq!(get(address, "/admin").0, "HTTP/1.1 404 Not Found");
    assert_eq!(get(address, "/status.json/").0, "HTTP/1.1 404 Not Found");
    assert_eq!(get(address, "/metrics?scope=all").0, "HTTP/1.1 400 Bad Request");
    let (status, headers, _) = request(
        address,
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
    );
    assert_eq!(status, "HTTP/1.1 405 Method Not Allowed");
    assert!(headers.contains("allow: get, head"), "{headers}");
    assert_eq!(request(address, "nonsense\r\n\r\n").0, "HTTP/1.1 400 Bad Request");
}

#[test]
fn head_has_the_headers_of_get_and_no_body() {
    let (address, _) = start();
    let (_, get_headers, body) = get(address, "/healthz");
    let (status, headers, none) =
        request(address, "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((status.as_str(), none.as_str()), ("HTTP/1.1 200 OK", ""));
    let length = format!("content-length: {}", body.len());
    assert!(headers.contains(&length) && get_headers.contains(&length));
}

#[test]
fn a_process_that_is_stopping_is_not_healthy() {
    let (address, handler) = start();
    handler.stopping.store(true, Ordering::Relaxed);
    let (status, _, body) = get(address, "/healthz");
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 503 Service Unavailable", "stopping\n"));
    assert!(get(address, "/").2.contains("Nothing new is accepted"));
}

#[test]
fn a_head_that_does_not_end_is_refused() {
    let (address, _) = start();
    let endless = format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(64 * 1024));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may close before it has read everything.
    let _ = stream.write_all(endless.as_bytes());
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    assert!(response.is_empty() || response.starts_with(b"HTTP/1.1 431 "), "{}", response.escape_ascii());
}

#[test]
fn it_also_listens_on_a_unix_socket_and_replaces_a_dead_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admin.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let http = AdminHttp::bind(&[BindAddress::Unix(path.clone())]).unwrap();
    serve(http, Arc::new(Fake::default()));
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.0 200 OK") && response.ends_with("ok\n"), "{response}");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let (address, _) = start();
    let error = AdminHttp::bind(&[BindAddress::Inet(address)]).unwrap_err().to_string();
    assert_eq!(error, format!("admin, {address}: Address already in use (os error 98)"));
}
