//! GET and HEAD through a proxy that sends the file itself (`X-Accel-Redirect`).

use std::borrow::Cow;
use std::sync::Arc;

use weir_dav::conditional::{Access, Conditions, Verdict};
use weir_dav::path::DavPath;
use weir_net::service::{Answer, Content};
use weir_storage::OpenFile;

use super::content_guard::guard;
use super::digest::Wanted;
use crate::call::Call;
use crate::headers::{cache_control, validators, with_validators};
use crate::place::Place;
use crate::refusal::Refusal;
use crate::served_file::ServedFile;

/// Responds to a GET or HEAD through a proxy that has the same files. The response names the file that the
/// client may have.
///
/// The proxy evaluates ranges and most conditions and sends validators of its own. Only `If-None-Match` and
/// `If-Modified-Since` are evaluated here, for proxies that pass Weir's validators on.
pub(super) async fn answer(
    call: &Call,
    place: &Place,
    file: Arc<OpenFile>,
    (prefix, content_type): (&DavPath, Cow<'static, str>),
    is_head: bool,
) -> Result<Answer, Refusal> {
    let served = ServedFile::new(file, &call.area);
    let validators = validators(served.file.metadata());
    let mut answer = with_validators(Answer::new(200), &validators);
    if let Some(value) = cache_control(call.area.plan.cache_control.as_deref(), &call.identity) {
        answer = answer.with("Cache-Control", value);
    }
    let if_none_match = call.request.list("If-None-Match");
    let conditions = Conditions {
        if_none_match: if_none_match.as_deref(),
        if_modified_since: call.request.header("If-Modified-Since"),
        ..Conditions::default()
    };
    let access = if is_head { Access::Head } else { Access::Get };
    if conditions.evaluate(access, Some(&validators), call.now_s) == Verdict::NotModified {
        answer.status = 304;
        return Ok(answer);
    }
    let wanted = Wanted::of(&call.request).within_rights(call, place)?;
    let (wanted, digests) = wanted.look_up(call, &place.path, &served.file).await?;
    let mut answer = wanted.say(answer, &digests);
    answer.headers.extend(guard(&call.area, &content_type));
    let uri = prefix.append(&place.path).href(false);
    Ok(answer.with("X-Accel-Redirect", uri).content(content_type, Content::Empty))
}
