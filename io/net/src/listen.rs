//! Listening sockets.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::{SocketFlags, accept_with, acceptfrom_with};
use socket2::{Domain, Protocol, SockAddr, SockFilter, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use weir_model::BindAddress;

use crate::{Peer, Socket};

/// Options of a listening socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenOptions {
    /// Length of the kernel's queue of connections that are not accepted yet.
    pub backlog: u32,
    /// Set to accept a connection only once its first bytes have arrived. Must not be set for protocols in
    /// which the server speaks first.
    pub wait_for_data: bool,
}

/// A helper that binds addresses for which this process lacks the permission.
pub trait Binder: fmt::Debug + Send + Sync {
    /// Binds a socket of this process.
    ///
    /// # Errors
    /// If bind(2) fails.
    fn bind(&self, socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()>;
}

/// A listening socket that is not attached to a worker yet.
#[derive(Debug)]
pub struct ListenSocket {
    socket: RawSocket,
    address: BindAddress,
}

/// A listening socket attached to its worker.
#[derive(Debug)]
pub struct Listener {
    socket: AsyncFd<RawSocket>,
    is_tcp: bool,
}

/// Error of a listening socket.
#[derive(Debug)]
pub struct ListenError {
    /// Address of the socket.
    pub address: BindAddress,
    /// Cause of the error.
    pub cause: io::Error,
}

impl ListenOptions {
    fn backlog(self) -> i32 {
        i32::try_from(self.backlog).unwrap_or(i32::MAX)
    }

    /// Linux ignores the last ACK of a handshake for about this time if it carries no data.
    fn defer_time(self) -> Duration {
        if self.wait_for_data { Duration::from_secs(1) } else { Duration::ZERO }
    }
}

impl ListenSocket {
    /// Binds `address` and listens. TCP sockets share their port with those of the other workers
    /// (SO_REUSEPORT), so the kernel distributes connections without a lock. `binder` binds addresses for
    /// which this process lacks the permission.
    pub fn open(
        address: &BindAddress,
        options: ListenOptions,
        binder: Option<&dyn Binder>,
    ) -> Result<Self, ListenError> {
        let opened = match address {
            BindAddress::Inet(address) => open_tcp(*address, options, binder).map(|socket| {
                let actual = socket.local_addr().ok().and_then(|local| local.as_socket()).unwrap_or(*address);
                (socket, BindAddress::Inet(actual))
            }),
            BindAddress::Unix(path) => open_unix(path, options).map(|socket| (socket, address.clone())),
        };
        opened
            .map(|(socket, address)| Self { socket, address })
            .map_err(|cause| ListenError { address: address.clone(), cause })
    }

    /// Returns a second handle of the same socket. Unix sockets need it, because only one socket can bind a
    /// path.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, address: self.address.clone() })
    }

    /// Returns the bound address. Port 0 is replaced by the port that the kernel chose.
    pub fn address(&self) -> &BindAddress {
        &self.address
    }

    /// Takes over a listening socket that another process opened.
    pub fn from_fd(fd: OwnedFd, address: BindAddress) -> Self {
        Self { socket: RawSocket::from(fd), address }
    }

    /// Attaches the socket to the worker of the calling thread.
    #[allow(unsafe_code)]
    pub fn into_listener(self) -> io::Result<Listener> {
        let is_tcp = matches!(self.address, BindAddress::Inet(_));
        // SAFETY: the registration owns the socket, which keeps its descriptor until it is dropped.
        let socket = unsafe { AsyncFd::register_with_interest(self.socket, Interest::READABLE) };
        Ok(Listener { socket: socket.map_err(io::Error::from)?, is_tcp })
    }
}

