use std::sync::Arc;

use weir_access::{AccessPath, Action};
use weir_dav::method::{Kind, Method};
use weir_dav::path::DavPath;
use weir_storage::{StorageError, Tree};

use super::asked::{Actions, Asked};
use super::{Judge, Resource, judged_as};

/// So many denials are told in full.
const SHOWN_MAX: usize = 10;
/// So many members are read at a time.
const BATCH: usize = 1_000;

/// What is said of what is in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MembersExplained {
    /// How many were asked about.
    pub judged: u64,
    /// How many of these are denied.
    pub denied: u64,
    /// One denial refuses the request as a whole; else what is denied is left out of the answer.
    pub all_needed: bool,
    /// Why, for the first of them.
    pub reasons: Vec<String>,
}

/// Judges the members that a request is about. Blocks.
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
    /// Asks for one action on each member of a tree.
    fn all(&mut self, resource: Option<&Resource>, action: &Action) -> Result<(), String> {
        let Some(resource) = resource else { return Ok(()) };
        self.walk(resource, &mut |full, directory| Ok(vec![(action.clone(), judged_as(full, directory)?)]))
    }

    /// Asks what COPY and MOVE ask for each member: it leaves here, and comes there.
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

    /// Asks whether the members of a directory may be seen.
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

    /// Counts a member, for which these are asked.
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
