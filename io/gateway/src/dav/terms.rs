//! Conditions under which a request may be carried out: its If header, and the locks it may pass.

use weir_dav::etag::EntityTag;
use weir_dav::header::{Destination, LockToken, OwnNames};
use weir_dav::if_header::{IfHeader, StateView};
use weir_dav::lock::{Change, LockTable, Submitted};
use weir_dav::outcome::Outcome;
use weir_dav::path::{DavPath, PathLimits};
use weir_dav::xml::Condition;
use weir_net::service::Request;
use weir_storage::Moving;

use crate::area::Area;
use crate::clock::unix_now_s;
use crate::place::Place;
use crate::refusal::Refusal;

/// The If header and lock holder of one request.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    if_header: Option<IfHeader>,
    own: OwnNames,
    principal: String,
}

impl Terms {
    /// Parses the request's headers.
    pub(crate) fn read(request: &Request, principal: String) -> Result<Self, Refusal> {
        let if_header = match request.list("If") {
            Some(text) => Some(IfHeader::parse(&text).map_err(|_| Outcome::BadHeader)?),
            None => None,
        };
        Ok(Self { if_header, own: own_names(request), principal })
    }

    /// Returns the token of the If header if it has exactly one, to refresh that lock.
    pub(crate) fn single_token(&self) -> Option<&LockToken> {
        self.if_header.as_ref().and_then(IfHeader::single_token)
    }

    /// Returns the client's name as a lock holder.
    pub(crate) fn principal(&self) -> &str {
        &self.principal
    }

    /// Returns true if there is an If header.
    pub(crate) fn has_if(&self) -> bool {
        self.if_header.is_some()
    }

    /// Refuses a request whose If header does not hold, or that would change a resource locked by another
    /// client. Blocks, because it looks at files.
    pub(crate) fn check(
        &self,
        area: &Area,
        locks: &LockTable,
        target: &Place,
        changes: &[(DavPath, Change)],
    ) -> Result<(), Refusal> {
        self.check_while(None, area, locks, target, changes)
    }

    /// Does the same while a resource of the area is invisible because it moves to another file system. This
    /// request still sees it at its old path.
    pub(crate) fn check_while(
        &self,
        moving: Option<&Moving<'_>>,
        area: &Area,
        locks: &LockTable,
        target: &Place,
        changes: &[(DavPath, Change)],
    ) -> Result<(), Refusal> {
        let view = View { area, moving, locks, own: &self.own, now_s: unix_now_s() };
        if let Some(if_header) = &self.if_header
            && !if_header.holds(&target.path, &view)
        {
            return Err(Outcome::IfFailed.into());
        }
        let tokens: Vec<&LockToken> = self.if_header.iter().flat_map(IfHeader::submitted_tokens).collect();
        let submitted = Submitted { tokens: &tokens, principal: &self.principal };
        let mut missing: Vec<_> = changes
            .iter()
            .flat_map(|(path, change)| locks.missing(path, *change, submitted, view.now_s))
            .collect();
        missing.sort();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        let prefix = target.prefix();
        let hrefs = missing.iter().map(|(root, collection)| prefix.append(root).href(*collection));
        Err(Refusal::Condition(Outcome::Locked, Condition::LockTokenSubmitted(hrefs.collect())))
    }
}

/// Returns the names by which this client may refer to this service.
pub(crate) fn own_names(request: &Request) -> OwnNames {
    let host = request.host().and_then(|host| std::str::from_utf8(host).ok());
    let own = OwnNames::default();
    host.map_or(own.clone(), |host| own.and_host(host))
}

/// State that If headers are evaluated against.
struct View<'a> {
    area: &'a Area,
    moving: Option<&'a Moving<'a>>,
    locks: &'a LockTable,
    own: &'a OwnNames,
    now_s: u64,
}

impl StateView for View<'_> {
    fn etag(&self, path: &DavPath) -> Option<EntityTag> {
        let moved = self.moving.and_then(|moving| moving.metadata(path));
        let found = moved.unwrap_or_else(|| self.area.tree.metadata(path));
        let metadata = found.ok().filter(|metadata| !metadata.is_directory())?;
        EntityTag::strong(&metadata.version())
    }

    fn is_locked_by(&self, path: &DavPath, token: &LockToken) -> bool {
        self.locks.is_locked_by(path, token, self.now_s)
    }

    fn resolve(&self, tag: &[u8]) -> Option<DavPath> {
        match Destination::parse(tag, self.own, &PathLimits::default()).ok()? {
            Destination::Own(read) => {
                Place::at(self.area, read.path, read.trailing_slash).ok().map(|place| place.path)
            }
            Destination::Elsewhere(_) => None,
        }
    }
}
