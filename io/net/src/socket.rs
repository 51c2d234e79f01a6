//! Connected stream sockets.

use std::cell::{Cell, OnceCell};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};
use socket2::{Domain, Protocol, SockAddr, Socket as RawSocket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::task::coop;

use crate::counting;
use crate::tls::RawIo;

/// A connected stream socket. Only this type knows which reactor wakes it.
///
/// The socket is registered with the reactor when it must wait for the first time. If the request is there at
/// accept and the client takes the whole response, no call to epoll is needed.
#[derive(Debug)]
pub struct Socket {
    // Must be dropped before the descriptor is closed.
    watch: OnceCell<AsyncFd<RawFd>>,
    fd: OwnedFd,
    kind: Kind,
    untold: Cell<Untold>,
    /// Set when the next write must ask the kernel for room. Either [`Self::is_broken`] consumed the write
    /// event, so none may come before the next write, or the caller doubts that the socket is full.
    room_untold: Cell<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Unix,
}

/// Readable input for which no further event will come. Later input causes events as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Untold {
    Nothing,
    /// At least one byte, the number that the kernel reported after a read.
    Bytes(u16),
    /// The counted bytes were read together with later ones. The event for the later ones may still come, and
    /// more input may be there already. Only the kernel knows.
    Unknown,
}

/// Peer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// TCP address.
    Inet(SocketAddr),
    /// Peer on a Unix socket, which has no address.
    Local,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// Result of one call to the kernel.
pub(crate) enum Step<T> {
    /// Done; more may be possible.
    More(T),
    /// Done, and the socket is now empty (or full). The next call can wait for an event.
    Last(T),
    /// Done, with this number of bytes left to read. After those, the next call can wait for an event.
    Counted(T, u16),
}

impl Socket {
    /// Takes over a connected, non-blocking TCP socket.
    pub fn from_tcp(fd: OwnedFd) -> Self {
        Self::new(fd, Kind::Tcp)
    }

    /// Takes over a connected, non-blocking Unix socket.
    pub fn from_unix(fd: OwnedFd) -> Self {
        Self::new(fd, Kind::Unix)
    }

    fn new(fd: OwnedFd, kind: Kind) -> Self {
        let (untold, room_untold) = (Cell::new(Untold::Nothing), Cell::new(false));
        Self { watch: OnceCell::new(), fd, kind, untold, room_untold }
    }

    /// Connects to a TCP address and disables Nagle's algorithm.
    pub async fn connect_tcp(address: SocketAddr) -> io::Result<Self> {
        let socket =
            RawSocket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        Self::connect(socket, &SockAddr::from(address), Self::from_tcp).await
    }

    /// Connects to a Unix socket.
    pub async fn connect_unix(path: &Path) -> io::Result<Self> {
        let socket = RawSocket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
        Self::connect(socket, &SockAddr::unix(path)?, Self::from_unix).await
    }

    async fn connect(socket: RawSocket, address: &SockAddr, make: fn(OwnedFd) -> Self) -> io::Result<Self> {
        let begun = socket.connect(address);
        let connecting = match &begun {
            Ok(()) => false,
            Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => true,
            Err(_) => return begun.map(|()| make(socket.into())),
        };
        let socket = make(socket.into());
        if connecting {
            let watch = socket.watch()?;
            // The result is available when the socket becomes writable (connect(2), EINPROGRESS).
            drop(watch.writable().await?);
            if let Some(error) = socket2::SockRef::from(&socket).take_error()? {
                return Err(error);
            }
        }
        Ok(socket)
    }

