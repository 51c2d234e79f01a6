//! Commands over HAProxy's runtime socket.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::silence::does_not_answer;

/// Maximum size of a reply; `show stat` for ten thousand servers has about 6 MB.
const REPLY_BYTES_MAX: usize = 64 << 20;
/// Maximum pause before the first byte and between bytes of a reply.
const SILENT_MAX: Duration = Duration::from_secs(1);
/// Maximum size of one read.
const PIECE_BYTES: usize = 64 << 10;

/// Sends a command and reads the whole reply. The total takes at most `patience`; a second without a byte is
/// an error.
pub(super) fn ask(path: &Path, command: &str, patience: Duration) -> io::Result<String> {
    let until = Instant::now() + patience;
    let mut stream = open(path, patience.min(SILENT_MAX))?;
    stream.set_write_timeout(Some(patience.min(SILENT_MAX)))?;
    stream.write_all(format!("{command}\n").as_bytes()).map_err(|cause| match cause.kind() {
        io::ErrorKind::WouldBlock => does_not_answer(),
        _ => cause,
    })?;
    stream.shutdown(Shutdown::Write)?;
    let mut reply = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(does_not_answer());
        }
        stream.set_read_timeout(Some(left.min(SILENT_MAX)))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(String::from_utf8_lossy(&reply).into_owned()),
            Ok(bytes) => reply.extend_from_slice(&piece[..bytes]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Err(does_not_answer()),
            Err(cause) => return Err(cause),
        }
        if reply.len() > REPLY_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the reply has no end"));
        }
    }
}

/// Connects with a timeout. If the accept queue is full, connect(2) blocks for at most the send timeout
/// (unix(7)).
fn open(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        Ok(()) => Ok(socket.into()),
        Err(rustix::io::Errno::AGAIN) => Err(does_not_answer()),
        Err(cause) => Err(cause.into()),
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{bind, listen};

    use super::*;

    #[test]
    fn a_socket_that_accepts_nobody_is_not_waited_for_without_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&socket, 0).unwrap();
        // The queue has room for one connection.
        let _first = UnixStream::connect(&path).unwrap();
        let cause = ask(&path, "show stat", Duration::from_millis(50)).unwrap_err();
        assert_eq!(cause.kind(), io::ErrorKind::TimedOut, "{cause}");
    }

    #[test]
    fn a_reply_that_trickles_is_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Writes until the client hangs up.
            while stream.write_all(b"a").is_ok() {
                std::thread::yield_now();
            }
        });
        let cause = ask(&path, "show stat", Duration::from_millis(50)).unwrap_err();
        assert!(matches!(cause.kind(), io::ErrorKind::TimedOut | io::ErrorKind::FileTooLarge), "{cause}");
        server.join().unwrap();
    }
}
