//! Uploads that come in several requests: what has come of one is a file under a reserved name where the whole will be, what is
//! known of it is in the reserved directory in the root. So any node that shares the tree can go on with it, also after a
//! restart.

use std::sync::Arc;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, ftruncate, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use weir_dav::digest::{Algorithm, Digest};
use weir_dav::path::{DavPath, PathLimits};

use crate::acting::as_self;
use crate::journal::machine_boot;
use crate::ledger::Tally;
use crate::metadata::Found;
use crate::mode::set_mode;
use crate::notes::{read_all, replace_file};
use crate::permissions::PRIVATE;
use crate::remove::open_directory;
use crate::sweep::is_aged;
use crate::temporary::Temporary;
use crate::{Durability, StorageError, Tree, reserved};

/// The directory, in the reserved one, of what is known of each.
const UPLOADS: &str = "uploads";

/// Which upload: random, so that nobody can guess it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartialId([u8; 16]);

/// What is known of an upload between its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialState {
    /// Where it goes, as an absolute path below the root, percent-encoded.
    path: String,
    /// Who has begun it, in whatever way the caller names them.
    pub principal: String,
    /// Bytes of the whole content, if that is known.
    pub length: Option<u64>,
    /// Digests that the whole content must have.
    digests: Vec<(Algorithm, String)>,
    /// What must be there for it to become visible.
    pub from: StartedFrom,
    /// When it is forgotten, in seconds since 1970.
    pub expires_s: u64,
    /// Bytes that are on the disk as surely as the area's durability asks for.
    pub(crate) settled: u64,
    /// The start of the machine that has written them.
    machine: String,
    /// It has become visible, with so many bytes.
    pub completed: Option<u64>,
}

/// What must be at the path for an upload to become visible there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartedFrom {
    /// Anything.
    Anything,
    /// Nothing; true = because the client has said so.
    Nothing(bool),
    /// The content of this version (see [`crate::Metadata::version`]).
    Version(String),
}

/// An upload that somebody is at work on; nobody else is, on whatever node.
#[derive(Debug)]
pub struct Partial {
    pub(crate) tree: Arc<Tree>,
    pub(crate) id: PartialId,
    pub(crate) path: DavPath,
    pub(crate) file: Temporary,
    pub(crate) state: PartialState,
    pub(crate) bytes: u64,
}

impl PartialId {
    /// Of random bytes.
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// From its text: 32 hexadecimal digits in lower case.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut id = [0; 16];
        if text.len() != 32 {
            return None;
        }
        for (byte, pair) in id.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(id))
    }
}

impl std::fmt::Display for PartialId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl PartialState {
    /// Of an upload that begins.
    pub fn new(path: &DavPath, principal: String, from: StartedFrom, expires_s: u64) -> Self {
        Self {
            path: path.href(false),
            principal,
            length: None,
            digests: Vec::new(),
            from,
            expires_s,
            settled: 0,
            machine: machine_boot(),
            completed: None,
        }
    }

    /// With digests that the whole content must have.
    #[must_use]
    pub fn with_digests(mut self, digests: &[Digest]) -> Self {
        self.digests = digests.iter().map(|digest| (digest.algorithm(), digest.to_hex())).collect();
        self
    }

