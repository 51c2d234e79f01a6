//! Uploads of several requests. The received data is a file under a reserved name in the destination
//! directory; the state is in the reserved directory in the root. So any node that shares the tree can
//! continue the upload, even after a restart.

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
use crate::sweep::is_aged;
use crate::temporary::Temporary;
use crate::tree_walk::open_directory;
use crate::{Durability, StorageError, Tree, reserved};

/// Directory of the uploads' states, in the reserved directory.
const UPLOADS: &str = "uploads";

/// Id of an upload. It is random, so that it cannot be guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PartialId([u8; 16]);

/// State of an upload between its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartialState {
    /// Destination, as an absolute path below the root, percent-encoded.
    path: String,
    /// Identity that began the upload, in the caller's own format.
    pub principal: String,
    /// Bytes of the whole content, if known.
    pub length: Option<u64>,
    /// Digests that the whole content must have.
    digests: Vec<(Algorithm, String)>,
    /// Condition on the existing file, under which the upload becomes visible.
    pub from: StartedFrom,
    /// Time at which the upload expires, in seconds since 1970.
    pub expires_s: u64,
    /// Bytes that are as durable as the area demands.
    pub(crate) settled: u64,
    /// Boot id of the machine that wrote them.
    machine: String,
    /// Size of the complete file; set when it has become visible.
    pub completed: Option<u64>,
}

/// Condition on the file at the path, under which an upload becomes visible there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartedFrom {
    /// No condition.
    Anything,
    /// Nothing may be there; true if the client demanded that.
    Nothing(bool),
    /// The content must be of this version (see [`crate::Metadata::version`]).
    Version(String),
}

/// An upload that is in use. No other request can use it, on any node.
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
    /// Creates an id from random bytes.
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// Parses the text of an id: 32 hexadecimal digits in lower case.
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
    /// Creates the state of a new upload.
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

    /// Sets the digests that the whole content must have.
    #[must_use]
    pub fn with_digests(mut self, digests: &[Digest]) -> Self {
        self.digests = digests.iter().map(|digest| (digest.algorithm(), digest.to_hex())).collect();
        self
    }

    /// Adds digests that the whole content must have.
    pub fn expect(&mut self, digests: &[Digest]) {
        self.digests.extend(digests.iter().map(|digest| (digest.algorithm(), digest.to_hex())));
    }

    /// Parses a state.
    ///
    /// # Errors
    /// If the text is damaged.
    pub fn parse(text: &[u8]) -> Result<Self, StorageError> {
        let state: Self = serde_json::from_slice(text).map_err(|_| DAMAGED)?;
        state.path()?;
        Ok(state)
    }

    /// Returns the digests that the whole content must have.
    pub fn digests(&self) -> Vec<Digest> {
        let digests = self.digests.iter();
        digests.filter_map(|(algorithm, hex)| Digest::from_hex(*algorithm, hex.as_bytes())).collect()
    }

    /// Returns the destination.
    ///
    /// # Errors
    /// If the path is damaged.
    pub fn path(&self) -> Result<DavPath, StorageError> {
        let read = DavPath::parse(self.path.as_bytes(), &PathLimits::NONE).map_err(|_| DAMAGED)?;
        reserved::check(&read.path).map_err(|_| DAMAGED)?;
        Ok(read.path)
    }
}

const DAMAGED: StorageError = StorageError::Damaged("the state of an upload");

impl Partial {
    /// Begins an upload. Blocks, as all methods do.
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
        // Without such locks it must suffice that only this request knows the id yet.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        let mut file = Temporary::adopt(home, data_name(id), file);
        if let Err(error) = write_state(&uploads, id, &state) {
            let _ = file.remove();
            return Err(error);
        }
        Ok(Self { tree: Arc::clone(tree), id, path, file, state, bytes: 0 })
    }

    /// Opens an upload to continue it, and makes the received data durable.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such upload or its data is gone. [`StorageError::Busy`] if
    /// another request is using it.
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

    /// Takes an upload whose data file is already open.
    fn take(
        tree: &Arc<Tree>,
        id: PartialId,
        (path, home, file): (DavPath, OwnedFd, OwnedFd),
        durability: Durability,
    ) -> Result<Self, StorageError> {
        // Without such locks, each node separates only its own requests.
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::AGAIN) {
            return Err(StorageError::Busy);
        }
        // Another request may have completed or continued the upload just before this one got the lock.
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
                    // The rest of the data is useless.
                    let _ = partial.cancel();
                }
                return Err(error);
            }
        }
        Ok(partial)
    }

    /// Returns the state.
    pub fn state(&self) -> &PartialState {
        &self.state
    }

    /// Returns the id.
    pub fn id(&self) -> PartialId {
        self.id
    }

    /// Returns the number of bytes received.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Stores the length of the whole content.
    pub fn set_length(&mut self, length: Option<u64>) -> Result<(), StorageError> {
        if self.state.length == length {
            return Ok(());
        }
        self.state.length = length;
        let uploads = uploads(&self.tree, true)?.ok_or(StorageError::NotFound)?;
        write_state(&uploads, self.id, &self.state)
    }

    /// Removes the upload.
    pub fn cancel(mut self) -> Result<(), StorageError> {
        let counted = counted(&self.tree, &self.file, self.state.settled);
        self.file.remove().map_err(|(_, error)| error)?;
        self.tree.ledger().gone(counted);
        self.tree.forget_partial(self.id)
    }
}

