//! Storage areas over HTTP and WebDAV: what a request asks for is decided by `logic/dav`, whether its client may by
//! `logic/access`, and the files are `io/storage`'s. This crate joins the three, one file for each method.
//!
//! Its [`Gateway`] is a service that the proxy calls (see [`weir_net::service`]); it knows no sockets of clients, and no call of
//! it waits for a disk on a worker's thread.

mod acting;
mod area;
mod call;
mod cedar;
mod client;
mod counters;
mod crypto;
mod dav;
mod error;
mod explain;
mod file;
mod flights;
mod forgery;
mod gateway;
mod headers;
mod identity;
mod issuing;
mod known;
mod lasting;
mod listing;
mod login;
mod method;
mod missing;
mod offload;
mod place;
mod refusal;
mod tpc;
mod unlocking;
mod upkeep;

pub use acting::{act_as_users, check_act_as, check_act_as_for_uploads};
pub use cedar::{CedarChecked, check_cedar};
pub use error::GatewayError;
pub use explain::{Certificate, Explained, MembersExplained, Question, Who, explain};
pub use gateway::{Gateway, Node, Prepared};
pub use identity::{WrongKey, check_token_endpoint, check_vo_maps};
pub use login::{LoginRefusal, PasswordLogin};
pub use unlocking::Unlocking;
