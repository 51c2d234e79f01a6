//! Tests of changes at runtime through the control socket.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawServer, wait_until};

use crate::{origin, pool, who};

fn state(server: &str, state: &str) -> serde_json::Value {
    json!({"server-state": {"pool": "web", "server": server, "state": state}})
}

/// Starts a server that sends its name, for `/held` only once `gate` is open. `held` counts these requests.
fn gated(name: &'static str, held: &Arc<AtomicUsize>, gate: &Arc<Mutex<()>>) -> RawServer {
    let (held, gate) = (Arc::clone(held), Arc::clone(gate));
    RawServer::start(move |peer| {
        loop {
            if peer.request()?.request_line().contains(" /held ") {
                held.fetch_add(1, Ordering::SeqCst);
                drop(gate.lock());
            }
            peer.respond(name)?;
        }
    })
}

#[test]
fn a_draining_server_finishes_what_it_has_and_gets_nothing_new() {
    let gate = Arc::new(Mutex::new(()));
    let (at_a, at_b) = (Arc::default(), Arc::default());
    let (a, b) = (gated("a", &at_a, &gate), gated("b", &at_b, &gate));
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n[pool.web]\nbalance = \"least-connections\"\n\
         servers = [{{ name = \"a\", address = \"{}\" }}, {{ name = \"b\", address = \"{}\" }}]\n",
        a.addr(),
        b.addr()
    ));
    let who = || weir.client().exchange(get("/")).text();
    let closed = gate.lock().unwrap();
    let mut kept: Vec<_> = (0..2).map(|_| weir.client()).collect();
    for (sent, client) in kept.iter_mut().enumerate() {
        client.send(get("/held"));
        wait_until("it is at a server", PATIENCE, || {
            at_a.load(Ordering::SeqCst) + at_b.load(Ordering::SeqCst) == sent + 1
        });
    }
    assert_eq!((at_a.load(Ordering::SeqCst), at_b.load(Ordering::SeqCst)), (1, 1));
    weir.obey(&state("a", "drain"));
    for _ in 0..10 {
        assert_eq!(who(), "b");
    }
    drop(closed);
    let finished: BTreeSet<_> = kept.iter_mut().map(|client| client.response().text()).collect();
    assert_eq!(finished, ["a", "b"].map(String::from).into());
    for client in &mut kept {
        assert_eq!(client.exchange(get("/")).text(), "b");
    }
    weir.obey(&state("a", "ready"));
    wait_until("it serves again", PATIENCE, || who() == "a");
}

#[test]
fn maintenance_takes_a_server_out_for_any_algorithm() {
    for balance in ["round-robin", "least-connections", "random", "source"] {
        let (a, b) = (origin("a"), origin("b"));
        let weir = Weir::start(&pool(&[(&a, ""), (&b, "")], &format!("balance = \"{balance}\"")));
        weir.obey(&state("a", "maintenance"));
        for _ in 0..10 {
            assert_eq!(who(&weir).as_deref(), Some("b"), "{balance}");
        }
        weir.obey(&state("b", "maintenance"));
        assert_eq!(who(&weir), None);
        weir.obey(&state("a", "ready"));
        assert_eq!(who(&weir).as_deref(), Some("a"), "{balance}");
    }
}

#[test]
fn a_weight_can_be_changed() {
    let (a, b) = (origin("a"), origin("b"));
    let weir = Weir::start(&pool(&[(&a, ""), (&b, "")], "balance = \"round-robin\"\n[weir]\nworkers = 1\n"));
    weir.obey(&json!({"server-weight": {"pool": "web", "server": "a", "weight": 4}}));
    let mut client = weir.client();
    for _ in 0..50 {
        assert_eq!(client.exchange(get("/")).status, 200);
    }
    assert_eq!((a.requests(), b.requests()), (40, 10));
}

#[test]
fn servers_can_be_added_moved_and_removed() {
    let (a, b) = (origin("a"), origin("b"));
    let weir = Weir::start(&pool(&[(&a, "")], "balance = \"round-robin\""));
    weir.obey(
        &json!({"add-server": {"pool": "web", "server": {"name": "b", "address": b.addr().to_string()}}}),
    );
    wait_until("the new server serves", PATIENCE, || who(&weir).as_deref() == Some("b"));
    let moved = origin("moved");
    let to = moved.addr().to_string();
    weir.obey(&json!({"server-address": {"pool": "web", "server": "b", "address": to}}));
    wait_until("the server has moved", PATIENCE, || who(&weir).as_deref() == Some("moved"));
    let before = b.requests();
    for _ in 0..6 {
        assert_ne!(who(&weir).as_deref(), Some("b"));
    }
    assert_eq!(b.requests(), before);
    weir.obey(&state("b", "drain"));
    weir.obey(&json!({"remove-server": {"pool": "web", "server": "b"}}));
    for _ in 0..6 {
        assert_eq!(who(&weir).as_deref(), Some("a"));
    }
}

#[test]
fn what_does_not_exist_is_refused_by_name() {
    let a = origin("a");
    let weir = Weir::start(&pool(&[(&a, "")], ""));
    for command in [
        json!({"server-state": {"pool": "web", "server": "nobody", "state": "drain"}}),
        json!({"server-state": {"pool": "nowhere", "server": "a", "state": "drain"}}),
    ] {
        let reply = weir.command(&command);
        assert_eq!(reply["error"]["code"], "not-found", "{reply}");
        let message = reply["error"]["message"].as_str().unwrap();
        assert!(message.contains("nobody") || message.contains("nowhere"), "{message}");
    }
    let reply = weir.command(&json!({"make-coffee": {}}));
    assert_eq!(reply["error"]["code"], "bad-command", "{reply}");
    assert_eq!(who(&weir).as_deref(), Some("a"));
}

#[test]
fn what_was_changed_survives_a_restart_when_there_is_a_state_file() {
    let (a, b) = (origin("a"), origin("b"));
    let directory = weir_testkit::TempDir::new().unwrap();
    let path = directory.path().join("state.toml");
    let config = format!(
        "{}[weir]\nstate = \"{}\"\n",
        pool(&[(&a, ""), (&b, "")], "balance = \"round-robin\""),
        path.display()
    );
    let weir = Weir::start(&config);
    weir.obey(&state("a", "maintenance"));
    let weir = weir.start_again();
    for _ in 0..6 {
        assert_eq!(who(&weir).as_deref(), Some("b"));
    }
    weir.obey(&json!({"reset": {"pool": "web"}}));
    wait_until("the config holds again", PATIENCE, || who(&weir).as_deref() == Some("a"));
}
