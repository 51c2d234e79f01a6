//! TLS for listeners.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection, WebPkiClientVerifier};
use weir_config::plan::TlsIn;

use super::TlsStream;
use super::certificate::{CertificateSummary, LoadedCertificate};
use super::chooser::CertificateChooser;
use super::client_auth::LoadedClientAuth;
use super::client_verifier::ClientVerifier;
use super::error::TlsError;
use super::expiry::Expiry;
use super::files::Stamp;
use super::provider::{provider_in, versions};
use super::raw_io::RawIo;
use super::tickets::Tickets;

/// TLS settings of a listener. Shared by all workers.
#[derive(Debug)]
pub struct ServerTls {
    plan: TlsIn,
    alpn: Vec<Vec<u8>>,
    loaded: ArcSwap<Loaded>,
    files: Mutex<Files>,
}

/// Settings from the last successful read of the files.
#[derive(Debug)]
struct Loaded {
    config: Arc<ServerConfig>,
    /// Verifier for optional client certificates.
    optional: Option<Arc<ClientVerifier>>,
    certificates: Vec<CertificateSummary>,
    revocation: Option<Expiry>,
    tickets: Option<Arc<Tickets>>,
    /// Digest of the rules for client certificates: see [`Loaded::tickets_for`].
    rules: Vec<u8>,
}

/// State that shows when the files must be read again.
#[derive(Debug)]
struct Files {
    stamps: Vec<Stamp>,
    /// Set when the last attempt to read the files failed.
    bad: bool,
}

impl ServerTls {
    /// Reads all files and checks that they make a working server. `alpn` lists the offered protocols (RFC
    /// 7301), most preferred first; empty = ALPN is not used, and any client is accepted.
    pub fn load(plan: &TlsIn, alpn: &[&[u8]]) -> Result<Arc<Self>, TlsError> {
        Self::load_after(None, plan, alpn)
    }

    /// Loads the settings that replace these in a reload of the config. Clients can still resume their
    /// sessions, unless a setting that affects resumption has changed.
    pub fn replace(&self, plan: &TlsIn, alpn: &[&[u8]]) -> Result<Arc<Self>, TlsError> {
        Self::load_after(Some(&self.loaded.load()), plan, alpn)
    }

    /// Returns true if the settings are the same.
    pub fn is_made_by(&self, plan: &TlsIn, alpn: &[&[u8]]) -> bool {
        self.plan == *plan && self.alpn.iter().eq(alpn)
    }

    fn load_after(before: Option<&Loaded>, plan: &TlsIn, alpn: &[&[u8]]) -> Result<Arc<Self>, TlsError> {
        // Taken before the files are read, so that a file that changes meanwhile is read again.
        let stamps = stamps(plan);
        let alpn: Vec<Vec<u8>> = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        let loaded = Loaded::load(plan, &alpn, before)?;
        Ok(Arc::new(Self {
            plan: plan.clone(),
            alpn,
            loaded: ArcSwap::from_pointee(loaded),
            files: Mutex::new(Files { stamps, bad: false }),
        }))
    }

    /// Starts TLS on an accepted connection; [`TlsStream::poll_handshake`] must follow.
    pub fn accept<S: RawIo>(&self, socket: S) -> Result<TlsStream<S>, TlsError> {
        let loaded = self.loaded.load();
        let connection = UnbufferedServerConnection::new(Arc::clone(&loaded.config))?;
        Ok(TlsStream::server(socket, connection, loaded.optional.clone()))
    }

