//! Slow, broken and malicious peers, and a machine that runs out of things: what the client gets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod crowding;
mod descriptors;
mod fairness;
mod half_heads;
mod kept_bodies;
mod names;
mod readers;
mod resources;
mod servers;
mod servers_lost;
