//! How much the files of a tree take up, and how much they may.

mod claim;
mod shared;

use std::ops::{Add, Sub};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::metadata::Found;
use crate::{StorageError, Timestamp};

pub(crate) use claim::Claim;
pub(crate) use shared::Shared;

/// The account of a tree: what was counted last, what this process and other nodes have changed since, and what uploads under way
/// have been promised. A file takes up its length, whatever the file system makes of it, and each of its names counts.
///
/// Changes by other programs are in it from the next count on.
#[derive(Debug, Default)]
pub struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// As of the last count; nothing before the first.
    base: Sum,
    /// What was changed here since.
    own: Sum,
    /// What others have told of their changes since, and of what they have promised.
    others: Sum,
    /// When the last count was, in seconds since 1970.
    counted_s: Option<u64>,
    /// Which of those that nodes tell each other of it was; 0 = none of them.
    count: u64,
    /// What was changed since the count began that is under way, here or on another node.
    since: Option<Since>,
    claimed: u64,
    quota: Option<u64>,
    /// Most files and directories.
    entries_max: Option<u64>,
    /// What others were told of `own`.
    told: Sum,
    /// What they were told of `claimed`.
    told_claimed: u64,
}

/// Bytes, files and directories, or how much more or fewer they have become.
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

    /// Of a tally what came into being since the count began that is under way.
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

    /// Without what is less than nothing.
    fn at_least_nothing(self) -> Self {
        Self { bytes: self.bytes.max(0), files: self.files.max(0), directories: self.directories.max(0) }
    }
}

/// What each node may take without a word, so that each small upload need not ask: by so much, for each node, may several nodes
/// together use more than the quota.
fn unasked_bytes(quota: u64) -> i64 {
    signed((quota / 1000).min(64 << 20))
}

/// What a count that is under way cannot see. It leaves out what has come into being since it began, so that all of that is here;
/// what goes and was there before is not taken off, because nobody knows whether the count has been there already. So a count may
/// find too much by what went or was replaced meanwhile, and never too little of what this process has done; the next one puts
/// that right.
#[derive(Debug, Clone, Copy, Default)]
struct Since {
    /// Which count it is, of those that nodes tell each other of.
    turn: u64,
    sum: Sum,
    /// When it began, by the clock of the file system; `None` = that cannot be told apart.
    began: Option<Timestamp>,
}

/// How a tree stands at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// Bytes that files take up; `None` = they were not counted yet.
    pub used: Option<u64>,
    /// How many files there are; `None` = they were not counted yet.
    pub files: Option<u64>,
    /// Bytes that they may take up; `None` = as many as there is room for.
    pub quota: Option<u64>,
    /// Bytes that are left of the quota, without those that uploads under way have been promised.
    pub left: Option<u64>,
    /// When they were counted, in seconds since 1970.
    pub counted_s: Option<u64>,
}

impl Ledger {
    /// What may be used from now on.
    pub fn set_quota(&self, quota: Option<u64>) {
        self.lock().quota = quota;
    }

    /// How many files and directories there may be from now on.
    pub fn set_entries_max(&self, entries_max: Option<u64>) {
        self.lock().entries_max = entries_max;
    }

    /// Refuses if there is no room for so many more files and directories. Changes under way at the same time may each find room
    /// for what only one of them has room for.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`].
    pub(crate) fn require_entries(&self, more: u64) -> Result<(), StorageError> {
        let state = self.lock();
        let Some(max) = state.entries_max else { return Ok(()) };
        let all = state.all();
        let there = u64::try_from(all.files.max(0).saturating_add(all.directories.max(0))).unwrap_or(0);
        if there.saturating_add(more) > max { Err(StorageError::OverQuota) } else { Ok(()) }
    }

    /// How things stand.
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

    /// Files went.
    pub(crate) fn gone(&self, tally: Tally) {
        let mut state = self.lock();
        state.own = state.own - Sum::of(tally);
        if let Some(since) = &mut state.since {
            since.sum = since.sum - Sum::of_young(tally);
        }
    }

