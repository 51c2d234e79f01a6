//! COPY and MOVE within a storage area (RFC 4918 sections 9.8 and 9.9).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_access::Action;
use weir_dav::header::{Depth, DepthUse, Destination, HeaderError, overwrites};
use weir_dav::lock::changes;
use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_dav::path::{DavPath, PathLimits};
use weir_net::service::{Answer, Request};
use weir_storage::{CopyOptions, Failure, FileKind, Metadata, MoveGate, StorageError, Transferred};

use super::digest::GivenUp;
use crate::call::Call;
use crate::dav::{Act, Again, Denied, Members, Reply, failures, kind, look, own_names};
use crate::headers::require_conditions;
use crate::place::Place;
use crate::refusal::Refusal;

/// Maximum number of times that a rename is checked again because other requests changed its destination.
const RACES_MAX: usize = 64;

/// Responds to COPY or MOVE, as `method` says.
pub(crate) async fn answer(call: &mut Call, method: Method) -> Result<Answer, Refusal> {
    let depth_use = if method == Method::Copy { DepthUse::Copy } else { DepthUse::Whole };
    let depth = Depth::read(call.request.header("Depth"), depth_use).map_err(HeaderError::outcome)?;
    let overwrite = overwrites(call.request.header("Overwrite")).map_err(HeaderError::outcome)?;
    let act = Act::of(call)?;
    let destination = destination(&act, &call.request)?;
    let deep = depth == Depth::Infinity;
    // If the client leaves, the copy is cancelled. A copy is invisible until it is complete.
    let gone = GivenUp::default();
    let cancelled = Arc::clone(&gone.0);
    // A rename itself is fast; checking and removing members is not.
    let is_long = method == Method::Copy || is_long(&act, &destination).await?;
    let transfer =
        Transfer { method, destination, deep, overwrite, request: call.request.clone(), cancelled };
    let carry_out = move |act: &Act| transfer.carry_out(act);
    let done = if is_long { act.run_long(carry_out).await } else { act.run(carry_out).await };
    Ok(done?.into())
}

/// Returns true if a rename may take long: of or over a directory, whose members must be checked, or to
/// another file system.
async fn is_long(act: &Act, destination: &Place) -> Result<bool, Refusal> {
    let to = destination.path.clone();
    act.run(move |act| {
        let (from, there) = (act.look()?, look(act.tree(), &to)?);
        let home = look(act.tree(), &to.parent().unwrap_or_default())?;
        let is_directory = |found: &Option<Metadata>| found.is_some_and(|found| found.is_directory());
        let crosses = from.zip(home).is_some_and(|(from, home)| from.device != home.device);
        Ok(crosses || is_directory(&from) || is_directory(&there))
    })
    .await
}

fn destination(act: &Act, request: &Request) -> Result<Place, Refusal> {
    let area = &act.asker.area;
    let text = request.header("Destination").ok_or(Outcome::BadHeader)?;
    let own = own_names(request);
    match Destination::parse(text, &own, &PathLimits::default()).map_err(HeaderError::outcome)? {
        // Another area counts as another server.
        Destination::Own(read) => {
            let place = Place::at(area, read.path, read.trailing_slash);
            Ok(place.map_err(|_| Outcome::DestinationElsewhere)?)
        }
        Destination::Elsewhere(_) => Err(Outcome::DestinationElsewhere.into()),
    }
}

struct Transfer {
    method: Method,
    destination: Place,
    deep: bool,
    overwrite: bool,
    request: Request,
    cancelled: Arc<AtomicBool>,
}

impl Transfer {
    fn carry_out(&self, act: &Act) -> Result<Reply, Refusal> {
        for _ in 1..RACES_MAX {
            match self.attempt(act)? {
                Ok(reply) => return Ok(reply),
                // Check again: the client may lack the permission to replace the new resource.
                Err(failure) if self.was_outrun(&failure) => {}
                Err(failure) => return self.failed(act, failure),
            }
        }
        self.attempt(act)?.or_else(|failure| self.failed(act, failure))
    }

    /// Returns true if the destination appeared or disappeared after it was checked; then nothing was done.
    fn was_outrun(&self, failure: &Failure) -> bool {
        let has_changed = matches!(failure.error, StorageError::Exists | StorageError::NotFound);
        self.method == Method::Move && self.overwrite && has_changed && failure.path == self.destination.path
    }

