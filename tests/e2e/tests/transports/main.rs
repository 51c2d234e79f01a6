//! Tests the layers below HTTP: TCP mode, the PROXY protocol, Unix sockets, TLS.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod certificates;
mod ipv6;
mod odd_names;
mod proxy_protocol;
mod s_client;
mod tcp_mode;
mod tls;
mod tls_peers;
mod tls_slow;
mod unix_sockets;