    /// Returns the rustls config for code that runs rustls itself. If client certificates are optional, it
    /// accepts any certificate. Only [`ServerTls::accept`] judges them after the handshake, so other code
    /// must not rely on them.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.loaded.load().config)
    }

    /// Reads the files again if one has changed. Returns true if anything was replaced. After an error the
    /// old settings stay, and each call returns the error until it is fixed. Must be called every
    /// [`reload_interval`](Self::reload_interval). Blocks on the disk.
    pub fn reload_if_changed(&self) -> Result<bool, TlsError> {
        self.rotate_tickets_if_due(Instant::now());
        let before = self.loaded.load();
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = stamps(&self.plan);
        if stamps == files.stamps && !files.bad {
            return Ok(false);
        }
        *files = Files { stamps, bad: true };
        let loaded = Loaded::load(&self.plan, &self.alpn, Some(&before))?;
        files.bad = false;
        self.loaded.store(Arc::new(loaded));
        Ok(true)
    }

    /// Renews the key of the session tickets if it is due at `now`. Otherwise the next handshake would renew
    /// it.
    pub fn rotate_tickets_if_due(&self, now: Instant) {
        if let Some(tickets) = &self.loaded.load().tickets {
            tickets.rotate_if_due(now);
        }
    }

    /// Returns the interval between two checks of the files.
    pub fn reload_interval(&self) -> Duration {
        self.plan.reload_interval.duration()
    }

    /// Returns the certificates in use, in the order of the config.
    pub fn certificates(&self) -> Vec<CertificateSummary> {
        self.loaded.load().certificates.clone()
    }

    /// Returns the expiry of the certificates and revocation lists in use.
    pub fn expiries(&self) -> Vec<Expiry> {
        let loaded = self.loaded.load();
        loaded.certificates.iter().map(CertificateSummary::expiry).chain(loaded.revocation.clone()).collect()
    }
}

impl Loaded {
    fn load(plan: &TlsIn, alpn: &[Vec<u8>], before: Option<&Self>) -> Result<Self, TlsError> {
        let provider = provider_in(&plan.ciphers, plan.version_min)?;
        let certificates = plan
            .certificates
            .iter()
            .map(|certificate| LoadedCertificate::load(certificate, &provider))
            .collect::<Result<Vec<_>, _>>()?;
        if certificates.is_empty() {
            return Err(TlsError::NoCertificate);
        }
        let client_auth = match &plan.client_auth {
            Some(rules) => Some(LoadedClientAuth::load(rules, &provider)?),
            None => None,
        };
        let (verifier, rules, revocation) = match client_auth {
            Some(LoadedClientAuth { verifier, fingerprint, expiry }) => (Some(verifier), fingerprint, expiry),
            None => (None, Vec::new(), None),
        };
        let optional = verifier.clone().filter(|verifier| verifier.is_optional());
        let tickets = match plan.ticket_rotation {
            Some(interval) => Some(Self::tickets_for(interval.duration(), &rules, before)?),
            None => None,
        };
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions(plan.version_min))?
            .with_client_cert_verifier(match verifier {
                Some(verifier) => verifier,
                None => WebPkiClientVerifier::no_client_auth(),
            })
            .with_cert_resolver(Arc::new(CertificateChooser::new(&certificates)));
        config.alpn_protocols = alpn.to_vec();
        config.ignore_client_order = !plan.ciphers.is_empty();
        // Sessions live in tickets only: a store would be local to one process and needs a lock.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if let Some(tickets) = &tickets {
            config.ticketer = Arc::<Tickets>::clone(tickets);
        }
        Ok(Self {
            config: Arc::new(config),
            optional,
            certificates: certificates.into_iter().map(|certificate| certificate.summary).collect(),
            revocation,
            tickets,
            rules,
        })
    }

    /// Returns the ticket keys of `before` if they may still be used. A resumed session does not send its
    /// certificate again. So if the rules for client certificates have changed, every client must do a full
    /// handshake.
    fn tickets_for(
        interval: Duration,
        rules: &[u8],
        before: Option<&Self>,
    ) -> Result<Arc<Tickets>, TlsError> {
        let kept = before.filter(|before| before.rules == rules).and_then(|before| before.tickets.as_ref());
        match kept {
            Some(tickets) if tickets.has_interval(interval) => Ok(Arc::clone(tickets)),
            _ => Tickets::new(interval, Instant::now()).map(Arc::new),
        }
    }
}

fn stamps(plan: &TlsIn) -> Vec<Stamp> {
    let certificates = plan.certificates.iter().flat_map(|files| [&files.certificate, &files.key]);
    let client_auth =
        plan.client_auth.iter().flat_map(|rules| [Some(&rules.ca), rules.crl.as_ref()]).flatten();
    certificates.chain(client_auth).map(|path: &std::path::PathBuf| Stamp::of(Path::new(path))).collect()
}
