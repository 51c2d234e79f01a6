//! Secrets from files and environment variables.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use weir_config::plan::SecretPlace;

/// Key for signatures or encryption. Its bytes are never printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(Vec<u8>);

/// Minimum length; shorter secrets are easy to guess, or a mistake.
const BYTES_MIN: usize = 16;
/// Maximum length; longer files are not secrets.
const BYTES_MAX: usize = 4096;

impl Secret {
    /// Reads the secret from a file or an environment variable. Blocks on the disk.
    ///
    /// # Errors
    /// If it cannot be read or is no valid secret. The message names the file or the variable.
    pub fn read(place: &SecretPlace) -> Result<Self, String> {
        match place {
            SecretPlace::File(path) => {
                let named = |cause: String| format!("{}: {cause}", path.display());
                file(path).and_then(Self::new).map_err(named)
            }
            SecretPlace::Env(name) => {
                let named = |cause: String| format!("{name}: {cause}");
                let value = std::env::var_os(name).ok_or_else(|| "the variable is not set".to_owned());
                value.and_then(|value| Self::new(value.into_encoded_bytes())).map_err(named)
            }
        }
    }

    /// Creates a secret from `bytes`, without the line break that editors append.
    ///
    /// # Errors
    /// If it has too few or too many bytes.
    pub fn new(mut bytes: Vec<u8>) -> Result<Self, String> {
        let end = bytes.trim_ascii_end().len();
        bytes.truncate(end);
        match bytes.len() {
            0..BYTES_MIN => {
                Err(format!("a secret has at least {BYTES_MIN} bytes, this one has {}", bytes.len()))
            }
            BYTES_MIN..=BYTES_MAX => Ok(Self(bytes)),
            _ => Err(format!("a secret has at most {BYTES_MAX} bytes")),
        }
    }

    /// Returns the bytes of the secret.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn file(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|cause| cause.to_string())?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64 + 2).read_to_end(&mut bytes).map_err(|cause| cause.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_enough_and_is_not_printed() {
        assert!(Secret::new(b"short\n".to_vec()).is_err());
        assert!(Secret::new(vec![b'x'; 5000]).is_err());
        let secret = Secret::new(b"0123456789abcdef\r\n".to_vec()).unwrap();
        assert_eq!(secret, Secret::new(b"0123456789abcdef".to_vec()).unwrap());
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }
}
