//! Session tickets.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use aws_lc_rs::aead::{AES_256_GCM, Aad, Nonce, RandomizedNonceKey};
use aws_lc_rs::rand;
use rustls::server::ProducesTickets;

use super::error::TlsError;

/// Encrypts sessions into tickets that clients store (RFC 5077, RFC 8446 section 4.6.1). Any worker can
/// resume them, and none stores them. Each key makes tickets for one interval and is accepted for another
/// one.
///
/// The implementation of rustls needs a lock and has a fixed interval.
pub(super) struct Tickets {
    interval: Duration,
    keys: ArcSwap<Keys>,
    rotating: Mutex<()>,
}

struct Keys {
    current: Arc<TicketKey>,
    previous: Option<Arc<TicketKey>>,
    rotate_at: Instant,
}

struct TicketKey {
    name: [u8; KEY_NAME],
    key: RandomizedNonceKey,
}

const KEY_NAME: usize = 16;
const NONCE: usize = 12;
/// Maximum lifetime of a ticket in TLS 1.3 (RFC 8446 section 4.6.1).
const LIFETIME_MAX: Duration = Duration::from_secs(7 * 86_400);

impl Tickets {
    /// Creates the first key, which is used from `now` on.
    pub(super) fn new(interval: Duration, now: Instant) -> Result<Self, TlsError> {
        let interval = within_limits(interval);
        let keys =
            Keys { current: Arc::new(TicketKey::random()?), previous: None, rotate_at: now + interval };
        Ok(Self { interval, keys: ArcSwap::from_pointee(keys), rotating: Mutex::new(()) })
    }

    /// Returns true if the interval is the same.
    pub(super) fn has_interval(&self, interval: Duration) -> bool {
        self.interval == within_limits(interval)
    }

    /// Renews the key if it is due. Each use of a ticket does this as well; a periodic call also removes old
    /// keys without traffic.
    pub(super) fn rotate_if_due(&self, now: Instant) {
        if now < self.keys.load().rotate_at {
            return;
        }
        let _guard = self.rotating.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = self.keys.load();
        if now < keys.rotate_at {
            return;
        }
        // Without random bytes the old key stays; the next call tries again.
        let Ok(fresh) = TicketKey::random() else { return };
        let previous = (now < keys.rotate_at + self.interval).then(|| Arc::clone(&keys.current));
        let rotate_at = now + self.interval;
        self.keys.store(Arc::new(Keys { current: Arc::new(fresh), previous, rotate_at }));
    }

    fn seal(&self, session: &[u8], now: Instant) -> Option<Vec<u8>> {
        self.rotate_if_due(now);
        let keys = self.keys.load();
        let TicketKey { name, key } = &*keys.current;
        let mut sealed = session.to_vec();
        let nonce = key.seal_in_place_append_tag(Aad::from(name), &mut sealed).ok()?;
        let mut ticket = Vec::with_capacity(KEY_NAME + NONCE + sealed.len());
        ticket.extend_from_slice(name);
        ticket.extend_from_slice(nonce.as_ref());
        ticket.extend_from_slice(&sealed);
        Some(ticket)
    }

    fn open(&self, ticket: &[u8], now: Instant) -> Option<Vec<u8>> {
        self.rotate_if_due(now);
        let (name, rest) = ticket.split_at_checked(KEY_NAME)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE)?;
        let keys = self.keys.load();
        let TicketKey { name, key } =
            &**std::iter::once(&keys.current).chain(&keys.previous).find(|key| key.name == name)?;
        let mut session = sealed.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let length = key.open_in_place(nonce, Aad::from(name), &mut session).ok()?.len();
        session.truncate(length);
        Some(session)
    }
}

impl ProducesTickets for Tickets {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(self.interval.as_secs()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.seal(plain, Instant::now())
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.open(cipher, Instant::now())
    }
}

/// Limits the interval. A shorter one would renew keys faster than clients return.
fn within_limits(interval: Duration) -> Duration {
    interval.clamp(Duration::from_secs(1), LIFETIME_MAX)
}

impl TicketKey {
    fn random() -> Result<Self, TlsError> {
        let mut name = [0; KEY_NAME];
        let mut secret = [0; 32];
        rand::fill(&mut name).map_err(|_| TlsError::NoRandomness)?;
        rand::fill(&mut secret).map_err(|_| TlsError::NoRandomness)?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, &secret).map_err(|_| TlsError::NoRandomness)?;
        Ok(Self { name, key })
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("interval", &self.interval).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_ticket_opens_until_one_interval_after_its_key_was_replaced() {
        let start = Instant::now();
        let tickets = Tickets::new(HOUR, start).unwrap();
        let early = tickets.seal(b"early", start).unwrap();
        let late = tickets.seal(b"late", start + HOUR - Duration::from_secs(1)).unwrap();
        assert_eq!(early[..KEY_NAME], late[..KEY_NAME]);
        for at in [start, start + HOUR, start + 2 * HOUR - Duration::from_secs(1)] {
            assert_eq!(tickets.open(&early, at).as_deref(), Some(&b"early"[..]));
            assert_eq!(tickets.open(&late, at).as_deref(), Some(&b"late"[..]));
        }
        let next = tickets.seal(b"next", start + HOUR).unwrap();
        assert_ne!(early[..KEY_NAME], next[..KEY_NAME]);
        assert_eq!(tickets.open(&early, start + 2 * HOUR), None);
        assert_eq!(tickets.open(&next, start + 2 * HOUR).as_deref(), Some(&b"next"[..]));
    }

    #[test]
    fn a_key_that_slept_through_its_time_is_not_accepted() {
        let start = Instant::now();
        let tickets = Tickets::new(HOUR, start).unwrap();
        let ticket = tickets.seal(b"session", start).unwrap();
        assert_eq!(tickets.open(&ticket, start + 3 * HOUR), None);
    }

    #[test]
    fn changed_foreign_and_short_tickets_do_not_open() {
        let now = Instant::now();
        let tickets = Tickets::new(HOUR, now).unwrap();
        let ticket = tickets.seal(b"session", now).unwrap();
        for at in 0..ticket.len() {
            let mut changed = ticket.clone();
            changed[at] ^= 1;
            assert_eq!(tickets.open(&changed, now), None, "byte {at} changed");
            assert_eq!(tickets.open(&ticket[..at], now), None, "cut to {at} bytes");
        }
        assert_eq!(Tickets::new(HOUR, now).unwrap().open(&ticket, now), None);
    }
}
