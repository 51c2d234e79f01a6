//! Server names: which addresses each means, asked for again before the answer runs out. One question for each distinct
//! name, however many servers have it.

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
