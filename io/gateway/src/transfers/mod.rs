//! Running transfers between storage areas and other servers: their limits, their rate and their state.

mod admission;
mod desk;
mod live;
mod pacer;

pub(crate) use desk::{Desk, TransferTls, Transfers};
pub(crate) use live::{About, End, Entry, Live, Stage};
