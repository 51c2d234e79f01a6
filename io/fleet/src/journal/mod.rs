//! The journal: a file of JSON lines, two for each action. Each action is on disk before it is executed.
//!
//! The provider's list is authoritative. The journal only shows the actions that may have been in progress
//! when the process ended. A lost or damaged journal therefore costs no machine: Weir finds the machine by
//! its tag, or its creation had not begun.

mod entry;
mod file;

pub use entry::{Action, Intent, Outcome};
pub use file::Journal;
