//! Moves to another file system, where a rename is not possible.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::copy::CopyOptions;
use crate::displaced::Displaced;
use crate::fingerprint::Fingerprint;
use crate::gate::MoveGate;
use crate::metadata::Found;
use crate::purpose::Purpose;
use crate::reserved::is_reserved;
use crate::tree_walk::{open_directory, survey_found};
use crate::{Failure, FileKind, Metadata, Moving, StorageError, Transferred, Tree, notes};

impl Tree {
    /// Makes an invisible copy, displaces the source, checks that it is unchanged, gives the copy its name
    /// and removes the source. If anything fails, or the source has something that the copy lacks, the source
    /// gets its name back.
    ///
    /// The gate gets the source that was copied, and the check proves that it is the same one. So the gate
    /// cannot permit one source while another is moved.
    pub(crate) fn move_across(
        self: &Arc<Self>,
        from: &DavPath,
        to: &DavPath,
        options: CopyOptions,
        cancelled: &AtomicBool,
        gate: &mut MoveGate<'_>,
    ) -> Result<Transferred, Failure> {
        let at_source = |error: StorageError| Failure { path: from.clone(), error };
        let at_destination = |error: StorageError| Failure { path: to.clone(), error };
        let options = CopyOptions { durability: options.durability.of_an_only_copy(), ..options };
        let before = self.metadata(from).map_err(at_source)?;
        if before.is_directory() {
            self.require_plain(from)?;
        }
        let copy = self.make_copy(
            from,
            to,
            options,
            &mut |_: &DavPath, _: FileKind| true,
            cancelled,
            Purpose::Move,
        )?;
        let (source, old) = self.resolve_parent(from).map_err(|error| at_source(error.of_source()))?;
        let parent = from.parent().unwrap_or_default();
        let turn = self.turn_at(&source, old).map_err(at_source)?;
        if self.metadata(from).map_err(at_source)? != before {
            return Err(at_source(StorageError::Changed));
        }
        let taken = Displaced::take(self, &source, &parent, old, None);
        // The copy gets its name in a turn of its own.
        drop(turn);
        match taken {
            Ok(hidden) => {
                let moving = Moving { path: from, source: &before, home: hidden.inside(), name: old };
                let made = still_is(moving.home, old, &before, copy.seen()).and_then(|()| {
                    self.put_in_place(copy, options.durability, &mut |step| gate(step, Some(&moving)))
                        .map_err(|failure| failure.error)
                });
                match made {
                    Ok(made) => {
                        hidden.discard();
                        notes::forget(&source, old, before.inode);
                        options.durability.sync_directory(&source).map_err(at_source)?;
                        Ok(made)
                    }
                    Err(error) => {
                        hidden.restore().map_err(at_source)?;
                        Err(at_destination(error))
                    }
                }
            }
            // An overlay file system cannot rename directories of its lower layer. The source is then checked
            // in place and removed afterwards.
            Err(StorageError::Io(_, Errno::XDEV)) => {
                still_is(&source, old, &before, copy.seen()).map_err(at_source)?;
                let moving = Moving { path: from, source: &before, home: &source, name: old };
                let made = self
                    .put_in_place(copy, options.durability, &mut |step| gate(step, Some(&moving)))
                    .map_err(|failure| at_destination(failure.error))?;
                self.remove(from, options.durability)?;
                Ok(made)
            }
            Err(error) => Err(at_source(error)),
        }
    }

    /// Refuses a directory with members that a copy would lack or change: links, FIFOs, devices.
    fn require_plain(&self, from: &DavPath) -> Result<(), Failure> {
        let directory = self.resolve_directory(from);
        let directory = directory.map_err(|error| Failure { path: from.clone(), error })?;
        let mut odd = None;
        let surveyed =
            survey_found(directory, from, &is_reserved, &mut |path, found, _| match found.metadata() {
                Ok(_) => Ok(()),
                Err(error) => {
                    odd = Some(path.clone());
                    Err(error)
                }
            });
        surveyed.map_err(|error| Failure { path: odd.unwrap_or_else(|| from.clone()), error })
    }
}

/// Refuses if the entry with this name is not what was copied.
fn still_is(home: &OwnedFd, name: &[u8], before: &Metadata, seen: &Fingerprint) -> Result<(), StorageError> {
    let now = Found::in_directory(home, name)?.metadata()?;
    if before.is_directory() {
        let directory = open_directory(home, name).map_err(StorageError::from_errno("open"))?;
        let mut now = seen.another();
        survey_found(directory, &DavPath::root(), &is_reserved, &mut |path, found, _| {
            now.add(path, &found.metadata()?);
            Ok(())
        })?;
        return if now.is_same_as(seen) { Ok(()) } else { Err(StorageError::Changed) };
    }
    if now.is_same_version(before) { Ok(()) } else { Err(StorageError::Changed) }
}
