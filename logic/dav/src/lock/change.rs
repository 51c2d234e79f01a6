use crate::method::{Kind, Method};
use crate::path::DavPath;

/// What a request does to a resource, as far as locks care (RFC 4918 sections 7.1 and 7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Its content or its properties: needs its own lock.
    Modify,
    /// It becomes a member of its collection: needs the lock of the collection, and its own.
    Create,
    /// It and all below it go, or make room for something else: needs the lock of its collection, its own, and those of
    /// everything below.
    Remove,
}

/// What a request changes, for [`super::LockTable::missing`]. `target` and `destination`: where, and what is there now.
/// Nothing for methods that change nothing, or that cannot be carried out on such a resource.
///
/// COPY and MOVE remove what they overwrite (RFC 4918 sections 9.8.4 and 9.9.3), MOVE removes its source (section 9.9),
/// LOCK creates a file where there is nothing (section 7.3).
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
