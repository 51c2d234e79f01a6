//! A hundred times up and down under load, and not a request lost.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use weir_e2e::{Weir, get};
use weir_testkit::{PATIENCE, RawClient, wait_until};

use crate::place::{Over, Place, busy_and_draining, has_settled_at};

const CYCLES: u64 = 100;
const CLIENTS: usize = 8;
const LEAST: u64 = 1;
const MOST: u64 = 4;

/// What clients have seen.
#[derive(Default)]
struct Seen {
    over: AtomicBool,
    answered: AtomicU64,
    /// Each with what came instead.
    failed: Mutex<Vec<String>>,
}

impl Seen {
    /// One request after the other over one connection, each under way for a while.
    fn ask(&self, client: usize, address: std::net::SocketAddr) {
        let mut connection = RawClient::connect(address);
        let path = format!("/delay/{}", 5 + 30 * client);
        while !self.over.load(Ordering::SeqCst) {
            let sent = connection.try_send(get(&path)).map_err(|cause| cause.to_string());
            let answer = sent.and_then(|()| connection.try_response().map_err(|cause| format!("{cause:?}")));
            match answer {
                Ok(response) if response.status == 200 => drop(self.answered.fetch_add(1, Ordering::SeqCst)),
                failed => {
                    self.failed.lock().unwrap().push(format!("{failed:?}"));
                    connection = RawClient::connect(address);
                }
            }
        }
    }
}

#[test]
fn a_hundred_cycles_of_up_and_down_under_load_lose_no_request() {
    let place = Place::new();
    let rules = format!("min = {LEAST}\nmax = {MOST}\ncapacity = 1000\nstandby = {}\n", MOST - LEAST);
    let config = place.config(&rules).replace("interval = \"200ms\"", "interval = \"100ms\"");
    let weir = Weir::start(&config);
    let address = weir.addr("web");
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, LEAST));
    let seen = Seen::default();
    let mut busy_drains = 0;
    thread::scope(|scope| {
        let _ends = Over(&seen.over);
        for client in 0..CLIENTS {
            let seen = &seen;
            scope.spawn(move || seen.ask(client, address));
        }
        for _ in 0..CYCLES {
            for servers in [MOST, LEAST] {
                weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": servers}}));
                wait_until("as many as were asked for", Duration::from_secs(60), || {
                    busy_drains += busy_and_draining(&weir).len();
                    has_settled_at(&weir, servers)
                });
            }
        }
    });
    let metrics = weir.metrics();
    let done = |action: &str| {
        metrics.get("weir_fleet_actions_total", &[format!("action=\"{action}\"").as_str()]) as u64
    };
    let (answered, failed) = (seen.answered.into_inner(), seen.failed.into_inner().unwrap());
    println!(
        "{CYCLES} cycles, {answered} requests answered, {} failed, {} drains",
        failed.len(),
        done("drain")
    );
    assert!(failed.is_empty(), "{} of {answered}: {failed:#?}", failed.len());
    // There was load all the time.
    assert!(answered >= CYCLES * CLIENTS as u64, "{answered}");
    // One that is called back is drained once more.
    assert!(done("drain") >= CYCLES * (MOST - LEAST), "{}", done("drain"));
    assert!(busy_drains > 0, "no server had anything to do when it was drained");
    assert_eq!(metrics.get("weir_fleet_cut_requests_total", &[]), 0.0);
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"web\""]), 0.0);
}
