//! Evaluation of the If header against the state of resources.

use super::{Condition, IfHeader, Test};
use crate::etag::EntityTag;
use crate::header::LockToken;
use crate::path::DavPath;

/// The state of the caller's resources.
pub trait StateView {
    /// Returns the entity tag of the resource; `None` if it has none or does not exist.
    fn etag(&self, path: &DavPath) -> Option<EntityTag>;

    /// Returns true if the lock with this token covers the resource, directly or from a parent (RFC 4918
    /// section 10.4.4).
    fn is_locked_by(&self, path: &DavPath, token: &LockToken) -> bool;

    /// Resolves a resource tag (an absolute URI or a path); `None` if the resource is not of this service.
    fn resolve(&self, tag: &[u8]) -> Option<DavPath>;
}

impl IfHeader {
    /// Returns true if at least one list is true (RFC 4918 section 10.4.3); otherwise the request fails with
    /// 412. Lists without a resource tag apply to `target`. For a missing or foreign resource, only negated
    /// conditions are true. Entity tags are compared strongly.
    pub fn holds(&self, target: &DavPath, view: &impl StateView) -> bool {
        self.groups.iter().any(|group| {
            let path = match &group.tag {
                None => Some(target.clone()),
                Some(tag) => view.resolve(tag),
            };
            let holds = |condition: &Condition| condition.holds(path.as_ref(), view);
            group.lists.iter().any(|list| list.iter().all(holds))
        })
    }
}

impl Condition {
    fn holds(&self, path: Option<&DavPath>, view: &impl StateView) -> bool {
        let matches = path.is_some_and(|path| match &self.test {
            Test::Token(token) => view.is_locked_by(path, token),
            Test::Etag(asked) => view.etag(path).is_some_and(|etag| etag.strong_eq(asked)),
        });
        matches != self.negated
    }
}
