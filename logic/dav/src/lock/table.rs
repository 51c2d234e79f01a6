//! The lock table.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Change, Lock, LockError, LockLimits, TableChange};
use crate::header::LockToken;
use crate::path::DavPath;

/// The locks of a storage area. Serialises as a list of locks.
///
/// An expired lock has no effect; the next [`Self::expire`] or [`Self::lock`] removes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Lock>", into = "Vec<Lock>")]
pub struct LockTable {
    /// Locks by their root; no list is empty.
    by_root: BTreeMap<DavPath, Vec<Lock>>,
    roots: BTreeMap<LockToken, DavPath>,
    ends: BTreeSet<(u64, LockToken)>,
    /// Number of locks of each principal.
    by_principal: BTreeMap<Box<str>, usize>,
    /// Changes since the last call of [`Self::take_changes`].
    changes: Vec<TableChange>,
}

/// The lock tokens of a request ([`crate::if_header::IfHeader::submitted_tokens`]) and its principal.
#[derive(Debug, Clone, Copy)]
pub struct Submitted<'a> {
    /// Tokens from the If header.
    pub tokens: &'a [&'a LockToken],
    /// Principal of the request, as in [`Lock::principal`].
    pub principal: &'a str,
}

impl LockTable {
    /// Maximum of shared locks with the same root.
    pub const PER_ROOT_MAX: usize = 100;

    /// Adds a lock (RFC 4918 section 9.10). Fails if a lock that covers the same root excludes it, or, for
    /// depth infinity, a lock below.
    pub fn lock(&mut self, lock: Lock, now_s: u64, limits: LockLimits) -> Result<(), LockError> {
        self.expire(now_s);
        let mut conflicts: Vec<_> = self
            .locks_on(&lock.root, now_s)
            .chain(self.below(&lock.root).filter(|_| lock.infinite))
            .filter(|other| !lock.agrees_with(other))
            .map(|other| (other.root.clone(), other.collection))
            .collect();
        if !conflicts.is_empty() {
            conflicts.sort();
            conflicts.dedup();
            return Err(LockError::Conflict(conflicts));
        }
        if self.roots.contains_key(&lock.token) {
            return Err(LockError::TokenTaken);
        }
        // Limited because responses about a resource list all of its locks.
        let there = self.by_root.get(&lock.root).map_or(0, Vec::len);
        if self.len() >= limits.table_max || there >= Self::PER_ROOT_MAX {
            return Err(LockError::TooMany);
        }
        if self.held_by(&lock.principal) >= limits.principal_max {
            return Err(LockError::TooManyOfPrincipal);
        }
        self.set(lock);
        Ok(())
    }

    /// Restarts the timeout of a lock (RFC 4918 section 9.10.2). The lock must cover `path`, and `principal`
    /// must have created it.
    pub fn refresh(
        &mut self,
        path: &DavPath,
        token: &LockToken,
        principal: &str,
        timeout_s: u32,
        now_s: u64,
    ) -> Result<&Lock, LockError> {
        let mut lock = self.find(path, token, Some(principal), now_s)?.clone();
        lock.expires_s = now_s.saturating_add(u64::from(timeout_s));
        let root = lock.root.clone();
        self.set(lock);
        let found = self.by_root.get(&root).and_then(|locks| locks.iter().find(|lock| lock.token == *token));
        found.ok_or(LockError::NoSuchLock)
    }

    /// Removes a lock (RFC 4918 section 9.11). The lock must cover `path`, and `principal` must have created
    /// it; `None` may remove any lock.
    pub fn unlock(
        &mut self,
        path: &DavPath,
        token: &LockToken,
        principal: Option<&str>,
        now_s: u64,
    ) -> Result<Lock, LockError> {
        self.find(path, token, principal, now_s)?;
        self.remove(token).ok_or(LockError::NoSuchLock)
    }

    /// Removes the locks that `is_meant` selects, of any principal, and returns them. For operators.
    pub fn break_locks(&mut self, is_meant: impl Fn(&Lock) -> bool) -> Vec<Lock> {
        let tokens: Vec<_> =
            self.iter().filter(|lock| is_meant(lock)).map(|lock| lock.token.clone()).collect();
        tokens.iter().filter_map(|token| self.remove(token)).collect()
    }

