//! Configuration: TOML text -> Spec (what the file says) -> [`Plan`] (what is valid, by type).
//!
//! Reads no files and opens no sockets: the caller brings the texts. What needs the disk or the network (does this
//! certificate load, is this port free) is checked by the program.
//!
//! The steps, each reporting what it finds and going on, so that all errors are seen at once: `read` parses the TOML
//! and fills in environment variables, `merge` puts files together, `shape` checks the tree against the tables of
//! `keys`, `spec` reads typed values, `resolve` makes them fit together.

mod context;
mod diagnostic;
pub mod diff;
mod environment;
mod expression;
mod foreign;
mod key_reader;
mod keys;
pub mod lab;
mod load;
mod merge;
mod outline;
pub mod plan;
mod print;
mod quantity;
mod read;
mod reference;
mod render;
mod resolve;
mod scalar;
pub mod scaling;
mod schema;
mod secrets;
mod shape;
pub mod simulation;
mod source;
mod spec;
mod subject;
mod suggest;
mod table;
mod tree;
mod written;

pub use diagnostic::{Diagnostic, Place, Severity};
pub use key_reader::KeyReader;
pub use load::{Flawed, Loaded, Outside, examine, load, load_with};
pub use plan::Plan;
pub use print::{host_text, path_text, print};
pub use reference::reference;
pub use render::render;
pub use schema::schema;
pub use secrets::Secrets;
pub use source::Source;
pub use suggest::closest;

#[cfg(test)]
mod tests;
