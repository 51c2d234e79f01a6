//! Files of one storage area. Clients' paths never lead out of its root. Files are read, written as a whole,
//! listed, copied, moved and removed. Checksums, dead properties and locks are kept with them.
//!
//! This crate knows neither HTTP nor access rules. Its calls block, as file calls do, and are meant for the
//! threads of [`Disk`]. Calls that never wait for a disk or a network say so and can be made anywhere.

mod across;
mod acting;
mod change;
mod changeable;
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
mod mode;
mod mounts;
mod moving;
mod name_watch;
mod namespace;
mod node;
mod notes;
mod open_file;
mod open_files;
mod partial;
mod permissions;
mod properties;
mod purpose;
mod remove;
mod rename;
mod reserved;
mod residency;
mod resource;
mod sharing;
mod store;
mod sweep;
mod temporary;
mod times;
mod tree;
mod turn;
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
pub use gate::{Gate, MoveGate, Step};
pub use ledger::{Account, Ledger};
pub use listing::{Entry, Listing};
pub use locks::LockStore;
pub use metadata::{FileKind, Metadata, Timestamp};
pub use moving::Moving;
pub use node::{NodeId, NodeIdError};
pub use open_file::OpenFile;
pub use open_files::OpenFiles;
pub use partial::{Partial, PartialId, PartialState, StartedFrom};
pub use residency::PORTION_BYTES;
pub use sweep::{Sweep, Swept};
pub use tree::{SymlinkPolicy, Tree, TreeOptions};
pub use upload::{Commit, Committed, Expectation, Prepared, Upload};
pub use usage::Usage;
