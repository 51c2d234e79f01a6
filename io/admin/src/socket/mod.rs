//! The control socket: a Unix socket that takes a command as a line of JSON and answers with a line of JSON, as often as
//! the caller likes. Who may open the file may give commands.

mod bind;
mod client;
mod connection;
mod line;
mod server;

pub use bind::BindError;
pub use client::{ClientError, ControlClient};
pub use server::ControlSocket;
