//! UNLOCK (RFC 4918 section 9.11).

use weir_access::Action;
use weir_dav::header::{HeaderError, LockToken};
use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_net::service::Answer;

use super::lock::refused;
use crate::call::Call;
use crate::clock::unix_now_s;
use crate::dav::{Act, kind};
use crate::headers::require_conditions;
use crate::refusal::Refusal;

pub(crate) async fn answer(call: &mut Call) -> Result<Answer, Refusal> {
    let text = call.request.header("Lock-Token").ok_or(Outcome::BadHeader)?;
    let token = LockToken::parse_header(text).map_err(HeaderError::outcome)?;
    let act = Act::of(call)?;
    let request = call.request.clone();
    let unlocking = act.run(move |act| {
        let found = act.look()?;
        act.require(&Action::Overwrite, found.is_some_and(|metadata| metadata.is_directory()))?;
        act.allow(Method::Unlock, kind(found.as_ref()))?;
        require_conditions(&request, found.as_ref())?;
        let principal = act.terms.principal();
        act.locks().update(|table| {
            act.terms.check(&act.asker.area, table, &act.place, &[])?;
            let unlocked = table.unlock(&act.place.path, &token, Some(principal), unix_now_s());
            unlocked.map_err(|error| refused(act, &error))
        })??;
        Ok(())
    });
    unlocking.await?;
    Ok(Answer::new(Outcome::Replaced.status()))
}
