//! Helpers of the tests: files, connected streams, and peers.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use weir_config::plan::{Certificate, ClientAuth, TlsIn, TlsOut, TlsVersion};
use weir_model::Millis;
use weir_net::tls::{ClientTls, ServerTls, TlsConnector, TlsStream};
use weir_testkit::TempDir;
use weir_testkit::certificates::{Authority, Request};

/// Maximum duration of a step; a test that hangs must fail.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const HTTP: &[&[u8]] = &[b"http/1.1"];

/// An authority and a directory for its certificates.
pub(crate) struct Files {
    pub(crate) directory: TempDir,
    pub(crate) authority: Authority,
}

impl Files {
    pub(crate) fn new() -> Self {
        let files = Self { directory: TempDir::new().unwrap(), authority: Authority::new("Test CA") };
        files.write("ca.pem", &files.authority.pem());
        files
    }

    /// Returns the authority's own certificate.
    pub(crate) fn ca(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Issues a certificate into files of this name.
    pub(crate) fn issue(&self, file: &str, request: &Request) -> Certificate {
        let files = self.authority.issue(request).write_to(self.directory.path(), file);
        Certificate { certificate: files.certificate, key: files.key }
    }

    /// Returns TLS settings for a listener with one certificate for `localhost` and `127.0.0.1`.
    pub(crate) fn tls_in(&self) -> TlsIn {
        tls_in(vec![self.issue("server", &Request::names(&["localhost", "127.0.0.1"]))])
    }

    /// Returns TLS settings for servers with certificates of this authority.
    pub(crate) fn tls_out(&self) -> TlsOut {
        TlsOut {
            verify: true,
            ca: Some(self.ca()),
            server_name: None,
            client_certificate: None,
            version_min: TlsVersion::V1_2,
        }
    }

    /// Creates a connector for `localhost`.
    pub(crate) fn connector(&self) -> TlsConnector {
        ClientTls::load(&self.tls_out()).unwrap().connector("localhost").unwrap()
    }

    /// Requests client certificates of this authority.
    pub(crate) fn client_auth(&self, required: bool) -> ClientAuth {
        ClientAuth { required, ca: self.ca(), crl: None }
    }
}

pub(crate) fn tls_in(certificates: Vec<Certificate>) -> TlsIn {
    TlsIn {
        certificates,
        version_min: TlsVersion::V1_2,
        ciphers: Vec::new(),
        client_auth: None,
        ticket_rotation: Some(Millis::from_secs(3600)),
        reload_interval: Millis::from_secs(10),
    }
}

/// Creates the two ends of a connection over loopback.
pub(crate) async fn sockets() -> (TcpStream, TcpStream) {
    let (listener, address) = listener().await;
    let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
    (client.unwrap(), accepted.unwrap().0)
}

pub(crate) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// The client's and the server's end, with the result of the handshake on each.
pub(crate) struct Pair {
    pub(crate) client: TlsStream<TcpStream>,
    pub(crate) server: TlsStream<TcpStream>,
    pub(crate) at_client: io::Result<()>,
    pub(crate) at_server: io::Result<()>,
}

pub(crate) async fn shake_hands(connector: &TlsConnector, server: &ServerTls) -> Pair {
    let (client, accepted) = sockets().await;
    let mut client = connector.connect(client).unwrap();
    let mut server = server.accept(accepted).unwrap();
    let (at_client, at_server) = within(async {
        tokio::join!(
            async {
                let done = client.handshake().await;
                // The last message may wait for data, and there is none here.
                if done.is_ok() { client.flush().await } else { done }
            },
            server.handshake(),
        )
    })
    .await;
    Pair { client, server, at_client, at_server }
}

/// Creates a pair with a successful handshake.
pub(crate) async fn connected(connector: &TlsConnector, server: &ServerTls) -> Pair {
    let pair = shake_hands(connector, server).await;
    assert!(pair.at_client.is_ok() && pair.at_server.is_ok(), "{:?} {:?}", pair.at_client, pair.at_server);
    pair
}

impl Pair {
    /// Sends a message in each direction. Session tickets reach the client with the second.
    pub(crate) async fn exchange(&mut self) {
        let mut buffer = [0; 16];
        within(async {
            self.client.send(b"ping").await.unwrap();
            assert_eq!(self.server.receive(&mut buffer).await.unwrap(), 4);
            self.server.send(b"pong").await.unwrap();
            assert_eq!(self.client.receive(&mut buffer).await.unwrap(), 4);
        })
        .await;
        assert_eq!(&buffer[..4], b"pong");
    }
}

/// Awaitable form of the polled interface, for tests.
pub(crate) trait Await {
    async fn handshake(&mut self) -> io::Result<()>;
    async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;
    async fn receive_all(&mut self) -> io::Result<Vec<u8>>;
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()>;
    async fn flush(&mut self) -> io::Result<()>;
    async fn close(&mut self) -> io::Result<()>;
}

impl<S: weir_net::tls::RawIo> Await for TlsStream<S> {
    async fn handshake(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_handshake(cx)).await
    }

    async fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read(cx, buffer)).await
    }

    async fn receive_all(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut buffer = vec![0; 32 * 1024];
        loop {
            match self.receive(&mut buffer).await? {
                0 => return Ok(all),
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
    }

    async fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = poll_fn(|cx| self.poll_write(cx, bytes)).await?;
            assert!(taken > 0, "a write that is ready takes something");
            bytes = &bytes[taken..];
        }
        self.flush().await
    }

    async fn flush(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    async fn close(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.poll_close(cx)).await
    }
}

pub(crate) async fn within<F: Future>(work: F) -> F::Output {
    tokio::time::timeout(PATIENCE, work).await.expect("not done in time")
}

/// Parameters that rustls's own, buffered client has negotiated.
#[derive(Debug)]
pub(crate) struct Learnt {
    pub(crate) certificate: Vec<u8>,
    pub(crate) alpn: Option<Vec<u8>>,
}

/// Accepts one connection from rustls's own client with this config.
pub(crate) async fn with_rustls(
    server: &ServerTls,
    config: rustls::ClientConfig,
    name: &str,
) -> (TlsStream<TcpStream>, Result<Learnt, io::Error>) {
    let (listener, address) = listener().await;
    let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
    let client = tokio::task::spawn_blocking(move || {
        let mut socket = std::net::TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        Ok(Learnt {
            certificate: connection.peer_certificates().unwrap()[0].to_vec(),
            alpn: connection.alpn_protocol().map(<[u8]>::to_vec),
        })
    });
    let (accepted, _) = within(listener.accept()).await.unwrap();
    let mut stream = server.accept(accepted).unwrap();
    let _ = within(stream.handshake()).await;
    (stream, within(client).await.unwrap())
}

/// Creates a config for rustls's own client that accepts any certificate, but only signatures of these
/// schemes.
pub(crate) fn any_certificate(schemes: &[rustls::SignatureScheme]) -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = AnyCertificate { provider: Arc::clone(&provider), schemes: schemes.to_vec() };
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth()
}

pub(crate) const ECDSA: &[rustls::SignatureScheme] = &[rustls::SignatureScheme::ECDSA_NISTP256_SHA256];
pub(crate) const RSA: &[rustls::SignatureScheme] =
    &[rustls::SignatureScheme::RSA_PSS_SHA256, rustls::SignatureScheme::RSA_PKCS1_SHA256];

#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<rustls::crypto::CryptoProvider>,
    schemes: Vec<rustls::SignatureScheme>,
}

impl rustls::client::danger::ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.schemes.clone()
    }
}