    /// Checks all permissions and does the transfer. The inner error means that it was permitted but failed.
    fn attempt(&self, act: &Act) -> Result<Result<Reply, Failure>, Refusal> {
        let (from, to) = (&act.place, &self.destination);
        let found = act.look()?;
        let directory = found.is_some_and(|metadata| metadata.is_directory());
        self.require_source(act, directory)?;
        let source_kind = kind(found.as_ref());
        act.allow(self.method, source_kind)?;
        let metadata = found.ok_or(Outcome::NotFound)?;
        // Conditions apply to directories too. A client that names the version of a file must not move a
        // directory that replaced it.
        require_conditions(&self.request, Some(&metadata))?;
        if to.path.starts_with(&from.path) && (self.deep || to.path == from.path)
            || from.path.starts_with(&to.path)
        {
            return Err(Outcome::SameResource.into());
        }
        let there = look(act.tree(), &to.path)?;
        self.require_destination(act, directory, there.as_ref())?;
        if act.asker.area.plan.read_only {
            return Err(Refusal::NotAllowed(source_kind));
        }
        if there.is_some() && !self.overwrite {
            return Err(Outcome::OverwriteRefused.into());
        }
        let destination_kind = kind(there.as_ref());
        let changes = changes(self.method, (&from.path, source_kind), Some((&to.path, destination_kind)));
        act.locked(&changes, |_| Ok(()))?;
        match self.denied_members(act, directory, there.as_ref())? {
            Ok(None) => {}
            Ok(Some(refused)) => return Ok(Ok(refused)),
            Err(gone) => return Ok(Err(gone)),
        }
        let still_meant = |now: Option<&Metadata>| {
            // A file that was replaced by a directory has members that were not checked.
            let is_as_judged = now.is_none_or(|now| now.is_directory() == directory);
            // The content of a copy is already read.
            self.method == Method::Copy || is_as_judged && require_conditions(&self.request, now).is_ok()
        };
        let mut again = Again::new(act, changes, &still_meant);
        let mut judged = there;
        // A dangling link does not exist for clients, and may be replaced.
        let over = there.is_some() || matches!(act.tree().is_link(&to.path), Ok(true));
        let transferred = self.transfer(act, over, &mut |step, moving| {
            if self.method == Method::Copy {
                judged = self.judged_now(act, judged)?;
            }
            let mut step = || {
                // The destination may have changed too. A resource that appeared meanwhile was not checked,
                // so it is not replaced.
                let now = look(act.tree(), &to.path)?;
                if makes_room(judged.as_ref(), now.as_ref()) { step() } else { Err(StorageError::Exists) }
            };
            again.pass(&mut step, moving)
        });
        again.refusal()?;
        Ok(transferred.map(|done| {
            // The transfer is done even if the locks cannot be removed; they expire.
            let _ = self.forget_locks(act);
            Reply::new(if done.created { Outcome::Created } else { Outcome::Replaced })
        }))
    }

    fn require_source(&self, act: &Act, directory: bool) -> Result<(), Refusal> {
        match self.method {
            Method::Copy if directory => {
                act.require(&Action::Stat, true)?;
                if self.deep { act.require(&Action::List, true) } else { Ok(()) }
            }
            Method::Copy => act.require(&Action::Read, false),
            _ => {
                let to = self.destination.access_path()?;
                act.require(&Action::Rename { to }, directory)
            }
        }
    }

    fn require_destination(
        &self,
        act: &Act,
        directory: bool,
        there: Option<&Metadata>,
    ) -> Result<(), Refusal> {
        let full = &self.destination.full;
        match there {
            Some(there) => {
                act.asker.require(&Action::Overwrite, full, there.is_directory())?;
                if there.is_directory() || directory {
                    // A directory is involved: the old resource is removed, not overwritten.
                    act.asker.require(&Action::Delete, full, there.is_directory())?;
                }
                Ok(())
            }
            // `Action::Rename` already covers this.
            None if self.method == Method::Move => Ok(()),
            None if directory => act.asker.require(&Action::MakeDirectory, full, true),
            None => act.asker.require(&Action::Create, full, false),
        }
    }

    /// Checks every member of both trees. Returns a response if something is denied. The inner error means
    /// that the checked resource is gone.
    fn denied_members(
        &self,
        act: &Act,
        directory: bool,
        there: Option<&Metadata>,
    ) -> Result<Result<Option<Reply>, Failure>, Refusal> {
        let asker = &act.asker;
        if there.is_some_and(Metadata::is_directory) {
            let denied = match self.denied_to_go(act) {
                // Another request is replacing the directory: it may be missing for a moment, then exist
                // again or be a file.
                Err(StorageError::NotFound | StorageError::NotDirectory) => {
                    let path = self.destination.path.clone();
                    return Ok(Err(Failure { path, error: StorageError::NotFound }));
                }
                denied => denied?,
            };
            if !denied.is_empty() {
                return Ok(Ok(Some(denied.reply())));
            }
        }
        if directory && self.deep {
            let members = Members { asker, place: &act.place, cancelled: &self.cancelled };
            let denied = members.denied(&mut |full, directory| self.may_take(act, full, directory))?;
            if !denied.is_empty() {
                return Ok(Ok(Some(denied.reply())));
            }
        }
        Ok(Ok(None))
    }

