//! Tests of reloads that remove or rename a pool: requests that began before finish with the servers of that
//! pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_e2e::{Weir, get};
use weir_testkit::{Ending, PATIENCE, RawClient, RawServer, wait_until};

use crate::reload::{fixed, under_load};

/// Returns a config with a listener and its pool.
fn one(pool: &str, servers: &[String], listener: &str, keys: &str) -> String {
    format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"{pool}\"\n{listener}\n\n\
         [pool.{pool}]\nservers = [{}]\n{keys}\n",
        servers.join(", ")
    )
}

fn server(address: std::net::SocketAddr, keys: &str) -> String {
    format!("{{ address = \"{address}\"{keys} }}")
}

/// Starts a server that sends each response only after a signal on the channel.
fn gated(body: &'static str) -> (RawServer, Sender<()>) {
    let (go, wait) = channel();
    let wait: Mutex<Receiver<()>> = Mutex::new(wait);
    let server = RawServer::start(move |peer| {
        while peer.request().is_ok() {
            let _ = wait.lock().unwrap().recv();
            peer.respond(body)?;
        }
        Ok(())
    });
    (server, go)
}

fn wait_until_gone(weir: &mut Weir, pool: &str) {
    weir.wait_for_log(&format!("pool {pool}: no longer in the config, and nobody uses it any more"));
}

#[test]
fn a_request_that_waits_in_the_queue_of_a_pool_that_goes_is_answered_by_its_servers() {
    let (old, go) = gated("old");
    let new = RawServer::answering("new");
    let mut weir = Weir::start(&one("old", &[server(old.addr(), ", max-connections = 1")], "", ""));
    let next = fixed(&one("new", &[server(new.addr(), "")], "", ""), &weir);
    let mut first = weir.client();
    first.send(get("/"));
    old.wait_for_bytes(0, 10);
    let mut waiting = weir.client();
    waiting.send(get("/"));
    wait_until("it waits", PATIENCE, || {
        weir.metrics().get("weir_pool_queue_length", &["pool=\"old\""]) == 1.0
    });

    weir.reload(&next);
    assert_eq!(weir.client().exchange(get("/")).text(), "new");
    assert!(waiting.is_quiet(Duration::from_millis(300)));
    (0..2).for_each(|_| go.send(()).unwrap());
    assert_eq!((first.response().text(), waiting.response().text()), ("old".to_owned(), "old".to_owned()));
    // The next requests of these clients are answered by the new config.
    assert_eq!(waiting.exchange(get("/")).text(), "new");
    assert_eq!(first.exchange(get("/")).text(), "new");
    wait_until_gone(&mut weir, "old");
    assert_eq!(old.connections_open(), 0, "idle connections go with their pool");
}

#[test]
fn a_request_whose_server_is_lost_after_its_pool_has_gone_is_tried_at_another_of_that_pool() {
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let breaking = RawServer::start(move |peer| {
        peer.request()?;
        let _ = wait.lock().unwrap().recv();
        peer.reset();
        Ok(())
    });
    let other = RawServer::answering("the other");
    let new = RawServer::answering("new");
    let servers = [server(breaking.addr(), ""), server(other.addr(), "")];
    let mut weir = Weir::start(&one("old", &servers, "", "balance = \"first\""));
    let mut client = weir.client();
    client.send(get("/"));
    breaking.wait_for_bytes(0, 10);
    weir.reload(&fixed(&one("new", &[server(new.addr(), "")], "", ""), &weir));
    go.send(()).unwrap();
    assert_eq!(client.response().text(), "the other");
    assert_eq!(client.exchange(get("/")).text(), "new");
    wait_until_gone(&mut weir, "old");
}

