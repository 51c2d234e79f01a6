//! The state of a WebDAV request that disk threads work with, and the lock checks around its changes.

use std::sync::Arc;

use weir_access::Action;
use weir_dav::lock::LockTable;
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_storage::{Gate, LockStore, Metadata, Moving, Step, StorageError, Tree};

use super::{Asker, Terms};
use crate::call::Call;
use crate::place::Place;
use crate::refusal::Refusal;
use crate::slow_jobs::watched;

/// Everything that a method needs from its request after the body has been read. It can be sent to a disk
/// thread.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) asker: Asker,
    pub(crate) place: Place,
    pub(crate) terms: Terms,
    /// Method, for log messages.
    method: Arc<str>,
}

impl Act {
    /// Creates the act of a request.
    ///
    /// # Errors
    /// If the request's If header is malformed.
    pub(crate) fn of(call: &Call) -> Result<Self, Refusal> {
        let asker = Asker::of(call);
        let terms = Terms::read(&call.request, asker.principal())?;
        let method = String::from_utf8_lossy(call.request.method()).into();
        Ok(Self { asker, place: call.place.clone(), terms, method })
    }

    pub(crate) fn tree(&self) -> &Arc<Tree> {
        &self.asker.area.tree
    }

    pub(crate) fn locks(&self) -> &LockStore {
        &self.asker.area.locks
    }

    /// Runs a job on a disk thread.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let act = self.clone();
        self.asker.disk.run(move || Ok(job(&act))).await?
    }

    /// Runs a job that continues an admitted one: it is queued even if the disk is busy.
    pub(crate) async fn run_on<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let act = self.clone();
        self.asker.disk.run_on(move || Ok(job(&act))).await?
    }

    /// Runs a job that may take long.
    pub(crate) async fn run_long<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let act = self.clone();
        self.watched(self.asker.disk.run_long(move || Ok(job(&act)))).await?
    }

    /// Runs a job that may take long and continues an admitted one.
    pub(crate) async fn run_long_on<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let act = self.clone();
        self.watched(self.asker.disk.run_long_on(move || Ok(job(&act)))).await?
    }

    async fn watched<T>(&self, job: impl Future<Output = T>) -> T {
        let what = format!("{} {}", self.method, self.place.full.href(false));
        watched(self.asker.area.plan.name.as_str(), what, job).await
    }

    /// Returns the metadata of the target; `None` if it does not exist. Blocks.
    pub(crate) fn look(&self) -> Result<Option<Metadata>, StorageError> {
        look(self.tree(), &self.place.path)
    }

    /// Refuses a method that resources of this kind do not support.
    pub(crate) fn allow(&self, method: Method, kind: Kind) -> Result<(), Refusal> {
        match kind {
            _ if self.asker.area.offer().allows(method, kind) => Ok(()),
            Kind::Missing if !self.asker.area.plan.read_only => Err(Outcome::NotFound.into()),
            kind => Err(Refusal::NotAllowed(kind)),
        }
    }

    /// Refuses an action on the target that the client is not permitted to do.
    pub(crate) fn require(&self, action: &Action, directory: bool) -> Result<(), Refusal> {
        self.asker.require(action, &self.place.full, directory || self.place.trailing_slash)
    }

    /// Evaluates the If header of a request that changes nothing. A client without the right to stat the
    /// target learns nothing from it. Blocks.
    pub(crate) fn judge_if(&self) -> Result<(), Refusal> {
        self.require(&Action::Stat, false)?;
        let locks = self.locks().view()?;
        self.terms.check(&self.asker.area, &locks, &self.place, &[])
    }

    /// Makes a change whose visible step goes through a gate. The gate does the step if locks and conditions
    /// permit it at that moment; no lock can be taken meanwhile. The inner error means that they permit it
    /// and the change failed. Blocks.
    pub(crate) fn through<T>(
        &self,
        changes: &[(DavPath, weir_dav::lock::Change)],
        change: impl FnOnce(&mut Gate<'_>) -> Result<T, StorageError>,
    ) -> Result<Result<T, StorageError>, Refusal> {
        let mut refusal = None;
        let done = change(&mut |step| {
            self.locked(changes, |_| Ok(step())).unwrap_or_else(|refused| {
                refusal = Some(refused);
                Err(StorageError::Cancelled)
            })
        });
        refusal.map_or(Ok(done), Err)
    }

    /// Checks locks and conditions and then runs a short job; no lock can be taken meanwhile. `act` must not
    /// begin a change of the tree: a change takes its turn before it takes the guard of the locks. Blocks.
    pub(crate) fn locked<T>(
        &self,
        changes: &[(DavPath, weir_dav::lock::Change)],
        act: impl FnOnce(&LockTable) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.locked_while(None, changes, act)
    }

    /// Does the same while a resource of the area is invisible because it moves to another file system.
    /// Blocks.
    fn locked_while<T>(
        &self,
        moving: Option<&Moving<'_>>,
        changes: &[(DavPath, weir_dav::lock::Change)],
        act: impl FnOnce(&LockTable) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.locks().hold(|table| {
            self.terms.check_while(moving, &self.asker.area, table, &self.place, changes)?;
            act(table)
        })?
    }
}

/// Gate that checks locks and conditions again before the visible step of a change. They were checked when
/// the change began, but the steps since then may have taken long.
pub(crate) struct Again<'a> {
    act: &'a Act,
    changes: Vec<(DavPath, weir_dav::lock::Change)>,
    /// Returns true if the target is still the resource that the request means.
    still_meant: &'a dyn Fn(Option<&Metadata>) -> bool,
    refusal: Option<Refusal>,
}

impl<'a> Again<'a> {
    pub(crate) fn new(
        act: &'a Act,
        changes: Vec<(DavPath, weir_dav::lock::Change)>,
        still_meant: &'a dyn Fn(Option<&Metadata>) -> bool,
    ) -> Self {
        Self { act, changes, still_meant, refusal: None }
    }

    /// Does the step if the checks pass. `moving` is the target while it is invisible on its way to another
    /// file system; then that is checked.
    pub(crate) fn pass(
        &mut self,
        step: &mut Step<'_>,
        moving: Option<&Moving<'_>>,
    ) -> Result<(), StorageError> {
        let (act, still_meant) = (self.act, self.still_meant);
        let done = act.locked_while(moving, &self.changes, |_| {
            let now = match moving {
                Some(moving) => Some(*moving.source()),
                None => act.look()?,
            };
            if !still_meant(now.as_ref()) {
                return Err(Outcome::PreconditionFailed.into());
            }
            Ok(step())
        });
        done.unwrap_or_else(|refusal| {
            self.refusal = Some(refusal);
            Err(StorageError::Cancelled)
        })
    }

    /// Returns the refusal if the gate stayed closed.
    pub(crate) fn refusal(self) -> Result<(), Refusal> {
        self.refusal.map_or(Ok(()), Err)
    }
}

/// Returns the metadata of a path; `None` if it does not exist.
pub(crate) fn look(tree: &Tree, path: &DavPath) -> Result<Option<Metadata>, StorageError> {
    match tree.metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(StorageError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Converts metadata to the WebDAV kind of resource.
pub(crate) fn kind(metadata: Option<&Metadata>) -> Kind {
    metadata.map_or(Kind::Missing, Metadata::dav_kind)
}
