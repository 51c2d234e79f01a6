//! The methods, one file for each or for a few that belong together. Each carries out one request, or says why not.

mod digest;
mod get;
mod options;
mod put;

use weir_dav::method::Method;
use weir_dav::outcome::Outcome;
use weir_net::service::Answer;

use crate::area::Area;
use crate::call::Call;
use crate::refusal::Refusal;

/// Carries out a request.
pub(crate) async fn carry_out(call: &mut Call, method: Method) -> Result<Answer, Refusal> {
    match method {
        Method::Options => options::options(call).await,
        Method::Get => get::get(call, false).await,
        Method::Head => get::get(call, true).await,
        Method::Put => put::put(call).await,
        Method::Delete
        | Method::Propfind
        | Method::Proppatch
        | Method::Mkcol
        | Method::Copy
        | Method::Move
        | Method::Lock
        | Method::Unlock => Err(Outcome::NotImplemented.into()),
    }
}

/// What OPTIONS says of the server as a whole.
pub(crate) fn of_server(area: &Area) -> Answer {
    options::of_server(area)
}
