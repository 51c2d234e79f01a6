//! Tests of HTTP/1 through Weir at byte level: RFC 9110, RFC 9112.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod extensions;
mod head_reads;
mod interim;
mod keep_alive;
mod legacy;
mod messages;
mod old_version;
mod upgrade;
