use std::sync::Arc;

use rustix::fd::OwnedFd;
use weir_dav::digest::Digest;

use super::{Committed, Expectation, Upload, side_of};
use crate::gate::{Gate, pass};
use crate::ledger::Tally;
use crate::notes::{self, Note};
use crate::rename::Replace;
use crate::{Durability, Metadata, StorageError, Tree, partial, permissions};

/// An upload that is complete, on the disk if that is asked for, and not visible yet.
#[derive(Debug)]
pub struct Prepared {
    pub(super) upload: Upload,
    pub(super) home: OwnedFd,
    pub(super) name: Vec<u8>,
    pub(super) content: Metadata,
    /// What will be replaced.
    pub(super) old: Option<Metadata>,
    /// Its dead properties.
    pub(super) kept: Option<Vec<u8>>,
    pub(super) digests: Vec<Digest>,
    pub(super) expect: Expectation,
    pub(super) durability: Durability,
}

impl Prepared {
    /// Makes it visible, which takes no longer than a renaming: the part of [`Upload::commit`] during which locks must hold.
    ///
    /// # Errors
    /// As [`Upload::commit`]; nothing has changed.
    pub fn publish(&mut self) -> Result<(), StorageError> {
        self.publish_through(&mut |step| step())
    }

    /// The same, with a gate before what is seen of it.
    ///
    /// # Errors
    /// Those of the gate, too.
    pub fn publish_through(&mut self, gate: &mut Gate<'_>) -> Result<(), StorageError> {
        let tree = Arc::clone(&self.upload.tree);
        // The expectation holds from its check until the rename.
        let _turn = tree.turn_at(&self.home, &self.name)?;
        pass(gate, || self.step(&tree))
    }

    fn step(&mut self, tree: &Tree) -> Result<(), StorageError> {
        tree.require_home(&self.upload.path, &self.home)?;
        let now = self.upload.expected(&self.expect, &self.home, &self.name)?;
        if now.is_none() {
            tree.ledger().require_entries(1)?;
        }
        // Nobody changes the old one's properties between here and its end.
        let _guard = if now.is_some() { tree.hold_properties()? } else { None };
        if let Some(now) = &now {
            self.follow(now)?;
        }
        let Self { upload, name, .. } = self;
        // What room was promised for went by what was there when it began.
        let freed = now.map_or(0, |old| old.size).saturating_add(upload.settled_bytes());
        upload.claim.cover(self.content.size.saturating_sub(freed))?;
        let replace = match (self.expect, &now) {
            (Expectation::Anything, Some(_)) | (Expectation::Version(_), _) => Replace::Always,
            (Expectation::Anything, None) | (Expectation::Nothing, _) => Replace::Never,
        };
        self.old = now;
        // Before it is renamed: what goes by that.
        let part = partial::counted(tree, &upload.file, upload.settled_bytes());
        let began = tree.ledger().began();
        let replaced = now.map(|old| Tally::of_file(old.size, old.created.unwrap_or(old.changed), began));
        match upload.file.place(name, replace) {
            // Somebody else was faster in making one: as if it had been there before.
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

    /// Takes over dead properties and permissions that the old one has by now and had not when they were copied.
    fn follow(&mut self, now: &Metadata) -> Result<(), StorageError> {
        let Self { upload, home, name, content, old, kept, .. } = self;
        let value = upload.old_properties(now)?;
        // In a side store, properties change without their file.
        if value == *kept && old.as_ref().is_some_and(|old| old.is_same_state(now)) {
            return Ok(());
        }
        // Without the right to write, it could not be given properties.
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

    /// How long it is.
    pub fn size(&self) -> u64 {
        self.content.size
    }

    /// The digests of its content that were computed.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// What is left to be done when it is visible.
    ///
    /// # Errors
    /// [`StorageError::Io`]: it is visible, and may be gone after a loss of power.
    pub fn finish(self) -> Result<Committed, StorageError> {
        if let Some(old) = &self.old {
            notes::forget(&self.home, &self.name, old.inode);
        }
        self.durability.sync_directory(&self.home)?;
        Ok(Committed { metadata: self.content, created: self.old.is_none(), digests: self.digests })
    }
}
