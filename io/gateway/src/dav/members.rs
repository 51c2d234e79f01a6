use std::sync::atomic::{AtomicBool, Ordering};

use weir_access::Action;
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::xml::Multistatus;
use weir_storage::StorageError;

use super::{Asker, Reply};
use crate::place::Place;

/// How many members an answer names; that the request was not carried out is said by the first one.
const NAMED_MAX: usize = 1_000;

/// The members of a tree that a request may not do something to.
#[derive(Debug)]
pub(crate) struct Denied {
    /// There are some.
    any: bool,
    /// Those of which the client may know: paths of the server, and whether they are directories.
    named: Vec<(DavPath, bool)>,
    /// The tree itself.
    root: DavPath,
}

/// The resource at a place and all that is below it.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    pub(crate) asker: &'a Asker,
    pub(crate) place: &'a Place,
    /// Set when nobody waits for the answer any more.
    pub(crate) cancelled: &'a AtomicBool,
}

impl Members<'_> {
    /// Asks about everything below the place, not about the resource itself. Nothing is changed before all of them are
    /// allowed: half of a tree is worse than none. Blocks.
    pub(crate) fn denied(&self, may: &mut dyn FnMut(&DavPath, bool) -> bool) -> Result<Denied, StorageError> {
        let mut denied = Denied { any: false, named: Vec::new(), root: self.place.full.clone() };
        self.asker
            .area
            .tree
            .survey(&self.place.path, &mut |path, directory| self.judge(&mut denied, path, directory, may))?;
        Ok(denied)
    }

    /// Asks whether everything below the place may be overwritten, by the rules and by the kernel. Blocks.
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
    /// Whether everything is allowed.
    pub(crate) fn is_empty(&self) -> bool {
        !self.any
    }

    /// A 207 that names them; the tree itself, if the client may know of none of them.
    pub(crate) fn reply(mut self) -> Reply {
        if self.named.is_empty() {
            self.named.push((self.root, true));
        }
        failures(self.named.into_iter().map(|(path, directory)| (path, directory, Outcome::Forbidden)))
    }

    /// The same for a lock of the tree, which depends on all of them (RFC 4918 section 9.10.9).
    pub(crate) fn reply_to_lock(self) -> Reply {
        let root = (self.root, true, Outcome::FailedDependency);
        let named = self.named.into_iter().map(|(path, directory)| (path, directory, Outcome::Forbidden));
        failures(named.chain([root]))
    }
}

/// A 207 with what became of these resources (RFC 4918 section 13): path of the server, whether it is a collection, outcome.
pub(crate) fn failures(list: impl IntoIterator<Item = (DavPath, bool, Outcome)>) -> Reply {
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    for (path, collection, outcome) in list {
        multistatus.status(&mut out, &path, collection, outcome, None);
    }
    multistatus.end(&mut out);
    Reply::xml(Outcome::MultiStatus, out)
}
