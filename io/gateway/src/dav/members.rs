//! Checks permissions for all members of a tree.

use std::sync::atomic::{AtomicBool, Ordering};

use weir_access::Action;
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::xml::Multistatus;
use weir_storage::StorageError;

use super::{Asker, Reply};
use crate::place::Place;

/// Maximum number of members in a response. The first one already shows that the request was not carried out.
const NAMED_MAX: usize = 1_000;

/// Members of a tree for which a request is denied.
#[derive(Debug)]
pub(crate) struct Denied {
    /// True if any member is denied.
    any: bool,
    /// Denied members that the client may know of: path of the server, and true for a directory.
    named: Vec<(DavPath, bool)>,
    /// Path of the tree's root.
    root: DavPath,
}

/// The resource at a place and everything below it.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    pub(crate) asker: &'a Asker,
    pub(crate) place: &'a Place,
    /// Set when the client has left.
    pub(crate) cancelled: &'a AtomicBool,
}

impl Members<'_> {
    /// Checks everything below the place, but not the resource itself. A request changes nothing until all
    /// members are allowed, because a half-done tree is worse than none. Blocks.
    pub(crate) fn denied(&self, may: &mut dyn FnMut(&DavPath, bool) -> bool) -> Result<Denied, StorageError> {
        let mut denied = Denied { any: false, named: Vec::new(), root: self.place.full.clone() };
        self.asker
            .area
            .tree
            .survey(&self.place.path, &mut |path, directory| self.judge(&mut denied, path, directory, may))?;
        Ok(denied)
    }

    /// Checks that everything below the place may be overwritten, by the rules and by the kernel. Blocks.
    pub(crate) fn not_changeable(&self) -> Result<Denied, StorageError> {
        let mut denied = Denied { any: false, named: Vec::new(), root: self.place.full.clone() };
        let tree = &self.asker.area.tree;
        tree.survey_changeable(&self.place.path, &mut |path, directory, changeable| {
            self.judge(&mut denied, path, directory, &mut |full, directory| {
                changeable && self.asker.may(&Action::Overwrite, full, directory)
            })
        })?;
        Ok(denied)
    }

    fn judge(
        &self,
        denied: &mut Denied,
        path: &DavPath,
        directory: bool,
        may: &mut dyn FnMut(&DavPath, bool) -> bool,
    ) -> Result<(), StorageError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        let full = self.place.prefix().append(path);
        if denied.named.len() < NAMED_MAX && !may(&full, directory) {
            denied.any = true;
            if self.asker.may(&Action::Stat, &full, directory) {
                denied.named.push((full, directory));
            }
        }
        Ok(())
    }
}

impl Denied {
    /// Returns true if nothing is denied.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// Builds a 207 that names the denied members. Names the root if the client may know of none of them.
    pub(crate) fn reply(mut self) -> Reply {
        if self.named.is_empty() {
            self.named.push((self.root, true));
        }
        failures(self.named.into_iter().map(|(path, directory)| (path, directory, Outcome::Forbidden)))
    }

    /// Builds the same for a lock of the tree, which depends on all members (RFC 4918 section 9.10.9).
    pub(crate) fn reply_to_lock(self) -> Reply {
        let root = (self.root, true, Outcome::FailedDependency);
        let named = self.named.into_iter().map(|(path, directory)| (path, directory, Outcome::Forbidden));
        failures(named.chain([root]))
    }
}

/// Builds a 207 with an outcome for each resource (RFC 4918 section 13). The items are: path of the server,
/// true for a collection, outcome.
pub(crate) fn failures(list: impl IntoIterator<Item = (DavPath, bool, Outcome)>) -> Reply {
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    for (path, collection, outcome) in list {
        multistatus.status(&mut out, &path, collection, outcome, None);
    }
    multistatus.end(&mut out);
    Reply::xml(Outcome::MultiStatus, out)
}
