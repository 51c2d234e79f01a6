//! The client of the control socket.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_control::{Answer, Command, Refusal, Reply, Snapshot, What};

/// Maximum wait for a reply. A reload with many certificates is the slowest command.
const REPLY_MAX: Duration = Duration::from_secs(60);

/// Maximum size of a reply. A snapshot of 10,000 servers has about 12 MB.
const REPLY_BYTES_MAX: u64 = 512 << 20;

/// Client side of a control socket. Blocks.
#[derive(Debug)]
pub struct ControlClient {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

/// Reason why there is no answer.
#[derive(Debug)]
pub enum ClientError {
    /// No process answers on the socket, or the caller may not open it.
    Connect(PathBuf, io::Error),
    /// The connection failed, or the reply did not arrive in time.
    Io(PathBuf, io::Error),
    /// The received line is not a reply: another version of Weir, or not Weir.
    NotAReply(PathBuf, String),
    /// The command was refused.
    Refused(Refusal),
}

impl ControlClient {
    /// Connects to the socket at `path`.
    pub fn connect(path: &Path) -> Result<Self, ClientError> {
        let connect = || {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(REPLY_MAX))?;
            stream.set_write_timeout(Some(REPLY_MAX))?;
            Ok(stream)
        };
        let stream = connect().map_err(|cause| ClientError::Connect(path.to_owned(), cause))?;
        Ok(Self { path: path.to_owned(), stream: BufReader::new(stream) })
    }

    /// Sends a command and waits for its reply.
    pub fn send(&mut self, command: &Command) -> Result<Answer, ClientError> {
        let reply = self.exchange(command).map_err(|cause| ClientError::Io(self.path.clone(), cause))?;
        match serde_json::from_slice(&reply) {
            Ok(Reply::Ok(answer)) => Ok(answer),
            Ok(Reply::Error(refusal)) => Err(ClientError::Refused(refusal)),
            Err(cause) => Err(self.not_a_reply(&cause.to_string())),
        }
    }

    /// Requests a snapshot.
    pub fn snapshot(&mut self) -> Result<Snapshot, ClientError> {
        match self.send(&Command::Show { what: What::All, pool: None })? {
            Answer::Snapshot(snapshot) => Ok(*snapshot),
            _ => Err(self.not_a_reply("a snapshot was asked for")),
        }
    }

    fn not_a_reply(&self, why: &str) -> ClientError {
        ClientError::NotAReply(self.path.clone(), why.to_owned())
    }

    fn exchange(&mut self, command: &Command) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        self.stream.get_mut().write_all(&line)?;
        let mut reply = Vec::new();
        self.stream.by_ref().take(REPLY_BYTES_MAX).read_until(b'\n', &mut reply)?;
        if reply.pop() != Some(b'\n') {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the connection was closed before the reply",
            ));
        }
        Ok(reply)
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(path, cause) => {
                write!(f, "control socket {}: {cause}", path.display())?;
                match cause.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                        f.write_str(" (is Weir running?)")
                    }
                    _ => Ok(()),
                }
            }
            Self::Io(path, cause) if cause.kind() == io::ErrorKind::WouldBlock => {
                write!(f, "control socket {}: no reply within {} s", path.display(), REPLY_MAX.as_secs())
            }
            Self::Io(path, cause) => write!(f, "control socket {}: {cause}", path.display()),
            Self::NotAReply(path, why) => write!(f, "control socket {}: not a reply: {why}", path.display()),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl std::error::Error for ClientError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(_, cause) | Self::Io(_, cause) => Some(cause),
            Self::Refused(refusal) => Some(refusal),
            Self::NotAReply(..) => None,
        }
    }
}
