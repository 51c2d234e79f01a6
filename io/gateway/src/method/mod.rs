//! Method handlers, one file for each method or for a few related ones. Each carries out one request or
//! returns a refusal.

mod accel;
mod content_guard;
pub(crate) mod delete;
mod digest;
pub(crate) mod get;
pub(crate) mod lock;
pub(crate) mod mkcol;
pub(crate) mod options;
mod plain;
pub(crate) mod propfind;
pub(crate) mod proppatch;
pub(crate) mod put;
mod resumable;
pub(crate) mod transfer;
pub(crate) mod unlock;
mod upload;

use weir_net::service::Answer;

use crate::area::Area;

pub(crate) use content_guard::guard;
pub(crate) use digest::{GivenUp, Wanted};
pub(crate) use get::{Wrapping, deliver};
pub(crate) use plain::plain;
pub(crate) use resumable::{answer as answer_upload, upload_of};
pub(crate) use upload::receive;

/// Responds to `OPTIONS *`, which is about the whole server.
pub(crate) fn of_server(area: &Area) -> Answer {
    options::of_server(area)
}
