//! HAProxy and NGINX with as many servers and clients, each with connections that are kept: what ten thousand sockets cost whoever has them.

use std::net::SocketAddr;

use crate::error::Result;
use crate::rivals::{Contestant, Product};

use super::backlog;

/// The first HAProxy and the first NGINX of all.
pub(super) fn rivals() -> Result<Vec<Contestant>> {
    Ok(vec![Contestant::first(Product::HaProxy)?, Contestant::first(Product::Nginx)?])
}

/// A rival's config with these servers: in turns, connections to servers kept for as long as they are used, no checks.
pub(super) fn config_of(rival: Product, bind: SocketAddr, clients: u32, servers: &[SocketAddr]) -> String {
    if rival.is_haproxy() { haproxy(bind, clients, servers) } else { nginx(bind, clients, servers) }
}

/// By turns that do not change (static-rr): roundrobin takes 4,095 servers at most. The limits of the pool of idle connections
/// are those of its descriptors, of which there are to be enough; a purge would close some every five seconds.
fn haproxy(bind: SocketAddr, clients: u32, servers: &[SocketAddr]) -> String {
    let connections_max = servers.len() + clients as usize + 2_000;
    let backlog = backlog(clients);
    let list: String =
        servers.iter().enumerate().map(|(at, server)| format!("  server s{at} {server}\n")).collect();
    format!(
        "global
  nbthread 1
  maxconn {connections_max}
  no strict-limits
  tune.pool-low-fd-ratio 90
  tune.pool-high-fd-ratio 95
defaults
  mode http
  option forwardfor
  http-reuse always
  timeout connect 3s
  timeout http-request 10s
  timeout http-keep-alive 60s
  timeout client 60s
  timeout server 60s
  timeout queue 1s
frontend web
  bind {bind} defer-accept backlog {backlog}
  default_backend web
backend web
  balance static-rr
  default-server pool-purge-delay 1h
{list}"
    )
}

/// Its round robin. Of idle connections it keeps as many as it may ever have.
fn nginx(bind: SocketAddr, clients: u32, servers: &[SocketAddr]) -> String {
    let list: String = servers.iter().map(|server| format!("    server {server};\n")).collect();
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
user root;
pid balancer.pid;
error_log stderr crit;
events {{ worker_connections {sockets}; }}
http {{
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 60s;
  keepalive_requests 1000000000;
  client_body_temp_path balancer-body;
  proxy_temp_path balancer-proxy;
  upstream web {{
{list}    keepalive {kept};
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }}
  server {{
    listen {bind} deferred backlog={backlog};
    location / {{
      proxy_pass http://web;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_connect_timeout 3s;
      proxy_read_timeout 60s;
      proxy_send_timeout 60s;
      proxy_max_temp_file_size 0;
    }}
  }}
}}
",
        backlog = backlog(clients),
        sockets = 2 * (servers.len() + clients as usize) + 4_096,
        kept = servers.len() + clients as usize,
    )
}

#[cfg(test)]
mod tests {
    use super::super::addresses;
    use super::*;

    #[test]
    fn rivals_have_every_server_and_room_for_a_kept_connection_to_each() {
        let bind = SocketAddr::from(([127, 0, 0, 1], 8080));
        let servers = addresses(10_000, 81);
        let haproxy = config_of(Product::HaProxy, bind, 10_000, &servers);
        let nginx = config_of(Product::Nginx, bind, 10_000, &servers);
        assert_eq!(haproxy.matches("\n  server s").count(), 10_000);
        assert_eq!(nginx.matches("\n    server 127.1.").count(), 10_000);
        assert!(haproxy.contains("  server s9999 127.1.39.16:81\n") && haproxy.contains("maxconn 22000\n"));
        assert!(nginx.contains("    server 127.1.39.16:81;\n    keepalive 20000;\n"));
    }
}
