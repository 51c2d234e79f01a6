//! Tickets: with one, a client that was sent on to another node is let do there what it has asked for here, and nothing
//! else.
//!
//! Who sends a client on ([`Tickets::issue`]) does not judge it. It passes on, sealed, what the client has presented
//! (its `Authorization`), which clients do not take to another host by themselves; the node ([`Tickets::open`]) judges
//! that as if the client had presented it there. So a ticket never grants more than the credentials in it, and it is good
//! for one method, one path, one client address, and a short time.

use std::fmt;
use std::net::IpAddr;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac::{self, HMAC_SHA256};
use weir_wire::base64url;

use crate::Secret;

/// The parameter of a query that a ticket is in.
pub const PARAMETER: &str = "weir_ticket";

/// No `Authorization` that is longer is passed on: the target of the request would get too long for most servers.
pub const CREDENTIALS_BYTES_MAX: usize = 4096;

/// Makes and reads tickets. Their key comes from the secret by HMAC-SHA256; they are sealed by AES-256-GCM-SIV (RFC 8452),
/// which does not break if a random nonce should come twice.
pub struct Tickets {
    cipher: RandomizedNonceKey,
}

/// What a ticket is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errand<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The path, without query, as the client writes it.
    pub path: &'a [u8],
    /// Who asks.
    pub client: IpAddr,
}

/// Why a ticket does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketError {
    /// It is not whole, was changed, or was made with another secret.
    Forged,
    /// Its time is over.
    Expired,
    /// It is good for another method.
    OtherMethod,
    /// It is good for another path.
    OtherPath,
    /// It was given to another client address.
    OtherClient,
}

const VERSION: u8 = 1;
const NONCE_BYTES: usize = 12;
const PATH_BYTES: usize = 32;
const CLIENT_BYTES: usize = 16;
/// Far more than the longest ticket.
const TEXT_BYTES_MAX: usize = 16 * 1024;

impl Tickets {
    /// `None`: the crypto library refuses, which it does not.
    pub fn new(secret: &Secret) -> Option<Self> {
        let key = hmac::sign(&hmac::Key::new(HMAC_SHA256, secret.bytes()), b"weir redirect ticket");
        Some(Self { cipher: RandomizedNonceKey::new(&AES_256_GCM_SIV, key.as_ref()).ok()? })
    }

    /// A ticket that counts until `expires_s`, in seconds since 1970, with what the client has presented. `None`: that is
    /// too long to be passed on, or the system has no randomness.
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

    /// What the client has presented where it got the ticket, if that counts for this at `now_s`.
    ///
    /// # Errors
    /// Why it does not.
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

/// What is in a ticket once it has been unsealed.
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

/// IPv4 addresses are those that IPv6 maps them to: a client is the same however its address was written.
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
