//! Cost of a request with three and with ten thousand servers. All servers are one NGINX, at as many
//! addresses of the loopback network. There are no health checks, because five thousand a second would be
//! measured, too.

mod beside;
mod origin;
mod table;
mod turn;

use std::net::SocketAddr;

use weir_balance::Algorithm;

use crate::connection_use::Usage;
use crate::error::{Error, Result};
use crate::machine;
use crate::network;
use crate::options::Servers;
use crate::rivals::{Balancer, Contestant, Product};
use crate::workshop::{Workshop, free_addresses};

use beside::Way;
use origin::{Origin, addresses};
use table::{Costs, Table};
use turn::{Scripts, Turn};

const FEW: usize = 3;

/// One algorithm for each way to choose: in turn, by a changing key, by draws with and without measurements,
/// by time, by a ring, by a table, and by a draw of every server. Each takes four minutes.
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

/// Most files that a balancer opens besides its sockets.
const FILES: usize = 1_000;

/// Runs `servers`. Returns whether the cost with many servers is within its limit for all algorithms.
pub(crate) fn run(options: &Servers) -> Result<bool> {
    // Some algorithms send held requests to random servers. Each server keeps as many connections as it ever
    // had requests at once.
    let wanted = 6 * options.many.max(options.connections as usize) + FILES;
    let sockets = machine::prepare_up_to(wanted as u64)? as usize;
    let options = &Servers { connections: clients_within(sockets, options)?, ..options.clone() };
    network::allow_backlog(options.connections)?;
    let weir = Contestant::weir()?;
    let workshop = Workshop::open()?;
    let origin = Origin::start(&workshop, sockets, options.connections as usize)?;
    let scripts = Scripts::write(&workshop)?;
    let bench = Bench { options, workshop: &workshop, origin, scripts, sockets };
    let mut table = Table::new(options, sockets);
    for algorithm in measured(options) {
        for usage in Usage::measured(options) {
            let rivals = if options.rivals && usage.reuses() && Way::of(algorithm).is_some() {
                beside::rivals()?
            } else {
                Vec::new()
            };
            let contestants: Vec<_> = std::iter::once(weir.clone()).chain(rivals).collect();
            let all = match bench.costs(algorithm, usage, &contestants) {
                Ok(all) => all,
                // Some algorithms need more connections than may be open.
                Err(why) if usage == Usage::Held => {
                    table.add_unmeasured(&algorithm.to_string(), usage, &why);
                    continue;
                }
                Err(why) => return Err(why),
            };
            let Some((costs, others)) = all.split_first() else { continue };
            table.add(&algorithm.to_string(), usage, costs);
            for (rival, theirs) in contestants.iter().skip(1).zip(others) {
                table.add_rival(&format!("{algorithm}, {}", rival.name), usage, theirs, costs);
            }
        }
    }
    println!("{}", table.text());
    table.verdict()
}

/// Returns how many of the wanted clients are possible. A balancer also has a connection to each server, and
/// a second one to some, even if servers take turns.
fn clients_within(sockets: usize, options: &Servers) -> Result<u32> {
    let wanted = options.connections.max(1);
    let others = options.many + options.many / 20 + FILES;
    let clients = wanted.min(u32::try_from(sockets.saturating_sub(others)).unwrap_or(u32::MAX));
    if clients == 0 {
        let message = format!("{sockets} open files (ulimit -n) are too few for {} servers", options.many);
        return Err(Error::new(message));
    }
    if clients < wanted {
        eprintln!(
            "{clients} client connections, not {wanted}: a process may open {sockets} files (ulimit -n)"
        );
    }
    Ok(clients)
}

/// Data that all turns share.
struct Bench<'a> {
    options: &'a Servers,
    workshop: &'a Workshop,
    origin: Origin,
    scripts: Scripts,
    /// Most sockets that a balancer may have open.
    sockets: usize,
}

