//! Connections for health checks: TCP or Unix socket, PROXY header, TLS.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;

use weir_config::plan::ProxyProtocolOut;
use weir_control::CheckCode;
use weir_net::tls::ClientTls;
use weir_net::{Socket, Stream, connect_first};
use weir_wire::proxy::{self, Command};

use super::probe::Failure;
use crate::state::Endpoint;

/// Connects to the server, as requests do: of several addresses, to the first that accepts.
pub(super) async fn open(endpoint: &Endpoint, port: Option<u16>) -> Result<Socket, Failure> {
    let failed = |error: io::Error| Failure::of_socket(CheckCode::L4Refused, "connect", &error);
    match endpoint {
        Endpoint::Unix(path) => Socket::connect_unix(path).await.map_err(failed),
        Endpoint::Unresolved => Err(Failure::new(CheckCode::SocketError, "name not resolved")),
        Endpoint::Inet(addresses) => {
            let at_port = |it: &SocketAddr| SocketAddr::new(it.ip(), port.unwrap_or(it.port()));
            connect_first(addresses.iter().map(at_port)).await.map_err(failed)
        }
    }
}

/// Sends a PROXY header of type LOCAL: the connection carries no client's request.
pub(super) async fn send_proxy_header(socket: &mut Socket, version: ProxyProtocolOut) -> Result<(), Failure> {
    let mut header = Vec::with_capacity(32);
    match version {
        ProxyProtocolOut::V1 => proxy::write_v1(&mut header, &Command::Local),
        ProxyProtocolOut::V2 => proxy::write_v2(&mut header, &Command::Local),
    }
    let mut rest = header.as_slice();
    while !rest.is_empty() {
        let written = poll_fn(|cx| socket.poll_write(cx, rest)).await;
        match written {
            Ok(0) => return Err(Failure::new(CheckCode::L4Refused, "PROXY header: connection closed")),
            Ok(written) => rest = &rest[written..],
            Err(error) => return Err(Failure::of_socket(CheckCode::L4Refused, "PROXY header", &error)),
        }
    }
    Ok(())
}

/// Completes a full TLS handshake. A resumed session would skip the check of the certificate.
pub(super) async fn secure(socket: Socket, tls: &ClientTls, host: &str) -> Result<Stream, Failure> {
    let failed = |text: String| Failure::new(CheckCode::L6Failed, format!("TLS handshake: {text}"));
    let connector = tls.connector(host).map_err(|error| failed(error.to_string()))?;
    let mut stream = connector.connect(socket).map_err(|error| failed(error.to_string()))?;
    poll_fn(|cx| stream.poll_handshake(cx))
        .await
        .map_err(|error| Failure::of_socket(CheckCode::L6Failed, "TLS handshake", &error))?;
    Ok(Stream::Tls(Box::new(stream)))
}
