//! Configuration: TOML text -> Spec (the values of the file) -> [`Plan`] (the valid settings, by type).
//!
//! This crate reads no files and opens no sockets: the caller passes the texts. The program makes the checks
//! that need the disk or the network, such as certificates and free ports.
//!
//! `load` takes these steps. Each reports its errors and continues, so that the operator sees all errors at
//! once:
//!
//! - `syntax` parses the TOML and fills in environment variables.
//! - `values` merges files, and checks the tree against the keys that `root` and the sections define with
//!   `schema`.
//! - `spec` reads typed values, section by section.
//! - `resolve` resolves references between sections.
//!
//! Each section has a folder: `process`, `listener`, `pool`, `fleet`, `storage`, `tls`. In it, `keys` defines
//! the keys, `read` reads them, `plan` holds the valid values, `print` writes them back and `diff` compares
//! them. `common` holds code that several sections share.
//!
//! Modules never import each other in a cycle. Sections import `common`, which imports `values`, `syntax` and
//! `schema`. Only the modules for the whole config import all sections: `root`, `spec`, `plan`, `print`,
//! `diff`, `resolve` and `load`.

mod common;
pub mod diff;
mod fleet;
pub mod lab;
mod listener;
mod load;
pub mod plan;
mod pool;
mod print;
mod process;
mod reference;
mod resolve;
mod root;
pub mod scaling;
mod schema;
mod secrets;
pub mod simulation;
mod spec;
mod storage;
mod syntax;
mod tls;
mod values;

pub use common::patterns::{host_text, path_text};
pub use load::{Flawed, Loaded, examine, load, load_with};
pub use plan::Plan;
pub use pool::key_reader::KeyReader;
pub use print::print;
pub use reference::{reference, schema};
pub use secrets::Secrets;
pub use syntax::diagnostic::{Diagnostic, Place, Severity};
pub use syntax::outside::Outside;
pub use syntax::render::render;
pub use syntax::source::Source;
pub use values::suggest::closest;

#[cfg(test)]
mod tests;
