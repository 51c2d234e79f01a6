//! Creates and verifies the values of sticky cookies.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use weir_balance::{StickyToken, TokenAge, TokenLife};
use weir_config::plan::{CookieValue, StickyCookie};
use weir_model::{PoolName, ServerName};
use weir_wire::base64url;

use super::Secret;

/// Creates and reads the cookie values of one pool.
///
/// One key for each purpose is derived from the secret, by HMAC-SHA256 over purpose and pool, so a value of
/// one pool is invalid in another. Ids are 64 bits of an HMAC over the server's name. Signatures are 128 bits
/// of an HMAC over the token. Encryption uses AES-256-GCM-SIV (RFC 8452), which stays secure if a random
/// nonce repeats.
pub struct Seal {
    value: CookieValue,
    life: TokenLife,
    ids: hmac::Key,
    signatures: hmac::Key,
    /// Cipher for `encrypted` values.
    cipher: Option<RandomizedNonceKey>,
}

/// Content of a valid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Id of a server.
    pub id: Vec<u8>,
    /// Times of the value, if it has them.
    pub age: Option<TokenAge>,
}

/// Maximum length; no issued value is longer.
const VALUE_BYTES_MAX: usize = 256;
const ID_BYTES: usize = 8;
const SIGNATURE_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
/// Separator between a token and its signature.
const SIGNED: u8 = b'.';

impl Seal {
    /// Creates the seal. Without a secret, ids only hide the names of the servers.
    pub fn new(cookie: &StickyCookie, pool: &PoolName, secret: Option<&Secret>) -> Self {
        let secret = secret.cloned().unwrap_or_default();
        let secret = hmac::Key::new(HMAC_SHA256, secret.bytes());
        let derive = |purpose: &str| hmac::sign(&secret, format!("weir sticky {purpose}\0{pool}").as_bytes());
        let key = |purpose: &str| hmac::Key::new(HMAC_SHA256, derive(purpose).as_ref());
        let seconds = |limit: Option<weir_model::Millis>| limit.map(|limit| limit.0 / 1_000);
        let encrypts = cookie.value == CookieValue::Encrypted;
        let cipher = || RandomizedNonceKey::new(&AES_256_GCM_SIV, derive("cipher").as_ref()).ok();
        Self {
            value: cookie.value,
            life: TokenLife { idle_max_s: seconds(cookie.idle_max), life_max_s: seconds(cookie.life_max) },
            ids: key("id"),
            signatures: key("signature"),
            cipher: if encrypts { cipher() } else { None },
        }
    }

    /// Returns the id of a server, which stays the same as long as secret and name do.
    pub fn id(&self, server: &ServerName) -> Vec<u8> {
        if self.value == CookieValue::Plain {
            return server.as_str().as_bytes().to_vec();
        }
        let mut id = Vec::new();
        base64url::encode(&mut id, &hmac::sign(&self.ids, server.as_str().as_bytes()).as_ref()[..ID_BYTES]);
        id
    }

    /// Returns the lifetime of the values.
    pub fn life(&self) -> TokenLife {
        self.life
    }

    /// Returns the value for a server's id. It is empty if the system has no randomness to encrypt with.
    pub fn seal(&self, id: &[u8], age: Option<TokenAge>) -> Vec<u8> {
        let mut value = Vec::with_capacity(64);
        StickyToken { id, age }.append(&mut value);
        match self.value {
            CookieValue::Opaque | CookieValue::Plain => value,
            CookieValue::Signed => {
                let signature = hmac::sign(&self.signatures, &value);
                value.push(SIGNED);
                base64url::encode(&mut value, &signature.as_ref()[..SIGNATURE_BYTES]);
                value
            }
            CookieValue::Encrypted => self.encrypted(value).unwrap_or_default(),
        }
    }

    /// Returns the content of a value, if it was created with the same secret and has not expired at `now_s`,
    /// in seconds since 1970.
    pub fn open(&self, value: &[u8], now_s: u64) -> Option<Opened> {
        if value.len() > VALUE_BYTES_MAX {
            return None;
        }
        let mut plain = Vec::new();
        let token = match self.value {
            CookieValue::Opaque | CookieValue::Plain => value,
            CookieValue::Signed => self.verified(value)?,
            CookieValue::Encrypted => self.decrypted(value, &mut plain)?,
        };
        let StickyToken { id, age } = StickyToken::parse(token)?;
        self.life.permits(age, now_s).then(|| Opened { id: id.to_vec(), age })
    }

    fn verified<'v>(&self, value: &'v [u8]) -> Option<&'v [u8]> {
        let at = value.iter().rposition(|byte| *byte == SIGNED)?;
        let token = &value[..at];
        let mut signature = Vec::with_capacity(SIGNATURE_BYTES);
        if !base64url::decode(&mut signature, &value[at + 1..]) {
            return None;
        }
        let wanted = hmac::sign(&self.signatures, token);
        verify_slices_are_equal(&wanted.as_ref()[..SIGNATURE_BYTES], &signature).ok()?;
        Some(token)
    }

    fn encrypted(&self, mut text: Vec<u8>) -> Option<Vec<u8>> {
        let nonce = self.cipher.as_ref()?.seal_in_place_append_tag(Aad::empty(), &mut text).ok()?;
        let mut sealed = nonce.as_ref().to_vec();
        sealed.extend_from_slice(&text);
        let mut value = Vec::with_capacity(sealed.len() * 4 / 3 + 2);
        base64url::encode(&mut value, &sealed);
        Some(value)
    }

    fn decrypted<'p>(&self, value: &[u8], plain: &'p mut Vec<u8>) -> Option<&'p [u8]> {
        if !base64url::decode(plain, value) {
            return None;
        }
        let (nonce, sealed) = plain.split_at_mut_checked(NONCE_BYTES)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        self.cipher.as_ref()?.open_in_place(nonce, Aad::empty(), sealed).ok().map(|opened| &*opened)
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Seal({})", self.value.name())
    }
}

