//! Tests TLS peers that break off, stall, or send a PROXY header.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use weir_e2e::{Weir, get, web};
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{Ending, PATIENCE, RawClient, RawServer, ResponseError};

use crate::tls::{Pki, stdout, tls};

/// Way in which a TLS server ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goodbye {
    /// With close_notify, then a FIN.
    Proper,
    /// With a FIN alone: an attacker on the path may have cut the response (RFC 8446 section 6.1).
    Cut,
}

/// Returns the TLS config of the server `s.internal`.
pub(crate) fn server_config(authority: &Authority) -> Arc<ServerConfig> {
    let issued = authority.issue(&Request::names(&["s.internal"]));
    let chain =
        CertificateDer::pem_slice_iter(issued.certificate_pem.as_bytes()).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(config.with_no_client_auth().with_single_cert(chain, key).unwrap())
}

/// Starts a server that sends these bytes over TLS on each connection and ends it with `goodbye`. It runs
/// until the test ends.
fn tls_server(authority: &Authority, answer: &'static str, goodbye: Goodbye) -> SocketAddr {
    let config = server_config(authority);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let config = Arc::clone(&config);
            thread::spawn(move || answer_one(stream, config, answer, goodbye));
        }
    });
    addr
}

fn answer_one(stream: TcpStream, config: Arc<ServerConfig>, answer: &str, goodbye: Goodbye) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut tls = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut request = [0; 4096];
    if tls.read(&mut request).is_ok() && tls.write_all(answer.as_bytes()).is_ok() {
        if goodbye == Goodbye::Proper {
            tls.conn.send_close_notify();
        }
        let _ = tls.flush();
    }
}

pub(crate) fn in_front_of(pki: &Pki, server: SocketAddr, keys: &str) -> Weir {
    let ca = pki.ca();
    Weir::start(&format!(
        "{}retry = false\ntls = {{ ca = \"{}\", server-name = \"s.internal\" }}\n{keys}",
        web(&[server]),
        ca.display()
    ))
}

#[test]
fn a_body_that_ends_with_its_tls_session_is_whole_only_with_a_proper_goodbye() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\n\r\nto the end";
    let pki = Pki::new();
    let weir = in_front_of(&pki, tls_server(&pki.authority, ANSWER, Goodbye::Proper), "");
    assert_eq!(weir.client().exchange(get("/")).text(), "to the end");
    let weir = in_front_of(&pki, tls_server(&pki.authority, ANSWER, Goodbye::Cut), "");
    match weir.client().send(get("/")).try_response() {
        Err(ResponseError::InBody(Ending::Reset, _)) => {}
        other => panic!("what anybody may have cut looks whole: {other:?}"),
    }
}

#[test]
fn a_body_of_known_length_is_whole_however_the_session_ends() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let pki = Pki::new();
    let weir = in_front_of(&pki, tls_server(&pki.authority, ANSWER, Goodbye::Cut), "");
    for _ in 0..3 {
        assert_eq!(weir.client().exchange(get("/")).text(), "hello");
    }
}

#[test]
fn after_a_reload_servers_are_judged_by_what_the_file_of_their_authority_holds_then() {
    const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let pki = Pki::new();
    let mut weir = in_front_of(&pki, tls_server(&pki.authority, ANSWER, Goodbye::Proper), "eject = false\n");
    let status = |weir: &Weir| weir.client().exchange(get("/")).status;
    assert_eq!(status(&weir), 200);
    let config = std::fs::read_to_string(weir.config()).unwrap();
    let config = config.replacen("127.0.0.1:0", &weir.addr("web").to_string(), 1);
    for (authority, expected) in [(&Authority::new("another"), 502), (&pki.authority, 200)] {
        std::fs::write(pki.ca(), authority.pem()).unwrap();
        weir.reload(&config);
        assert_eq!(status(&weir), expected);
    }
}

#[test]
fn a_tls_server_that_never_answers_the_handshake_gives_504() {
    let server = RawServer::silent();
    let weir = Weir::start(&format!(
        "{}retry = false\ntimeouts = {{ connect = \"200ms\" }}\ntls = {{ verify = false }}\n",
        web(&[server.addr()])
    ));
    assert_eq!(weir.client().exchange(get("/")).status, 504);
    server.wait_for_end(0);
}