    /// Digests that the whole content must have besides those that were given before.
    pub fn expect(&mut self, digests: &[Digest]) {
        self.digests.extend(digests.iter().map(|digest| (digest.algorithm(), digest.to_hex())));
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is damaged.
    pub fn parse(text: &[u8]) -> Result<Self, StorageError> {
        let state: Self = serde_json::from_slice(text).map_err(|_| DAMAGED)?;
        state.path()?;
        Ok(state)
    }

    /// The digests that the whole content must have.
    pub fn digests(&self) -> Vec<Digest> {
        let digests = self.digests.iter();
        digests.filter_map(|(algorithm, hex)| Digest::from_hex(*algorithm, hex.as_bytes())).collect()
    }

    /// Where it goes.
    ///
    /// # Errors
    /// It is damaged.
    pub fn path(&self) -> Result<DavPath, StorageError> {
        let read = DavPath::parse(self.path.as_bytes(), &PathLimits::NONE).map_err(|_| DAMAGED)?;
        reserved::check(&read.path).map_err(|_| DAMAGED)?;
        Ok(read.path)
    }
}

const DAMAGED: StorageError = StorageError::Damaged("the state of an upload");

impl Partial {
    /// Begins one. Blocks, like everything here.
    pub fn create(tree: &Arc<Tree>, id: PartialId, state: PartialState) -> Result<Self, StorageError> {
        let path = state.path()?;
        let (home, name) = tree.resolve_parent(&path)?;
        if Tree::look(&home, name)?.is_some_and(|found| found.is_directory()) {
            return Err(StorageError::IsDirectory);
        }
        let uploads = uploads(tree, true)?.ok_or(StorageError::NotFound)?;
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC
            | OFlags::NONBLOCK;
        let file =
            openat(&home, data_name(id), flags, PRIVATE).map_err(StorageError::from_errno("create"))?;
        // Where there are no such locks, that nobody else knows of it has to do.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let mut file = Temporary::adopt(home, data_name(id), file);
        if let Err(error) = write_state(&uploads, id, &state) {
            let _ = file.remove();
            return Err(error);
        }
        Ok(Self { tree: Arc::clone(tree), id, path, file, state, bytes: 0 })
    }

    /// Goes on with one, and makes what has come of it sure.
    ///
    /// # Errors
    /// [`StorageError::NotFound`]: there is none, or nothing of it is left. [`StorageError::Busy`]: somebody else is at work on
    /// it.
    pub fn open(tree: &Arc<Tree>, id: PartialId, durability: Durability) -> Result<Self, StorageError> {
        let state = tree.partial_state(id)?;
        if state.completed.is_some() {
            return Err(StorageError::NotFound);
        }
        let path = state.path()?;
        let (home, _) = tree.resolve_parent(&path).map_err(StorageError::of_source)?;
        let file = open_data(&home, id)?;
        Self::take(tree, id, (path, home, file), durability)
    }

    /// The same with its file, which was opened before.
    fn take(
        tree: &Arc<Tree>,
        id: PartialId,
        (path, home, file): (DavPath, OwnedFd, OwnedFd),
        durability: Durability,
    ) -> Result<Self, StorageError> {
        // Where there are no such locks, each node keeps its own requests apart.
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::AGAIN) {
            return Err(StorageError::Busy);
        }
        // Somebody may have completed it, or gone on with it, just before the lock was ours.
        let state = tree.partial_state(id)?;
        if state.completed.is_some() {
            return Err(StorageError::NotFound);
        }
        require_unseen(tree, id, &home, &file, &path)?;
        let file = Temporary::adopt(home, data_name(id), file);
        let mut partial = Self { tree: Arc::clone(tree), id, path, file, state, bytes: 0 };
        match settle(tree, &partial.file, id, &mut partial.state, durability, 0) {
            Ok(bytes) => partial.bytes = bytes,
            Err(error) => {
                let is_less =
                    |found: Found| found.metadata().is_ok_and(|now| now.size < partial.state.settled);
                if error == StorageError::NotFound && Found::of(partial.file.fd()?).is_ok_and(is_less) {
                    // What is left of it is of no use to anybody.
                    let _ = partial.cancel();
                }
                return Err(error);
            }
        }
        Ok(partial)
    }

    /// What is known of it.
    pub fn state(&self) -> &PartialState {
        &self.state
    }

    /// Which it is.
    pub fn id(&self) -> PartialId {
        self.id
    }

    /// Bytes that have come.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Remembers how long the whole content will be.
    pub fn set_length(&mut self, length: Option<u64>) -> Result<(), StorageError> {
        if self.state.length == length {
            return Ok(());
        }
        self.state.length = length;
        let uploads = uploads(&self.tree, true)?.ok_or(StorageError::NotFound)?;
        write_state(&uploads, self.id, &self.state)
    }

    /// Removes it.
    pub fn cancel(mut self) -> Result<(), StorageError> {
        let counted = counted(&self.tree, &self.file, self.state.settled);
        self.file.remove().map_err(|(_, error)| error)?;
        self.tree.ledger().gone(counted);
        self.tree.forget_partial(self.id)
    }
}

/// What is in the account of what has come of an upload.
pub(crate) fn counted(tree: &Tree, file: &Temporary, settled: u64) -> Tally {
    let found = file.fd().and_then(Found::of);
    let tally = found.map_or_else(|_| Tally::default(), |found| Tally::of(&found, tree.ledger().began()));
    Tally { bytes: settled, ..tally.part(settled) }
}

