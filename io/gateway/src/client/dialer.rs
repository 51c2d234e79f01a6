//! Connects to other servers.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::{Instant, timeout};
use weir_dav::header::{RemoteUrl, Scheme};
use weir_dav::third_party::RemoteRules;
use weir_net::tls::ClientTls;
use weir_net::{Socket, Stream};

use super::floor::Floor;
use super::{Connection, Fault};

/// Settings for connections to other servers.
#[derive(Debug)]
pub(crate) struct Dialer<'a> {
    /// TLS settings.
    pub(crate) tls: &'a ClientTls,
    /// Rules for permitted servers; `None` if the operator chose the server.
    pub(crate) rules: Option<&'a RemoteRules>,
    /// Time limit for name resolution, connection and TLS handshake together.
    pub(crate) connect_timeout: Duration,
    /// Idle timeout of the remote server.
    pub(crate) idle_timeout: Duration,
    /// Minimum rate in bytes per second, measured over one idle timeout; 0 means no limit.
    pub(crate) rate_min: u64,
}

/// Minimum time for one address, even if many others follow.
const SHARE_MIN: Duration = Duration::from_secs(1);

/// Returns the time for the first of the remaining addresses.
fn share(left: Duration, addresses: usize) -> Duration {
    (left / u32::try_from(addresses).unwrap_or(u32::MAX).max(1)).max(SHARE_MIN)
}

impl Dialer<'_> {
    /// Connects to the server of a URL. Resolves its name, checks its addresses against the rules, and tries
    /// the permitted ones in turn.
    pub(crate) async fn connect(&self, url: &RemoteUrl) -> Result<Connection, Fault> {
        let connected = timeout(self.connect_timeout, self.dial(url)).await;
        let late = || Fault::passing(format!("no connection within {} ms", self.connect_timeout.as_millis()));
        connected.unwrap_or_else(|_| Err(late())).map_err(|fault| fault.of(url.peer()))
    }

    async fn dial(&self, url: &RemoteUrl) -> Result<Connection, Fault> {
        if let Some(rules) = self.rules {
            rules.vet_url(url).map_err(Fault::lasting)?;
        }
        let host = url.host.as_str();
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let end = Instant::now() + self.connect_timeout;
        let found = lookup_host((bare, url.port)).await.map_err(Fault::passing)?;
        let (mut addresses, mut vetoed) = (Vec::new(), None);
        for address in found {
            match self.rules.map_or(Ok(()), |rules| rules.vet_address(host, address.ip())) {
                Ok(()) => addresses.push(address),
                Err(why) => vetoed = Some(Fault::lasting(why)),
            }
        }
        let mut last = vetoed.unwrap_or_else(|| Fault::passing("the name has no address"));
        for (at, address) in addresses.iter().enumerate() {
            // An address that does not respond must leave time for the next ones.
            let left = end.saturating_duration_since(Instant::now());
            let share = share(left, addresses.len() - at);
            match timeout(share, self.connect_to(url, *address)).await {
                Ok(Ok(stream)) => {
                    let floor = Floor::new(self.rate_min, self.idle_timeout);
                    return Ok(Connection::new(stream, *address, self.idle_timeout, floor));
                }
                Ok(Err(fault)) => last = fault,
                Err(_) => {
                    last = Fault::passing(format!(
                        "no connection with {address} within {} ms",
                        share.as_millis()
                    ));
                }
            }
        }
        Err(last)
    }

    async fn connect_to(&self, url: &RemoteUrl, address: SocketAddr) -> Result<Stream, Fault> {
        let socket = Socket::connect_tcp(address).await.map_err(Fault::passing)?;
        if url.scheme == Scheme::Http {
            return Ok(Stream::Plain(socket));
        }
        let connector = self.tls.connector(&url.host).map_err(Fault::lasting)?;
        let mut stream = connector.connect(socket).map_err(Fault::lasting)?;
        let shaken = poll_fn(|cx| stream.poll_handshake(cx)).await;
        shaken.map_err(|error| match error.kind() {
            ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
                Fault::passing(format!("TLS: {error}"))
            }
            _ => Fault::lasting(format!("TLS: {error}")),
        })?;
        Ok(Stream::Tls(Box::new(stream)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_share_the_time_that_is_left() {
        let s = Duration::from_secs;
        assert_eq!((share(s(10), 1), share(s(10), 2), share(s(5), 1)), (s(10), s(5), s(5)));
        assert_eq!((share(s(10), 100), share(s(0), 3)), (s(1), s(1)));
    }
}
