//! Uploads of files, which become visible as a whole.

mod prepared;
mod scattered;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;
use weir_dav::digest::{Algorithm, Digest, Hasher};
use weir_dav::path::DavPath;
use weir_dav::range::Position;

use crate::content::copy_content;
use crate::ledger::Claim;
use crate::metadata::Found;
use crate::notes::{self, Note, Side};
use crate::partial::{Partial, PartialId, PartialState};
use crate::permissions::{PRIVATE, Permissions, withdraw};
use crate::temporary::Temporary;
use crate::{Disk, Durability, Metadata, OpenFile, StorageError, Tree, checksums, times};

pub use prepared::Prepared;

/// A running upload. The file is invisible until [`Self::commit`]. If the upload is dropped before, or the
/// process dies, nothing of it remains and the file at its path stays unchanged.
#[derive(Debug)]
pub struct Upload {
    tree: Arc<Tree>,
    path: DavPath,
    file: Temporary,
    /// Empty for an upload of a part of a file: its checksums need the whole file.
    hashers: Vec<Hasher>,
    algorithms: Vec<Algorithm>,
    /// Digests that the received bytes must have, whichever part of the file they are.
    expected: Vec<(Hasher, Digest)>,
    /// Offset of the next bytes.
    offset: u64,
    /// Bytes received.
    received: u64,
    /// Bytes for which the file system has reserved space.
    reserved: u64,
    part: bool,
    /// Modification time that the file gets, in seconds since 1970; `None` = the time of the upload.
    modified_s: Option<i64>,
    /// Bytes of the file that it replaces.
    old_bytes: u64,
    /// Space in the quota for the bytes that the new file has more than the old one.
    claim: Claim,
    /// Set while only the owner may use the file, until it gets its final permissions.
    private: bool,
    /// For an upload of several requests: its id and state.
    standing: Option<(PartialId, PartialState)>,
}

/// For smaller files, reserving space is not worth a system call.
const RESERVED_BYTES_MIN: u64 = 1 << 20;

/// Condition on the file at the path, under which an upload becomes visible there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// No condition, except that it is not a directory. A file is replaced.
    Anything,
    /// Nothing may be there.
    Nothing,
    /// The file that the caller has seen must be there, unchanged. No node that shares the tree can replace
    /// it between the last check and the rename. Another program can, within microseconds: POSIX has no
    /// rename with a condition.
    Version(Metadata),
}

/// Options for the end of an upload.
#[derive(Debug, Clone, Copy)]
pub struct Commit<'a> {
    /// Data that must be on the disk when the commit returns.
    pub durability: Durability,
    /// Condition on the existing file.
    pub expect: Expectation,
    /// Digests that the content must have.
    pub digests: &'a [Digest],
    /// Bytes that must have been received, if the client gave a number.
    pub length: Option<u64>,
}

/// An upload that has become visible.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The new file.
    pub metadata: Metadata,
    /// True if no file was replaced.
    pub created: bool,
    /// Digests of the content that were computed.
    pub digests: Vec<Digest>,
}

impl Upload {
    /// Begins to receive a file, with checksums by `algorithms`. `length` is the number of bytes to come, if
    /// known; a lack of space for them is found at once. If the upload is dropped, the threads of `disk`
    /// clean up. Blocks, as all methods do; only dropping does not.
    pub fn begin(
        tree: &Arc<Tree>,
        disk: &Disk,
        path: &DavPath,
        algorithms: &[Algorithm],
        length: Option<u64>,
    ) -> Result<Self, StorageError> {
        let (home, name) = tree.resolve_parent(path)?;
        let found = Tree::look(&home, name)?;
        if found.as_ref().is_some_and(Found::is_directory) {
            return Err(StorageError::IsDirectory);
        }
        if found.is_none() {
            tree.ledger().require_entries(1)?;
        }
        // The existing file may be private. Its replacement must never be readable for more users, from its
        // first byte on.
        let private = found.is_some();
        let old_bytes = found.and_then(|found| found.file_bytes()).unwrap_or(0);
        let claim = tree.claim(length.unwrap_or(0).saturating_sub(old_bytes))?;
        let parent = path.parent().unwrap_or_default();
        let mode = if private { PRIVATE } else { tree.file_mode() };
        let file = Temporary::file(tree, home, &parent, mode, Some(disk.clone()))?;
        let reserved = length.filter(|length| *length >= RESERVED_BYTES_MIN).unwrap_or(0);
        if reserved > 0 {
            reserve(&file, reserved)?;
        }
        let hashers = algorithms.iter().copied().map(Hasher::new).collect();
        let (tree, path) = (Arc::clone(tree), path.clone());
        let algorithms = algorithms.to_vec();
        let expected = Vec::new();
        Ok(Self {
            tree,
            path,
            file,
            hashers,
            algorithms,
            expected,
            offset: 0,
            received: 0,
            reserved,
            part: false,
            modified_s: None,
            old_bytes,
            claim,
            private,
            standing: None,
        })
    }

