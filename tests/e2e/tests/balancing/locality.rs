//! Tests of algorithms that keep a key at its server until the server is overloaded (LBLC, LBLCR), and of
//! balancing by destination address.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use weir_e2e::{Weir, get};
use weir_origin::OriginHandle;
use weir_testkit::{PATIENCE, RawClient, wait_until};

use crate::{origin, pool};

/// Key setting: requests have their keys in a header.
const BY_HEADER: &str = "key = \"header X-Key\"";

struct Rig {
    weir: Weir,
    origins: Vec<OriginHandle>,
}

impl Rig {
    fn start(names: &[&str], algorithm: &str, key: &str) -> Self {
        let origins: Vec<_> = names.iter().map(|name| origin(name)).collect();
        let servers: Vec<_> = origins.iter().map(|origin| (origin, "")).collect();
        // Bind to all addresses, so that every address of the loopback network works.
        let keys = format!("balance = {{ algorithm = \"{algorithm}\", {key} }}\n[weir]\nworkers = 1\n");
        let config = pool(&servers, &keys).replace("127.0.0.1:0", "0.0.0.0:0");
        Self { weir: Weir::start(&config), origins }
    }

    fn port(&self) -> u16 {
        self.weir.addr("web").port()
    }

    fn client(&self) -> RawClient {
        RawClient::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, self.port())))
    }

    /// Returns the server that responds to a request with this key.
    fn of(&self, key: &str) -> String {
        let response = self.client().exchange(with_key("/", key));
        response.header("x-origin").expect("an origin answers").to_owned()
    }

    /// Returns the server that responds to a request sent to this address.
    fn at(&self, destination: Ipv4Addr) -> String {
        let mut client = RawClient::connect(SocketAddr::from((destination, self.port())));
        client.exchange(get("/")).header("x-origin").expect("an origin answers").to_owned()
    }

    /// Sends a request with this key that hangs, and returns the server that has it.
    fn hang(&self, key: &str) -> (RawClient, String) {
        let before: Vec<u64> = self.origins.iter().map(OriginHandle::active).collect();
        let mut client = self.client();
        client.send(with_key("/hang", key));
        let mut place = None;
        wait_until("the request arrives", PATIENCE, || {
            place = self.origins.iter().zip(&before).position(|(origin, before)| origin.active() > *before);
            place.is_some()
        });
        (client, self.origins[place.unwrap()].name().to_owned())
    }

    /// Aborts these requests and waits until none is active.
    fn give_up(&self, hanging: Vec<RawClient>) {
        hanging.into_iter().for_each(RawClient::reset);
        wait_until("nothing is in flight", PATIENCE, || {
            self.origins.iter().all(|origin| origin.active() == 0)
                && self.weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]) == 0.0
        });
    }
}

fn with_key(target: &str, key: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-Key: {key}\r\n\r\n")
}

#[test]
fn lblc_keeps_a_key_where_it_was_until_that_server_is_overloaded_and_another_is_idle() {
    let rig = Rig::start(&["a", "b", "c"], "lblc", BY_HEADER);
    let (busy, first) = rig.hang("other");
    assert_eq!(first, "a", "of idle servers the first");
    assert_eq!(rig.of("photo"), "b", "the least loaded");
    rig.give_up(vec![busy]);
    // Server a has the least load again. New keys go there, the known key does not.
    for number in 0..5 {
        assert_eq!(rig.of(&format!("new-{number}")), "a");
        assert_eq!(rig.of("photo"), "b");
    }
    // Server b has weight 1 and is overloaded with two requests, while a is idle.
    let hanging: Vec<_> = (0..2).map(|_| rig.hang("photo")).collect();
    assert!(hanging.iter().all(|(_, server)| server == "b"), "not overloaded before the second");
    assert_eq!(rig.of("photo"), "a");
    rig.give_up(hanging.into_iter().map(|(client, _)| client).collect());
    assert_eq!(rig.of("photo"), "a", "it does not go back");
}

