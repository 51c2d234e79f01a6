//! Tests of a server drain during traffic.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_origin::Origin;
use weir_testkit::{PATIENCE, RawClient, RawServer, SetOnDrop, wait_until};

/// Size and rate of a download that the server sends over ten seconds.
const BYTES: usize = 500_000;
const RATE: usize = 50_000;

#[test]
fn a_drain_under_traffic_loses_no_request_and_no_download_though_nothing_is_tried_again() {
    let origins = ["a", "b"].map(|name| Origin::builder().name(name).start().unwrap());
    let servers = origins
        .each_ref()
        .map(|origin| format!("{{ name = \"{}\", address = \"{}\" }}", origin.name(), origin.addr()));
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nservers = [{}]\nretry = false\n",
        servers.join(", ")
    ));
    let address = weir.addr("web");
    let state = |server: &str, state: &str| {
        weir.obey(&json!({"server-state": {"pool": "web", "server": server, "state": state}}));
    };
    let (over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = RawClient::connect(address);
                while !over.load(Ordering::SeqCst) {
                    assert_eq!(client.exchange(get("/bytes/2000")).body.len(), 2_000);
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let _over = SetOnDrop(&over);
        let more = || {
            let before = answered.load(Ordering::SeqCst);
            wait_until("traffic goes on", PATIENCE, || answered.load(Ordering::SeqCst) >= before + 200);
        };
        more();
        let mut download = RawClient::connect(address).timeout(Duration::from_secs(120));
        download.send(get(&format!("/slow?bytes={BYTES}&rate={RATE}")));
        let head = download.response_head();
        let on = head.header("x-origin").unwrap().to_owned();
        let other = if on == "a" { "b" } else { "a" };
        state(&on, "drain");
        let drained = origins.iter().find(|origin| origin.name() == on).unwrap();
        let label = format!("server=\"{on}\"");
        wait_until("it has the download only", PATIENCE, || {
            weir.metrics().get("weir_server_active_requests", &[&label]) == 1.0
        });
        let before = drained.requests();
        more();
        assert_eq!(drained.requests(), before, "it gets nothing new");
        // Switches the servers several times during the download. The other server finishes its requests,
        // too.
        for _ in 0..3 {
            state(&on, "ready");
            state(other, "drain");
            more();
            state(other, "ready");
            state(&on, "drain");
            more();
        }
        let downloaded = download.read_exact(BYTES);
        let whole = RawClient::connect(address).exchange(get(&format!("/bytes/{BYTES}"))).body;
        // `assert_eq!` would print both bodies.
        assert!(whole.len() == BYTES && downloaded == whole, "the download differs");
    });
    let metrics = weir.metrics();
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"web\""]), 0.0);
    assert_eq!(metrics.get("weir_pool_connect_errors_total", &["pool=\"web\""]), 0.0);
    wait_until("nothing is left behind", PATIENCE, || {
        weir.metrics().get("weir_pool_active_requests", &["pool=\"web\""]) == 0.0
    });
}

/// Starts a server that takes a minute to send a download and answers other requests quickly. Counts the
/// requests.
fn minute_server(name: &'static str, requests: &Arc<AtomicU64>) -> RawServer {
    let requests = Arc::clone(requests);
    RawServer::start(move |peer| {
        while let Ok(request) = peer.request() {
            requests.fetch_add(1, Ordering::SeqCst);
            if !request.request_line().contains("/download") {
                // A short pause, so that the clients do not use all of the CPU.
                thread::sleep(Duration::from_millis(5));
                peer.respond(name)?;
                continue;
            }
            let length = PIECES * PIECE;
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nX-Server: {name}\r\n\r\n"))?;
            for number in 0..PIECES {
                peer.send(piece(number))?;
                thread::sleep(Duration::from_secs(60) / PIECES as u32);
            }
        }
        Ok(())
    })
}

const PIECES: usize = 240;
const PIECE: usize = 4_096;

fn piece(number: usize) -> Vec<u8> {
    (0..PIECE).map(|at| ((number * PIECE + at) * 31 % 251) as u8).collect()
}

#[test]
#[cfg_attr(not(feature = "long"), ignore = "a minute: make test-all")]
fn a_drain_under_keep_alive_traffic_and_a_download_of_a_minute_loses_nothing_without_retries() {
    let counts: [Arc<AtomicU64>; 2] = Default::default();
    let servers = [minute_server("a", &counts[0]), minute_server("b", &counts[1])];
    let weir = Weir::start(&format!(
        "[listener.web]\nbind = \"127.0.0.1:0\"\npool = \"web\"\n\n[pool.web]\nretry = false\n\
         servers = [{{ name = \"a\", address = \"{}\" }}, {{ name = \"b\", address = \"{}\" }}]\n",
        servers[0].addr(),
        servers[1].addr()
    ));
    let address = weir.addr("web");
    let (over, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut client = RawClient::connect(address);
                while !over.load(Ordering::SeqCst) {
                    let response = client.exchange(get("/quick"));
                    assert!(
                        response.status == 200 && ["a", "b"].contains(&&*response.text()),
                        "{response:?}"
                    );
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        let _over = SetOnDrop(&over);
        let more = || {
            let before = answered.load(Ordering::SeqCst);
            wait_until("traffic goes on", PATIENCE, || answered.load(Ordering::SeqCst) >= before + 100);
        };
        more();
        let mut download = RawClient::connect(address).timeout(Duration::from_secs(120));
        download.send(get("/download"));
        let head = download.response_head();
        let name = head.header("x-server").unwrap().to_owned();
        let drained = &counts[usize::from(name == "b")];
        let set_state = |state: &str| {
            weir.obey(&json!({"server-state": {"pool": "web", "server": name, "state": state}}));
        };
        set_state("drain");
        let label = format!("server=\"{name}\"");
        let active = || weir.metrics().get("weir_server_active_requests", &[&label]);
        wait_until("it has the download only", PATIENCE, || active() == 1.0);
        let before = drained.load(Ordering::SeqCst);
        for number in 0..PIECES {
            assert_eq!(download.read_exact(PIECE), piece(number), "piece {number}");
        }
        wait_until("it is empty", PATIENCE, || active() == 0.0);
        set_state("maintenance");
        more();
        let removed = weir.ctl(&["remove", &format!("web/{name}")]);
        assert!(removed.status.success(), "{removed:?}");
        more();
        assert_eq!(drained.load(Ordering::SeqCst), before, "it got nothing new");
    });
    let metrics = weir.metrics();
    let total = |name: &str| metrics.get(name, &["pool=\"web\""]);
    assert_eq!((total("weir_pool_retries_total"), total("weir_pool_connect_errors_total")), (0.0, 0.0));
    assert_eq!(total("weir_pool_requests_total"), answered.load(Ordering::SeqCst) as f64 + 1.0);
}
