//! Tests of name resolution with a DNS server.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use weir_config::Plan;
use weir_control::{CheckCode, Health, RuntimeState};

use crate::control::tests::{Rig, eventually, whole_plan};
use crate::state::Endpoint;

/// A DNS server with a zone that the test sets.
struct Dns {
    address: SocketAddr,
    zone: Arc<Mutex<Zone>>,
}

#[derive(Default)]
struct Zone {
    names: HashMap<String, Vec<IpAddr>>,
    /// Time to live of each name; 0 seconds for names that are not listed.
    ttls_s: HashMap<String, u32>,
    /// Answers SERVFAIL.
    broken: bool,
    asked: HashMap<String, usize>,
}

impl Dns {
    async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let zone: Arc<Mutex<Zone>> = Arc::default();
        let known = Arc::clone(&zone);
        tokio::spawn(async move {
            let mut query = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut query).await {
                let answer = known.lock().unwrap().answer(&query[..length]);
                let _ = socket.send_to(&answer, from).await;
            }
        });
        Self { address, zone }
    }

    fn set(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        self.zone.lock().unwrap().names.insert(name.to_owned(), addresses);
    }

    fn set_ttl(&self, name: &str, ttl_s: u32) {
        self.zone.lock().unwrap().ttls_s.insert(name.to_owned(), ttl_s);
    }

    fn forget(&self, name: &str) {
        self.zone.lock().unwrap().names.remove(name);
    }

    fn set_broken(&self, broken: bool) {
        self.zone.lock().unwrap().broken = broken;
    }

    fn asked(&self, name: &str) -> usize {
        self.zone.lock().unwrap().asked.get(name).copied().unwrap_or(0)
    }
}

