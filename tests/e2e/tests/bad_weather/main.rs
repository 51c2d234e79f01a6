//! Tests of slow, broken and malicious peers, and of exhausted resources.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod crowding;
mod descriptors;
mod fairness;
mod half_heads;
mod kept_bodies;
mod memory;
mod names;
mod readers;
mod resources;
mod servers;
mod servers_lost;
