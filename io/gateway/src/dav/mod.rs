//! Parts that the WebDAV methods share.

mod act;
mod asker;
mod body;
mod describe;
mod members;
mod reply;
mod terms;
mod walk;

pub(crate) use act::{Act, Again, kind, look};
pub(crate) use asker::Asker;
pub(crate) use body::{has_no_body, xml_body};
pub(crate) use describe::{Describer, with_prefix};
pub(crate) use members::{Denied, Members, failures};
pub(crate) use reply::Reply;
pub(crate) use terms::{Terms, own_names};
pub(crate) use walk::Walk;