    /// Continues an upload of several requests. The bytes received so far stay even if this request fails;
    /// [`Partial::cancel`] removes them. Checksums are computed while bytes arrive only if nothing was
    /// received before.
    pub fn resume(partial: Partial, algorithms: &[Algorithm]) -> Result<Self, StorageError> {
        let Partial { tree, path, file, state, bytes, .. } = partial;
        let id = partial.id;
        // The account contains the bytes received so far. The file that is replaced may stay beside them for
        // a long time, so its space is not deducted.
        let more = state.length.unwrap_or(bytes).saturating_sub(state.settled);
        let claim = tree.claim(more)?;
        let begins = if bytes == 0 { algorithms } else { &[] };
        Ok(Self {
            tree,
            path,
            file,
            hashers: begins.iter().copied().map(Hasher::new).collect(),
            algorithms: algorithms.to_vec(),
            expected: Vec::new(),
            offset: bytes,
            received: bytes,
            reserved: 0,
            part: false,
            modified_s: None,
            old_bytes: 0,
            claim,
            private: true,
            standing: Some((id, state)),
        })
    }

    /// Begins to receive a part of a file, at this position in it. The rest of the content is kept, and the
    /// file may become longer. The new content becomes visible as a whole. Returns the upload and the
    /// metadata of the existing file, if any.
    ///
    /// # Errors
    /// [`StorageError::Gap`] if the position is outside the file; others as for [`Self::begin`].
    pub fn begin_part(
        tree: &Arc<Tree>,
        disk: &Disk,
        path: &DavPath,
        algorithms: &[Algorithm],
        position: Position,
        cancelled: &AtomicBool,
    ) -> Result<(Self, Option<Metadata>), StorageError> {
        let mut upload = Self::begin(tree, disk, path, algorithms, None)?;
        let base = match tree.open(path) {
            Ok(base) => Some(base),
            Err(StorageError::NotFound) => None,
            Err(error) => return Err(error),
        };
        let length = base.as_ref().map_or(0, |base| base.metadata().size);
        let first = position.first(length).ok_or(StorageError::Gap)?;
        if let Some(base) = &base {
            if !upload.private {
                // The file was created since [`Self::begin`] looked.
                withdraw(upload.file.fd()?)?;
                upload.private = true;
            }
            copy_content(base, upload.file.fd()?, cancelled)?;
        }
        upload.hashers.clear();
        (upload.offset, upload.part) = (first, true);
        Ok((upload, base.map(|base| *base.metadata())))
    }

    /// Adds digests that the bytes received from here on must have: digests of a part and not of the file.
    pub fn expect_received(&mut self, digests: Vec<Digest>) {
        self.expected.extend(digests.into_iter().map(|digest| (Hasher::new(digest.algorithm()), digest)));
    }

    /// Sets the modification time that the file gets, in seconds since 1970, instead of the time of the
    /// upload. The fraction of the second is kept, because entity tags are made of it and no two contents may
    /// have the same tag.
    pub fn set_modified_s(&mut self, modified_s: i64) {
        self.modified_s = Some(modified_s);
    }

