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

/// A file that is on its way in. Nobody sees it before [`Self::commit`]; if it is dropped before, or the process dies, nothing
/// is left of it, and what was at its path stays as it was.
#[derive(Debug)]
pub struct Upload {
    tree: Arc<Tree>,
    path: DavPath,
    file: Temporary,
    /// Empty for a part of a file, whose checksums need all of it.
    hashers: Vec<Hasher>,
    algorithms: Vec<Algorithm>,
    /// What the bytes that come must have, whatever they become a part of.
    expected: Vec<(Hasher, Digest)>,
    /// Where the next bytes go.
    offset: u64,
    /// Bytes that have come.
    received: u64,
    /// Bytes that there is room for already.
    reserved: u64,
    part: bool,
    /// The time of last change that it gets, in seconds since 1970; `None` = that of the upload.
    modified_s: Option<i64>,
    /// Bytes of what it replaces.
    old_bytes: u64,
    /// Room in the quota for what it is longer.
    claim: Claim,
    /// Nobody but its owner may do anything with it until it has what its permissions will be.
    private: bool,
    /// Of one that comes in several requests: what is known of it.
    standing: Option<(PartialId, PartialState)>,
}

/// Smaller files are not worth a call that makes room for them.
const RESERVED_BYTES_MIN: u64 = 1 << 20;

/// What must be at the path for an upload to become visible there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Anything but a directory; a file is replaced.
    Anything,
    /// Nothing.
    Nothing,
    /// The file that the caller has seen, unchanged. No node that shares the tree can replace it between the last check and the
    /// rename. Another program can, within microseconds: POSIX has no rename with a condition.
    Version(Metadata),
}

/// How an upload ends.
#[derive(Debug, Clone, Copy)]
pub struct Commit<'a> {
    /// What must be on the disk then.
    pub durability: Durability,
    /// What must be there before.
    pub expect: Expectation,
    /// Digests that the content must have.
    pub digests: &'a [Digest],
    /// Bytes that must have come, if the client said how many.
    pub length: Option<u64>,
}

/// An upload that has become visible.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The new file.
    pub metadata: Metadata,
    /// There was nothing before.
    pub created: bool,
    /// The digests of its content that were computed.
    pub digests: Vec<Digest>,
}

impl Upload {
    /// Begins to take the content of a file, with checksums by `algorithms`. `length`: how much will come, if that is known;
    /// if there is no room for it, that is found at once. The disk's threads clean up if the upload is dropped. Blocks, like
    /// everything but dropping it.
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
        // What is there may be for few people; what replaces it is for no others, from its first byte on.
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

