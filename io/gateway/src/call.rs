use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_access::Action;
use weir_access::identity::Identity;
use weir_access::rule::{self, Circumstances};
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_net::service::{Answer, Body, Request};
use weir_storage::{Disk, Metadata, StorageError, Tree};

use crate::area::Area;
use crate::forgery::is_forged;
use crate::identity::{Identifier, denied, denied_at};
use crate::method;
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
    /// Answers a request, whatever it is.
    pub(crate) async fn answer(
        area: Arc<Area>,
        identifier: Arc<Identifier>,
        request: Request,
        body: Body,
    ) -> Answer {
        let now_s = unix_now_s();
        let (method, place, identity) = match begin(&area, &identifier, &request, now_s).await {
            Ok(begun) => begun,
            Err(refusal) => return refusal.answer(&area, &request),
        };
        let Some(place) = place else { return method::of_server(&area) };
        let Some(disk) = area.disk_for(&identity) else {
            // Whoever it is, files are not theirs to ask for.
            return denied(&identity, &Action::Stat, &area.schemes).answer(&area, &request);
        };
        let circumstances = circumstances(&area, &request, now_s);
        let mut call = Self { area, request, body, identity, disk, place, now_s, circumstances };
        let carried_out = match (method::upload_of(&call.request), method) {
            (Some(id), _) => Box::pin(method::answer_upload(&mut call, id)).await,
            (None, Some(method)) => method::carry_out(&mut call, method).await,
            (None, None) => Err(Refusal::NotAllowed(Kind::File)),
        };
        match carried_out {
            Ok(answer) => answer,
            Err(refusal) => refusal.answer(&call.area, &call.request),
        }
    }

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

/// What a request is about, and who asks. Without a place it is about the server as a whole.
async fn begin(
    area: &Area,
    identifier: &Identifier,
    request: &Request,
    now_s: u64,
) -> Result<(Option<Method>, Option<Place>, Identity), Refusal> {
    let method = match (Method::parse(request.method()), request.method()) {
        (Some(method), _) => Some(method),
        (None, b"POST") => return Err(Refusal::NotAllowed(Kind::File)),
        (None, _) => return Err(Outcome::NotImplemented.into()),
    };
    if method == Some(Method::Options) && request.path() == b"*" {
        return Ok((method, None, Identity::Anonymous));
    }
    let place = Place::of(area, request.path())?;
    let identity = identifier.identify(area, request, now_s).await?;
    if is_forged(request, &identity) {
        return Err(Outcome::Forbidden.into());
    }
    Ok((method, Some(place), identity))
}

/// What Cedar policies may ask about a request; nothing else does.
pub(crate) fn circumstances(area: &Area, request: &Request, now_s: u64) -> Circumstances {
    if area.plan.access.cedar.is_empty() {
        return Circumstances::default();
    }
    let method = String::from_utf8_lossy(request.method()).into_owned();
    Circumstances { method, now_unix_secs: now_s, client: request.client }
}

/// Seconds since 1970.
pub(crate) fn unix_now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_a_file_has_no_room_for_what_other_methods_need() {
        fn bytes<T, F: Future>(_: impl FnOnce(T) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = bytes(|(area, identifier, request, body)| Call::answer(area, identifier, request, body));
        // It is asked for, filled and given back for each request.
        assert!(bytes <= 3 * 1024, "{bytes}");
    }
}
