use std::collections::BTreeMap;
use std::sync::Arc;

use super::key_set::KeySet;

/// When an issuer's keys are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachePolicy {
    /// How long keys are good for, in seconds.
    pub refresh_secs: u64,
    /// Fetches that unknown keys may bring about at once: the first unknown key must not wait for those that somebody made up.
    pub unknown_key_burst: u32,
    /// One more such fetch is permitted after each of these intervals, in seconds: whoever makes up key ids must not make us a
    /// flood upon the issuer. A key that a fetch did not find is missing for as long.
    pub unknown_key_secs: u64,
    /// Pause after a fetch that failed, in seconds; doubled with each further failure up to `refresh_secs`.
    pub retry_secs: u64,
    /// Longest such pause while tokens wait for keys, in seconds.
    pub retry_wanted_max_secs: u64,
    /// How long keys are used while the issuer does not answer, in seconds since they were fetched.
    pub stale_max_secs: u64,
}

impl Default for CachePolicy {
    /// An hour; four fetches, and one each ten seconds; ten seconds, half a minute; a week.
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

/// What becomes of a token that none of the known keys has signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeySearch {
    /// There are other keys by now: verify it again.
    Changed,
    /// Keys are being fetched, or are to be fetched at once.
    Fetching,
    /// Keys may be fetched only in so many seconds, at least 1. Until then nobody can tell whether the token holds.
    Later(u64),
    /// A fetch has looked for its key a short time ago, in vain: the token does not hold.
    Missing,
}

/// The id of a token's key.
type KeyId = Option<String>;

/// Why a token waits for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    /// No key has its id.
    Unknown,
    /// Those that can have signed it did not.
    Other,
}

/// Key ids that are remembered, at most: ids come from strangers.
const IDS_MAX: usize = 64;

/// An issuer's keys and when to fetch them. The caller fetches, one at a time; times are seconds since 1970 or of any clock
/// that does not go backwards.
#[derive(Debug, Clone)]
pub struct KeyCache {
    policy: CachePolicy,
    keys: Arc<KeySet>,
    /// Counts the key sets.
    version: u64,
    fetched_at: Option<u64>,
    tried_at: Option<u64>,
    failures: u32,
    /// Tokens wait for keys that no fetch has looked for.
    is_wanted: bool,
    /// What they wait for.
    wanted: BTreeMap<KeyId, Want>,
    /// What the fetch under way is to find; `None` = none is under way.
    sought: Option<BTreeMap<KeyId, Want>>,
    /// Ids that a fetch did not find, and until when they count as missing.
    missing: BTreeMap<KeyId, u64>,
    /// Until when the fetches that unknown keys brought about are spread.
    spread_until: u64,
}

impl KeyCache {
    /// Without keys; the first fetch is due at once.
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

    /// The keys to verify with, and their version: none before the first fetch, and none once they are too stale.
    pub fn keys(&self, now_secs: u64) -> (Arc<KeySet>, u64) {
        let fresh = |at: u64| now_secs.saturating_sub(at) <= self.policy.stale_max_secs;
        let keys = if self.fetched_at.is_some_and(fresh) { Arc::clone(&self.keys) } else { Arc::default() };
        (keys, self.version)
    }

    /// Looks for the key of a token that the keys of `version` do not verify: none has its name, or the one that has did not sign
    /// it. An issuer may give a new key the name of the one before it, or none.
    pub fn search(&mut self, key_id: Option<&str>, version: u64, now_secs: u64) -> KeySearch {
        if version != self.version {
            return KeySearch::Changed;
        }
        let id = key_id.map(str::to_owned);
        // The issuer answers, so the key is not there.
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

    /// When the next fetch is due; the past means now.
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

    /// A fetch begins.
    pub fn started(&mut self, now_secs: u64) {
        let is_early = self.tried_at.is_some_and(|at| now_secs < at.saturating_add(self.policy.refresh_secs));
        if self.is_wanted && self.failures == 0 && is_early {
            self.spread_until = self.spread_until.max(now_secs).saturating_add(self.policy.unknown_key_secs);
        }
        self.is_wanted = false;
        self.sought = Some(std::mem::take(&mut self.wanted));
    }

    /// Takes the keys of a fetch that succeeded.
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
                // A token that the new keys verify does not ask.
                self.missing.insert(id, until);
            }
        }
        self.wanted.retain(|id, want| is_still_wanted(id, *want));
        self.is_wanted = !self.wanted.is_empty();
    }

    /// Notes a fetch that failed: the keys at hand stay.
    pub fn failed(&mut self, now_secs: u64) {
        self.tried_at = Some(now_secs);
        self.failures = self.failures.saturating_add(1);
        // They are wanted still.
        let sought = self.sought.take().unwrap_or_default();
        self.is_wanted |= !sought.is_empty();
        self.wanted.extend(sought);
    }
}