fn open_data(home: &OwnedFd, id: PartialId) -> Result<OwnedFd, StorageError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open = || openat(home, data_name(id), flags, Mode::empty());
    let opened = match open() {
        // It had the permissions of what it was about to replace already, when that failed.
        Err(Errno::ACCESS) => {
            let is_file = |found: &Found| found.file_bytes().is_some();
            let set = set_mode(home, data_name(id).as_bytes(), PRIVATE, is_file);
            set.map_err(|_| Errno::ACCESS).and_then(|()| open())
        }
        opened => opened,
    };
    opened.map_err(StorageError::from_errno("open"))
}

/// Nobody sees the file yet: it has the name of what has come of the upload, and no other. Between opening and locking it,
/// somebody else may have made it visible; from then on it must not change.
fn require_unseen(
    tree: &Tree,
    id: PartialId,
    home: &OwnedFd,
    file: &OwnedFd,
    path: &DavPath,
) -> Result<(), StorageError> {
    let (found, name) = (Found::of(file)?, data_name(id));
    let is_same = |named: Option<Found>| named.is_some_and(|named: Found| named.is_same_as(&found));
    match (found.names(), is_same(Tree::look(home, name.as_bytes())?)) {
        (0, _) => Err(StorageError::NotFound),
        // Who did that is about to say so.
        (_, false) => Err(StorageError::Busy),
        (1, true) => Ok(()),
        (_, true) => {
            // Made visible by a second name, by somebody who died before the first was gone.
            let target = path.name().ok_or(StorageError::Refused)?;
            if is_same(Tree::look(home, target)?) {
                let state = tree.partial_state(id)?;
                tree.complete_partial(id, found.metadata()?.size, state.expires_s)?;
            }
            unlinkat(home, name, AtFlags::empty()).map_err(StorageError::from_errno("unlink"))?;
            Err(StorageError::NotFound)
        }
    }
}

/// Makes what has come as sure as durability asks for; from then on it may be told. What a machine that has crashed since had not
/// on its disk for certain does not count. The upload lives until `expires_s` at least. Returns how much has come.
pub(crate) fn settle(
    tree: &Tree,
    file: &Temporary,
    id: PartialId,
    state: &mut PartialState,
    durability: Durability,
    expires_s: u64,
) -> Result<u64, StorageError> {
    let fd = file.fd()?;
    let mut bytes = Found::of(fd)?.metadata()?.size;
    let machine = machine_boot();
    if machine != state.machine && bytes > state.settled {
        bytes = state.settled;
        ftruncate(fd, bytes).map_err(StorageError::from_errno("ftruncate"))?;
    } else if bytes < state.settled {
        // What was told must not be taken back: it is lost as a whole.
        return Err(StorageError::NotFound);
    }
    let expires_s = expires_s.max(state.expires_s);
    if (bytes, &machine, expires_s) != (state.settled, &state.machine, state.expires_s) {
        durability.sync_file(fd)?;
        if state.settled == 0 {
            durability.sync_directory(file.home()?)?;
        }
        match bytes.checked_sub(state.settled) {
            Some(more) => tree.ledger().came(Tally::new(more).part(more)),
            None => tree.ledger().gone(counted(tree, file, state.settled - bytes)),
        }
        state.settled = bytes;
        state.machine = machine;
        state.expires_s = expires_s;
        let uploads = uploads(tree, true)?.ok_or(StorageError::NotFound)?;
        write_state(&uploads, id, state)?;
    }
    Ok(bytes)
}

impl Tree {
    /// What is known of an upload. Blocks.
    ///
    /// # Errors
    /// [`StorageError::NotFound`]: there is none.
    pub fn partial_state(&self, id: PartialId) -> Result<PartialState, StorageError> {
        let uploads = uploads(self, false)?.ok_or(StorageError::NotFound)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = as_self(|| openat(&uploads, id.to_string(), flags, Mode::empty()));
        PartialState::parse(&read_all(&file.map_err(StorageError::from_errno("open"))?)?)
    }

