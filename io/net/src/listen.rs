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

/// How a listening socket is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenOptions {
    /// The kernel's queue of connections not yet accepted.
    pub backlog: u32,
    /// A connection is reported only once its first bytes are there. Never where the server speaks first.
    pub wait_for_data: bool,
}

/// Binds addresses that this process may not bind itself.
pub trait Binder: fmt::Debug + Send + Sync {
    /// Binds a socket of this process.
    ///
    /// # Errors
    /// Those of bind(2).
    fn bind(&self, socket: BorrowedFd<'_>, address: SocketAddr) -> io::Result<()>;
}

/// A bound and listening socket that is not yet attached to a worker.
#[derive(Debug)]
pub struct ListenSocket {
    socket: RawSocket,
    address: BindAddress,
}

/// A listening socket on its worker.
#[derive(Debug)]
pub struct Listener {
    socket: AsyncFd<RawSocket>,
    is_tcp: bool,
}

/// An address that could not be listened on.
#[derive(Debug)]
pub struct ListenError {
    /// The address.
    pub address: BindAddress,
    /// Why.
    pub cause: io::Error,
}

impl ListenOptions {
    fn backlog(self) -> i32 {
        i32::try_from(self.backlog).unwrap_or(i32::MAX)
    }

    /// Linux: the handshake's last ACK is ignored for about this long if no data comes with it.
    fn defer_time(self) -> Duration {
        if self.wait_for_data { Duration::from_secs(1) } else { Duration::ZERO }
    }
}

impl ListenSocket {
    /// Binds `address` and listens. TCP sockets share their port with the other workers' (SO_REUSEPORT), so the
    /// kernel spreads connections over workers without a lock. What this process may not bind, `binder` does.
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

    /// A second handle on the same socket (not a second socket): for Unix sockets, whose path only one can bind.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { socket: self.socket.try_clone()?, address: self.address.clone() })
    }

    /// What it is bound to; a port 0 has become the port that the kernel chose.
    pub fn address(&self) -> &BindAddress {
        &self.address
    }

    /// Takes over a listening socket that another process opened.
    pub fn from_fd(fd: OwnedFd, address: BindAddress) -> Self {
        Self { socket: RawSocket::from(fd), address }
    }

    /// Attaches it to the worker of the calling thread.
    #[allow(unsafe_code)]
    pub fn into_listener(self) -> io::Result<Listener> {
        let is_tcp = matches!(self.address, BindAddress::Inet(_));
        // SAFETY: the registration owns the socket, which keeps its descriptor until it is dropped.
        let socket = unsafe { AsyncFd::register_with_interest(self.socket, Interest::READABLE) };
        Ok(Listener { socket: socket.map_err(io::Error::from)?, is_tcp })
    }
}

/// Whether somebody listens there already, be it that the port could be shared (a process of the same user that permits it).
/// `false` if it cannot be found out, and for port 0.
pub fn is_listened_on(address: SocketAddr) -> bool {
    let bind = || {
        let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        // Connections that linger in TIME_WAIT are nobody.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())
    };
    address.port() != 0 && bind().is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

impl Listener {
    /// The next connection.
    pub async fn accept(&self) -> io::Result<(Socket, Peer)> {
        loop {
            let mut ready = self.socket.readable().await?;
            match self.try_accept() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if ready.ready().is_read_closed() {
                        // Another worker has shut the socket that both have: nobody comes any more, and that cannot be cleared.
                        drop(ready);
                        return std::future::pending().await;
                    }
                    ready.clear_ready();
                }
                accepted => return accepted,
            }
        }
    }

    /// Accepts what the kernel has queued already, without waiting: before a listening socket is closed, so that
    /// nobody whose handshake is complete gets a reset. `None` = the queue is empty.
    pub fn accept_queued(&self) -> io::Result<Option<(Socket, Peer)>> {
        match self.try_accept() {
            Ok(accepted) => Ok(Some(accepted)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Changes the options of the open socket. What is queued stays queued.
    pub fn adjust(&self, options: ListenOptions) -> io::Result<()> {
        let socket = self.socket.get_ref();
        if self.is_tcp {
            set_defer_accept(socket, options.defer_time())?;
        }
        // On a socket that listens already this only changes the length of the queue.
        socket.listen(options.backlog())
    }

    /// Reports connections from now on whether they have sent anything or not: the kernel hides those that have not, and
    /// drops them with the socket. Those that it hides now come when it repeats its SYN-ACK, a second after the first.
    pub fn show_silent(&self) -> io::Result<()> {
        if self.is_tcp { set_defer_accept(self.socket.get_ref(), Duration::ZERO) } else { Ok(()) }
    }

    /// Whether connections may be on their way that [`Listener::accept_queued`] does not see: handshakes that are not over.
    pub fn has_handshakes(&self) -> bool {
        self.is_tcp
    }

    /// From now on nobody new can begin to connect: a SYN is not answered (its client repeats it, for the first time a second
    /// later, and has not connected), a Unix socket refuses. Who has begun before still gets through, and comes out of
    /// [`Listener::accept`]. Before a listening socket is closed, so that nobody is left in it: the kernel resets those.
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

/// A program for the kernel's packet filter (classic BPF): drops what begins a connection, SYN without ACK, and lets all else
/// pass. For TCP sockets a packet begins at its TCP header, the flags of which are in byte 13.
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

/// A listener on `[::]` sees IPv4 clients as `::ffff:a.b.c.d`; everyone else means `a.b.c.d`.
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
    // Accepted sockets inherit it, which saves a call for each.
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

/// TCP_DEFER_ACCEPT (tcp(7)), which neither rustix nor socket2 offers.
#[allow(unsafe_code)]
fn set_defer_accept(socket: &RawSocket, wait: Duration) -> io::Result<()> {
    let seconds = libc::c_int::try_from(wait.as_secs()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the descriptor is open for as long as `socket` is borrowed; the value is a live c_int and its size is
    // the one passed.
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

/// A socket file on which nobody listens any more stands in the way of the next start; any other file is not ours.
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