impl Bench<'_> {
    /// Measures the cost of requests for each contestant, in turns with few and with many servers.
    fn costs(&self, algorithm: Algorithm, usage: Usage, contestants: &[Contestant]) -> Result<Vec<Costs>> {
        let mut all = vec![Costs::default(); contestants.len()];
        for turn in 1..=self.options.repeats.max(1) {
            match usage {
                Usage::OneARequest => self.side_by_side(algorithm, contestants, turn, &mut all)?,
                Usage::Held | Usage::KeptByFew => {
                    self.one_after_another(algorithm, usage, contestants, turn, &mut all)?;
                }
            }
        }
        Ok(all)
    }

    fn one_after_another(
        &self,
        algorithm: Algorithm,
        usage: Usage,
        contestants: &[Contestant],
        turn: usize,
        all: &mut [Costs],
    ) -> Result<()> {
        // Alternates which case begins.
        for is_few in if turn % 2 == 1 { [true, false] } else { [false, true] } {
            let count = if is_few { FEW } else { self.options.many };
            for (contestant, costs) in contestants.iter().zip(&mut *all) {
                if costs.failure.is_some() {
                    continue;
                }
                let seen = match self.turn(algorithm, usage, contestant, count) {
                    Ok(seen) => seen,
                    // A rival's failure says nothing about Weir.
                    Err(why) if contestant.product != Product::Weir => {
                        eprintln!("{algorithm}, {}, {count} servers: {why}", contestant.name);
                        costs.failure = Some(format!("with {count} servers: {why}"));
                        continue;
                    }
                    Err(why) => return Err(why),
                };
                let (name, cost) = (&contestant.name, seen.cost_us);
                eprintln!("{algorithm}, {name}, {count} servers, {usage:?}, turn {turn}: {cost:.2} us");
                if is_few { costs.few.push(seen) } else { costs.many.push(seen) }
            }
        }
        Ok(())
    }

    /// Measures few and many servers at the same time, for connections that are not kept.
    fn side_by_side(
        &self,
        algorithm: Algorithm,
        contestants: &[Contestant],
        turn: usize,
        all: &mut [Costs],
    ) -> Result<()> {
        for (contestant, costs) in contestants.iter().zip(all) {
            let start = |count| self.start(algorithm, Usage::OneARequest, contestant, count);
            let (few, many) = (start(FEW)?, start(self.options.many)?);
            let [few, many] = turn::measure_both([&few, &many], self.options, &self.scripts)?;
            let (name, few_us, many_us) = (&contestant.name, few.cost_us, many.cost_us);
            eprintln!(
                "{algorithm}, {name}, one a request, turn {turn}: {few_us:.2} us, with {} servers {many_us:.2} us",
                self.options.many
            );
            costs.few.push(few);
            costs.many.push(many);
        }
        Ok(())
    }

    fn turn(
        &self,
        algorithm: Algorithm,
        usage: Usage,
        contestant: &Contestant,
        count: usize,
    ) -> Result<Turn> {
        let balancer = self.start(algorithm, usage, contestant, count)?;
        turn::measure(&balancer, usage, self.options, &self.origin, &self.scripts)
    }

    fn start(
        &self,
        algorithm: Algorithm,
        usage: Usage,
        contestant: &Contestant,
        count: usize,
    ) -> Result<Balancer> {
        let [bind] = free_addresses()?;
        let servers = addresses(count, self.origin.port());
        let clients = usage.clients(self.options);
        let text = match contestant.product {
            Product::Weir => {
                let reuse = usage.reuses().then_some(clients);
                config_of(self.workshop, algorithm, reuse, clients, bind, &servers)
            }
            rival => {
                let no_way = || Error::new(format!("{rival:?} is not measured beside {algorithm}"));
                let way = Way::of(algorithm).ok_or_else(no_way)?;
                beside::config_of(rival, way, bind, clients, self.sockets, &servers)
            }
        };
        contestant.start_with(self.workshop, &text, bind)
    }
}

