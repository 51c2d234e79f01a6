//! Acts for the autoscaler: machines are created, started, stopped and deleted by a [`Provider`], every intended action is
//! written to a [`Journal`] before it is done, and of several processes one holds the [`Lease`].
//!
//! Decides nothing: how many machines there should be, and which of them goes, is `logic/scale`'s concern; [`live`] is the loop that
//! asks it, drains and acts. Nothing here is [`Send`], and much of it blocks on the disk for a moment: give a fleet a thread
//! and a runtime of its own.
//!
//! What holds for every provider:
//! - It owns what carries its fleet's tag, and touches nothing else.
//! - An action may be repeated: creating with a token that has been used finds the machine that is there, and stopping what is
//!   stopped or deleting what is gone is done already.
//! - Whatever fails says so as a [`Failure`] that tells whether it may have happened all the same.

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
