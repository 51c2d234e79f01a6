//! The cache of an issuer's keys, which decides when to fetch them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::key_set::KeySet;

/// Times and limits for fetching an issuer's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// Age at which keys are fetched again, in seconds.
    pub refresh_secs: u64,
    /// Number of fetches that unknown keys may cause at once. It is above 1 so that the first real unknown
    /// key need not wait for invented ones.
    pub unknown_key_burst: u32,
    /// Interval after which one more such fetch is permitted, in seconds. It prevents clients with invented
    /// key ids from flooding the issuer with fetches. For the same time, a key that a fetch did not find
    /// counts as missing.
    pub unknown_key_secs: u64,
    /// Pause after a failed fetch, in seconds. It doubles with each further failure, up to `refresh_secs`.
    pub retry_secs: u64,
    /// Maximum of that pause while tokens wait for keys, in seconds.
    pub retry_wanted_max_secs: u64,
    /// Maximum age of keys that are used while the issuer does not answer, in seconds since they were
    /// fetched.
    pub stale_max_secs: u64,
}

impl Default for CachePolicy {
    /// Refreshes every hour and uses stale keys for at most a week. Permits four fetches for unknown keys at
    /// once, then one every ten seconds. Retries after ten seconds, and at least every 30 seconds while
    /// tokens wait.
    fn default() -> Self {
        Self {
            refresh_secs: 3600,
            unknown_key_burst: 4,
            unknown_key_secs: 10,
            retry_secs: 10,
            retry_wanted_max_secs: 30,
            stale_max_secs: 7 * 24 * 3600,
        }
    }
}

/// Result for a token whose signature no cached key verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySearch {
    /// The keys have changed in the meantime: verify the token again.
    Changed,
    /// A fetch is in progress, or is due now.
    Fetching,
    /// Seconds until keys may be fetched again, at least 1. Until then, the validity of the token is unknown.
    Later(u64),
    /// A recent fetch did not find the key: the token is invalid.
    Missing,
}

/// The key id of a token, if it has one.
type KeyId = Option<String>;

/// Reason why a token waits for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// No key has its id.
    Unknown,
    /// Keys with its id exist, but none of them made the signature.
    Other,
}

/// Maximum number of key ids in each map. Ids are untrusted, so the memory for them is limited.
const IDS_MAX: usize = 64;

/// An issuer's keys and the times at which to fetch them. The caller fetches, one fetch at a time. Times are
/// seconds since 1970, or of any clock that does not go backwards.
#[derive(Debug, Clone)]
pub struct KeyCache {
    policy: CachePolicy,
    keys: Arc<KeySet>,
    /// Number of key sets fetched so far.
    version: u64,
    fetched_at: Option<u64>,
    tried_at: Option<u64>,
    failures: u32,
    /// Set when tokens wait for keys that no fetch has looked for.
    is_wanted: bool,
    /// Key ids that the next fetch looks for.
    wanted: BTreeMap<KeyId, Want>,
    /// Key ids that the fetch in progress looks for; `None` = no fetch is in progress.
    sought: Option<BTreeMap<KeyId, Want>>,
    /// Key ids that a fetch did not find, and the time until which they count as missing.
    missing: BTreeMap<KeyId, u64>,
    /// End of the time that the fetches for unknown keys occupy, at one per `unknown_key_secs`.
    spread_until: u64,
}

impl KeyCache {
    /// Creates a cache without keys; the first fetch is due at once.
    pub fn new(policy: CachePolicy) -> Self {
        Self {
            policy,
            keys: Arc::new(KeySet::default()),
            version: 0,
            fetched_at: None,
            tried_at: None,
            failures: 0,
            is_wanted: false,
            wanted: BTreeMap::new(),
            sought: None,
            missing: BTreeMap::new(),
            spread_until: 0,
        }
    }

    /// Returns the keys to verify with and their version. The set is empty before the first fetch and once
    /// the keys are too stale.
    pub fn keys(&self, now_secs: u64) -> (Arc<KeySet>, u64) {
        let fresh = |at: u64| now_secs.saturating_sub(at) <= self.policy.stale_max_secs;
        let keys = if self.fetched_at.is_some_and(fresh) { Arc::clone(&self.keys) } else { Arc::default() };
        (keys, self.version)
    }

