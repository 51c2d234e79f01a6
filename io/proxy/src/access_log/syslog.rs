//! Sends access log lines to a syslog daemon.

use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use weir_http::access_log::append_rfc3339;
use weir_model::BindAddress;

use super::target::Written;

/// Time after which a daemon that does not read loses the batch.
const PATIENCE: Duration = Duration::from_millis(500);

/// Maximum size of a datagram. It fits into UDP (65,507 bytes) and into a Unix socket's buffer. Longer lines
/// are truncated.
const DATAGRAM_BYTES_MAX: usize = 60_000;

/// Severity "informational" (RFC 5424 section 6.2.1).
const INFORMATIONAL: u8 = 6;

/// A connection to a syslog daemon (RFC 5424), with one datagram for each line.
#[derive(Debug)]
pub(super) struct Syslog {
    address: BindAddress,
    /// `None` = the connection was lost; the next batch reconnects.
    socket: Option<Socket>,
    facility: u8,
    host: String,
    datagram: Vec<u8>,
}

#[derive(Debug)]
enum Socket {
    Udp(UdpSocket),
    Unix(UnixDatagram),
}

impl Syslog {
    pub(super) fn open(address: &BindAddress, facility: u8) -> io::Result<Self> {
        let socket = Some(Socket::connect(address)?);
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        // The field is one word of printable ASCII (section 6.2.4).
        let host: String = host.chars().filter(char::is_ascii_graphic).take(255).collect();
        let host = if host.is_empty() { "-".to_owned() } else { host };
        Ok(Self { address: address.clone(), socket, facility, host, datagram: Vec::new() })
    }

    /// Sends each line. Reconnects once after a failure; after another one, the rest of the batch is lost.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Written {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let mut written = Written::default();
        let header = self.header();
        let mut reconnected = false;
        while let Some(line) = lines.next() {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            self.datagram.clear();
            self.datagram.extend_from_slice(&header);
            self.datagram.extend_from_slice(line);
            self.datagram.truncate(DATAGRAM_BYTES_MAX);
            let Err(cause) = self.send() else { continue };
            self.socket = None;
            if !reconnected && cause.kind() != ErrorKind::WouldBlock {
                reconnected = true;
                if self.send().is_ok() {
                    continue;
                }
            }
            written.lines_lost += 1 + lines.by_ref().count() as u64;
            written.trouble = Some(cause);
        }
        written
    }

    fn send(&mut self) -> io::Result<()> {
        let socket = match &mut self.socket {
            Some(socket) => socket,
            missing => missing.insert(Socket::connect(&self.address)?),
        };
        match socket {
            Socket::Udp(udp) => udp.send(&self.datagram),
            Socket::Unix(unix) => unix.send(&self.datagram),
        }
        .map(|_| ())
    }

    /// Returns the header `<PRI>1 TIME HOST weir PID access - `. The whole batch has one time, because the
    /// lines have their own.
    fn header(&self) -> Vec<u8> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut header = Vec::with_capacity(128);
        let pri = u32::from(self.facility) * 8 + u32::from(INFORMATIONAL);
        // Writing to a Vec cannot fail.
        let _ = write!(header, "<{pri}>1 ");
        append_rfc3339(&mut header, now.as_micros() as u64);
        let _ = write!(header, " {} weir {} access - ", self.host, std::process::id());
        header
    }
}

impl Socket {
    fn connect(address: &BindAddress) -> io::Result<Self> {
        match address {
            BindAddress::Inet(address) => connect_udp(*address).map(Self::Udp),
            BindAddress::Unix(path) => connect_unix(path).map(Self::Unix),
        }
    }
}

fn connect_udp(address: SocketAddr) -> io::Result<UdpSocket> {
    let local: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(local)?;
    socket.connect(address)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}

fn connect_unix(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(path)?;
    socket.set_write_timeout(Some(PATIENCE))?;
    Ok(socket)
}
