//! Agent checks: one task per server asks the server's agent for its state.

mod duty;
mod question;
mod task;

#[cfg(test)]
mod tests;

pub(super) use question::Question;
