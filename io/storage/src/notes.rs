//! Notes: data that is kept about a file or directory. A note is in an extended attribute. If the file system
//! supports no attributes or has no room for the note, it is in a side store. That is a reserved directory
//! beside the file, or inside the directory itself. A side store moves along with the directory that contains
//! it.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, Mode, OFlags, XattrFlags, fgetxattr, fremovexattr, fsetxattr, fsync, lgetxattr, lgetxattr_query,
    mkdirat, openat, unlinkat,
};
use rustix::io::{Errno, pread, pwrite};
use weir_dav::digest::{Algorithm, Hasher};

use crate::metadata::Found;
use crate::rename::{Replace, rename};
use crate::tree_walk::open_directory;
use crate::{Durability, StorageError};

/// Name of the side store's directory.
pub(crate) const SIDE: &[u8] = b".weir-notes";

/// Longest value of an extended attribute in Linux, in bytes.
const XATTR_BYTES_MAX: usize = 1 << 16;

/// Longest note, in bytes.
pub(crate) const NOTE_BYTES_MAX: usize = 1 << 20;

/// Kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Note {
    /// Dead properties.
    Properties,
    /// Checksums of the content.
    Checksums,
}

impl Note {
    pub(crate) const ALL: [Self; 2] = [Self::Properties, Self::Checksums];

    const fn attribute(self) -> &'static str {
        match self {
            Self::Properties => "user.weir.properties",
            Self::Checksums => "user.weir.checksums",
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Properties => "properties",
            Self::Checksums => "checksums",
        }
    }
}

/// Location of the notes of a file or directory in a side store.
#[derive(Debug)]
pub(crate) struct Side {
    /// Directory that contains the side store.
    home: OwnedFd,
    key: String,
}

impl Side {
    /// Returns the location for the file with this name and inode in `home`. The inode tells the file from a
    /// later one with its name.
    pub(crate) fn of_file(home: OwnedFd, name: &[u8], inode: u64) -> Self {
        Self { home, key: file_key(name, inode) }
    }

    /// Returns the location for a directory, which is within itself.
    pub(crate) fn of_directory(home: OwnedFd) -> Self {
        Self { home, key: "self".to_owned() }
    }

    fn name(&self, note: Note) -> String {
        format!("{}.{}", self.key, note.suffix())
    }
}

/// Reads a note of the open file `fd`; `None` if it has none.
pub(crate) fn read(
    fd: impl AsFd,
    note: Note,
    side: impl FnOnce() -> Result<Side, StorageError>,
) -> Result<Option<Vec<u8>>, StorageError> {
    match read_attribute(fd.as_fd(), note.attribute()) {
        Ok(Some(value)) => return Ok(Some(value)),
        Ok(None) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
        Err(errno) => return Err(StorageError::from_errno("getxattr")(errno)),
    }
    let side = side()?;
    let directory = match open_directory(&side.home, SIDE) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened.map_err(StorageError::from_errno("open"))?,
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&directory, side.name(note), flags, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        opened => read_all(&opened.map_err(StorageError::from_errno("open"))?).map(Some),
    }
}

/// Returns whether a directory has a side store.
pub(crate) fn has_side(directory: impl AsFd) -> bool {
    !matches!(open_directory(directory, SIDE), Err(Errno::NOENT))
}

/// Returns whether a member of a directory without a side store has a note. Does not open the file, which
/// would cost several times as much, and does not follow a link.
pub(crate) fn has_attribute(directory: BorrowedFd<'_>, name: &[u8], note: Note) -> bool {
    // No call takes a directory's descriptor before Linux 6.13. Its link in /proc leads to the directory
    // itself.
    let parent = format!("/proc/self/fd/{}/", directory.as_raw_fd());
    let path = [parent.as_bytes(), name].concat();
    let mut none = [0_u8; 0];
    !matches!(
        lgetxattr(path, note.attribute(), &mut none[..]),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS)
    )
}

/// Returns the bytes of the dead properties in a member's attribute. Does not follow a link.
pub(crate) fn properties_in_attribute(directory: BorrowedFd<'_>, name: &[u8]) -> u64 {
    let parent = format!("/proc/self/fd/{}/", directory.as_raw_fd());
    let path = [parent.as_bytes(), name].concat();
    lgetxattr_query(path, Note::Properties.attribute()).map_or(0, |bytes| bytes as u64)
}

