//! Tests of servers with DNS names, and of failing name servers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use weir_e2e::{Weir, get, web};
use weir_testkit::{PATIENCE, RawServer, dns_answer, wait_until};

/// Response of the name server to every query.
#[derive(Debug, Clone)]
enum Zone {
    /// Responds with these addresses.
    Addresses(Vec<Ipv4Addr>),
    /// Responds that the name does not exist.
    NoSuchName,
    /// Does not respond.
    Silence,
}

/// A name server on a free port of 127.0.0.1.
struct NameServer {
    address: SocketAddr,
    zone: Arc<Mutex<Option<Zone>>>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    fn start(zone: Zone) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let address = socket.local_addr().unwrap();
        let shared = Arc::new(Mutex::new(Some(zone)));
        let zone = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let mut question = [0; 1500];
            loop {
                let now = shared.lock().unwrap().clone();
                let Some(now) = now else { return };
                if let Ok((count, from)) = socket.recv_from(&mut question)
                    && let Some(answer) = answer(&question[..count], &now)
                {
                    let _ = socket.send_to(&answer, from);
                }
            }
        });
        Self { address, zone, thread: Some(thread) }
    }

    fn set(&self, zone: Zone) {
        *self.zone.lock().unwrap() = Some(zone);
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        *self.zone.lock().unwrap() = None;
        let _ = self.thread.take().unwrap().join();
    }
}

fn answer(question: &[u8], zone: &Zone) -> Option<Vec<u8>> {
    match zone {
        Zone::Silence => None,
        Zone::NoSuchName => dns_answer(question, 3, &[]),
        Zone::Addresses(addresses) => dns_answer(question, 0, addresses),
    }
}

fn by_name(names: &NameServer, port: u16, others: &str) -> String {
    let servers = web(&[format!("web.test:{port}")]).replace("\"]", &format!("\"{others}]"));
    format!(
        "{servers}eject = false\n\n[resolver]\nservers = \"{}\"\ntimeout = \"100ms\"\nmin-ttl = \"50ms\"\nmax-ttl = \"50ms\"\n",
        names.address
    )
}

const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Starts two servers with the same port and different addresses.
fn twins() -> (RawServer, RawServer) {
    let first = RawServer::answering("first");
    let address = SocketAddr::new(IpAddr::V4(OTHER), first.addr().port());
    let second = RawServer::start_on(address, |peer| {
        while peer.request().is_ok() {
            peer.respond("second")?;
        }
        Ok(())
    });
    (first, second)
}

fn answered(weir: &Weir) -> Option<String> {
    let response = weir.client().exchange(get("/"));
    (response.status == 200).then(|| response.text())
}

#[test]
fn a_server_with_a_name_is_found_and_followed_to_its_new_address() {
    let (first, _second) = twins();
    let names = NameServer::start(Zone::Addresses(vec![LOCAL]));
    let weir = Weir::start(&by_name(&names, first.addr().port(), ""));
    wait_until("the name is resolved", PATIENCE, || answered(&weir).as_deref() == Some("first"));
    names.set(Zone::Addresses(vec![OTHER]));
    wait_until("the new address is used", PATIENCE, || answered(&weir).as_deref() == Some("second"));
}

#[test]
fn every_address_of_a_name_is_used() {
    let (first, second) = twins();
    let names = NameServer::start(Zone::Addresses(vec![LOCAL, OTHER]));
    let weir = Weir::start(&by_name(&names, first.addr().port(), ""));
    wait_until("both addresses are used", PATIENCE, || {
        answered(&weir);
        first.connections() > 0 && second.connections() > 0
    });
}

#[test]
fn a_dead_address_of_a_name_costs_no_request() {
    let first = RawServer::answering("first");
    // The other address has no listener.
    let names = NameServer::start(Zone::Addresses(vec![OTHER, LOCAL]));
    // Requests are retried until the address is ejected.
    let weir = Weir::start(&by_name(&names, first.addr().port(), "").replace("eject = false", ""));
    wait_until("the name is resolved", PATIENCE, || answered(&weir).is_some());
    for _ in 0..20 {
        assert_eq!(answered(&weir).as_deref(), Some("first"));
    }
}

#[test]
fn a_sick_address_of_a_name_is_taken_out_and_the_others_serve() {
    let (first, second) = twins();
    let names = NameServer::start(Zone::Addresses(vec![LOCAL, OTHER]));
    let checked = by_name(&names, first.addr().port(), "").replace(
        "eject = false",
        "eject = false\nretry = false\ncheck = { tcp = true, interval = \"50ms\", fast-interval = \"20ms\", fall = 1, rise = 1 }",
    );
    let weir = Weir::start(&checked);
    wait_until("both addresses are used", PATIENCE, || {
        answered(&weir);
        first.connections() > 0 && second.connections() > 0
    });
    second.kill();
    wait_until("one is out", PATIENCE, || (0..10).all(|_| answered(&weir).as_deref() == Some("first")));
    let metrics = weir.metrics();
    let up = |address: &str| {
        let name = format!("server=\"web.test:{}_{address}\"", first.addr().port());
        metrics.get("weir_server_up", &[&name])
    };
    assert_eq!((up("127.0.0.1"), up("127.0.0.2")), (1.0, 0.0));
}

#[test]
fn a_name_that_disappears_keeps_its_last_addresses() {
    let first = RawServer::answering("first");
    let names = NameServer::start(Zone::Addresses(vec![LOCAL]));
    let weir = Weir::start(&by_name(&names, first.addr().port(), ""));
    wait_until("the name is resolved", PATIENCE, || answered(&weir).is_some());
    for zone in [Zone::NoSuchName, Zone::Silence] {
        names.set(zone);
        // Several times longer than the TTL of a response.
        let start = std::time::Instant::now();
        while start.elapsed() < Duration::from_millis(600) {
            assert_eq!(answered(&weir).as_deref(), Some("first"));
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_name_that_was_never_known_harms_nobody_and_works_once_it_is() {
    let first = RawServer::answering("first");
    let steady = RawServer::answering("steady");
    let names = NameServer::start(Zone::NoSuchName);
    let weir = Weir::start(&by_name(&names, first.addr().port(), &format!(", \"{}\"", steady.addr())));
    for _ in 0..10 {
        assert_eq!(answered(&weir).as_deref(), Some("steady"));
    }
    names.set(Zone::Addresses(vec![LOCAL]));
    wait_until("the name is resolved", PATIENCE, || answered(&weir).as_deref() == Some("first"));
}

#[test]
fn a_silent_name_server_stalls_nobody() {
    let steady = RawServer::answering("steady");
    let names = NameServer::start(Zone::Silence);
    let weir = Weir::start(&by_name(&names, 9, &format!(", \"{}\"", steady.addr())));
    let mut client = weir.client();
    for _ in 0..50 {
        assert_eq!(client.exchange(get("/")).text(), "steady");
    }
}
