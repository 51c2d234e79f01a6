//! Permission checks on disk threads.

use std::sync::Arc;

use weir_access::Action;
use weir_access::identity::Identity;
use weir_access::rule::{Circumstances, Request, decide};
use weir_dav::path::DavPath;
use weir_storage::Disk;

use crate::area::Area;
use crate::area::access_point::access_path;
use crate::call::Call;
use crate::identity::denied_at;
use crate::refusal::Refusal;

/// The client of a request, in a form that disk threads can use. They check permissions for every member of a
/// tree.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) area: Arc<Area>,
    pub(crate) identity: Arc<Identity>,
    /// Disk threads that act for this client.
    pub(crate) disk: Disk,
    /// Further facts that access rules may check.
    pub(crate) circumstances: Circumstances,
}

impl Asker {
    /// Returns the client of a request.
    pub(crate) fn of(call: &Call) -> Self {
        let (disk, circumstances) = (call.disk.clone(), call.circumstances.clone());
        let identity = Arc::new(call.identity.clone());
        Self { area: Arc::clone(&call.area), identity, disk, circumstances }
    }

    /// Returns true if the rules permit the action at a path of the server.
    pub(crate) fn may(&self, action: &Action, full: &DavPath, directory: bool) -> bool {
        let Ok(path) = access_path(full, directory) else { return false };
        let circumstances = &self.circumstances;
        let request = Request { identity: &self.identity, action, path: &path, circumstances };
        decide(&self.area.rules, request).allowed()
    }

    /// Returns true if the rules permit a rename to another path of the server.
    pub(crate) fn may_rename(&self, from: &DavPath, to: &DavPath, directory: bool) -> bool {
        let Ok(to) = access_path(to, directory) else { return false };
        self.may(&Action::Rename { to }, from, directory)
    }

    /// Checks the same as [`Self::may`], and returns the refusal for the client if it is denied.
    pub(crate) fn require(&self, action: &Action, full: &DavPath, directory: bool) -> Result<(), Refusal> {
        if self.may(action, full, directory) {
            return Ok(());
        }
        let path = access_path(full, directory)?;
        Err(denied_at(&self.identity, action, &path, &self.area.schemes))
    }

    /// Returns the client's name as a lock holder (RFC 4918 section 6.4). All anonymous clients share one.
    pub(crate) fn principal(&self) -> String {
        principal(&self.identity)
    }
}

fn principal(identity: &Identity) -> String {
    match identity {
        Identity::Anonymous => "anonymous".to_owned(),
        Identity::Token(token) => format!("token {} {}", token.issuer, token.subject),
        Identity::X509(subject) => format!("certificate {}", subject.subject),
        Identity::Basic(user) => format!("user {}", user.name),
        Identity::Delegated(delegation) => principal(&delegation.holder),
    }
}
