//! Reads the first bytes of a connection, which stay in `received` and go to the server. They contain the
//! server name that a TLS client requests (TLS is not terminated here), or the cookie of a remote desktop
//! client.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use weir_config::plan::SniRoute;
use weir_http::HostPattern;
use weir_wire::client_hello::{self, Parsed};
use weir_wire::rdp::{self, Cookie};

use super::Session;

impl Session {
    /// Reads the ClientHello. Returns `None` if it names no server, or if the bytes are not TLS.
    pub(super) async fn read_server_name(&mut self) -> io::Result<Option<String>> {
        loop {
            match client_hello::parse(&self.received) {
                Ok(Parsed::Complete(hello)) => return Ok(hello.server_name),
                Ok(Parsed::Incomplete) => {}
                Err(_) => return Ok(None),
            }
            self.read_more(client_hello::BYTES_MAX).await?;
        }
    }

    /// Reads the cookie with this name. Returns `None` if there is none, or if it did not arrive in time.
    pub(super) async fn read_rdp_cookie(&mut self, name: &str) -> Option<Vec<u8>> {
        loop {
            match rdp::cookie(&self.received, name) {
                Cookie::Value(value) => return Some(value.to_vec()),
                Cookie::Absent => return None,
                Cookie::Incomplete => self.read_more(rdp::BYTES_MAX).await.ok()?,
            }
        }
    }

    /// Waits for more bytes from the client, at most `bytes_max`.
    async fn read_more(&mut self, bytes_max: usize) -> io::Result<()> {
        let Self { worker, client, received, deadline, .. } = self;
        poll_fn(|cx| {
            let mut scratch = worker.scratch.borrow_mut();
            let window = &mut scratch.body()[..bytes_max];
            match client.poll_read(cx, window) {
                Poll::Ready(Ok(0)) => Poll::Ready(Err(io::Error::from(io::ErrorKind::UnexpectedEof))),
                Poll::Ready(Ok(read)) => {
                    received.extend_from_slice(&window[..read]);
                    Poll::Ready(Ok(()))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                Poll::Pending if deadline.poll_expired(cx) => {
                    Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
                }
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// Returns true if `route` accepts a client that requests `name` (in lower case).
pub(super) fn takes(route: &SniRoute, name: Option<&str>) -> bool {
    let Some(name) = name else { return false };
    route.hosts.iter().any(|pattern| match pattern {
        HostPattern::Exact(host) => host == name,
        HostPattern::Wildcard(suffix) => name.len() > suffix.len() && name.ends_with(suffix.as_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_takes_names_below_its_suffix_only() {
        let route = SniRoute { hosts: vec![HostPattern::Wildcard(".example.org".into())], pool: 0 };
        assert!(takes(&route, Some("a.example.org")) && takes(&route, Some("a.b.example.org")));
        assert!(
            !takes(&route, Some("example.org"))
                && !takes(&route, Some(".example.org"))
                && !takes(&route, None)
        );
    }
}
