//! What is going to be done is on disk before it is done: a file of JSON lines, two for each action.
//!
//! The provider is what is true; the journal tells only what may have been under way when the process ended. So a journal that
//! is lost or damaged costs no machine: what was under way is then found by its tag, or not begun.

mod entry;
mod file;

pub use entry::{Action, Intent, Outcome};
pub use file::Journal;
