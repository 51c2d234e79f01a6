//! `weir storage explain`: what a storage area would decide, and by which rule.

use weir_access::identity::{BasicUser, Identity, X509Subject};
use weir_access::{AccessPath, Action, rule};
use weir_config::Plan;
use weir_config::plan::AreaPlan;
use weir_dav::method::{Kind, Method};
use weir_dav::path::{DavPath, PathLimits};
use weir_storage::{NodeId, StorageError, Tree, TreeOptions};

use crate::area::symlinks;
use crate::call::unix_now_s;
use crate::identity::Identifier;
use crate::place::{AccessPoint, access_path};

/// As whom a request is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// Nobody in particular.
    Anonymous,
    /// The bearer of this token.
    Token(String),
    /// The user of this name, as if the password were right.
    User(String),
    /// The subject of a client certificate, as RFC 2253 writes it.
    Certificate(String),
}

/// A decision, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// The area that the path is in.
    pub area: String,
    /// Whether the request may go on.
    pub allowed: bool,
    /// Each action that the request asks for, and why it is allowed or not.
    pub reasons: Vec<String>,
}

/// What becomes of a request for `path` (as a URL has it). `area`: in this one; else in the one whose access point is the longest.
/// Fetches the keys of a token's issuer if need be. Blocks.
///
/// # Errors
/// There is no such area, or the request is none.
pub fn explain(
    plan: &Plan,
    area: Option<&str>,
    who: Who,
    method: &str,
    path: &str,
) -> Result<Explained, String> {
    let method =
        Method::parse(method.as_bytes()).ok_or(format!("{method} is not a method of storage areas"))?;
    let limits = PathLimits::default();
    let read = DavPath::parse(path.as_bytes(), &limits);
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
    let (area, _, below) = best.ok_or_else(|| match area {
        Some(area) => format!("{path} is not in a storage area {area}"),
        None => format!("{path} is in no storage area"),
    })?;
    let kind = kind_of(area, &below);
    let texts: Vec<&str> = area.access_points.iter().map(String::as_str).collect();
    let rules = area.access.resolve(area.name.as_str(), &texts).map_err(|error| error.to_string())?;
    let is_directory = read.trailing_slash || kind == Some(Kind::Collection);
    let full = access_path(&read.path, is_directory).map_err(|outcome| outcome.text().to_owned())?;
    let identity = identity(plan, who)?;
    let decisions: Vec<(bool, String)> = actions(method, kind, &full)
        .into_iter()
        .map(|action| {
            let request = rule::Request { identity: &identity, action: &action, path: &full };
            let decision = rule::decide(&rules, request);
            (decision.allowed(), decision.to_string())
        })
        .collect();
    // What might be either of two must be permitted for the one that it is; where that is not known, both are told.
    Ok(Explained {
        area: area.name.to_string(),
        allowed: decisions.iter().all(|(allowed, _)| *allowed),
        reasons: decisions.into_iter().map(|(_, reason)| reason).collect(),
    })
}

/// What is there, if that can be seen from here.
fn kind_of(area: &AreaPlan, path: &DavPath) -> Option<Kind> {
    let node = NodeId::new("explain").ok()?;
    let options = TreeOptions { symlinks: symlinks(area), ..TreeOptions::new(node, 0) };
    let tree = Tree::open_root(&area.root, options).ok()?;
    match tree.metadata(path) {
        Ok(metadata) => Some(metadata.dav_kind()),
        Err(StorageError::NotFound) => Some(Kind::Missing),
        Err(_) => None,
    }
}

/// What a request asks for at its path: not for members of a directory, nor at a destination. A MOVE is judged as a
/// renaming that stays where it is.
fn actions(method: Method, kind: Option<Kind>, path: &AccessPath) -> Vec<Action> {
    match (method, kind) {
        (Method::Options, _) => vec![Action::Stat],
        (Method::Get | Method::Head, Some(Kind::Collection)) => vec![Action::List],
        (Method::Head, _) => vec![Action::Stat],
        (Method::Copy | Method::Propfind, Some(Kind::Collection)) => vec![Action::Stat, Action::List],
        (Method::Get | Method::Copy, _) => vec![Action::Read],
        (Method::Propfind, Some(_)) => vec![Action::Stat],
        (Method::Propfind, None) => vec![Action::Stat, Action::List],
        (Method::Put, Some(Kind::Missing)) => vec![Action::Create],
        (Method::Put, Some(_)) => vec![Action::Overwrite],
        (Method::Put, None) => vec![Action::Create, Action::Overwrite],
        (Method::Mkcol, _) => vec![Action::MakeDirectory],
        (Method::Delete, _) => vec![Action::Delete],
        (Method::Move, _) => vec![Action::Rename { to: path.clone() }],
        (Method::Lock, Some(Kind::Missing)) => vec![Action::Create],
        (Method::Proppatch | Method::Lock | Method::Unlock, _) => vec![Action::Overwrite],
    }
}

fn identity(plan: &Plan, who: Who) -> Result<Identity, String> {
    match who {
        Who::Anonymous => Ok(Identity::Anonymous),
        Who::User(name) => Ok(Identity::Basic(BasicUser { name })),
        Who::Certificate(subject) => {
            Ok(Identity::X509(Box::new(X509Subject { subject, ..X509Subject::default() })))
        }
        Who::Token(token) => {
            let identifier = Identifier::new(&plan.token_issuers, &Identifier::default())?;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| format!("event loop: {error}"))?;
            let bearer = runtime.block_on(identifier.bearer(&token, unix_now_s()));
            bearer.map_err(|error| format!("the token does not hold: {error}"))
        }
    }
}
