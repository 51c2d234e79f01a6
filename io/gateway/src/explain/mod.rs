//! `weir storage explain`: shows how a storage area would decide about a request, and by which rule.

mod asked;
mod members;
mod who;

use std::net::IpAddr;
use std::sync::Arc;

use weir_access::identity::Identity;
use weir_access::rule::{self, AreaRules, Circumstances};
use weir_access::{AccessPath, Action};
use weir_config::Plan;
use weir_config::plan::AreaPlan;
use weir_dav::method::{Kind, Method};
use weir_dav::path::{DavPath, PathLimits};
use weir_storage::{NodeId, StorageError, Tree, TreeOptions};

use crate::area::access_point::{AccessPoint, access_path};
use crate::area::act_as;
use crate::area::cedar;
use crate::area::symlinks;
use crate::clock::unix_now_s;
pub use members::MembersExplained;
use who::Somebody;
pub use who::{Certificate, Who};

/// The request to evaluate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question<'a> {
    /// The area; by default, the one with the longest matching access point.
    pub area: Option<&'a str>,
    /// Identity of the client.
    pub who: Who,
    /// Method.
    pub method: &'a str,
    /// URL path.
    pub path: &'a str,
    /// URL path of the destination of a COPY or MOVE.
    pub destination: Option<&'a str>,
    /// URL of the source, for a COPY that fetches the file from another server.
    pub from_elsewhere: Option<&'a str>,
    /// Set if only the directory itself is included, not its members (`Depth: 0`).
    pub shallow: bool,
    /// Client address for Cedar policies that check it; `None` if unknown.
    pub client: Option<IpAddr>,
}

/// A decision in readable form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// Name of the area that the path is in.
    pub area: String,
    /// True if the request is permitted.
    pub allowed: bool,
    /// Each action of the request, with the reason why it is allowed or denied.
    pub reasons: Vec<String>,
    /// Result for the members of a directory; `None` if they are not checked.
    pub members: Option<MembersExplained>,
}

/// Evaluates a request without sending it. Looks at the files, and fetches the keys of a token's issuer if
/// necessary. Blocks.
///
/// # Errors
/// If there is no such area, or the request is invalid.
pub fn explain(plan: &Plan, question: Question<'_>) -> Result<Explained, String> {
    let Question { area, who, method: written, path, destination, from_elsewhere, shallow, client } =
        question;
    let method =
        Method::parse(written.as_bytes()).ok_or(format!("{written} is not a method of storage areas"))?;
    let (area, target) = find(plan, area, path)?;
    let tree = open(area);
    let texts: Vec<&str> = area.access_points.iter().map(String::as_str).collect();
    let rules = area.access.resolve(area.name.as_str(), &texts).map_err(|error| error.to_string())?;
    let rules = cedar::with_policies(rules, &area.access.cedar)?;
    let source = Resource::at(target, tree.as_deref());
    let destination = match (destination, method) {
        (None, _) => None,
        (Some(to), Method::Copy | Method::Move) => {
            let (_, target) = find(plan, Some(area.name.as_str()), to)?;
            Some(Resource::at(target, tree.as_deref()))
        }
        (Some(_), _) => return Err("only COPY and MOVE have a destination".to_owned()),
    };
    match (from_elsewhere, method, &destination) {
        (None, ..) => {}
        (Some(_), Method::Copy, Some(_)) => {
            return Err("a COPY from another server has no other destination".to_owned());
        }
        (Some(url), Method::Copy, None) if url.contains("://") => {}
        (Some(url), Method::Copy, None) => return Err(format!("{url} is no URL of another server")),
        (Some(_), ..) => return Err("only COPY has a source".to_owned()),
    }
    let Somebody { identity, said } = Somebody::of(plan, area, who, &source)?;
    let circumstances = Circumstances { method: written.to_owned(), now_unix_secs: unix_now_s(), client };
    let judge = Judge { rules: &rules, identity: &identity, circumstances };
    let index = tree.as_deref().map(|tree| index_of(area, tree, &source)).transpose()?.flatten();
    let transfer = asked::Asked {
        method,
        source: &source,
        destination: destination.as_ref(),
        from_elsewhere: from_elsewhere.is_some(),
        index,
        shallow,
    };
    let mut decisions: Vec<(bool, String)> = said.into_iter().chain(transfer.ruled_out(area)).collect();
    if let Some(act_as) = &area.act_as {
        let name = act_as::name_of(act_as, &identity)?;
        decisions.push(match name {
            Some(name) => {
                (true, format!("files: as local user {name}, to whom the kernel must permit it as well"))
            }
            None => (false, format!("denied: no local user stands for {identity} (act-as)")),
        });
    }
    for (action, path) in transfer.actions(&judge)? {
        decisions.push(judge.decide(&action, &path));
    }
    let members = match &tree {
        Some(tree) => members::explain(&transfer, &judge, tree)?,
        None => None,
    };
    let refused = members.as_ref().is_some_and(|members| members.denied > 0 && members.all_needed);
    // If the kind of the target is unknown, the request may need either of two actions. Then both are listed.
    Ok(Explained {
        area: area.name.to_string(),
        allowed: decisions.iter().all(|(allowed, _)| *allowed) && !refused,
        reasons: decisions.into_iter().map(|(_, reason)| reason).collect(),
        members,
    })
}