    /// Looks for the key of a token that the keys of `version` do not verify. Either no key has the token's
    /// key id, or the key with that id did not sign it. The second case is possible because an issuer may
    /// reuse an id for a new key, or give no id.
    pub fn search(&mut self, key_id: Option<&str>, version: u64, now_secs: u64) -> KeySearch {
        if version != self.version {
            return KeySearch::Changed;
        }
        let id = key_id.map(str::to_owned);
        // The issuer answered a recent fetch, so it does not have the key.
        if self.failures == 0 && self.missing.get(&id).is_some_and(|until| now_secs < *until) {
            return KeySearch::Missing;
        }
        let is_sought = self.sought.as_ref().is_some_and(|sought| sought.contains_key(&id));
        if !is_sought {
            self.is_wanted = true;
            if self.wanted.len() < IDS_MAX {
                let has_keys = self.keys(now_secs).0.may_have(key_id);
                self.wanted.insert(id, if has_keys { Want::Other } else { Want::Unknown });
            }
        }
        if self.sought.is_some() {
            return KeySearch::Fetching;
        }
        match self.due_at().saturating_sub(now_secs) {
            0 => KeySearch::Fetching,
            pause => KeySearch::Later(pause),
        }
    }

    /// Returns the time at which the next fetch is due; a time in the past means now.
    pub fn due_at(&self) -> u64 {
        let Some(tried_at) = self.tried_at else { return 0 };
        if self.failures > 0 {
            let doublings = (self.failures - 1).min(20);
            let longest = match self.is_wanted {
                true => self.policy.retry_wanted_max_secs.min(self.policy.refresh_secs),
                false => self.policy.refresh_secs,
            };
            let pause = self.policy.retry_secs.saturating_mul(1 << doublings).min(longest);
            return tried_at.saturating_add(pause.max(1));
        }
        let due_at = tried_at.saturating_add(self.policy.refresh_secs.max(1));
        if !self.is_wanted {
            return due_at;
        }
        let burst_secs =
            self.policy.unknown_key_secs.saturating_mul(self.policy.unknown_key_burst.max(1).into());
        let room_at =
            self.spread_until.saturating_add(self.policy.unknown_key_secs).saturating_sub(burst_secs);
        due_at.min(room_at)
    }

    /// Records the start of a fetch.
    pub fn started(&mut self, now_secs: u64) {
        let is_early = self.tried_at.is_some_and(|at| now_secs < at.saturating_add(self.policy.refresh_secs));
        if self.is_wanted && self.failures == 0 && is_early {
            self.spread_until = self.spread_until.max(now_secs).saturating_add(self.policy.unknown_key_secs);
        }
        self.is_wanted = false;
        self.sought = Some(std::mem::take(&mut self.wanted));
    }

    /// Stores the keys of a successful fetch.
    pub fn fetched(&mut self, keys: KeySet, now_secs: u64) {
        self.keys = Arc::new(keys);
        self.version += 1;
        self.fetched_at = Some(now_secs);
        self.tried_at = Some(now_secs);
        self.failures = 0;
        self.missing.retain(|_, until| now_secs < *until);
        let until = now_secs.saturating_add(self.policy.unknown_key_secs);
        let keys = Arc::clone(&self.keys);
        let is_still_wanted = |id: &KeyId, want: Want| want == Want::Other || !keys.may_have(id.as_deref());
        for (id, want) in self.sought.take().unwrap_or_default() {
            if self.missing.len() < IDS_MAX && is_still_wanted(&id, want) {
                // A token that the new keys verify will not search for its key again.
                self.missing.insert(id, until);
            }
        }
        self.wanted.retain(|id, want| is_still_wanted(id, *want));
        self.is_wanted = !self.wanted.is_empty();
    }

    /// Records a failed fetch; the present keys stay.
    pub fn failed(&mut self, now_secs: u64) {
        self.tried_at = Some(now_secs);
        self.failures = self.failures.saturating_add(1);
        // The next fetch must look for them again.
        let sought = self.sought.take().unwrap_or_default();
        self.is_wanted |= !sought.is_empty();
        self.wanted.extend(sought);
    }
}
