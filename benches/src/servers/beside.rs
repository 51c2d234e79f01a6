//! HAProxy and NGINX with as many servers, clients and kept connections as Weir, to show the cost of ten
//! thousand sockets for any balancer.

use std::net::SocketAddr;

use weir_balance::Algorithm;

use crate::error::Result;
use crate::rivals::{Contestant, Product};

use super::backlog;

/// Returns the first HAProxy and the first NGINX.
pub(super) fn rivals() -> Result<Vec<Contestant>> {
    Ok(vec![Contestant::first(Product::HaProxy)?, Contestant::first(Product::Nginx)?])
}

/// Algorithm of the rivals that corresponds to one of Weir's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The servers in turn.
    Turns,
    /// The less busy one of two servers drawn at random.
    Draws,
}

impl Way {
    /// Returns the way for the two algorithms in whose rows rivals are measured: one that uses servers in
    /// order, and one that does not.
    pub(super) fn of(algorithm: Algorithm) -> Option<Self> {
        match algorithm {
            Algorithm::RoundRobin => Some(Self::Turns),
            Algorithm::Random => Some(Self::Draws),
            _ => None,
        }
    }

    /// Returns HAProxy's name. Its roundrobin takes at most 4,095 servers, so the static variant is used.
    fn of_haproxy(self) -> &'static str {
        match self {
            Self::Turns => "static-rr",
            Self::Draws => "random(2)",
        }
    }

    /// Returns NGINX's directive. Its default is to use servers in turn.
    fn of_nginx(self) -> &'static str {
        match self {
            Self::Turns => "",
            Self::Draws => "    random two least_conn;\n",
        }
    }
}

/// Returns a rival's config with these servers. It keeps server connections as long as they are used and has
/// no checks. It may open as many `sockets` as Weir.
pub(super) fn config_of(
    rival: Product,
    way: Way,
    bind: SocketAddr,
    clients: u32,
    sockets: usize,
    servers: &[SocketAddr],
) -> String {
    if rival.is_haproxy() {
        haproxy(way, bind, clients, sockets, servers)
    } else {
        nginx(way, bind, clients, sockets, servers)
    }
}

/// Returns HAProxy's config. The limits of its idle pool are relative to its descriptors, of which there are
/// enough. A purge would close some connections every five seconds.
fn haproxy(way: Way, bind: SocketAddr, clients: u32, sockets: usize, servers: &[SocketAddr]) -> String {
    // Most client connections; HAProxy opens twice as many files.
    let connections_max = sockets / 2;
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
  default_backend servers
backend servers
  balance {balance}
  default-server pool-purge-delay 1h
{list}",
        balance = way.of_haproxy()
    )
}

/// Returns NGINX's config, which keeps as many idle connections as it can ever have.
fn nginx(way: Way, bind: SocketAddr, clients: u32, sockets: usize, servers: &[SocketAddr]) -> String {
    let list: String = servers.iter().map(|server| format!("    server {server};\n")).collect();
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile {sockets};
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
{balance}{list}    keepalive {kept};
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
        balance = way.of_nginx(),
        backlog = backlog(clients),
        kept = sockets,
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
        let of = |rival, way| config_of(rival, way, bind, 10_000, 61_000, &servers);
        let haproxy = of(Product::HaProxy, Way::Turns);
        let nginx = of(Product::Nginx, Way::Turns);
        assert_eq!(haproxy.matches("\n  server s").count(), 10_000);
        assert_eq!(nginx.matches("\n    server 127.1.").count(), 10_000);
        assert!(haproxy.contains("  server s9999 127.1.39.16:81\n") && haproxy.contains("maxconn 30500\n"));
        assert!(nginx.contains("    server 127.1.39.16:81;\n    keepalive 61000;\n"));
        assert!(nginx.contains("worker_connections 61000;") && nginx.contains("worker_rlimit_nofile 61000;"));
        assert!(
            haproxy.contains("frontend web\n") && haproxy.contains("backend servers\n"),
            "one name for two"
        );
        assert!(haproxy.contains("  balance static-rr\n") && !nginx.contains("random"));
        assert!(of(Product::HaProxy, Way::Draws).contains("  balance random(2)\n"));
        // The directive comes before the servers, and before `keepalive`, which must follow the algorithm.
        assert!(
            of(Product::Nginx, Way::Draws)
                .contains("upstream web {\n    random two least_conn;\n    server ")
        );
    }
}
