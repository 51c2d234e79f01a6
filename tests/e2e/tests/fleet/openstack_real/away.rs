//! Tests of a Nova that is unreachable or rejects the token.

use serde_json::{Value, json};
use weir_e2e::Weir;
use weir_testkit::wait_until;

use super::cloud::{Cloud, auth_url};
use super::gate::Gate;
use super::machines::{Machines, PATIENCE};
use crate::clients::Seen;
use crate::place::fleet;

fn looks(weir: &Weir) -> u64 {
    fleet(weir)["looks"].as_u64().unwrap()
}

/// Returns the number of rounds with a problem.
fn failed(weir: &Weir) -> Value {
    fleet(weir)["done"]["failed"].take()
}

fn says_that_nova_is_away(weir: &Weir) -> bool {
    let fleet = fleet(weir);
    fleet["troubles"].to_string().contains("/servers/detail") && fleet["alarms"] != json!([])
}

#[test]
#[ignore = "make test-openstack"]
fn while_nova_is_away_machines_go_on_serving_and_that_is_said() {
    let machines = Machines::new("away", "fleet");
    let gate = Gate::before(&machines.cloud.url("compute"));
    let weir = machines.weir_behind(&gate, &auth_url("fleet"), "max = 4\nstale-after = \"2s\"");
    let seen = Seen::during(weir.addr("web"), 6, 20, |seen| {
        machines.scale(&weir, 2);
        gate.shut();
        wait_until("it is said", PATIENCE, || says_that_nova_is_away(&weir));
        machines.order(&weir, 4);
        let (looked, answered) = (looks(&weir), seen.answered());
        seen.take_servers();
        wait_until("it has looked again, and servers answer", PATIENCE, || {
            looks(&weir) > looked + 3 && seen.answered() > answered + 100
        });
        assert_eq!((seen.take_servers().len(), machines.listed().len()), (2, 2));
        gate.open();
        machines.settle(&weir, 4);
    });
    assert!(seen.failed().is_empty(), "{:#?}\n{:#?}", seen.failed(), weir.log());
    let fleet = fleet(&weir);
    assert_eq!((&fleet["troubles"], &fleet["done"]["created"]), (&json!([]), &json!(4)));
}

#[test]
#[ignore = "make test-openstack"]
fn an_order_whose_answer_is_lost_makes_one_machine() {
    let machines = Machines::new("lost", "fleet");
    let gate = Gate::before(&machines.cloud.url("compute"));
    let weir = machines.weir_behind(&gate, &auth_url("fleet"), "max = 4\nstale-after = \"2s\"");
    let seen = Seen::during(weir.addr("web"), 6, 20, |_| {
        gate.shut_at_order();
        machines.order(&weir, 3);
        wait_until("Nova has got an order", PATIENCE, || gate.is_shut());
        wait_until("it is said", PATIENCE, || says_that_nova_is_away(&weir));
        gate.open();
        machines.settle(&weir, 3);
    });
    assert!(seen.failed().is_empty(), "{:#?}\n{:#?}", seen.failed(), weir.log());
    assert_eq!(machines.listed().len(), 3, "{:#?}", weir.log());
}

#[test]
#[ignore = "make test-openstack"]
fn a_token_that_nova_refuses_is_renewed_without_a_word() {
    let machines = Machines::new("revoked", "fleet");
    let gate = Gate::before(&machines.cloud.url("compute"));
    let weir = machines.weir_behind(&gate, &auth_url("fleet"), "max = 2");
    let (before, tokens) = (failed(&weir), gate.tokens());
    let admin = Cloud::of("admin");
    for token in &tokens {
        admin.revoke(token);
    }
    wait_until("it has another one", PATIENCE, || gate.tokens().len() > tokens.len());
    assert!(gate.has_seen("401"));
    machines.scale(&weir, 2);
    assert_eq!(failed(&weir), before, "{:#?}", weir.log());
}

#[test]
#[ignore = "make test-openstack"]
fn tokens_that_end_soon_are_renewed_before_they_do() {
    let machines = Machines::new("brief", "fleet");
    let gate = Gate::before(&machines.cloud.url("compute"));
    // Each token is valid for half a minute.
    let weir = machines.weir_behind(&gate, &auth_url("brief"), "max = 2");
    let before = failed(&weir);
    wait_until("the third token is in use", PATIENCE, || gate.tokens().len() >= 3);
    machines.scale(&weir, 2);
    assert!(!gate.has_seen("401"));
    assert_eq!(failed(&weir), before, "{:#?}", weir.log());
}
