//! Does a request cost more when there are ten thousand servers to choose from? All of them are one NGINX, at as many
//! addresses of the loopback network. Without health checks: five thousand a second would be measured with it.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use weir_balance::Algorithm;

use crate::cpu;
use crate::error::{Error, Result};
use crate::machine;
use crate::options::Servers;
use crate::process::{Cores, Process};
use crate::rivals::{Balancer, Contestant, nginx_programs};
use crate::statistics::Spread;
use crate::workshop::{Workshop, free_addresses};
use crate::wrk::Load;

const FEW: usize = 3;
const CONNECTIONS: u32 = 64;

/// One of each way to choose: by turns, by keys that change with each request, by draws with and without measures, by time, by a ring, by
/// a table, and by draws of every server. Two minutes each.
const USUAL: [Algorithm; 8] = [
    Algorithm::RoundRobin,
    Algorithm::LeastConnections,
    Algorithm::Random,
    Algorithm::PeakEwma,
    Algorithm::LeastResponseTime,
    Algorithm::Ring,
    Algorithm::Maglev,
    Algorithm::Rendezvous,
];

/// So many different ones are asked for: with one, a hash would have one server.
const URIS: usize = 20_000;

/// More than that is too much.
const RATIO_MAX: f64 = 1.10;

/// `servers`: whether no algorithm costs more with many servers than it may.
pub(crate) fn run(options: &Servers) -> Result<bool> {
    // Each process has at most a connection to every server, and its own few files.
    machine::prepare(options.many as u64 + 4096)?;
    let contestant = Contestant::weir()?;
    let workshop = Workshop::open()?;
    let program = nginx_programs().into_iter().next().ok_or_else(|| Error::new("no NGINX"))?;
    let [own] = free_addresses()?;
    let port = own.port();
    let config = workshop.write("origin.conf", &origin(port))?;
    let log = workshop.path("origin.log");
    let mut command = Cores::Load.command(&program);
    command.arg("-p").arg(workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config);
    let mut origin = Process::start("origin", &mut command, None, &log)?;
    origin.wait_ready(own, false, &log)?;

    let script = workshop.write("uris.lua", &uris())?;
    let mut kept = true;
    let mut table = format!(
        "\nCPU a request with {} servers against {FEW}\n\n| algorithm | server connections | {FEW} servers | {} servers | ratio: median (min..max) | |\n|---|---|---|---|---|---|\n",
        options.many, options.many
    );
    for algorithm in measured(options) {
        for reuse in [false, true] {
            let (mut few, mut many) = (Vec::new(), Vec::new());
            for turn in 0..options.repeats.max(1) {
                // In turns, and each begins as often.
                let sides = if turn % 2 == 0 { [true, false] } else { [false, true] };
                for is_few in sides {
                    let count = if is_few { FEW } else { options.many };
                    let text = config_of(&workshop, algorithm, reuse, count, port)?;
                    let balancer = contestant.start_with(&workshop, &text.0, text.1)?;
                    let cost = cost(&balancer, options, reuse, &script)?;
                    eprintln!("{algorithm}, {count} servers, reuse {reuse}, turn {}: {cost:.2} us", turn + 1);
                    if is_few { few.push(cost) } else { many.push(cost) }
                }
            }
            let ratios = Spread::of(many.iter().zip(&few).map(|(many, few)| many / few));
            let median = |figures: &[f64]| Spread::of(figures.iter().copied()).map_or(0.0, |it| it.median);
            let Some(Spread { min, median: ratio, max }) = ratios else { continue };
            kept &= ratio <= RATIO_MAX;
            let verdict = if ratio <= RATIO_MAX { "kept" } else { "**missed**" };
            let _ = writeln!(
                table,
                "| {algorithm} | {} | {:.2} us | {:.2} us | {ratio:.2} ({min:.2}..{max:.2}) | {verdict} |",
                if reuse { "kept" } else { "one a request" },
                median(&few),
                median(&many),
            );
        }
    }
    println!("{table}");
    Ok(kept)
}

fn measured(options: &Servers) -> Vec<Algorithm> {
    match (options.all, options.only.as_slice()) {
        (true, _) => Algorithm::ALL.to_vec(),
        (false, []) => USUAL.to_vec(),
        (false, only) => only.to_vec(),
    }
}

