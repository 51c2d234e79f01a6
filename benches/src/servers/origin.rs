//! All servers: one NGINX at every address of the loopback network, and its counters.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::process::{Cores, Process};
use crate::rivals::nginx_programs;
use crate::workshop::{HOST, Workshop, free_addresses};

/// Requests a second that NGINX answers under `/held`; the others wait, each on its connection.
pub(super) const HELD_PER_S: u64 = 5_000;

/// One NGINX, which ends when this is dropped.
pub(super) struct Origin {
    own: SocketAddr,
    _process: Process,
}

/// NGINX's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// Connections since its start.
    pub(super) accepted: u64,
    /// Requests since its start.
    pub(super) requests: u64,
    /// Requests in progress, without the one that reads the counters.
    pub(super) waiting: u64,
}

impl Origin {
    /// Starts it with room for `connections` connections, of which at most `held` have a request at once.
    pub(super) fn start(workshop: &Workshop, connections: usize, held: usize) -> Result<Self> {
        let program = nginx_programs().into_iter().next().ok_or_else(|| Error::new("no NGINX"))?;
        let [own] = free_addresses()?;
        let files = workshop.path("files").display().to_string();
        let config = workshop.write("origin.conf", &config(own.port(), connections, held, &files))?;
        let log = workshop.path("origin.log");
        let mut command = Cores::Load.command(&program);
        command.arg("-p").arg(workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config);
        let mut process = Process::start("origin", &mut command, None, &log)?;
        process.wait_ready(own, false, &log)?;
        Ok(Self { own, _process: process })
    }

    /// Returns the port of all servers.
    pub(super) fn port(&self) -> u16 {
        self.own.port()
    }

    /// Reads the counters.
    pub(super) fn counts(&self) -> Result<Counts> {
        let tried = || format!("asking the origin, {}, for its counts", self.own);
        let mut stream = TcpStream::connect(self.own).context(tried())?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).context(tried())?;
        let request = format!("GET /counts HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).context(tried())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context(tried())?;
        counts_in(&answer).ok_or_else(|| Error::new(format!("{}: {answer}", tried())))
    }
}

/// Returns the addresses of `count` servers.
pub(super) fn addresses(count: usize, port: u16) -> Vec<SocketAddr> {
    (0..count).map(|at| (Ipv4Addr::from_bits(0x7f01_0001 + at as u32), port).into()).collect()
}

/// Returns NGINX's config. It accepts all waiting connections at once; one at a time would answer clients
/// that start together in random order. `/held` serves a file, because NGINX sends a generated response
/// (`return`) before it applies `limit_req`.
fn config(port: u16, connections: usize, held: usize, files: &str) -> String {
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile {connections};
user root;
pid origin.pid;
error_log stderr crit;
events {{ worker_connections {connections}; multi_accept on; }}
http {{
  access_log off;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  tcp_nodelay on;
  client_body_temp_path origin-body;
  proxy_temp_path origin-proxy;
  open_file_cache max=10 inactive=1h;
  open_file_cache_valid 1h;
  limit_req_zone $server_port zone=held:64k rate={HELD_PER_S}r/s;
  server {{
    listen 0.0.0.0:{port} backlog={backlog};
    location = /health {{ return 200; }}
    location = /counts {{ stub_status; }}
    location /held {{
      limit_req zone=held burst={burst};
      root {files};
      rewrite ^ /1k break;
    }}
    location / {{ return 200 \"{body}\"; }}
  }}
}}
",
        backlog = held.max(16_384),
        // Requests of the previous turn may still be among them.
        burst = 3 * held.max(1_000),
        body = "x".repeat(1024)
    )
}

/// Parses the output of stub_status.
fn counts_in(answer: &str) -> Option<Counts> {
    let mut lines = answer.lines();
    lines.find(|line| line.starts_with("server accepts"))?;
    let mut numbers = lines.next()?.split_whitespace().map(str::parse::<u64>);
    let (accepted, _handled) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let requests = numbers.next()?.ok()?;
    let mut words = lines.next()?.split_whitespace().skip_while(|word| *word != "Writing:");
    let writing = words.nth(1)?.parse::<u64>().ok()?;
    Some(Counts { accepted, requests, waiting: writing.saturating_sub(1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_who_asks_does_not_count_among_those_who_wait() {
        let answer = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nConnection: close\r\n\r\n\
            Active connections: 10002 \nserver accepts handled requests\n 20010 20010 184220 \n\
            Reading: 0 Writing: 9999 Waiting: 3 \n";
        let expected = Counts { accepted: 20_010, requests: 184_220, waiting: 9_998 };
        assert_eq!(counts_in(answer), Some(expected));
        assert_eq!(counts_in("HTTP/1.1 503 Service Unavailable\r\n\r\n"), None);
    }

    #[test]
    fn the_origin_holds_more_requests_than_all_clients_have() {
        let config = config(81, 70_000, 10_000, "/dev/shm/files");
        assert!(config.contains("limit_req zone=held burst=30000;"), "{config}");
        assert!(config.contains("events { worker_connections 70000; multi_accept on; }"), "{config}");
        assert!(config.contains("listen 0.0.0.0:81 backlog=16384;"), "{config}");
    }
}
