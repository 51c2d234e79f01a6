//! Memory of an idle balancer, and of one that holds many idle clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde::Serialize;

use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::rivals::Balancer;
use crate::workshop::{HOST, Workshop};

/// Result of one turn.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    /// Memory after the start, with one answered request.
    pub(crate) idle_bytes: u64,
    /// Memory with every connection open and idle.
    pub(crate) held_bytes: u64,
    pub(crate) connections: usize,
}

impl Sample {
    /// Returns the additional memory of one idle connection.
    pub(crate) fn bytes_per_connection(&self) -> f64 {
        self.held_bytes.saturating_sub(self.idle_bytes) as f64 / self.connections.max(1) as f64
    }
}

/// Opens `count` connections, sends one request on each, and measures the balancer's memory.
pub(crate) fn measure(workshop: &Workshop, balancer: &Balancer, tls: bool, count: usize) -> Result<Sample> {
    let config = if tls { Some(client_config(workshop)?) } else { None };
    let open = || Client::open(balancer.address, config.as_ref());
    let pid = balancer.process.pid();
    drop(open()?);
    settle();
    let idle_bytes = cpu::memory_bytes(pid);
    let clients = (1..=count)
        .map(|number| open().context(format_args!("idle connection {number}")))
        .collect::<Result<Vec<_>>>()?;
    settle();
    let held_bytes = cpu::memory_bytes(pid);
    // A balancer that closes connections would look better than it is.
    for client in &clients {
        client.must_be_open()?;
    }
    Ok(Sample { idle_bytes, held_bytes, connections: count })
}

/// Waits until the balancer has finished its work after a response.
fn settle() {
    std::thread::sleep(Duration::from_millis(300));
}

/// A client that has received one response and stays connected.
enum Client {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Client {
    fn open(address: SocketAddr, tls: Option<&Arc<ClientConfig>>) -> Result<Self> {
        let mut stream = TcpStream::connect(address).context(format_args!("connect to {address}"))?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).context("a read timeout")?;
        let Some(config) = tls else {
            ask(&mut stream)?;
            return Ok(Self::Plain(stream));
        };
        let name = ServerName::try_from(HOST).context(HOST)?;
        let session = ClientConnection::new(config.clone(), name).context("TLS")?;
        let mut stream = StreamOwned::new(session, stream);
        ask(&mut stream)?;
        Ok(Self::Tls(Box::new(stream)))
    }

    fn must_be_open(&self) -> Result<()> {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.sock,
        };
        stream.set_nonblocking(true).context("a non-blocking socket")?;
        match stream.peek(&mut [0]) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
            // A late session ticket is fine.
            Ok(bytes) if bytes > 0 => Ok(()),
            Ok(_) => Err(Error::new("the balancer closed an idle connection")),
            Err(error) => Err(error).context("an idle connection"),
        }
    }
}

/// Sends one request and reads its response of 1 KiB.
fn ask(stream: &mut (impl Read + Write)) -> Result<()> {
    let request = format!("GET /1k HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    stream.write_all(request.as_bytes()).context("sending a request")?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let bytes = stream.read(&mut buffer).context("reading an answer")?;
        answer.extend_from_slice(&buffer[..bytes]);
        let body =
            answer.windows(4).position(|window| window == b"\r\n\r\n").map(|end| answer.len() - end - 4);
        match body {
            Some(1024) if answer.starts_with(b"HTTP/1.1 200") => return Ok(()),
            _ if bytes == 0 || answer.len() > 8192 => {
                return Err(Error::new("not the answer that was asked for"));
            }
            _ => {}
        }
    }
}

fn client_config(workshop: &Workshop) -> Result<Arc<ClientConfig>> {
    let path = workshop.authority();
    let authority = CertificateDer::from_pem_file(&path).context(path.display())?;
    let mut roots = RootCertStore::empty();
    roots.add(authority).context(path.display())?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .context("TLS 1.3")?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
