//! Access control: decides from verified identities and claims whether a request is allowed, and gives a
//! readable reason.
//!
//! The crate is pure. The caller provides the time, the keys, the documents (key sets, password files,
//! policies) and the [`Crypto`] library. It also runs slow checks on a thread of its choice and sends the
//! responses. This crate does no I/O, never waits, and keeps no global state.
//!
//! The steps for one request:
//!
//! 1. The credentials ([`identity`]) yield one [`identity::Identity`]. [`token`], [`jwt`] and [`wlcg`] verify tokens;
//!    [`basic`] verifies passwords.
//! 2. The rules of the storage area ([`rule`]) decide.
//! 3. A refusal becomes a status and a challenge ([`www_authenticate`]).
//!
//! In addition, [`issue`] makes Weir's own tokens, [`redact`] removes tokens from URLs before they are
//! logged, and [`convert`] translates a StoRM WebDAV configuration.

mod action;
mod algorithm;
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
pub mod token;
pub mod wlcg;
pub mod www_authenticate;

pub use action::Action;
pub use crypto::{Crypto, PublicKey};
pub use path::{AccessPath, PathError};
