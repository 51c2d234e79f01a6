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

/// A connected stream socket. The only place that knows which reactor wakes it.
///
/// It is registered with the reactor once it must wait, and not before: a client whose request was there when it was
/// accepted, and who takes the whole response, costs no call to epoll at all.
#[derive(Debug)]
pub struct Socket {
    // Dropped before the descriptor is closed.
    watch: OnceCell<AsyncFd<RawFd>>,
    fd: OwnedFd,
    kind: Kind,
    untold: Cell<Untold>,
    /// The events that told of room were taken by [`Self::is_broken`]: no other one may come before something is written. Or
    /// somebody doubts that it is full.
    room_untold: Cell<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Unix,
}

/// What is there to be read although no event will tell of it. Whatever comes later is told as ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Untold {
    Nothing,
    /// So many bytes, one at least: the kernel said so when a read left them.
    Bytes(u16),
    /// Those were taken, together with some that came after the count. The event that tells of these may be still to come, and
    /// something behind them may be there already: only the kernel knows.
    Unknown,
}

/// Who is at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A TCP peer.
    Inet(SocketAddr),
    /// A peer on a Unix socket; it has no address.
    Local,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

/// What one call to the kernel has come to.
pub(crate) enum Step<T> {
    /// Done, and there may be more.
    More(T),
    /// Done, and the socket is surely empty (or full) now: the next call can wait for an event.
    Last(T),
    /// Done, and so many bytes are left to be read: once they are, the next call can wait for an event.
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