/// Returns the bytes of a file's dead properties, in its attribute or in the side store.
pub(crate) fn properties_of_file(directory: &OwnedFd, name: &[u8], inode: u64) -> u64 {
    let inside = properties_in_attribute(directory.as_fd(), name);
    let Ok(side) = open_directory(directory, SIDE) else { return inside };
    let aside = format!("{}.{}", file_key(name, inode), Note::Properties.suffix());
    let found = Found::in_directory(&side, aside.as_bytes()).ok();
    inside.max(found.and_then(|found| found.file_bytes()).unwrap_or(0))
}

/// Returns whether a file of a side store contains dead properties.
pub(crate) fn is_properties(name: &[u8]) -> bool {
    name.rsplit(|byte| *byte == b'.').next() == Some(Note::Properties.suffix().as_bytes())
}

/// Writes a whole note, or nothing if it fails.
pub(crate) fn write(
    fd: impl AsFd,
    note: Note,
    value: &[u8],
    side: impl FnOnce() -> Result<Side, StorageError>,
) -> Result<(), StorageError> {
    if value.len() > NOTE_BYTES_MAX {
        return Err(StorageError::Full);
    }
    match fsetxattr(&fd, note.attribute(), value, XattrFlags::empty()) {
        // The attribute takes precedence over a note in the side store.
        Ok(()) => return Ok(()),
        // The file system has no attributes, or no room for this one.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NOSPC | Errno::TOOBIG | Errno::RANGE | Errno::DQUOT) => {
        }
        Err(errno) => return Err(StorageError::from_errno("setxattr")(errno)),
    }
    write_aside(&side()?, note, value)?;
    remove_attribute(fd.as_fd(), note)
}

/// Gives a file data that can only be in attributes, such as an ACL. If there is no room for it beside the
/// notes, these move to the side store.
pub(crate) fn give_way(
    fd: impl AsFd,
    side: impl Fn() -> Result<Side, StorageError>,
    give: impl Fn() -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    match give() {
        Err(StorageError::Full | StorageError::OverQuota) if put_aside(fd.as_fd(), &side)? => give(),
        given => given,
    }
}

/// Moves all notes from the attributes to the side store. Returns false if there were none.
fn put_aside(
    fd: BorrowedFd<'_>,
    side: impl Fn() -> Result<Side, StorageError>,
) -> Result<bool, StorageError> {
    let mut had = false;
    for note in Note::ALL {
        let value = match read_attribute(fd, note.attribute()) {
            Ok(Some(value)) => value,
            Ok(None) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => continue,
            Err(errno) => return Err(StorageError::from_errno("getxattr")(errno)),
        };
        write_aside(&side()?, note, &value)?;
        remove_attribute(fd, note)?;
        had = true;
    }
    Ok(had)
}

/// Syncs written or removed notes to the disk, in both places.
pub(crate) fn sync(
    fd: impl AsFd,
    durability: Durability,
    side: impl FnOnce() -> Result<Side, StorageError>,
) -> Result<(), StorageError> {
    if durability < Durability::Full {
        return Ok(());
    }
    durability.sync_file(fd)?;
    let side = match side() {
        // A process that may not open the directory has not written into it.
        Err(StorageError::Refused) => return Ok(()),
        side => side?,
    };
    match open_directory(&side.home, SIDE) {
        Err(Errno::NOENT) => Ok(()),
        opened => {
            durability.sync_directory(opened.map_err(StorageError::from_errno("open"))?)?;
            durability.sync_directory(&side.home)
        }
    }
}

/// Removes a note from both places.
pub(crate) fn remove(
    fd: impl AsFd,
    note: Note,
    side: impl FnOnce() -> Result<Side, StorageError>,
) -> Result<(), StorageError> {
    let side = side()?;
    remove_aside(&side.home, &side.name(note))?;
    remove_attribute(fd.as_fd(), note)
}

/// Removes the notes of a deleted file from the side store. Errors are ignored, because the key contains the
/// inode.
pub(crate) fn forget(home: &OwnedFd, name: &[u8], inode: u64) {
    let Ok(directory) = open_directory(home, SIDE) else { return };
    let key = file_key(name, inode);
    for note in Note::ALL {
        let _ = unlinkat(&directory, format!("{key}.{}", note.suffix()), AtFlags::empty());
    }
}

/// Copies the notes in the side store to the new location of a file, before the file is renamed.
pub(crate) fn carry(from: &Side, to: &Side) -> Result<(), StorageError> {
    let directory = match open_directory(&from.home, SIDE) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened.map_err(StorageError::from_errno("open"))?,
    };
    for note in Note::ALL {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&directory, from.name(note), flags, Mode::empty()) {
            Err(Errno::NOENT) => {}
            opened => {
                let value = read_all(&opened.map_err(StorageError::from_errno("open"))?)?;
                write_aside(to, note, &value)?;
            }
        }
    }
    Ok(())
}

