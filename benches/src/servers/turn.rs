//! CPU of a balancer per request in one turn, and its number of server connections.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::connection_use::Usage;
use crate::cpu;
use crate::error::{Context, Error, Result};
use crate::options::Servers;
use crate::rivals::Balancer;
use crate::workshop::Workshop;
use crate::wrk::Load;

use super::origin::{HELD_PER_S, Origin};

/// Clients in the cases in which the number of clients does not determine the number of server connections.
pub(super) const FEW_CLIENTS: u32 = 64;

/// Number of different URIs; with a single one, a hash would always choose the same server.
const URIS: usize = 20_000;

/// Length of a turn with held connections relative to other turns, because fewer requests are answered in the
/// same time.
const HELD_TURNS: u64 = 3;

/// Attempts at a turn in which too few connections were in use.
const TRIES: usize = 3;

impl Usage {
    /// All uses; those with a requirement come first.
    const ALL: [Self; 3] = [Self::OneARequest, Self::Held, Self::KeptByFew];

    /// Returns the requested uses, or all.
    pub(super) fn measured(options: &Servers) -> Vec<Self> {
        if options.usage.is_empty() { Self::ALL.to_vec() } else { options.usage.clone() }
    }

    pub(super) fn reuses(self) -> bool {
        self != Self::OneARequest
    }

    /// Returns whether the ratio of many servers to few shows the cost of servers.
    pub(super) fn is_fair(self) -> bool {
        self != Self::KeptByFew
    }

    /// Returns the number of client connections.
    pub(super) fn clients(self, options: &Servers) -> u32 {
        if self == Self::Held { options.connections.max(1) } else { FEW_CLIENTS }
    }
}

/// Result of one turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// CPU per request in microseconds.
    pub(super) cost_us: f64,
    /// Established connections from the balancer to servers, at the end of the load.
    pub(super) established: usize,
    /// Connections to servers that were opened, per request, for held connections.
    pub(super) opened: f64,
}

/// Scripts by which wrk requests another URI each time, for immediate and for held responses.
pub(super) struct Scripts {
    at_once: PathBuf,
    held: PathBuf,
}

impl Scripts {
    pub(super) fn write(workshop: &Workshop) -> Result<Self> {
        let at_once = workshop.write("uris.lua", &uris("/1k"))?;
        Ok(Self { at_once, held: workshop.write("held.lua", &uris("/held"))? })
    }
}

/// Measures a balancer that has just been started. With a connection for each request, [`measure_both`] is
/// more precise.
pub(super) fn measure(
    balancer: &Balancer,
    usage: Usage,
    options: &Servers,
    origin: &Origin,
    scripts: &Scripts,
) -> Result<Turn> {
    match usage {
        Usage::Held => {
            let mut last = None;
            for _ in 0..TRIES {
                match held(balancer, options, origin, scripts)? {
                    Ok(turn) => return Ok(turn),
                    Err(in_use) => last = Some(in_use),
                }
            }
            let (in_use, clients) = (last.unwrap_or(0), usage.clients(options));
            Err(Error::new(format!(
                "{in_use} connections to servers were in use, not {clients}: {HELD_PER_S}/s are too many here"
            )))
        }
        Usage::OneARequest | Usage::KeptByFew => by_few(balancer, options, origin, scripts),
    }
}

/// Measures two balancers that have just been started and open a connection for each request, one with few
/// servers and one with many. They alternate second by second for the length of a turn. The kernel's cost of
/// opening and closing connections varies within ten seconds by more than the measured difference, so both
/// must get the same conditions.
pub(super) fn measure_both(both: [&Balancer; 2], options: &Servers, scripts: &Scripts) -> Result<[Turn; 2]> {
    // Runs until every server was used several times and has allocated what it needs at its first use
    // (histograms).
    let warm_up = Duration::from_secs(1 + options.many as u64 / 1_200);
    for balancer in both {
        Load { duration: warm_up, ..load(balancer, FEW_CLIENTS) }.run_script(&scripts.at_once)?;
    }
    let mut sides = [(Duration::ZERO, 0); 2];
    for second in 0..options.seconds.max(1) {
        // Alternates which balancer begins.
        for side in if second % 2 == 0 { [0, 1] } else { [1, 0] } {
            let (balancer, (spent, requests)) = (both[side], &mut sides[side]);
            let before = cpu::cpu_time(balancer.process.pid());
            let load = Load { duration: Duration::from_secs(1), ..load(balancer, FEW_CLIENTS) };
            *requests += load.run_script(&scripts.at_once)?.requests;
            *spent += cpu::cpu_time(balancer.process.pid()).saturating_sub(before);
        }
    }
    Ok(sides.map(|(spent, requests)| Turn {
        cost_us: spent.as_secs_f64() * 1e6 / requests.max(1) as f64,
        established: 0,
        opened: 0.0,
    }))
}

