//! Evaluates the access rules for the members of a directory.

use std::sync::Arc;

use weir_access::{AccessPath, Action};
use weir_dav::method::{Kind, Method};
use weir_dav::path::DavPath;
use weir_storage::{StorageError, Tree};

use super::asked::{Actions, Asked};
use super::{Judge, Resource, judged_as};

/// Maximum number of denials that are listed with their reasons.
const SHOWN_MAX: usize = 10;
/// Number of members that are read at a time.
const BATCH: usize = 1_000;

/// Result for the members of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MembersExplained {
    /// Number of members that were evaluated.
    pub judged: u64,
    /// Number of these that are denied.
    pub denied: u64,
    /// True if one denied member refuses the whole request. False if denied members are only omitted from the
    /// response.
    pub all_needed: bool,
    /// Reasons for the first denials.
    pub reasons: Vec<String>,
}

/// Evaluates the members that a request covers. Blocks.
pub(super) fn explain(
    asked: &Asked<'_>,
    judge: &Judge<'_>,
    tree: &Arc<Tree>,
) -> Result<Option<MembersExplained>, String> {
    let is_directory = |resource: &Resource| resource.kind == Some(Kind::Collection);
    let source = Some(asked.source).filter(|source| is_directory(source));
    let mut survey = Survey { judge, tree, found: None };
    match asked.method {
        Method::Delete => survey.all(source, &Action::Delete)?,
        Method::Propfind if !asked.shallow => survey.children(source)?,
        Method::Copy | Method::Move => {
            let Some(destination) = asked.destination else { return Ok(None) };
            survey.all(Some(destination).filter(|there| is_directory(there)), &Action::Delete)?;
            if let Some(source) = source.filter(|_| asked.method == Method::Move || !asked.shallow) {
                survey.taken(asked.method, source, destination)?;
            }
        }
        _ => {}
    }
    Ok(survey.found)
}

struct Survey<'a> {
    judge: &'a Judge<'a>,
    tree: &'a Arc<Tree>,
    found: Option<MembersExplained>,
}

impl Survey<'_> {
    /// Evaluates one action for each member of a tree.
    fn all(&mut self, resource: Option<&Resource>, action: &Action) -> Result<(), String> {
        let Some(resource) = resource else { return Ok(()) };
        self.walk(resource, &mut |full, directory| Ok(vec![(action.clone(), judged_as(full, directory)?)]))
    }

    /// Evaluates the actions of COPY or MOVE for each member, at its source and its destination.
    fn taken(&mut self, method: Method, source: &Resource, destination: &Resource) -> Result<(), String> {
        self.walk(source, &mut |full, directory| {
            let below = full.strip_prefix(&source.full).unwrap_or_default();
            let to = judged_as(&destination.full.append(&below), directory)?;
            let from = judged_as(full, directory)?;
            Ok(match (method, directory) {
                (Method::Copy, true) => vec![(Action::List, from), (Action::MakeDirectory, to)],
                (Method::Copy, false) => vec![(Action::Read, from), (Action::Create, to)],
                _ => vec![(Action::Rename { to }, from)],
            })
        })
    }

    /// Evaluates `Action::Stat` for the members of a directory.
    fn children(&mut self, resource: Option<&Resource>) -> Result<(), String> {
        let Some(resource) = resource else { return Ok(()) };
        self.found.get_or_insert_default();
        let failed = |error: StorageError| format!("{}: {error}", resource.full.href(true));
        let mut listing = self.tree.list(&resource.below).map_err(failed)?;
        loop {
            let batch = listing.next_batch(BATCH).map_err(failed)?;
            if batch.is_empty() {
                return Ok(());
            }
            for entry in batch {
                let full = resource.full.join(&entry.name).map_err(|error| error.to_string())?;
                let directory = entry.metadata.dav_kind() == Kind::Collection;
                self.count(&[(Action::Stat, judged_as(&full, directory)?)]);
            }
        }
    }

    /// Counts a member that needs these permissions.
    fn count(&mut self, asked: &[(Action, AccessPath)]) {
        let found = self.found.get_or_insert_default();
        found.judged += 1;
        if let Some((action, path)) = asked.iter().find(|(action, path)| !self.judge.may(action, path)) {
            found.denied += 1;
            if found.reasons.len() < SHOWN_MAX {
                found.reasons.push(self.judge.decide(action, path).1);
            }
        }
    }

    fn walk(
        &mut self,
        resource: &Resource,
        actions: &mut dyn FnMut(&DavPath, bool) -> Result<Actions, String>,
    ) -> Result<(), String> {
        self.found.get_or_insert_default().all_needed = true;
        let mut wrong = None;
        let tree = self.tree;
        let surveyed = tree.survey(&resource.below, &mut |path, directory| {
            let below = path.strip_prefix(&resource.below).unwrap_or_default();
            let asked = actions(&resource.full.append(&below), directory).map_err(|error| {
                wrong = Some(error);
                StorageError::Refused
            })?;
            self.count(&asked);
            Ok(())
        });
        surveyed.map_err(|error| wrong.unwrap_or_else(|| format!("{}: {error}", resource.full.href(true))))
    }
}
