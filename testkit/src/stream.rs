//! TCP and Unix streams, and their endings.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use socket2::SockRef;

/// Ending of a connection by the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A FIN: all sent bytes have arrived.
    Fin,
    /// A reset.
    Reset,
}

#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(crate) fn connect(address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    pub(crate) fn connect_unix(path: &Path) -> io::Result<Self> {
        UnixStream::connect(path).map(Self::Unix)
    }

    /// Sets the timeout of reads and writes.
    pub(crate) fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        let socket = SockRef::from(self);
        socket.set_read_timeout(Some(timeout))?;
        socket.set_write_timeout(Some(timeout))
    }

    pub(crate) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        SockRef::from(self).shutdown(how)
    }

    /// Makes the later close send a reset instead of a FIN (socket(7): a linger time of zero).
    pub(crate) fn reset_on_close(&self) {
        SockRef::from(self).set_linger(Some(Duration::ZERO)).expect("SO_LINGER");
    }

    /// Reads once. `Ok(0)` is a FIN.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).read(buffer),
            Self::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }

    pub(crate) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).write_all(bytes),
            Self::Unix(stream) => (&mut &*stream).write_all(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

/// Returns whether a read failed because of its timeout.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Returns whether an error means that the other side has reset the connection.
pub(crate) fn is_reset(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}