#[cfg(test)]
mod tests {
    use weir_config::plan::CookieMode;
    use weir_http::{CookieAttributes, is_cookie_value};
    use weir_model::{Millis, Name};

    use super::*;

    const NOW: u64 = 1_700_000_000;
    const ALL: [CookieValue; 4] =
        [CookieValue::Opaque, CookieValue::Plain, CookieValue::Signed, CookieValue::Encrypted];

    fn cookie(value: CookieValue, idle_max_s: Option<u64>) -> StickyCookie {
        let attributes = CookieAttributes {
            path: "/".to_owned(),
            domain: None,
            max_age_s: None,
            http_only: true,
            same_site: None,
        };
        StickyCookie {
            name: "SRV".to_owned(),
            mode: CookieMode::Insert,
            value,
            key: None,
            attributes,
            secure: None,
            no_cache: true,
            idle_max: idle_max_s.map(Millis::from_secs),
            life_max: None,
        }
    }

    fn seal(value: CookieValue, secret: &str) -> Seal {
        let secret = Secret::new(secret.as_bytes().to_vec()).unwrap();
        Seal::new(&cookie(value, Some(60)), &Name::new("web").unwrap(), Some(&secret))
    }

    fn server() -> ServerName {
        Name::new("10.0.0.1:80").unwrap()
    }

    const SECRET: &str = "a secret of some length";

    #[test]
    fn another_weir_with_the_same_secret_reads_every_value() {
        for value in ALL {
            let (ours, theirs) = (seal(value, SECRET), seal(value, SECRET));
            let age = ours.life().renewed(None, NOW);
            let text = ours.seal(&ours.id(&server()), age);
            assert!(is_cookie_value(&text) && text.len() <= VALUE_BYTES_MAX, "{value:?}");
            let opened = theirs.open(&text, NOW).unwrap();
            assert_eq!((opened.id, opened.age), (theirs.id(&server()), age), "{value:?}");
            assert_eq!(theirs.open(&text, NOW + 61), None, "{value:?}: expired");
        }
    }

    #[test]
    fn what_is_not_plain_does_not_show_what_a_server_is_called() {
        for value in ALL {
            let seal = seal(value, SECRET);
            let text = String::from_utf8(seal.seal(&seal.id(&server()), None)).unwrap();
            assert_eq!(text.contains("10.0.0.1"), value == CookieValue::Plain, "{text}");
        }
    }

    #[test]
    fn forged_values_say_nothing() {
        for value in [CookieValue::Signed, CookieValue::Encrypted] {
            let ours = seal(value, SECRET);
            let text = ours.seal(&ours.id(&server()), ours.life().renewed(None, NOW));
            assert_eq!(seal(value, "another secret, not ours").open(&text, NOW), None, "{value:?}");
            for at in 0..text.len() {
                for flip in [1, 2, 16] {
                    let mut forged = text.clone();
                    forged[at] ^= flip;
                    assert_eq!(ours.open(&forged, NOW), None, "{value:?}: byte {at}");
                }
                assert_eq!(ours.open(&text[..at], NOW), None, "{value:?}: {at} bytes of it");
            }
        }
        let pool = |name: &str| {
            let secret = Secret::new(SECRET.as_bytes().to_vec()).unwrap();
            Seal::new(&cookie(CookieValue::Signed, None), &Name::new(name).unwrap(), Some(&secret))
        };
        let text = pool("web").seal(b"x", None);
        assert!(pool("web").open(&text, NOW).is_some() && pool("api").open(&text, NOW).is_none());
    }

    #[test]
    fn an_encrypted_value_is_another_one_each_time() {
        let seal = seal(CookieValue::Encrypted, SECRET);
        assert_ne!(seal.seal(b"id", None), seal.seal(b"id", None));
    }

    #[test]
    fn ids_depend_on_the_secret() {
        let id = |secret| seal(CookieValue::Opaque, secret).id(&server());
        assert_eq!(id(SECRET), id(SECRET));
        assert_ne!(id(SECRET), id("another secret, not ours"));
        assert_eq!(id(SECRET).len(), 11);
    }

    #[test]
    fn garbage_of_any_length_is_read_without_harm() {
        for value in ALL {
            let seal = seal(value, SECRET);
            for length in [0, 1, 11, 12, 27, 28, 255, 256, 257, 10_000] {
                for byte in [0, b'.', b'A', b'|', 0xff] {
                    assert_eq!(seal.open(&vec![byte; length], NOW), None, "{value:?} {byte} {length}");
                }
            }
        }
    }
}
