//! Tickets for redirects to another node. A ticket permits the client one request there.
//!
//! The redirecting node ([`Tickets::issue`]) does not judge the client. It seals the client's `Authorization`
//! into the ticket, because clients do not send that header to another host. The target node
//! ([`Tickets::open`]) judges these credentials as if the client had sent them. So a ticket never grants more
//! than its credentials. It is valid for one method, one path, one client address, and a short time.

use std::fmt;
use std::net::IpAddr;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use weir_wire::base64url;

use crate::Secret;

/// Query parameter that carries a ticket.
pub const PARAMETER: &str = "weir_ticket";

/// Maximum length of an `Authorization` in a ticket. With a longer one, the request's target would be too
/// long for most servers.
pub const CREDENTIALS_BYTES_MAX: usize = 4096;

/// Issues and opens tickets. The key is derived from the secret by HMAC-SHA256. Tickets are sealed with
/// AES-256-GCM-SIV (RFC 8452), which stays secure if a random nonce repeats.
pub struct Tickets {
    cipher: RandomizedNonceKey,
}

/// Request that a ticket permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errand<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Path, without query, as the client sends it.
    pub path: &'a [u8],
    /// Address of the client.
    pub client: IpAddr,
}

/// Reason why a ticket is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketError {
    /// The ticket is incomplete, modified, or made with another secret.
    Forged,
    /// The ticket has expired.
    Expired,
    /// The ticket is for another method.
    OtherMethod,
    /// The ticket is for another path.
    OtherPath,
    /// The ticket is for another client address.
    OtherClient,
}

const VERSION: u8 = 1;
const NONCE_BYTES: usize = 12;
const PATH_BYTES: usize = 32;
const CLIENT_BYTES: usize = 16;
/// Maximum length of a ticket's text; far above the longest ticket.
const TEXT_BYTES_MAX: usize = 16 * 1024;

impl Tickets {
    /// Creates the key. `None` if the crypto library refuses, which does not happen.
    pub fn new(secret: &Secret) -> Option<Self> {
        let key = hmac::sign(&hmac::Key::new(HMAC_SHA256, secret.bytes()), b"weir redirect ticket");
        Some(Self { cipher: RandomizedNonceKey::new(&AES_256_GCM_SIV, key.as_ref()).ok()? })
    }

    /// Issues a ticket with the client's credentials that expires at `expires_s`, in seconds since 1970.
    /// `None` if the credentials are too long, or if the system has no random bytes.
    pub fn issue(&self, errand: &Errand<'_>, credentials: Option<&[u8]>, expires_s: u64) -> Option<String> {
        let credentials = credentials.unwrap_or_default();
        let method_bytes = u8::try_from(errand.method.len()).ok()?;
        if credentials.len() > CREDENTIALS_BYTES_MAX {
            return None;
        }
        let mut text = vec![VERSION];
        text.extend_from_slice(&expires_s.to_be_bytes());
        text.extend_from_slice(&address(errand.client));
        text.extend_from_slice(&path(errand.path));
        text.push(method_bytes);
        text.extend_from_slice(errand.method);
        text.extend_from_slice(credentials);
        let nonce = self.cipher.seal_in_place_append_tag(Aad::empty(), &mut text).ok()?;
        let mut sealed = nonce.as_ref().to_vec();
        sealed.extend_from_slice(&text);
        let mut ticket = Vec::with_capacity(sealed.len() * 4 / 3 + 2);
        base64url::encode(&mut ticket, &sealed);
        String::from_utf8(ticket).ok()
    }

    /// Returns the client's credentials from the ticket, if it permits this request at `now_s`.
    ///
    /// # Errors
    /// If the ticket is rejected; the error is the reason.
    pub fn open(
        &self,
        ticket: &[u8],
        errand: &Errand<'_>,
        now_s: u64,
    ) -> Result<Option<Vec<u8>>, TicketError> {
        let mut sealed = Vec::new();
        if ticket.len() > TEXT_BYTES_MAX || !base64url::decode(&mut sealed, ticket) {
            return Err(TicketError::Forged);
        }
        let text = self.unsealed(&mut sealed).ok_or(TicketError::Forged)?;
        let inside = Inside::read(text).ok_or(TicketError::Forged)?;
        if now_s >= inside.expires_s {
            return Err(TicketError::Expired);
        }
        if inside.method != errand.method {
            return Err(TicketError::OtherMethod);
        }
        if *inside.path != path(errand.path) {
            return Err(TicketError::OtherPath);
        }
        if *inside.client != address(errand.client) {
            return Err(TicketError::OtherClient);
        }
        Ok(Some(inside.credentials.to_vec()).filter(|credentials| !credentials.is_empty()))
    }

