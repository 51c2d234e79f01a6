//! The control socket: a Unix socket that takes commands as lines of JSON and answers each with a line of
//! JSON. Any process that may open the file may send commands.

mod bind;
mod client;
mod connection;
mod line;
mod server;

pub use bind::BindError;
pub use client::{ClientError, ControlClient};
pub use server::ControlSocket;
