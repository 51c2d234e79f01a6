//! Tests of the fleet's parts with real files, real processes and, for clouds, real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod actuator;
mod clouds;
#[cfg(feature = "kubernetes")]
mod clusters;
mod crash;
mod exec;
mod fake_cloud;
#[cfg(feature = "kubernetes")]
mod fake_cluster;
mod history;
#[cfg(feature = "sqlite")]
mod history_database;
mod journal;
#[cfg(feature = "kubernetes")]
mod kubernetes;
#[cfg(feature = "kubernetes")]
mod kubernetes_real;
mod live;
mod openstack;
mod openstack_real;
mod openstack_verify;
mod process;
mod tools;
mod wish;
