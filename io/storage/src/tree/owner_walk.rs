//! Lookups that follow a link only if it belongs to the owner of its target. The kernel has no such mode, so
//! each name is looked up by itself. Each entry is opened first and checked on its descriptor, so that a race
//! cannot replace it.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, readlinkat};

use crate::metadata::Found;
use crate::{StorageError, namespace};

/// Most links in one lookup, as in the kernel.
const LINKS_MAX: usize = 40;

/// Remaining step of a lookup.
enum Step {
    /// A name that is to be looked up.
    Name(Vec<u8>),
    /// A check that the link that led here belongs to the owner of its target; holds the link's owner.
    LinkOf(u32),
}

/// Opens the file at `path` below `root`.
pub(super) fn open(root: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> Result<OwnedFd, StorageError> {
    // Stack of steps; the next one is last.
    let mut steps: Vec<Step> = names(path).collect();
    // Directories on the way down from the root.
    let mut way: Vec<OwnedFd> = Vec::new();
    let mut links = 0;
    while let Some(step) = steps.pop() {
        let here = way.last().map_or(root, AsFd::as_fd);
        match step {
            Step::LinkOf(owner) => require_owner(here, owner)?,
            // A `..` above the root is refused.
            Step::Name(name) if name == b".." => drop(way.pop().ok_or(StorageError::Refused)?),
            Step::Name(name) => {
                let looked = open_member(here, &name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)?;
                let found = Found::of(&looked)?;
                if found.is_link() {
                    links += 1;
                    let target =
                        readlinkat(&looked, "", Vec::new()).map_err(StorageError::from_errno("readlink"))?;
                    let target = target.to_bytes();
                    if links > LINKS_MAX || target.first() == Some(&b'/') {
                        return Err(StorageError::Refused);
                    }
                    steps.push(Step::LinkOf(found.owner()));
                    steps.extend(names(target));
                } else if steps.iter().all(|step| matches!(step, Step::LinkOf(_))) {
                    // The owner is checked on the opened file, because the name may belong to another file by
                    // now.
                    let opened = open_member(here, &name, flags | OFlags::NOFOLLOW)?;
                    for step in &steps {
                        if let Step::LinkOf(owner) = step {
                            require_owner(opened.as_fd(), *owner)?;
                        }
                    }
                    return Ok(opened);
                } else {
                    way.push(looked);
                }
            }
        }
    }
    // The path was the root's, or that of a link that ends in `..`.
    open_member(way.last().map_or(root, AsFd::as_fd), b".", flags)
}

/// Splits a path into steps, the last name first.
fn names(path: &[u8]) -> impl Iterator<Item = Step> + use<> {
    let names: Vec<_> = path
        .split(|byte| *byte == b'/')
        .filter(|name| !matches!(name, [] | [b'.']))
        .map(|name| Step::Name(name.to_vec()))
        .collect();
    names.into_iter().rev()
}

fn open_member(directory: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, StorageError> {
    let mut how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if !flags.contains(OFlags::PATH) {
        how |= ResolveFlags::NO_SYMLINKS;
    }
    openat2(directory, name, flags, Mode::empty(), how).map_err(StorageError::from_errno("openat2"))
}

fn require_owner(fd: BorrowedFd<'_>, owner: u32) -> Result<(), StorageError> {
    if Found::of(fd)?.owner() == owner && !namespace::may_be_another(owner) {
        Ok(())
    } else {
        Err(StorageError::Refused)
    }
}
