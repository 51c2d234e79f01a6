//! Measures the cost of TLS for a worker: CPU time per megabyte, per small response and per handshake, and
//! memory per idle connection. Prints the cost of plaintext beside it.
//!
//! `cargo run --release -p weir-net --example tls_cost`. Measures the server's thread only; the client has
//! its own.

use std::error::Error;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tokio::net::{TcpListener, TcpStream};
use weir_config::plan::{Certificate, TlsIn, TlsVersion};
use weir_model::Millis;
use weir_net::tls::{RawIo, ServerTls, TlsStream};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const CIPHER: &str = "TLS_AES_128_GCM_SHA256";
const MEGABYTE: usize = 1 << 20;

fn main() -> Result<()> {
    let bed = Bed::new()?;
    println!("{CIPHER}, P-256; microseconds of CPU on the server's thread, best of 5 runs\n");
    println!("{:<34}{:>9}{:>9}", "", "TLS", "plain");
    for (what, rounds, receive, send) in [
        ("1 KiB answer", 20_000, 100, 1024),
        ("64 KiB answer", 4_000, 100, 64 << 10),
        ("1 MiB answer", 500, 100, MEGABYTE),
        ("1 MiB request", 500, MEGABYTE, 100),
    ] {
        let traffic = Traffic { rounds, receive, send };
        let tls = best(|| bed.traffic(traffic, true))?;
        let plain = best(|| bed.traffic(traffic, false))?;
        println!("{what:<34}{tls:>9.2}{plain:>9.2}");
    }
    for (what, resume) in [("full handshake", false), ("resumed handshake", true)] {
        println!("{what:<34}{:>9.1}", best(|| bed.handshakes(1000, resume))?);
    }
    println!("{:<34}{:>9}", "bytes per idle connection", bed.idle(1000)?);
    Ok(())
}

/// Traffic on one connection: `rounds` times `receive` bytes in, then `send` bytes out.
#[derive(Clone, Copy)]
struct Traffic {
    rounds: usize,
    receive: usize,
    send: usize,
}

struct Bed {
    server: Arc<ServerTls>,
    client: Arc<ClientConfig>,
    _files: TempDir,
}

impl Bed {
    fn new() -> Result<Self> {
        let files = TempDir::new()?;
        let authority = Authority::new("Bench CA");
        let issued = authority.issue(&Request::names(&["localhost"])).write_to(files.path(), "server");
        let server = ServerTls::load(
            &TlsIn {
                certificates: vec![Certificate { certificate: issued.certificate, key: issued.key }],
                version_min: TlsVersion::V1_2,
                ciphers: vec![CIPHER.to_owned()],
                client_auth: None,
                ticket_rotation: Some(Millis::from_secs(3600)),
                reload_interval: Millis::from_secs(10),
            },
            &[],
        )?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { server, client: Arc::new(client), _files: files })
    }

    /// Returns the CPU time per round, in microseconds.
    fn traffic(&self, traffic: Traffic, tls: bool) -> Result<f64> {
        let client = Arc::clone(&self.client);
        let client = move |address: SocketAddr| -> Result<()> {
            let socket = std::net::TcpStream::connect(address)?;
            socket.set_nodelay(true)?;
            if tls {
                let connection = ClientConnection::new(client, ServerName::try_from("localhost")?)?;
                ask(StreamOwned::new(connection, socket), traffic)
            } else {
                ask(socket, traffic)
            }
        };
        let spent = serve(client, async |socket| {
            if tls {
                let mut stream = self.server.accept(socket)?;
                poll_fn(|cx| stream.poll_handshake(cx)).await?;
                answer(&mut stream, traffic).await
            } else {
                let mut socket = socket;
                answer(&mut socket, traffic).await
            }
        })?;
        Ok(spent.as_secs_f64() * 1e6 / traffic.rounds as f64)
    }

    /// Returns the CPU time per handshake in microseconds, including accept and close.
    fn handshakes(&self, count: usize, resume: bool) -> Result<f64> {
        let mut config = ClientConfig::clone(&self.client);
        if !resume {
            config.resumption = rustls::client::Resumption::disabled();
        }
        let config = Arc::new(config);
        let client = move |address: SocketAddr| -> Result<()> {
            for _ in 0..=count {
                let socket = std::net::TcpStream::connect(address)?;
                socket.set_nodelay(true)?;
                let connection =
                    ClientConnection::new(Arc::clone(&config), ServerName::try_from("localhost")?)?;
                ask(StreamOwned::new(connection, socket), Traffic { rounds: 1, receive: 1, send: 1 })?;
            }
            Ok(())
        };
        let runtime = tokio::runtime::LocalRuntime::new()?;
        let spent = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            let client = thread::spawn(move || client(address));
            let mut start = Duration::ZERO;
            for index in 0..=count {
                if index == 1 {
                    start = cpu();
                }
                let mut stream = self.server.accept(listener.accept().await?.0)?;
                poll_fn(|cx| stream.poll_handshake(cx)).await?;
                answer(&mut stream, Traffic { rounds: 1, receive: 1, send: 1 }).await?;
                if index > 0 && stream.is_resumed() != resume {
                    return Err("the handshakes are not of the kind to be measured".into());
                }
            }
            let spent = cpu() - start;
            client.join().map_err(|_| "the client panicked")??;
            Ok::<_, Box<dyn Error + Send + Sync>>(spent)
        })?;
        Ok(spent.as_secs_f64() * 1e6 / count as f64)
    }

    /// Returns the memory per idle connection after one request, in bytes, without kernel memory.
    fn idle(&self, count: usize) -> Result<usize> {
        let runtime = tokio::runtime::LocalRuntime::new()?;
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let address = listener.local_addr()?;
            let mut idle: Vec<Box<TlsStream<TcpStream>>> = Vec::with_capacity(count);
            let mut before = 0;
            for index in 0..count + 50 {
                // The first fifty warm up the allocator and the scratch buffers.
                if index == 50 {
                    before = allocated();
                }
                let config = Arc::clone(&self.client);
                let client = thread::spawn(move || -> Result<std::net::TcpStream> {
                    let socket = std::net::TcpStream::connect(address)?;
                    let connection = ClientConnection::new(config, ServerName::try_from("localhost")?)?;
                    let mut stream = StreamOwned::new(connection, socket);
                    stream.write_all(&[0; 300])?;
                    stream.read_exact(&mut [0; 1024])?;
                    Ok(stream.sock)
                });
                let mut stream = Box::new(self.server.accept(listener.accept().await?.0)?);
                poll_fn(|cx| stream.poll_handshake(cx)).await?;
                answer(&mut *stream, Traffic { rounds: 1, receive: 300, send: 1024 }).await?;
                // Keeps the client's end open without counting it.
                std::mem::forget(client.join().map_err(|_| "the client panicked")??);
                idle.push(stream);
            }
            Ok((allocated() - before) / count)
        })
    }
}