    fn unsealed<'s>(&self, sealed: &'s mut [u8]) -> Option<&'s [u8]> {
        let (nonce, sealed) = sealed.split_at_mut_checked(NONCE_BYTES)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        self.cipher.open_in_place(nonce, Aad::empty(), sealed).ok().map(|text| &*text)
    }
}

/// Content of an unsealed ticket.
struct Inside<'t> {
    expires_s: u64,
    client: &'t [u8; CLIENT_BYTES],
    path: &'t [u8; PATH_BYTES],
    method: &'t [u8],
    credentials: &'t [u8],
}

impl<'t> Inside<'t> {
    fn read(text: &'t [u8]) -> Option<Self> {
        let (&[version], text) = text.split_first_chunk()?;
        let (expires_s, text) = text.split_first_chunk()?;
        let (client, text) = text.split_first_chunk()?;
        let (path, text) = text.split_first_chunk()?;
        let (&[method_bytes], text) = text.split_first_chunk()?;
        let (method, credentials) = text.split_at_checked(method_bytes.into())?;
        let expires_s = u64::from_be_bytes(*expires_s);
        (version == VERSION).then_some(Self { expires_s, client, path, method, credentials })
    }
}

/// Returns the bytes of the address. Maps IPv4 addresses to IPv6, so that a client has one form only.
fn address(client: IpAddr) -> [u8; CLIENT_BYTES] {
    match client {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn path(path: &[u8]) -> [u8; PATH_BYTES] {
    let mut bytes = [0; PATH_BYTES];
    bytes.copy_from_slice(digest(&SHA256, path).as_ref());
    bytes
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tickets(..)")
    }
}

impl fmt::Display for TicketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forged => "the ticket of the redirect is not one of ours",
            Self::Expired => "the ticket of the redirect has expired",
            Self::OtherMethod => "the ticket of the redirect is for another method",
            Self::OtherPath => "the ticket of the redirect is for another path",
            Self::OtherClient => "the ticket of the redirect was given to another client address",
        })
    }
}

impl std::error::Error for TicketError {}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;
    const GET: Errand<'static> =
        Errand { method: b"GET", path: b"/data/a%20b", client: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST) };

    fn tickets(secret: &str) -> Tickets {
        Tickets::new(&Secret::new(secret.as_bytes().to_vec()).unwrap()).unwrap()
    }

    #[test]
    fn a_ticket_passes_on_what_was_presented_for_one_errand_and_for_a_while() {
        let ours = tickets("a secret of some length");
        let ticket = ours.issue(&GET, Some(b"Bearer abc"), NOW + 60).unwrap();
        let open = |errand: &Errand<'_>, now_s| ours.open(ticket.as_bytes(), errand, now_s);
        assert_eq!(open(&GET, NOW), Ok(Some(b"Bearer abc".to_vec())));
        assert_eq!(open(&GET, NOW + 59), open(&GET, NOW));
        assert_eq!(open(&GET, NOW + 60), Err(TicketError::Expired));
        assert_eq!(open(&Errand { method: b"PUT", ..GET }, NOW), Err(TicketError::OtherMethod));
        assert_eq!(open(&Errand { path: b"/data/a b", ..GET }, NOW), Err(TicketError::OtherPath));
        let client = "127.0.0.2".parse().unwrap();
        assert_eq!(open(&Errand { client, ..GET }, NOW), Err(TicketError::OtherClient));
        let mapped = "::ffff:127.0.0.1".parse().unwrap();
        assert!(open(&Errand { client: mapped, ..GET }, NOW).is_ok());
        let other = tickets("another secret, not ours");
        assert_eq!(other.open(ticket.as_bytes(), &GET, NOW), Err(TicketError::Forged));
    }

    #[test]
    fn an_anonymous_client_stays_anonymous_and_too_long_credentials_stay_here() {
        let ours = tickets("a secret of some length");
        let ticket = ours.issue(&GET, None, NOW + 60).unwrap();
        assert_eq!(ours.open(ticket.as_bytes(), &GET, NOW), Ok(None));
        assert!(ours.issue(&GET, Some(&[b'x'; CREDENTIALS_BYTES_MAX + 1]), NOW).is_none());
        assert!(ours.issue(&Errand { method: &[b'X'; 256], ..GET }, None, NOW).is_none());
    }

    #[test]
    fn a_ticket_with_any_character_changed_is_none_of_ours() {
        let ours = tickets("a secret of some length");
        let ticket = ours.issue(&GET, Some(b"Basic eDp5"), NOW + 60).unwrap().into_bytes();
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(ours.open(&changed, &GET, NOW), Err(TicketError::Forged), "at {at}");
        }
        for text in [&b""[..], b"A", b"weir", &ticket[..ticket.len() - 4], &[b'A'; 20_000]] {
            assert_eq!(ours.open(text, &GET, NOW), Err(TicketError::Forged));
        }
    }
}
