//! Resolves server names and looks them up again before the answer expires. Each distinct name needs one
//! lookup, whatever the number of its servers.

mod book;
mod duty;
mod lookup;
mod missing;
mod servers;
mod task;

#[cfg(test)]
mod tests;

pub(super) use book::{Learned, NameBook, NameUser};
pub(super) use duty::PATIENCE;
pub(super) use lookup::{Answer, Resolver};
pub(super) use task::{ask_new, keep_asking};
