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

/// All that a method needs of its request once the body has been read, in a form that a thread of the disk can take along.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    pub(crate) asker: Asker,
    pub(crate) place: Place,
    pub(crate) terms: Terms,
    /// Its method, for messages.
    method: Arc<str>,
}

impl Act {
    /// Of a request.
    ///
    /// # Errors
    /// Its If header cannot be read.
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

    /// Does a job on a thread of the disk.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let act = self.clone();
        self.asker.disk.run(move || Ok(job(&act))).await?
    }

    /// Does a job that goes on with what an earlier one has begun.
    pub(crate) async fn run_on<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let act = self.clone();
        self.asker.disk.run_on(move || Ok(job(&act))).await?
    }

    /// Does a job that may take long.
    pub(crate) async fn run_long<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let act = self.clone();
        self.watched(self.asker.disk.run_long(move || Ok(job(&act)))).await?
    }

    /// Does a job that may take long and goes on with what an earlier one has begun.
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

    /// What is at the target; `None` if nothing is. Blocks.
    pub(crate) fn look(&self) -> Result<Option<Metadata>, StorageError> {
        look(self.tree(), &self.place.path)
    }

    /// Refuses a method that a resource of this kind does not take.
    pub(crate) fn allow(&self, method: Method, kind: Kind) -> Result<(), Refusal> {
        match kind {
            _ if self.asker.area.offer().allows(method, kind) => Ok(()),
            Kind::Missing if !self.asker.area.plan.read_only => Err(Outcome::NotFound.into()),
            kind => Err(Refusal::NotAllowed(kind)),
        }
    }

    /// Refuses what the client may not do to the target.
    pub(crate) fn require(&self, action: &Action, directory: bool) -> Result<(), Refusal> {
        self.asker.require(action, &self.place.full, directory || self.place.trailing_slash)
    }

    /// Judges the If header of a request that changes nothing. Who may not look at the target is told nothing by it. Blocks.
    pub(crate) fn judge_if(&self) -> Result<(), Refusal> {
        self.require(&Action::Stat, false)?;
        let locks = self.locks().view()?;
        self.terms.check(&self.asker.area, &locks, &self.place, &[])
    }

    /// Makes a change whose visible step goes through a gate. The gate does the step if the terms of the request hold at that moment;
    /// no lock can be taken meanwhile. The inner error means that the terms hold and the change failed. Blocks.
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

    /// Judges the terms of the request and, if they hold, does something short; no lock can be taken meanwhile. `act` must not begin
    /// a change of the tree: a change takes its turn before it takes the guard of the locks. Blocks.
    pub(crate) fn locked<T>(
        &self,
        changes: &[(DavPath, weir_dav::lock::Change)],
        act: impl FnOnce(&LockTable) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.locked_while(None, changes, act)
    }

    /// The same while something of the area is out of sight, on its way to another file system. Blocks.
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

/// Lets the step of a change that others see be done only while locks and conditions let it: they were judged when the change
/// was begun, and what takes long has been done since.
pub(crate) struct Again<'a> {
    act: &'a Act,
    changes: Vec<(DavPath, weir_dav::lock::Change)>,
    /// Whether the target still is what the request is meant for.
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

    /// The gate that a change goes through. `moving`: its target, if it has been taken out of sight; then that is judged.
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

    /// Why it was closed, if it was.
    pub(crate) fn refusal(self) -> Result<(), Refusal> {
        self.refusal.map_or(Ok(()), Err)
    }
}

/// What is at a path; `None` if nothing is.
pub(crate) fn look(tree: &Tree, path: &DavPath) -> Result<Option<Metadata>, StorageError> {
    match tree.metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(StorageError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// In WebDAV's words.
pub(crate) fn kind(metadata: Option<&Metadata>) -> Kind {
    metadata.map_or(Kind::Missing, Metadata::dav_kind)
}
