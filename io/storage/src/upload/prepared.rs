//! Uploads that are complete and only lack their names.

use std::sync::Arc;

use rustix::fd::OwnedFd;
use weir_dav::digest::Digest;

use super::{Committed, Expectation, Upload, side_of};
use crate::gate::{Gate, pass};
use crate::ledger::Tally;
use crate::notes::{self, Note};
use crate::rename::Replace;
use crate::{Durability, Metadata, StorageError, Tree, partial, permissions};

/// A complete upload that is not visible yet. It is on the disk if its [`Durability`] demands that.
#[derive(Debug)]
pub struct Prepared {
    pub(super) upload: Upload,
    pub(super) home: OwnedFd,
    pub(super) name: Vec<u8>,
    pub(super) content: Metadata,
    /// File that will be replaced.
    pub(super) old: Option<Metadata>,
    /// Dead properties of the old file, as they were copied.
    pub(super) kept: Option<Vec<u8>>,
    pub(super) digests: Vec<Digest>,
    pub(super) expect: Expectation,
    pub(super) durability: Durability,
}

impl Prepared {
    /// Makes the upload visible. This takes no longer than a rename; it is the part of [`Upload::commit`]
    /// during which locks must hold.
    ///
    /// # Errors
    /// As [`Upload::commit`]; nothing has changed.
    pub fn publish(&mut self) -> Result<(), StorageError> {
        self.publish_through(&mut |step| step())
    }

    /// Publishes like [`Self::publish`], with a gate before the visible step.
    ///
    /// # Errors
    /// Those of [`Self::publish`] and of the gate.
    pub fn publish_through(&mut self, gate: &mut Gate<'_>) -> Result<(), StorageError> {
        let tree = Arc::clone(&self.upload.tree);
        // While this turn is held, no other node replaces the file between the check and the rename.
        let _turn = tree.turn_at(&self.home, &self.name)?;
        pass(gate, || self.step(&tree))
    }

    fn step(&mut self, tree: &Tree) -> Result<(), StorageError> {
        tree.require_home(&self.upload.path, &self.home)?;
        let now = self.upload.expected(&self.expect, &self.home, &self.name)?;
        if now.is_none() {
            tree.ledger().require_entries(1)?;
        }
        // The guard keeps the old file's properties unchanged until it is replaced.
        let _guard = if now.is_some() { tree.hold_properties()? } else { None };
        if let Some(now) = &now {
            self.follow(now)?;
        }
        let Self { upload, name, .. } = self;
        // The space was claimed for the file that was there when the upload began.
        let freed = now.map_or(0, |old| old.size).saturating_add(upload.settled_bytes());
        upload.claim.cover(self.content.size.saturating_sub(freed))?;
        let replace = match (self.expect, &now) {
            (Expectation::Anything, Some(_)) | (Expectation::Version(_), _) => Replace::Always,
            (Expectation::Anything, None) | (Expectation::Nothing, _) => Replace::Never,
        };
        self.old = now;
        // The renaming changes what would be counted here.
        let part = partial::counted(tree, &upload.file, upload.settled_bytes());
        let began = tree.ledger().began();
        let replaced = now.map(|old| Tally::of_file(old.size, old.created.unwrap_or(old.changed), began));
        match upload.file.place(name, replace) {
            // Another process has just created the file: replace it, as if it had been there before.
            Err(StorageError::Exists) if self.expect == Expectation::Anything => {
                upload.file.place(name, Replace::Always)?;
            }
            placed => placed?,
        }
        upload.claim.release();
        tree.ledger().came(Tally::new(self.content.size));
        tree.ledger().gone(part);
        tree.ledger().gone(replaced.unwrap_or_default());
        Ok(())
    }

    /// Copies the old file's dead properties and permissions again, if they were changed since the first
    /// copy.
    fn follow(&mut self, now: &Metadata) -> Result<(), StorageError> {
        let Self { upload, home, name, content, old, kept, .. } = self;
        let value = upload.old_properties(now)?;
        // Properties in a side store change without a change of their file.
        if value == *kept && old.as_ref().is_some_and(|old| old.is_same_state(now)) {
            return Ok(());
        }
        // The new file must be writable to get properties.
        permissions::withdraw(upload.file.fd()?)?;
        let side = || side_of(home, name, content);
        if value != *kept {
            notes::remove(upload.file.fd()?, Note::Properties, side)?;
            if let Some(value) = &value {
                notes::write(upload.file.fd()?, Note::Properties, value, side)?;
            }
            *kept = value;
        }
        upload.give_permissions(side)?;
        self.durability.sync_file(upload.file.fd()?)
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.content.size
    }

    /// Returns the digests of the content that were computed.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// Completes the upload after it became visible.
    ///
    /// # Errors
    /// [`StorageError::Io`] if the directory could not be synced: the file is visible, and may be lost in a
    /// power failure.
    pub fn finish(self) -> Result<Committed, StorageError> {
        if let Some(old) = &self.old {
            notes::forget(&self.home, &self.name, old.inode);
        }
        self.durability.sync_directory(&self.home)?;
        Ok(Committed { metadata: self.content, created: self.old.is_none(), digests: self.digests })
    }
}