impl Zone {
    /// Creates the response to the only question of `query` (RFC 1035 section 4).
    fn answer(&mut self, query: &[u8]) -> Vec<u8> {
        let (mut name, mut at) = (String::new(), 12);
        while query[at] != 0 {
            let length = usize::from(query[at]);
            name.push_str(std::str::from_utf8(&query[at + 1..at + 1 + length]).unwrap());
            name.push('.');
            at += 1 + length;
        }
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let kind = u16::from_be_bytes([query[at + 1], query[at + 2]]);
        *self.asked.entry(name.clone()).or_default() += 1;
        let known = self.names.get(&name);
        let code = match known {
            _ if self.broken => 2,
            None => 3,
            Some(_) => 0,
        };
        let wanted = |address: &&IpAddr| if address.is_ipv4() { kind == 1 } else { kind == 28 };
        let ttl_s = self.ttls_s.get(&name).copied().unwrap_or(0);
        let addresses: Vec<_> = known.into_iter().flatten().filter(wanted).filter(|_| code == 0).collect();
        let mut answer = query[..at + 5].to_vec();
        answer[2] |= 0x80;
        answer[3] = 0x80 | code;
        answer[6..12].copy_from_slice(&[0, addresses.len() as u8, 0, 0, 0, 0]);
        for address in addresses {
            let bytes = match address {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            answer.extend_from_slice(&[0xc0, 12, 0, kind as u8, 0, 1]);
            answer.extend_from_slice(&ttl_s.to_be_bytes());
            answer.extend_from_slice(&[0, bytes.len() as u8]);
            answer.extend_from_slice(&bytes);
        }
        answer
    }
}

fn config(dns: SocketAddr, servers: &str) -> Plan {
    whole_plan(&format!(
        "[weir]\ncontrol = false\nstate = false\n[listener.web]\nbind = \":80\"\npool = \"web\"
         [resolver]\nservers = \"{dns}\"\ntimeout = \"200ms\"\nmin-ttl = \"10ms\"\nmax-ttl = \"1s\"\nhold-obsolete = \"0s\"
         [pool.web]\nservers = [{servers}]"
    ))
}

fn at(addresses: &[&str]) -> Endpoint {
    Endpoint::Inet(addresses.iter().map(|address| address.parse().unwrap()).collect())
}

#[tokio::test]
async fn a_name_with_several_addresses_is_as_many_servers_whatever_their_order() {
    let dns = Dns::start().await;
    dns.set("web.test", &["10.0.0.2", "::2", "10.0.0.1", "::1"]);
    let rig = Rig::running(config(dns.address, "{ name = \"a\", address = \"web.test:81\", weight = 3 }"));
    rig.controller.names_resolved().await;
    assert_eq!(rig.rotation(), ["a_10.0.0.1", "a_10.0.0.2", "a_::1", "a_::2"]);
    assert_eq!(*rig.server("a_10.0.0.2").endpoint(), at(&["10.0.0.2:81"]));
    assert_eq!(*rig.server("a_::1").endpoint(), at(&["[::1]:81"]));
    let shown = rig.shown("a_10.0.0.2");
    assert_eq!((shown.address.as_str(), shown.weight), ("10.0.0.2:81", 3));
    // The same answer in another order changes nothing.
    let (uid, asked) = (rig.server("a_10.0.0.1").uid, dns.asked("web.test"));
    dns.set("web.test", &["::1", "10.0.0.1", "10.0.0.2", "::2"]);
    eventually("another look", || dns.asked("web.test") > asked + 3).await;
    assert_eq!((rig.server("a_10.0.0.1").uid, rig.rotation().len()), (uid, 4));
}

#[tokio::test]
async fn a_host_with_one_address_of_each_family_is_one_server() {
    let dns = Dns::start().await;
    dns.set("web.test", &["::1", "10.0.0.1"]);
    let rig = Rig::running(config(dns.address, "{ name = \"a\", address = \"web.test:81\" }"));
    rig.controller.names_resolved().await;
    assert_eq!(*rig.server("a").endpoint(), at(&["10.0.0.1:81", "[::1]:81"]));
    assert_eq!(rig.rotation(), ["a"]);
}

#[tokio::test]
async fn a_name_is_no_more_than_so_many_servers_and_what_was_left_out_is_told_once() {
    let dns = Dns::start().await;
    let addresses: Vec<_> = (1..=70).map(|host| format!("10.0.0.{host}")).collect();
    dns.set("web.test", &addresses.iter().map(String::as_str).collect::<Vec<_>>());
    let rig = Rig::running(config(dns.address, "{ name = \"a\", address = \"web.test:81\" }"));
    rig.controller.names_resolved().await;
    let servers: Vec<_> = (1..=64).map(|host| format!("a_10.0.0.{host}")).collect();
    assert_eq!(rig.rotation(), servers);
    let asked = dns.asked("web.test");
    eventually("more looks", || dns.asked("web.test") > asked + 5).await;
    let mut told = rig.lines();
    told.retain(|line| line.contains("left out"));
    assert_eq!(
        told,
        [
            "name web.test: it has 70 addresses, and no more than 64 are used; left out: 10.0.0.65, 10.0.0.66, 10.0.0.67, 10.0.0.68, 10.0.0.69, 10.0.0.70; give its servers several names"
        ]
    );
    dns.set("web.test", &["10.0.0.1", "10.0.0.70"]);
    eventually("all are used", || rig.rotation() == ["a_10.0.0.1", "a_10.0.0.70"]).await;
}

#[tokio::test]
async fn addresses_come_and_go_and_those_that_stay_are_the_same_servers() {
    let dns = Dns::start().await;
    dns.set("web.test", &["10.0.0.1"]);
    let rig =
        Rig::running(config(dns.address, "{ name = \"a\", address = \"web.test:81\" }, \"10.0.0.9:1\""));
    rig.controller.names_resolved().await;
    assert_eq!(rig.rotation(), ["a", "10.0.0.9:1"]);

    dns.set("web.test", &["10.0.0.1", "10.0.0.2"]);
    eventually("a second address", || rig.rotation().len() == 3).await;
    let first = rig.server("a_10.0.0.1").uid;
    dns.set("web.test", &["10.0.0.3", "10.0.0.1"]);
    eventually("another one", || rig.rotation().contains(&"a_10.0.0.3".to_owned())).await;
    assert_eq!((rig.server("a_10.0.0.1").uid, rig.rotation().len()), (first, 3));

    dns.forget("web.test");
    let asked = dns.asked("web.test");
    eventually("another look", || dns.asked("web.test") > asked + 3).await;
    assert_eq!(rig.rotation().len(), 3, "no answer takes no server away");

    dns.set("web.test", &["10.0.0.3"]);
    eventually("one address is the server itself", || rig.rotation().len() == 2).await;
    assert_eq!(*rig.server("a").endpoint(), at(&["10.0.0.3:81"]));
    let lines = rig.lines().join("\n");
    assert!(!lines.contains("new servers: none; gone: none"), "the answer was forgotten: {lines}");
    assert!(
        lines.contains(
            "pool web: addresses of a name have changed: new servers: a_10.0.0.3; gone: a_10.0.0.2"
        ),
        "{lines}"
    );
}

#[tokio::test]
async fn commands_name_one_address_or_the_whole_server() {
    let dns = Dns::start().await;
    dns.set("web.test", &["10.0.0.1", "10.0.0.2"]);
    let rig =
        Rig::running(config(dns.address, "{ name = \"a\", address = \"web.test:81\" }, \"10.0.0.9:1\""));
    rig.controller.names_resolved().await;
    let rotation = || {
        let mut names = rig.rotation();
        names.sort();
        names
    };
    let state = |server: &str, state: &str| {
        format!(r#"{{"server-state": {{"pool": "web", "server": "{server}", "state": "{state}"}}}}"#)
    };
    rig.done(&state("a_10.0.0.1", "drain")).await;
    assert_eq!(rotation(), ["10.0.0.9:1", "a_10.0.0.2"]);
    rig.done(&state("a", "drain")).await;
    assert_eq!(rotation(), ["10.0.0.9:1"]);
    // A new address is drained like the others of its server.
    dns.set("web.test", &["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    eventually("the third", || rig.snapshot().pools[0].servers.len() == 4).await;
    assert_eq!(rotation(), ["10.0.0.9:1"]);
    rig.done(&state("a", "ready")).await;
    assert_eq!(rotation(), ["10.0.0.9:1", "a_10.0.0.2", "a_10.0.0.3"], "one was drained by itself");
    rig.done(r#"{"reset": {"pool": "web", "server": "a_10.0.0.1"}}"#).await;
    assert_eq!(rotation().len(), 4);
    rig.done(r#"{"server-weight": {"pool": "web", "server": "a", "weight": 5}}"#).await;
    rig.done(r#"{"server-weight": {"pool": "web", "server": "a_10.0.0.2", "weight": 7}}"#).await;
    assert_eq!((rig.shown("a_10.0.0.1").weight, rig.shown("a_10.0.0.2").weight), (5, 7));
    rig.done(r#"{"remove-server": {"pool": "web", "server": "a", "force": true}}"#).await;
    assert_eq!(rotation(), ["10.0.0.9:1"]);
}

#[tokio::test]
async fn what_was_changed_about_one_address_holds_where_it_is_the_only_one() {
    let dns = Dns::start().await;
    dns.set("web.test", &["10.0.0.1", "10.0.0.2"]);
    let rig =
        Rig::running(config(dns.address, "{ name = \"a\", address = \"web.test:81\" }, \"10.0.0.9:1\""));
    rig.controller.names_resolved().await;
    rig.done(r#"{"server-state": {"pool": "web", "server": "a_10.0.0.1", "state": "drain"}}"#).await;
    rig.done(r#"{"server-weight": {"pool": "web", "server": "a_10.0.0.2", "weight": 7}}"#).await;
    let servers = || -> Vec<String> {
        let snapshot = rig.snapshot();
        snapshot.pools[0].servers.iter().map(|server| server.name.clone()).collect()
    };
    dns.set("web.test", &["10.0.0.1"]);
    eventually("the drained one is left", || servers() == ["a_10.0.0.1", "10.0.0.9:1"]).await;
    assert_eq!(rig.rotation(), ["10.0.0.9:1"]);
    // Moves from one address to another.
    dns.set("web.test", &["10.0.0.2"]);
    eventually("the heavy one is left", || servers() == ["a_10.0.0.2", "10.0.0.9:1"]).await;
    assert_eq!(rig.shown("a_10.0.0.2").weight, 7);
    dns.set("web.test", &["10.0.0.3"]);
    eventually("one of which nothing was said", || servers() == ["a", "10.0.0.9:1"]).await;
    assert_eq!((*rig.server("a").endpoint()).clone(), at(&["10.0.0.3:81"]));
    dns.set("web.test", &["10.0.0.1", "::1"]);
    eventually("one of each family", || servers() == ["a_10.0.0.1", "a_::1", "10.0.0.9:1"]).await;
    assert_eq!(rig.rotation().len(), 2);
    rig.done(r#"{"reset": {"pool": "web", "server": "a_10.0.0.1"}}"#).await;
    assert_eq!(servers(), ["a", "10.0.0.9:1"]);
    assert_eq!(rig.rotation().len(), 2);
}

#[tokio::test]
async fn an_address_that_answers_lack_stays_for_a_while() {
    let dns = Dns::start().await;
    dns.set("web.test", &["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    let mut plan = config(dns.address, "{ name = \"a\", address = \"web.test:81\" }");
    plan.resolver.obsolete_hold = weir_model::Millis(3_600_000);
    let rig = Rig::running(plan.clone());
    rig.controller.names_resolved().await;
    let second = rig.server("a_10.0.0.2").uid;
    dns.set("web.test", &["10.0.0.4", "10.0.0.1"]);
    eventually("the new one", || rig.rotation().len() == 4).await;
    let asked = dns.asked("web.test");
    eventually("more looks", || dns.asked("web.test") > asked + 5).await;
    assert_eq!((rig.rotation().len(), rig.server("a_10.0.0.2").uid), (4, second));
    // A shorter hold applies from the next answer on.
    plan.resolver.obsolete_hold = weir_model::Millis(1);
    rig.reload(plan).await;
    eventually("what is missing has gone", || rig.rotation().len() == 2).await;
}

#[tokio::test]
async fn a_server_moves_when_its_name_does_and_stays_when_its_name_disappears() {
    let dns = Dns::start().await;
    dns.set("web.test", &["10.0.0.1"]);
    let rig = Rig::running(config(dns.address, "{ name = \"a\", address = \"web.test:81\" }"));
    rig.controller.names_resolved().await;
    dns.set("web.test", &["10.0.0.7"]);
    eventually("the move", || *rig.server("a").endpoint() == at(&["10.0.0.7:81"])).await;

    dns.forget("web.test");
    eventually("a complaint", || !rig.lines().is_empty()).await;
    assert_eq!(rig.lines(), ["name web.test: not resolved: no such name; the last answer stays in use"]);
    assert_eq!(
        (rig.rotation(), (*rig.server("a").endpoint()).clone()),
        (vec!["a".to_owned()], at(&["10.0.0.7:81"]))
    );

    dns.set("web.test", &["10.0.0.8"]);
    eventually("the next move", || *rig.server("a").endpoint() == at(&["10.0.0.8:81"])).await;
    eventually("the all-clear", || rig.lines().len() == 2).await;
    assert_eq!(rig.lines()[1], "name web.test: resolved");

    dns.set_broken(true);
    eventually("another complaint", || rig.lines().len() == 3).await;
    assert_eq!(*rig.server("a").endpoint(), at(&["10.0.0.8:81"]));
}

#[tokio::test]
async fn a_server_whose_name_was_never_resolved_gets_nothing_and_says_why() {
    let dns = Dns::start().await;
    let rig =
        Rig::running(config(dns.address, "\"10.0.0.9:1\", { name = \"a\", address = \"web.test:81\" }"));
    rig.controller.names_resolved().await;
    assert_eq!(rig.rotation(), ["10.0.0.9:1"]);
    let shown = rig.shown("a");
    assert_eq!(shown.health, Health::Down);
    let check = shown.check.unwrap();
    assert_eq!((check.code, check.text.as_str()), (CheckCode::SocketError, "name not resolved"));
    eventually("a complaint", || !rig.lines().is_empty()).await;
    assert_eq!(
        rig.lines(),
        [
            "name web.test: not resolved: no such name; its servers get no requests until it is; is it spelled right, and known to the resolver of this machine?"
        ]
    );
    dns.set("web.test", &["10.0.0.1"]);
    eventually("it is in", || rig.rotation().len() == 2).await;
}

#[tokio::test]
async fn a_thousand_servers_of_one_name_ask_once() {
    let dns = Dns::start().await;
    dns.set("web.test", &["10.0.0.1"]);
    let servers: Vec<_> = (1..=1_000).map(|port| format!("\"web.test:{port}\"")).collect();
    let mut plan = config(dns.address, &servers.join(", "));
    plan.resolver.ttl_min = weir_model::Millis(600_000);
    plan.resolver.ttl_max = weir_model::Millis(600_000);
    let rig = Rig::running(plan);
    rig.controller.names_resolved().await;
    assert_eq!(rig.rotation().len(), 1_000);
    assert_eq!(dns.asked("web.test"), 2, "once for each address family");
}

#[tokio::test]
async fn a_name_is_asked_for_again_when_its_time_to_live_is_over_and_not_before() {
    let dns = Dns::start().await;
    for (name, ttl_s) in [("short.test", 1), ("long.test", 300)] {
        dns.set(name, &["10.0.0.1"]);
        dns.set_ttl(name, ttl_s);
    }
    let mut plan = config(dns.address, "\"short.test:1\", \"long.test:1\"");
    // The limits have no effect here.
    plan.resolver.ttl_min = weir_model::Millis(10);
    plan.resolver.ttl_max = weir_model::Millis(3_600_000);
    let started = Instant::now();
    let rig = Rig::running(plan);
    rig.controller.names_resolved().await;
    // Each lookup asks once per address family.
    eventually("the short one twice more", || dns.asked("short.test") >= 6).await;
    assert!(started.elapsed() >= Duration::from_millis(1_900), "after {:?}", started.elapsed());
    assert_eq!(dns.asked("long.test"), 2);
}

#[tokio::test]
async fn a_name_of_the_hosts_file_needs_no_dns_server() {
    let dns = Dns::start().await;
    let rig = Rig::running(config(dns.address, "{ name = \"a\", address = \"localhost:81\" }"));
    rig.controller.names_resolved().await;
    match &*rig.server("a").endpoint() {
        Endpoint::Inet(addresses) => assert!(addresses.iter().all(|address| address.ip().is_loopback())),
        other => panic!("{other:?}"),
    }
    assert_eq!(dns.asked("localhost"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_start_does_not_wait_long_for_dns_servers_that_do_not_answer() {
    // Bound but never read.
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut plan = config(silent.local_addr().unwrap(), "{ name = \"a\", address = \"web.test:81\" }");
    plan.resolver.timeout = weir_model::Millis(60_000);
    let rig = Rig::running(plan);
    let started = tokio::time::Instant::now();
    rig.controller.names_resolved().await;
    assert!(started.elapsed() <= super::PATIENCE + std::time::Duration::from_millis(100));
    assert!(rig.rotation().is_empty());
}

#[tokio::test]
async fn a_reload_knows_new_names_before_it_is_in_force_and_runtime_names_are_resolved_too() {
    let dns = Dns::start().await;
    dns.set("one.test", &["10.0.0.1"]);
    dns.set("two.test", &["10.0.0.2"]);
    dns.set("three.test", &["10.0.0.3"]);
    let rig = Rig::running(config(dns.address, "{ name = \"a\", address = \"one.test:1\" }"));
    rig.controller.names_resolved().await;
    rig.reload(config(
        dns.address,
        "{ name = \"a\", address = \"one.test:1\" }, { name = \"b\", address = \"two.test:1\" }",
    ))
    .await;
    assert_eq!(rig.rotation(), ["a", "b"], "at once");
    let (_, notes) = rig
        .done(r#"{"add-server": {"pool": "web", "server": {"name": "c", "address": "three.test:1"}}}"#)
        .await;
    assert_eq!(notes, ["server c gets no requests yet: name not resolved"]);
    eventually("the added one", || rig.rotation() == ["a", "b", "c"]).await;
    let asked = dns.asked("three.test");
    rig.done(r#"{"remove-server": {"pool": "web", "server": "c", "force": true}}"#).await;
    dns.set("one.test", &["10.0.0.9"]);
    eventually("others go on", || *rig.server("a").endpoint() == at(&["10.0.0.9:1"])).await;
    assert!(dns.asked("three.test") <= asked + 2, "nobody asks for a name that no server has");
}

#[tokio::test]
async fn a_plan_without_names_asks_nobody() {
    let rig = Rig::still(config("127.0.0.1:1".parse().unwrap(), "\"10.0.0.1:1\""), RuntimeState::default());
    rig.controller.spawn_tasks();
    rig.controller.names_resolved().await;
    assert!(rig.lines().is_empty());
}
