//! The files of one storage area: found without ever leaving its root, read, written whole or not at all, listed, copied,
//! moved and removed; and what is kept beside them: checksums, dead properties, locks.
//!
//! Knows no HTTP and no rules of access. Its calls block, as file calls do, and are meant for the threads of [`Disk`];
//! those that never wait for a disk or a network say so and can be called anywhere.

mod across;
mod acting;
mod change;
mod checksums;
mod closing;
mod content;
mod copy;
mod count;
mod disk;
mod displaced;
mod durability;
mod error;
mod failure;
mod fingerprint;
mod gate;
mod journal;
mod ledger;
mod listing;
mod locks;
mod metadata;
mod name_watch;
mod node;
mod notes;
mod open_file;
mod open_files;
mod partial;
mod properties;
mod remove;
mod rename;
mod reserved;
mod residency;
mod resource;
mod store;
mod sweep;
mod temporary;
mod tree;
mod upload;
mod usage;

pub use acting::LocalUser;
pub use change::Transferred;
pub use closing::Closing;
pub use copy::{CopyOptions, MayCopy};
pub use count::Count;
pub use disk::{Disk, DiskLoad};
pub use durability::Durability;
pub use error::StorageError;
pub use failure::Failure;
pub use gate::{Gate, Step};
pub use ledger::{Account, Ledger};
pub use listing::{Entry, Listing};
pub use locks::LockStore;
pub use metadata::{FileKind, Metadata, Timestamp};
pub use node::{NodeId, NodeIdError};
pub use open_file::OpenFile;
pub use open_files::OpenFiles;
pub use partial::{Partial, PartialId, PartialState, StartedFrom};
pub use residency::PORTION_BYTES;
pub use sweep::Swept;
pub use tree::{SymlinkPolicy, Tree, TreeOptions};
pub use upload::{Commit, Committed, Expectation, Prepared, Upload};
pub use usage::Usage;