#[test]
fn a_server_that_speaks_no_tls_gives_502() {
    let server = RawServer::start(|peer| {
        peer.take(5)?;
        peer.send("HTTP/1.1 400 Bad Request\r\n\r\n")
    });
    let weir = Weir::start(&format!("{}retry = false\ntls = {{ verify = false }}\n", web(&[server.addr()])));
    assert_eq!(weir.client().exchange(get("/")).status, 502);
}

#[test]
fn a_client_that_never_ends_its_handshake_is_closed() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let config = tls(&server, &pki.issue("a", Request::names(&["a.example"])), "");
    let weir = Weir::start(&format!("{config}[listener.web.timeouts]\nhead = \"300ms\"\n"));
    // The last one is the start of a ClientHello of 512 bytes.
    for bytes in [&[][..], &[0x16], &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]] {
        let mut client = weir.client();
        client.send(bytes);
        client.read_to_end();
    }
    assert_eq!(stdout(&pki.curl(&weir, "a.example", &[])), "hi");
}

#[test]
fn a_proxy_header_comes_before_the_handshake() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let config = tls(&server, &pki.issue("a", Request::names(&["a.example"])), "");
    let weir = Weir::start(&format!("{config}[listener.web.proxy-protocol]\nfrom = \"127.0.0.0/8\"\n"));
    let client = ["--haproxy-protocol", "--haproxy-clientip", "192.0.2.7"];
    let output = pki.curl(&weir, "a.example", &client);
    if String::from_utf8_lossy(&output.stderr).contains("haproxy-clientip") {
        // An older curl sends its own address.
        assert_eq!(stdout(&pki.curl(&weir, "a.example", &client[..1])), "hi");
    } else {
        assert_eq!(stdout(&output), "hi");
        assert!(String::from_utf8(server.received(0)).unwrap().contains("X-Forwarded-For: 192.0.2.7\r\n"));
    }
}

#[test]
fn tls_is_ended_in_tcp_mode_too() {
    let pki = Pki::new();
    let server = RawServer::start(|peer| {
        peer.send("server first\n")?;
        let line = peer.take(6)?;
        peer.send(line)
    });
    let certificate = pki.issue("a", Request::names(&["a.example"]));
    let config = format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\ntls = {{ certificates = {certificate} }}\n\n\
         [pool.db]\nservers = \"{}\"\n\n[access-log]\nformat = \"json\"\nto = \"stdout\"\n",
        server.addr()
    );
    let mut weir = Weir::start(&config);
    let mut openssl = std::process::Command::new("sh");
    openssl.arg("-c").arg(format!(
        "(echo hello; sleep 1) | timeout 10 openssl s_client -quiet -connect {} -servername a.example -CAfile {} 2>/dev/null",
        weir.addr("web"),
        pki.ca().display()
    ));
    let output = openssl.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "server first\nhello\n");
    let line = weir.wait_for_log("\"kind\":\"connection\"");
    assert!(line.contains("\"tls_version\":\"TLSv1.3\""), "{line}");
}

#[test]
fn many_handshakes_at_once_are_all_served() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let weir = Weir::start(&tls(&server, &pki.issue("a", Request::names(&["a.example"])), ""));
    thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| assert_eq!(stdout(&pki.curl(&weir, "a.example", &[])), "hi"));
        }
    });
}

#[test]
fn a_tls_client_that_leaves_without_a_goodbye_leaves_nothing_behind() {
    let pki = Pki::new();
    let server = RawServer::answering("hi");
    let weir = Weir::start(&tls(&server, &pki.issue("a", Request::names(&["a.example"])), ""));
    let before = weir_testkit::descriptor_count(weir.pid()) + 10;
    for _ in 0..30 {
        let mut client = RawClient::connect(weir.addr("web"));
        client.send([0x16, 3, 1, 2, 0]);
        client.reset();
    }
    weir_testkit::wait_until("descriptors are given back", PATIENCE, || {
        weir_testkit::descriptor_count(weir.pid()) <= before
    });
}