    /// Files came.
    pub(crate) fn came(&self, tally: Tally) {
        let mut state = self.lock();
        let sum = Sum::of(tally);
        state.own = state.own + sum;
        if let Some(since) = &mut state.since {
            since.sum = since.sum + sum;
        }
    }

    /// From now on, what is changed is remembered for [`Self::counted`].
    pub(crate) fn begin_count(&self) {
        self.lock().since = Some(Since::default());
    }

    /// When that was, by the clock of the file system, and which of the counts it is that nodes tell each other of.
    pub(crate) fn set_began(&self, began: Option<Timestamp>, turn: u64) {
        if let Some(since) = &mut self.lock().since {
            (since.began, since.turn) = (began, turn);
        }
    }

    /// When the count began that is under way.
    pub(crate) fn began(&self) -> Option<Timestamp> {
        self.lock().since?.began
    }

    /// What was found, at a time in seconds since 1970, where no other node can be told of it.
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

    /// Bytes that this node has taken or promised more than others know.
    fn untold_bytes(&self) -> i64 {
        let now = self.own.bytes.saturating_add(signed(self.claimed));
        now.saturating_sub(self.told.bytes.saturating_add(signed(self.told_claimed)))
    }
}

/// Files and directories, and the bytes that files and dead properties take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
    pub(crate) directories: u64,
    /// Of these, what has come into being since a count began that is under way.
    pub(crate) young_bytes: u64,
    pub(crate) young_files: u64,
    pub(crate) young_directories: u64,
}

impl Tally {
    /// One file or directory that is there, for an account of which a count has begun then.
    pub(crate) fn of(found: &Found, began: Option<Timestamp>) -> Self {
        let born = found.created().unwrap_or(found.changed());
        if found.is_directory() {
            let young_directories = u64::from(began.is_some_and(|began| born > began));
            return Self { directories: 1, young_directories, ..Self::default() };
        }
        found.file_bytes().map_or_else(Self::default, |bytes| Self::of_file(bytes, born, began))
    }

    /// The same of a file of this length that came into being then.
    pub(crate) fn of_file(bytes: u64, born: Timestamp, began: Option<Timestamp>) -> Self {
        let is_young = began.is_some_and(|began| born > began);
        let (young_bytes, young_files) = if is_young { (bytes, 1) } else { (0, 0) };
        Self { bytes, files: 1, young_bytes, young_files, ..Self::default() }
    }

    /// One file that has come just now.
    pub(crate) const fn new(bytes: u64) -> Self {
        Self { bytes, files: 1, directories: 0, young_bytes: bytes, young_files: 1, young_directories: 0 }
    }

    /// One directory that has come just now.
    pub(crate) const fn new_directory() -> Self {
        Self { bytes: 0, files: 0, directories: 1, young_bytes: 0, young_files: 0, young_directories: 1 }
    }

    /// The same with the dead properties of its file or directory, or of its only one.
    pub(crate) fn with_properties(self, bytes: u64) -> Self {
        let is_young = self.young_files > 0 || self.young_directories > 0;
        let young_bytes = self.young_bytes.saturating_add(if is_young { bytes } else { 0 });
        Self { bytes: self.bytes.saturating_add(bytes), young_bytes, ..self }
    }

    /// Dead properties of something that was there before.
    pub(crate) fn properties(bytes: u64) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Files and directories.
    pub(crate) fn entries(&self) -> u64 {
        self.files.saturating_add(self.directories)
    }

    /// Both.
    pub(crate) fn join(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.files += other.files;
        self.directories += other.directories;
        self.young_bytes = self.young_bytes.saturating_add(other.young_bytes);
        self.young_files += other.young_files;
        self.young_directories += other.young_directories;
    }

    /// What is missing of it now that so much is left.
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

    /// Only the bytes, as of what has come of an upload, which is no file yet; at most so many.
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
        // Of what was there before, nobody knows whether the count has seen it. What has come since it does not see.
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