    /// Returns the members of the destination that the client may not delete.
    fn denied_to_go(&self, act: &Act) -> Result<Denied, StorageError> {
        let asker = &act.asker;
        let members = Members { asker, place: &self.destination, cancelled: &self.cancelled };
        members.denied(&mut |full, directory| asker.may(&Action::Delete, full, directory))
    }

    /// Checks the resource that a finished copy may replace. Repeating the whole copy, as a rename is
    /// repeated, would take too long. If another directory has replaced the `judged` one, checks its members
    /// now.
    fn judged_now(&self, act: &Act, judged: Option<Metadata>) -> Result<Option<Metadata>, StorageError> {
        let now = look(act.tree(), &self.destination.path)?;
        let are_directories =
            [&judged, &now].iter().all(|found| found.is_some_and(|found| found.is_directory()));
        if !are_directories || makes_room(judged.as_ref(), now.as_ref()) {
            return Ok(judged);
        }
        match self.denied_to_go(act) {
            Ok(denied) if denied.is_empty() => Ok(now),
            // It is gone again.
            Err(StorageError::NotFound | StorageError::NotDirectory) => Ok(judged),
            Ok(_) => Err(StorageError::Exists),
            Err(error) => Err(error),
        }
    }

    /// Returns true if a member of the source may be transferred to its destination.
    fn may_take(&self, act: &Act, full: &DavPath, directory: bool) -> bool {
        let Some(below) = full.strip_prefix(&act.place.full) else { return false };
        let target = self.destination.full.append(&below);
        match self.method {
            Method::Copy if directory => {
                act.asker.may(&Action::List, full, true)
                    && act.asker.may(&Action::MakeDirectory, &target, true)
            }
            Method::Copy => {
                act.asker.may(&Action::Read, full, false) && act.asker.may(&Action::Create, &target, false)
            }
            _ => act.asker.may_rename(full, &target, directory),
        }
    }

    /// Does the transfer. `over` is true if the destination existed when it was checked.
    fn transfer(&self, act: &Act, over: bool, gate: &mut MoveGate<'_>) -> Result<Transferred, Failure> {
        let (from, to, tree) = (&act.place.path, &self.destination.path, act.tree());
        let durability = act.asker.area.durability();
        let options = CopyOptions { deep: self.deep, overwrite: self.overwrite, durability };
        if self.method == Method::Move {
            // If the name was free, a resource that takes it must be checked before it is replaced.
            let options = CopyOptions { overwrite: self.overwrite && over, ..options };
            return tree.rename_through(from, to, options, &self.cancelled, gate);
        }
        // Check again, because members may have been added since the first check.
        let prefix = act.place.prefix();
        let mut may = |path: &DavPath, kind: FileKind| {
            self.may_take(act, &prefix.append(path), kind == FileKind::Directory)
        };
        tree.copy_through(from, to, options, &mut may, &self.cancelled, &mut |step| gate(step, None))
    }

    /// Removes locks: they do not move with a resource, and an overwritten tree has none (RFC 4918 section
    /// 7.6).
    fn forget_locks(&self, act: &Act) -> Result<(), Refusal> {
        let locks = act.locks().view()?;
        let has_left = self.method == Method::Move && locks.has_at_or_below(&act.place.path);
        if !has_left && !locks.has_at_or_below(&self.destination.path) {
            return Ok(());
        }
        // Drop the view first; otherwise the update copies the table.
        drop(locks);
        act.locks().update(|table| {
            table.forget_below(&self.destination.path);
            if self.method == Method::Move {
                table.forget(&act.place.path);
            }
        })?;
        Ok(())
    }

    fn failed(&self, act: &Act, failure: Failure) -> Result<Reply, Refusal> {
        let outcome = match failure.error {
            // The destination was created after the check.
            StorageError::Exists => Outcome::OverwriteRefused,
            error => error.outcome(),
        };
        if failure.path == act.place.path || failure.path == self.destination.path {
            return Err(outcome.into());
        }
        Ok(failures([(act.place.prefix().append(&failure.path), false, outcome)]))
    }
}

/// Returns true if the resource at the destination may be replaced: nothing new has come, or a file replaced
/// a file. A directory must be the `judged` one, because the members of another were not checked.
fn makes_room(judged: Option<&Metadata>, now: Option<&Metadata>) -> bool {
    match (judged, now) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(judged), Some(now)) if judged.is_directory() => now.is_still(judged),
        (Some(_), Some(now)) => !now.is_directory(),
    }
}
