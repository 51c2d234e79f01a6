//! Removal of files and directories.

use std::sync::Arc;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, unlinkat};
use weir_dav::path::DavPath;

use crate::gate::{Gate, pass};
use crate::ledger::Tally;
use crate::metadata::Found;
use crate::notes;
use crate::temporary::Temporary;
use crate::tree_walk::{open_directory, remove_tree};
use crate::{Durability, Failure, StorageError, Tree};

impl Tree {
    /// Removes a file, or a directory with its content. Blocks.
    ///
    /// A directory disappears as a whole: it is first renamed to a reserved name. If something in it cannot
    /// be removed, the rest of it gets its name back. A symbolic link is removed itself, not its target.
    pub fn remove(self: &Arc<Self>, path: &DavPath, durability: Durability) -> Result<(), Failure> {
        self.remove_through(path, durability, &mut |step| step())
    }

    /// Removes like [`Self::remove`], with a gate before the visible step.
    pub fn remove_through(
        self: &Arc<Self>,
        path: &DavPath,
        durability: Durability,
        gate: &mut Gate<'_>,
    ) -> Result<(), Failure> {
        let failed = |error| Failure { path: path.clone(), error };
        let (home, name) = self.resolve_parent(path).map_err(|error| failed(error.of_source()))?;
        let found = Self::look(&home, name).map_err(failed)?.ok_or(failed(StorageError::NotFound))?;
        if !found.is_directory() {
            let turn = self.turn_at(&home, name).map_err(failed)?;
            let tally = self.tally_of_file(&home, name, &found);
            pass(gate, || {
                unlinkat(&home, name, AtFlags::empty()).map_err(StorageError::from_errno("unlink"))
            })
            .map_err(failed)?;
            drop(turn);
            self.ledger.gone(tally);
            notes::forget(&home, name, found.inode());
            return durability.sync_directory(&home).map_err(failed);
        }
        self.remove_directory(path, &home, name, gate)?;
        durability.sync_directory(&home).map_err(failed)
    }

    fn remove_directory(
        &self,
        path: &DavPath,
        home: &OwnedFd,
        name: &[u8],
        gate: &mut Gate<'_>,
    ) -> Result<(), Failure> {
        let failed = |(below, error): (DavPath, _)| Failure { path: path.append(&below), error };
        Self::require_no_mount(home, name).map_err(failed)?;
        let parent = path.parent().unwrap_or_default();
        let turn = self.turn_at(home, name).map_err(|error| failed((DavPath::root(), error)))?;
        let hidden = pass(gate, || {
            let own_home = home.try_clone().map_err(|_| StorageError::Cancelled)?;
            // A failed renaming does not end the removal yet.
            Ok(Temporary::displace(self, own_home, &parent, name, true))
        });
        drop(turn);
        match hidden.map_err(|error| failed((DavPath::root(), error)))? {
            Ok(mut hidden) => {
                let tally = hidden.tally(self);
                if let Err(failure) = hidden.remove() {
                    self.ledger.gone(tally.without(hidden.tally(self)));
                    // The rest must not stay hidden. This fails if another directory has taken the name
                    // meanwhile.
                    let _ = hidden.place(name, crate::rename::Replace::Never);
                    return Err(failed(failure));
                }
                self.ledger.gone(tally);
                Ok(())
            }
            Err(StorageError::NotFound) => Err(failed((DavPath::root(), StorageError::NotFound))),
            Err(StorageError::Mounted) => Err(failed((DavPath::root(), StorageError::Mounted))),
            // This process may not rename the directory, so its content is removed in place.
            Err(_) => {
                let tally = self.tally_at(home, name);
                let removed = remove_tree(home, name);
                let left = if removed.is_ok() { Tally::default() } else { self.tally_at(home, name) };
                self.ledger.gone(tally.without(left));
                removed.map_err(failed)
            }
        }
    }

    /// Returns the space that a directory and everything below it use.
    pub(crate) fn tally_at(&self, home: impl AsFd, name: &[u8]) -> Tally {
        let Ok(found) = Found::in_directory(&home, name) else { return Tally::default() };
        let Ok(directory) = open_directory(&home, name) else { return Tally::default() };
        let properties = notes::properties_in_attribute(home.as_fd(), name);
        let mut tally = Tally::of(&found, self.ledger.began()).with_properties(properties);
        tally.join(self.tally(directory));
        tally
    }
}
