//! PROPPATCH (RFC 4918 section 9.2).

use weir_access::Action;
use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_dav::path::DavPath;
use weir_dav::xml::{
    CONTENT_TYPE, Condition, LiveProperty, Multistatus, PropName, Property, PropertyUpdate, Response,
    XmlLimits, parse_proppatch, win32_modified_s,
};
use weir_net::service::{Answer, Content, Request};
use weir_storage::{Metadata, StorageError};

use crate::call::Call;
use crate::dav::{Act, Again, kind, xml_body};
use crate::headers::require_conditions;
use crate::refusal::Refusal;

pub(crate) async fn answer(call: &mut Call) -> Result<Answer, Refusal> {
    let body = xml_body(call).await?;
    let updates = parse_proppatch(&body, &XmlLimits::default()).map_err(weir_dav::xml::XmlError::outcome)?;
    let act = Act::of(call)?;
    let request = call.request.clone();
    let text = act.run(move |act| carry_out(act, &request, &updates)).await?;
    Ok(Answer::new(Outcome::MultiStatus.status()).content(CONTENT_TYPE, Content::Bytes(text.into_bytes())))
}

fn carry_out(act: &Act, request: &Request, updates: &[PropertyUpdate]) -> Result<String, Refusal> {
    let found = act.look()?;
    let directory = found.is_some_and(|metadata| metadata.is_directory());
    act.require(&Action::Overwrite, directory)?;
    let kind = kind(found.as_ref());
    act.allow(Method::Proppatch, kind)?;
    require_conditions(request, found.as_ref())?;
    let changes = weir_dav::lock::changes(Method::Proppatch, (&act.place.path, kind), None);
    if updates.iter().any(|update| fault(update).is_some()) {
        act.locked(&changes, |_| Ok(()))?;
        return Ok(write(&act.place.full, directory, updates, None));
    }
    // The resource may have been replaced since the first check.
    let still_meant = |now: Option<&Metadata>| require_conditions(request, now).is_ok();
    let mut again = Again::new(act, changes, &still_meant);
    let durability = act.asker.area.durability();
    let updated = act
        .tree()
        .update_properties_through(&act.place.path, updates, durability, &mut |step| again.pass(step, None));
    again.refusal()?;
    let outcome = match updated {
        Ok(_) => Some(Outcome::Done),
        // Errors about the values are reported for the properties, other errors for the resource.
        Err(error @ (StorageError::Full | StorageError::OverQuota)) => Some(error.outcome()),
        Err(error) => return Err(error.into()),
    };
    Ok(write(&act.place.full, directory, updates, outcome))
}

/// Returns the reason why an instruction can never be carried out, whatever the target is.
fn fault(update: &PropertyUpdate) -> Option<(Outcome, Option<Condition>)> {
    if LiveProperty::from_name(update.name()).is_some_and(LiveProperty::is_protected) {
        return Some((Outcome::ProtectedProperty, Some(Condition::CannotModifyProtectedProperty)));
    }
    win32_modified_s(update)?.is_err().then_some((Outcome::BadPropertyValue, None))
}

/// Writes the multi-status body. `outcome` applies to all properties; `None` means that some were invalid and
/// the others failed because of them.
fn write(path: &DavPath, directory: bool, updates: &[PropertyUpdate], outcome: Option<Outcome>) -> String {
    let mut response = Response::new(path, directory);
    let mut named: Vec<&PropName> = Vec::new();
    for update in updates {
        let name = update.name();
        if named.contains(&name) {
            continue;
        }
        named.push(name);
        let property = Property::Name(name);
        let (outcome, condition) = match outcome {
            Some(outcome) => (outcome, None),
            None => fault(update).unwrap_or((Outcome::FailedDependency, None)),
        };
        response.add(&property, outcome, condition);
    }
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    multistatus.response(&mut out, &response);
    multistatus.end(&mut out);
    out
}
