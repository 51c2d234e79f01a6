use std::sync::Arc;

use super::key_set::KeySet;

/// When an issuer's keys are fetched anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// How long keys are good for, in seconds.
    pub refresh_secs: u64,
    /// Shortest time between two fetches that unknown keys bring about, in seconds: whoever makes up key ids must not make
    /// us a flood upon the issuer.
    pub unknown_key_secs: u64,
    /// Pause after a fetch that failed, in seconds; doubled with each further failure up to `refresh_secs`.
    pub retry_secs: u64,
    /// How long keys are used while the issuer does not answer, in seconds since they were fetched.
    pub stale_max_secs: u64,
}

impl Default for CachePolicy {
    /// An hour, half a minute, ten seconds, a week.
    fn default() -> Self {
        Self { refresh_secs: 3600, unknown_key_secs: 30, retry_secs: 10, stale_max_secs: 7 * 24 * 3600 }
    }
}

/// An issuer's keys and when to fetch them. The caller fetches, one at a time; times are seconds since 1970 or of any clock
/// that does not go backwards.
#[derive(Debug, Clone)]
pub struct KeyCache {
    policy: CachePolicy,
    keys: Arc<KeySet>,
    fetched_at: Option<u64>,
    tried_at: Option<u64>,
    failures: u32,
    unknown_key: bool,
}

impl KeyCache {
    /// Without keys; the first fetch is due at once.
    pub fn new(policy: CachePolicy) -> Self {
        let keys = Arc::new(KeySet::default());
        Self { policy, keys, fetched_at: None, tried_at: None, failures: 0, unknown_key: false }
    }

    /// The keys to verify with: none before the first fetch, and none once they are too stale.
    pub fn keys(&self, now_secs: u64) -> Arc<KeySet> {
        let fresh = |at: u64| now_secs.saturating_sub(at) <= self.policy.stale_max_secs;
        if self.fetched_at.is_some_and(fresh) { Arc::clone(&self.keys) } else { Arc::default() }
    }

    /// Notes that a token's key was not among them: none has its name, or the one that has did not sign it.
    pub fn key_unknown(&mut self) {
        self.unknown_key = true;
    }

    /// When the next fetch is due; the past means now.
    pub fn due_at(&self) -> u64 {
        let Some(tried_at) = self.tried_at else { return 0 };
        if self.failures > 0 {
            let doublings = (self.failures - 1).min(20);
            let pause = self.policy.retry_secs.saturating_mul(1 << doublings).min(self.policy.refresh_secs);
            return tried_at.saturating_add(pause.max(1));
        }
        let pause = match self.unknown_key {
            true => self.policy.unknown_key_secs.min(self.policy.refresh_secs),
            false => self.policy.refresh_secs,
        };
        tried_at.saturating_add(pause.max(1))
    }

    /// Takes the keys of a fetch that succeeded.
    pub fn fetched(&mut self, keys: KeySet, now_secs: u64) {
        self.keys = Arc::new(keys);
        self.fetched_at = Some(now_secs);
        self.tried_at = Some(now_secs);
        self.failures = 0;
        self.unknown_key = false;
    }

    /// Notes a fetch that failed: the keys at hand stay.
    pub fn failed(&mut self, now_secs: u64) {
        self.tried_at = Some(now_secs);
        self.failures = self.failures.saturating_add(1);
    }
}
