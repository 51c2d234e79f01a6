//! MKCOL (RFC 4918 section 9.3).

use weir_access::Action;
use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_net::service::{Answer, Request};

use crate::call::Call;
use crate::dav::{Act, has_no_body, kind};
use crate::headers::require_conditions;
use crate::refusal::Refusal;

pub(crate) async fn answer(call: &mut Call) -> Result<Answer, Refusal> {
    if !has_no_body(call).await? {
        return Err(Outcome::UnknownBody.into());
    }
    let request = call.request.clone();
    Act::of(call)?.run(move |act| make(act, &request)).await?;
    Ok(Answer::new(Outcome::Created.status()))
}

fn make(act: &Act, request: &Request) -> Result<(), Refusal> {
    act.require(&Action::MakeDirectory, true)?;
    let found = act.look()?;
    let kind = kind(found.as_ref());
    act.allow(Method::Mkcol, kind)?;
    require_conditions(request, found.as_ref())?;
    let path = &act.place.path;
    let changes = weir_dav::lock::changes(Method::Mkcol, (path, kind), None);
    let durability = act.asker.area.durability();
    Ok(act.through(&changes, |gate| act.tree().create_directory_through(path, durability, gate))??)
}
