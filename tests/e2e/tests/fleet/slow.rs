//! Tests of providers that do not respond: the rounds of the fleet continue.

use serde_json::json;
use weir_e2e::Weir;
use weir_testkit::{PATIENCE, wait_until};

use crate::leases::cloud::Cloud;
use crate::place::{fleet, has_settled_at};

/// Waits for this number of further rounds.
pub(crate) fn looks_go_on(weir: &Weir, more: u64) {
    let looks = || fleet(weir)["looks"].as_u64().unwrap();
    let before = looks();
    wait_until("looks go on", PATIENCE, || looks() >= before + more);
}

fn start(cloud: &Cloud) -> Weir {
    let lease = format!("{:?}", cloud.place().path("lease"));
    let weir = Weir::start(&cloud.config("first", &lease, "min = 2\nstandby = 0\nstale-after = \"5m\"\n"));
    wait_until("two servers", PATIENCE, || has_settled_at(&weir, 2));
    weir
}

#[test]
fn while_a_list_of_machines_does_not_come_the_fleet_is_looked_at_and_scaled() {
    let cloud = Cloud::new();
    let weir = start(&cloud);
    cloud.be_silent();
    looks_go_on(&weir, 30);
    assert_ne!(fleet(&weir)["demand"], json!(null));
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 4}}));
    wait_until("two more are ordered", PATIENCE, || cloud.ordered() == 4);
    looks_go_on(&weir, 30);
    assert_eq!(cloud.ordered(), 4, "they were not ordered again");
    cloud.speak();
    wait_until("four servers", PATIENCE, || has_settled_at(&weir, 4));
}

#[test]
fn while_machines_are_made_slowly_the_fleet_is_looked_at_and_lets_others_go() {
    let cloud = Cloud::new();
    let weir = start(&cloud);
    cloud.close_gate();
    weir.obey(&json!({"fleet-scale": {"fleet": "web", "servers": 5}}));
    wait_until("three more are ordered", PATIENCE, || cloud.ordered() == 5);
    looks_go_on(&weir, 30);
    assert_eq!((cloud.ordered(), cloud.machines()), (5, 2));
    let reason = fleet(&weir)["events"].to_string();
    assert_eq!(reason.matches("create 3").count(), 1, "{reason}");
    cloud.open_gate();
    wait_until("five servers", PATIENCE, || has_settled_at(&weir, 5));
    assert_eq!((cloud.ordered(), cloud.machines()), (5, 5));
}