/// Runs one connection: the client on its own thread, `work` on this one. Returns the CPU time of `work`. Its
/// handshake and first round are included, which is a small share.
fn serve(
    client: impl FnOnce(SocketAddr) -> Result<()> + Send + 'static,
    work: impl AsyncFnOnce(TcpStream) -> Result<()>,
) -> Result<Duration> {
    let runtime = tokio::runtime::LocalRuntime::new()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let client = thread::spawn(move || client(address));
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let start = cpu();
        work(socket).await?;
        let spent = cpu() - start;
        client.join().map_err(|_| "the client panicked")??;
        Ok(spent)
    })
}

fn ask(mut stream: impl Read + Write, traffic: Traffic) -> Result<()> {
    let request = vec![1; traffic.receive];
    let mut answer = vec![0; traffic.send];
    for _ in 0..traffic.rounds {
        stream.write_all(&request)?;
        stream.read_exact(&mut answer)?;
    }
    Ok(())
}

async fn answer(stream: &mut impl Worker, traffic: Traffic) -> Result<()> {
    // The size of a worker's shared buffer.
    let mut buffer = vec![0; 256 << 10];
    let body = vec![2; 256 << 10];
    for _ in 0..traffic.rounds {
        let mut missing = traffic.receive;
        while missing > 0 {
            missing -= poll_fn(|cx| stream.read(cx, &mut buffer)).await?;
        }
        let mut left = traffic.send;
        while left > 0 {
            left -= poll_fn(|cx| stream.write(cx, &body[..left.min(body.len())])).await?;
        }
        poll_fn(|cx| stream.flush(cx)).await?;
    }
    Ok(())
}

/// Common interface of plaintext and TLS streams.
trait Worker {
    fn read(
        &mut self,
        cx: &mut std::task::Context<'_>,
        buffer: &mut [u8],
    ) -> std::task::Poll<std::io::Result<usize>>;
    fn write(
        &mut self,
        cx: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>>;
    fn flush(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>>;
}

impl Worker for TcpStream {
    fn read(
        &mut self,
        cx: &mut std::task::Context<'_>,
        buffer: &mut [u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        RawIo::poll_read(self, cx, buffer)
    }
    fn write(
        &mut self,
        cx: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        RawIo::poll_write(self, cx, bytes)
    }
    fn flush(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

impl<S: RawIo> Worker for TlsStream<S> {
    fn read(
        &mut self,
        cx: &mut std::task::Context<'_>,
        buffer: &mut [u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.poll_read(cx, buffer)
    }
    fn write(
        &mut self,
        cx: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.poll_write(cx, bytes)
    }
    fn flush(&mut self, cx: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        self.poll_flush(cx)
    }
}

fn best(mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..5 {
        best = best.min(run()?);
    }
    Ok(best)
}

/// Returns the CPU time of this thread so far.
fn cpu() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Returns the anonymous resident memory of this process, in bytes.
fn allocated() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse().ok());
    kib.unwrap_or(0) * 1024
}
