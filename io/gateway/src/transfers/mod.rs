//! The transfers between storage areas and other servers that are under way: how many there may be, how fast, and how they stand.

mod admission;
mod desk;
mod live;
mod pacer;

pub(crate) use desk::{Desk, TransferTls, Transfers};
pub(crate) use live::{About, End, Entry, Live, Stage};