/// Returns the space that the account contains for an upload's data.
pub(crate) fn counted(tree: &Tree, file: &Temporary, settled: u64) -> Tally {
    let found = file.fd().and_then(Found::of);
    let tally = found.map_or_else(|_| Tally::default(), |found| Tally::of(&found, tree.ledger().began()));
    Tally { bytes: settled, ..tally.part(settled) }
}

fn open_data(home: &OwnedFd, id: PartialId) -> Result<OwnedFd, StorageError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let open = || openat(home, data_name(id), flags, Mode::empty());
    let opened = match open() {
        // An earlier commit failed after the file had got the permissions of the file to be replaced.
        Err(Errno::ACCESS) => {
            let is_file = |found: &Found| found.file_bytes().is_some();
            let set = set_mode(home, data_name(id).as_bytes(), PRIVATE, is_file);
            set.map_err(|_| Errno::ACCESS).and_then(|()| open())
        }
        opened => opened,
    };
    opened.map_err(StorageError::from_errno("open"))
}

/// Checks that the data file is still invisible: its only name is the reserved one. Between opening and
/// locking, another request may have made it visible; it must not change then.
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
        // The other request is about to record that.
        (_, false) => Err(StorageError::Busy),
        (1, true) => Ok(()),
        (_, true) => {
            // A process made it visible by a second name and died before it removed the first.
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

/// Makes the received data as durable as demanded; then its length may be reported to the client. After a
/// restart of the machine, only the data that was durable before counts. The upload lives at least until
/// `expires_s`. Returns the number of bytes.
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
        // Reported data is missing, so the whole upload is lost.
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
    /// Reads the state of an upload. Blocks.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if there is no such upload.
    pub fn partial_state(&self, id: PartialId) -> Result<PartialState, StorageError> {
        let uploads = uploads(self, false)?.ok_or(StorageError::NotFound)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = as_self(|| openat(&uploads, id.to_string(), flags, Mode::empty()));
        PartialState::parse(&read_all(&file.map_err(StorageError::from_errno("open"))?)?)
    }

    /// Records until `expires_s` that an upload has become visible, because its client may have missed the
    /// response. Blocks.
    pub fn complete_partial(&self, id: PartialId, bytes: u64, expires_s: u64) -> Result<(), StorageError> {
        let mut state = self.partial_state(id)?;
        state.completed = Some(bytes);
        state.expires_s = expires_s;
        let uploads = uploads(self, true)?.ok_or(StorageError::NotFound)?;
        write_state(&uploads, id, &state)
    }

    /// Removes the state of an upload that has no data left. Blocks.
    pub fn forget_partial(&self, id: PartialId) -> Result<(), StorageError> {
        let Some(uploads) = uploads(self, false)? else { return Ok(()) };
        match as_self(|| unlinkat(&uploads, id.to_string(), AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(StorageError::from_errno("unlink")(errno)),
        }
    }

    /// Removes expired uploads of all nodes. Returns their number. Blocks.
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
                    // Its data is gone, with its directory or because the client removed it first.
                    Err(StorageError::NotFound) => self.forget_partial(id),
                    // A request is using it.
                    Err(_) => continue,
                },
                // A damaged state leads to no data.
                Err(StorageError::Damaged(_)) => self.forget_partial(id),
                Err(_) => continue,
            };
            swept += u64::from(gone.is_ok());
        }
        Ok(swept)
    }
}

impl Tree {
    /// Removes the data of an upload that has no state any more, because its directory was moved or the state
    /// was damaged. Does so only if no request uses the data and it is old enough that none is about to.
    /// Returns whether it was removed. Blocks.
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

/// Returns the name of the data file.
pub(crate) fn data_name(id: PartialId) -> String {
    format!("{}{id}", reserved::PARTIAL)
}

fn write_state(uploads: &OwnedFd, id: PartialId, state: &PartialState) -> Result<(), StorageError> {
    let text = serde_json::to_vec(state).map_err(|_| DAMAGED)?;
    as_self(|| {
        replace_file(uploads, &id.to_string(), &text)?;
        // Reported progress must survive a power failure, and so must the renaming.
        Durability::Full.sync_directory(uploads)
    })
}

/// Opens the directory of the states; `None` if it does not exist.
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
