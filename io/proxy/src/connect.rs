//! Opens connections to servers.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use weir_config::plan::ProxyProtocolOut;
use weir_net::{Socket, Stream, connect_first};
use weir_wire::proxy::{self, Command, Endpoints};

use crate::state::Endpoint;
use crate::worker::{Done, LocalPool, LocalServer, Room, ServerConnection, Worker, is_shortage};

/// Client and destination addresses for a PROXY header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProxiedClient {
    pub(crate) source: SocketAddr,
    pub(crate) destination: SocketAddr,
}

/// Maximum time to wait until other workers close something. They do so between two events.
const ROOM_PATIENCE: Duration = Duration::from_millis(200);

/// Reason why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// The server's name has never been resolved.
    Unresolved,
    /// No address could be connected to; the cause is that of the last one.
    Connect(io::Error),
    /// The server was not contacted, because this process has run out of descriptors or memory.
    Exhausted(io::Error),
    /// The PROXY header could not be sent.
    ProxyHeader(io::Error),
    /// The TLS handshake failed.
    Tls(io::Error),
}

/// Opens a connection to `server`, with TLS and a PROXY header if its pool requires them. Of several
/// addresses, takes the first that accepts. If no descriptor is left, closes idle connections. The caller
/// limits the time.
pub(crate) async fn connect(
    worker: Rc<Worker>,
    pool: Rc<LocalPool>,
    server: Rc<LocalServer>,
    client: Option<ProxiedClient>,
) -> Result<ServerConnection, ConnectError> {
    // Limited, so that waiting for a descriptor does not look like a slow server.
    let patience = ROOM_PATIENCE.min(pool.shared.plan.timeouts.connect.duration() / 2);
    let mut room = Room::new(Rc::clone(&worker), patience);
    let (started, opened) = loop {
        let started = Instant::now();
        match open(&worker, &pool, &server, client).await {
            Err(ConnectError::Exhausted(why)) if room.make(&why).await => {}
            opened => break (started, opened),
        }
    };
    match &opened {
        Ok(_) => server.note(Done::Connected(started.elapsed())),
        Err(ConnectError::Exhausted(_)) => {}
        Err(_) => server.counters().connect_errors.one(),
    }
    opened
}

async fn open(
    worker: &Worker,
    pool: &LocalPool,
    server: &LocalServer,
    client: Option<ProxiedClient>,
) -> Result<ServerConnection, ConnectError> {
    if let Some((address, whereabouts)) = server.direct_address() {
        let mut socket = Socket::connect_tcp(address).await.map_err(ConnectError::of)?;
        worker.opened(&socket);
        introduce(pool, &mut socket, client).await?;
        return Ok(ServerConnection::new(Stream::Plain(socket), whereabouts));
    }
    let whereabouts = server.shared.whereabouts();
    let endpoint = server.shared.endpoint();
    let mut socket = match &*endpoint {
        Endpoint::Unresolved => return Err(ConnectError::Unresolved),
        Endpoint::Unix(path) => Socket::connect_unix(path).await.map_err(ConnectError::of)?,
        Endpoint::Inet(addresses) => {
            // A single address needs no rotation, and all workers would write to the counter for it.
            let first = if addresses.len() > 1 { server.shared.next_rotation() } else { 0 };
            let addresses = rotated(addresses, first);
            connect_first(addresses).await.map_err(ConnectError::of)?
        }
    };
    worker.opened(&socket);
    introduce(pool, &mut socket, client).await?;
    let Some(connector) = server.shared.connector() else {
        if let Endpoint::Inet(addresses) = &*endpoint
            && let [only] = addresses[..]
        {
            server.note_direct_address(whereabouts, only);
        }
        return Ok(ServerConnection::new(Stream::Plain(socket), whereabouts));
    };
    let mut encrypted =
        connector.connect(socket).map_err(|error| ConnectError::Tls(io::Error::other(error)))?;
    poll_fn(|cx| encrypted.poll_handshake(cx)).await.map_err(ConnectError::Tls)?;
    Ok(ServerConnection::new(Stream::Tls(Box::new(encrypted)), whereabouts))
}

/// Sends the PROXY header, if the pool requires one.
async fn introduce(
    pool: &LocalPool,
    socket: &mut Socket,
    client: Option<ProxiedClient>,
) -> Result<(), ConnectError> {
    let Some(version) = pool.shared.plan.proxy_protocol else { return Ok(()) };
    write_all(socket, &proxy_header(version, client)).await.map_err(ConnectError::ProxyHeader)
}

/// Iterates over the addresses, beginning with a different one each time.
fn rotated(addresses: &[SocketAddr], rotation: usize) -> impl Iterator<Item = SocketAddr> {
    let (later, sooner) = addresses.split_at(rotation % addresses.len().max(1));
    sooner.iter().chain(later).copied()
}

fn proxy_header(version: ProxyProtocolOut, client: Option<ProxiedClient>) -> Vec<u8> {
    let command = match client {
        Some(client) => {
            Command::Proxy(Endpoints::Inet { source: client.source, destination: client.destination })
        }
        None => Command::Local,
    };
    let mut header = Vec::with_capacity(128);
    match version {
        ProxyProtocolOut::V1 => proxy::write_v1(&mut header, &command),
        ProxyProtocolOut::V2 => proxy::write_v2(&mut header, &command),
    }
    header
}

async fn write_all(stream: &mut Socket, bytes: &[u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = poll_fn(|cx| stream.poll_write(cx, rest)).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        rest = &rest[written..];
    }
    Ok(())
}

impl ConnectError {
    fn of(cause: io::Error) -> Self {
        if is_shortage(&cause) { Self::Exhausted(cause) } else { Self::Connect(cause) }
    }

    /// Returns true if the error is a local shortage and says nothing about the server.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Exhausted(_))
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved => f.write_str("name not resolved"),
            Self::Connect(cause) | Self::Exhausted(cause) => write!(f, "connect: {cause}"),
            Self::ProxyHeader(cause) => write!(f, "PROXY header: {cause}"),
            Self::Tls(cause) => write!(f, "TLS handshake: {cause}"),
        }
    }
}
