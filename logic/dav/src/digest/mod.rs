//! Digests of file content, and their headers: Digest (RFC 3230), Repr-Digest and Content-Digest (RFC 9530).

mod algorithm;
mod error;
mod hasher;
mod instance;
mod structured;
#[cfg(test)]
mod tests;
mod value;

pub use algorithm::Algorithm;
pub use error::DigestError;
pub use hasher::Hasher;
pub use instance::{parse_content_md5, parse_digest, write_digest};
pub use structured::{parse_repr_digest, write_repr_digest};
pub use value::Digest;
