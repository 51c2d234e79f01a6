//! Tests TLS peers that do not read.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use rustls::{ServerConnection, StreamOwned};

use weir_e2e::Weir;
use weir_testkit::certificates::Request;
use weir_testkit::{PATIENCE, RawServer, ResponseError, wait_until};

use crate::tls::{Pki, tls};
use crate::tls_peers::{in_front_of, server_config};

#[test]
fn a_tls_client_that_does_not_read_is_not_taken_for_a_server_that_does_not_send() {
    let pki = Pki::new();
    // Small enough that Weir has read a whole response when the kernel's buffers of client and Weir are full.
    let server = RawServer::answering(vec![b'x'; 30_000]);
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let config = tls(&server, &certificate, "").replace(
        "[listener.web.tls]",
        "timeouts = { idle = \"400ms\" }\n[listener.web.timeouts]\nbody = \"400ms\"\n\n[listener.web.tls]",
    );
    let weir = Weir::start(&config);
    let requests = pki.directory.path().join("requests");
    let mut file = std::fs::File::create(&requests).unwrap();
    for _ in 0..600 {
        file.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    }
    // Its output goes into a pipe that the test does not read.
    let mut openssl = Command::new("openssl");
    openssl
        .args(["s_client", "-quiet", "-connect", &weir.addr("web").to_string(), "-servername", "a.example"])
        .stdin(std::fs::File::open(&requests).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut openssl = openssl.spawn().unwrap();
    let count = |name: &str| weir.metrics().get(name, &[]);
    wait_until("the client is given up", PATIENCE, || {
        count("weir_listener_client_aborts_total") + count("weir_server_server_aborts_total") > 0.0
    });
    openssl.kill().unwrap();
    openssl.wait().unwrap();
    assert_eq!(count("weir_listener_client_aborts_total"), 1.0);
    assert_eq!(count("weir_server_server_aborts_total"), 0.0);
    assert_eq!(count("weir_server_response_errors_total"), 0.0);
}

#[test]
fn a_tls_server_that_does_not_read_is_not_taken_for_a_client_that_does_not_send() {
    let pki = Pki::new();
    let (config, listener) = (server_config(&pki.authority), TcpListener::bind("127.0.0.1:0").unwrap());
    let server = listener.local_addr().unwrap();
    let (over, wait) = mpsc::channel::<()>();
    let stalled = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        let read = tls.read(&mut [0; 1024]).unwrap();
        // The buffers of both sockets fill up, and the transfer stops.
        let _ = wait.recv();
        read
    });
    let timeouts =
        "timeouts = { idle = \"300ms\", response = \"300ms\" }\n[listener.web.timeouts]\nbody = \"1h\"\n";
    let weir = in_front_of(&pki, server, timeouts);
    let mut client = weir.client();
    client.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
    while client.try_send(vec![b'x'; 1 << 20]).is_ok() {}
    match client.try_response() {
        Ok(response) => assert_eq!(response.status, 504),
        Err(ResponseError::Nothing(_)) => {}
        Err(other) => panic!("{other}"),
    }
    let count = |name: &str| weir.metrics().get(name, &[]);
    assert_eq!(count("weir_listener_client_aborts_total"), 0.0);
    assert_eq!(count("weir_server_response_errors_total"), 1.0);
    drop(over);
    assert!(stalled.join().unwrap() > 0);
}