    /// Connects to a TCP address, without Nagle's delay.
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
            // The outcome is known when the socket becomes writable (connect(2), EINPROGRESS).
            drop(watch.writable().await?);
            if let Some(error) = socket2::SockRef::from(&socket).take_error()? {
                return Err(error);
            }
        }
        Ok(socket)
    }

    /// Reads into `buffer`; 0 = the peer has ended its direction. After a short read the next one waits for an event,
    /// so that no call is needed to learn that nothing is left.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        self.poll_steps(cx, Direction::Read, || {
            let (read, _) = recv(&self.fd, &mut *buffer, RecvFlags::empty())?;
            self.took(read);
            Ok(if read > 0 && read < wanted { Step::Last(read) } else { Step::More(read) })
        })
    }

    /// From now on [`Self::poll_read_counting`] learns how much it has left.
    pub fn count_input(&self) {
        if self.kind == Kind::Tcp {
            counting::enable(self.as_fd());
        }
    }

    /// As [`Self::poll_read`]; and when what it leaves has been read or spliced, too, it is known without a further call whether
    /// the socket is empty. Of what exceeds 64 KiB no account is kept.
    pub fn poll_read_counting(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let wanted = buffer.len();
        self.poll_steps(cx, Direction::Read, || {
            let (read, left) = counting::receive(self.fd.as_fd(), buffer)?;
            self.took(read);
            Ok(match left.map(u16::try_from) {
                // The end: it can be read any number of times.
                _ if read == 0 => Step::More(read),
                // It was counted after the read: a short one may have something behind it by now, the end for one.
                Some(Ok(left)) => Step::Counted(read, left),
                None if read < wanted => Step::Last(read),
                Some(Err(_)) | None => Step::More(read),
            })
        })
    }

    /// So much was read: there is so much less of what no event tells.
    pub(crate) fn took(&self, bytes: usize) {
        let Untold::Bytes(counted) = self.untold.get() else { return };
        let left = u16::try_from(bytes).ok().and_then(|bytes| counted.checked_sub(bytes));
        self.untold.set(left.map_or(Untold::Unknown, Untold::counted));
    }

    /// Writes from `bytes`; may take only some.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, bytes, SendFlags::NOSIGNAL)
    }

    /// As [`Self::poll_write`], with more to follow at once (MSG_MORE): the kernel may keep the bytes for up to 200 ms, to
    /// send them together with the next ones. If those do not come, [`Self::push`].
    pub fn poll_write_more(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(cx, bytes, SendFlags::NOSIGNAL | SendFlags::MORE)
    }

    /// Sends what the kernel keeps in the hope of more.
    pub fn push(&self) {
        // The option is on already; setting it pushes (tcp(7)). On a broken socket the next write tells.
        let _ = socket2::SockRef::from(self).set_tcp_nodelay(true);
    }

    fn poll_send(&self, cx: &mut Context<'_>, bytes: &[u8], flags: SendFlags) -> Poll<io::Result<usize>> {
        self.poll_steps(cx, Direction::Write, || {
            let written = send(&self.fd, bytes, flags)?;
            Ok(if written < bytes.len() { Step::Last(written) } else { Step::More(written) })
        })
    }

    /// Writes from several slices with one call to the kernel; may take only some.
    pub fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Write, || {
            Ok(sendmsg(&self.fd, slices, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
        })
    }

    /// Sends up to `length` bytes of `file` from `offset` on, from the page cache to the socket; 0 = the file ends there.
    /// Waits for the disk, and the thread with it, where they are not in memory: that is the caller's to know.
    ///
    /// After fewer bytes the next call waits for an event: the socket is full. If it is the file that has become shorter, none will
    /// come: who has waited for long has to [`Self::ask_again`].
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

    /// Pending while the socket is known to be full: the task is woken when there is room. Ready if only the kernel can tell.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        match self.watch.get() {
            Some(watch) if !self.room_untold.get() => watch.poll_write_ready(cx).map(drop),
            _ => Poll::Ready(()),
        }
    }

    /// The next write asks the kernel for room, whatever is known of it.
    pub fn ask_again(&self) {
        self.room_untold.set(true);
    }

    /// Ends the own direction; what was written still arrives.
    pub fn shutdown_write(&self) -> io::Result<()> {
        rustix::net::shutdown(self, rustix::net::Shutdown::Write).map_err(io::Error::from)
    }

    /// Makes the coming close a reset: the peer sees an error, not a clean end.
    pub fn reset_on_close(&self) {
        if self.kind == Kind::Tcp {
            // It fails only on a socket that is already gone, and then nobody is left to be told.
            let _ = socket2::SockRef::from(self).set_linger(Some(Duration::ZERO));
        }
    }

    /// Whether the peer's kernel has not confirmed all that was written.
    pub fn has_undelivered(&self) -> bool {
        self.undelivered_bytes() > 0
    }

    /// How much of what was written the peer's kernel has not confirmed (SIOCOUTQ, tcp(7)).
    #[allow(unsafe_code)]
    pub fn undelivered_bytes(&self) -> u32 {
        let mut bytes: libc::c_int = 0;
        // SAFETY: the descriptor is open for as long as `self` lives; the call writes one c_int, which is live.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
        if result == 0 { u32::try_from(bytes).unwrap_or(0) } else { 0 }
    }

    /// Has the kernel tell of input only when so many bytes are there, the peer has ended, or its window is nearly used up
    /// (SO_RCVLOWAT, socket(7)); 1 = of every byte, as in the beginning. What is there already is told at once if it
    /// suffices (`tcp_set_rcvlowat`). Reading takes what there is, as ever.
    #[allow(unsafe_code)]
    pub fn tell_of_input_from(&self, bytes: u32) {
        if bytes > 1 {
            self.forget_input();
        }
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: the descriptor is open for as long as `self` lives; the call reads one c_int, which is live.
        // It fails only on a socket that is already gone, and of that the next read tells.
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

    /// The next read waits for an event, whatever is known of what is there.
    fn forget_input(&self) {
        self.untold.set(Untold::Nothing);
        let nothing = |_: &RawFd| io::Result::<()>::Err(io::ErrorKind::WouldBlock.into());
        let _ = self.watch.get().map(|watch| watch.try_io(Interest::READABLE, nothing));
    }

    /// Whether something is there to be read, as far as events tell: on an idle server connection that is surplus bytes
    /// or its end, and either way it must not be used again. Asks the kernel only if an event is pending that may be
    /// one of those already read (a splice does not tell when it has emptied the socket; a read that counts does), or if more
    /// was taken than was counted. Nobody is woken when there is some: who wants to be asks to read.
    pub fn has_pending_input(&self) -> bool {
        match (self.untold.get(), self.watch.get()) {
            (Untold::Bytes(_), _) => true,
            (Untold::Nothing, Some(watch)) => {
                // Comes to the call only if an event is pending, which is over if there is nothing.
                let looked = watch.try_io(Interest::READABLE, |_| {
                    recv(&self.fd, &mut [0][..], RecvFlags::PEEK).map_err(io::Error::from)
                });
                !matches!(looked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
            }
            (Untold::Nothing | Untold::Unknown, _) => {
                let is_there = self.has_input_now();
                if !is_there {
                    // Whatever comes from now on is told.
                    self.untold.set(Untold::Nothing);
                }
                is_there
            }
        }
    }

    /// Whether something is there to be read, by the kernel's word: sees what no event has told yet.
    pub fn has_input_now(&self) -> bool {
        let peeked = recv(&self.fd, &mut [0][..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(peeked, Err(Errno::AGAIN))
    }

    /// Copies into `buffer` what can be read, and leaves it there to be read.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Read, || {
            let (peeked, _) = recv(&self.fd, &mut *buffer, RecvFlags::PEEK)?;
            Ok(peeked)
        })
    }

    /// Sends a last message as far as there is room, ends the own direction, and throws away what has come, so that
    /// the close that follows does not become a reset that overtakes the message. Never waits.
    pub fn try_send_and_end(&self, message: &[u8]) {
        let mut unread = [0; 4096];
        // Nobody is left to be told of a failure here.
        let _ = send(&self.fd, message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        let _ = self.shutdown_write();
        let _ = recv(&self.fd, &mut unread[..], RecvFlags::DONTWAIT);
    }

    /// Whether events of this socket are seen: it has had to wait before.
    pub fn is_watched(&self) -> bool {
        self.watch.get().is_some()
    }

    /// Whether bytes can be moved to or from it by splice.
    pub fn is_spliceable(&self) -> bool {
        self.kind == Kind::Tcp
    }

    /// The own address, if it is a TCP one.
    pub fn local_address(&self) -> Option<SocketAddr> {
        socket2::SockRef::from(self).local_addr().ok()?.as_socket()
    }

    /// Runs a call to the kernel that needs the socket ready; `WouldBlock` from it makes the next one wait.
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
            // As the registration does: a peer that never makes us wait must not keep a worker from all others.
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
                // An event that has come since `ready` was asked for is not cleared.
                Ok(step @ (Step::Last(_) | Step::Counted(..))) => {
                    ready.clear_ready();
                    return Poll::Ready(Ok(self.settle(direction, step)));
                }
                done => return Poll::Ready(done.map(|step| self.settle(direction, step))),
            }
        }
    }

    /// What a call has come to, after noting what it says of input, and of room, that no event tells.
    fn settle<T>(&self, direction: Direction, step: Step<T>) -> T {
        match step {
            Step::More(outcome) => outcome,
            Step::Last(outcome) => {
                match direction {
                    Direction::Read => self.untold.set(Untold::Nothing),
                    // It is full: of room that comes from now on an event tells.
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

    /// The registration with the reactor, made when it is first needed.
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
        // SAFETY: the descriptor stays open, and the same, for as long as the registration lives: `fd` is never
        // replaced, and `watch` stands before it in the struct, so it is dropped first.
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
