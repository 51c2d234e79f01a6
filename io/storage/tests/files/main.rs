//! Tests of the storage crate with real files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changes;
mod checksums;
mod crash;
mod disk;
mod gates;
mod listing;
mod locks;
mod mounts;
mod open_files;
mod paths;
mod permissions;
mod properties;
mod quotas;
mod support;
mod sweep;
mod traced;
mod uploads;
