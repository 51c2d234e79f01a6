use weir_access::Action;
use weir_dav::method::{Kind, Method};

use super::Resource;
use super::members::Actions;

/// A request, as far as rules are asked about it.
pub(super) struct Asked<'a> {
    pub(super) method: Method,
    pub(super) source: &'a Resource,
    pub(super) destination: Option<&'a Resource>,
    /// Without what is in a directory.
    pub(super) shallow: bool,
}

impl Asked<'_> {
    /// What it asks for at its path and at its destination. A MOVE to nowhere in particular is judged as a renaming that stays
    /// where it is.
    pub(super) fn actions(&self) -> Result<Actions, String> {
        let path = self.source.access_path()?;
        let kind = self.source.kind;
        let own = match (self.method, kind) {
            (Method::Options, _) => vec![Action::Stat],
            (Method::Get | Method::Head, Some(Kind::Collection)) => vec![Action::List],
            (Method::Head, _) => vec![Action::Stat],
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
                    // Whatever is there: it is judged as it is written.
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

    fn at_destination(&self, destination: &Resource) -> Result<Actions, String> {
        let directory = self.source.kind == Some(Kind::Collection);
        let there = destination.kind == Some(Kind::Collection);
        let actions = match destination.kind {
            // A renaming has asked for it.
            Some(Kind::Missing) | None if self.method == Method::Move => vec![],
            Some(Kind::Missing) | None if directory => {
                return Ok(vec![(Action::MakeDirectory, super::judged_as(&destination.full, true)?)]);
            }
            Some(Kind::Missing) | None => vec![Action::Create],
            // It is not its bytes that are replaced: it goes.
            Some(_) if directory || there => vec![Action::Overwrite, Action::Delete],
            Some(_) => vec![Action::Overwrite],
        };
        let path = super::judged_as(&destination.full, there)?;
        Ok(actions.into_iter().map(|action| (action, path.clone())).collect())
    }
}