fn cost(balancer: &Balancer, options: &Servers, reuse: bool, script: &Path) -> Result<f64> {
    let load = |duration| Load {
        address: balancer.address,
        path: "/1k",
        tls: false,
        closes: false,
        connections: CONNECTIONS,
        duration,
    };
    // Until every server has been used some times, and has what it takes at its first use (connections, histograms). As
    // long with few servers: what connections leave behind in the kernel is then the same.
    let warm_up = if reuse { 2 + options.many as u64 / 5_000 } else { 1 + options.many as u64 / 1_200 };
    load(Duration::from_secs(warm_up)).run_script(script)?;
    let before = cpu::cpu_time(balancer.process.pid());
    let report = load(Duration::from_secs(options.seconds.max(1))).run_script(script)?;
    let spent = cpu::cpu_time(balancer.process.pid()).saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e6 / report.requests as f64)
}

/// Weir's config, and where it listens.
fn config_of(
    workshop: &Workshop,
    algorithm: Algorithm,
    reuse: bool,
    count: usize,
    port: u16,
) -> Result<(String, SocketAddr)> {
    let [bind] = free_addresses()?;
    let servers: Vec<String> = (0..count)
        .map(|at| {
            let address = Ipv4Addr::from_bits(0x7f01_0001 + at as u32);
            format!("\"{address}:{port}\"")
        })
        .collect();
    let balance = balance_of(algorithm);
    let reuse = if reuse { "{ idle = 64, idle-timeout = \"10m\" }" } else { "false" };
    let text = format!(
        "[weir]\nworkers = 1\nmax-connections = 1000\ncontrol = {control:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\npool = \"web\"\n\n\
         [pool.web]\nbalance = {balance}\nreuse = {reuse}\nservers = [{}]\n",
        servers.join(", "),
        control = workshop.path("weir.sock"),
    );
    Ok((text, bind))
}

/// Algorithms that can go by any key go by the URI, the others by the client's address, of which there is one.
fn balance_of(algorithm: Algorithm) -> String {
    let by_address = matches!(algorithm, Algorithm::Source | Algorithm::NginxIpHash);
    if algorithm.takes_key() && !by_address {
        format!("{{ algorithm = \"{algorithm}\", key = \"uri\" }}")
    } else {
        format!("\"{algorithm}\"")
    }
}

/// wrk asks for another URI each time, in an order of no account. They are made in advance.
fn uris() -> String {
    format!(
        "local requests = {{}}
local turn = 0

function init()
  for index = 1, {URIS} do
    requests[index] = wrk.format(nil, string.format(\"/1k/%08x\", (index * 2654435761) % 4294967296))
  end
end

function request()
  turn = turn % {URIS} + 1
  return requests[turn]
end
"
    )
}

/// At every address of the loopback network.
fn origin(port: u16) -> String {
    format!(
        "daemon off;
worker_processes 1;
user root;
pid origin.pid;
error_log stderr crit;
events {{ worker_connections 32768; }}
http {{
  access_log off;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  tcp_nodelay on;
  client_body_temp_path origin-body;
  proxy_temp_path origin-proxy;
  server {{
    listen 0.0.0.0:{port} backlog=16384;
    location = /health {{ return 200; }}
    location / {{ return 200 \"{body}\"; }}
  }}
}}
",
        body = "x".repeat(1024)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_way_to_choose_is_measured_unless_others_are_named_or_all_are_wanted() {
        let of = |all, only: &[Algorithm]| {
            measured(&Servers { many: 1, repeats: 1, seconds: 1, only: only.to_vec(), all })
        };
        assert_eq!(of(false, &[]), USUAL);
        assert_eq!(of(false, &[Algorithm::Lblc]), [Algorithm::Lblc]);
        assert_eq!(of(true, &[]), Algorithm::ALL);
    }

    #[test]
    fn what_can_go_by_the_uri_does_and_the_rest_is_named_alone() {
        let by_uri = |algorithm: &Algorithm| balance_of(*algorithm).contains("key =");
        assert_eq!(balance_of(Algorithm::Source), "\"source\"");
        assert_eq!(balance_of(Algorithm::IpvsSh), "{ algorithm = \"ipvs-sh\", key = \"uri\" }");
        let expected = Algorithm::ALL.into_iter().filter(|algorithm| algorithm.takes_key()).count() - 2;
        assert_eq!(Algorithm::ALL.into_iter().filter(by_uri).count(), expected);
    }
}