    /// Goes on with one that comes in several requests. What has come of it stays, whatever becomes of this turn; who gives it
    /// up for good cancels the [`Partial`]. Checksums are computed while bytes come only of one that has just begun.
    pub fn resume(partial: Partial, algorithms: &[Algorithm]) -> Result<Self, StorageError> {
        let Partial { tree, path, file, state, bytes, .. } = partial;
        let id = partial.id;
        // What has come is in the account already. What it replaces stays beside it, for as long as its client likes.
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

    /// Begins to take a part of a file, for this position in it: the rest stays as it is, and others see the new content as a whole
    /// or not at all. The file may become longer. Returns the upload and the file that it is based on, `None` if there is none.
    ///
    /// # Errors
    /// [`StorageError::Gap`] among them: the file has no such position.
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
                // It has come since.
                withdraw(upload.file.fd()?)?;
                upload.private = true;
            }
            copy_content(base, upload.file.fd()?, cancelled)?;
        }
        upload.hashers.clear();
        (upload.offset, upload.part) = (first, true);
        Ok((upload, base.map(|base| *base.metadata())))
    }

    /// Digests that the bytes must have which come from here on, by themselves: of a part, not of the file.
    pub fn expect_received(&mut self, digests: Vec<Digest>) {
        self.expected.extend(digests.into_iter().map(|digest| (Hasher::new(digest.algorithm()), digest)));
    }

    /// Gives the file this time of last change, in seconds since 1970, instead of the time of the upload. The fraction of the second
    /// stays that of the upload: entity tags are made of it, and no two contents may have the same.
    pub fn set_modified_s(&mut self, modified_s: i64) {
        self.modified_s = Some(modified_s);
    }

    /// Takes what comes next.
    ///
    /// # Errors
    /// Among others [`StorageError::OverQuota`].
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

    /// How many bytes have come.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// How long the content is by now.
    pub fn length(&self) -> u64 {
        self.offset
    }

    /// Bytes of it that are in the account already.
    fn settled_bytes(&self) -> u64 {
        self.standing.as_ref().map_or(0, |(_, state)| state.settled)
    }

    /// Proves that what has come in this turn is what was sent.
    ///
    /// # Errors
    /// [`StorageError::Digest`].
    pub fn verify_received(&mut self) -> Result<(), StorageError> {
        for (hasher, expected) in self.expected.drain(..) {
            if hasher.finish() != expected {
                return Err(StorageError::Digest(expected.algorithm()));
            }
        }
        Ok(())
    }

    /// Takes back what has come behind this length.
    pub fn roll_back(&mut self, length: u64) -> Result<(), StorageError> {
        rustix::fs::ftruncate(self.file.fd()?, length).map_err(StorageError::from_errno("ftruncate"))
    }

    /// Makes what has come sure, so that it may be told, and keeps it until `expires_s` at least.
    pub fn settle(&mut self, durability: Durability, expires_s: u64) -> Result<(), StorageError> {
        let Some((id, state)) = &mut self.standing else { return Ok(()) };
        let before = state.settled;
        crate::partial::settle(&self.tree, &self.file, *id, state, durability, expires_s)?;
        self.claim.spend(state.settled.saturating_sub(before));
        Ok(())
    }

    /// Whether what has come in this turn is still to be compared with a digest of it.
    pub fn may_be_taken_back(&self) -> bool {
        !self.expected.is_empty()
    }

    /// Whether [`Self::commit`] has to read what has come, to compute digests: that takes long.
    pub fn reads_back(&self, digests: &[Digest]) -> bool {
        let given = digests.iter().map(Digest::algorithm);
        let mut wanted = self.algorithms.iter().copied().chain(given);
        wanted.any(|algorithm| !self.hashers.iter().any(|hasher| hasher.algorithm() == algorithm))
    }

    /// Proves that everything came as it was sent, and makes it visible: before, there was the old file or none; after,
    /// the new one, with the old one's dead properties.
    ///
    /// # Errors
    /// Nothing has changed then, but for [`StorageError::Io`] of the last fsync of the directory, with
    /// [`Durability::Full`]: the file is there, and may be gone after a loss of power.
    pub fn commit(self, commit: Commit<'_>) -> Result<Committed, StorageError> {
        let mut prepared = self.prepare(commit)?;
        prepared.publish()?;
        prepared.finish()
    }

    /// The first part of [`Self::commit`], which takes its time: after it, nothing is missing but the name.
    ///
    /// # Errors
    /// As [`Self::commit`]; nothing has changed.
    pub fn prepare(self, commit: Commit<'_>) -> Result<Prepared, StorageError> {
        self.prepare_unless(commit, &AtomicBool::new(false))
    }

    /// The same; what has to be read for digests is read until `cancelled` is set.
    ///
    /// # Errors
    /// [`StorageError::Cancelled`] among them.
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

    /// The digests of the content; those that the client gave are proved to be right.
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

    /// What the file is now that nothing more comes.
    fn content(&self, durability: Durability) -> Result<Metadata, StorageError> {
        let fd = self.file.fd()?;
        if self.reserved > self.received {
            // What did not come takes up no room.
            rustix::fs::ftruncate(fd, self.received).map_err(StorageError::from_errno("ftruncate"))?;
        }
        if !self.tree.is_local() {
            // The server sets the time of the last change when it gets the bytes.
            durability.max(Durability::Data).sync_file(fd)?;
        }
        let content = Found::of(fd)?.metadata()?;
        let Some(modified_s) = self.modified_s else { return Ok(content) };
        // Where it cannot be set, the file tells the time of the upload.
        let _ = times::give_modified(fd, &content, modified_s);
        Found::of(fd)?.metadata()
    }

    /// The file that will be replaced, if any; an error if it is not as expected.
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
            // A version was seen through links; so it is compared.
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

    /// Gives it the permissions of what it replaces, as far as the process may, or else those of any new file. `side`: where its
    /// notes make room for them.
    fn give_permissions(&self, side: impl Fn() -> Result<Side, StorageError>) -> Result<(), StorageError> {
        let fd = self.file.fd()?;
        match self.tree.resolve(&self.path, OFlags::PATH) {
            // By a link it may be a directory: what is replaced is the link.
            Ok(old) if !Found::of(&old)?.is_directory() => {
                let permissions = Permissions::of(old)?;
                notes::give_way(fd, side, || permissions.give(fd))
            }
            Ok(_) | Err(StorageError::NotFound | StorageError::Refused) if self.private => {
                // What a new one has depends on the umask and on what its directory lets it inherit.
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

    /// Dead properties belong to the resource and not to its content (RFC 4918 section 9.7.1).
    fn old_properties(&self, old: &Metadata) -> Result<Option<Vec<u8>>, StorageError> {
        let resource = match self.tree.resource(&self.path) {
            Ok(resource) => resource,
            // Without the right to read it, there is nothing to be kept that could be read.
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

/// Takes the room that the content will need, if the file system can do that.
fn reserve(file: &Temporary, length: u64) -> Result<(), StorageError> {
    match fallocate(file.fd()?, FallocateFlags::KEEP_SIZE, 0, length) {
        Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => {
            Err(StorageError::from_errno("fallocate")(errno))
        }
        // Then it is found when it is written.
        _ => Ok(()),
    }
}
