//! Storage areas over HTTP and WebDAV: what a request asks for is decided by `logic/dav`, whether its client may by
//! `logic/access`, and the files are `io/storage`'s. This crate joins the three, one file for each method.
//!
//! Its [`Gateway`] is a service that the proxy calls (see [`weir_net::service`]); it knows no sockets of clients, and no call of
//! it waits for a disk on a worker's thread.

mod area;
mod areas;
mod call;
mod client;
mod clock;
mod credentials;
mod crypto;
mod dav;
mod dispatch;
mod error;
mod explain;
mod forgery;
mod gateway;
mod headers;
mod identity;
mod listing;
mod method;
mod offload;
mod password_login;
mod place;
mod refusal;
mod served_file;
mod single_flight;
mod slow_jobs;
mod token_endpoint;
mod tpc;
mod transfers;
mod unlocking;
mod upkeep;

pub use area::act_as::{act_as_users, check_act_as, check_act_as_for_uploads};
pub use area::cedar::{CedarChecked, check_cedar};
pub use credentials::check_vo_maps;
pub use error::GatewayError;
pub use explain::{Certificate, Explained, MembersExplained, Question, Who, explain};
pub use gateway::{Gateway, Node, Prepared};
pub use identity::{WrongKey, check_token_endpoint};
pub use password_login::{LoginRefusal, PasswordLogin};
pub use unlocking::Unlocking;
