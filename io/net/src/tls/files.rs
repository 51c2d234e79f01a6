//! Reads PEM files. Blocks on the disk, so only the control plane may use it.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, pem};

use super::error::{FileProblem, FileRole, TlsError};
use super::explain::explain;
use super::pins::{Pins, is_authority};

/// Maximum size of a file. Revocation lists of large authorities have tens of megabytes.
pub(super) const FILE_BYTES_MAX: u64 = 128 << 20;

/// Content of a PEM file and its purpose.
pub(super) struct PemFile<'a> {
    role: FileRole,
    path: &'a Path,
    bytes: Vec<u8>,
}

/// Fingerprint of a file. It changes when the file is written or replaced, even by one of the same size and
/// time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    path: PathBuf,
    identity: Option<Identity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl<'a> PemFile<'a> {
    /// Reads a file.
    pub(super) fn read(role: FileRole, path: &'a Path) -> Result<Self, TlsError> {
        let read = || -> Result<Vec<u8>, FileProblem> {
            // Without this flag, opening a named pipe would wait for its writer.
            let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
            if !file.metadata()?.is_file() {
                return Err(FileProblem::NotAFile);
            }
            let mut bytes = Vec::new();
            file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > FILE_BYTES_MAX { Err(FileProblem::TooLarge) } else { Ok(bytes) }
        };
        match read() {
            Ok(bytes) => Ok(Self { role, path, bytes }),
            Err(problem) => Err(TlsError::File { role, path: path.to_owned(), problem }),
        }
    }

    /// Returns the bytes of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns its certificates, at least one.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        self.sections("certificate")
    }

    /// Returns its revocation lists, at least one.
    pub(super) fn revocation_lists(&self) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
        self.sections("revocation list")
    }

    /// Returns its first private key.
    pub(super) fn private_key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        PrivateKeyDer::from_pem_slice(&self.bytes).map_err(|error| {
            self.problem(match error {
                _ if self.has_encrypted_key() => FileProblem::EncryptedKey,
                pem::Error::NoItemsFound => FileProblem::Missing("private key"),
                error => FileProblem::Pem(error),
            })
        })
    }

    /// Returns its certificates, at least one: those of authorities as roots, and each as a pin.
    pub(super) fn authorities(&self) -> Result<(Arc<RootCertStore>, Pins), TlsError> {
        let mut roots = RootCertStore::empty();
        let certificates = self.certificates()?;
        for (index, certificate) in certificates.iter().enumerate() {
            if !is_authority(certificate) {
                continue;
            }
            roots
                .add(certificate.clone())
                .map_err(|error| self.problem(FileProblem::BadCertificate(index + 1, explain(&error))))?;
        }
        Ok((Arc::new(roots), Pins::new(certificates)))
    }

    /// Creates an error about the file.
    pub(super) fn problem(&self, problem: FileProblem) -> TlsError {
        TlsError::File { role: self.role, path: self.path.to_owned(), problem }
    }

    fn sections<T: PemObject>(&self, what: &'static str) -> Result<Vec<T>, TlsError> {
        let sections = T::pem_slice_iter(&self.bytes)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| self.problem(FileProblem::Pem(error)))?;
        if sections.is_empty() { Err(self.problem(FileProblem::Missing(what))) } else { Ok(sections) }
    }

    fn has_encrypted_key(&self) -> bool {
        let text = String::from_utf8_lossy(&self.bytes);
        text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
    }
}

impl Stamp {
    /// Returns the fingerprint of a file. A missing file has one, too.
    pub(super) fn of(path: &Path) -> Self {
        let identity = fs::metadata(path).ok().map(|file| Identity {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.size(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        });
        Self { path: path.to_owned(), identity }
    }
}
