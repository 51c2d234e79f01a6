//! Serves storage areas over HTTP and WebDAV.
//!
//! `logic/dav` parses the request, `logic/access` decides whether the client is permitted, and `io/storage`
//! reads and writes the files. This crate joins the three, with one file for each method.
//!
//! The proxy calls [`Gateway`] as a service (see [`weir_net::service`]). It never touches client sockets, and
//! no call waits for a disk on a worker's thread.

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
