//! The methods, one file for each or for a few that belong together. Each carries out one request, or says why not.

mod accel;
mod delete;
mod digest;
mod get;
mod lock;
mod mkcol;
mod options;
mod propfind;
mod proppatch;
mod put;
mod resumable;
mod transfer;
mod unlock;

use weir_dav::method::Method;
use weir_net::service::Answer;

use crate::area::Area;
use crate::call::Call;
use crate::dav::Act;
use crate::refusal::Refusal;
use crate::tpc;

pub(crate) use digest::{GivenUp, Wanted};
pub(crate) use get::{Wrapping, deliver, guard};
pub(crate) use put::receive;
pub(crate) use resumable::{Uploads, answer as answer_upload, upload_of};

/// Carries out a request.
pub(crate) async fn carry_out(call: &mut Call, method: Method) -> Result<Answer, Refusal> {
    if matches!(method, Method::Options | Method::Get | Method::Head) && call.request.header("If").is_some() {
        // The others judge it together with the locks that they need.
        Act::of(call)?.run(Act::judge_if).await?;
    }
    match method {
        Method::Options => options::options(call).await,
        Method::Get => get::get(call, false).await,
        Method::Head => get::get(call, true).await,
        Method::Put => put::put(call).await,
        Method::Delete => delete::answer(call).await,
        Method::Propfind => propfind::answer(call).await,
        Method::Proppatch => proppatch::answer(call).await,
        Method::Mkcol => mkcol::answer(call).await,
        Method::Copy => match tpc::asked(call)? {
            Some(elsewhere) => tpc::answer(call, elsewhere).await,
            None => transfer::answer(call, method).await,
        },
        Method::Move => transfer::answer(call, method).await,
        Method::Lock => lock::answer(call).await,
        Method::Unlock => unlock::answer(call).await,
    }
}

/// What OPTIONS says of the server as a whole.
pub(crate) fn of_server(area: &Area) -> Answer {
    options::of_server(area)
}
