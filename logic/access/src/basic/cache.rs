//! A cache of recent password checks.

use std::collections::BTreeMap;

use crate::crypto::Crypto;

/// Passwords that were checked recently with one result. It saves a slow check for each request of a client.
/// It stores no password, only a keyed hash (HMAC-SHA-256) of user and password. The key lives no longer than
/// the process.
///
/// One cache holds right passwords. Another one holds wrong passwords, because a program with an old password
/// presents it again and again.
pub struct PasswordCache {
    key: [u8; 32],
    lifetime_secs: u64,
    entries_max: usize,
    /// Expiry of each entry in seconds, by fingerprint.
    ends: BTreeMap<[u8; 32], u64>,
}

/// Keyed hash of a user and a password.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PasswordFingerprint([u8; 32]);

impl PasswordCache {
    /// Creates an empty cache. `key` is 32 random bytes, generated at each start of the process.
    pub fn new(key: &[u8; 32], lifetime_secs: u64, entries_max: usize) -> Self {
        Self { key: *key, lifetime_secs, entries_max, ends: BTreeMap::new() }
    }

    /// Returns the fingerprint for [`Self::holds`] and [`Self::remember`]. The caller computes it before the
    /// check and then discards the password.
    pub fn fingerprint(&self, user: &str, password: &str, crypto: &dyn Crypto) -> PasswordFingerprint {
        // The length distinguishes ("ab", "c") from ("a", "bc").
        let length = (user.len() as u64).to_be_bytes();
        let parts = [&length[..], user.as_bytes(), password.as_bytes()];
        PasswordFingerprint(crypto.hmac_sha256(&self.key, &parts))
    }

    /// Returns true if that password was checked recently with this cache's result.
    pub fn holds(&self, fingerprint: PasswordFingerprint, now_secs: u64) -> bool {
        self.ends.get(&fingerprint.0).is_some_and(|end| now_secs < *end)
    }

    /// Stores a checked password. A full cache first removes expired entries, or else the entry that expires
    /// first.
    pub fn remember(&mut self, fingerprint: PasswordFingerprint, now_secs: u64) {
        if self.entries_max == 0 {
            return;
        }
        if self.ends.len() >= self.entries_max && !self.ends.contains_key(&fingerprint.0) {
            self.ends.retain(|_, end| now_secs < *end);
        }
        if self.ends.len() >= self.entries_max && !self.ends.contains_key(&fingerprint.0) {
            let first = self.ends.iter().min_by_key(|(_, end)| **end).map(|(key, _)| *key);
            first.map(|key| self.ends.remove(&key));
        }
        self.ends.insert(fingerprint.0, now_secs.saturating_add(self.lifetime_secs));
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if the cache has no entries.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
