//! Tests of loads over TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use weir_lab::{Body, Fault, LoadError, Running};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

use crate::{closed, load, run, target};

/// Starts a server that reads each request's body and responds with a body of 100,000 bytes.
fn serve(authority: &Authority) -> SocketAddr {
    let issued = authority.issue(&Request::names(&["localhost"]));
    let chain =
        CertificateDer::pem_slice_iter(issued.certificate_pem.as_bytes()).collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key_pem.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            thread::spawn(move || while answer(&mut stream).is_some() {});
        }
    });
    address
}

fn answer(stream: &mut (impl Read + Write)) -> Option<()> {
    let mut seen = Vec::new();
    let head = loop {
        let mut buffer = [0; 16_384];
        let bytes = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        seen.extend_from_slice(&buffer[..bytes]);
        if let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let text = String::from_utf8_lossy(&seen[..head]).to_ascii_lowercase();
    let length =
        text.split("content-length: ").nth(1).map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
    let mut left = length - (seen.len() - head) as u64;
    while left > 0 {
        let mut buffer = [0; 65_536];
        let bytes = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        left -= bytes as u64;
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").ok()?;
    stream.write_all(&[b'x'; 100_000]).ok()?;
    stream.flush().ok()
}

#[test]
fn requests_and_answers_go_through_tls() {
    let (authority, directory) = (Authority::new("Test CA"), TempDir::new().unwrap());
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let address = serve(&authority);
    let mut load = load(address, "/", closed(3));
    load.targets = vec![target("PUT", format!("https://localhost:{}/", address.port()))];
    load.targets[0].body = Body::Generated { bytes: 500_000 };
    load.requests_max = Some(12);
    load.tls.ca = Some(ca.clone());
    let summary = run(load.clone()).summary();
    assert_eq!(
        (summary.requests.succeeded, summary.bytes.bodies_in),
        (12, 1_200_000),
        "{:?}",
        summary.faults
    );
    assert_eq!(summary.connect_ms.count, 3);

    // Without its authority, the certificate is refused unless verification is off.
    load.tls.ca = None;
    load.targets[0].body = Body::Empty;
    load.tls.verify = false;
    assert_eq!(run(load.clone()).summary().requests.succeeded, 12);
    let other = directory.path().join("other.pem");
    std::fs::write(&other, Authority::new("Other CA").pem()).unwrap();
    load.tls.verify = true;
    load.tls.ca = Some(other);
    assert_eq!(run(load.clone()).summary().faults, [(Fault::Tls.to_string(), 12)]);
    load.tls.ca = Some(directory.path().join("missing.pem"));
    assert!(matches!(Running::start(load), Err(LoadError::Tls(_))));
}
