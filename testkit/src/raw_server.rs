//! A server that tests control byte by byte.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::SockRef;

use crate::peer::{Message, Peer};
use crate::stream::Stream;
use crate::wait::{PATIENCE, wait_until};

/// A server that handles each connection exactly as the test specifies, on its own thread, and records the
/// received bytes. Dropping it kills it, and panics if a handler has panicked.
#[derive(Debug)]
pub struct RawServer {
    address: Option<SocketAddr>,
    shared: Arc<Shared>,
    listener: Arc<Listener>,
    acceptor: Option<JoinHandle<()>>,
}

/// One step of a [`RawServer::script`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Reads up to and including an empty line.
    ReadHead,
    /// Reads a request with its body.
    ReadRequest,
    /// Reads this number of bytes.
    Read(usize),
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes one by one, with this interval between them.
    SendSlowly(Vec<u8>, Duration),
    /// Sends a FIN.
    HalfClose,
    /// Makes the connection end with a reset.
    Reset,
    /// Reads without a response until the other side ends the connection.
    Hold,
}

#[derive(Debug, Default)]
struct Shared {
    connections: Mutex<Vec<Connection>>,
    failures: Mutex<Vec<String>>,
    ending: AtomicBool,
}

#[derive(Debug)]
struct Connection {
    /// Weak, so that the socket closes when its handler returns.
    stream: Weak<Stream>,
    record: Arc<Mutex<Vec<u8>>>,
    /// Set once the socket is closed.
    closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl RawServer {
    /// Accepts on a free port of 127.0.0.1 and passes each connection to `handler`.
    pub fn start(handler: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), handler)
    }

    /// Accepts on that address, for a restarted server or one on IPv6.
    ///
    /// # Panics
    /// If the address is taken.
    #[track_caller]
    pub fn start_on(
        address: SocketAddr,
        handler: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        // The standard library sets SO_REUSEADDR.
        let listener = TcpListener::bind(address).unwrap_or_else(|cause| panic!("bind {address}: {cause}"));
        let address = listener.local_addr().expect("bound");
        Self::with_listener(Some(address), Listener::Tcp(listener), handler)
    }

    /// Accepts on a Unix socket.
    ///
    /// # Panics
    /// If the path cannot be bound.
    #[track_caller]
    pub fn start_on_unix(
        path: &Path,
        handler: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener =
            UnixListener::bind(path).unwrap_or_else(|cause| panic!("bind {}: {cause}", path.display()));
        Self::with_listener(None, Listener::Unix(listener), handler)
    }

    /// Responds to every request with a 200 and this body. Connections are kept alive.
    pub fn answering(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self::responding(move |_| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            [head.as_bytes(), &body].concat()
        })
    }

    /// Responds to every request with the bytes that `respond` returns. Connections are kept alive.
    pub fn responding(respond: impl Fn(&Message) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(move |peer| {
            loop {
                let request = match peer.request() {
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                    request => request?,
                };
                peer.send(respond(&request))?;
            }
        })
    }

    /// Runs the same steps on each connection, then closes it.
    pub fn script(steps: impl Into<Vec<Step>>) -> Self {
        let steps = steps.into();
        Self::start(move |peer| steps.iter().try_for_each(|step| step.play(peer)))
    }

    /// Accepts connections and never sends anything.
    pub fn silent() -> Self {
        Self::start(|peer| {
            peer.hold();
            Ok(())
        })
    }

    fn with_listener(
        address: Option<SocketAddr>,
        listener: Listener,
        handler: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let (shared, listener, handler) =
            (Arc::new(Shared::default()), Arc::new(listener), Arc::new(handler));
        let acceptor = {
            let (shared, listener) = (Arc::clone(&shared), Arc::clone(&listener));
            thread::spawn(move || {
                while let Ok(stream) = listener.accept() {
                    if shared.ending.load(Ordering::SeqCst) {
                        break;
                    }
                    shared.serve(stream, Arc::clone(&handler));
                }
            })
        };
        Self { address, shared, listener, acceptor: Some(acceptor) }
    }

    /// Returns the address that it listens on.
    ///
    /// # Panics
    /// If it listens on a Unix socket.
    pub fn addr(&self) -> SocketAddr {
        self.address.expect("on a TCP address")
    }

    /// Returns the number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.shared.connections().len()
    }

    /// Returns all bytes received so far on connection `number`, from 0; none if there is no such connection.
    pub fn received(&self, number: usize) -> Vec<u8> {
        let connections = self.shared.connections();
        connections.get(number).map_or_else(Vec::new, |connection| lock(&connection.record).clone())
    }

    /// Returns all bytes received so far, connection after connection.
    pub fn received_in_all(&self) -> Vec<u8> {
        let connections = self.shared.connections();
        connections.iter().flat_map(|connection| lock(&connection.record).clone()).collect()
    }

    /// Waits until `count` connections were accepted.
    ///
    /// # Panics
    /// If they do not arrive in time.
    #[track_caller]
    pub fn wait_for_connections(&self, count: usize) {
        wait_until(&format!("{count} connections"), PATIENCE, || self.connections() >= count);
    }

    /// Waits until connection `number` has received at least `count` bytes. Returns all that it has received.
    ///
    /// # Panics
    /// If they do not arrive in time.
    #[track_caller]
    pub fn wait_for_bytes(&self, number: usize, count: usize) -> Vec<u8> {
        let what = format!("{count} bytes on connection {number}");
        wait_until(&what, PATIENCE, || self.received(number).len() >= count);
        self.received(number)
    }

    /// Waits until connection `number` is closed because its handler has returned, for example when the other
    /// side has left.
    ///
    /// # Panics
    /// If that does not happen in time.
    #[track_caller]
    pub fn wait_for_end(&self, number: usize) {
        wait_until(&format!("the end of connection {number}"), PATIENCE, || {
            self.shared.connections().get(number).is_some_and(Connection::is_closed)
        });
    }

    /// Returns the number of open connections.
    pub fn connections_open(&self) -> usize {
        self.shared.connections().iter().filter(|connection| !connection.is_closed()).count()
    }

    /// Returns the errors that handlers have returned so far.
    pub fn failures(&self) -> Vec<String> {
        lock(&self.shared.failures).clone()
    }

    /// Closes the port. Open connections continue.
    pub fn stop_accepting(&mut self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        self.listener.wake();
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().expect("acceptor");
        }
        self.listener = Arc::new(Listener::Tcp(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind")));
    }

    /// Ends as a killed process does: the port closes, and open connections are reset.
    pub fn kill(self) {
        drop(self);
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        self.listener.wake();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let connections = std::mem::take(&mut *self.shared.connections());
        for connection in &connections {
            if let Some(stream) = connection.stream.upgrade() {
                stream.reset_on_close();
                // Ends a read that is waiting, without a FIN.
                let _ = stream.shutdown(Shutdown::Read);
            }
        }
        let mut panicked = false;
        for thread in connections.into_iter().filter_map(|connection| connection.thread) {
            panicked |= thread.join().is_err();
        }
        assert!(!panicked || thread::panicking(), "a handler of the server panicked");
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Vec<Connection>> {
        lock(&self.connections)
    }

    fn serve(
        self: &Arc<Self>,
        stream: Stream,
        handler: Arc<impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static>,
    ) {
        stream.set_timeout(PATIENCE * 3).expect("SO_RCVTIMEO");
        let (stream, record) = (Arc::new(stream), Arc::default());
        let weak = Arc::downgrade(&stream);
        let mut connections = self.connections();
        let peer = Peer::new(stream, connections.len(), Arc::clone(&record));
        let shared = Arc::clone(self);
        let closed = Arc::new(AtomicBool::new(false));
        let tell = Closes(Arc::clone(&closed));
        let thread = thread::spawn(move || {
            // Dropped after `peer`, also if the handler panics.
            let _tell = tell;
            let mut peer = peer;
            let number = peer.number();
            if let Err(cause) = handler(&mut peer) {
                lock(&shared.failures).push(format!("connection {number}: {cause}"));
            }
        });
        connections.push(Connection { stream: weak, record, closed, thread: Some(thread) });
    }
}

impl Connection {
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}

/// Marks a connection as closed when it is dropped.
struct Closes(Arc<AtomicBool>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Step {
    fn play(&self, peer: &mut Peer) -> io::Result<()> {
        match self {
            Self::ReadHead => peer.head().map(drop),
            Self::ReadRequest => peer.request().map(drop),
            Self::Read(count) => peer.take(*count).map(drop),
            Self::Send(bytes) => peer.send(bytes),
            Self::SendSlowly(bytes, interval) => peer.send_slowly(bytes, *interval),
            Self::HalfClose => peer.half_close(),
            Self::Reset => {
                peer.reset();
                Ok(())
            }
            Self::Hold => {
                peer.hold();
                Ok(())
            }
        }
    }
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }),
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }

    /// Ends an accept that is waiting: on Linux it fails with EINVAL then.
    fn wake(&self) {
        let fd = match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener) => listener.as_fd(),
        };
        let _ = SockRef::from(&fd).shutdown(Shutdown::Both);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
