//! The actions for which a request needs permission.

use weir_access::{AccessPath, Action};
use weir_config::plan::AreaPlan;
use weir_dav::method::{Kind, Method};

use super::{Judge, Resource};

/// Actions of a request, each with its path.
pub(super) type Actions = Vec<(Action, AccessPath)>;

/// The properties of a request that the access rules depend on.
pub(super) struct Asked<'a> {
    pub(super) method: Method,
    pub(super) source: &'a Resource,
    pub(super) destination: Option<&'a Resource>,
    /// Set for a COPY that fetches the file from another server.
    pub(super) from_elsewhere: bool,
    /// Index file of the requested directory.
    pub(super) index: Option<AccessPath>,
    /// Set if the members of a directory are not included (`Depth: 0`).
    pub(super) shallow: bool,
}

impl Asked<'_> {
    /// Returns the actions at the path and at the destination. A MOVE without a destination is evaluated as a
    /// rename to its own path.
    pub(super) fn actions(&self, judge: &Judge<'_>) -> Result<Actions, String> {
        let path = self.source.access_path()?;
        let kind = self.source.kind;
        let own = match (self.method, kind) {
            (Method::Options, _) => vec![Action::Stat],
            (Method::Get | Method::Head, Some(Kind::Collection)) => return self.of_directory(judge, path),
            (Method::Head, _) => vec![Action::Stat],
            (Method::Copy, Some(Kind::Missing)) if self.from_elsewhere => vec![Action::Create],
            (Method::Copy, Some(_)) if self.from_elsewhere => vec![Action::Overwrite],
            (Method::Copy, None) if self.from_elsewhere => vec![Action::Create, Action::Overwrite],
            (Method::Copy | Method::Propfind, Some(Kind::Collection)) if self.shallow => vec![Action::Stat],
            (Method::Copy | Method::Propfind, Some(Kind::Collection)) => vec![Action::Stat, Action::List],
            (Method::Get | Method::Copy, _) => vec![Action::Read],
            (Method::Propfind, Some(_)) => vec![Action::Stat],
            (Method::Propfind, None) => vec![Action::Stat, Action::List],
            (Method::Put, Some(Kind::Missing)) => vec![Action::Create],
            (Method::Put, Some(_)) => vec![Action::Overwrite],
            (Method::Put, None) => vec![Action::Create, Action::Overwrite],
            (Method::Mkcol, _) => vec![Action::MakeDirectory],
            (Method::Delete, _) => vec![Action::Delete],
            (Method::Move, _) => {
                let to = match self.destination {
                    // The path is used as written, whatever exists there.
                    Some(destination) => super::judged_as(&destination.full, destination.trailing_slash)?,
                    None => path.clone(),
                };
                vec![Action::Rename { to }]
            }
            (Method::Lock, Some(Kind::Missing)) => vec![Action::Create],
            (Method::Patch | Method::Proppatch | Method::Lock | Method::Unlock, _) => vec![Action::Overwrite],
        };
        let mut actions: Vec<_> = own.into_iter().map(|action| (action, path.clone())).collect();
        if let Some(destination) = self.destination {
            actions.extend(self.at_destination(destination)?);
        }
        Ok(actions)
    }

    /// Returns the action for a GET or HEAD of a directory: its index file if there is one, else a listing.
    /// Without a slash at the end, the client is redirected, if it may know that the directory exists.
    fn of_directory(&self, judge: &Judge<'_>, path: AccessPath) -> Result<Actions, String> {
        let content = if self.method == Method::Head { Action::Stat } else { Action::Read };
        if !self.source.trailing_slash {
            let action = if judge.may(&Action::Read, &path) { Action::Read } else { Action::Stat };
            return Ok(vec![(action, path)]);
        }
        Ok(match &self.index {
            Some(index) => vec![(content, index.clone())],
            None => vec![(Action::List, path)],
        })
    }

    /// Returns the reason why the area permits this to no client.
    pub(super) fn ruled_out(&self, area: &AreaPlan) -> Option<(bool, String)> {
        let is_copied_elsewhere =
            self.method == Method::Copy && self.destination.is_none() && !self.from_elsewhere;
        let is_listed = matches!(self.method, Method::Get | Method::Head)
            && self.source.kind == Some(Kind::Collection)
            && self.source.trailing_slash
            && self.index.is_none();
        let why = if area.read_only && !self.method.is_safe() && !is_copied_elsewhere {
            "the area is read-only"
        } else if (self.from_elsewhere || is_copied_elsewhere) && !area.third_party_copy {
            "the area takes no part in copies between servers (third-party-copy)"
        } else if (self.from_elsewhere || is_copied_elsewhere) && self.source.is_directory {
            "directories are not copied between servers"
        } else if is_listed && !area.listing {
            "the area lists no directories (listing), and this one has no index file"
        } else {
            return None;
        };
        Some((false, format!("denied: {why}")))
    }

    fn at_destination(&self, destination: &Resource) -> Result<Actions, String> {
        let directory = self.source.kind == Some(Kind::Collection);
        let there = destination.kind == Some(Kind::Collection);
        let actions = match destination.kind {
            // `Action::Rename` already covers this.
            Some(Kind::Missing) | None if self.method == Method::Move => vec![],
            Some(Kind::Missing) | None if directory => {
                return Ok(vec![(Action::MakeDirectory, super::judged_as(&destination.full, true)?)]);
            }
            Some(Kind::Missing) | None => vec![Action::Create],
            // The old resource is removed, not overwritten.
            Some(_) if directory || there => vec![Action::Overwrite, Action::Delete],
            Some(_) => vec![Action::Overwrite],
        };
        let path = super::judged_as(&destination.full, there)?;
        Ok(actions.into_iter().map(|action| (action, path.clone())).collect())
    }
}
