//! The targets of an access log: standard output, a file or a syslog daemon.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use weir_config::plan::LogTarget;

use super::syslog::Syslog;

/// Destination of the lines.
#[derive(Debug)]
pub(super) enum Target {
    /// Standard output.
    Stdout(Stream<File>),
    /// A file, to which lines are appended.
    File(PathBuf, Stream<File>),
    /// A syslog daemon.
    Syslog(Syslog),
}

/// Outcome of writing a batch.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) lines_lost: u64,
    pub(super) trouble: Option<io::Error>,
}

/// A stream of bytes. If a line could only be written in part, its rest is written before anything else, so
/// that every line in the target is complete.
#[derive(Debug)]
pub(super) struct Stream<W> {
    to: W,
    rest_of_line: Vec<u8>,
}

impl Target {
    pub(super) fn open(target: &LogTarget, open: impl FnOnce(&Path) -> io::Result<File>) -> io::Result<Self> {
        Ok(match target {
            // Uses the descriptor instead of the standard library's buffer, to know how much was written.
            LogTarget::Stdout => Self::Stdout(Stream::new(io::stdout().as_fd().try_clone_to_owned()?.into())),
            LogTarget::File(path) => Self::File(path.clone(), Stream::new(open(path)?)),
            LogTarget::Syslog { address, facility } => Self::Syslog(Syslog::open(address, facility.0)?),
        })
    }

    /// Opens a file's path again. If that fails, the old file stays in use.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        if let Self::File(path, stream) = self {
            *stream = Stream::new(open_file(path)?);
        }
        Ok(())
    }

    /// Writes complete lines; lines that cannot be written are lost.
    pub(super) fn write(&mut self, bytes: &[u8], lines: u64) -> Written {
        match self {
            Self::Stdout(stream) | Self::File(_, stream) => stream.write(bytes, lines),
            Self::Syslog(syslog) => syslog.write(bytes),
        }
    }
}

/// Opens the file of an access log. Only owner and group (log shippers) can read it, because targets and
/// headers can be private.
pub fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

impl<W: Write> Stream<W> {
    pub(super) const fn new(to: W) -> Self {
        Self { to, rest_of_line: Vec::new() }
    }

    fn write(&mut self, bytes: &[u8], lines: u64) -> Written {
        let rest = std::mem::take(&mut self.rest_of_line);
        if let Err((at, trouble)) = write_all(&mut self.to, &rest) {
            self.rest_of_line = rest[at..].to_vec();
            return Written { lines_lost: lines, trouble: Some(trouble) };
        }
        let (at, trouble) = match write_all(&mut self.to, bytes) {
            Ok(()) => return Written::default(),
            Err(failed) => failed,
        };
        let broken_line = at > 0 && bytes[at - 1] != b'\n';
        let mut lost = &bytes[at..];
        if broken_line {
            let end = lost.iter().position(|byte| *byte == b'\n').map_or(lost.len(), |at| at + 1);
            self.rest_of_line = lost[..end].to_vec();
            lost = &lost[end..];
        }
        let lines_lost = lost.iter().filter(|byte| **byte == b'\n').count() as u64;
        Written { lines_lost, trouble: Some(trouble) }
    }
}

/// Number of retries for a descriptor that another process has made non-blocking (a terminal).
const WOULD_BLOCK_TRIES: u32 = 100;

/// Writes all of `bytes`. The error says how many bytes were written before it.
fn write_all(to: &mut impl Write, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let (mut at, mut blocked) = (0, 0);
    while at < bytes.len() {
        match to.write(&bytes[at..]) {
            Ok(0) => return Err((at, ErrorKind::WriteZero.into())),
            Ok(written) => (at, blocked) = (at + written, 0),
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) if cause.kind() == ErrorKind::WouldBlock && blocked < WOULD_BLOCK_TRIES => {
                blocked += 1;
                thread::sleep(Duration::from_millis(10));
            }
            Err(cause) => return Err((at, cause)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes `room` bytes, then is full until it gets more room.
    struct Disk {
        written: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let taken = bytes.len().min(self.room);
            self.written.extend_from_slice(&bytes[..taken]);
            self.room -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_fills_up_within_a_line_gets_the_rest_of_it_once_there_is_room() {
        let mut stream = Stream::new(Disk { written: Vec::new(), room: 8 });
        let written = stream.write(b"first\nsecond\nthird\n", 3);
        assert_eq!((written.lines_lost, written.trouble.unwrap().kind()), (1, ErrorKind::StorageFull));
        assert_eq!(stream.write(b"fourth\n", 1).lines_lost, 1);
        stream.to.room = 2;
        assert_eq!(stream.write(b"fifth\n", 1).lines_lost, 1);
        stream.to.room = 100;
        assert_eq!(stream.write(b"sixth\n", 1).lines_lost, 0);
        assert_eq!(String::from_utf8(stream.to.written).unwrap(), "first\nsecond\nsixth\n");
    }

    #[test]
    fn every_line_is_whole_wherever_the_disk_becomes_full() {
        let text = b"a\nbb\n\nccc\n";
        for room in 0..text.len() {
            let mut stream = Stream::new(Disk { written: Vec::new(), room });
            let lost = stream.write(text, 4).lines_lost;
            stream.to.room = 100;
            assert_eq!(stream.write(b"end\n", 1).lines_lost, 0);
            let written = String::from_utf8(stream.to.written).unwrap();
            assert!(written.ends_with("\nend\n") || written == "end\n", "{room}: {written:?}");
            assert_eq!(written.lines().count() as u64 + lost, 5, "{room}: {written:?}");
        }
    }
}
