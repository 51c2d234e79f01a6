//! DELETE (RFC 9110 section 9.3.5, RFC 4918 section 9.6).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_access::Action;
use weir_dav::header::{Depth, DepthUse};
use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_net::service::Answer;
use weir_storage::Metadata;

use super::digest::GivenUp;
use crate::call::Call;
use crate::dav::{Act, Again, Members, Reply, failures, kind};
use crate::headers::require_conditions;
use crate::refusal::Refusal;

pub(crate) async fn answer(call: &mut Call) -> Result<Answer, Refusal> {
    let act = Act::of(call)?;
    let depth = call.request.header("Depth").map(<[u8]>::to_vec);
    let request = call.request.clone();
    // The removal can be cancelled until the resource is invisible. Then it is completed even if the client
    // leaves.
    let gone = GivenUp::default();
    let cancelled = Arc::clone(&gone.0);
    let remove = move |act: &Act| {
        let found = act.look()?;
        let directory = found.is_some_and(|metadata| metadata.is_directory());
        act.require(&Action::Delete, directory)?;
        let kind = kind(found.as_ref());
        act.allow(Method::Delete, kind)?;
        let metadata = found.ok_or(Outcome::NotFound)?;
        if directory {
            Depth::read(depth.as_deref(), DepthUse::Whole).map_err(weir_dav::header::HeaderError::outcome)?;
        }
        // Conditions apply to directories too. A client that names the version of a file must not delete a
        // directory that replaced it.
        require_conditions(&request, Some(&metadata))?;
        let changes = weir_dav::lock::changes(Method::Delete, (&act.place.path, kind), None);
        act.locked(&changes, |_| Ok(()))?;
        let still_meant = |now: Option<&Metadata>| {
            // A file that was replaced by a directory has members that were not checked.
            now.is_none_or(|now| now.is_directory() == directory) && require_conditions(&request, now).is_ok()
        };
        remove(act, directory, Again::new(act, changes, &still_meant), &cancelled)
    };
    // A directory may have a million members, which are checked and removed one by one.
    let seen = call.metadata_if(&call.place.path).await;
    let is_directory = seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.is_directory()));
    let removed = if is_directory { act.run_long(remove).await } else { act.run(remove).await };
    Ok(removed?.into())
}

fn remove(
    act: &Act,
    directory: bool,
    mut again: Again<'_>,
    cancelled: &AtomicBool,
) -> Result<Reply, Refusal> {
    if directory {
        let members = Members { asker: &act.asker, place: &act.place, cancelled };
        let denied =
            members.denied(&mut |full, directory| act.asker.may(&Action::Delete, full, directory))?;
        if !denied.is_empty() {
            return Ok(denied.reply());
        }
    }
    let path = &act.place.path;
    let durability = act.asker.area.durability();
    let removed = act.tree().remove_through(path, durability, &mut |step| again.pass(step, None));
    again.refusal()?;
    match removed {
        Ok(()) => {}
        Err(failure) if failure.path == *path => return Err(failure.error.into()),
        Err(failure) => {
            let full = act.place.prefix().append(&failure.path);
            return Ok(failures([(full, false, failure.error.outcome())]));
        }
    }
    // The resource is gone even if its locks cannot be removed; they expire.
    if act.locks().view().is_ok_and(|locks| locks.has_at_or_below(path)) {
        let _ = act.locks().update(|table| table.forget(path));
    }
    Ok(Reply::new(Outcome::Replaced))
}