    /// Reads into `buffer`; 0 = the peer has ended its direction. After a short read the next one waits for
    /// an event, which saves a call that finds nothing.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        self.poll_steps(cx, Direction::Read, || {
            let (read, _) = recv(&self.fd, &mut *buffer, RecvFlags::empty())?;
            self.took(read);
            Ok(if read > 0 && read < wanted { Step::Last(read) } else { Step::More(read) })
        })
    }

    /// Makes the kernel report the remaining bytes to [`Self::poll_read_counting`].
    pub fn count_input(&self) {
        if self.kind == Kind::Tcp {
            counting::enable(self.as_fd());
        }
    }

    /// Reads as [`Self::poll_read`] does, and counts the remaining bytes. Once those are read or spliced, the
    /// socket is known to be empty without another call. Counts above 64 KiB are ignored.
    pub fn poll_read_counting(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        self.poll_steps(cx, Direction::Read, || {
            let (read, left) = counting::receive(self.fd.as_fd(), buffer)?;
            self.took(read);
            Ok(match left.map(u16::try_from) {
                // The end of the stream can be read any number of times.
                _ if read == 0 => Step::More(read),
                // The kernel counts after the read, so more input, such as the end, may follow even a short
                // read.
                Some(Ok(left)) => Step::Counted(read, left),
                None if read < wanted => Step::Last(read),
                Some(Err(_)) | None => Step::More(read),
            })
        })
    }

    /// Subtracts read bytes from the counted input.
    pub(crate) fn took(&self, bytes: usize) {
        let Untold::Bytes(counted) = self.untold.get() else { return };
        let left = u16::try_from(bytes).ok().and_then(|bytes| counted.checked_sub(bytes));
        self.untold.set(left.map_or(Untold::Unknown, Untold::counted));
    }

    /// Writes from `bytes`; may write only a part.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, bytes, SendFlags::NOSIGNAL)
    }

    /// Writes as [`Self::poll_write`] does, with more to follow at once (MSG_MORE). The kernel may hold the
    /// bytes for up to 200 ms to send them with the next ones. If nothing follows, call [`Self::push`].
    pub fn poll_write_more(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, bytes, SendFlags::NOSIGNAL | SendFlags::MORE)
    }

    /// Sends the bytes that the kernel holds because of MSG_MORE.
    pub fn push(&self) {
        // The option is on already; setting it again pushes (tcp(7)). If the socket is broken, the next write
        // fails.
        let _ = socket2::SockRef::from(self).set_tcp_nodelay(true);
    }

    fn poll_send(&self, cx: &mut Context<'_>, bytes: &[u8], flags: SendFlags) -> Poll<io::Result<usize>> {
        self.poll_steps(cx, Direction::Write, || {
            let written = send(&self.fd, bytes, flags)?;
            Ok(if written < bytes.len() { Step::Last(written) } else { Step::More(written) })
        })
    }

    /// Writes from several slices with one call to the kernel; may write only a part.
    pub fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Write, || {
            Ok(sendmsg(&self.fd, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
        })
    }

    /// Sends up to `length` bytes of `file` from `offset` on, from the page cache to the socket; 0 = the file
    /// ends there. Blocks the thread if the bytes are not in memory, so the caller must know that they are.
    ///
    /// After fewer bytes the next call waits for an event, because the socket counts as full. If instead the
    /// file has become shorter, no event comes. A caller that has waited long must call [`Self::ask_again`].
    pub fn poll_send_file(
        &self,
        cx: &mut Context<'_>,
        file: BorrowedFd<'_>,
        offset: u64,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        self.poll_steps(cx, Direction::Write, || {
            let mut at = offset;
            let sent = rustix::fs::sendfile(&self.fd, file, Some(&mut at), length)?;
            Ok(if (1..length).contains(&sent) { Step::Last(sent) } else { Step::More(sent) })
        })
    }

    /// Waits while the socket is known to be full, and wakes the task when there is room. Ready if only the
    /// kernel knows.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self.watch.get() {
            Some(watch) if !self.room_untold.get() => watch.poll_write_ready(cx).map(drop),
            _ => Poll::Ready(()),
        }
    }

    /// Makes the next write ask the kernel for room, whatever is known about it.
    pub fn ask_again(&self) {
        self.room_untold.set(true);
    }

    /// Ends the own direction. Bytes already written still arrive.
    pub fn shutdown_write(&self) -> io::Result<()> {
        rustix::net::shutdown(self, rustix::net::Shutdown::Write).map_err(io::Error::from)
    }

    /// Makes the later close a reset: the peer sees an error, not a clean end.
    pub fn reset_on_close(&self) {
        if self.kind == Kind::Tcp {
            // Fails only if the connection is already gone; then no peer needs the reset.
            let _ = socket2::SockRef::from(self).set_linger(Some(Duration::ZERO));
        }
    }

    /// Returns true if the peer's kernel has not confirmed all written bytes.
    pub fn has_undelivered(&self) -> bool {
        self.undelivered_bytes() > 0
    }

    /// Returns the number of written bytes that the peer's kernel has not confirmed (SIOCOUTQ, tcp(7)).
    #[allow(unsafe_code)]
    pub fn undelivered_bytes(&self) -> u32 {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the descriptor is open for as long as `self` lives; the call writes one c_int, which is
        // live.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        if result == 0 { u32::try_from(bytes).unwrap_or(0) } else { 0 }
    }

    /// Sets the number of bytes from which the kernel signals input (SO_RCVLOWAT, socket(7)); 1 = every byte,
    /// which is the default. The kernel also signals the peer's end and a nearly full receive window. Input
    /// that is already there is signalled at once if it suffices (`tcp_set_rcvlowat`). Reads return any
    /// available bytes as usual.
    #[allow(unsafe_code)]
    pub fn tell_of_input_from(&self, bytes: u32) {
        if bytes > 1 {
            self.forget_input();
        }
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the descriptor is open for as long as `self` lives; the call reads one c_int, which is
        // live. It fails only on a socket that is already gone, and then the next read fails.
        let _ = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVLOWAT,
                (&raw const bytes).cast(),
                length,
            )
        };
    }

    /// Makes the next read wait for an event, whatever is known about the input.
    fn forget_input(&self) {
        self.untold.set(Untold::Nothing);
        let nothing = |_: &RawFd| io::Result::<()>::Err(io::ErrorKind::WouldBlock.into());
        let _ = self.watch.get().map(|watch| watch.try_io(Interest::READABLE, nothing));
    }

    /// Returns true if input is available, as far as events show. On an idle server connection this means
    /// surplus bytes or the end, and the connection must not be reused.
    ///
    /// Asks the kernel in two cases only. First, an event is pending that may belong to bytes already read: a
    /// splice does not know that it has emptied the socket, a counting read does. Second, more bytes were
    /// read than counted. Does not register a wake-up.
    pub fn has_pending_input(&self) -> bool {
        match (self.untold.get(), self.watch.get()) {
            (Untold::Bytes(_), _) => true,
            (Untold::Nothing, Some(watch)) => {
                // The call runs only if an event is pending; the event is cleared if there is no input.
                let looked = watch.try_io(Interest::READABLE, |_| {
                    recv(&self.fd, &mut [0][..], RecvFlags::PEEK).map_err(io::Error::from)
                });
                !matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
            }
            (Untold::Nothing | Untold::Unknown, _) => {
                let is_there = self.has_input_now();
                if !is_there {
                    // Later input causes an event.
                    self.untold.set(Untold::Nothing);
                }
                is_there
            }
        }
    }

    /// Asks the kernel whether input is available, including input without an event so far.
    pub fn has_input_now(&self) -> bool {
        let peeked = recv(&self.fd, &mut [0][..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(peeked, Err(Errno::AGAIN))
    }

    /// Copies available input into `buffer` without consuming it.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Read, || {
            let (peeked, _) = recv(&self.fd, &mut *buffer, RecvFlags::PEEK)?;
            Ok(peeked)
        })
    }

    /// Sends a last message as far as there is room, ends the own direction and discards received bytes.
    /// Unread bytes would turn the following close into a reset that may overtake the message. Never waits.
    pub fn try_send_and_end(&self, message: &[u8]) {
        let mut unread = [0; 4096];
        // The caller has no use for an error here.
        let _ = send(&self.fd, message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        let _ = self.shutdown_write();
        let _ = recv(&self.fd, &mut unread[..], RecvFlags::DONTWAIT);
    }

    /// Returns true if the socket is registered for events because it has had to wait before.
    pub fn is_watched(&self) -> bool {
        self.watch.get().is_some()
    }

    /// Returns true if splice can move bytes to or from the socket.
    pub fn is_spliceable(&self) -> bool {
        self.kind == Kind::Tcp
    }

    /// Returns the local address if it is a TCP address.
    pub fn local_address(&self) -> Option<SocketAddr> {
        socket2::SockRef::from(self).local_addr().ok()?.as_socket()
    }

    /// Runs a call to the kernel that needs the socket ready. If it returns `WouldBlock`, waits for an event.
    pub(crate) fn poll_io<T>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut call: impl FnMut() -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        self.poll_steps(cx, direction, || call().map(Step::More))
    }

    fn poll_steps<T>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut call: impl FnMut() -> io::Result<Step<T>>,
    ) -> Poll<io::Result<T>> {
        let untold = match direction {
            Direction::Read => self.untold.get() != Untold::Nothing,
            Direction::Write => self.room_untold.get(),
        };
        if untold || self.watch.get().is_none() {
            // Yields regularly, as Tokio's registrations do: a peer that never makes the task wait must not
            // block all other tasks.
            let turn = ready!(coop::poll_proceed(cx));
            match call() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match direction {
                    Direction::Read => self.untold.set(Untold::Nothing),
                    Direction::Write => self.room_untold.set(false),
                },
                done => {
                    turn.made_progress();
                    return Poll::Ready(done.map(|step| self.settle(direction, step)));
                }
            }
        }
        let watch = self.watch()?;
        loop {
            let mut ready = ready!(match direction {
                Direction::Read => watch.poll_read_ready(cx),
                Direction::Write => watch.poll_write_ready(cx),
            })?;
            match call() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                // Does not clear an event that arrived after `ready` was requested.
                Ok(step @ (Step::Last(_) | Step::Counted(..))) => {
                    ready.clear_ready();
                    return Poll::Ready(Ok(self.settle(direction, step)));
                }
                done => return Poll::Ready(done.map(|step| self.settle(direction, step))),
            }
        }
    }

    /// Records what the result says about input or room without events, and returns the value.
    fn settle<T>(&self, direction: Direction, step: Step<T>) -> T {
        match step {
            Step::More(outcome) => outcome,
            Step::Last(outcome) => {
                match direction {
                    Direction::Read => self.untold.set(Untold::Nothing),
                    // The socket is full; later room causes an event.
                    Direction::Write => self.room_untold.set(false),
                }
                outcome
            }
            Step::Counted(outcome, left) => {
                self.untold.set(Untold::counted(left));
                outcome
            }
        }
    }

    /// Returns the registration with the reactor, created on first use.
    #[inline]
    fn watch(&self) -> io::Result<&AsyncFd<RawFd>> {
        match self.watch.get() {
            Some(watch) => Ok(watch),
            None => self.register(),
        }
    }

    #[cold]
    #[allow(unsafe_code)]
    fn register(&self) -> io::Result<&AsyncFd<RawFd>> {
        // SAFETY: the descriptor stays open, and the same, for as long as the registration lives: `fd` is
        // never replaced, and `watch` stands before it in the struct, so it is dropped first.
        let watch = unsafe { AsyncFd::register(self.fd.as_raw_fd()) }.map_err(io::Error::from)?;
        Ok(self.watch.get_or_init(|| watch))
    }
}

impl Untold {
    fn counted(bytes: u16) -> Self {
        if bytes > 0 { Self::Bytes(bytes) } else { Self::Nothing }
    }
}

impl RawIo for Socket {
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_read(cx, buffer)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, slices)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

mod presence;
#[cfg(test)]
mod tests;