    /// Returns the locks that cover a resource, for `lockdiscovery`. Locks with the shortest root come last.
    pub fn locks_on(&self, path: &DavPath, now_s: u64) -> impl Iterator<Item = &Lock> {
        let roots = std::iter::successors(Some(path.clone()), DavPath::parent);
        let path = path.clone();
        roots
            .filter_map(|root| self.by_root.get(&root))
            .flatten()
            .filter(move |lock| lock.is_live(now_s) && lock.covers(&path))
    }

    /// Returns true if the lock with this token covers the resource, as the If header tests it (RFC 4918
    /// section 10.4.4).
    pub fn is_locked_by(&self, path: &DavPath, token: &LockToken, now_s: u64) -> bool {
        self.find(path, token, None, now_s).is_ok()
    }

    /// Returns the locks that prevent a change: the root of each lock without a submitted token, once, with
    /// true if it is a collection. If the result is empty, the change may proceed. Otherwise the request
    /// fails with 423 and `lock-token-submitted` lists these roots (RFC 4918 sections 7.1, 7.4 and 16).
    ///
    /// A resource with several locks can have shared ones only; the token of one of them is enough.
    pub fn missing(
        &self,
        path: &DavPath,
        change: Change,
        submitted: Submitted<'_>,
        now_s: u64,
    ) -> Vec<(DavPath, bool)> {
        let mut missing = BTreeSet::new();
        let mut need = |resource: &DavPath| {
            let shown = |lock: &Lock| {
                *lock.principal == *submitted.principal && submitted.tokens.contains(&&lock.token)
            };
            if !self.locks_on(resource, now_s).any(shown) {
                missing
                    .extend(self.locks_on(resource, now_s).map(|lock| (lock.root.clone(), lock.collection)));
            }
        };
        need(path);
        if change != Change::Modify
            && let Some(parent) = path.parent()
        {
            need(&parent);
        }
        if change == Change::Remove {
            let (from, to) = path.range_below();
            // A root with only expired locks is no longer locked.
            let is_locked = |locks: &[Lock]| locks.iter().any(|lock| lock.is_live(now_s));
            let below = self.by_root.range(from..to).filter(|(_, locks)| is_locked(locks));
            below.for_each(|(root, _)| need(root));
        }
        missing.into_iter().collect()
    }

    /// Removes the locks of a deleted resource and of everything below it, after DELETE or at the source of
    /// MOVE. Locks do not move with the resource (RFC 4918 sections 7.6 and 9.6). Locks on collections above
    /// still cover the path.
    pub fn forget(&mut self, path: &DavPath) -> Vec<Lock> {
        let mut gone = self.forget_below(path);
        gone.extend(self.take_root(path));
        gone
    }

    /// Removes the locks below a resource that COPY or MOVE has overwritten. Its own lock stays and protects
    /// the new resource (RFC 4918 section 7.6).
    pub fn forget_below(&mut self, path: &DavPath) -> Vec<Lock> {
        let (from, to) = path.range_below();
        let roots: Vec<_> = self.by_root.range(from..to).map(|(root, _)| root.clone()).collect();
        roots.iter().flat_map(|root| self.take_root(root)).collect()
    }

    /// Removes the expired locks (RFC 4918 section 6.6) and returns them.
    pub fn expire(&mut self, now_s: u64) -> Vec<Lock> {
        let mut ended = Vec::new();
        while let Some((end, token)) = self.ends.first().cloned()
            && end <= now_s
        {
            // Records no change: readers of the changes see from the time that the lock has expired.
            ended.extend(self.take_out(&token));
            self.ends.remove(&(end, token));
        }
        ended
    }

    /// Returns the changes since the last call, in order, without expiries. A table that was equal at the
    /// last call is equal again after it applies them.
    pub fn take_changes(&mut self) -> Vec<TableChange> {
        std::mem::take(&mut self.changes)
    }

