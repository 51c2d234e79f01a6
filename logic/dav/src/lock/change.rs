//! The changes that a request makes, as far as locks protect resources from them.

use crate::method::{Kind, Method};
use crate::path::DavPath;

/// An effect of a request on a resource that a lock can protect it from (RFC 4918 sections 7.1 and 7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Changes the content or the properties: needs the resource's own lock.
    Modify,
    /// Adds the resource to its collection: needs the lock of the collection and its own.
    Create,
    /// Removes or replaces the resource and everything below it: needs the lock of its collection, its own,
    /// and those of everything below.
    Remove,
}

/// Returns the changes that a request makes, for [`super::LockTable::missing`]. `target` and `destination`
/// are paths with the kind of the resource that exists there. Returns nothing for methods that change nothing
/// or do not apply to such a resource.
///
/// COPY and MOVE remove an overwritten destination (RFC 4918 sections 9.8.4 and 9.9.3). MOVE removes its
/// source (section 9.9). LOCK on an unmapped URL creates a file (section 7.3).
pub fn changes(
    method: Method,
    target: (&DavPath, Kind),
    destination: Option<(&DavPath, Kind)>,
) -> Vec<(DavPath, Change)> {
    let (path, kind) = target;
    let of_target = match (method, kind) {
        (Method::Put | Method::Mkcol | Method::Lock, Kind::Missing) => Some(Change::Create),
        (Method::Put | Method::Patch, Kind::File) => Some(Change::Modify),
        (Method::Proppatch, Kind::File | Kind::Collection) => Some(Change::Modify),
        (Method::Delete | Method::Move, Kind::File | Kind::Collection) => Some(Change::Remove),
        _ => None,
    };
    let of_destination = match (method, destination) {
        (Method::Copy | Method::Move, Some((path, Kind::Missing))) => Some((path, Change::Create)),
        (Method::Copy | Method::Move, Some((path, _))) => Some((path, Change::Remove)),
        _ => None,
    };
    let of_target = of_target.map(|change| (path.clone(), change));
    of_target.into_iter().chain(of_destination.map(|(path, change)| (path.clone(), change))).collect()
}
