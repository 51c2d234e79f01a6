//! Walks a tree for PROPFIND and writes the response in pieces.

use weir_access::Action;
use weir_dav::path::DavPath;
use weir_dav::xml::Multistatus;
use weir_storage::{Entry, Listing, Metadata, StorageError};

use super::{Asker, Describer};

/// Bytes after which a piece is complete. Larger pieces would need more memory, smaller ones more steps.
const PIECE_BYTES: usize = 48 << 10;

/// Number of members that are read at a time.
const BATCH: usize = 64;

/// A PROPFIND response in progress. A piece exceeds [`PIECE_BYTES`] by at most the description of one member.
#[derive(Debug)]
pub(crate) struct Walk {
    asker: Asker,
    describer: Describer,
    /// Set to descend below the members.
    deep: bool,
    multistatus: Option<Multistatus>,
    /// The target, until it has been described.
    target: Option<(DavPath, Metadata)>,
    /// Directories that are left to list, the next one last.
    left: Vec<Directory>,
}

#[derive(Debug)]
enum Directory {
    Begun(Begun),
    /// A directory to open when its turn comes, so that only nested directories are open at once.
    Waiting(DavPath),
}

#[derive(Debug)]
struct Begun {
    path: DavPath,
    listing: Listing,
    /// Members that were read but not yet described.
    entries: std::vec::IntoIter<Entry>,
}

impl Walk {
    /// Starts with a resource; includes its members if `members` is set.
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

    /// Writes the next piece. Returns it with the rest of the walk, or with `None` after the last piece.
    /// Blocks.
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
                    // The directory was removed or is not readable by this process. It has been described,
                    // but has no visible members.
                    Err(StorageError::NotFound | StorageError::Refused | StorageError::NotDirectory) => {}
                    Err(error) => return Err(error),
                },
                Some(Directory::Begun(directory)) => self.members(directory, &mut out)?,
            }
        }
        Ok((out.into_bytes(), Some(self)))
    }

    /// Describes members until the piece is complete.
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
            // Members that the client may not see are omitted.
            if !self.asker.may(&Action::Stat, &full, is_directory) {
                continue;
            }
            if let Some(multistatus) = &mut self.multistatus {
                let may_have_dead = || directory.listing.may_have_properties(&entry);
                let response = self.describer.describe(&member, &entry.metadata, may_have_dead)?;
                multistatus.response(out, &response);
            }
            // Do not follow links, which may lead to a directory above.
            if self.deep && is_directory && !entry.link && self.asker.may(&Action::List, &full, true) {
                below.push(Directory::Waiting(member));
            }
        }
        self.left.push(Directory::Begun(directory));
        self.left.extend(below);
        Ok(())
    }
}