/// Measures a closed loop of few clients at full speed.
fn by_few(balancer: &Balancer, options: &Servers, origin: &Origin, scripts: &Scripts) -> Result<Turn> {
    let load = |seconds| Load { duration: Duration::from_secs(seconds), ..load(balancer, FEW_CLIENTS) };
    // Runs until every server was used several times and has allocated what it needs at its first use
    // (connections, histograms).
    load(2 + options.many as u64 / 5_000).run_script(&scripts.at_once)?;
    let before = cpu::cpu_time(balancer.process.pid());
    let report = load(options.seconds.max(1)).run_script(&scripts.at_once)?;
    let spent = cpu::cpu_time(balancer.process.pid()).saturating_sub(before);
    let cost_us = spent.as_secs_f64() * 1e6 / report.requests as f64;
    Ok(Turn { cost_us, established: established(origin.port())?, opened: 0.0 })
}

/// Measures a closed loop of many clients.
///
/// The origin answers at a rate below the limits of all programs here. So nearly all requests wait at the
/// origin, each on its own connection, with three servers as with ten thousand. At full speed they would wait
/// in front of the balancer instead, which would then have few connections to few servers. The clients stay
/// from warm-up to end.
///
/// Returns the number of connections in use as `Err` if it was too low.
fn held(
    balancer: &Balancer,
    options: &Servers,
    origin: &Origin,
    scripts: &Scripts,
) -> Result<std::result::Result<Turn, u64>> {
    let clients = Usage::Held.clients(options);
    // The load is stopped explicitly.
    let load = Load { duration: Duration::from_secs(600), ..load(balancer, clients) };
    let load = load.start_script(&scripts.held)?;
    let enough = u64::from(clients) * 9 / 10;
    let deadline = Instant::now() + Duration::from_secs(30);
    while origin.counts()?.waiting < enough && Instant::now() < deadline {
        sleep(Duration::from_millis(100));
    }
    // Waits until every server was used several times, and as long with few servers.
    sleep(Duration::from_secs(2 + 4 * options.many as u64 / HELD_PER_S));

    let window = Duration::from_secs(HELD_TURNS * options.seconds.max(1));
    let (before, cpu_before) = (origin.counts()?, cpu::cpu_time(balancer.process.pid()));
    sleep(window);
    let (after, cpu_after) = (origin.counts()?, cpu::cpu_time(balancer.process.pid()));
    let established = established(origin.port())?;
    load.stop()?;

    // Subtracts the request that read the counters.
    let requests = (after.requests - before.requests).saturating_sub(1);
    let made = (after.accepted - before.accepted).saturating_sub(1);
    let in_use = before.waiting.min(after.waiting);
    eprintln!(
        "  {established} connections to servers, {in_use} of them in use, {made} new ones for {requests} requests"
    );
    if in_use < enough {
        return Ok(Err(in_use));
    }
    let cost_us = cpu_after.saturating_sub(cpu_before).as_secs_f64() * 1e6 / requests.max(1) as f64;
    Ok(Ok(Turn { cost_us, established, opened: made as f64 / requests.max(1) as f64 }))
}

fn load(balancer: &Balancer, connections: u32) -> Load {
    Load {
        address: balancer.address,
        path: "/1k",
        tls: false,
        closes: false,
        connections,
        duration: Duration::ZERO,
    }
}

/// Returns the number of established connections to this port in this network namespace, where nothing else
/// connects to it.
fn established(port: u16) -> Result<usize> {
    let path = "/proc/self/net/tcp";
    Ok(established_in(&fs::read_to_string(path).context(path)?, port))
}

/// Counts them in the format of proc_pid_net(5): number, own address, remote address, state (1 is
/// ESTABLISHED).
fn established_in(table: &str, port: u16) -> usize {
    let port = format!(":{port:04X}");
    let is_one = |line: &&str| {
        let mut fields = line.split_whitespace().skip(2);
        fields.next().is_some_and(|other| other.ends_with(&port)) && fields.next() == Some("01")
    };
    table.lines().filter(is_one).count()
}

/// Returns a script by which wrk requests another URI each time, in an arbitrary order. The requests are
/// prepared in advance.
fn uris(below: &str) -> String {
    format!(
        "local requests = {{}}
local turn = 0

function init()
  for index = 1, {URIS} do
    requests[index] = wrk.format(nil, string.format(\"{below}/%08x\", (index * 2654435761) % 4294967296))
  end
end

function request()
  turn = turn % {URIS} + 1
  return requests[turn]
end
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connections_that_are_established_and_lead_to_servers_are_counted() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n\
            0: 00000000:0051 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n\
            1: 0100007F:9C40 0100017F:0051 01 00000000:00000000 00:00000000 00000000\n\
            2: 0100017F:0051 0100007F:9C40 01 00000000:00000000 00:00000000 00000000\n\
            3: 0100007F:9C42 0200017F:0051 06 00000000:00000000 00:00000000 00000000\n\
            4: 0100007F:9C44 0200017F:0050 01 00000000:00000000 00:00000000 00000000\n";
        assert_eq!(established_in(table, 0x51), 1);
    }

    #[test]
    fn the_clients_are_many_only_where_their_connections_are_held() {
        let options = Servers {
            many: 10_000,
            connections: 9_000,
            repeats: 1,
            seconds: 1,
            only: Vec::new(),
            all: false,
            usage: Vec::new(),
            rivals: true,
        };
        assert_eq!(Usage::ALL.map(|usage| usage.clients(&options)), [64, 9_000, 64]);
    }
}
