//! Breaks WebDAV locks for an operator, whoever holds them.

use std::sync::Arc;

use weir_control::{Code, LockSnapshot, Refusal};
use weir_dav::lock::{Lock, LockTable, Scope};
use weir_dav::path::DavPath;
use weir_storage::StorageError;

use crate::area::Area;
use crate::clock::unix_now_s;
use crate::place::Place;

/// The locks to break.
#[derive(Debug)]
pub struct Unlocking {
    /// The storage area; `None` selects the only area that has the path.
    pub area: Option<String>,
    /// The locked resource, as a URL path.
    pub path: String,
    /// Set to break also the locks of resources below `path`.
    pub below: bool,
    /// Break only locks of this holder; `None` means any holder.
    pub holder: Option<String>,
    /// Set to break nothing and only return the locks that would be broken.
    pub dry_run: bool,
}

impl Unlocking {
    /// Breaks the locks and returns them. Blocks on the disk.
    pub(crate) fn carry_out<'a>(
        &self,
        areas: impl Iterator<Item = &'a Arc<Area>>,
    ) -> Result<Vec<LockSnapshot>, Refusal> {
        let (area, place) = self.find(areas)?;
        let name = area.plan.name.to_string();
        let failed = |cause: StorageError| {
            let message = format!("storage area {name}: the locks in its .weir-store: {cause}");
            Refusal { code: Code::Internal, message }
        };
        let now_s = unix_now_s();
        let is_meant = |lock: &Lock| {
            let is_there = lock.root == place.path || self.below && lock.root.is_below(&place.path);
            let is_holder = self.holder.as_ref().is_none_or(|holder| **holder == *lock.principal);
            is_there && is_holder && lock.is_live(now_s)
        };
        let mut locks: Vec<Lock> = match self.dry_run {
            true => {
                area.locks.view().map_err(failed)?.iter().filter(|lock| is_meant(lock)).cloned().collect()
            }
            false => area.locks.update(|table| table.break_locks(is_meant)).map_err(failed)?,
        };
        if locks.is_empty() {
            let table = area.locks.view().map_err(failed)?;
            return self.locked_above(&name, &table, &place, now_s).map_or(Ok(Vec::new()), Err);
        }
        locks.sort_by(|one, other| one.root.cmp(&other.root));
        Ok(locks.iter().map(|lock| snapshot(&name, lock, &place.prefix())).collect())
    }

    fn find<'a>(
        &self,
        areas: impl Iterator<Item = &'a Arc<Area>>,
    ) -> Result<(&'a Arc<Area>, Place), Refusal> {
        let refused = |code, message| Err(Refusal { code, message });
        let mut is_there = false;
        let mut found = Vec::new();
        for area in
            areas.filter(|area| self.area.as_ref().is_none_or(|name| *name == *area.plan.name.as_str()))
        {
            is_there = true;
            found.extend(Place::of(area, self.path.as_bytes()).ok().map(|place| (area, place)));
        }
        if let (Some(name), false) = (&self.area, is_there) {
            return refused(Code::NotFound, format!("there is no storage area {name:?}"));
        }
        if found.len() > 1 {
            let mut names: Vec<&str> = found.iter().map(|(area, _)| area.plan.name.as_str()).collect();
            names.sort_unstable();
            let names = names.join(", ");
            let message = format!("several storage areas have the path {:?}: name one of {names}", self.path);
            return refused(Code::BadCommand, message);
        }
        match found.pop() {
            Some(found) => Ok(found),
            None => refused(Code::NotFound, format!("no storage area has the path {:?}", self.path)),
        }
    }

    fn locked_above(&self, area: &str, table: &LockTable, place: &Place, now_s: u64) -> Option<Refusal> {
        let above = table.locks_on(&place.path, now_s).find(|lock| lock.root != place.path)?;
        let root = place.prefix().append(&above.root).href(above.collection);
        let message = format!(
            "storage area {area}: {:?} has no lock of its own; the lock of {root} with depth infinity covers it: break that one",
            self.path
        );
        Some(Refusal { code: Code::NotFound, message })
    }
}

fn snapshot(area: &str, lock: &Lock, prefix: &DavPath) -> LockSnapshot {
    LockSnapshot {
        area: area.to_owned(),
        path: prefix.append(&lock.root).href(lock.collection),
        holder: lock.principal.to_string(),
        exclusive: lock.scope == Scope::Exclusive,
        infinite: lock.infinite,
        ends_unix_s: lock.expires_s,
    }
}
