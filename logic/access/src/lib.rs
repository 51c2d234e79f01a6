//! Identities and claims decide who may do what: allow or deny, with a reason that people can read.
//!
//! Pure: the caller brings the time, the keys, the documents (key sets, password files, policies) and the [`Crypto`] library,
//! does what is slow on a thread of its own choice, and sends what comes out. Nothing here fetches, waits or remembers by itself.
//!
//! The way of a request: what it presents ([`identity`]; tokens are verified by [`jwt`] and [`wlcg`], passwords by
//! [`basic`]) settles on one [`identity::Identity`]; the rules of the storage area ([`rule`]) decide; a refusal becomes a
//! status and a challenge ([`www_authenticate`]). [`issue`] makes Weir's own tokens, [`redact`] keeps all of them out of
//! logs, [`convert`] carries a StoRM WebDAV configuration over.

mod action;
pub mod basic;
mod budget;
pub mod convert;
mod crypto;
pub mod identity;
pub mod issue;
pub mod jwt;
pub mod local;
mod path;
mod percent;
pub mod redact;
pub mod rule;
mod text;
pub mod wlcg;
pub mod www_authenticate;

pub use action::Action;
pub use crypto::{Crypto, PublicKey};
pub use path::{AccessPath, PathError};
