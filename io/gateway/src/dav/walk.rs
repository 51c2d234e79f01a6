use weir_access::Action;
use weir_dav::path::DavPath;
use weir_dav::xml::Multistatus;
use weir_storage::{Entry, Listing, Metadata, StorageError};

use super::{Asker, Describer};

/// Bytes after which a piece is complete: enough for few pieces, not too much for memory.
const PIECE_BYTES: usize = 48 << 10;

/// Members that are looked at at once.
const BATCH: usize = 64;

/// The answer to a PROPFIND, made piece by piece; each is no larger than what there is to say of one member beyond
/// [`PIECE_BYTES`].
#[derive(Debug)]
pub(crate) struct Walk {
    asker: Asker,
    describer: Describer,
    /// Below the members, too.
    deep: bool,
    multistatus: Option<Multistatus>,
    /// The target, until it was told of.
    target: Option<(DavPath, Metadata)>,
    /// What is left to be listed, the next one last.
    left: Vec<Directory>,
}

#[derive(Debug)]
enum Directory {
    Begun(Begun),
    /// Opened when its turn comes, so that no more directories are open than are within each other.
    Waiting(DavPath),
}

#[derive(Debug)]
struct Begun {
    path: DavPath,
    listing: Listing,
    /// Those that were read and not yet told of.
    entries: std::vec::IntoIter<Entry>,
}

impl Walk {
    /// Of a resource and, with `members`, of what is in it.
    pub(crate) fn new(
        asker: Asker,
        describer: Describer,
        path: DavPath,
        metadata: Metadata,
        members: bool,
        deep: bool,
    ) -> Self {
        let list = members && metadata.is_directory();
        let left = if list { vec![Directory::Waiting(path.clone())] } else { Vec::new() };
        Self { asker, describer, deep, multistatus: None, target: Some((path, metadata)), left }
    }

    /// The next piece, and what makes the ones after it; `None` after the last. Blocks.
    pub(crate) fn piece(mut self) -> Result<(Vec<u8>, Option<Self>), StorageError> {
        let mut out = String::with_capacity(PIECE_BYTES + (4 << 10));
        if let Some((path, metadata)) = self.target.take() {
            let mut multistatus = Multistatus::begin(&mut out);
            multistatus.response(&mut out, &self.describer.describe(&path, &metadata, || true)?);
            self.multistatus = Some(multistatus);
        }
        while out.len() < PIECE_BYTES {
            match self.left.pop() {
                None => {
                    if let Some(multistatus) = self.multistatus.take() {
                        multistatus.end(&mut out);
                    }
                    return Ok((out.into_bytes(), None));
                }
                Some(Directory::Waiting(path)) => match self.asker.area.tree.list(&path) {
                    Ok(listing) => {
                        let entries = Vec::new().into_iter();
                        self.left.push(Directory::Begun(Begun { path, listing, entries }));
                    }
                    // Gone since, or not readable for this process: it was told of, and that is all there is to tell.
                    Err(StorageError::NotFound | StorageError::Refused | StorageError::NotDirectory) => {}
                    Err(error) => return Err(error),
                },
                Some(Directory::Begun(directory)) => self.members(directory, &mut out)?,
            }
        }
        Ok((out.into_bytes(), Some(self)))
    }

    /// Tells of members until the piece is complete.
    fn members(&mut self, mut directory: Begun, out: &mut String) -> Result<(), StorageError> {
        if directory.entries.len() == 0 {
            directory.entries = directory.listing.next_batch(BATCH)?.into_iter();
            if directory.entries.len() == 0 {
                return Ok(());
            }
        }
        let mut below = Vec::new();
        while out.len() < PIECE_BYTES
            && let Some(entry) = directory.entries.next()
        {
            let member = directory.path.join(&entry.name).map_err(|_| StorageError::Refused)?;
            let is_directory = entry.metadata.is_directory();
            let full = self.describer.prefix.append(&member);
            // What may not be seen is not there.
            if !self.asker.may(&Action::Stat, &full, is_directory) {
                continue;
            }
            if let Some(multistatus) = &mut self.multistatus {
                let may_have_dead = || directory.listing.may_have_properties(&entry);
                let response = self.describer.describe(&member, &entry.metadata, may_have_dead)?;
                multistatus.response(out, &response);
            }
            // A link may lead to where it is.
            if self.deep && is_directory && !entry.link && self.asker.may(&Action::List, &full, true) {
                below.push(Directory::Waiting(member));
            }
        }
        self.left.push(Directory::Begun(directory));
        self.left.extend(below);
        Ok(())
    }
}
