use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::xml::Multistatus;
use weir_storage::StorageError;

use super::Reply;
use crate::area::Area;
use crate::place::Place;

/// How many members an answer names; that the request was not carried out is said by the first one.
const NAMED_MAX: usize = 1_000;

/// The members of a tree that a request may not do something to: paths of the server, and whether they are directories.
#[derive(Debug, Default)]
pub(crate) struct Denied(Vec<(DavPath, bool)>);

/// The resource at a place and all that is below it.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    pub(crate) area: &'a Area,
    pub(crate) place: &'a Place,
}

impl Members<'_> {
    /// Asks about everything below the place, not about the resource itself. Nothing is changed before all of them are
    /// allowed: half of a tree is worse than none. Blocks.
    pub(crate) fn denied(&self, may: &mut dyn FnMut(&DavPath, bool) -> bool) -> Result<Denied, StorageError> {
        let prefix = self.place.prefix();
        let mut denied = Denied::default();
        self.area.tree.survey(&self.place.path, &mut |path, directory| {
            let full = prefix.append(path);
            if denied.0.len() < NAMED_MAX && !may(&full, directory) {
                denied.0.push((full, directory));
            }
            Ok(())
        })?;
        Ok(denied)
    }
}

impl Denied {
    /// Whether everything is allowed.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A 207 that names them.
    pub(crate) fn reply(self) -> Reply {
        failures(self.0.into_iter().map(|(path, directory)| (path, directory, Outcome::Forbidden)))
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
