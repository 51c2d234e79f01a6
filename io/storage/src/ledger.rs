//! How much the files of a tree take up, and how much they may.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::StorageError;

/// The account of a tree: what was counted last, what this process has changed since, and what uploads under way have been
/// promised. A file takes up its length, whatever the file system makes of it, and each of its names counts.
///
/// Changes by other nodes and other programs are in it from the next count on.
#[derive(Debug, Default)]
pub struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes and files as of the last count, with what was changed since; 0 before the first.
    used: i64,
    files: i64,
    /// When that was, in seconds since 1970.
    counted_s: Option<u64>,
    /// What was changed since the count began that is under way.
    since: Option<(i64, i64)>,
    claimed: u64,
    quota: Option<u64>,
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

    /// How things stand.
    pub fn account(&self) -> Account {
        let state = self.lock();
        let known = |count: i64| state.counted_s.map(|_| u64::try_from(count).unwrap_or(0));
        Account {
            used: known(state.used),
            files: known(state.files),
            quota: state.quota,
            left: state.left(),
            counted_s: state.counted_s,
        }
    }

    /// Promises room for bytes that are not there yet.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`].
    pub(crate) fn claim(self: &Arc<Self>, bytes: u64) -> Result<Claim, StorageError> {
        let mut claim = Claim { ledger: Arc::clone(self), bytes: 0 };
        claim.cover(bytes)?;
        Ok(claim)
    }

    /// So many bytes and files more, or less.
    pub(crate) fn change(&self, bytes: i64, files: i64) {
        let mut state = self.lock();
        state.used = state.used.saturating_add(bytes);
        state.files = state.files.saturating_add(files);
        if let Some((since_bytes, since_files)) = &mut state.since {
            *since_bytes = since_bytes.saturating_add(bytes);
            *since_files = since_files.saturating_add(files);
        }
    }

    /// A file came, in place of one of this length.
    pub(crate) fn replaced(&self, old: Option<u64>, new: u64) {
        self.change(difference(new, old.unwrap_or(0)), old.is_none().into());
    }

    /// Files went.
    pub(crate) fn gone(&self, tally: Tally) {
        self.change(difference(0, tally.bytes), difference(0, tally.files));
    }

    /// Files came.
    pub(crate) fn came(&self, tally: Tally) {
        self.change(difference(tally.bytes, 0), difference(tally.files, 0));
    }

    /// From now on, what is changed is remembered for [`Self::counted`].
    pub(crate) fn begin_count(&self) {
        self.lock().since = Some((0, 0));
    }

    /// What was found, at a time in seconds since 1970.
    pub(crate) fn counted(&self, tally: Tally, at_s: u64) {
        let mut state = self.lock();
        let (bytes, files) = state.since.take().unwrap_or_default();
        state.used = difference(tally.bytes, 0).saturating_add(bytes);
        state.files = difference(tally.files, 0).saturating_add(files);
        state.counted_s = Some(at_s);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn left(&self) -> Option<u64> {
        let used = u64::try_from(self.used).unwrap_or(0).saturating_add(self.claimed);
        self.quota.map(|quota| quota.saturating_sub(used))
    }
}

/// Room that was promised, until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    ledger: Arc<Ledger>,
    bytes: u64,
}

impl Claim {
    /// Takes what is missing up to `bytes` in all.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`]; what was promised stays so.
    pub(crate) fn cover(&mut self, bytes: u64) -> Result<(), StorageError> {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else { return Ok(()) };
        let mut state = self.ledger.lock();
        if state.left().is_some_and(|left| left < more) {
            return Err(StorageError::OverQuota);
        }
        state.claimed = state.claimed.saturating_add(more);
        drop(state);
        self.bytes = bytes;
        Ok(())
    }

    /// Gives it back: what it was for is in the account now.
    pub(crate) fn release(&mut self) {
        self.spend(self.bytes);
    }

    /// Gives so much of it back, which is in the account now.
    pub(crate) fn spend(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        let mut state = self.ledger.lock();
        state.claimed = state.claimed.saturating_sub(bytes);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.release();
    }
}

/// Files, and the bytes that they take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

impl Tally {
    /// One file more.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.files += 1;
    }

    /// One file.
    pub(crate) const fn of(bytes: u64) -> Self {
        Self { bytes, files: 1 }
    }
}

fn difference(new: u64, old: u64) -> i64 {
    let signed = |number| i64::try_from(number).unwrap_or(i64::MAX);
    signed(new) - signed(old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_promised_to_one_is_not_promised_to_another() {
        let ledger = Arc::new(Ledger::default());
        ledger.set_quota(Some(10));
        let mut one = ledger.claim(6).unwrap();
        assert_eq!(ledger.claim(5).err(), Some(StorageError::OverQuota));
        assert_eq!(one.cover(11), Err(StorageError::OverQuota));
        one.cover(10).unwrap();
        one.release();
        ledger.replaced(None, 10);
        assert_eq!(ledger.account().left, Some(0));
        assert!(ledger.claim(0).is_ok());
        ledger.gone(Tally::of(10));
        drop(ledger.claim(10).unwrap());
        assert_eq!(ledger.account().left, Some(10));
    }

    #[test]
    fn what_is_changed_while_files_are_counted_is_in_the_account() {
        let ledger = Ledger::default();
        ledger.replaced(None, 7);
        assert_eq!(ledger.account().used, None);
        ledger.begin_count();
        ledger.replaced(Some(7), 9);
        ledger.counted(Tally { bytes: 107, files: 2 }, 5);
        let account = ledger.account();
        assert_eq!((account.used, account.files, account.counted_s), (Some(109), Some(2), Some(5)));
    }
}
