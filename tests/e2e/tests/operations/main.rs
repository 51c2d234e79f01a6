//! Tests of the operation of Weir: start, reload, stop and the command line.

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
