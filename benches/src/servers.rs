//! Does a request cost more when there are ten thousand servers to choose from? All of them are one NGINX, at as many
//! addresses of the loopback network. Without health checks: five thousand a second would be measured with it.

mod beside;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use weir_balance::Algorithm;

use crate::cpu;
use crate::error::{Error, Result};
use crate::machine;
use crate::options::Servers;
use crate::process::{Cores, Process};
use crate::rivals::{Balancer, Contestant, Product, nginx_programs};
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
    let weir = Contestant::weir()?;
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
    let bench = Bench { options, workshop: &workshop, port, script: &script };
    let mut kept = true;
    let mut table = format!(
        "\nCPU a request with {} servers against {FEW}\n\n| algorithm | server connections | {FEW} servers | {} servers | ratio: median (min..max) | |\n|---|---|---|---|---|---|\n",
        options.many, options.many
    );
    for algorithm in measured(options) {
        for reuse in [false, true] {
            let rivals = if options.rivals && reuse && algorithm == Algorithm::RoundRobin {
                beside::rivals()?
            } else {
                Vec::new()
            };
            let contestants: Vec<_> = std::iter::once(weir.clone()).chain(rivals).collect();
            let all = bench.costs(algorithm, reuse, &contestants)?;
            let Some((costs, others)) = all.split_first() else { continue };
            let Some(ratio) = costs.of_many_to_few() else { continue };
            kept &= ratio.median <= RATIO_MAX;
            let verdict = if ratio.median <= RATIO_MAX { "kept" } else { "**missed**" };
            table.push_str(&row(&algorithm.to_string(), reuse, costs, verdict));
            for (rival, theirs) in contestants.iter().skip(1).zip(others) {
                let share = ratio_of(&costs.many, &theirs.many).map_or(0.0, |share| share.median);
                let verdict = format!("Weir: {share:.2} of it with {} servers", options.many);
                table.push_str(&row(&format!("{algorithm}, {}", rival.name), reuse, theirs, &verdict));
            }
        }
    }
    println!("{table}");
    Ok(kept)
}

/// What all turns have in common.
struct Bench<'a> {
    options: &'a Servers,
    workshop: &'a Workshop,
    /// Of all servers.
    port: u16,
    script: &'a Path,
}

impl Bench<'_> {
    /// What requests cost each of them, in turns with few servers and with many.
    fn costs(&self, algorithm: Algorithm, reuse: bool, contestants: &[Contestant]) -> Result<Vec<Costs>> {
        let mut all = vec![Costs::default(); contestants.len()];
        for turn in 0..self.options.repeats.max(1) {
            // Each begins as often.
            let sides = if turn % 2 == 0 { [true, false] } else { [false, true] };
            for is_few in sides {
                let count = if is_few { FEW } else { self.options.many };
                for (contestant, costs) in contestants.iter().zip(&mut all) {
                    let cost = self.turn(algorithm, reuse, contestant, count)?;
                    let (name, turn) = (&contestant.name, turn + 1);
                    eprintln!(
                        "{algorithm}, {name}, {count} servers, reuse {reuse}, turn {turn}: {cost:.2} us"
                    );
                    if is_few { costs.few.push(cost) } else { costs.many.push(cost) }
                }
            }
        }
        Ok(all)
    }

    fn turn(&self, algorithm: Algorithm, reuse: bool, contestant: &Contestant, count: usize) -> Result<f64> {
        let [bind] = free_addresses()?;
        let servers = addresses(count, self.port);
        let text = match contestant.product {
            Product::Weir => config_of(self.workshop, algorithm, reuse, bind, &servers),
            rival => beside::config_of(rival, bind, &servers),
        };
        let balancer = contestant.start_with(self.workshop, &text, bind)?;
        cost(&balancer, self.options, reuse, self.script)
    }
}

/// A line of the table.
fn row(who: &str, reuse: bool, costs: &Costs, verdict: &str) -> String {
    let Some(Spread { min, median: ratio, max }) = costs.of_many_to_few() else { return String::new() };
    let connections = if reuse { "kept" } else { "one a request" };
    let (few, many) = (median(&costs.few), median(&costs.many));
    format!(
        "| {who} | {connections} | {few:.2} us | {many:.2} us | {ratio:.2} ({min:.2}..{max:.2}) | {verdict} |\n"
    )
}

/// CPU a request, in microseconds, turn by turn.
#[derive(Debug, Clone, Default)]
struct Costs {
    few: Vec<f64>,
    many: Vec<f64>,
}

impl Costs {
    fn of_many_to_few(&self) -> Option<Spread> {
        ratio_of(&self.many, &self.few)
    }
}

/// Turn by turn.
fn ratio_of(one: &[f64], other: &[f64]) -> Option<Spread> {
    Spread::of(one.iter().zip(other).map(|(one, other)| one / other))
}

fn median(figures: &[f64]) -> f64 {
    Spread::of(figures.iter().copied()).map_or(0.0, |it| it.median)
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

/// Where so many servers listen.
fn addresses(count: usize, port: u16) -> Vec<SocketAddr> {
    (0..count).map(|at| (Ipv4Addr::from_bits(0x7f01_0001 + at as u32), port).into()).collect()
}

/// Weir's config.
fn config_of(
    workshop: &Workshop,
    algorithm: Algorithm,
    reuse: bool,
    bind: SocketAddr,
    servers: &[SocketAddr],
) -> String {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    let balance = balance_of(algorithm);
    let reuse = if reuse { "{ idle = 64, idle-timeout = \"10m\" }" } else { "false" };
    format!(
        "[weir]\nworkers = 1\nmax-connections = 1000\ncontrol = {control:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\npool = \"web\"\n\n\
         [pool.web]\nbalance = {balance}\nreuse = {reuse}\nservers = [{}]\n",
        servers.join(", "),
        control = workshop.path("weir.sock"),
    )
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
            measured(&Servers { many: 1, repeats: 1, seconds: 1, only: only.to_vec(), all, rivals: true })
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
