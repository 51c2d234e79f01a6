//! The directory in memory for the configs, certificates, served files and logs of a measurement.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use crate::error::{Context, Result};

/// Host name in the certificate.
pub(crate) const HOST: &str = "bench.test";

/// TLS cipher of all contestants, so that their preferences make no difference.
pub(crate) const CIPHER: &str = "TLS_AES_128_GCM_SHA256";

/// Files to serve: path and size in bytes.
pub(crate) const FILES: [(&str, usize); 3] = [("1k", 1 << 10), ("64k", 64 << 10), ("1m", 1 << 20)];

/// The directory, which is removed with its content when this is dropped.
#[derive(Debug)]
pub(crate) struct Workshop {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Workshop {
    /// Creates the directory, the files and a fresh certificate (ECDSA P-256, signed by an authority of its
    /// own).
    pub(crate) fn open() -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("weir-bench-")
            .tempdir_in("/dev/shm")
            .context("a directory in /dev/shm")?;
        let (authority, issuer) = make_authority()?;
        // Workers of rivals run as another user.
        let all_may_read = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(directory.path(), all_may_read).context("permissions in /dev/shm")?;
        let workshop = Self { directory, issuer };
        workshop.write("authority.pem", &authority)?;
        let files = workshop.path("files");
        fs::create_dir(&files).context(files.display())?;
        for (name, bytes) in FILES {
            let content: Vec<u8> = (b'a'..=b'z').cycle().take(bytes).collect();
            fs::write(files.join(name), content).context(files.join(name).display())?;
        }
        workshop.make_certificates()?;
        Ok(workshop)
    }

    /// Returns a path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file in the directory.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, text).context(path.display())?;
        Ok(path)
    }

    /// Returns the path of the certificate chain and key in one file.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.path("site.pem")
    }

    /// Returns the path of the authority's certificate.
    pub(crate) fn authority(&self) -> PathBuf {
        self.path("authority.pem")
    }

    /// Creates another certificate by the same authority, with an RSA key of 2,048 bits, for programs that
    /// accept no other. Returns the paths of certificate and key.
    pub(crate) fn rsa_certificate(&self) -> Result<(PathBuf, PathBuf)> {
        let key = KeyPair::generate_for(&rcgen::PKCS_RSA_SHA256).context("an RSA key")?;
        let certificate = self.issue(&key)?;
        Ok((self.write("rsa.pem", &certificate)?, self.write("rsa.key", &key.serialize_pem())?))
    }

    fn make_certificates(&self) -> Result<()> {
        let key = KeyPair::generate().context("a key")?;
        let certificate = self.issue(&key)?;
        self.write("site.pem", &format!("{certificate}{}", key.serialize_pem()))?;
        Ok(())
    }

    fn issue(&self, key: &KeyPair) -> Result<String> {
        let site = CertificateParams::new([HOST.to_owned()]).context("the site's name")?;
        Ok(site.signed_by(key, &self.issuer).context("the site's certificate")?.pem())
    }
}

/// Creates an authority. Returns its certificate and its signer.
fn make_authority() -> Result<(String, Issuer<'static, KeyPair>)> {
    let key = KeyPair::generate().context("a key")?;
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "bench authority");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let pem = authority.self_signed(&key).context("the authority's certificate")?.pem();
    Ok((pem, Issuer::new(authority, key)))
}

/// Returns loopback addresses that were free a moment ago.
pub(crate) fn free_addresses<const N: usize>() -> Result<[SocketAddr; N]> {
    let listeners =
        (0..N).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<std::io::Result<Vec<_>>>();
    let listeners = listeners.context("a free port")?;
    let mut addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); N];
    for (address, listener) in addresses.iter_mut().zip(&listeners) {
        *address = listener.local_addr().context("a free port")?;
    }
    Ok(addresses)
}

/// Returns the text of a file without its last line break.
pub(crate) fn read_line(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
