//! Tests of malformed and random input.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use weir_net::tls::{ServerTls, TlsFailure, TlsStream};

use super::support::{Await, Files, HTTP, any_certificate, sockets, within};

/// Sends `bytes` to a server in portions of `portion`, ends, and returns the server's result and its
/// response.
async fn served(server: &ServerTls, bytes: &[u8], portion: usize) -> (io::Result<()>, Vec<u8>) {
    let (mut client, accepted) = sockets().await;
    client.set_nodelay(true).unwrap();
    let mut stream: TlsStream<TcpStream> = server.accept(accepted).unwrap();
    within(async {
        let (said, answered) = tokio::join!(
            async {
                let said = stream.handshake().await;
                drop(stream);
                said
            },
            async {
                for portion in bytes.chunks(portion) {
                    if client.write_all(portion).await.is_err() {
                        break;
                    }
                }
                let _ = client.shutdown().await;
                let mut answered = Vec::new();
                let _ = client.read_to_end(&mut answered).await;
                answered
            }
        );
        (said, answered)
    })
    .await
}

/// Returns the ClientHello of a well-behaved client.
fn hello() -> Vec<u8> {
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let config = std::sync::Arc::new(any_certificate(super::support::ECDSA));
    let mut client = rustls::ClientConnection::new(config, name).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    hello
}

#[tokio::test]
async fn plain_http_is_recognized() {
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    for request in
        ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n", "PROPFIND / HTTP/1.1\r\n\r\n"]
    {
        let (said, answered) = served(&server, request.as_bytes(), 1000).await;
        assert!(matches!(TlsFailure::of(&said.unwrap_err()), Some(TlsFailure::PlainHttp)));
        assert_eq!(answered.first(), Some(&21), "an alert: {answered:?}");
    }
}

#[tokio::test]
async fn a_hello_in_single_bytes_is_understood_and_one_cut_short_is_an_error() {
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    let hello = hello();
    let (said, answered) = served(&server, &hello, 1).await;
    assert!(matches!(TlsFailure::of(&said.unwrap_err()), Some(TlsFailure::EndInHandshake)));
    assert_eq!(answered.first(), Some(&22), "a ServerHello");
    for end in [0, 1, 4, 5, 6, 20, hello.len() - 1] {
        let (said, _) = served(&server, &hello[..end], 7).await;
        assert!(
            matches!(TlsFailure::of(&said.unwrap_err()), Some(TlsFailure::EndInHandshake)),
            "{end} bytes"
        );
    }
}

#[tokio::test]
async fn changed_hellos_and_random_bytes_are_errors_and_nothing_worse() {
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    let mut random = super::stream::Random::new();
    let hello = hello();
    for _ in 0..300 {
        let mut bytes = hello.clone();
        match random.below(3) {
            // A valid header, so that the parser behind it sees the bytes.
            0 => {
                bytes = (0..random.below(2000)).map(|_| random.below(256) as u8).collect();
                let length = bytes.len() as u16;
                bytes.splice(0..0, [22, 3, 1, (length >> 8) as u8, length as u8]);
            }
            1 => bytes.truncate(random.below(hello.len())),
            _ => {}
        }
        for _ in 0..random.below(8) {
            let at = random.below(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        let (said, _) = served(&server, &bytes, 1 + random.below(600)).await;
        assert!(said.is_err(), "a client that only says hello has no session");
    }
}

#[tokio::test]
async fn an_endless_handshake_message_is_cut_off() {
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    // A ClientHello of 60,000 bytes in records of one byte: six bytes of memory for each useful one.
    let mut message = vec![1, 0, 0xea, 0x60];
    message.resize(60_000, 0);
    let records: Vec<u8> = message.iter().flat_map(|&byte| [22, 3, 1, 0, 1, byte]).collect();
    let (said, _) = served(&server, &records, 10_000).await;
    assert!(matches!(TlsFailure::of(&said.unwrap_err()), Some(TlsFailure::TooLarge)));
}

#[tokio::test]
async fn garbage_after_the_handshake_breaks_the_connection_and_tells_the_peer() {
    let files = Files::new();
    let server = ServerTls::load(&files.tls_in(), HTTP).unwrap();
    let mut pair = super::support::connected(&files.connector(), &server).await;
    pair.exchange().await;
    let record = [&[23, 3, 3, 0, 64][..], &[7; 64]].concat();
    pair.client.socket().try_write(&record).unwrap();
    let error = within(pair.server.receive(&mut [0; 16])).await.unwrap_err();
    assert!(
        matches!(TlsFailure::of(&error), Some(TlsFailure::Protocol(rustls::Error::DecryptError))),
        "{error}"
    );
    let again = within(pair.server.receive(&mut [0; 16])).await.unwrap_err();
    assert_eq!(again.to_string(), error.to_string());
    assert!(within(pair.server.send(b"x")).await.is_err());
    let heard = within(pair.client.receive(&mut [0; 16])).await.unwrap_err().to_string();
    assert!(heard.contains("bad_record_mac"), "{heard}");
}
