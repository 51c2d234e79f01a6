//! Tests of access to the admin HTTP interface, and of fairness between its clients.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use weir_admin::{AdminHttp, Door, LoggingIn, Login, LoginOutcome};
use weir_model::BindAddress;
use weir_testkit::RawClient;

use crate::common::Fake;
use crate::http::{request, serve_behind};

const PATIENCE: Duration = Duration::from_secs(60);

fn start(door: Door) -> SocketAddr {
    let http = AdminHttp::bind(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    let address = http.local_addresses()[0];
    serve_behind(http, Arc::new(Fake::default()), door);
    address
}

fn get(address: SocketAddr, target: &str, lines: &str) -> (String, String, String) {
    request(address, &format!("GET {target} HTTP/1.1\r\n{lines}Connection: close\r\n\r\n"))
}

/// A login with one correct password, and one that must be tried later.
#[derive(Debug)]
struct OnePassword;

impl Login for OnePassword {
    fn check<'a>(&'a self, _: Option<IpAddr>, authorization: Option<&'a [u8]>) -> LoggingIn<'a> {
        Box::pin(async move {
            match authorization {
                Some(b"Basic right") => LoginOutcome::Welcome,
                Some(b"Basic often") => LoginOutcome::Later(7),
                _ => LoginOutcome::Wrong,
            }
        })
    }
}

#[test]
fn a_page_of_another_site_reads_nothing_under_its_own_name() {
    let address = start(Door::default());
    for host in ["Host: evil.example\r\n", "Host: evil.example:80\r\n", "Host:\r\n"] {
        for target in ["/", "/metrics", "/status.json", "/healthz"] {
            let (status, _, body) = get(address, target, host);
            assert_eq!(status, "HTTP/1.1 421 Misdirected Request", "{target} {host}");
            assert!(body.contains("[admin] hosts"), "{body}");
        }
    }
    assert_eq!(get(address, "/healthz", &format!("Host: {address}\r\n")).0, "HTTP/1.1 200 OK");
    let hosts = vec![weir_http::HostPattern::Exact("weir.example".to_owned())];
    let address = start(Door { hosts, ..Door::default() });
    assert_eq!(get(address, "/metrics", "Host: weir.example:8404\r\n").0, "HTTP/1.1 200 OK");
}

#[test]
fn everything_but_the_health_needs_a_password_where_there_are_users() {
    let address = start(Door { login: Some(Arc::new(OnePassword)), ..Door::default() });
    let host = "Host: any.example\r\n";
    for target in ["/", "/metrics", "/status.json", "/status.csv"] {
        let (status, headers, _) = get(address, target, host);
        assert_eq!(status, "HTTP/1.1 401 Unauthorized", "{target}");
        assert!(headers.contains("www-authenticate: basic realm=\"weir\""), "{headers}");
        let wrong = get(address, target, &format!("{host}Authorization: Basic wrong\r\n"));
        assert_eq!(wrong.0, "HTTP/1.1 401 Unauthorized", "{target}");
        let right = get(address, target, &format!("{host}Authorization: Basic right\r\n"));
        assert_eq!(right.0, "HTTP/1.1 200 OK", "{target}");
    }
    let (status, headers, _) = get(address, "/", &format!("{host}Authorization: Basic often\r\n"));
    assert_eq!(status, "HTTP/1.1 429 Too Many Requests");
    assert!(headers.contains("retry-after: 7"), "{headers}");
    assert_eq!(get(address, "/healthz", host).0, "HTTP/1.1 200 OK");
}

#[test]
fn a_client_of_another_network_is_closed_at_once() {
    let door = |network: &str| Door { allow: vec![network.parse().unwrap()], ..Door::default() };
    let address = start(door("10.0.0.0/8"));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    let address = start(door("127.0.0.0/8"));
    assert_eq!(get(address, "/metrics", "Host: localhost\r\n").0, "HTTP/1.1 200 OK");
}

#[test]
fn connections_without_a_whole_request_keep_nobody_out() {
    let address = start(Door::default());
    let mut half = Vec::new();
    for index in 0..300 {
        let mut stream = TcpStream::connect(address).unwrap();
        // Some clients send nothing, some half of a head.
        if index % 2 == 0 {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: loc").unwrap();
        }
        half.push(stream);
        if index % 50 == 49 {
            assert_eq!(get(address, "/healthz", "Host: localhost\r\n").0, "HTTP/1.1 200 OK");
        }
    }
}

#[test]
fn a_flood_of_connections_breaks_no_login_of_another_client() {
    let address = start(Door::default());
    // The client has connected, and its first bytes are on their way.
    let mut slow = RawClient::connect_from(IpAddr::from([127, 0, 0, 2]), address);
    let flood: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(get(address, "/healthz", "Host: localhost\r\n").0, "HTTP/1.1 200 OK");
    let answer = slow.exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(answer.status, 200);
    drop(flood);
}

#[test]
fn scrapers_that_do_not_take_their_answers_do_not_blind_others_and_take_little_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("admin.sock");
    let http = AdminHttp::bind(&["127.0.0.1:0".parse().unwrap(), BindAddress::Unix(path.clone())]).unwrap();
    let address = http.local_addresses()[0];
    let handler = Arc::new(Fake::default());
    handler.crowd.store(4_000, Ordering::Relaxed);
    serve_behind(http, handler, Door::default());
    let before = peak_kib();
    let slow: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let mut other = UnixStream::connect(&path).unwrap();
    other.set_read_timeout(Some(PATIENCE)).unwrap();
    other.write_all(b"GET /status.json HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    other.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 OK"));
    let page_kib = answer.len() as u64 / 1024;
    assert!(page_kib > 3_000, "a page of {page_kib} KiB proves nothing");
    let grown = peak_kib() - before;
    // All sixty responses at once would hold sixty pages and more.
    assert!(grown < 25 * page_kib, "{grown} KiB more, at {page_kib} KiB a page");
    drop(slow);
}

/// Returns the peak memory of this process, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