    /// Applies a change of another table to this one.
    pub fn apply(&mut self, change: TableChange) {
        match change {
            TableChange::Set(lock) => self.put_in(lock),
            TableChange::Remove(token) => drop(self.take_out(&token)),
        }
    }

    /// Returns the time when the next lock expires.
    pub fn next_end_s(&self) -> Option<u64> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// Returns all locks in the table, including expired ones.
    pub fn iter(&self) -> impl Iterator<Item = &Lock> {
        self.by_root.values().flatten()
    }

    /// Returns true if a resource or a member below it is the root of a lock, expired ones included.
    pub fn has_at_or_below(&self, path: &DavPath) -> bool {
        self.by_root.contains_key(path) || self.below(path).next().is_some()
    }

    /// Returns the number of locks of a principal.
    pub fn held_by(&self, principal: &str) -> usize {
        self.by_principal.get(principal).copied().unwrap_or(0)
    }

    /// Returns the number of locks.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// Returns true if the table has no locks.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    fn below(&self, path: &DavPath) -> impl Iterator<Item = &Lock> {
        let (from, to) = path.range_below();
        self.by_root.range(from..to).flat_map(|(_, locks)| locks)
    }

    fn find(
        &self,
        path: &DavPath,
        token: &LockToken,
        principal: Option<&str>,
        now_s: u64,
    ) -> Result<&Lock, LockError> {
        let locks = self.roots.get(token).and_then(|root| self.by_root.get(root));
        let lock = locks.and_then(|locks| locks.iter().find(|lock| lock.token == *token));
        let lock =
            lock.filter(|lock| lock.is_live(now_s) && lock.covers(path)).ok_or(LockError::NoSuchLock)?;
        match principal {
            Some(principal) if *principal != *lock.principal => Err(LockError::NotOwner),
            _ => Ok(lock),
        }
    }

    fn set(&mut self, lock: Lock) {
        self.changes.push(TableChange::Set(lock.clone()));
        self.put_in(lock);
    }

    fn remove(&mut self, token: &LockToken) -> Option<Lock> {
        let lock = self.take_out(token)?;
        self.changes.push(TableChange::Remove(token.clone()));
        Some(lock)
    }

    fn take_root(&mut self, root: &DavPath) -> Vec<Lock> {
        let tokens: Vec<_> =
            self.by_root.get(root).into_iter().flatten().map(|lock| lock.token.clone()).collect();
        tokens.iter().filter_map(|token| self.remove(token)).collect()
    }

    /// Adds a lock; replaces the lock with the same token, if there is one.
    fn put_in(&mut self, lock: Lock) {
        self.take_out(&lock.token);
        self.roots.insert(lock.token.clone(), lock.root.clone());
        self.ends.insert((lock.expires_s, lock.token.clone()));
        *self.by_principal.entry(lock.principal.clone()).or_default() += 1;
        self.by_root.entry(lock.root.clone()).or_default().push(lock);
    }

    fn take_out(&mut self, token: &LockToken) -> Option<Lock> {
        let root = self.roots.remove(token)?;
        let locks = self.by_root.get_mut(&root)?;
        let at = locks.iter().position(|lock| lock.token == *token)?;
        let lock = locks.remove(at);
        if locks.is_empty() {
            self.by_root.remove(&root);
        }
        self.ends.remove(&(lock.expires_s, lock.token.clone()));
        if let Some(held) = self.by_principal.get_mut(&lock.principal) {
            *held -= 1;
            if *held == 0 {
                self.by_principal.remove(&lock.principal);
            }
        }
        Some(lock)
    }
}

/// Restores a table from its stored locks. Of locks with the same token, the first one counts.
impl From<Vec<Lock>> for LockTable {
    fn from(locks: Vec<Lock>) -> Self {
        let mut table = Self::default();
        for lock in locks {
            if !table.roots.contains_key(&lock.token) {
                table.put_in(lock);
            }
        }
        table
    }
}

impl From<LockTable> for Vec<Lock> {
    fn from(table: LockTable) -> Self {
        table.by_root.into_values().flatten().collect()
    }
}
