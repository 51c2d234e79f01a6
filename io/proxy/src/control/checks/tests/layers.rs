//! Tests which layer a failed check reports.

use std::future::poll_fn;
use std::sync::Arc;

use tokio::net::TcpListener;
use weir_config::plan::{Certificate, TlsIn, TlsOut, TlsVersion};
use weir_control::CheckCode;
use weir_model::Millis;
use weir_net::Socket;
use weir_net::tls::{ClientTls, ServerTls};
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{FullListener, RawServer, RefusingPort, Step, TempDir};

use super::{Probe, probe, told};
use crate::control::checks::probe::Failure;
use crate::state::Endpoint;

const QUICK: &str = "{ tcp = true, timeout = \"50ms\" }";

#[tokio::test]
async fn tcp_connects_or_is_refused_or_waits() {
    let server = RawServer::silent();
    assert_eq!(told(&probe(server.addr(), QUICK).run().await), "L4OK");
    assert_eq!(
        told(&probe(RefusingPort::new().addr(), QUICK).run().await),
        "L4CON connect: connection refused"
    );
    assert_eq!(
        told(&probe(FullListener::new().addr(), QUICK).run().await),
        "L4TOUT connect: not within 50 ms"
    );
}

#[tokio::test]
async fn any_address_of_a_server_will_do() {
    let server = RawServer::silent();
    let mut probe = probe(server.addr(), QUICK);
    probe.endpoint = Arc::new(Endpoint::Inet(vec![RefusingPort::new().addr(), server.addr()]));
    assert_eq!(told(&probe.run().await), "L4OK");
}

#[tokio::test]
async fn the_port_of_the_check_stands_in_for_the_servers() {
    let server = RawServer::silent();
    let check = format!("{{ tcp = true, port = {} }}", server.addr().port());
    assert_eq!(told(&probe(RefusingPort::new().addr(), &check).run().await), "L4OK");
}

#[tokio::test]
async fn a_unix_socket_is_checked_where_it_is() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s");
    let mut check = probe("127.0.0.1:1".parse().unwrap(), "\"GET /\"");
    check.endpoint = Arc::new(Endpoint::Unix(path.clone()));
    assert_eq!(told(&check.run().await), "L4CON connect: no such file or directory");
    let _server = RawServer::start_on_unix(&path, |peer| {
        peer.head()?;
        peer.send("HTTP/1.1 200 OK\r\n\r\n")
    });
    assert_eq!(told(&check.run().await), "L7OK 200");
}

#[tokio::test]
async fn a_slow_answer_is_too_late_for_its_layer() {
    let silent = RawServer::silent();
    let http = "{ http = \"GET /\", timeout = \"50ms\" }";
    assert_eq!(told(&probe(silent.addr(), http).run().await), "L7TOUT response: not within 50 ms");
    let mut tls = probe(silent.addr(), "{ tls = true, timeout = \"50ms\" }");
    tls.tls = Some(Arc::new(unverified()));
    assert_eq!(told(&tls.run().await), "L6TOUT TLS handshake: not within 50 ms");
}

#[tokio::test]
async fn tls_is_shaken_hands_with_and_verified() {
    let (address, authority) = tls_server().await;
    let mut check = probe(address, "{ tls = true }");
    check.tls = Some(Arc::new(verified(&authority)));
    assert_eq!(told(&check.run().await), "L6OK");
    check.tls_host = "elsewhere.example".to_owned();
    assert_eq!(check.run().await.code, CheckCode::L6Failed);
    check.tls = Some(Arc::new(unverified()));
    assert_eq!(told(&check.run().await), "L6OK");

    let mut http = probe(address, "\"GET /\"");
    http.tls = Some(Arc::new(verified(&authority)));
    assert_eq!(told(&http.run().await), "L7OK 200");

    let plain = RawServer::script([Step::Read(1), Step::Send(b"HTTP/1.1 400 Bad\r\n\r\n".to_vec())]);
    let mut check = probe(plain.addr(), "{ tls = true }");
    check.tls = Some(Arc::new(unverified()));
    assert!(told(&check.run().await).starts_with("L6RSP TLS handshake: "));
}

#[test]
fn what_this_process_lacks_is_not_the_servers_fault() {
    for (errno, code) in [(24, "SOCKERR"), (23, "SOCKERR"), (12, "SOCKERR"), (111, "L4CON"), (113, "L4CON")] {
        let error = std::io::Error::from_raw_os_error(errno);
        assert_eq!(Failure::of_socket(CheckCode::L4Refused, "connect", &error).code.name(), code);
    }
}

#[tokio::test]
async fn an_unresolved_name_is_no_outcome() {
    let probe =
        Probe { endpoint: Arc::new(Endpoint::Unresolved), ..probe("127.0.0.1:1".parse().unwrap(), QUICK) };
    assert_eq!(told(&probe.run().await), "SOCKERR name not resolved");
}

const OUT: TlsOut = TlsOut {
    verify: false,
    ca: None,
    server_name: None,
    client_certificate: None,
    version_min: TlsVersion::V1_2,
};

fn unverified() -> ClientTls {
    ClientTls::load(&OUT).unwrap()
}

fn verified(authority: &Authority) -> ClientTls {
    let directory = TempDir::new().unwrap();
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    ClientTls::load(&TlsOut { verify: true, ca: Some(ca), ..OUT }).unwrap()
}

/// Starts a TLS server `localhost` that answers 200 to any data.
async fn tls_server() -> (std::net::SocketAddr, Authority) {
    let authority = Authority::new("test");
    let directory = TempDir::new().unwrap();
    let files = authority.issue(&Request::names(&["localhost"])).write_to(directory.path(), "s");
    let plan = TlsIn {
        certificates: vec![Certificate { certificate: files.certificate, key: files.key }],
        version_min: TlsVersion::V1_2,
        ciphers: Vec::new(),
        client_auth: None,
        ticket_rotation: None,
        reload_interval: Millis(60_000),
    };
    let tls = ServerTls::load(&plan, &[]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = tls.accept(Socket::from_tcp(stream.into_std().unwrap().into())).unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; 1_024];
                if poll_fn(|cx| stream.poll_handshake(cx)).await.is_ok()
                    && poll_fn(|cx| stream.poll_read(cx, &mut buffer)).await.is_ok_and(|read| read > 0)
                {
                    let _ =
                        poll_fn(|cx| stream.poll_write(cx, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
                            .await;
                    let _ = poll_fn(|cx| stream.poll_flush(cx)).await;
                }
            });
        }
    });
    (address, authority)
}
