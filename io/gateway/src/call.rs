//! A request to a storage area while a method handler carries it out.

use std::sync::Arc;

use weir_access::Action;
use weir_access::identity::Identity;
use weir_access::rule::{self, Circumstances};
use weir_dav::path::DavPath;
use weir_net::service::{Body, Request};
use weir_storage::{Disk, Metadata, StorageError, Tree};

use crate::area::Area;
use crate::identity::denied_at;
use crate::place::Place;
use crate::refusal::Refusal;

/// One request, its client's identity and its target.
pub(crate) struct Call {
    pub(crate) area: Arc<Area>,
    pub(crate) request: Request,
    pub(crate) body: Body,
    /// Identity of the client.
    pub(crate) identity: Identity,
    /// Threads that run file operations, with the permissions of the operating-system user for this identity.
    pub(crate) disk: Disk,
    /// Target of the request.
    pub(crate) place: Place,
    /// Arrival time, in seconds since 1970.
    pub(crate) now_s: u64,
    /// Further facts that access rules may check.
    pub(crate) circumstances: Circumstances,
}

impl Call {
    /// Returns true if the access rules permit `action` at `place`.
    pub(crate) fn may(&self, action: &Action, place: &Place) -> Result<bool, Refusal> {
        let path = place.access_path()?;
        let circumstances = &self.circumstances;
        let request = rule::Request { identity: &self.identity, action, path: &path, circumstances };
        Ok(rule::decide(&self.area.rules, request).allowed())
    }

    /// Succeeds only if the access rules permit `action` at `place`.
    pub(crate) fn permit(&self, action: &Action, place: &Place) -> Result<(), Refusal> {
        match self.may(action, place)? {
            true => Ok(()),
            false => Err(denied_at(&self.identity, action, &place.access_path()?, &self.area.schemes)),
        }
    }

    /// Runs a file operation on a thread that may block.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Arc<Tree>) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let tree = Arc::clone(&self.area.tree);
        self.disk.run(move || job(&tree)).await
    }

    /// Returns the metadata of `path`. Uses no thread if the kernel has it in its cache.
    pub(crate) async fn metadata(&self, path: &DavPath) -> Result<Metadata, StorageError> {
        match self.area.tree.metadata_cached(path) {
            Err(StorageError::WouldBlock) => {
                let path = path.clone();
                self.on_disk(move |tree| tree.metadata(&path)).await
            }
            known => known,
        }
    }

    /// Returns the metadata of `path`, or `None` if nothing exists there.
    pub(crate) async fn metadata_if(&self, path: &DavPath) -> Result<Option<Metadata>, StorageError> {
        match self.metadata(path).await {
            Ok(metadata) => Ok(Some(metadata)),
            Err(StorageError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Collects the facts that Cedar policies may check. Returns the default for areas without Cedar policies.
pub(crate) fn circumstances(area: &Area, request: &Request, now_s: u64) -> Circumstances {
    if area.plan.access.cedar.is_empty() {
        return Circumstances::default();
    }
    let method = String::from_utf8_lossy(request.method()).into_owned();
    Circumstances { method, now_unix_secs: now_s, client: request.client }
}