    /// Remembers that an upload has become visible, until `expires_s`: its client may not have heard of it. Blocks.
    pub fn complete_partial(&self, id: PartialId, bytes: u64, expires_s: u64) -> Result<(), StorageError> {
        let mut state = self.partial_state(id)?;
        state.completed = Some(bytes);
        state.expires_s = expires_s;
        let uploads = uploads(self, true)?.ok_or(StorageError::NotFound)?;
        write_state(&uploads, id, &state)
    }

    /// Forgets an upload of which no content is left. Blocks.
    pub fn forget_partial(&self, id: PartialId) -> Result<(), StorageError> {
        let Some(uploads) = uploads(self, false)? else { return Ok(()) };
        match as_self(|| unlinkat(&uploads, id.to_string(), AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(StorageError::from_errno("unlink")(errno)),
        }
    }

    /// Removes the uploads that nobody has gone on with in time, whichever node had them; returns how many. Blocks.
    pub fn sweep_partials(self: &Arc<Self>, now_s: u64) -> Result<u64, StorageError> {
        let Some(uploads) = uploads(self, false)? else { return Ok(0) };
        let mut swept = 0;
        let mut members = Dir::read_from(&uploads).map_err(StorageError::from_errno("open"))?;
        while let Some(read) = members.read() {
            let read = read.map_err(StorageError::from_errno("getdents"))?;
            let Some(id) = PartialId::parse(read.file_name().to_bytes()) else { continue };
            let gone = match self.partial_state(id) {
                Ok(state) if state.expires_s > now_s => continue,
                Ok(state) if state.completed.is_some() => self.forget_partial(id),
                Ok(_) => match Partial::open(self, id, Durability::None) {
                    Ok(partial) => partial.cancel(),
                    // It is no longer there: with its directory, or because its client was faster.
                    Err(StorageError::NotFound) => self.forget_partial(id),
                    // Somebody is at work on it.
                    Err(_) => continue,
                },
                // What cannot be read leads nowhere.
                Err(StorageError::Damaged(_)) => self.forget_partial(id),
                Err(_) => continue,
            };
            swept += u64::from(gone.is_ok());
        }
        Ok(swept)
    }
}

impl Tree {
    /// Removes what has come of an upload that nobody can go on with, because nothing is known of it any more: its directory was
    /// moved, or what was known was damaged. Only if nobody is at work on it and it is old enough for nobody to be about to be.
    /// Says whether it was one. Blocks.
    pub(crate) fn remove_orphan(&self, home: impl AsFd, name: &[u8], found: &Found) -> bool {
        let id = name.strip_prefix(reserved::PARTIAL.as_bytes()).and_then(PartialId::parse);
        let is_known = id.is_some_and(|id| self.partial_state(id) != Err(StorageError::NotFound));
        if is_known || found.file_bytes().is_none() || !is_aged(found) {
            return false;
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(file) = openat(&home, name, flags, Mode::empty()) else { return false };
        flock(&file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::AGAIN)
            && Found::of(&file).is_ok_and(|opened| opened.is_same_as(found))
            && unlinkat(&home, name, AtFlags::empty()).is_ok()
    }
}

/// The name of what has come of it.
pub(crate) fn data_name(id: PartialId) -> String {
    format!("{}{id}", reserved::PARTIAL)
}

fn write_state(uploads: &OwnedFd, id: PartialId, state: &PartialState) -> Result<(), StorageError> {
    let text = serde_json::to_vec(state).map_err(|_| DAMAGED)?;
    as_self(|| {
        replace_file(uploads, &id.to_string(), &text)?;
        // What was told of it must not be taken back: neither may the renaming be.
        Durability::Full.sync_directory(uploads)
    })
}

/// The directory of what is known of uploads; `None` = there has never been one.
fn uploads(tree: &Tree, make: bool) -> Result<Option<OwnedFd>, StorageError> {
    as_self(|| uploads_directory(tree, make))
}

fn uploads_directory(tree: &Tree, make: bool) -> Result<Option<OwnedFd>, StorageError> {
    let store = if make { Some(tree.make_store()?) } else { tree.store()? };
    let Some(store) = store else { return Ok(None) };
    if make {
        match mkdirat(&store, UPLOADS, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(StorageError::from_errno("mkdir")(errno)),
        }
    }
    match open_directory(&store, UPLOADS.as_bytes()) {
        Ok(uploads) => Ok(Some(uploads)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(StorageError::from_errno("open")(errno)),
    }
}

#[cfg(test)]
mod tests;
