//! Turns: changes of one name in one directory happen one after the other, in this process and on all nodes
//! that share the tree. So the result of a check still holds when the change is made; POSIX has no rename
//! with a condition.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::OFlags;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::store::Guard;
use crate::{StorageError, Tree};

/// Number of turns. The hash of a name selects one, so that many names share a turn.
const TURNS: usize = 64;

/// The turns of a tree within this process.
#[derive(Debug)]
pub(crate) struct Turns([Mutex<()>; TURNS]);

/// The right to change one or two names. A change takes its turn before any other guard, and never takes a
/// second turn, so that no two changes wait for each other.
#[derive(Debug)]
#[must_use = "the turn is over when this is dropped"]
pub(crate) struct Turn<'a> {
    _held: [Option<Held<'a>>; 2],
}

#[derive(Debug)]
struct Held<'a> {
    /// Dropped before the mutex, so that the next change of this process finds the file's lock free.
    _guard: Option<Guard>,
    _mutex: MutexGuard<'a, ()>,
}

impl Default for Turns {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Tree {
    /// Waits until no other change of this name in the directory `home` is running. If the file system has no
    /// locks (flock), or the reserved directory cannot be written, turns hold within this process only.
    pub(crate) fn turn_at(&self, home: &OwnedFd, name: &[u8]) -> Result<Turn<'_>, StorageError> {
        let only = number(home, name)?;
        let held = [Some(self.take(only)?), None];
        self.refresh(home);
        Ok(Turn { _held: held })
    }

    /// Takes the turns of two names at once, like [`Self::turn_at`].
    pub(crate) fn turns_at(
        &self,
        (home, name): (&OwnedFd, &[u8]),
        (other_home, other_name): (&OwnedFd, &[u8]),
    ) -> Result<Turn<'_>, StorageError> {
        let (one, other) = (number(home, name)?, number(other_home, other_name)?);
        // All changes take the lower number first.
        let first = self.take(one.min(other))?;
        let second = if one == other { None } else { Some(self.take(one.max(other))?) };
        self.refresh(home);
        self.refresh(other_home);
        Ok(Turn { _held: [Some(first), second] })
    }

    /// Takes the turn of a path's name, like [`Self::turn_at`].
    pub(crate) fn turn(&self, path: &DavPath) -> Result<Turn<'_>, StorageError> {
        // O_PATH: members of a directory that cannot be read can still be changed.
        let home = self.resolve(&path.parent().unwrap_or_default(), OFlags::PATH | OFlags::DIRECTORY)?;
        self.turn_at(&home, path.name().unwrap_or_default())
    }

    fn take(&self, number: usize) -> Result<Held<'_>, StorageError> {
        let mutex = self.turns.0[number].lock().unwrap_or_else(PoisonError::into_inner);
        let guard =
            self.make_store().and_then(|store| Self::lock_alone(&store, &format!("turn.{number:02}")));
        let guard = match guard {
            Ok(guard) => Some(guard),
            // On a full disk, clients must still be able to remove files.
            Err(StorageError::Refused | StorageError::Full | StorageError::OverQuota) => None,
            Err(error) => return Err(error),
        };
        Ok(Held { _guard: guard, _mutex: mutex })
    }

    /// Makes a network file system drop cached attributes of a directory, because another node may have just
    /// changed it.
    fn refresh(&self, home: &OwnedFd) {
        if !self.is_local() {
            // The caller's next lookup reports any error.
            let _ = Found::of_synced(home);
        }
    }
}

/// Returns the number of a name's turn, the same on all nodes (FNV-1a, draft-eastlake-fnv section 2). It uses
/// the directory's inode number and not its path, so that links and renamed parents make no difference.
fn number(home: impl AsFd, name: &[u8]) -> Result<usize, StorageError> {
    let inode = Found::of(home)?.inode().to_le_bytes();
    let hash = inode.iter().chain(name).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The upper bits are mixed better than the lower ones.
    Ok(usize::try_from((hash >> 32) % TURNS as u64).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_spread_over_the_turns_and_have_the_same_one_everywhere() {
        let directory = tempfile::tempdir().unwrap();
        let open = || std::fs::File::open(directory.path()).unwrap();
        let numbers: HashSet<usize> =
            (0..2_000).map(|name: u32| number(open(), &name.to_le_bytes()).unwrap()).collect();
        assert_eq!(numbers.len(), TURNS);
        assert_eq!(number(open(), b"a").unwrap(), number(open(), b"a").unwrap());
    }
}
