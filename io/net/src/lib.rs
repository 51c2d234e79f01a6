//! Sockets for the data path: non-blocking, polled directly, and spliced if the kernel can move the bytes.
//!
//! This crate knows nothing of HTTP, pools or servers. It also holds the interface between a proxy and a
//! service in the same process ([`service`]), because those two crates must not depend on each other.

mod attempts;
mod box_pool;
mod buffers;
mod counting;
mod listen;
mod memory;
mod namespace;
mod page_buffer;
mod page_cache;
mod pipe;
mod privileges;
mod secret;
pub mod service;
mod socket;
mod splice;
mod stream;
pub mod ticket;
mod ticks;
mod timer;
pub mod tls;

pub use attempts::connect_first;
pub use box_pool::BoxPool;
pub use buffers::BufferPool;
pub use listen::{Binder, ListenError, ListenOptions, ListenSocket, Listener, is_listened_on};
pub use memory::{GroupMemory, group_memory, own_memory, return_freed_memory};
pub use namespace::{become_root_of_namespace, enter_user_namespace, ignore_signals, keep_rights_over_users};
pub use page_buffer::PageBuffer;
pub use page_cache::is_cached;
pub use pipe::{Pipe, PipePool};
pub use privileges::{UserIds, become_user, is_root};
pub use secret::Secret;
pub use socket::{Peer, Socket};
pub use splice::{SpliceProgress, poll_splice};
pub use stream::Stream;
pub use ticks::Ticks;
pub use timer::{Deadline, Timers};