/// Returns true if a process listens there already, even if the port could be shared (with a process of the
/// same user that permits it). Returns false for port 0, and if this cannot be determined.
pub fn is_listened_on(address: SocketAddr) -> bool {
    let bind = || {
        let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // Connections in TIME_WAIT do not count.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())
    };
    address.port() != 0 && bind().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

impl Listener {
    /// Accepts the next connection.
    pub async fn accept(&self) -> io::Result<(Socket, Peer)> {
        loop {
            let mut ready = self.socket.readable().await?;
            match self.try_accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if ready.ready().is_read_closed() {
                        // Another worker has shut down the shared socket. No connection comes any more, and
                        // the readiness cannot be cleared.
                        drop(ready);
                        return std::future::pending().await;
                    }
                    ready.clear_ready();
                }
                accepted => return accepted,
            }
        }
    }

    /// Accepts a queued connection without waiting; `None` = the queue is empty. Call it before closing a
    /// listening socket, so that clients with a complete handshake get no reset.
    pub fn accept_queued(&self) -> io::Result<Option<(Socket, Peer)>> {
        match self.try_accept() {
            Ok(accepted) => Ok(Some(accepted)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes the options of the open socket. Queued connections stay queued.
    pub fn adjust(&self, options: ListenOptions) -> io::Result<()> {
        let socket = self.socket.get_ref();
        if self.is_tcp {
            set_defer_accept(socket, options.defer_time())?;
        }
        // On a listening socket this call only changes the length of the queue.
        socket.listen(options.backlog())
    }

    /// Accepts connections from now on even if they have sent no data. Otherwise the kernel hides those
    /// connections and drops them with the socket. Connections that are hidden now appear when the kernel
    /// repeats its SYN-ACK, one second after the first.
    pub fn show_silent(&self) -> io::Result<()> {
        if self.is_tcp { set_defer_accept(self.socket.get_ref(), Duration::ZERO) } else { Ok(()) }
    }

    /// Returns true if connections may exist that [`Listener::accept_queued`] does not see, because their
    /// handshake is not complete.
    pub fn has_handshakes(&self) -> bool {
        self.is_tcp
    }

    /// Stops new connections. The kernel ignores further SYNs of TCP clients, which repeat them after a
    /// second at the earliest; a Unix socket refuses. Handshakes in progress complete and come out of
    /// [`Listener::accept`]. Call this before closing a listening socket: the kernel resets the connections
    /// that are left in it.
    pub fn hear_no_more(&self) -> io::Result<()> {
        let socket = self.socket.get_ref();
        if self.is_tcp { socket.attach_filter(&NO_SYN) } else { socket.shutdown(Shutdown::Read) }
    }

    fn try_accept(&self) -> io::Result<(Socket, Peer)> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        if !self.is_tcp {
            let fd = accept_with(self.socket.get_ref(), flags)?;
            return Ok((Socket::from_unix(fd), Peer::Local));
        }
        let (fd, address) = acceptfrom_with(self.socket.get_ref(), flags)?;
        let address = address.and_then(|address| SocketAddr::try_from(address).ok());
        let peer = address.map_or(Peer::Local, |address| Peer::Inet(unmap(address)));
        Ok((Socket::from_tcp(fd), peer))
    }
}

/// Program for the kernel's packet filter (classic BPF). Drops packets that begin a connection (SYN without
/// ACK) and passes all others. For TCP sockets a packet begins at its TCP header; byte 13 holds the flags.
const NO_SYN: [SockFilter; 5] = {
    const SYN: u32 = 0x02;
    const ACK: u32 = 0x10;
    const LOAD_BYTE: u16 = (libc::BPF_LD | libc::BPF_B | libc::BPF_ABS) as u16;
    const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
    const SKIP_UNLESS_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const KEEP_BYTES: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    [
        SockFilter::new(LOAD_BYTE, 0, 0, 13),
        SockFilter::new(AND, 0, 0, SYN | ACK),
        SockFilter::new(SKIP_UNLESS_EQUAL, 0, 1, SYN),
        SockFilter::new(KEEP_BYTES, 0, 0, 0),
        SockFilter::new(KEEP_BYTES, 0, 0, u32::MAX),
    ]
};

/// Converts `::ffff:a.b.c.d` to `a.b.c.d`. A listener on `[::]` sees IPv4 clients in the first form.
fn unmap(peer: SocketAddr) -> SocketAddr {
    match peer.ip() {
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => SocketAddr::new(IpAddr::V4(ip), peer.port()),
            None => peer,
        },
        IpAddr::V4(_) => peer,
    }
}

fn open_tcp(
    address: SocketAddr,
    options: ListenOptions,
    binder: Option<&dyn Binder>,
) -> io::Result<RawSocket> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.ip() == IpAddr::from(std::net::Ipv6Addr::UNSPECIFIED) {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    // Accepted sockets inherit this option, which saves one call for each.
    socket.set_tcp_nodelay(true)?;
    if options.wait_for_data {
        set_defer_accept(&socket, options.defer_time())?;
    }
    match (socket.bind(&SockAddr::from(address)), binder) {
        (Err(error), Some(binder)) if error.kind() == io::ErrorKind::PermissionDenied => {
            binder.bind(socket.as_fd(), address)?
        }
        (bound, _) => bound?,
    }
    socket.listen(options.backlog())?;
    Ok(socket)
}

/// Sets TCP_DEFER_ACCEPT (tcp(7)), which neither rustix nor socket2 offers.
#[allow(unsafe_code)]
fn set_defer_accept(socket: &RawSocket, wait: Duration) -> io::Result<()> {
    let seconds = libc::c_int::try_from(wait.as_secs()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open for as long as `socket` is borrowed; the value is a live c_int and its
    // size is the one passed.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn open_unix(path: &Path, options: ListenOptions) -> io::Result<RawSocket> {
    remove_stale_socket(path)?;
    let socket = RawSocket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(options.backlog())?;
    Ok(socket)
}

/// Removes a socket file without a listener, because it would prevent the next start. Leaves any other file.
fn remove_stale_socket(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is not a socket is in the way"))
        }
        Ok(_) => match StdUnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
            Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
            Err(error) => Err(error),
        },
    }
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "listen on {}: {}", self.address, self.cause)
    }
}

impl std::error::Error for ListenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}
