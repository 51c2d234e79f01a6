//! Configuration: TOML text -> Spec (what the file says) -> [`Plan`] (what is valid, by type).
//!
//! Reads no files and opens no sockets: the caller brings the texts. What needs the disk or the network (does this
//! certificate load, is this port free) is checked by the program.
//!
//! `load` takes these steps. Each reports what it finds and goes on, so that all errors are seen at once:
//!
//! - `syntax` parses the TOML and fills in environment variables;
//! - `values` puts files together, and checks the tree against the keys that `root` and the sections describe in
//!   the language of `schema`;
//! - `spec` reads typed values, section by section;
//! - `resolve` makes the sections fit together.
//!
//! Each section has a folder: `process`, `listener`, `pool`, `fleet`, `storage`, `tls`. There `keys` describes its
//! keys, `read` reads them, `plan` holds their valid values, `print` writes it back and `diff` compares it. `common`
//! holds what several sections share. Modules never import each other in a circle: sections import `common`, and
//! that imports `values`, `syntax` and `schema`. Only what holds the whole (`root`, `spec`, `plan`, `print`, `diff`,
//! `resolve`, `load`) imports all sections.

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
