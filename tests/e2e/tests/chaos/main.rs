//! Random tests with clients and servers that do anything HTTP permits, and some violations. No peer may get
//! data of another, no truncated message may look complete, and Weir must keep running.
//!
//! `CHAOS_SEED` replays a run; `CHAOS_LOG` is a path for Weir's access log.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod random;
mod script;
mod server;
mod tcp;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use random::Random;
use serde_json::json;
use weir_e2e::{Weir, get, web};
use weir_testkit::certificates::{Authority, Request};
use weir_testkit::{PATIENCE, RawServer, TempDir, descriptor_count, rss_bytes, wait_until};

const CLIENTS: u64 = 8;
const EXCHANGES: u64 = 1_000;

/// Requests choose the faults, not servers. So ejecting a server would only remove a third of the tests.
const POOL: &str = "eject = false\nretry = { min-per-second = 10000 }\n";

#[test]
fn whatever_peers_do_everybody_gets_only_his_own() {
    let servers = servers();
    let seed = seed();
    let mut random = Random::new(seed);
    // The result must not depend on these settings.
    let reuse = ["", "reuse = false\n", "reuse = { idle = 1 }\n", "reuse = { max-requests = 2 }\n"];
    let balance = ["round-robin", "least-connections", "random", "source"];
    let config = format!(
        "{}{POOL}{}balance = \"{}\"\n[weir]\nworkers = {}\n{}",
        web(&addrs(&servers)),
        reuse[random.below(4) as usize],
        balance[random.below(4) as usize],
        1 + random.below(3),
        access_log()
    );
    println!("{config}");
    unleash(&Weir::start(&config), seed, EXCHANGES, true);
    drop(servers);
}

#[test]
fn the_same_holds_when_servers_take_only_a_few_requests_at_once() {
    let servers = servers();
    let limited: Vec<String> = addrs(&servers)
        .iter()
        .map(|addr| format!("{{ address = \"{addr}\", max-connections = 1 }}"))
        .collect();
    // Five of eight clients always wait. None may be forgotten in the queue.
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{}]\n{POOL}\
         timeouts = {{ queue = \"20s\" }}\n{}",
        limited.join(", "),
        access_log()
    ));
    unleash(&weir, seed(), EXCHANGES / 2, true);
    drop(servers);
}

#[test]
fn the_same_holds_over_tls_on_both_sides_of_weir() {
    let directory = TempDir::new().unwrap();
    let authority = Authority::new("chaos");
    let files = authority.issue(&Request::names(&["inner.example"])).write_to(directory.path(), "inner");
    let ca = directory.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    let servers = servers();
    let inner = Weir::start(&format!(
        "{}{POOL}[listener.web.tls]\ncertificates = {{ certificate = \"{}\", key = \"{}\" }}\n",
        web(&addrs(&servers)),
        files.certificate.display(),
        files.key.display()
    ));
    let outer = Weir::start(&format!(
        "{}{POOL}tls = {{ ca = \"{}\", server-name = \"inner.example\" }}\n{}",
        web(&[inner.addr("web")]),
        ca.display(),
        access_log()
    ));
    unleash(&outer, seed(), EXCHANGES / 4, true);
    drop(servers);
}

#[test]
fn the_same_holds_over_unix_sockets() {
    let directory = TempDir::new().unwrap();
    let paths: Vec<_> = (0..3).map(|number| directory.path().join(format!("{number}.sock"))).collect();
    let servers: Vec<RawServer> =
        paths.iter().map(|path| RawServer::start_on_unix(path, server::serve)).collect();
    let paths: Vec<String> = paths.iter().map(|path| format!("unix:{}", path.display())).collect();
    let weir = Weir::start(&format!("{}{POOL}{}", web(&paths), access_log()));
    unleash(&weir, seed(), EXCHANGES / 2, false);
    drop(servers);
}