#[test]
fn lblcr_gives_an_overloaded_key_a_second_server_and_keeps_the_first() {
    let rig = Rig::start(&["a", "b", "c"], "lblcr", BY_HEADER);
    let (busy, _) = rig.hang("other");
    assert_eq!(rig.of("photo"), "b");
    let mut hanging = vec![busy];
    hanging.extend((0..2).map(|_| rig.hang("photo").0));
    assert_eq!(rig.of("photo"), "c", "the only one that is idle");
    rig.give_up(hanging);
    for _ in 0..3 {
        // The key stays with its own two servers, the less loaded one first, although a is also idle and
        // listed first.
        let (busy, one) = rig.hang("photo");
        let other = rig.of("photo");
        assert_eq!(BTreeSet::from([one.as_str(), other.as_str()]), BTreeSet::from(["b", "c"]));
        rig.give_up(vec![busy]);
    }
}

#[test]
fn lblc_and_lblcr_go_by_the_address_that_was_connected_to_if_nothing_else_is_said() {
    for algorithm in ["lblc", "lblcr"] {
        let rig = Rig::start(&["a", "b"], algorithm, "expiration = \"1h\"");
        let [known, new] = [Ipv4Addr::new(127, 0, 3, 7), Ipv4Addr::new(127, 0, 3, 8)];
        let (busy, first) = rig.hang("no matter");
        assert_eq!((first.as_str(), rig.at(known).as_str()), ("a", "b"), "{algorithm}");
        rig.give_up(vec![busy]);
        for _ in 0..3 {
            assert_eq!(rig.at(known), "b", "{algorithm}");
            assert_eq!(rig.at(new), "a", "{algorithm}");
        }
    }
}

/// Returns the server in the kernel's table of 256 entries, for four servers of weight 1.
fn kernels_choice<'n>(names: &[&'n str; 4], value: u32) -> &'n str {
    names[(value.wrapping_mul(0x61c8_8647) >> 24) as usize % names.len()]
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[test]
fn ipvs_dh_goes_by_the_address_that_was_connected_to_as_the_kernel_does() {
    let rig = Rig::start(&NAMES, "ipvs-dh", "fallback = true");
    let mut used = BTreeSet::new();
    for last in 1..=40 {
        let destination = Ipv4Addr::new(127, 0, 2, last);
        let expected = kernels_choice(&NAMES, destination.to_bits());
        assert_eq!(rig.at(destination), expected, "{destination}");
        let mut other_client = RawClient::connect_from(
            IpAddr::V4(Ipv4Addr::new(127, 0, 9, last)),
            SocketAddr::from((destination, rig.port())),
        );
        assert_eq!(other_client.exchange(get("/")).header("x-origin"), Some(expected), "{destination}");
        used.insert(expected);
    }
    assert_eq!(used.len(), NAMES.len(), "only {used:?}");
}

#[test]
fn with_port_each_connection_of_a_client_has_a_server_of_its_own() {
    let with_port = Rig::start(&NAMES, "ipvs-sh", "port = true");
    let without = Rig::start(&NAMES, "ipvs-sh", "port = false");
    let client = Ipv4Addr::new(127, 0, 5, 5);
    let connect = |rig: &Rig| {
        RawClient::connect_from(IpAddr::V4(client), SocketAddr::from((Ipv4Addr::LOCALHOST, rig.port())))
    };
    let mut used = BTreeSet::new();
    for _ in 0..40 {
        let mut connection = connect(&with_port);
        let value = client.to_bits().wrapping_add(connection.local_addr().port().into());
        let expected = kernels_choice(&NAMES, value);
        for _ in 0..2 {
            assert_eq!(connection.exchange(get("/")).header("x-origin"), Some(expected));
        }
        used.insert(expected);
        let mut connection = connect(&without);
        let all_alike = kernels_choice(&NAMES, client.to_bits());
        assert_eq!(connection.exchange(get("/")).header("x-origin"), Some(all_alike));
    }
    assert!(used.len() > 1, "only {used:?}");
}
