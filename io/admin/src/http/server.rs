//! The server of the admin HTTP interface.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use weir_model::BindAddress;

use super::door::Door;
use super::memory::Memory;
use super::places::{Place, Places};
use super::respond::respond;
use crate::Handler;

/// Maximum time from the start of a request to the end of its head, and between requests.
const HEAD_MAX: Duration = Duration::from_secs(15);

/// Maximum time of a whole connection, so that a client that does not read its response is closed.
const CONNECTION_MAX: Duration = Duration::from_secs(300);

/// Maximum size of a head; requests to this interface are short.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Pause after a failed accept (no descriptors left), so that the thread does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The admin HTTP interface of a running Weir.
#[derive(Debug)]
pub struct AdminHttp {
    listeners: Vec<Listener>,
}

#[derive(Debug)]
enum Listener {
    Tcp(std::net::TcpListener),
    /// A Unix socket and its file, which is removed with it.
    Unix(std::os::unix::net::UnixListener, SocketFile),
}

#[derive(Debug)]
struct SocketFile(PathBuf);

/// State that all connections share.
pub(super) struct Face {
    pub(super) handler: Arc<dyn Handler>,
    pub(super) door: Door,
    pub(super) memory: Memory,
    places: Arc<Places>,
}

impl AdminHttp {
    /// Listens on every address. Errors name the address.
    pub fn bind(addresses: &[BindAddress]) -> io::Result<Self> {
        let bind = |address: &BindAddress| {
            let named = |cause: io::Error| io::Error::new(cause.kind(), format!("admin, {address}: {cause}"));
            Listener::bind(address).map_err(named)
        };
        addresses.iter().map(bind).collect::<io::Result<_>>().map(|listeners| Self { listeners })
    }

    /// Returns the TCP addresses, for callers that bound port 0.
    pub fn local_addresses(&self) -> Vec<std::net::SocketAddr> {
        let tcp = self.listeners.iter().filter_map(|listener| match listener {
            Listener::Tcp(tcp) => tcp.local_addr().ok(),
            Listener::Unix(..) => None,
        });
        tcp.collect()
    }

    /// Answers admitted clients until the future is dropped. Must run on a Tokio runtime with I/O and time.
    pub async fn serve(self, handler: Arc<dyn Handler>, door: Door) -> io::Result<()> {
        let places = Arc::new(Places::default());
        let face = Arc::new(Face { handler, door, memory: Memory::new(Arc::clone(&places)), places });
        let mut acceptors = JoinSet::new();
        for listener in self.listeners {
            acceptors.spawn(listener.accept_all(Arc::clone(&face)));
        }
        while let Some(ended) = acceptors.join_next().await {
            ended.map_err(io::Error::other)??;
        }
        Ok(())
    }
}

impl Listener {
    fn bind(address: &BindAddress) -> io::Result<Self> {
        match address {
            BindAddress::Inet(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Ok(Self::Tcp(listener))
            }
            BindAddress::Unix(path) => {
                remove_dead_socket(path);
                let listener = std::os::unix::net::UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok(Self::Unix(listener, SocketFile(path.clone())))
            }
        }
    }

    async fn accept_all(self, face: Arc<Face>) -> io::Result<()> {
        let mut connections = JoinSet::new();
        match self {
            Self::Tcp(listener) => {
                let listener = TcpListener::from_std(listener)?;
                loop {
                    match listener.accept().await {
                        Ok((stream, peer)) => face.take(stream, Some(peer.ip()), &mut connections),
                        Err(_) => pause_after_failure().await,
                    }
                }
            }
            Self::Unix(listener, _file) => {
                let listener = UnixListener::from_std(listener)?;
                loop {
                    match listener.accept().await {
                        Ok((stream, _)) => face.take(stream, None, &mut connections),
                        Err(_) => pause_after_failure().await,
                    }
                }
            }
        }
    }
}

impl Face {
    /// Serves an accepted connection in its own task. `client`: `None` = through a Unix socket.
    fn take<S>(self: &Arc<Self>, stream: S, client: Option<IpAddr>, connections: &mut JoinSet<()>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        while connections.try_join_next().is_some() {}
        if !self.door.admits(client) {
            return;
        }
        let Some(place) = self.places.take(client) else { return };
        let (face, place) = (Arc::clone(self), Arc::new(place));
        connections.spawn(async move {
            tokio::select! {
                () = place.evicted() => {}
                () = face.serve(stream, client, &place) => {}
            }
        });
    }

    async fn serve<S>(self: &Arc<Self>, stream: S, client: Option<IpAddr>, place: &Arc<Place>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let service = service_fn(|request| {
            let (face, place) = (Arc::clone(self), Arc::clone(place));
            async move { Ok::<_, Infallible>(respond(request, client, &face, &place).await) }
        });
        // A Unix socket needs no TLS, because its traffic stays within the machine.
        let tls = self.door.tls.as_ref().filter(|_| client.is_some());
        let Some(tls) = tls else { return serve_connection(stream, service).await };
        // A failed handshake concerns only its client.
        if let Ok(Ok(stream)) = timeout(HEAD_MAX, TlsAcceptor::from(tls.config()).accept(stream)).await {
            serve_connection(stream, service).await;
        }
    }
}

/// Answers the requests of one connection, with limits of time and memory.
pub(super) async fn serve_connection<S, V>(stream: S, service: V)
where
    S: AsyncRead + AsyncWrite + Unpin,
    V: Service<Request<Incoming>, Response = Response<Full<Bytes>>, Error = Infallible>,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // An aborted connection concerns only its client.
    let _ = timeout(CONNECTION_MAX, connection).await;
}

/// Pauses after a failed accept (no descriptors left), so that the thread does not spin.
pub(super) async fn pause_after_failure() {
    sleep(ACCEPT_PAUSE).await;
}

/// Removes the socket file of a dead process, on which connections are refused.
fn remove_dead_socket(path: &std::path::Path) {
    let refused = std::os::unix::net::UnixStream::connect(path)
        .is_err_and(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    if refused {
        let _ = std::fs::remove_file(path);
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
