//! Running Weir: start, reload, stop.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command_line;
mod completion;
mod drain;
mod privileges;
mod reload;
mod removed_pools;
mod sockets;
mod start;
mod state_file;
mod stop;
