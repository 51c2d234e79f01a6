use std::future::poll_fn;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::timeout;
use weir_dav::header::{RemoteUrl, Scheme};
use weir_dav::third_party::RemoteRules;
use weir_net::tls::ClientTls;
use weir_net::{Socket, Stream};

use super::{Connection, Fault};

/// Makes connections to other servers.
#[derive(Debug)]
pub(crate) struct Dialer<'a> {
    /// TLS towards them.
    pub(crate) tls: &'a ClientTls,
    /// Who may be connected to; `None` = whoever the operator has named.
    pub(crate) rules: Option<&'a RemoteRules>,
    /// For the name, the connection and TLS together.
    pub(crate) connect_timeout: Duration,
    /// A server may be silent so long.
    pub(crate) idle_timeout: Duration,
}

impl Dialer<'_> {
    /// Connects to the server of a URL: its name is resolved, its addresses are vetted, and of those that pass one is connected to.
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
        let addresses = lookup_host((bare, url.port)).await.map_err(Fault::passing)?;
        let mut last = Fault::passing("the name has no address");
        for address in addresses {
            let vetted = self.rules.map_or(Ok(()), |rules| rules.vet_address(host, address.ip()));
            if let Err(vetoed) = vetted {
                last = Fault::lasting(vetoed);
                continue;
            }
            match self.connect_to(url, address).await {
                Ok(stream) => return Ok(Connection::new(stream, address, self.idle_timeout)),
                Err(fault) => last = fault,
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