/// Evaluates the access rules for one identity.
struct Judge<'a> {
    rules: &'a AreaRules,
    identity: &'a Identity,
    circumstances: Circumstances,
}

impl Judge<'_> {
    /// Returns whether the action is allowed, and the reason.
    fn decide(&self, action: &Action, path: &AccessPath) -> (bool, String) {
        let decision = rule::decide(self.rules, self.request(action, path));
        (decision.allowed(), decision.to_string())
    }

    fn may(&self, action: &Action, path: &AccessPath) -> bool {
        rule::decide(self.rules, self.request(action, path)).allowed()
    }

    fn request<'r>(&'r self, action: &'r Action, path: &'r AccessPath) -> rule::Request<'r> {
        rule::Request { identity: self.identity, action, path, circumstances: &self.circumstances }
    }
}

/// A path of the server and its path in the area.
struct Target {
    full: DavPath,
    below: DavPath,
    trailing_slash: bool,
}

/// Returns the area that contains a path.
fn find<'p>(plan: &'p Plan, area: Option<&str>, path: &str) -> Result<(&'p AreaPlan, Target), String> {
    let read = DavPath::parse(path.as_bytes(), &PathLimits::default());
    let read = read.map_err(|error| format!("{path}: {error}"))?;
    let mut best: Option<(&AreaPlan, usize, DavPath)> = None;
    for candidate in
        plan.storage_areas.iter().filter(|there| area.is_none_or(|area| area == there.name.as_str()))
    {
        for point in &candidate.access_points {
            let point = AccessPoint::parse(point)?.path;
            let Some(below) = read.path.strip_prefix(&point) else { continue };
            if best.as_ref().is_none_or(|(_, depth, _)| point.depth() > *depth) {
                best = Some((candidate, point.depth(), below));
            }
        }
    }
    let (found, _, below) = best.ok_or_else(|| match area {
        Some(area) => format!("{path} is not in a storage area {area}"),
        None => format!("{path} is in no storage area"),
    })?;
    Ok((found, Target { full: read.path, below, trailing_slash: read.trailing_slash }))
}

/// A path, with the kind of resource that exists there.
struct Resource {
    full: DavPath,
    below: DavPath,
    /// Kind of the resource; `None` if the files are not accessible from here.
    kind: Option<Kind>,
    is_directory: bool,
    trailing_slash: bool,
}

impl Resource {
    fn at(target: Target, tree: Option<&Tree>) -> Self {
        let Target { full, below, trailing_slash } = target;
        let kind = match tree.map(|tree| tree.metadata(&below)) {
            Some(Ok(metadata)) => Some(metadata.dav_kind()),
            Some(Err(StorageError::NotFound)) => Some(Kind::Missing),
            _ => None,
        };
        let is_directory = trailing_slash || kind == Some(Kind::Collection);
        Self { full, below, kind, is_directory, trailing_slash }
    }

    /// Returns the path that the access rules are applied to.
    fn access_path(&self) -> Result<AccessPath, String> {
        judged_as(&self.full, self.is_directory)
    }
}

fn judged_as(full: &DavPath, is_directory: bool) -> Result<AccessPath, String> {
    access_path(full, is_directory).map_err(|outcome| outcome.text().to_owned())
}

/// Returns the index file that a GET of a directory would send, if there is one.
fn index_of(area: &AreaPlan, tree: &Tree, directory: &Resource) -> Result<Option<AccessPath>, String> {
    let named = |path: &DavPath, name: &str| path.join(name.as_bytes()).map_err(|error| error.to_string());
    if directory.kind != Some(Kind::Collection) {
        return Ok(None);
    }
    for name in &area.index {
        if tree.metadata(&named(&directory.below, name)?).is_ok_and(|found| !found.is_directory()) {
            return judged_as(&named(&directory.full, name)?, false).map(Some);
        }
    }
    Ok(None)
}

/// Opens the files of the area, if they are accessible from here.
fn open(area: &AreaPlan) -> Option<Arc<Tree>> {
    let node = NodeId::new("explain").ok()?;
    let options = TreeOptions { symlinks: symlinks(area), ..TreeOptions::new(node, 0) };
    Tree::open_root(&area.root, options).ok()
}
