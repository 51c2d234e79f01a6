//! Tests that a fleet loses no request while it scales up and down repeatedly under load.

use std::time::Duration;

use serde_json::json;
use weir_e2e::Weir;
use weir_testkit::{PATIENCE, wait_until};

use crate::clients::Seen;
use crate::place::{Place, busy_and_draining, has_settled_at};

/// Number of cycles; a hundred take a minute.
const CYCLES: u64 = if cfg!(feature = "long") { 100 } else { 12 };
const CLIENTS: u64 = 8;
const LEAST: u64 = 1;
const MOST: u64 = 4;

#[test]
fn cycles_of_up_and_down_under_load_lose_no_request() {
    let place = Place::new();
    let rules = format!("min = {LEAST}\nmax = {MOST}\ncapacity = 1000\nstandby = {}\n", MOST - LEAST);
    let config = place.config(&rules).replace("interval = \"200ms\"", "interval = \"100ms\"");
    let weir = Weir::start(&config);
    let address = weir.addr("web");
    wait_until("the first server", PATIENCE, || has_settled_at(&weir, LEAST));
    let mut busy_drains = 0;
    let seen = Seen::during(address, CLIENTS, 30, |_| {
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
    let (answered, failed) = (seen.answered(), seen.failed());
    println!(
        "{CYCLES} cycles, {answered} requests answered, {} failed, {} drains",
        failed.len(),
        done("drain")
    );
    assert!(failed.is_empty(), "{} of {answered}: {failed:#?}", failed.len());
    // Clients sent requests all the time.
    assert!(answered >= CYCLES * CLIENTS, "{answered}");
    // A server that returns from its drain is drained once more.
    assert!(done("drain") >= CYCLES * (MOST - LEAST), "{}", done("drain"));
    assert!(busy_drains > 0, "no server had anything to do when it was drained");
    assert_eq!(metrics.get("weir_fleet_cut_requests_total", &[]), 0.0);
    assert_eq!(metrics.get("weir_pool_retries_total", &["pool=\"web\""]), 0.0);
}