fn measured(options: &Servers) -> Vec<Algorithm> {
    match (options.all, options.only.as_slice()) {
        (true, _) => Algorithm::ALL.to_vec(),
        (false, []) => USUAL.to_vec(),
        (false, only) => only.to_vec(),
    }
}

/// Returns Weir's config. `reuse`: idle connections that it keeps to each server, if any.
fn config_of(
    workshop: &Workshop,
    algorithm: Algorithm,
    reuse: Option<u32>,
    clients: u32,
    bind: SocketAddr,
    servers: &[SocketAddr],
) -> String {
    let servers: Vec<String> = servers.iter().map(|server| format!("\"{server}\"")).collect();
    let balance = balance_of(algorithm);
    let reuse = match reuse {
        // Limits the number to the largest that Weir accepts.
        Some(idle) => format!("{{ idle = {}, idle-timeout = \"10m\" }}", idle.min(65_536)),
        None => "false".to_owned(),
    };
    format!(
        "[weir]\nworkers = 1\nmax-connections = {max}\ncontrol = {control:?}\nstate = false\n\n\
         [listener.web]\nbind = \"{bind}\"\nbacklog = {backlog}\npool = \"web\"\n\n\
         [pool.web]\nbalance = {balance}\nreuse = {reuse}\nservers = [{}]\n",
        servers.join(", "),
        max = clients + 1_000,
        backlog = backlog(clients),
        control = workshop.path(&format!("weir-{}.sock", bind.port())),
    )
}

/// Returns the accept queue of a balancer for clients that connect all at once.
fn backlog(clients: u32) -> u32 {
    clients.clamp(4_096, 65_535)
}

/// Returns the algorithm's config. An algorithm that takes any key uses the URI. The others use the client's
/// address, which is always the same.
fn balance_of(algorithm: Algorithm) -> String {
    let by_address = matches!(algorithm, Algorithm::Source | Algorithm::NginxIpHash);
    if algorithm.takes_key() && !by_address {
        format!("{{ algorithm = \"{algorithm}\", key = \"uri\" }}")
    } else {
        format!("\"{algorithm}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_each_way_to_choose_is_measured_unless_others_are_named_or_all_are_wanted() {
        let of = |all, only: &[Algorithm]| {
            measured(&Servers {
                many: 1,
                connections: 1,
                repeats: 1,
                seconds: 1,
                only: only.to_vec(),
                all,
                usage: Vec::new(),
                rivals: true,
            })
        };
        assert_eq!(of(false, &[]), USUAL);
        assert_eq!(of(false, &[Algorithm::Lblc]), [Algorithm::Lblc]);
        assert_eq!(of(true, &[]), Algorithm::ALL);
    }

    #[test]
    fn there_are_fewer_clients_where_fewer_files_may_be_open() {
        let options = Servers {
            many: 10_000,
            connections: 10_000,
            repeats: 1,
            seconds: 1,
            only: Vec::new(),
            all: false,
            usage: Vec::new(),
            rivals: true,
        };
        assert_eq!(clients_within(61_000, &options).unwrap(), 10_000);
        assert_eq!(clients_within(20_000, &options).unwrap(), 8_500);
        assert!(clients_within(11_500, &options).is_err());
    }

    #[test]
    fn weir_keeps_every_connection_that_clients_need_to_one_server() {
        let workshop = Workshop::open().unwrap();
        let bind = SocketAddr::from(([127, 0, 0, 1], 8080));
        let of = |reuse| config_of(&workshop, Algorithm::RoundRobin, reuse, 10_000, bind, &addresses(3, 81));
        let kept = of(Some(10_000));
        assert!(kept.contains("max-connections = 11000\n") && kept.contains("backlog = 10000\n"), "{kept}");
        assert!(kept.contains("reuse = { idle = 10000, "), "{kept}");
        assert!(of(None).contains("reuse = false\n"));
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
