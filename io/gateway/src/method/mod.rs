//! The methods, one file for each or for a few that belong together. Each carries out one request, or says why not.

mod accel;
mod delete;
mod digest;
mod get;
mod lock;
mod mkcol;
mod options;
mod plain;
mod propfind;
mod proppatch;
mod put;
mod resumable;
mod transfer;
mod unlock;

use std::pin::Pin;

use weir_dav::method::Method;
use weir_net::service::Answer;

use crate::area::Area;
use crate::call::Call;
use crate::dav::Act;
use crate::refusal::Refusal;
use crate::tpc;

pub(crate) use digest::{GivenUp, Wanted};
pub(crate) use get::{Wrapping, deliver, guard};
pub(crate) use plain::plain;
pub(crate) use put::receive;
pub(crate) use resumable::{Uploads, answer as answer_upload, upload_of};

/// Carries out a request.
pub(crate) async fn carry_out(call: &mut Call, method: Method) -> Result<Answer, Refusal> {
    if matches!(method, Method::Options | Method::Get | Method::Head) && call.request.header("If").is_some() {
        // The others judge it together with the locks that they need.
        Box::pin(Act::of(call)?.run(Act::judge_if)).await?;
    }
    // A future has room for the largest one within it: downloads are not to pay for the others'.
    let other: Pin<Box<dyn Future<Output = Result<Answer, Refusal>> + '_>> = match method {
        Method::Get => return get::get(call, false).await,
        Method::Head => return get::get(call, true).await,
        Method::Options => Box::pin(options::options(call)),
        Method::Put => Box::pin(put::put(call)),
        Method::Patch => Box::pin(put::patch(call)),
        Method::Delete => Box::pin(delete::answer(call)),
        Method::Propfind => Box::pin(propfind::answer(call)),
        Method::Proppatch => Box::pin(proppatch::answer(call)),
        Method::Mkcol => Box::pin(mkcol::answer(call)),
        Method::Copy => match tpc::asked(call)? {
            Some(elsewhere) => Box::pin(tpc::answer(call, elsewhere)),
            None => Box::pin(transfer::answer(call, method)),
        },
        Method::Move => Box::pin(transfer::answer(call, method)),
        Method::Lock => Box::pin(lock::answer(call)),
        Method::Unlock => Box::pin(unlock::answer(call)),
    };
    other.await
}

/// What OPTIONS says of the server as a whole.
pub(crate) fn of_server(area: &Area) -> Answer {
    options::of_server(area)
}
