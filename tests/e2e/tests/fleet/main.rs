//! Tests of fleets of real processes: they follow demand, lose no request, and survive crashes of Weir.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod check;
mod clients;
mod crash;
mod cycles;
mod demand;
mod figures;
mod haproxy;
mod haproxy_template;
mod history;
mod kubernetes_real;
mod leases;
mod openstack_real;
mod operator;
mod place;
mod slow;
