use std::collections::BTreeMap;

use crate::crypto::Crypto;

/// Passwords that were checked a short time ago with one result, so that not each request of a client costs a slow check. Holds no
/// password: a keyed hash (HMAC-SHA-256) of user and password, under a key that lives no longer than the process.
///
/// One cache is for right passwords. Another one is for wrong ones: a program with an old password presents it again and again.
pub struct PasswordCache {
    key: [u8; 32],
    lifetime_secs: u64,
    entries_max: usize,
    /// By fingerprint: when it ends.
    ends: BTreeMap<[u8; 32], u64>,
}

/// Stands for a user and a password.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PasswordFingerprint([u8; 32]);

impl PasswordCache {
    /// An empty one. `key` is 32 random bytes, made anew at each start.
    pub fn new(key: &[u8; 32], lifetime_secs: u64, entries_max: usize) -> Self {
        Self { key: *key, lifetime_secs, entries_max, ends: BTreeMap::new() }
    }

    /// The fingerprint to ask with and to remember by. Take it before the check and throw the password away after.
    pub fn fingerprint(&self, user: &str, password: &str, crypto: &dyn Crypto) -> PasswordFingerprint {
        // The length keeps ("ab", "c") apart from ("a", "bc").
        let length = (user.len() as u64).to_be_bytes();
        let parts = [&length[..], user.as_bytes(), password.as_bytes()];
        PasswordFingerprint(crypto.hmac_sha256(&self.key, &parts))
    }

    /// Returns whether that password was checked a short time ago with this cache's result.
    pub fn holds(&self, fingerprint: PasswordFingerprint, now_secs: u64) -> bool {
        self.ends.get(&fingerprint.0).is_some_and(|end| now_secs < *end)
    }

    /// Remembers a password that was checked. A full cache forgets what has ended, or else what ends first.
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

    /// How many are remembered.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
