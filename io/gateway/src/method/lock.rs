//! LOCK (RFC 4918 section 9.10). A lock keeps other clients from writing, so it requires the permission to
//! write. The rules decide that and, if the area acts as local users, the kernel too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_access::Action;
use weir_dav::header::{Depth, DepthUse, HeaderError, LockToken, TimeoutPolicy};
use weir_dav::lock::{Lock, LockError, LockLimits};
use weir_dav::method::{Kind, Method};
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::xml::{LockInfo, XmlError, XmlLimits, write_lock_answer};
use weir_net::service::{Answer, Request};
use weir_storage::{Commit, Durability, Expectation, StorageError, Upload};

use super::digest::GivenUp;
use crate::call::Call;
use crate::clock::unix_now_s;
use crate::crypto;
use crate::dav::{Act, Members, Reply, kind, with_prefix, xml_body};
use crate::headers::require_conditions;
use crate::refusal::Refusal;

pub(crate) async fn answer(call: &mut Call) -> Result<Answer, Refusal> {
    let timeout_s = TimeoutPolicy::default().grant(call.request.list("Timeout").as_deref());
    let depth = Depth::read(call.request.header("Depth"), DepthUse::Lock).map_err(HeaderError::outcome)?;
    let body = xml_body(call).await?;
    let act = Act::of(call)?;
    let request = call.request.clone();
    if body.is_empty() {
        return Ok(act.run(move |act| refresh(act, &request, timeout_s)).await?.into());
    }
    let info = LockInfo::parse(&body, &XmlLimits::default()).map_err(XmlError::outcome)?;
    let random = u128::from_be_bytes(crypto::random::<16>().ok_or(Outcome::Failed)?);
    let lock = Lock {
        token: LockToken::from_random(random),
        root: act.place.path.clone(),
        collection: false,
        scope: info.scope,
        infinite: depth == Depth::Infinity,
        owner: info.owner,
        principal: act.terms.principal().into(),
        expires_s: unix_now_s().saturating_add(timeout_s.into()),
    };
    // A directory may have a million members, which are checked one by one.
    let gone = GivenUp::default();
    let cancelled = Arc::clone(&gone.0);
    let seen = call.metadata_if(&call.place.path).await;
    let is_tree = lock.infinite && seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.is_directory()));
    let take = move |act: &Act| take(act, &request, lock, &cancelled);
    let taken = if is_tree { act.run_long(take).await } else { act.run(take).await };
    Ok(taken?.into())
}

fn take(act: &Act, request: &Request, lock: Lock, cancelled: &AtomicBool) -> Result<Reply, Refusal> {
    let found = act.look()?;
    let (kind, path) = (kind(found.as_ref()), &act.place.path);
    let directory = kind == Kind::Collection;
    let action = if kind == Kind::Missing { Action::Create } else { Action::Overwrite };
    act.require(&action, directory)?;
    act.allow(Method::Lock, kind)?;
    require_conditions(request, found.as_ref())?;
    if kind == Kind::Missing {
        require_parent(act, path)?;
    }
    act.tree().require_changeable(path)?;
    if directory && lock.infinite {
        let denied = Members { asker: &act.asker, place: &act.place, cancelled }.not_changeable()?;
        if !denied.is_empty() {
            return Ok(denied.reply_to_lock());
        }
    }
    let changes = weir_dav::lock::changes(Method::Lock, (path, kind), None);
    let limits = limits(act);
    let lock = Lock { collection: directory, ..lock };
    act.locks().update(|table| {
        act.terms.check(&act.asker.area, table, &act.place, &changes)?;
        // The resource may have been replaced since the first check. No write happens while the table is
        // changed.
        require_conditions(request, act.look()?.as_ref())?;
        table.lock(lock.clone(), unix_now_s(), limits).map_err(|error| refused(act, &error))
    })??;
    // Lock first, then create, so that the file is never visible without its lock.
    if kind == Kind::Missing
        && let Err(error) = make_empty(act, path)
    {
        act.locks().update(|table| table.unlock(path, &lock.token, None, unix_now_s()))?.ok();
        return Err(error.into());
    }
    let outcome = if kind == Kind::Missing { Outcome::Created } else { Outcome::Done };
    Ok(told(act, &lock, outcome).with("Lock-Token", lock.token.header()))
}

/// Refreshes the lock that the If header names, for a LOCK without body (RFC 4918 section 9.10.2).
fn refresh(act: &Act, request: &Request, timeout_s: u32) -> Result<Reply, Refusal> {
    let found = act.look()?;
    act.require(&Action::Overwrite, found.is_some_and(|metadata| metadata.is_directory()))?;
    act.allow(Method::Unlock, kind(found.as_ref()))?;
    require_conditions(request, found.as_ref())?;
    if !act.terms.has_if() {
        return Err(Outcome::BadHeader.into());
    }
    act.tree().require_changeable(&act.place.path)?;
    let token = act.terms.single_token().ok_or(Outcome::BadHeader)?;
    let lock = act.locks().update(|table| {
        act.terms.check(&act.asker.area, table, &act.place, &[])?;
        require_conditions(request, act.look()?.as_ref())?;
        let refreshed = table.refresh(&act.place.path, token, act.terms.principal(), timeout_s, unix_now_s());
        refreshed.cloned().map_err(|error| match error {
            LockError::NoSuchLock => Outcome::IfFailed.into(),
            error => refused(act, &error),
        })
    })??;
    Ok(told(act, &lock, Outcome::Done))
}

fn limits(act: &Act) -> LockLimits {
    let plan = &act.asker.area.plan;
    LockLimits { table_max: plan.locks_max as usize, principal_max: plan.locks_per_user_max as usize }
}

fn told(act: &Act, lock: &Lock, outcome: Outcome) -> Reply {
    let mut body = String::new();
    write_lock_answer(&mut body, &with_prefix(lock, &act.place.prefix()), unix_now_s());
    Reply::xml(outcome, body)
}

/// Converts an error of the lock table to a refusal.
pub(crate) fn refused(act: &Act, error: &LockError) -> Refusal {
    let prefix = act.place.prefix();
    let of_server = match error {
        LockError::Conflict(roots) => LockError::Conflict(
            roots.iter().map(|(root, collection)| (prefix.append(root), *collection)).collect(),
        ),
        error => error.clone(),
    };
    match of_server.condition() {
        Some(condition) => Refusal::Condition(of_server.outcome(), condition),
        None => of_server.outcome().into(),
    }
}

fn require_parent(act: &Act, path: &DavPath) -> Result<(), Refusal> {
    let parent = path.parent().ok_or(Outcome::ParentMissing)?;
    match act.tree().metadata(&parent) {
        Ok(metadata) if metadata.is_directory() => Ok(()),
        Ok(_) | Err(StorageError::NotFound) => Err(Outcome::ParentMissing.into()),
        Err(error) => Err(error.into()),
    }
}

/// Creates an empty file for a LOCK on an unmapped URL (RFC 4918 section 7.3).
fn make_empty(act: &Act, path: &DavPath) -> Result<(), StorageError> {
    let area = &act.asker.area;
    let upload = Upload::begin(&area.tree, &act.asker.disk, path, &[], None)?;
    let durability: Durability = area.durability();
    match upload.commit(Commit { durability, expect: Expectation::Nothing, digests: &[], length: None }) {
        // Another request has just created it.
        Ok(_) | Err(StorageError::Exists) => Ok(()),
        Err(error) => Err(error),
    }
}