/// Reads an extended attribute; `None` if it does not exist.
pub(crate) fn read_attribute(fd: BorrowedFd<'_>, name: &str) -> Result<Option<Vec<u8>>, Errno> {
    attribute_value(|buffer| fgetxattr(fd, name, buffer))
}

/// Reads an attribute by the given call. Tries a small buffer first, because most values are short.
pub(crate) fn attribute_value(
    read: impl Fn(&mut [u8]) -> Result<usize, Errno>,
) -> Result<Option<Vec<u8>>, Errno> {
    let mut small = [0; 1024];
    match read(&mut small) {
        Ok(bytes) => return Ok(small.get(..bytes).map(<[u8]>::to_vec)),
        Err(Errno::NODATA) => return Ok(None),
        Err(Errno::RANGE) => {}
        Err(errno) => return Err(errno),
    }
    let mut value = vec![0; XATTR_BYTES_MAX];
    let bytes = read(&mut value)?;
    value.truncate(bytes);
    Ok(Some(value))
}

fn remove_attribute(fd: BorrowedFd<'_>, note: Note) -> Result<(), StorageError> {
    match fremovexattr(fd, note.attribute()) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(errno) => Err(StorageError::from_errno("removexattr")(errno)),
    }
}

fn write_aside(side: &Side, note: Note, value: &[u8]) -> Result<(), StorageError> {
    match mkdirat(&side.home, SIDE, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(StorageError::from_errno("mkdir")(errno)),
    }
    let directory = open_directory(&side.home, SIDE).map_err(StorageError::from_errno("open"))?;
    replace_file(&directory, &side.name(note), value)
}

/// Replaces the content of a small file atomically, and syncs it to the disk.
pub(crate) fn replace_file(directory: &OwnedFd, name: &str, value: &[u8]) -> Result<(), StorageError> {
    replace_with(directory, name, value, |file| fsync(file).map_err(StorageError::from_errno("fsync")))
}

/// Replaces a file like [`replace_file`], without the sync, for data that may be lost in a power failure.
pub(crate) fn swap_file(directory: &OwnedFd, name: &str, value: &[u8]) -> Result<(), StorageError> {
    replace_with(directory, name, value, |_| Ok(()))
}

fn replace_with(
    directory: &OwnedFd,
    name: &str,
    value: &[u8],
    keep: impl Fn(&OwnedFd) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    // Concurrent writers of the same file hold a lock. A file left by a writer that died is overwritten.
    let next = format!("{name}.new");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        openat(directory, &next, flags, Mode::RUSR | Mode::WUSR).map_err(StorageError::from_errno("open"))?;
    let written = write_all(&file, value, 0).and_then(|()| keep(&file)).and_then(|()| {
        rename(directory, next.as_bytes(), directory, name.as_bytes(), Replace::Always)
            .map_err(StorageError::from_errno("rename"))
    });
    if written.is_err() {
        let _ = unlinkat(directory, &next, AtFlags::empty());
    }
    written
}

fn remove_aside(home: &OwnedFd, name: &str) -> Result<(), StorageError> {
    let directory = match open_directory(home, SIDE) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened.map_err(StorageError::from_errno("open"))?,
    };
    match unlinkat(&directory, name, AtFlags::empty()) {
        // Keeps the directory: another node may be about to write into it.
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(StorageError::from_errno("unlink")(errno)),
    }
}

fn file_key(name: &[u8], inode: u64) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(name);
    let mut key = hasher.finish().to_hex();
    key.truncate(32);
    format!("{key}-{inode:x}")
}

/// Reads a small file to its end.
pub(crate) fn read_all(file: &OwnedFd) -> Result<Vec<u8>, StorageError> {
    read_from(file, 0)
}

/// Reads a file from this offset to its end. The rest must be small.
pub(crate) fn read_from(file: &OwnedFd, offset: u64) -> Result<Vec<u8>, StorageError> {
    let mut value = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        match pread(file, &mut chunk[..], offset.saturating_add(value.len() as u64)) {
            Ok(0) => return Ok(value),
            Ok(read) => value.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(StorageError::from_errno("pread")(errno)),
        }
    }
}

/// Writes all bytes at this offset.
pub(crate) fn write_all(file: impl AsFd, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match pwrite(&file, rest, offset.saturating_add(written as u64)) {
            Ok(now) => written += now,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(StorageError::from_errno("pwrite")(errno)),
        }
    }
    Ok(())
}
