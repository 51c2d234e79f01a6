//! A request to a storage area that is being carried out.

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

/// A request that is being carried out.
pub(crate) struct Call {
    pub(crate) area: Arc<Area>,
    pub(crate) request: Request,
    pub(crate) body: Body,
    /// Who asks.
    pub(crate) identity: Identity,
    /// The threads that wait for files, as whom they do it for who asks.
    pub(crate) disk: Disk,
    /// For what.
    pub(crate) place: Place,
    /// When it came, in seconds since 1970.
    pub(crate) now_s: u64,
    /// What else rules may ask about it.
    pub(crate) circumstances: Circumstances,
}

impl Call {
    /// Whether the client may do this there.
    pub(crate) fn may(&self, action: &Action, place: &Place) -> Result<bool, Refusal> {
        let path = place.access_path()?;
        let circumstances = &self.circumstances;
        let request = rule::Request { identity: &self.identity, action, path: &path, circumstances };
        Ok(rule::decide(&self.area.rules, request).allowed())
    }

    /// Goes on only if the client may do this there.
    pub(crate) fn permit(&self, action: &Action, place: &Place) -> Result<(), Refusal> {
        match self.may(action, place)? {
            true => Ok(()),
            false => Err(denied_at(&self.identity, action, &place.access_path()?, &self.area.schemes)),
        }
    }

    /// Does something with the files on a thread that may wait for them.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Arc<Tree>) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let tree = Arc::clone(&self.area.tree);
        self.disk.run(move || job(&tree)).await
    }

    /// What is at a path; without a thread if the kernel knows.
    pub(crate) async fn metadata(&self, path: &DavPath) -> Result<Metadata, StorageError> {
        match self.area.tree.metadata_cached(path) {
            Err(StorageError::WouldBlock) => {
                let path = path.clone();
                self.on_disk(move |tree| tree.metadata(&path)).await
            }
            known => known,
        }
    }

    /// What is at a path, or nothing.
    pub(crate) async fn metadata_if(&self, path: &DavPath) -> Result<Option<Metadata>, StorageError> {
        match self.metadata(path).await {
            Ok(metadata) => Ok(Some(metadata)),
            Err(StorageError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What Cedar policies may ask about a request; nothing else does.
pub(crate) fn circumstances(area: &Area, request: &Request, now_s: u64) -> Circumstances {
    if area.plan.access.cedar.is_empty() {
        return Circumstances::default();
    }
    let method = String::from_utf8_lossy(request.method()).into_owned();
    Circumstances { method, now_unix_secs: now_s, client: request.client }
}