    /// Appends the next bytes.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`] if the quota has no space for them, and others.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let end = self.offset.saturating_add(bytes.len() as u64);
        self.claim.cover(end.saturating_sub(self.old_bytes.max(self.settled_bytes())))?;
        notes::write_all(self.file.fd()?, bytes, self.offset)?;
        self.hashers.iter_mut().for_each(|hasher| hasher.update(bytes));
        self.expected.iter_mut().for_each(|(hasher, _)| hasher.update(bytes));
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        self.received = self.received.saturating_add(bytes.len() as u64);
        Ok(())
    }

    /// Returns the number of bytes received.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the current length of the content.
    pub fn length(&self) -> u64 {
        self.offset
    }

    /// Returns the received bytes that the account already contains.
    fn settled_bytes(&self) -> u64 {
        self.standing.as_ref().map_or(0, |(_, state)| state.settled)
    }

    /// Checks the bytes received in this request against their digests.
    ///
    /// # Errors
    /// [`StorageError::Digest`] if one of them differs.
    pub fn verify_received(&mut self) -> Result<(), StorageError> {
        for (hasher, expected) in self.expected.drain(..) {
            if hasher.finish() != expected {
                return Err(StorageError::Digest(expected.algorithm()));
            }
        }
        Ok(())
    }

    /// Removes the bytes after this length.
    pub fn roll_back(&mut self, length: u64) -> Result<(), StorageError> {
        rustix::fs::ftruncate(self.file.fd()?, length).map_err(StorageError::from_errno("ftruncate"))
    }

    /// Makes the received bytes durable, so that their number may be reported to the client. Keeps them at
    /// least until `expires_s`.
    pub fn settle(&mut self, durability: Durability, expires_s: u64) -> Result<(), StorageError> {
        let Some((id, state)) = &mut self.standing else { return Ok(()) };
        let before = state.settled;
        crate::partial::settle(&self.tree, &self.file, *id, state, durability, expires_s)?;
        self.claim.spend(state.settled.saturating_sub(before));
        Ok(())
    }

    /// Returns whether the bytes received in this request still have to be checked against a digest.
    pub fn may_be_taken_back(&self) -> bool {
        !self.expected.is_empty()
    }

    /// Returns whether [`Self::commit`] has to read the file again to compute digests, which takes long.
    pub fn reads_back(&self, digests: &[Digest]) -> bool {
        let given = digests.iter().map(Digest::algorithm);
        let mut wanted = self.algorithms.iter().copied().chain(given);
        wanted.any(|algorithm| !self.hashers.iter().any(|hasher| hasher.algorithm() == algorithm))
    }

    /// Checks the content and makes it visible. Readers see the old file or none before, and the new file
    /// with the old one's dead properties after.
    ///
    /// # Errors
    /// An error means that nothing has changed. The exception is [`StorageError::Io`] from the last fsync of
    /// the directory, with [`Durability::Full`]: the file is visible, and may be lost in a power failure.
    pub fn commit(self, commit: Commit<'_>) -> Result<Committed, StorageError> {
        let mut prepared = self.prepare(commit)?;
        prepared.publish()?;
        prepared.finish()
    }

    /// Runs the first and slow part of [`Self::commit`]: afterwards, the file lacks only its name.
    ///
    /// # Errors
    /// As [`Self::commit`]; nothing has changed.
    pub fn prepare(self, commit: Commit<'_>) -> Result<Prepared, StorageError> {
        self.prepare_unless(commit, &AtomicBool::new(false))
    }

    /// Prepares like [`Self::prepare`], but stops reading for digests when `cancelled` is set.
    ///
    /// # Errors
    /// [`StorageError::Cancelled`] when `cancelled` is set; others as for [`Self::commit`].
    pub fn prepare_unless(
        mut self,
        commit: Commit<'_>,
        cancelled: &AtomicBool,
    ) -> Result<Prepared, StorageError> {
        if commit.length.is_some_and(|length| length != self.received) {
            return Err(StorageError::Length);
        }
        self.verify_received()?;
        let digests = self.digests(commit.digests, cancelled)?;
        let content = self.content(commit.durability)?;
        let home = self.file.home()?.try_clone_to_owned().map_err(|_| StorageError::Cancelled)?;
        let name = self.path.name().ok_or(StorageError::Refused)?.to_vec();
        if !digests.is_empty() {
            let side = || side_of(&home, &name, &content);
            checksums::store(self.file.fd()?, &content, &digests, side)?;
        }
        let old = self.expected(&commit.expect, &home, &name)?;
        let kept = old.as_ref().map_or(Ok(None), |old| self.old_properties(old))?;
        if let Some(value) = &kept {
            notes::write(self.file.fd()?, Note::Properties, value, || side_of(&home, &name, &content))?;
        }
        self.give_permissions(|| side_of(&home, &name, &content))?;
        commit.durability.sync_file(self.file.fd()?)?;
        let (expect, durability) = (commit.expect, commit.durability);
        Ok(Prepared { upload: self, home, name, content, old, kept, digests, expect, durability })
    }

    /// Returns the digests of the content. Fails if one that the client gave differs.
    fn digests(&mut self, given: &[Digest], cancelled: &AtomicBool) -> Result<Vec<Digest>, StorageError> {
        let mut digests: Vec<_> = self.hashers.drain(..).map(Hasher::finish).collect();
        let has = |digests: &[Digest], algorithm| digests.iter().any(|d: &Digest| d.algorithm() == algorithm);
        let mut missing = Vec::new();
        for algorithm in self.algorithms.iter().copied().chain(given.iter().map(Digest::algorithm)) {
            if !has(&digests, algorithm) && !missing.contains(&algorithm) {
                missing.push(algorithm);
            }
        }
        if !missing.is_empty() {
            let fd = self.file.fd()?.try_clone_to_owned().map_err(|_| StorageError::Cancelled)?;
            let found = Found::of(&fd)?;
            let file = OpenFile::new(fd, &found)?;
            digests.extend(checksums::hash(&file, &missing, cancelled)?);
        }
        let wrong = given.iter().find(|given| !digests.contains(given));
        wrong.map_or(Ok(digests), |wrong| Err(StorageError::Digest(wrong.algorithm())))
    }

    /// Completes the file's content and returns its metadata.
    fn content(&self, durability: Durability) -> Result<Metadata, StorageError> {
        let fd = self.file.fd()?;
        if self.reserved > self.received {
            // Frees reserved space that was not used.
            rustix::fs::ftruncate(fd, self.received).map_err(StorageError::from_errno("ftruncate"))?;
        }
        if !self.tree.is_local() {
            // A network server sets the modification time when it receives the bytes.
            durability.max(Durability::Data).sync_file(fd)?;
        }
        let content = Found::of(fd)?.metadata()?;
        let Some(modified_s) = self.modified_s else { return Ok(content) };
        // If the time cannot be set, the file keeps the time of the upload.
        let _ = times::give_modified(fd, &content, modified_s);
        Found::of(fd)?.metadata()
    }

    /// Returns the file that will be replaced, if any. Fails if it does not meet the condition.
    fn expected(
        &self,
        expect: &Expectation,
        home: &OwnedFd,
        name: &[u8],
    ) -> Result<Option<Metadata>, StorageError> {
        let found = Tree::look(home, name)?;
        if found.as_ref().is_some_and(Found::is_directory) {
            return Err(StorageError::IsDirectory);
        }
        match (expect, &found) {
            (Expectation::Nothing, Some(_)) => return Err(StorageError::Exists),
            // The caller has seen the version through links, so the comparison follows them.
            (Expectation::Version(seen), Some(_))
                if !self.tree.metadata(&self.path)?.is_same_version(seen) =>
            {
                return Err(StorageError::Changed);
            }
            (Expectation::Version(_), None) => return Err(StorageError::Changed),
            _ => {}
        }
        Ok(found.and_then(|found| found.metadata().ok()))
    }

    /// Gives the new file the permissions of the one that it replaces, as far as the process may, or those of
    /// any new file. `side` names the side store, where notes can move to make room for an ACL.
    fn give_permissions(&self, side: impl Fn() -> Result<Side, StorageError>) -> Result<(), StorageError> {
        let fd = self.file.fd()?;
        match self.tree.resolve(&self.path, OFlags::PATH) {
            // The path may be a link to a directory; then the link is replaced.
            Ok(old) if !Found::of(&old)?.is_directory() => {
                let permissions = Permissions::of(old)?;
                notes::give_way(fd, side, || permissions.give(fd))
            }
            Ok(_) | Err(StorageError::NotFound | StorageError::Refused) if self.private => {
                // A new file's permissions depend on the umask and on what its directory passes on.
                let home = self.file.home()?.try_clone_to_owned().map_err(|_| StorageError::Cancelled)?;
                let parent = self.path.parent().unwrap_or_default();
                let new = Temporary::file(&self.tree, home, &parent, self.tree.file_mode(), None)?;
                let permissions = Permissions::of(new.fd()?)?;
                notes::give_way(fd, side, || permissions.give(fd))
            }
            Ok(_) | Err(StorageError::NotFound | StorageError::Refused) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads the old file's dead properties. They belong to the resource and not to its content (RFC 4918
    /// section 9.7.1).
    fn old_properties(&self, old: &Metadata) -> Result<Option<Vec<u8>>, StorageError> {
        let resource = match self.tree.resource(&self.path) {
            Ok(resource) => resource,
            // Properties that the process may not read are not kept.
            Err(StorageError::NotFound | StorageError::Refused) => return Ok(None),
            Err(error) => return Err(error),
        };
        notes::read(&resource.fd, Note::Properties, || self.tree.side(&self.path, old))
    }
}

fn side_of(home: &OwnedFd, name: &[u8], content: &Metadata) -> Result<Side, StorageError> {
    let home = home.try_clone().map_err(|_| StorageError::Cancelled)?;
    Ok(Side::of_file(home, name, content.inode))
}

/// Reserves space for the content, if the file system supports that.
fn reserve(file: &Temporary, length: u64) -> Result<(), StorageError> {
    match fallocate(file.fd()?, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => {
            Err(StorageError::from_errno("fallocate")(errno))
        }
        // Otherwise, a write will report the lack of space.
        _ => Ok(()),
    }
}
