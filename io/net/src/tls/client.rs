//! TLS to the servers of pools.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use weir_config::plan::TlsOut;

use super::TlsStream;
use super::certificate::LoadedCertificate;
use super::error::{FileProblem, FileRole, TlsError};
use super::files::PemFile;
use super::pins::Pins;
use super::provider::{provider_out, versions};
use super::raw_io::RawIo;
use super::server_verifier::ServerVerifier;
use super::unverified::Unverified;

/// TLS settings for the servers of a pool.
#[derive(Debug, Clone)]
pub struct ClientTls {
    config: ClientConfig,
    server_name: Option<String>,
}

/// TLS settings for one server. Cheap to clone; shared by all workers.
#[derive(Debug, Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// Number of sessions kept per server. A TLS 1.3 ticket is used once, so this is the number of connections
/// that can be resumed concurrently.
const SESSIONS_PER_SERVER: usize = 8;

impl ClientTls {
    /// Reads all files. Blocks on the disk.
    pub fn load(plan: &TlsOut) -> Result<Self, TlsError> {
        let provider = provider_out();
        let verifier = verifier(plan, &provider)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions(plan.version_min))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match &plan.client_certificate {
            Some(files) => {
                let certificate = LoadedCertificate::load(files, &provider)?;
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certificate.key)))
            }
            None => builder.with_no_client_auth(),
        };
        Ok(Self { config, server_name: plan.server_name.clone() })
    }

    /// Offers these protocols (RFC 7301), most preferred first. A server that supports none of them may
    /// refuse the connection or continue without one, so the caller must check the negotiated protocol.
    #[must_use]
    pub fn offering(mut self, alpn: &[&[u8]]) -> Self {
        self.config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        self
    }

    /// Creates the settings for the server at `host`, a DNS name or an address without port. That name is
    /// sent and verified unless the config sets another. Each server has its own sessions, because another
    /// server could not resume them.
    pub fn connector(&self, host: &str) -> Result<TlsConnector, TlsError> {
        let host = self.server_name.as_deref().unwrap_or(host);
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let name =
            ServerName::try_from(bare.to_owned()).map_err(|_| TlsError::ServerName(host.to_owned()))?;
        let mut config = self.config.clone();
        config.resumption = Resumption::in_memory_sessions(SESSIONS_PER_SERVER);
        Ok(TlsConnector { config: Arc::new(config), name })
    }
}

impl TlsConnector {
    /// Starts TLS on a new connection; [`TlsStream::poll_handshake`] must follow.
    pub fn connect<S: RawIo>(&self, socket: S) -> Result<TlsStream<S>, TlsError> {
        let connection = UnbufferedClientConnection::new(Arc::clone(&self.config), self.name.clone())?;
        Ok(TlsStream::client(socket, connection))
    }

    /// Creates a session for callers that move its bytes without tasks. It buffers, and `read_tls` and
    /// `write_tls` drive it.
    pub fn session(&self) -> Result<ClientConnection, TlsError> {
        Ok(ClientConnection::new(Arc::clone(&self.config), self.name.clone())?)
    }
}

fn verifier(plan: &TlsOut, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    if !plan.verify {
        return Ok(Arc::new(Unverified));
    }
    let (roots, pins, file) = match &plan.ca {
        Some(path) => {
            let file = PemFile::read(FileRole::Authorities, path)?;
            let (roots, pins) = file.authorities()?;
            (roots, pins, Some(file))
        }
        None => (system_roots()?, Pins::default(), None),
    };
    match (ServerVerifier::new(roots, pins, provider), file) {
        (Ok(verifier), _) => Ok(Arc::new(verifier)),
        (Err(error), Some(file)) => Err(file.problem(FileProblem::BadCertificate(1, error.to_string()))),
        (Err(error), None) => Err(TlsError::NoSystemAuthorities(Some(error.to_string()))),
    }
}

/// Returns the system's authorities. Weir has no built-in list, so the operator can add, remove and update
/// authorities without a new Weir.
///
/// Reading them takes milliseconds, and a config may have hundreds of pools, so the result is reused for a
/// few seconds.
fn system_roots() -> Result<Arc<RootCertStore>, TlsError> {
    static RECENT: Mutex<Option<(Instant, Arc<RootCertStore>)>> = Mutex::new(None);
    const RECENT_MAX: Duration = Duration::from_secs(5);

    let mut recent = RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((read_at, roots)) = &*recent
        && read_at.elapsed() < RECENT_MAX
    {
        return Ok(Arc::clone(roots));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some systems have an authority that cannot be parsed; the others still count.
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        return Err(TlsError::NoSystemAuthorities(found.errors.first().map(ToString::to_string)));
    }
    let roots = Arc::new(roots);
    *recent = Some((Instant::now(), Arc::clone(&roots)));
    Ok(roots)
}
