//! Message bodies: detection of their end (RFC 9112 sections 6 and 7).

mod chunked;
mod dechunk;
mod extension;
mod scanner;
mod trailer;

pub use chunked::{ChunkError, ChunkScanner};
pub use dechunk::Dechunker;
pub use scanner::BodyScanner;
pub use trailer::{TrailerFault, TrailerRules};
