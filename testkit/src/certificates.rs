//! Temporary certificate authorities, certificates and revocation lists.
//!
//! They are created in memory. Tests write those that a program must read from the disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod, KeyPair, KeyUsagePurpose, RevocationReason,
    RevokedCertParams, SerialNumber, date_time_ymd,
};

const DAY: Duration = Duration::from_secs(86_400);

/// A certificate authority that exists for the duration of a test.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Properties of a certificate. The default is an ECDSA certificate for servers and clients, without names,
/// valid for 90 days.
#[derive(Debug, Clone)]
pub struct Request {
    organization: Option<String>,
    common_name: Option<String>,
    names: Vec<String>,
    key: KeyKind,
    valid_from: SystemTime,
    valid_until: SystemTime,
}

/// Type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// P-256.
    Ecdsa,
    /// 2048 bits.
    Rsa,
}

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The chain in PEM, leaf first, without the root.
    pub certificate_pem: String,
    /// The key in PEM (PKCS #8).
    pub key_pem: String,
    serial: u64,
}

/// Paths of the files of an [`Issued`].
#[derive(Debug, Clone)]
pub struct IssuedFiles {
    /// Certificate chain.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

impl Authority {
    /// Creates a root authority.
    pub fn new(common_name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key for the authority");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("a root certificate");
        Self { issuer }
    }

    /// Returns its own certificate in PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Signs a certificate with these properties.
    pub fn issue(&self, request: &Request) -> Issued {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let mut params =
            CertificateParams::new(request.names.clone()).expect("names that can be in a certificate");
        params.distinguished_name = DistinguishedName::new();
        if let Some(name) = &request.organization {
            params.distinguished_name.push(DnType::OrganizationName, name);
        }
        if let Some(name) = &request.common_name {
            params.distinguished_name.push(DnType::CommonName, name);
        }
        params.serial_number = Some(serial.into());
        params.not_before = date_time_ymd(1970, 1, 1) + since_epoch(request.valid_from);
        params.not_after = date_time_ymd(1970, 1, 1) + since_epoch(request.valid_until);
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = request.key.generate();
        let certificate = params.signed_by(&key, &self.issuer).expect("a signed certificate");
        Issued { certificate_pem: certificate.pem(), key_pem: key.serialize_pem(), serial }
    }

    /// Returns a revocation list in PEM, valid until `next_update`.
    pub fn revoke(&self, revoked: &[&Issued], next_update: SystemTime) -> String {
        let next_update = since_epoch(next_update);
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(1970, 1, 1) + next_update.saturating_sub(90 * DAY),
            next_update: date_time_ymd(1970, 1, 1) + next_update,
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(|issued| issued.revocation()).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.issuer).expect("a revocation list").pem().expect("its PEM form")
    }
}

impl Request {
    /// Creates a request for these DNS names and addresses, as subject alternative names.
    pub fn names(names: &[&str]) -> Self {
        Self {
            organization: None,
            common_name: None,
            names: names.iter().map(|&name| name.to_owned()).collect(),
            key: KeyKind::Ecdsa,
            valid_from: SystemTime::now() - DAY,
            valid_until: SystemTime::now() + 90 * DAY,
        }
    }

    /// Sets the organization, which comes before the common name in the subject.
    pub fn organization(mut self, name: &str) -> Self {
        self.organization = Some(name.to_owned());
        self
    }

    /// Sets the common name.
    pub fn common_name(mut self, name: &str) -> Self {
        self.common_name = Some(name.to_owned());
        self
    }

    /// Sets the type of the key.
    pub fn key(mut self, kind: KeyKind) -> Self {
        self.key = kind;
        self
    }

    /// Sets the period of validity.
    pub fn valid(mut self, from: SystemTime, until: SystemTime) -> Self {
        (self.valid_from, self.valid_until) = (from, until);
        self
    }

    /// Makes a certificate that expired yesterday.
    pub fn expired(self) -> Self {
        let now = SystemTime::now();
        self.valid(now - 30 * DAY, now - DAY)
    }
}

/// A self-signed certificate of an authority for one name, as `openssl req -x509` creates it.
pub struct SelfSigned;

impl SelfSigned {
    /// Creates one for this DNS name, which is also its common name.
    pub fn for_name(name: &str) -> Issued {
        let mut params =
            CertificateParams::new([name.to_owned()]).expect("a name that can be in a certificate");
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyKind::Ecdsa.generate();
        let certificate = params.self_signed(&key).expect("a self-signed certificate");
        Issued { certificate_pem: certificate.pem(), key_pem: key.serialize_pem(), serial: 0 }
    }
}

impl KeyKind {
    fn generate(self) -> KeyPair {
        let algorithm = match self {
            Self::Ecdsa => &rcgen::PKCS_ECDSA_P256_SHA256,
            Self::Rsa => &rcgen::PKCS_RSA_SHA256,
        };
        KeyPair::generate_for(algorithm).expect("a key")
    }
}

impl Issued {
    /// Writes `NAME.pem` and `NAME.key` into `directory`. Only the owner can read the key.
    pub fn write_to(&self, directory: &Path, name: &str) -> IssuedFiles {
        let files = IssuedFiles {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}.key")),
        };
        fs::write(&files.certificate, &self.certificate_pem).expect("a written certificate");
        fs::write(&files.key, &self.key_pem).expect("a written key");
        fs::set_permissions(&files.key, fs::Permissions::from_mode(0o600)).expect("a private key");
        files
    }

    fn revocation(&self) -> RevokedCertParams {
        RevokedCertParams {
            serial_number: self.serial.into(),
            revocation_time: date_time_ymd(1970, 1, 1) + since_epoch(SystemTime::now() - DAY),
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        }
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
