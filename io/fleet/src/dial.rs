//! Connections by TCP and TLS.

use std::future::poll_fn;

use tokio::net::lookup_host;
use weir_net::tls::TlsConnector;
use weir_net::{Socket, Stream};

/// Connects to the first address of a host that accepts, and performs the TLS handshake if `tls` is set.
/// `host` is a name or an address; an IPv6 address may have brackets. Errors name the address.
pub(crate) async fn connect(host: &str, port: u16, tls: Option<&TlsConnector>) -> Result<Stream, String> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let mut last = "the name has no address".to_owned();
    for address in lookup_host((bare, port)).await.map_err(|cause| cause.to_string())? {
        let socket = match Socket::connect_tcp(address).await {
            Ok(socket) => socket,
            Err(cause) => {
                last = format!("{address}: {cause}");
                continue;
            }
        };
        return shake_hands(socket, tls).await.map_err(|cause| format!("{address}: TLS: {cause}"));
    }
    Err(last)
}

/// Returns the connection, after the TLS handshake if `tls` is set.
pub(crate) async fn shake_hands(socket: Socket, tls: Option<&TlsConnector>) -> Result<Stream, String> {
    let Some(connector) = tls else { return Ok(Stream::Plain(socket)) };
    let mut stream = connector.connect(socket).map_err(|cause| cause.to_string())?;
    poll_fn(|cx| stream.poll_handshake(cx)).await.map_err(|cause| cause.to_string())?;
    Ok(Stream::Tls(Box::new(stream)))
}
