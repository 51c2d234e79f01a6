//! Certificates of a scenario.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

use super::super::rivals::HOST;

/// Certificate for every listener of a scenario, and its authority.
#[derive(Debug, Clone)]
pub(crate) struct Certificates {
    /// Certificate and key in one file.
    pub(crate) site: PathBuf,
    /// Certificate of the authority.
    pub(crate) authority: PathBuf,
}

impl Certificates {
    /// Returns the same files in another directory, to which they have been copied.
    pub(crate) fn in_directory(&self, directory: &Path) -> Self {
        let there = |path: &Path| path.file_name().map_or_else(PathBuf::new, |name| directory.join(name));
        Self { site: there(&self.site), authority: there(&self.authority) }
    }

    /// Creates new certificates (ECDSA P-256) as files in `directory`.
    pub(crate) fn make(directory: &Path) -> Result<Self, String> {
        let made = || -> Result<(String, String), rcgen::Error> {
            let key = KeyPair::generate()?;
            let mut authority = CertificateParams::default();
            authority.distinguished_name.push(DnType::CommonName, "lab authority");
            authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            let pem = authority.self_signed(&key)?.pem();
            let issuer = Issuer::new(authority, key);
            let key = KeyPair::generate()?;
            let site = CertificateParams::new([HOST.to_owned()])?.signed_by(&key, &issuer)?;
            Ok((pem, format!("{}{}", site.pem(), key.serialize_pem())))
        };
        let (authority, site) = made().map_err(|cause| format!("a certificate: {cause}"))?;
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).map_err(|cause| format!("{}: {cause}", path.display()))?;
            Ok::<_, String>(path)
        };
        Ok(Self { site: write("site.pem", &site)?, authority: write("authority.pem", &authority)? })
    }
}