#[test]
fn a_tcp_client_that_came_before_its_pool_went_gets_a_server_of_it() {
    let echo = |name: &'static str| {
        RawServer::start(move |peer| {
            let line = peer.take(5)?;
            peer.send([name.as_bytes(), &line].concat())
        })
    };
    let (old, new) = (echo("old "), echo("new "));
    // The pool is chosen by the TLS server name, so a connection has no pool before its first bytes.
    let tcp = |pool: &str| {
        format!(
            "mode = \"tcp\"\nsni = {{ host = \"a.example\", pool = \"{pool}\" }}\ntimeouts = {{ head = \"30s\" }}"
        )
    };
    let mut weir = Weir::start(&one("old", &[server(old.addr(), "")], &tcp("old"), ""));
    let mut before = weir.client();
    wait_until("it is accepted", PATIENCE, || {
        weir.metrics().get("weir_listener_connections", &["listener=\"web\""]) == 1.0
    });
    weir.reload(&fixed(&one("new", &[server(new.addr(), "")], &tcp("new"), ""), &weir));
    assert_eq!(before.send("hello").read_to_end(), (b"old hello".to_vec(), Ending::Fin));
    assert_eq!(weir.client().send("hello").read_exact(9), b"new hello");
    // Half of the connection is still open.
    drop(before);
    wait_until_gone(&mut weir, "old");
}

#[test]
fn who_has_connected_to_a_listener_that_goes_together_with_its_pool_is_served() {
    let (old, new) = (RawServer::answering("old"), RawServer::answering("new"));
    let staying = one("new", &[server(new.addr(), "")], "", "");
    let going = format!(
        "[listener.old]\nbind = \"127.0.0.1:0\"\npool = \"old\"\n\n[pool.old]\nservers = \"{}\"\n",
        old.addr()
    );
    let mut weir = Weir::start(&format!("{going}{staying}"));
    let addr = weir.addr("old");
    // The kernel holds back a client that has sent nothing.
    let mut silent = RawClient::connect(addr);
    let mut kept = RawClient::connect(addr);
    assert_eq!(kept.exchange(get("/")).text(), "old");
    weir.reload(&fixed(&staying, &weir));
    assert_eq!(silent.exchange(get("/")).text(), "old");
    // The idle connection is either answered, or closed without data.
    match kept.try_send(get("/")).map(|()| kept.try_response()) {
        Ok(Ok(response)) => assert_eq!((response.status, response.text().as_str()), (200, "old")),
        Ok(Err(weir_testkit::ResponseError::Nothing(_))) | Err(_) => {}
        Ok(Err(other)) => panic!("{other}"),
    }
    wait_until_gone(&mut weir, "old");
}

#[test]
fn nothing_fails_while_a_pool_is_renamed_again_and_again_under_load() {
    let steady = RawServer::answering("steady");
    let count = Arc::new(AtomicUsize::new(0));
    let breaking = RawServer::start(move |peer| {
        // Every fifth request must be retried.
        while peer.request().is_ok() {
            if count.fetch_add(1, Ordering::SeqCst).is_multiple_of(5) {
                peer.reset();
                break;
            }
            peer.respond("breaking")?;
        }
        Ok(())
    });
    let line = RawServer::start(|peer| {
        loop {
            let byte = peer.take(1)?;
            peer.send(byte)?;
        }
    });
    // So few connections that requests have to queue.
    let servers =
        [server(steady.addr(), ", max-connections = 2"), server(breaking.addr(), ", max-connections = 1")];
    let keys = "eject = false\nretry = { min-per-second = 100000 }";
    let config = |pool: &str, tcp: &str| {
        format!(
            "{}[listener.line]\nbind = \"{tcp}\"\nmode = \"tcp\"\npool = \"line-{pool}\"\n[pool.line-{pool}]\nservers = \"{}\"\n",
            one(pool, &servers, "", keys),
            line.addr()
        )
    };
    let mut weir = Weir::start(&config("a", "127.0.0.1:0"));
    let tcp = weir.addr("line");
    let configs = ["b", "c", "a"].map(|pool| fixed(&config(pool, &tcp.to_string()), &weir));
    let mut session = RawClient::connect(tcp);
    assert_eq!(session.send("x").read_exact(1), b"x");
    let requests = under_load(weir.addr("web"), || {
        for config in configs.iter().cycle().take(9) {
            weir.reload(config);
            assert_eq!(session.send("x").read_exact(1), b"x");
            assert_eq!(RawClient::connect(tcp).send("y").read_exact(1), b"y");
        }
    });
    assert!(requests > 50, "{requests} requests");
    // The session began in the first pool of its name. The last pools have the same names.
    wait_until_gone(&mut weir, "b");
    wait_until_gone(&mut weir, "c");
    wait_until_gone(&mut weir, "line-c");
    assert_eq!(session.send("x").read_exact(1), b"x");
}
