use super::{Condition, IfHeader, Test};
use crate::etag::EntityTag;
use crate::header::LockToken;
use crate::path::DavPath;

/// What the caller knows about its resources.
pub trait StateView {
    /// The entity tag of the resource; `None` if it has none or does not exist.
    fn etag(&self, path: &DavPath) -> Option<EntityTag>;

    /// Whether the lock with this token covers the resource, directly or from above (RFC 4918 section 10.4.4).
    fn is_locked_by(&self, path: &DavPath, token: &LockToken) -> bool;

    /// The resource that a tag (an absolute URI or a path) names; `None` if it is not one of ours.
    fn resolve(&self, tag: &[u8]) -> Option<DavPath>;
}

impl IfHeader {
    /// Whether at least one list is true (RFC 4918 section 10.4.3); if not, the request fails with 412. Lists without a tag
    /// are about `target`. A resource that does not exist, or is not ours, has no state: only what is negated holds of it.
    /// Entity tags are compared strongly.
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
