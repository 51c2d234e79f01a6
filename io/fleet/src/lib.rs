//! Executes the decisions of the autoscaler. A [`Provider`] creates, starts, stops and deletes machines. Each
//! intended action is written to a [`Journal`] first. Of several processes, one holds the [`Lease`].
//!
//! This crate decides nothing: `logic/scale` determines the number of machines and selects those to remove.
//! [`live`] is the loop that calls it, drains servers and executes the actions. Nothing here is [`Send`], and
//! much of it blocks briefly on the disk, so each fleet needs its own thread and runtime.
//!
//! Rules for each provider:
//! - It owns the machines with its fleet's tag, and changes nothing else.
//! - Actions are idempotent. Creating with a used token finds the existing machine. Stopping a stopped
//!   machine or deleting a missing one succeeds.
//! - Each error is a [`Failure`], which shows if the action may still have had an effect.

mod actuator;
mod backoff;
#[cfg(feature = "kubernetes")]
mod batch;
mod concurrent;
mod dial;
pub mod exec;
mod failure;
mod from_plan;
mod haproxy;
mod history;
mod http;
mod journal;
#[cfg(feature = "kubernetes")]
pub mod kubernetes;
mod lease;
pub mod live;
mod machine;
pub mod openstack;
mod pods;
pub mod process;
mod program;
mod provider;
mod steps;
mod storage;
mod time;
mod wish;
mod yaml;

pub use actuator::{Activity, Actuator, Settled, Trouble};
pub use backoff::Backoff;
pub use failure::{Failure, FailureKind};
pub use from_plan::{Reach, check, haproxy, open, reach, verify};
pub use haproxy::Haproxy;
pub use history::History;
pub use journal::{Action, Intent, Journal, Outcome};
pub use lease::{Candidate, Heard, Lease, LeaseError, SharedDemand, SharedWish};
pub(crate) use machine::token_of;
pub use machine::{BadToken, Machine, MachineId, MachineState, Token};
pub use provider::{Answer, Order, Provider};
pub use steps::Steps;
pub use wish::{Wish, WishFile};