#[test]
fn the_same_holds_while_operators_reload_and_drain() {
    let servers = servers();
    let addrs = addrs(&servers);
    let config = format!("{}{POOL}{}", web(&addrs), access_log());
    let mut weir = Weir::start(&config);
    let listener = weir.addr("web");
    let full = config.replace("127.0.0.1:0", &listener.to_string());
    let fewer = full.replace(&format!("\"{}\", ", addrs[0]), "");
    assert_ne!(full, fewer);
    weir.reload(&full);
    let over = AtomicBool::new(false);
    let seed = seed();
    let (control, pid) = (weir.control(), weir.pid());
    thread::scope(|scope| {
        let over = &over;
        let load = scope.spawn(move || {
            let run = std::panic::catch_unwind(|| load(listener, seed, EXCHANGES, true));
            over.store(true, Ordering::SeqCst);
            run
        });
        let mut random = Random::new(seed);
        while !over.load(Ordering::SeqCst) {
            let server = addrs[1 + random.below(2) as usize].to_string();
            let state = ["drain", "maintenance"][random.below(2) as usize];
            let set =
                |state: &str| json!({"server-state": {"pool": "web", "server": server, "state": state}});
            weir.obey(&set(state));
            weir.reload(if random.once_in(2) { &fewer } else { &full });
            weir.obey(&set("ready"));
        }
        load.join().unwrap().unwrap();
    });
    assert!(control.exists());
    assert!(rss_bytes(pid) < 150 << 20, "{} bytes", rss_bytes(pid));
    drop(servers);
}

#[test]
fn the_same_holds_in_tcp_mode() {
    let servers: Vec<RawServer> = (0..2).map(|_| RawServer::start(tcp::serve)).collect();
    let weir = Weir::start(&format!(
        "[listener.db]\nbind = \"127.0.0.1:0\"\nmode = \"tcp\"\npool = \"db\"\n\n[pool.db]\nservers = [\"{}\", \"{}\"]\neject = false\n",
        servers[0].addr(),
        servers[1].addr()
    ));
    let (addr, seed) = (weir.addr("db"), seed());
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            scope.spawn(move || {
                let mut random = Random::new(seed ^ (number << 56));
                for exchange in 0..EXCHANGES / 10 {
                    tcp::converse(addr, number * 1_000_000 + exchange, &mut random);
                }
            });
        }
    });
    wait_until("nothing is counted as in flight", PATIENCE, || {
        let metrics = weir.metrics();
        let now = |name| metrics.get(name, &["=\"db\""]);
        now("weir_listener_connections") + now("weir_pool_active_requests") == 0.0
    });
}

fn servers() -> Vec<RawServer> {
    (0..3).map(|_| RawServer::start(server::serve)).collect()
}

fn addrs(servers: &[RawServer]) -> Vec<SocketAddr> {
    servers.iter().map(RawServer::addr).collect()
}

fn seed() -> u64 {
    let seed = std::env::var("CHAOS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64
    });
    println!("CHAOS_SEED={seed}");
    seed
}

fn access_log() -> String {
    let table = |path| format!("[access-log]\nformat = \"httplog\"\nto = \"{path}\"\n");
    std::env::var("CHAOS_LOG").map_or_else(|_| String::new(), table)
}

/// Runs the load and then checks that all resources are released.
fn unleash(weir: &Weir, seed: u64, exchanges: u64, resets: bool) {
    let descriptors = descriptor_count(weir.pid());
    load(weir.addr("web"), seed, exchanges, resets);
    assert_eq!(weir.client().exchange(get("/0/0")).status, 200);
    // Idle connections to servers (at most 64 for each server and worker) and pooled pipes may remain.
    wait_until("what clients held is given back", PATIENCE, || {
        descriptor_count(weir.pid()) <= descriptors + 100
    });
    wait_until("nothing is counted as in flight", PATIENCE, || {
        let metrics = weir.metrics();
        let now = |name| metrics.get(name, &["=\"web\""]);
        now("weir_listener_connections") + now("weir_pool_active_requests") + now("weir_pool_queue_length")
            == 0.0
    });
    assert!(rss_bytes(weir.pid()) < 150 << 20, "{} bytes", rss_bytes(weir.pid()));
}

fn load(addr: SocketAddr, seed: u64, exchanges: u64, resets: bool) {
    thread::scope(|scope| {
        for number in 0..CLIENTS {
            scope.spawn(move || {
                let mut random = Random::new(seed ^ (number << 56));
                let mut client = client::Client::new(addr, resets);
                for exchange in 0..exchanges {
                    client.exchange(number * 1_000_000 + exchange, &mut random);
                }
            });
        }
    });
}
