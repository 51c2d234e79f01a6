//! Agents: one task for each server that has one, which asks it how the server is.

mod duty;
mod question;
mod task;

#[cfg(test)]
mod tests;

pub(super) use question::Question;
