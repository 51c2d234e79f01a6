//! Account of the space that a tree's files use, and its limits.

mod claim;
mod shared;

use std::ops::{Add, Sub};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::metadata::Found;
use crate::{StorageError, Timestamp};

pub(crate) use claim::Claim;
pub(crate) use shared::Shared;

/// Account of a tree. It adds up the last count, the changes of this process and of other nodes since, and
/// the space promised to running uploads. A file uses its length, however the file system stores it, and each
/// of its names counts.
///
/// Changes by other programs appear after the next count.
#[derive(Debug, Default)]
pub struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Result of the last count; zero before the first.
    base: Sum,
    /// Changes of this tree since.
    own: Sum,
    /// Changes and promises that other nodes have reported since.
    others: Sum,
    /// Time of the last count, in seconds since 1970.
    counted_s: Option<u64>,
    /// Number of the last count among the counts that nodes share; 0 = not shared.
    count: u64,
    /// Changes since the start of the running count, on this node or another.
    since: Option<Since>,
    claimed: u64,
    quota: Option<u64>,
    /// Most files and directories.
    entries_max: Option<u64>,
    /// Part of `own` that was reported to other nodes.
    told: Sum,
    /// Part of `claimed` that was reported to other nodes.
    told_claimed: u64,
}

/// Bytes, files and directories, or a change in their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Sum {
    bytes: i64,
    files: i64,
    #[serde(default)]
    directories: i64,
}

impl Add for Sum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            files: self.files.saturating_add(other.files),
            directories: self.directories.saturating_add(other.directories),
        }
    }
}

impl Sub for Sum {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            files: self.files.saturating_sub(other.files),
            directories: self.directories.saturating_sub(other.directories),
        }
    }
}

impl Sum {
    fn of(tally: Tally) -> Self {
        let Tally { bytes, files, directories, .. } = tally;
        Self { bytes: signed(bytes), files: signed(files), directories: signed(directories) }
    }

    /// Returns the part of a tally that was created since the running count began.
    fn of_young(tally: Tally) -> Self {
        Self {
            bytes: signed(tally.young_bytes),
            files: signed(tally.young_files),
            directories: signed(tally.young_directories),
        }
    }

    fn of_bytes(bytes: u64) -> Self {
        Self { bytes: signed(bytes), ..Self::default() }
    }

    /// Replaces negative numbers by 0.
    fn at_least_nothing(self) -> Self {
        Self { bytes: self.bytes.max(0), files: self.files.max(0), directories: self.directories.max(0) }
    }
}

/// Returns the bytes that a node may take without asking the others, so that small uploads need no exchange.
/// All nodes together may exceed the quota by this much for each node.
fn unasked_bytes(quota: u64) -> i64 {
    signed((quota / 1000).min(64 << 20))
}

/// Changes that a running count cannot see. The count leaves out what was created after its start, so all of
/// that is here. The removal of something older is not subtracted, because the count may or may not have
/// visited it already.
///
/// A count may therefore find too much by what was removed or replaced meanwhile; the next count corrects
/// that. It never finds too little of what this process has done.
#[derive(Debug, Clone, Copy, Default)]
struct Since {
    /// Number of the running count among the counts that nodes share; 0 = not shared.
    turn: u64,
    sum: Sum,
    /// Start of the count by the clock of the file system; `None` = unknown, so no file counts as younger.
    began: Option<Timestamp>,
}

/// State of a tree's account at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Bytes that files use; `None` before the first count.
    pub used: Option<u64>,
    /// Number of files; `None` before the first count.
    pub files: Option<u64>,
    /// Bytes that files may use; `None` = no limit.
    pub quota: Option<u64>,
    /// Bytes left of the quota, without those promised to running uploads.
    pub left: Option<u64>,
    /// Time of the last count, in seconds since 1970.
    pub counted_s: Option<u64>,
}

impl Ledger {
    /// Sets the most bytes that files may use.
    pub fn set_quota(&self, quota: Option<u64>) {
        self.lock().quota = quota;
    }

    /// Sets the most files and directories.
    pub fn set_entries_max(&self, entries_max: Option<u64>) {
        self.lock().entries_max = entries_max;
    }

    /// Refuses if there is no room for `more` more files and directories. Concurrent changes may each pass
    /// although only one of them has room.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`] if there is no room.
    pub(crate) fn require_entries(&self, more: u64) -> Result<(), StorageError> {
        let state = self.lock();
        let Some(max) = state.entries_max else { return Ok(()) };
        let all = state.all();
        let there = u64::try_from(all.files.max(0).saturating_add(all.directories.max(0))).unwrap_or(0);
        if there.saturating_add(more) > max { Err(StorageError::OverQuota) } else { Ok(()) }
    }

    /// Returns the current state of the account.
    pub fn account(&self) -> Account {
        let state = self.lock();
        let known = |count: i64| state.counted_s.map(|_| u64::try_from(count).unwrap_or(0));
        let all = state.all();
        Account {
            used: known(all.bytes),
            files: known(all.files),
            quota: state.quota,
            left: state.left(),
            counted_s: state.counted_s,
        }
    }

    /// Subtracts files that were removed.
    pub(crate) fn gone(&self, tally: Tally) {
        let mut state = self.lock();
        state.own = state.own - Sum::of(tally);
        if let Some(since) = &mut state.since {
            since.sum = since.sum - Sum::of_young(tally);
        }
    }

    /// Adds files that were created.
    pub(crate) fn came(&self, tally: Tally) {
        let mut state = self.lock();
        let sum = Sum::of(tally);
        state.own = state.own + sum;
        if let Some(since) = &mut state.since {
            since.sum = since.sum + sum;
        }
    }

