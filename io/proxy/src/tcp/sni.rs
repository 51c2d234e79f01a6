//! Routing by the server name that a TLS client asks for, without ending TLS here.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use weir_config::plan::SniRoute;
use weir_http::HostPattern;
use weir_wire::client_hello::{self, Parsed};

use super::Session;

impl Session {
    /// Reads the ClientHello, which stays in `received`. `None` = it names no server, or it is not TLS at all.
    pub(super) async fn read_server_name(&mut self) -> io::Result<Option<String>> {
        loop {
            match client_hello::parse(&self.received) {
                Ok(Parsed::Complete(hello)) => return Ok(hello.server_name),
                Ok(Parsed::Incomplete) => {}
                Err(_) => return Ok(None),
            }
            let Self { worker, client, received, deadline, .. } = self;
            poll_fn(|cx| {
                let mut scratch = worker.scratch.borrow_mut();
                let window = &mut scratch.body()[..client_hello::BYTES_MAX];
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
            .await?;
        }
    }
}

/// Whether `route` takes a client that asks for `name` (in lower case).
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
