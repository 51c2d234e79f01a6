//! Space in the quota that is promised to running uploads and copies.

use std::sync::Arc;

use super::{Ledger, Shared, unasked_bytes};
use crate::{StorageError, Tree};

/// Promised space. Dropping this gives it back.
#[derive(Debug)]
pub(crate) struct Claim {
    tree: Arc<Tree>,
    bytes: u64,
}

impl Tree {
    /// Promises space for bytes that are not there yet. Blocks.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`] if there is not so much left.
    pub(crate) fn claim(self: &Arc<Self>, bytes: u64) -> Result<Claim, StorageError> {
        let mut claim = Claim { tree: Arc::clone(self), bytes: 0 };
        claim.cover(bytes)?;
        Ok(claim)
    }
}

impl Claim {
    /// Extends the promise to `bytes` in all. Blocks.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`]; the earlier promise stays.
    pub(crate) fn cover(&mut self, bytes: u64) -> Result<(), StorageError> {
        let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) else { return Ok(()) };
        let ledger = self.tree.ledger();
        if !ledger.take_unasked(more) {
            match self.tree.share_account(more) {
                Ok(()) => {}
                Err(StorageError::OverQuota) => return Err(StorageError::OverQuota),
                // If nodes cannot exchange anything, each relies on what it knows.
                Err(_) => ledger.take(more)?,
            }
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Gives all of it back, because the account contains the files now.
    pub(crate) fn release(&mut self) {
        self.spend(self.bytes);
    }

    /// Gives `bytes` of it back, because the account contains them now.
    pub(crate) fn spend(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        let mut state = self.tree.ledger().lock();
        state.claimed = state.claimed.saturating_sub(bytes);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.release();
    }
}

impl Ledger {
    /// Promises `more` bytes if that needs no exchange with other nodes. Returns false if it does.
    fn take_unasked(&self, more: u64) -> bool {
        let mut state = self.lock();
        if let Some(quota) = state.quota {
            let untold = state.untold_bytes().saturating_add(super::signed(more));
            if untold > unasked_bytes(quota) || state.left().is_some_and(|left| left < more) {
                return false;
            }
        }
        state.claimed = state.claimed.saturating_add(more);
        true
    }

    /// Promises `more` bytes.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`] if there is not so much left.
    fn take(&self, more: u64) -> Result<(), StorageError> {
        let mut state = self.lock();
        if state.left().is_some_and(|left| left < more) {
            return Err(StorageError::OverQuota);
        }
        state.claimed = state.claimed.saturating_add(more);
        Ok(())
    }

    /// Reads the reports of other nodes, promises `more` bytes if they are left, and reports the new state.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`]; the state is reported all the same.
    pub(crate) fn exchange(
        &self,
        shared: &mut Shared,
        own_key: &str,
        more: u64,
        now_s: u64,
    ) -> Result<(), StorageError> {
        self.hear(shared, own_key, now_s);
        let taken = self.take(more);
        self.tell(shared, own_key, now_s);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Tally;
    use crate::{NodeId, TreeOptions};

    #[test]
    fn what_is_promised_to_one_is_not_promised_to_another() {
        let directory = tempfile::tempdir().unwrap();
        let options = TreeOptions::new(NodeId::new("one").unwrap(), 1);
        let tree = Tree::open_root(directory.path(), options).unwrap();
        let ledger = tree.ledger();
        ledger.set_quota(Some(10));
        let mut one = tree.claim(6).unwrap();
        assert_eq!(tree.claim(5).err(), Some(StorageError::OverQuota));
        assert_eq!(one.cover(11), Err(StorageError::OverQuota));
        one.cover(10).unwrap();
        one.release();
        ledger.came(Tally::new(10));
        assert_eq!(ledger.account().left, Some(0));
        assert!(tree.claim(0).is_ok());
        ledger.gone(Tally::new(10));
        drop(tree.claim(10).unwrap());
        assert_eq!(ledger.account().left, Some(10));
    }
}