    /// Starts to record changes for [`Self::counted`].
    pub(crate) fn begin_count(&self) {
        self.lock().since = Some(Since::default());
    }

    /// Sets the start of the running count, by the clock of the file system, and its number among the shared
    /// counts.
    pub(crate) fn set_began(&self, began: Option<Timestamp>, turn: u64) {
        if let Some(since) = &mut self.lock().since {
            (since.began, since.turn) = (began, turn);
        }
    }

    /// Returns the start of the running count.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.lock().since?.began
    }

    /// Takes over a count's result that cannot be shared with other nodes. `at_s`: its time in seconds since
    /// 1970.
    pub(crate) fn counted(&self, tally: Tally, at_s: u64) {
        let mut state = self.lock();
        state.own = state.since.take().unwrap_or_default().sum;
        state.base = Sum::of(tally);
        state.counted_s = Some(at_s);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn all(&self) -> Sum {
        self.base + self.own + self.others
    }

    fn left(&self) -> Option<u64> {
        let used = u64::try_from(self.all().bytes).unwrap_or(0).saturating_add(self.claimed);
        self.quota.map(|quota| quota.saturating_sub(used))
    }

    /// Returns the bytes that this node has taken or promised and not yet reported to other nodes.
    fn untold_bytes(&self) -> i64 {
        let now = self.own.bytes.saturating_add(signed(self.claimed));
        now.saturating_sub(self.told.bytes.saturating_add(signed(self.told_claimed)))
    }
}

/// Number of files and directories, and the bytes that files and dead properties use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) directories: u64,
    /// Parts of the numbers above that were created since the running count began.
    pub(crate) young_bytes: u64,
    pub(crate) young_files: u64,
    pub(crate) young_directories: u64,
}

impl Tally {
    /// Returns the tally of one existing file or directory; `began` is the start of the running count.
    pub(crate) fn of(found: &Found, began: Option<Timestamp>) -> Self {
        let born = found.created().unwrap_or(found.changed());
        if found.is_directory() {
            let young_directories = u64::from(began.is_some_and(|began| born > began));
            return Self { directories: 1, young_directories, ..Self::default() };
        }
        found.file_bytes().map_or_else(Self::default, |bytes| Self::of_file(bytes, born, began))
    }

    /// Returns the tally of a file of this length that was created at `born`.
    pub(crate) fn of_file(bytes: u64, born: Timestamp, began: Option<Timestamp>) -> Self {
        let is_young = began.is_some_and(|began| born > began);
        let (young_bytes, young_files) = if is_young { (bytes, 1) } else { (0, 0) };
        Self { bytes, files: 1, young_bytes, young_files, ..Self::default() }
    }

    /// Returns the tally of one file that was just created.
    pub(crate) const fn new(bytes: u64) -> Self {
        Self { bytes, files: 1, directories: 0, young_bytes: bytes, young_files: 1, young_directories: 0 }
    }

    /// Returns the tally of one directory that was just created.
    pub(crate) const fn new_directory() -> Self {
        Self { bytes: 0, files: 0, directories: 1, young_bytes: 0, young_files: 0, young_directories: 1 }
    }

    /// Adds the dead properties of the only file or directory in the tally.
    pub(crate) fn with_properties(self, bytes: u64) -> Self {
        let is_young = self.young_files > 0 || self.young_directories > 0;
        let young_bytes = self.young_bytes.saturating_add(if is_young { bytes } else { 0 });
        Self { bytes: self.bytes.saturating_add(bytes), young_bytes, ..self }
    }

    /// Returns the tally of dead properties of something that existed before.
    pub(crate) fn properties(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Returns the number of files and directories.
    pub(crate) fn entries(&self) -> u64 {
        self.files.saturating_add(self.directories)
    }

    /// Adds another tally.
    pub(crate) fn join(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.files += other.files;
        self.directories += other.directories;
        self.young_bytes = self.young_bytes.saturating_add(other.young_bytes);
        self.young_files += other.young_files;
        self.young_directories += other.young_directories;
    }

    /// Returns the difference to `left`, the tally of what remains.
    pub(crate) fn without(self, left: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(left.bytes),
            files: self.files.saturating_sub(left.files),
            directories: self.directories.saturating_sub(left.directories),
            young_bytes: self.young_bytes.saturating_sub(left.young_bytes),
            young_files: self.young_files.saturating_sub(left.young_files),
            young_directories: self.young_directories.saturating_sub(left.young_directories),
        }
    }

    /// Keeps only the bytes, at most `bytes_max`, as for an unfinished upload, which is not a file yet.
    pub(crate) fn part(self, bytes_max: u64) -> Self {
        let bytes = self.bytes.min(bytes_max);
        Self { bytes, young_bytes: self.young_bytes.min(bytes), ..Self::default() }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_while_files_are_counted_is_in_the_account() {
        let ledger = Ledger::default();
        ledger.came(Tally::new(7));
        assert_eq!(ledger.account().used, None);
        let old = |bytes| Tally { bytes, files: 1, ..Tally::default() };
        ledger.begin_count();
        // The count may or may not have seen what existed before its start. It does not see what was created
        // since.
        ledger.came(Tally::new(9));
        ledger.gone(old(7));
        ledger.came(Tally::new(20));
        ledger.gone(Tally::new(20));
        ledger.gone(old(50));
        assert_eq!(ledger.lock().all().bytes, 9 - 50);
        ledger.counted(Tally { bytes: 100, files: 2, ..Tally::default() }, 5);
        let account = ledger.account();
        assert_eq!((account.used, account.files, account.counted_s), (Some(109), Some(3), Some(5)));
    }
}
