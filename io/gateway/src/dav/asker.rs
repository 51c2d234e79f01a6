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

/// Who asks, in a form that threads which wait for the disk can take along: they ask for every member of a tree.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) area: Arc<Area>,
    pub(crate) identity: Arc<Identity>,
    /// The threads that wait for files, as whom they do it for them.
    pub(crate) disk: Disk,
    /// What else rules may ask about their request.
    pub(crate) circumstances: Circumstances,
}

impl Asker {
    /// Of a request.
    pub(crate) fn of(call: &Call) -> Self {
        let (disk, circumstances) = (call.disk.clone(), call.circumstances.clone());
        let identity = Arc::new(call.identity.clone());
        Self { area: Arc::clone(&call.area), identity, disk, circumstances }
    }

    /// Whether the rules let them do this at a path of the server.
    pub(crate) fn may(&self, action: &Action, full: &DavPath, directory: bool) -> bool {
        let Ok(path) = access_path(full, directory) else { return false };
        let circumstances = &self.circumstances;
        let request = Request { identity: &self.identity, action, path: &path, circumstances };
        decide(&self.area.rules, request).allowed()
    }

    /// The same for moving something to another path of the server.
    pub(crate) fn may_rename(&self, from: &DavPath, to: &DavPath, directory: bool) -> bool {
        let Ok(to) = access_path(to, directory) else { return false };
        self.may(&Action::Rename { to }, from, directory)
    }

    /// The same, with the refusal that the client gets if they may not.
    pub(crate) fn require(&self, action: &Action, full: &DavPath, directory: bool) -> Result<(), Refusal> {
        if self.may(action, full, directory) {
            return Ok(());
        }
        let path = access_path(full, directory)?;
        Err(denied_at(&self.identity, action, &path, &self.area.schemes))
    }

    /// Who they are as the holder of a lock (RFC 4918 section 6.4). Without a name, all are one.
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
